"""Check of the simulated caller: it uses its tools when it is asked to.

Words decide, and in doubt for the caller: a tool is asked for when the agent has said, or the caller has heard, a
word that belongs to it and to few others. Of a sentence that was cut short any word of the tool will do, as the rest
may have told which tool was meant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from duologue.errors import RegistryError
from duologue.records.action import Side
from duologue.records.event import HeardText, ToolCalled, ToolReturned
from duologue.records.scenario import Scenario
from duologue.toolkit.phrasebook import PHRASEBOOKS
from duologue.toolkit.rules import RULES_NAME
from duologue.toolkit.tool import Tool, ToolKind, find_tool
from duologue.toolkit.utterances import Deed, Utterance, join_words
from duologue.toolkit.vocabulary import Vocabulary, vocabulary_of

_COMMON_SHARE = 0.2
"""A word of more than this share of the caller's tools tells none of them (but of three at least)."""

_STEM = 6  # letters in which the forms of a word agree: toggle, toggles, toggled
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
_TWICE = re.compile(r"\b(again|twice|two times|once more|on and off|off and on|(?:and|then) back)\b", re.IGNORECASE)
_COURTESY = re.compile(
    r"[^.!?]*\b(?:thank(?:s| you) for calling|welcome to|how (?:can|may) i (?:help|assist)|what can i do for you)\b"
    r"[^.!?]*",
    re.IGNORECASE,
)
_SENTENCE_ENDS = (".", "!", "?", "…")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")


@dataclass(frozen=True, slots=True)
class Unasked:
    """A tool call without a request: the call, and why it counts as unasked."""

    call: ToolCalled
    why: str


@dataclass(frozen=True, slots=True)
class _Words:
    """The words by which a tool is known: those that few tools share, and all of them."""

    own: frozenset[str]
    known: frozenset[str]


@dataclass(slots=True)
class _Past:
    """What the caller was told before a call; ``spoke_seq`` is the last event of its own words so far."""

    vocabulary: Vocabulary
    told: list[Utterance | HeardText] = field(default_factory=list)
    spoke_seq: int = 0

    def text(self, after: int = 0, until: int | None = None) -> str:
        """Return what was told by events after ``after``, up to ``until``."""
        return " ".join(_part(item, after, until) for item in self.told)

    def words(self, after: int = 0, until: int | None = None) -> frozenset[str]:
        """Return the stems of what was told by events after ``after``, up to ``until``."""
        return _words(self.text(after, until), self.vocabulary)

    def has_cut(self, known: frozenset[str]) -> bool:
        """Whether the agent's last sentence stops in the middle and has one of the words ``known``."""
        spoken = [item.text.strip() for item in self.told if isinstance(item, Utterance)]
        if not spoken or spoken[-1].endswith(_SENTENCE_ENDS):
            return False
        return bool(_words(_SENTENCE_END.split(spoken[-1])[-1], self.vocabulary) & known)

    def times_asked(self, own: frozenset[str], after: int, until: int) -> int:
        """Return in how many sentences told by events between the two the words ``own`` stand, said or heard."""
        counts = Counter[bool]()
        for item in self.told:
            sentences = _SENTENCE_END.split(_part(item, after, until))
            asking = [sentence for sentence in sentences if _words(sentence, self.vocabulary) & own]
            counts[isinstance(item, HeardText)] += len(asking)
        return max(counts.values(), default=0)


@dataclass(slots=True)
class _Earlier:
    """Equal calls since the caller last spoke before them: the event of its words, of the last call, how many."""

    spoke_seq: int
    call_seq: int
    count: int = 1


def find_unasked(scenario: Scenario, deeds: Sequence[Deed]) -> tuple[list[Unasked], int]:
    """Return the caller's tool calls that nobody asked for, and how many calls were looked at.

    A call whose result never came may be made again.
    """
    tools = _caller_tools(scenario)
    of_tools = _tool_words(scenario.domain, tools)
    of_any = frozenset().union(*(words.own for words in of_tools.values()))
    delivered = _delivered(deeds)
    past, earlier = _Past(vocabulary_of(scenario.domain)), dict[tuple[str, str], _Earlier]()
    unasked: list[Unasked] = []
    looked_at = 0
    for deed in deeds:
        if isinstance(deed, Utterance) and deed.side is Side.USER:
            past.spoke_seq = deed.seqs[0]
        elif isinstance(deed, Utterance) or (isinstance(deed, HeardText) and deed.side is Side.USER):
            past.told.append(deed)
        elif isinstance(deed, ToolCalled) and deed.side is Side.USER and deed.name in tools:
            looked_at += 1
            key = (deed.name, repr(sorted(deed.arguments.items())))
            why = _why_unasked(tools[deed.name], of_tools[deed.name], of_any, past, earlier.get(key))
            if deed.call_id in delivered:
                earlier[key] = _next(earlier.get(key), past.spoke_seq, deed.seq)
            if why:
                unasked.append(Unasked(deed, why))
    return unasked, looked_at


