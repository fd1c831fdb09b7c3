"""The files of a scenario folder, all computed from its trace and result."""

from __future__ import annotations

from pathlib import Path

from duologue.protocol.strict_json import parse_json
from duologue.records import run_layout as layout
from duologue.records.action import Side
from duologue.records.event import BotMessage, ContextPulled, SummaryPulled
from duologue.records.result import ScenarioResult
from duologue.records.scenario import Scenario
from duologue.reports.conversation_log import conversation_log
from duologue.reports.files import remove, write_json, write_text
from duologue.reports.metrics import metrics
from duologue.reports.seglst import seglst
from duologue.trace.reader import Trace


def write_scenario_files(folder: Path, trace: Trace, result: ScenarioResult) -> None:
    """Write every file of a scenario folder, each atomically; ``result.json`` comes last.

    Files that this attempt has no content for are removed.
    """
    write_json(folder / layout.METRICS, metrics(result, folder))
    write_json(folder / layout.FINAL_RESPONSE, final_response(trace))
    _write_or_remove(folder / layout.DB_HASHES, db_hash_lines(trace))
    write_text(folder / layout.CONVERSATION_LOG, conversation_log(trace, result))
    write_json(folder / layout.SEGLST, seglst(result))
    for side in Side:
        context = _last(trace, side, ContextPulled)
        path = folder / layout.side_logs(side) / layout.LLM_CONTEXT
        if isinstance(context, ContextPulled):
            write_json(path, list(context.messages))
        else:
            remove(path)
    _write_config(folder / layout.SCENARIO_CONFIG, trace.header.scenario, result)
    write_json(folder / layout.RESULT, result.model_dump(mode="json"))


def final_response(trace: Trace) -> object:
    """Return ``[{"actions": [...]}]`` from the summaries, or without any the responses that were pushed."""
    summaries = [_last(trace, side, SummaryPulled) for side in (Side.AGENT, Side.USER)]
    if not any(summaries):
        return [_pushed(event) for event in trace.of(BotMessage) if event.kind == "final_response"]
    actions = []
    for side, summary in zip((Side.AGENT, Side.USER), summaries, strict=True):
        if isinstance(summary, SummaryPulled):
            actions += [{**action, "side": action.get("side") or side.value} for action in summary.actions]
    return [{"actions": actions}]


def _pushed(event: BotMessage) -> object:
    if not isinstance(event.data, str):
        return event.data
    try:
        return parse_json(event.data)
    except ValueError:
        return {"message": event.data}


def db_hash_lines(trace: Trace) -> str:
    """Return one line for each hash that a side reported."""
    lines = []
    for side, key in ((Side.AGENT, "db_hash"), (Side.USER, "user_db_hash")):
        summary = _last(trace, side, SummaryPulled)
        if isinstance(summary, SummaryPulled) and summary.db_hash is not None:
            lines.append(f"{key}: {summary.db_hash}\n")
    return "".join(lines)


def _last(trace: Trace, side: Side, kind: type[SummaryPulled | ContextPulled]) -> SummaryPulled | ContextPulled | None:
    return next((event for event in reversed(trace.of(kind)) if event.side is side), None)


def _write_or_remove(path: Path, text: str) -> None:
    if text:
        write_text(path, text)
    else:
        remove(path)


def _write_config(folder: Path, scenario: Scenario, result: ScenarioResult) -> None:
    write_json(folder / layout.METADATA, _metadata(scenario, result))
    for side in Side:
        write_text(folder / layout.side_prompt(side), scenario.side(side).prompt)
        write_json(folder / layout.side_tools(side), scenario.side(side).resources.tools)
    reference = folder / layout.REFERENCE_ANSWER
    if result.expected.actions:
        actions = [action.model_dump(mode="json", exclude_none=True) for action in result.expected.actions]
        write_json(reference, {"actions": actions})
    else:
        remove(reference)


def _metadata(scenario: Scenario, result: ScenarioResult) -> dict[str, object]:
    optional = {
        "db_state_assertions": [item.model_dump(mode="json") for item in scenario.db_state_assertions],
        "nl_assertions": list(scenario.nl_assertions),
        "initialization_actions": [item.model_dump(mode="json") for item in scenario.initialization_actions],
        "expected_db_hash": result.expected.agent_db_hash,
        "expected_user_db_hash": result.expected.user_db_hash,
    }
    return {
        "name": scenario.name,
        "domain": scenario.domain,
        "description": scenario.description,
        "profile": scenario.profile,
        "max_duration": scenario.max_duration_s,
        "noise_config": None if scenario.line.is_clean else scenario.line.model_dump(mode="json"),
        "ignore_capitalization": scenario.ignore_capitalization,
        "ignore_punctuation": scenario.ignore_punctuation,
        "clean_text": scenario.clean_text,
        "disallow_extra_items": scenario.disallow_extra_items,
        "success_signals": list(scenario.success_signals),
        **{key: value for key, value in optional.items() if value},
    }
