"""Task records: the shape of a JSONL line, its reader and writer, and the rules that a sound record keeps."""

from __future__ import annotations

import base64
import binascii
import difflib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import soundfile
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError, field_validator

from duologue.errors import FixtureError
from tools.voiceagentbench.manifest import manifest_name


class Suite(StrEnum):
    """The six suites."""

    SINGLE = "single"
    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"
    MULTI_TURN = "multi-turn"
    SAFETY = "safety"
    MULTILINGUAL = "multilingual"


class Duty(StrEnum):
    """What a record with a safety verdict asks for."""

    REFUSE = "must_refuse"
    COMPLY = "must_comply"


class _Shape(BaseModel):
    """Keys that the shape does not have are kept and written back."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Query(_Shape):
    """One user turn. ``audio_path`` is a sound file beside the records; ``audio_b64`` holds one itself."""

    transcript: StrictStr
    language: StrictStr = "en"
    speaker_id: StrictStr | None = None
    audio_b64: StrictStr | None = Field(default=None, repr=False)
    audio_path: StrictStr | None = None


class Expectation(_Shape):
    """One expected call.

    ``accepted_params`` lists all values that a parameter may take; an empty text among them means that the
    parameter may be left out.
    """

    tool_name: StrictStr
    required_params: dict[str, Any] = Field(default_factory=dict)
    substring_params: dict[str, str] = Field(default_factory=dict)
    order: StrictInt | None = None
    accepted_params: dict[str, list[Any]] = Field(default_factory=dict)

    @field_validator("substring_params", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return {str(key): str(item) for key, item in value.items()} if isinstance(value, dict) else value


class TaskRecord(_Shape):
    """One task.

    ``category``, ``user_info``, ``scripted_replies`` (what the assistant says after each user turn but the last) and
    ``tool_results`` (canned results by tool name) are extensions.
    """

    task_id: StrictStr
    suite: Suite
    queries: list[Query] = Field(default_factory=list)
    expected_tool_calls: list[Expectation] = Field(default_factory=list)
    tool_manifest: list[dict[str, Any]] = Field(default_factory=list)
    safety_verdict: Duty | None = None
    expected_response_substrings: list[Any] = Field(default_factory=list)
    description: StrictStr = ""
    category: StrictStr | None = None
    user_info: StrictStr | None = None
    scripted_replies: list[StrictStr] = Field(default_factory=list)
    tool_results: dict[str, Any] = Field(default_factory=dict)

    @field_validator("task_id", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return value if value is None else str(value)

    @property
    def language(self) -> str:
        """Code of the language of the first query."""
        return self.queries[0].language if self.queries else "en"

    def without_audio(self) -> TaskRecord:
        """Return the record without sound files, for places that only score."""
        queries = [query.model_copy(update={"audio_b64": None}) for query in self.queries]
        return self.model_copy(update={"queries": queries})


def parse_record(value: Any) -> TaskRecord:
    """Return a record from a JSON value.

    Raises:
        FixtureError: a key is missing, unknown but close to a known one, or holds the wrong kind of value; the message
            begins with the key.
    """
    if not isinstance(value, dict):
        raise FixtureError("not a JSON object")
    try:
        record = TaskRecord.model_validate(value)
    except ValidationError as error:
        raise FixtureError(_first_problem(error)) from error
    for where, part in _parts(record):
        _check_spelling(where, part)
    return record


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"]).lstrip(".")
    if problem["type"] == "missing":
        return f"{key}: missing"
    if problem["type"] == "enum":
        return f"{key}: {problem['input']!r} is not one of {problem['ctx']['expected']}"
    return f"{key}: {problem['msg']}"


def _parts(record: TaskRecord) -> Iterator[tuple[str, _Shape]]:
    yield "", record
    for index, query in enumerate(record.queries):
        yield f"queries[{index}].", query
    for index, expectation in enumerate(record.expected_tool_calls):
        yield f"expected_tool_calls[{index}].", expectation


def _check_spelling(where: str, part: _Shape) -> None:
    known = type(part).model_fields
    for key in part.model_extra or {}:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.85)
        if near:
            raise FixtureError(f"{where}{key}: unknown; did you mean {near[0]!r}?")


def rule_problems(record: TaskRecord) -> list[str]:
    """Return what makes a record unsound although it has the right shape; each line begins with the key."""
    problems = []
    if not record.queries:
        problems.append("queries: empty; a task needs at least one user turn")
    if record.safety_verdict is Duty.REFUSE and record.expected_tool_calls:
        problems.append("expected_tool_calls: a must_refuse record expects no calls")
    known = {manifest_name(item) for item in record.tool_manifest}
    for index, expectation in enumerate(record.expected_tool_calls):
        if expectation.tool_name not in known:
            where = f"expected_tool_calls[{index}].tool_name"
            problems.append(f"{where}: {expectation.tool_name!r} is not in the tool_manifest")
    if record.suite is Suite.SEQUENTIAL:
        problems += _order_problems([expectation.order for expectation in record.expected_tool_calls])
    return problems


def _order_problems(orders: Sequence[int | None]) -> list[str]:
    given = [order for order in orders if order is not None]
    if given and len(given) < len(orders):
        return ["expected_tool_calls: order is set on some expectations only; set it on all or on none"]
    if len(set(given)) < len(given):
        return ["expected_tool_calls: two expectations have the same order"]
    if any(order < 0 for order in given):
        return ["expected_tool_calls: an order is below 0"]
    return []


def read_records(path: Path, *, rules: bool = True) -> list[TaskRecord]:
    """Read a JSONL file of records.

    Args:
        path: the file; ``audio_path`` is relative to its folder.
        rules: whether records that break :func:`rule_problems` are refused.

    Raises:
        FixtureError: the file is missing, or a line is malformed, breaks a rule, repeats a task_id, or names a sound
            file that is not one; the message names file, line and key.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FixtureError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    records: list[TaskRecord] = []
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = _checked(line, path.parent, rules)
        except FixtureError as error:
            raise FixtureError(f"{path}: line {number}: {error}") from error
        if record.task_id in lines:
            raise FixtureError(
                f"{path}: line {number}: task_id: {record.task_id!r} already stands in line {lines[record.task_id]}"
            )
        lines[record.task_id] = number
        records.append(record)
    if not records:
        raise FixtureError(f"{path}: holds no records")
    return records


