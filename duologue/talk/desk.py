"""Where a person sits during one call: their line, their side, their page."""

from __future__ import annotations

from duologue.records.action import Side
from duologue.records.result import ScenarioResult
from duologue.records.scenario import Scenario
from duologue.talk.card import role_card, tool_cards
from duologue.talk.feed import Feed
from duologue.talk.person import Person
from duologue.talk.phone_line import PhoneLine
from duologue.toolkit.dual_state import DualState
from duologue.toolkit.view import visible_state
from duologue.toolkit.vocabulary import vocabulary_of

MAX_NAME = 200  # characters; no tool has a longer name, and what a page sends is shown


class Desk:
    """Ties the parts together; the server talks to it, the run drives it.

    Args:
        scenario: what is played; its domain must be loaded.
        side: the side that the person takes.
        line: how their sound travels.

    Raises:
        InitializationFailed: the scenario cannot be set up.
    """

    def __init__(self, scenario: Scenario, side: Side, line: PhoneLine) -> None:
        self.scenario = scenario
        self.side = side
        self.line = line
        self.person = Person(side, line, self._show_state)
        self.feed = Feed(side, self.person.spoke)
        self.feed.publish(self._introduction())
        self.feed.state(visible_state(side, DualState.for_scenario(scenario).side(side)))
        self.feed.status("waiting")

    def take(self, message: object) -> None:
        """Carry out what the page asks for; whatever does not fit is answered on the page.

        Raises:
            ValueError: the message is none that a page sends.
        """
        if not isinstance(message, dict):
            raise ValueError("a message is an object")
        match message.get("type"):
            case "press":
                name, arguments = message.get("name"), message.get("arguments")
                if not isinstance(name, str) or len(name) > MAX_NAME or not isinstance(arguments, dict):
                    raise ValueError("a press has a name and arguments")
                self._press(name, arguments)
            case "hang_up":
                self.person.hang_up()
                self.feed.status("ending")
            case _:
                raise ValueError("a message is press or hang_up")

    def show_result(self, result: ScenarioResult, where: str) -> None:
        """Show how the call was scored; the page keeps it when the server is gone."""
        self.feed.publish(
            {
                "type": "outcome",
                "kind": result.outcome.kind.value,
                "cause": result.outcome.cause.value if result.outcome.cause is not None else "",
                "detail": result.outcome.detail,
                "checks": [
                    {"signal": verdict.signal, "passed": verdict.passed, "reason": verdict.reason, "gates": gates}
                    for verdict in result.verdicts
                    if (gates := verdict.signal in _gating(result)) or verdict.passed is not None
                ],
                "media_ms": result.media_ms,
                "folder": where,
            }
        )
        self.feed.status("ended")

    def _press(self, name: str, arguments: dict[str, object]) -> None:
        try:
            self.person.press(name, arguments)
        except ValueError as error:
            self.feed.publish({"type": "refused", "name": name, "text": str(error)}, keep=False)

    def _show_state(self) -> None:
        self.feed.state(visible_state(self.side, self.person.seat.host.state))

    def _introduction(self) -> dict[str, object]:
        return {
            "type": "session",
            "side": self.side.value,
            "scenario": self.scenario.name,
            "device": vocabulary_of(self.scenario.domain).device,
            "max_s": self.scenario.max_duration_s,
            "card": role_card(self.scenario, self.side),
            "tools": tool_cards(self.scenario, self.side),
        }


def _gating(result: ScenarioResult) -> frozenset[str]:
    breakdown = result.breakdown
    return frozenset([*breakdown.passed, *breakdown.failed, *breakdown.not_applicable, *breakdown.not_evaluable])
