"""Check of the simulated caller: it uses its tools when it is asked to.

Words decide, and in doubt for the caller: a tool is asked for when the agent has said, or the caller has heard, a
word that belongs to it and to few others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duologue.errors import RegistryError
from duologue.records.action import Side
from duologue.records.event import HeardText, ToolCalled
from duologue.records.scenario import Scenario
from duologue.scoring.utterances import Deed, Utterance
from duologue.toolkit.phrasebook import PHRASEBOOKS
from duologue.toolkit.rules import RULES_NAME
from duologue.toolkit.tool import Tool, ToolKind, find_tool

_COMMON_SHARE = 0.2
"""A word of more than this share of the caller's tools tells none of them (but of three at least)."""

_STEM = 6
_STOP_WORDS = """
a about again all also am an and any app are as ask asked at be because been being best but by call called calling
can check could currently did do does done else first for from get give go going had has have hello help her here
him his how i if in into is it its itself just know let like look may me moment my name needed new next no not
nothing now number of off okay older on once one only open or other our out over own per place please possible put
read result right say says second see set should show shown so some sorry still sure switch takes tell than thank
thanks that the their them then there these they thing this those time to today too try turn two up us use used
using want was way we welcome well were what when where whether which while who whole will with without work would
yes you your yours
"""
_STOP = frozenset(_STOP_WORDS.split())
_AGAIN = re.compile(
    r"\b(again|once more|repeat|retry|another|back|undo|still|twice|re-?(?:do|run|try|start|connect|open)\w*)\b",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"[^.!?]*\b(?:thank(?:s| you) for calling|welcome to|how (?:can|may) i (?:help|assist)|what can i do for you)\b"
    r"[^.!?]*",
    re.IGNORECASE,
)
_JOINED = ((r"\bw(?:i|hy)[ -]?fi\b", "wifi"), (r"\bair ?plane\b", "airplane"), (r"\be[ -]sim\b", "esim"))


@dataclass(frozen=True, slots=True)
class Unasked:
    """A tool call without a request: the call, and why it counts as unasked."""

    call: ToolCalled
    why: str


def find_unasked(scenario: Scenario, deeds: Sequence[Deed]) -> tuple[list[Unasked], int]:
    """Return the caller's tool calls that nobody asked for, and how many calls were looked at."""
    tools = _caller_tools(scenario)
    vocabularies = _vocabularies(scenario.domain, tools)
    of_any = frozenset().union(*vocabularies.values())
    heard: list[str] = []
    since: dict[tuple[str, str], int] = {}
    unasked: list[Unasked] = []
    looked_at = 0
    for deed in deeds:
        if isinstance(deed, Utterance | HeardText):
            if deed.side is (Side.AGENT if isinstance(deed, Utterance) else Side.USER):
                heard.append(deed.text)
        elif isinstance(deed, ToolCalled) and deed.side is Side.USER and deed.name in tools:
            looked_at += 1
            key = (deed.name, repr(sorted(deed.arguments.items())))
            why = _why_unasked(tools[deed.name], vocabularies[deed.name], of_any, heard, since.get(key))
            since[key] = len(heard)
            if why:
                unasked.append(Unasked(deed, why))
    return unasked, looked_at


def _why_unasked(
    tool: Tool, own: frozenset[str], of_any: frozenset[str], heard: Sequence[str], since: int | None
) -> str:
    """Return why a call was not asked for; empty when it was. ``since``: what was heard at the last equal call."""
    if tool.kind is ToolKind.READ:
        return "" if _words(" ".join(heard)) & of_any else "nothing that was said before is about any tool"
    if since is not None:
        lately = " ".join(heard[since:])
        is_asked = bool(_words(lately) & own) or _AGAIN.search(lately) is not None
        return "" if is_asked else "it was not asked for again since the last time"
    return "" if _words(" ".join(heard)) & own else "nothing that was said before asks for it"


def _caller_tools(scenario: Scenario) -> dict[str, Tool]:
    """Return the caller's tools but for those that end the call; unknown ones are left out."""
    found = {}
    for name, settings in scenario.user.resources.tools.items():
        try:
            tool = find_tool(scenario.domain, name, settings)
        except RegistryError:
            continue
        if not tool.exit_text:
            found[name] = tool
    return found


def _vocabularies(domain: str, tools: Mapping[str, Tool]) -> dict[str, frozenset[str]]:
    """Return for each tool the words that tell it from most others.

    The things in its name count when few names hold them, however often descriptions do; verbs that begin several
    names tell nothing.
    """
    limit = max(3, round(_COMMON_SHARE * len(tools)))
    words = {name: _words(_texts(domain, tool)) for name, tool in tools.items()}
    things = {name: _words(" ".join(name.split("_")[1:])) for name in tools}
    verbs = Counter(name.split("_")[0][:_STEM] for name in tools)
    shared = {verb for verb, count in verbs.items() if count > 1}
    rare, rare_things = _rare(words.values(), limit), _rare(things.values(), limit)
    return {name: frozenset((words[name] & rare | things[name] & rare_things) - shared) for name in tools}


def _rare(texts: Iterable[set[str]], limit: int) -> set[str]:
    counts = Counter(word for own in texts for word in own)
    return {word for word, count in counts.items() if count <= limit}


def _texts(domain: str, tool: Tool) -> str:
    book = PHRASEBOOKS.find(domain, RULES_NAME)
    requests = [request for request in book.requests if request.tool == tool.name] if book is not None else []
    phrasings = [phrasing for request in requests for phrasing in request.phrasings]
    return " ".join([tool.name.replace("_", " "), tool.description, *_values(tool.properties), *phrasings])


def _values(properties: Mapping[str, Any]) -> list[str]:
    values: list[str] = []
    for name, schema in properties.items():
        values.append(name.replace("_", " "))
        choices = schema.get("enum", []) if isinstance(schema, Mapping) else []
        values += [str(choice).replace("_", " ") for choice in choices]
    return values


def _words(text: str) -> set[str]:
    """Return the stems of the words that can tell a tool; courtesies and common words are left out."""
    text = _COURTESY.sub(" ", text).lower().replace("’", "").replace("'", "")
    for pattern, joined in _JOINED:
        text = re.sub(pattern, joined, text)
    text = re.sub(r"\b(?:[a-z][ .-]+){1,4}[a-z]\b\.?", lambda match: re.sub(r"[^a-z]", "", match.group()), text)
    return {word[:_STEM] for word in re.findall(r"[a-z]{3,}", text) if word not in _STOP}
