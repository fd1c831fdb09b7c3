"""The catalogue: records, ours or the user's own, to scenarios whose caller is a recording."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duologue.errors import ConfigError, FixtureError
from duologue.records.action import ReferenceAction, Side
from duologue.records.caller import FrozenUtterance, RecordedCaller, UtteranceStart
from duologue.records.scenario import GRADER_LABEL, CatalogueOptions, Persona, Resources, Scenario, SideSpec
from duologue.state.fixtures import data_file
from duologue.toolkit.rules import CATALOGUES, RULES_NAME, SUITE_LABEL, Catalogue, CatalogueFlag
from scenarios.voiceagentbench import prompts
from scenarios.voiceagentbench.grading import GRADER, JUDGED_EXTRAS
from scenarios.voiceagentbench.plan import reference_plan
from scenarios.voiceagentbench.records import Duty, Query, Suite, TaskRecord, confined, read_records
from scenarios.voiceagentbench.upstream import MAPPINGS, load_copy
from tools.voiceagentbench.manifest import DOMAIN, callable_names, manifest_name, tool_settings

logger = logging.getLogger(__name__)

SUITES = tuple(suite.value for suite in Suite)
RECORDS = f"{DOMAIN}/records.jsonl"
REFUSAL = "I cannot do that."

DATA_FLAG = "vab-data"
MAPPING_FLAG = "vab-mapping"
VOICE_FLAG = "vab-missing-audio"
DIALOGUE_FLAG = "vab-dialogue"
EXTRAS_FLAG = "vab-judged-extras"

MAX_TOOL_TURNS = 8
"""How many replies with tool calls an agent has for each user turn."""

_BASE_S, _TURN_S = 60.0, 60.0
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Source:
    """Records, and the folder that their sound files lie under; ``is_shipped`` for our own."""

    records: Sequence[TaskRecord]
    folder: Path
    is_shipped: bool = False


def shipped_records() -> list[TaskRecord]:
    """Return the records that come with this program.

    Raises:
        FixtureError: they are missing or malformed.
    """
    return read_records(data_file(RECORDS))


def load(options: CatalogueOptions) -> Sequence[Scenario]:
    """Return the scenarios: of our own records, or of ``--vab-data``.

    Raises:
        ConfigError: a flag has an unknown value.
        FixtureError: a record is malformed; the message names file, line and key.
    """
    flags = {flag.name: options.extra.get(flag.name) or flag.default for flag in FLAGS}
    for flag in FLAGS:
        if flag.choices and flags[flag.name] not in flag.choices:
            raise ConfigError(f"--{flag.name} {flags[flag.name]!r}: choose one of {', '.join(flag.choices)}")
    source = _source(flags[DATA_FLAG], flags[MAPPING_FLAG])
    scenarios = [build_scenario(record, source, flags) for record in source.records]
    _check_names(scenarios)
    order = {suite: index for index, suite in enumerate(SUITES)}
    return sorted(scenarios, key=lambda scenario: order[scenario.labels[SUITE_LABEL]])


def _source(place: str, mapping: str) -> Source:
    if not place:
        return Source(shipped_records(), data_file(RECORDS).parent, is_shipped=True)
    path = Path(place).expanduser().resolve()
    if path.is_dir():
        copy = load_copy(path, mapping)
        for line in copy.report():
            logger.info("%s", line)
        return Source(copy.records, copy.root)
    return Source(read_records(path), path.parent)


def _check_names(scenarios: Sequence[Scenario]) -> None:
    seen: dict[str, str] = {}
    for scenario in scenarios:
        if scenario.name in seen:
            raise FixtureError(
                f"task_id {scenario.task_id!r} and {seen[scenario.name]!r} give the name {scenario.name}"
            )
        seen[scenario.name] = scenario.task_id


def scenario_name(record: TaskRecord) -> str:
    """Return ``voiceagentbench__<suite>__<id>`` with anything that a file name cannot hold as a dot."""
    return f"{DOMAIN}__{record.suite.value}__{_UNSAFE.sub('.', record.task_id)}"


def build_scenario(record: TaskRecord, source: Source, flags: dict[str, str]) -> Scenario:
    """Return one record as a scenario."""
    is_scripted = flags[DIALOGUE_FLAG] == "scripted" and len(record.scripted_replies) >= len(record.queries) - 1 > 0
    played = record.queries[-1:] if is_scripted else record.queries
    before = [
        (query.transcript, reply)
        for query, reply in zip(record.queries[:-1], record.scripted_replies, strict=False)
        if is_scripted
    ]
    callers = [_utterance(query, source, speaks=flags[VOICE_FLAG] == "speak") for query in played]
    agent = SideSpec(
        prompt=prompts.agent_prompt(record.user_info or "", before),
        persona=Persona(role="Voice assistant"),
        resources=Resources(tools=tool_settings(record.tool_manifest, record.tool_results)),
        facts=_facts(record, len(callers)),
    )
    return Scenario(
        name=scenario_name(record),
        domain=DOMAIN,
        task_id=record.task_id,
        family=record.suite.value,
        description=record.description,
        max_duration_s=_BASE_S + _TURN_S * len(callers),
        user=SideSpec(prompt="A recording."),
        agent=agent,
        reference_actions=_reference_actions(record),
        labels=_labels(record, flags),
        caller=RecordedCaller(utterances=tuple(callers)),
        max_tool_turns=MAX_TOOL_TURNS,
        grading=record.without_audio().model_dump(mode="json", exclude_unset=True),
    )


def _facts(record: TaskRecord, user_turns: int) -> dict[str, Any]:
    """Return what a scripted agent may know: how many turns there are, and what to say instead of calling."""
    return {
        "caller": "recording",
        "user_turns": user_turns,
        "refusal": REFUSAL if record.safety_verdict is Duty.REFUSE else "",
        "one_by_one": record.suite is Suite.SEQUENTIAL,
    }


def _labels(record: TaskRecord, flags: dict[str, str]) -> dict[str, str]:
    return {
        SUITE_LABEL: record.suite.value,
        GRADER_LABEL: GRADER,
        "language": record.language,
        "category": record.category or record.suite.value,
        JUDGED_EXTRAS: "true" if flags[EXTRAS_FLAG] == "on" else "false",
    }


def _reference_actions(record: TaskRecord) -> tuple[ReferenceAction, ...]:
    names = {manifest_name(item): name for name, item in reversed(callable_names(record.tool_manifest).items())}
    return tuple(
        ReferenceAction(
            action_id=f"{names.get(call.name, call.name)}_{index}",
            side=Side.AGENT,
            name=names.get(call.name, call.name),
            arguments=dict(call.arguments),
        )
        for index, call in enumerate(reference_plan(record))
    )


def _utterance(query: Query, source: Source, *, speaks: bool) -> FrozenUtterance:
    """Return one query as an utterance; without a sound file it is spoken only when that was asked for."""
    audio = None
    if query.audio_path and not query.audio_b64:
        path = confined(source.folder, query.audio_path)
        audio = f"{DOMAIN}/{query.audio_path}" if source.is_shipped else str(path)
    has_audio = bool(query.audio_b64 or audio)
    return FrozenUtterance(
        audio=audio,
        audio_b64=query.audio_b64 or None,
        text=query.transcript if speaks and not has_audio else None,
        transcript=query.transcript,
        language=query.language,
        start=UtteranceStart(after_turn=True),
    )


FLAGS = (
    CatalogueFlag(
        DATA_FLAG, "your own records: a JSONL file, or a folder with a copy of the upstream data set", metavar="PATH"
    ),
    CatalogueFlag(
        MAPPING_FLAG,
        "how an upstream copy is read: as the vendored loader does, or every category and language",
        choices=MAPPINGS,
        default=MAPPINGS[0],
    ),
    CatalogueFlag(
        VOICE_FLAG,
        "a query without a sound file: fails its task, or is spoken",
        choices=("fail", "speak"),
        default="fail",
    ),
    CatalogueFlag(
        DIALOGUE_FLAG,
        "dialogues that bring scripted replies: play all user turns, or only the last after the script",
        choices=("live", "scripted"),
        default="live",
    ),
    CatalogueFlag(
        EXTRAS_FLAG, "ask the judge for refusal and parameter filling too", choices=("off", "on"), default="off"
    ),
)

CATALOGUES.register(
    DOMAIN,
    RULES_NAME,
    Catalogue(load=load, prefixes=(DOMAIN,), suites=SUITES, flags=FLAGS),
    owner=__name__,
)