def _next(before: _Earlier | None, spoke_seq: int, call_seq: int) -> _Earlier:
    count = before.count + 1 if before is not None and before.spoke_seq == spoke_seq else 1
    return _Earlier(spoke_seq, call_seq, count)


def _delivered(deeds: Sequence[Deed]) -> set[str]:
    """Return the ids of the caller's tool calls whose results reached it."""
    return {
        deed.call_id
        for deed in deeds
        if isinstance(deed, ToolReturned) and deed.side is Side.USER and not deed.cancelled
    }


def _why_unasked(tool: Tool, words: _Words, of_any: frozenset[str], past: _Past, earlier: _Earlier | None) -> str:
    """Return why a call was not asked for; empty when it was. ``earlier``: the equal calls that were answered."""
    if tool.kind is ToolKind.READ:
        return "" if past.words() & of_any else "nothing that was said before is about any tool"
    if earlier is not None:
        return "" if _is_asked_again(words, past, earlier) else "it was not asked for again since the last time"
    is_asked = bool(past.words() & words.own) or past.has_cut(words.known)
    return "" if is_asked else "nothing that was said before asks for it"


def _is_asked_again(words: _Words, past: _Past, earlier: _Earlier) -> bool:
    """Whether a call was asked for since its last equal one, or more often than once before that one."""
    lately = past.text(after=earlier.call_seq)
    if past.words(after=earlier.call_seq) & words.own or _AGAIN.search(lately):
        return True
    asked = past.times_asked(words.own, earlier.spoke_seq, earlier.call_seq)
    is_twice = _TWICE.search(past.text(earlier.spoke_seq, earlier.call_seq)) is not None
    return asked + is_twice > earlier.count


def _part(item: Utterance | HeardText, after: int, until: int | None) -> str:
    """Return what ``item`` holds of the events after ``after``, up to ``until``."""
    pieces = zip(item.seqs, item.pieces, strict=True) if isinstance(item, Utterance) else [(item.seq, item.text)]
    return join_words([text for seq, text in pieces if seq > after and (until is None or seq <= until)])


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


def _tool_words(domain: str, tools: Mapping[str, Tool]) -> dict[str, _Words]:
    """Return for each tool its words, and those that tell it from most others.

    The things in its name count when few names hold them, however often descriptions do; verbs that begin several
    names tell nothing.
    """
    vocabulary = vocabulary_of(domain)
    limit = max(3, round(_COMMON_SHARE * len(tools)))
    words = {name: _words(_texts(domain, tool), vocabulary) for name, tool in tools.items()}
    things = {name: _words(" ".join(name.split("_")[1:]), vocabulary) for name in tools}
    verbs = Counter(name.split("_")[0][:_STEM] for name in tools)
    shared = {verb for verb, count in verbs.items() if count > 1}
    rare, rare_things = _rare(words.values(), limit), _rare(things.values(), limit)
    own = {name: frozenset((words[name] & rare | things[name] & rare_things) - shared) for name in tools}
    return {name: _Words(own[name], frozenset(words[name])) for name in tools}


def _rare(texts: Iterable[frozenset[str]], limit: int) -> set[str]:
    counts = Counter(word for own in texts for word in own)
    return {word for word, count in counts.items() if count <= limit}


def _texts(domain: str, tool: Tool) -> str:
    book = PHRASEBOOKS.find(domain, RULES_NAME)
    requests = [request for request in book.requests if request.tool == tool.name] if book is not None else []
    phrasings = [phrasing for request in requests for phrasing in request.phrasings]
    return " ".join([tool.name.replace("_", " "), tool.description, *_values(tool.properties), *phrasings])


def _values(properties: Mapping[str, object]) -> list[str]:
    values: list[str] = []
    for name, schema in properties.items():
        values.append(name.replace("_", " "))
        choices = schema.get("enum", []) if isinstance(schema, Mapping) else []
        values += [str(choice).replace("_", " ") for choice in choices]
    return values


@lru_cache(maxsize=4096)  # the texts of a domain's tools come again with every attempt
def _words(text: str, vocabulary: Vocabulary) -> frozenset[str]:
    """Return the stems of the words that can tell a tool; courtesies and common words are left out."""
    text = _COURTESY.sub(" ", text).lower().replace("’", "").replace("'", "")
    for pattern, joined in vocabulary.compounds.items():
        text = re.sub(pattern, joined, text)
    text = re.sub(r"\b(?:[a-z][ .-]+){1,4}[a-z]\b\.?", lambda match: re.sub(r"[^a-z]", "", match.group()), text)
    return frozenset(word[:_STEM] for word in re.findall(r"[a-z]{3,}", text) if word not in _STOP)
