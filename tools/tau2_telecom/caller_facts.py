"""Which of the caller's facts its words are checked against."""

from __future__ import annotations

from duologue.toolkit.caller_facts import CallerFact, FactKind
from duologue.toolkit.phrasebook import Arguments


def caller_facts(facts: Arguments) -> tuple[CallerFact, ...]:
    """Return name, phone number and, when the caller was told it, the place."""
    found = [
        CallerFact("name", FactKind.NAME, str(facts["name"])),
        CallerFact("phone_number", FactKind.NUMBER, str(facts["phone_number"])),
    ]
    if facts.get("location"):
        against = ("at home",) if facts.get("abroad") else ("abroad",)
        found.append(CallerFact("location", FactKind.PLACE, str(facts["location"]), against=against))
    return tuple(found)
