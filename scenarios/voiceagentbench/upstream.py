"""A user's own copy of the upstream data set, in the mapping of the vendored loader or in full. Nothing is fetched.

``python -m scenarios.voiceagentbench.upstream FOLDER`` prints what a copy holds.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from duologue.errors import DuologueError, FixtureError
from duologue.state.fixtures import read_json
from scenarios.voiceagentbench.records import (
    Duty,
    Expectation,
    Query,
    Suite,
    TaskRecord,
    confined,
    rule_problems,
)

COMPAT = "compat"
FULL = "full"
MAPPINGS = (COMPAT, FULL)

CATEGORIES = {
    "single_tool": Suite.SINGLE,
    "single_tool_retrieval": Suite.SINGLE,
    "parallel_tool": Suite.PARALLEL,
    "seqdep_tool": Suite.SEQUENTIAL,
    "multi_turn": Suite.MULTI_TURN,
    "safety": Suite.SAFETY,
}
LANGUAGES = {
    "english": "en",
    "hindi": "hi",
    "bengali": "bn",
    "marathi": "mr",
    "tamil": "ta",
    "telugu": "te",
    "malayalam": "ml",
}
COMPAT_CELLS = (
    ("single_tool", "english", Suite.SINGLE),
    ("parallel_tool", "english", Suite.PARALLEL),
    ("seqdep_tool", "english", Suite.SEQUENTIAL),
    ("multi_turn", "english", Suite.MULTI_TURN),
    ("safety", "english", Suite.SAFETY),
    ("single_tool", "hindi", Suite.MULTILINGUAL),
)
_FIRST_COMPONENT = "VoiceAgentBench"
_API_REQUEST = re.compile(r"\s*API-Request:\s*\[.*", re.DOTALL)

Row = Mapping[str, Any]


@dataclass(slots=True)
class UpstreamCopy:
    """What a copy holds.

    ``counts`` is the number of records of each file that was read, ``empty`` the (category, language) pairs without a
    file, ``silent`` the records whose sound file is not there, ``notes`` what is odd about single records.
    """

    root: Path
    mapping: str
    records: list[TaskRecord] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    empty: list[tuple[str, str]] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def report(self) -> list[str]:
        """Return what was read, line by line."""
        lines = [f"{name}: {count} records" for name, count in self.counts.items()]
        lines += [f"no file for {category} in {language}" for category, language in self.empty]
        lines.append(f"{len(self.records)} records in {len(self.counts)} files, mapping {self.mapping}")
        if self.silent:
            lines.append(f"{len(self.silent)} records lack a sound file, first {self.silent[0]}; their tasks will fail")
        return lines + self.notes


def load_copy(root: Path, mapping: str) -> UpstreamCopy:
    """Read a copy of the data set.

    Args:
        root: the data set's root, with the folders of the categories in it or under ``data/``.
        mapping: ``compat`` reads the six files that the vendored loader reads; ``full`` all of them.

    Raises:
        FixtureError: there is none of the files, or a record is malformed; the message names file, record and key.
    """
    copy = UpstreamCopy(root, mapping)
    cells = (
        COMPAT_CELLS
        if mapping == COMPAT
        else tuple((category, language, suite) for category, suite in CATEGORIES.items() for language in LANGUAGES)
    )
    for category, language, suite in cells:
        path = _file(root, category, language)
        if path is None:
            copy.empty.append((category, language))
            continue
        cell = _Cell(copy, path, category, language, suite)
        cell.read()
    if not copy.counts:
        example = "data/single_tool_data/english/single_tool_english.json"
        raise FixtureError(f"{root}: no copy of the data set; expected files such as {example}, with or without data/")
    return copy


def _file(root: Path, category: str, language: str) -> Path | None:
    name = f"{category}_data/{language}/{category}_{language}.json"
    return next((path for path in (root / "data" / name, root / name) if path.is_file()), None)


@dataclass(slots=True)
class _Cell:
    """One file: a category in a language."""

    copy: UpstreamCopy
    path: Path
    category: str
    language: str
    suite: Suite

    def read(self) -> None:
        """Add the file's records to the copy."""
        rows = read_json(self.path)
        if not isinstance(rows, list):
            raise FixtureError(f"{self.path}: not a JSON array")
        seen: set[str] = set()
        for index, row in enumerate(rows):
            try:
                record = self._record(row)
                if record.task_id in seen:
                    raise FixtureError(f"id: {row['id']!r} stands twice in this file")
            except FixtureError as error:
                raise FixtureError(f"{self.path}: record {index}: {error}") from error
            seen.add(record.task_id)
            self.copy.records.append(record)
            self.copy.notes += [f"{self.path.name}: record {index}: {line}" for line in rule_problems(record)]
        self.copy.counts[self.path.relative_to(self.copy.root).as_posix()] = len(rows)

    @property
    def _is_full(self) -> bool:
        return self.copy.mapping == FULL

    def _record(self, row: Any) -> TaskRecord:
        if not isinstance(row, dict):
            raise FixtureError("not a JSON object")
        task_id = row.get("id")
        if task_id in (None, ""):
            raise FixtureError("id: missing")
        name = f"{self.category}/{self.language}/{task_id}" if self._is_full else str(task_id)
        queries, replies = self._dialogue(row, name) if self.category == "multi_turn" else self._single(row, name)
        is_safety = self.category == "safety"
        fields: dict[str, Any] = {
            "task_id": name,
            "suite": self.suite,
            "queries": queries,
            "expected_tool_calls": [] if is_safety else self._expectations(row),
            "tool_manifest": _manifest(row.get("functions")),
            "safety_verdict": Duty.REFUSE if is_safety else None,
            "category": self.category,
        }
        if replies:
            fields["scripted_replies"] = replies
        if self._is_full and row.get("user_info"):
            fields["user_info"] = _text(row["user_info"])
        return TaskRecord(**fields)

    def _single(self, row: Row, name: str) -> tuple[list[Query], list[str]]:
        transcript = row.get("query") or row.get("user_request")
        if not isinstance(transcript, str) or not transcript.strip():
            raise FixtureError("query: missing (and no user_request)")
        return [self._query(row, transcript, "path", name)], []

    def _dialogue(self, row: Row, name: str) -> tuple[list[Query], list[str]]:
        history = row.get("chat_history")
        turns = [turn for turn in history if isinstance(turn, dict)] if isinstance(history, list) else []
        queries: list[Query] = []
        replies: list[str] = []
        for index, turn in enumerate(turns):
            content = self._spoken(turn.get("content"))
            if turn.get("role") == "user":
                queries.append(self._query(turn, content, f"chat_history[{index}].path", name))
            elif turn.get("role") == "assistant" and queries:
                replies += [""] * (len(queries) - 1 - len(replies))
                replies = [*replies[: len(queries) - 1], " ".join([*replies[len(queries) - 1 :], content]).strip()]
        if not queries:
            raise FixtureError("chat_history: no user turn")
        return queries, replies

    def _spoken(self, content: Any) -> str:
        text = _text(content)
        return _API_REQUEST.sub("", text).strip() if self._is_full else text

    def _query(self, row: Row, transcript: str, key: str, name: str) -> Query:
        path = row.get("path")
        if not isinstance(path, str) or not path.strip():
            raise FixtureError(f"{key}: missing")
        found = self._sound(path, key)
        if found is None:
            self.copy.silent.append(name)
            return Query(transcript=transcript, language=LANGUAGES[self.language])
        return Query(transcript=transcript, language=LANGUAGES[self.language], audio_path=found)

    def _sound(self, path: str, key: str) -> str | None:
        """Return the sound file relative to the root: the path as given, or without its first component."""
        parts = Path(path).parts
        candidates = [path]
        if len(parts) > 1 and parts[0] == _FIRST_COMPONENT:
            candidates.append(str(Path(*parts[1:])))
        candidates += [f"data/{candidate}" for candidate in candidates]
        for candidate in candidates:
            try:
                if confined(self.copy.root, candidate).is_file():
                    return candidate
            except FixtureError as error:
                raise FixtureError(f"{key}: {error}") from error
        return None

    def _expectations(self, row: Row) -> list[Expectation]:
        expected = row.get("expected_tool_call")
        if expected is None:
            raise FixtureError("expected_tool_call: missing")
        if not isinstance(expected, list):
            raise FixtureError("expected_tool_call: not a list")
        return [
            self._expectation(name, arguments, index)
            for index, item in enumerate(expected)
            for name, arguments in _named(item, index)
        ]

    def _expectation(self, name: str, arguments: Row, index: int) -> Expectation:
        accepted = {str(key): value if isinstance(value, list) else [value] for key, value in arguments.items()}
        if self._is_full:
            order = index if self.suite is Suite.SEQUENTIAL else None
            return Expectation(tool_name=name, accepted_params=accepted, order=order)
        firsts = {str(key): value for key, value in arguments.items() if isinstance(value, list) and value}
        exact = {str(key): value for key, value in arguments.items() if not (isinstance(value, list) and value)}
        return Expectation(
            tool_name=name,
            required_params=exact,
            substring_params={key: str(values[0]) for key, values in firsts.items()},
            order=index,
            accepted_params={key: values for key, values in accepted.items() if values},
        )


def _named(item: Any, index: int) -> Iterator[tuple[str, Row]]:
    if not isinstance(item, dict) or not item:
        raise FixtureError(f"expected_tool_call[{index}]: not an object with a tool's name")
    for name, arguments in item.items():
        if not isinstance(arguments, dict):
            raise FixtureError(f"expected_tool_call[{index}].{name}: not an object of parameters")
        yield name, arguments


def _manifest(functions: Any) -> list[dict[str, Any]]:
    if functions is None:
        return []
    if not isinstance(functions, list):
        raise FixtureError("functions: not a list")
    return [item if isinstance(item, dict) else {"name": str(item), "description": ""} for item in functions]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what a copy holds; return 1 when it cannot be read."""
    parser = argparse.ArgumentParser(prog="scenarios.voiceagentbench.upstream", description="Count an upstream copy.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mapping", choices=MAPPINGS, default=FULL)
    options = parser.parse_args(arguments)
    try:
        lines = load_copy(options.folder.resolve(), options.mapping).report()
    except DuologueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
