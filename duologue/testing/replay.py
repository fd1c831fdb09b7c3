"""Replay of conformance vectors: ``python -m duologue.testing.replay FILE…``.

A ``.jsonl`` file holds one record a line; a ``.json`` file is one record, or a list of records. Each record is
handed to the format that recognises it; domains register their formats.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from duologue.errors import DuologueError
from duologue.registry import available_domains, load_domain
from duologue.toolkit.vectors import VECTOR_FORMATS, VectorFormat

PASSED = 0  # exit code
FAILED = 1  # exit code


@dataclass(slots=True)
class Tally:
    """What came of one file's records: ``problems`` holds one line for each record that failed."""

    passed: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """How many records failed."""
        return len(self.problems)


class VectorFileError(DuologueError):
    """A vector file cannot be read, or holds nothing."""


def load_formats(domains: Sequence[str]) -> list[VectorFormat]:
    """Load ``domains`` and return their vector formats.

    Raises:
        RegistryError: a domain is unknown.
    """
    formats: list[VectorFormat] = []
    for domain in domains:
        load_domain(domain)
        formats.extend(vector_format for _, vector_format in VECTOR_FORMATS.items(domain))
    return formats


def read_records(path: Path, formats: Sequence[VectorFormat]) -> Iterator[tuple[str, object]]:
    """Yield (place, record) of a file.

    Raises:
        VectorFileError: the file is unreadable, empty, not JSON or of another kind; the message names it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise VectorFileError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if path.suffix == ".jsonl":
        records = [(f"line {number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        if not records:
            raise VectorFileError(f"{path}: holds no records")
        yield from ((where, _parse(f"{path}: {where}", line)) for where, line in records)
    elif path.suffix == ".json":
        yield from _whole_file(path, text, formats)
    else:
        raise VectorFileError(f"{path}: a vector file must end in .jsonl or .json")


def _whole_file(path: Path, text: str, formats: Sequence[VectorFormat]) -> Iterator[tuple[str, object]]:
    if not text.strip():
        raise VectorFileError(f"{path}: holds no records")
    value = _parse(str(path), text)
    if not isinstance(value, list) or any(vector_format.recognises(value) for vector_format in formats):
        yield "file", value
    elif value:
        yield from ((f"item {index}", item) for index, item in enumerate(value))
    else:
        raise VectorFileError(f"{path}: holds no records")


def _parse(where: str, text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise VectorFileError(f"{where}: not JSON ({error})") from error


def replay_record(record: object, formats: Sequence[VectorFormat]) -> list[str]:
    """Return one line for each difference of a record; one that no format recognises differs as a whole."""
    return [line for _, lines in replay_cases(record, formats) for line in lines]


def replay_cases(record: object, formats: Sequence[VectorFormat]) -> list[tuple[str, list[str]]]:
    """Return (place, differences) for each case of a record; most records are one case without a place."""
    known = [vector_format for vector_format in formats if vector_format.recognises(record)]
    if not known:
        keys = ", ".join(record) if isinstance(record, dict) else type(record).__name__
        return [("", [f"no loaded domain recognises this record ({keys})"])]
    if len(known) > 1:
        return [("", ["several formats recognise this record; name its domain with --domain"])]
    split = known[0].cases
    try:
        cases = list(split(record)) if split is not None else [("", record)]
    except _REPLAY_ERRORS as error:
        return [("", [_unreplayable(error)])]
    return [(where, _differences(known[0], case)) for where, case in cases]


_REPLAY_ERRORS = (DuologueError, LookupError, TypeError, ValueError, AttributeError)


def _differences(vector_format: VectorFormat, case: object) -> list[str]:
    try:
        return vector_format.replay(case)
    except _REPLAY_ERRORS as error:
        return [_unreplayable(error)]


def _unreplayable(error: Exception) -> str:
    return f"cannot be replayed: {type(error).__name__}: {error}"


def replay_file(path: Path, formats: Sequence[VectorFormat]) -> Tally:
    """Replay every record of a file.

    Raises:
        VectorFileError: see :func:`read_records`.
    """
    tally = Tally()
    for where, record in read_records(path, formats):
        for place, lines in replay_cases(record, formats):
            if lines:
                at = f"{where}: {place}" if place else where
                tally.problems.append(f"{path}: {at}: {lines[0]}")
            else:
                tally.passed += 1
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay the files named on the command line, print the tally and return 0 only when every record agreed."""
    parser = argparse.ArgumentParser(prog="duologue.testing.replay", description="Replay conformance vectors.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a .jsonl or .json file of vectors")
    parser.add_argument("--domain", action="append", help="load only this domain (repeatable); default: all")
    options = parser.parse_args(arguments)
    try:
        formats = load_formats(options.domain or available_domains())
    except DuologueError as error:
        parser.error(str(error))
    total = Tally()
    for path in options.files:
        try:
            tally = replay_file(path, formats)
        except VectorFileError as error:
            total.problems.append(str(error))
            print(f"error: {error}")
            continue
        print(f"{path}: {tally.passed} passed, {tally.failed} failed")
        total.passed += tally.passed
        total.problems.extend(tally.problems)
    print(f"{total.passed} passed, {total.failed} failed")
    if total.problems:
        print(f"first difference: {total.problems[0]}")
    return FAILED if total.problems else PASSED


if __name__ == "__main__":
    sys.exit(main())
