"""Putting the bots into the scenario, and reading back that they are in it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from duologue.bridge.connection import lockstep_problem
from duologue.bridge.foreign_tools import tool_schemas
from duologue.bridge.party import CallContext, on_sides
from duologue.bridge.reconcile import Reconciler, build_reconciler, initial_payload
from duologue.bridge.state_sync import StateSync
from duologue.errors import BotTimeout, InitializationFailed, ProtocolViolation, ReconcileFailed
from duologue.protocol import messages
from duologue.protocol.messages import ControlRequest, RtviMessage
from duologue.protocol.replies import Report, Summary, parse_flag, parse_report, parse_summary
from duologue.records.action import Side
from duologue.records.event import BotReady, Prepared
from duologue.records.redaction import redact_url
from duologue.state.canonical import contract_hash
from duologue.toolkit.state_events import initial_state

PREPARE_ORDER = (Side.USER, Side.AGENT)
INITIALIZE_ORDER = (Side.AGENT, Side.USER)


async def connect_both(attempt: CallContext) -> None:
    """Connect, shake hands and check what the bots can do.

    Raises:
        BotError: a bot is missing, silent, or speaks something else.
        InitializationFailed: a bot lacks what the scenario needs.
    """

    async def greet(side: Side) -> None:
        party = attempt.party(side)
        await party.connection.open(attempt.settings.connect_timeout_s)
        party.about = await party.connection.handshake(attempt.settings.init_timeout_s)

    await on_sides(attempt.sides, greet)
    for side in attempt.sides:
        about = attempt.party(side).about
        attempt.log.write(BotReady(side=side, version=about.version, about=about.about))
    for side in attempt.sides:
        _check_capabilities(attempt, side)


async def prepare(attempt: CallContext) -> Reconciler:
    """Initialize the bots, sync them and read everything back; return the shadows.

    Raises:
        InitializationFailed: a side is not in its initial state.
        ReconcileFailed: the first sync did not take.
        BotError: a connection failed.
    """
    shadows = build_reconciler(attempt.scenario, attempt.epoch)
    for side in _present(attempt, PREPARE_ORDER):
        await _flag(attempt, side, messages.reset())
    for side in _present(attempt, PREPARE_ORDER):
        await _flag(attempt, side, _prompt_request(attempt, side))
    digests, deltas = shadows.first_pushes()
    for side in _hosting(attempt, INITIALIZE_ORDER):
        full = shadows.full_state(side) if deltas is None and shadows.has_state(side) else None
        report = await _initialize(attempt, side, full)
        _check_initial_digest(shadows, side, report, digests[side])
    sync = StateSync(attempt, shadows)
    if deltas is not None:
        await sync.push_first(deltas)
    for side in attempt.sides:
        if attempt.party(side).hosts_tools:
            await _read_back(attempt, shadows, side)
        else:
            _take_over(attempt, shadows, side)
    attempt.log.write(initial_state(shadows.dual))
    return shadows


def _present(attempt: CallContext, order: Sequence[Side]) -> list[Side]:
    return [side for side in order if side in attempt.sides]


def prompt_digest(prompt: str) -> str:
    """Return the SHA-256 (lower-case hex) of a system prompt."""
    return hashlib.sha256(prompt.encode("utf-8")).hexdigest()


def scenario_payload(attempt: CallContext, side: Side) -> dict[str, object]:
    """Return what a bot's brain may know of the scenario: the caller's facts; the agent's, and the plan, for an oracle.

    The agent's facts can give the solution away, so that a system under test is not sent them.
    """
    scenario = attempt.scenario
    wants_plan = side is Side.AGENT and attempt.party(side).about.plan
    payload: dict[str, object] = {
        "name": scenario.name,
        "domain": scenario.domain,
        "family": scenario.family,
        "epoch": attempt.epoch,
        "profile": scenario.profile,
        "facts": scenario.side(side).facts if side is Side.USER or wants_plan else {},
    }
    if side is Side.AGENT and scenario.max_tool_turns is not None:
        payload["max_tool_turns"] = scenario.max_tool_turns
    if side is Side.AGENT and scenario.caller.language is not None:
        payload["language"] = scenario.caller.language
    if attempt.plan is not None and wants_plan and attempt.settings.send_plan:
        payload.update(attempt.plan.fields())
    return payload


def _check_capabilities(attempt: CallContext, side: Side) -> None:
    about, url = attempt.party(side).about, redact_url(attempt.settings.url(side))
    if not attempt.settings.is_realtime and (problem := lockstep_problem(side, url, about)):
        raise ProtocolViolation(problem, side=side)
    scenario = attempt.scenario
    needs_tools = scenario.user_needs_tools if side is Side.USER else bool(scenario.agent.resources.tools)
    if needs_tools and not about.tool_calling:
        raise InitializationFailed(
            f"the {side} bot at {url} has tool calling switched off, but the {side} side of {scenario.name} acts "
            "through tools; set llm.enable_tool_calling: true in its YAML file"
        )
    if needs_tools and not attempt.party(side).hosts_tools and not about.forwards_tools:
        raise InitializationFailed(
            f"the tools of the {side} side of {scenario.name} are run by the harness, and the {side} bot at {url} does "
            "not forward its calls; a bot that can says so with the capability forwards_tools (docs/external-agents.md)"
        )


def _prompt_request(attempt: CallContext, side: Side) -> ControlRequest:
    spec = attempt.scenario.side(side)
    payload = scenario_payload(attempt, side)
    schemas = None if attempt.party(side).hosts_tools else tool_schemas(attempt.scenario, side)
    return messages.update_system_prompt(spec.prompt, spec.resources.tools, attempt.scenario.domain, payload, schemas)


def _hosting(attempt: CallContext, order: Sequence[Side]) -> list[Side]:
    """Return the bots that have their database themselves."""
    return [side for side in _present(attempt, order) if attempt.party(side).hosts_tools]


def _take_over(attempt: CallContext, shadows: Reconciler, side: Side) -> None:
    """Log the initial state of a side whose database is the harness's own: nothing in it is reported by the bot."""
    spec = attempt.scenario.side(side)
    attempt.log.write(
        Prepared(
            side=side,
            prompt_digest=prompt_digest(spec.prompt),
            tools=tuple(sorted(spec.resources.tools)),
            digest=shadows.shadow_digest(side),
            self_reported=False,
        )
    )