def _checked(line: str, folder: Path, rules: bool) -> TaskRecord:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise FixtureError(f"not JSON ({error})") from error
    record = parse_record(value)
    problems = rule_problems(record) if rules else []
    if problems:
        raise FixtureError(problems[0])
    for index, query in enumerate(record.queries):
        try:
            check_sound(query, folder)
        except FixtureError as error:
            raise FixtureError(f"queries[{index}].{error}") from error
    return record


def confined(folder: Path, relative: str) -> Path:
    """Return the path of ``relative`` under ``folder``.

    Raises:
        FixtureError: it is absolute or leads out of the folder, also through a link.
    """
    path = folder / relative
    if not relative or Path(relative).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        raise FixtureError(f"{relative!r} must be relative and stay under {folder}")
    return path


def check_sound(query: Query, folder: Path) -> None:
    """Check that the query's audio, if it has any, is a sound file by its content.

    Raises:
        FixtureError: it is not; the message begins with the key.
    """
    try:
        if query.audio_b64:
            soundfile.info(io.BytesIO(base64.b64decode(query.audio_b64, validate=True)))
        elif query.audio_path:
            path = confined(folder, query.audio_path)
            if not path.is_file():
                raise FixtureError(f"audio_path: no file {path}")
            soundfile.info(str(path))
    except binascii.Error as error:
        raise FixtureError(f"audio_b64: not base64 ({error})") from error
    except FixtureError as error:
        raise FixtureError(str(error) if str(error).startswith("audio_path") else f"audio_path: {error}") from error
    except soundfile.LibsndfileError as error:
        key = "audio_b64" if query.audio_b64 else "audio_path"
        raise FixtureError(f"{key}: not a sound file that can be decoded ({error.error_string})") from error


def write_records(path: Path, records: Iterable[TaskRecord]) -> None:
    """Write records as JSONL; every key that a record was read with is written, in the same order."""
    lines = [json.dumps(to_json(record), ensure_ascii=False) for record in records]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def to_json(record: TaskRecord) -> dict[str, Any]:
    """Return the JSON object of a record: the keys it was read with."""
    return record.model_dump(mode="json", exclude_unset=True)
