"""Telecom tasks, composed from atomic issues.

A task is one family, a set of atomic issues and a persona. ``issues.json`` says how each issue is brought
about and how it is repaired, ``families.json`` which issues can meet in a family and what must hold at the
end. Everything else follows from the two files.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from duologue.errors import FixtureError
from duologue.records.action import DbAssertion, InitAction, ReferenceAction, Side
from duologue.records.record import Record
from duologue.state.fixtures import data_file, read_json

PERSONAS = ("None", "Easy", "Hard")
"""Persona labels in the order in which the tasks of a family take them."""

TRANSFER = "transfer_to_human_agents"
ANY_SUMMARY = "*"

T = TypeVar("T")


class Step(Record):
    """One call on one side: a tool, an initialization function or a predicate."""

    side: Side
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Issue(Record):
    """One thing that can be wrong.

    ``fix`` is None when only a human colleague can help. ``published`` is False for an issue whose tasks
    take part in the persona rotation but are left out of every split.
    """

    init: tuple[Step, ...]
    fix: tuple[Step, ...] | None
    abroad: bool = False
    refuel_gb: float = 0.0
    assertions: tuple[Step, ...] = ()
    published: bool = True


class SelectionSet(Record):
    """Issues of which at most one occurs in a task; ``counts`` when it alone makes a task of the family."""

    issues: tuple[str, ...]
    counts: bool


class CallerFacts(Record):
    """What the caller of a family knows, wants and agrees to. None: the caller was told nothing about it.

    ``complaint`` and ``wish`` put ``symptom`` and ``done_when`` into words.
    """

    symptom: str
    complaint: str
    wish: str
    user_knows: tuple[str, ...]
    done_when: str
    accepts_paying_bills: bool | None
    may_refuel_gb: float | None
    willing_to_change_plan: bool | None
    accepts_other_speed_labels: bool | None
    has_wifi: bool | None
    reads_status_bar_when_asked_for_status: bool | None


class Family(Record):
    """Tasks that share a symptom, and what holds after a solved and after an unsolvable one."""

    sets: tuple[SelectionSet, ...]
    solved: tuple[Step, ...]
    unsolvable: tuple[Step, ...]
    caller: CallerFacts


class Caller(Record):
    """The customer whom every task concerns; ``home`` and ``abroad`` are country names."""

    name: str
    phone_number: str
    customer_id: str
    line_id: str
    home: str
    abroad: str


class Families(Record):
    """The content of ``families.json``; families in task order."""

    caller: Caller
    families: dict[str, Family]


class TelecomTask(Record):
    """One task, in the form both policy variants share."""

    task_id: str
    family: str
    issues: tuple[str, ...]
    persona: str
    initialization_actions: tuple[InitAction, ...]
    reference_actions: tuple[ReferenceAction, ...]
    assertions: tuple[DbAssertion, ...]
    nl_assertions: tuple[str, ...] = ()
    reward_basis: tuple[str, ...]
    is_abroad: bool
    refuel_gb: float


def load_record(name: str, kind: type[T] | Any) -> T:
    """Return ``data/tau2_telecom/<name>`` as ``kind``.

    Raises:
        FixtureError: the file is missing or malformed; file and key are named.
    """
    path = data_file(f"tau2_telecom/{name}")
    try:
        value: T = TypeAdapter(kind).validate_python(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise FixtureError(f"{path}: {where}: {first['msg']}") from error
    return value


@cache
def load_issues() -> dict[str, Issue]:
    """Return the atomic issues by id."""
    return load_record("issues.json", dict[str, Issue])


@cache
def load_families() -> Families:
    """Return the families and the customer they concern.

    Raises:
        FixtureError: a family names an issue that ``issues.json`` lacks.
    """
    families: Families = load_record("families.json", Families)
    for name, family in families.families.items():
        unknown = {issue for group in family.sets for issue in group.issues} - load_issues().keys()
        if unknown:
            raise FixtureError(f"families.json: {name}: unknown issues {', '.join(sorted(unknown))}")
    return families


def selections(family: Family) -> Iterator[tuple[str, ...]]:
    """Yield the sets of issues of a family, ordered by number of issues.

    Among equals the order is that of the Cartesian product over the selection sets, each offering its issues
    and then "none". Issues are alphabetical inside a selection.
    """
    counting = {issue for group in family.sets if group.counts for issue in group.issues}
    product = itertools.product(*[(*group.issues, None) for group in family.sets])
    chosen = [tuple(sorted(issue for issue in combination if issue is not None)) for combination in product]
    yield from sorted((issues for issues in chosen if counting.intersection(issues)), key=len)


def task_id(family: str, issues: tuple[str, ...], persona: str) -> str:
    """Return ``[family]issue|issue[PERSONA:label]``."""
    return f"[{family}]{'|'.join(issues)}[PERSONA:{persona}]"


def compose_task(family_name: str, issue_ids: tuple[str, ...], persona: str) -> TelecomTask:
    """Return the task of a family with these issues (alphabetical) and this persona."""
    families = load_families()
    family, caller = families.families[family_name], families.caller
    issues = [load_issues()[issue] for issue in issue_ids]
    is_solvable = all(issue.fix is not None for issue in issues)
    identify = Step(
        side=Side.USER, name="set_user_info", arguments={"name": caller.name, "phone_number": caller.phone_number}
    )
    checks = [*(family.solved if is_solvable else family.unsolvable)]
    checks += [check for issue in issues for check in issue.assertions]
    return TelecomTask(
        task_id=task_id(family_name, issue_ids, persona),
        family=family_name,
        issues=issue_ids,
        persona=persona,
        initialization_actions=tuple(
            InitAction(side=step.side, func_name=step.name, arguments=step.arguments)
            for step in [identify, *(step for issue in issues for step in issue.init)]
        ),
        reference_actions=_repairs(issues) if is_solvable else (_transfer(),),
        assertions=tuple(
            DbAssertion(side=check.side, func_name=check.name, arguments=check.arguments) for check in checks
        ),
        reward_basis=("ENV_ASSERTION",) if is_solvable else ("ENV_ASSERTION", "ACTION"),
        is_abroad=any(issue.abroad for issue in issues),
        refuel_gb=sum(issue.refuel_gb for issue in issues),
    )


def _repairs(issues: list[Issue]) -> tuple[ReferenceAction, ...]:
    steps = [step for issue in issues for step in issue.fix or ()]
    return tuple(
        ReferenceAction(action_id=f"{step.name}_{position}", side=step.side, name=step.name, arguments=step.arguments)
        for position, step in enumerate(steps)
    )


def _transfer() -> ReferenceAction:
    return ReferenceAction(
        action_id=TRANSFER, side=Side.AGENT, name=TRANSFER, arguments={"summary": ANY_SUMMARY}, compare_args=()
    )


@cache
def compose_all() -> tuple[TelecomTask, ...]:
    """Return every published task: families in file order, each by number of issues.

    The persona of a task is given by its place in the family, unpublished tasks counted.
    """
    unpublished = {name for name, issue in load_issues().items() if not issue.published}
    return tuple(
        compose_task(name, issues, PERSONAS[place % len(PERSONAS)])
        for name, family in load_families().families.items()
        for place, issues in enumerate(selections(family))
        if not unpublished.intersection(issues)
    )