async def _flag(attempt: CallContext, side: Side, control: ControlRequest) -> None:
    d = await _request(attempt, side, control)
    try:
        is_done = parse_flag(d)
    except ValueError as error:
        raise InitializationFailed(f"the {side} bot's answer to {control.t}: {error}") from error
    if not is_done:
        raise InitializationFailed(f"the {side} bot refused {control.t}{_last_error(attempt, side, control.t)}")


async def _initialize(attempt: CallContext, side: Side, full: dict[str, object] | None) -> Report:
    shared, actions = initial_payload(attempt.scenario, side, full)
    d = await _request(attempt, side, messages.apply_initialization(attempt.scenario.domain, shared, actions))
    try:
        report = parse_report(d)
    except ValueError as error:
        raise InitializationFailed(f"the {side} bot's answer to apply_initialization: {error}") from error
    if not report.success:
        raise InitializationFailed(
            f"the {side} bot could not be initialized: {'; '.join(report.errors) or 'no reason'}"
        )
    return report


def _check_initial_digest(shadows: Reconciler, side: Side, report: Report, expected: str | None) -> None:
    if report.digest is None or not shadows.has_state(side):
        return
    shadows.watch(side)
    if report.digest != expected:
        raise InitializationFailed(
            f"the {side} bot's database differs from the scenario's after initialization (digest {report.digest[:12]}, "
            f"expected {(expected or 'none')[:12]}); do bot and runner use the same checkout and data?"
        )


async def _read_back(attempt: CallContext, shadows: Reconciler, side: Side) -> None:
    d = await _request(attempt, side, messages.get_scenario_summary(include_db=False))
    try:
        summary = parse_summary(d)
    except ValueError as error:
        raise InitializationFailed(f"the {side} bot's summary: {error}") from error
    expected_prompt = prompt_digest(attempt.scenario.side(side).prompt)
    has_tools = attempt.party(side).about.tool_calling
    expected_tools = tuple(sorted(attempt.scenario.side(side).resources.tools)) if has_tools else ()
    _check_read_back(attempt, shadows, side, summary, (expected_prompt, expected_tools))
    attempt.log.write(
        Prepared(
            side=side,
            prompt_digest=summary.prompt_hash or expected_prompt,
            tools=summary.tools if summary.tools is not None else expected_tools,
            digest=summary.digest,
            self_reported=not summary.has_extras or (shadows.has_state(side) and not shadows.is_watched(side)),
        )
    )


def _check_read_back(
    attempt: CallContext, shadows: Reconciler, side: Side, summary: Summary, expected: tuple[str, tuple[str, ...]]
) -> None:
    expected_prompt, expected_tools = expected
    if summary.actions:
        raise InitializationFailed(f"the {side} bot reports {len(summary.actions)} writes before the call")
    if summary.has_extras and summary.prompt_hash != expected_prompt:
        raise InitializationFailed(f"the {side} bot holds another system prompt than the one it was sent")
    if summary.tools is not None and summary.tools != expected_tools:
        missing = sorted(set(expected_tools) - set(summary.tools))
        extra = sorted(set(summary.tools) - set(expected_tools))
        raise InitializationFailed(f"the {side} bot's tools differ: missing {missing}, unexpected {extra}")
    if summary.epoch is not None and summary.epoch != attempt.epoch:
        raise InitializationFailed(f"the {side} bot is in another epoch ({summary.epoch[:60]})")
    if shadows.is_watched(side) and summary.digest != shadows.shadow_digest(side):
        raise ReconcileFailed(f"the {side} bot's database differs from its shadow after the first sync")
    if summary.digest is None and summary.db_hash is not None and shadows.has_state(side):
        expected_hash = contract_hash(shadows.dual.side(side).db)
        if summary.db_hash != expected_hash:
            raise InitializationFailed(
                f"the {side} bot's db_hash {summary.db_hash[:12]} is not the hash of the scenario's initial database "
                f"({(expected_hash or 'none')[:12]})"
            )


async def _request(attempt: CallContext, side: Side, control: ControlRequest) -> object:
    try:
        _, d = await attempt.party(side).connection.request(control, attempt.settings.init_timeout_s)
    except (BotTimeout, ProtocolViolation) as error:
        if error.request_id is None:
            raise
        raise InitializationFailed(f"{error} (request {error.request_id})") from error
    return d


def _last_error(attempt: CallContext, side: Side, request: str) -> str:
    for item in reversed(attempt.party(side).connection.queued()):
        if isinstance(item, RtviMessage) and isinstance(item.data, dict) and item.data.get("type") == "bot-error":
            return f": {str(item.data.get('message')).removeprefix(f'{request}: ')}"
    return ""
