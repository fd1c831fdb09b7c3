"""One side of one scenario: its tools, its state, its action log. No I/O but that of async tools.

Whoever holds a side holds it through this class: a bot, a person, the bridge for a bot that forwards its calls, the
text channel. So a tool that breaks, a delta that does not fit and a release of another epoch mean the same everywhere.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from duologue.errors import InitializationFailed, MalformedRequest, RegistryError, ToolError
from duologue.protocol.bodies import DeltaBody, EventBody, InitializationBody, ReleaseBody, SummaryBody
from duologue.protocol.replies import Report, report_fields
from duologue.records.action import InitAction, RecordedAction, Side
from duologue.registry import DEFAULT_DOMAIN, load_domain
from duologue.state.canonical import contract_hash
from duologue.state.initialize import describe
from duologue.state.side_state import SideState
from duologue.toolkit.initialization import initialize
from duologue.toolkit.ledger import Ledger
from duologue.toolkit.resources import Clones
from duologue.toolkit.results import ToolOutcome, error_value, normalized
from duologue.toolkit.rules import RULES_NAME, SYNC_RULES, apply_dotted_delta
from duologue.toolkit.tool import Tool, find_tool
from duologue.toolkit.world import apply_world_event

logger = logging.getLogger(__name__)

Json = dict[str, Any]
Key = tuple[str | None, int]
"""What names a write on the wire: its epoch and its number in it."""

UNKNOWN_TOOL = "unknown_tool"
"""The ``error_type`` of a call to a tool that this side does not have."""


@dataclass(frozen=True, slots=True)
class Performed:
    """What became of one tool call.

    ``value`` is what the model is shown. ``action`` is the record of a write that the other side has to be told of
    before that. ``exit_text`` is not empty when the call is over with it. ``crash`` describes a bug of the tool.
    """

    value: Any
    action: RecordedAction | None = None
    exit_text: str = ""
    crash: str = ""


@dataclass(slots=True)
class SideHost:
    """Holds a side. ``state`` stays the same object for the host's life, so that others may keep it.

    Args:
        state: database and memory.
        ledger: the action log of the current epoch.
        tools: what this side may call, by name.
        prompt: what its model was told.
    """

    state: SideState = field(default_factory=lambda: SideState(DEFAULT_DOMAIN))
    ledger: Ledger = field(default_factory=Ledger)
    tools: dict[str, Tool] = field(default_factory=dict)
    prompt: str = ""
    _held: set[Key] = field(default_factory=set)

    @property
    def side(self) -> Side | None:
        """The side whose tools these are, or None when they do not tell."""
        return next((tool.side for tool in self.tools.values() if tool.side is not None), None)

    @property
    def is_waiting(self) -> bool:
        """Whether a write waits until the other side has been brought up to date."""
        return bool(self._held)

    def begin(self, domain: str, prompt: str, tools: Mapping[str, Tool], epoch: str | None, profile: str) -> None:
        """Start a scenario: no database, an empty log, these tools."""
        self.state.domain, self.state.profile = domain, profile
        self.state.db, self.state.memory = None, {}
        self.ledger = Ledger(epoch)
        self.tools, self.prompt = dict(tools), prompt
        self._held.clear()

    def answer(self, kind: str, fields: object) -> Json | None:
        """Carry out a request about the state and return the ``d`` of its answer; None for any other request."""
        try:
            match kind:
                case "apply_initialization":
                    return report_fields(self.initialize(InitializationBody.read(kind, fields)))
                case "apply_sync_delta":
                    return report_fields(self.apply_delta(DeltaBody.read(kind, fields)))
                case "apply_event":
                    return report_fields(self.apply_event(EventBody.read(kind, fields)))
                case "get_scenario_summary":
                    return self.summarize(SummaryBody.read(kind, fields))
        except MalformedRequest as error:
            return report_fields(self.report([describe(error)]))
        return None

    def initialize(self, body: InitializationBody) -> Report:
        """Put the state into a scenario's beginning; on any failure nothing changes and the report says why."""
        side = self.side or Side.AGENT
        actions = [InitAction(side=side, func_name=item.func_name, arguments=item.arguments) for item in body.actions]
        try:
            self._adopt_domain(body.domain)
            initialize(self.state, body.shared_state_init, actions)
        except InitializationFailed as error:
            return self.report(str(error).splitlines())
        except RegistryError as error:
            return self.report([describe(error)])
        return self.report([])

    def apply_delta(self, body: DeltaBody) -> Report:
        """Change the state as the other side's write demands, or report why not; then nothing has changed."""
        if body.epoch is not None and body.epoch != self.ledger.epoch:
            return self.report([f"delta of epoch {body.epoch!r}, but this side is in epoch {self.ledger.epoch!r}"])
        if self.state.db is None:
            return self.report(["there is no database to apply a delta to"])
        rules = SYNC_RULES.find(self.state.domain, RULES_NAME)
        before = self.state.copy()
        try:
            (rules.apply if rules is not None else apply_dotted_delta)(self.state, dict(body.delta))
        except ToolError as error:
            self._restore(before)
            return self.report([describe(error)])
        except Exception as error:
            logger.exception("a delta could not be applied")
            self._restore(before)
            return self.report([f"{type(error).__name__}: {error}"])
        return self.report([])

    def apply_event(self, body: EventBody) -> Report:
        """Let a world event change the state, or report why not; then nothing has changed."""
        if body.epoch is not None and body.epoch != self.ledger.epoch:
            return self.report([f"event of epoch {body.epoch!r}, but this side is in epoch {self.ledger.epoch!r}"])
        try:
            apply_world_event(self.state, body.side, body.kind, body.data)
        except (RegistryError, ToolError) as error:
            return self.report([describe(error)])
        return self.report([])

    def perform(self, name: str, arguments: Mapping[str, object]) -> Performed:
        """Run a tool for the model of this side. Never raises: what goes wrong is an answer, and leaves no trace."""
        tool = self.tools.get(name)
        if tool is None:
            return self._unknown(name)
        return self._conclude(tool, arguments, tool.invoke(self.state, arguments))

    async def perform_async(self, name: str, arguments: Mapping[str, object], clones: Clones) -> Performed:
        """Run a tool that may work on ``clones``, by the rules of :meth:`perform`.

        Raises:
            ResourceFailed: a clone that the tool uses is not there or not in order; that is nobody's answer.
        """
        tool = self.tools.get(name)
        if tool is None:
            return self._unknown(name)
        return self._conclude(tool, arguments, await tool.invoke_async(self.state, arguments, clones))

    def _unknown(self, name: str) -> Performed:
        names = sorted(self.tools)
        return Performed(error_value(UNKNOWN_TOOL, f"there is no tool {name!r}", available_tools=names))

    def _conclude(self, tool: Tool, arguments: Mapping[str, object], outcome: ToolOutcome) -> Performed:
        if outcome.crash:
            logger.error("%s", outcome.crash)
        action = self.ledger.record(tool, dict(arguments), outcome) if outcome.is_recorded else None
        exit_text = tool.exit_text if outcome.ok else ""
        return Performed(normalized(outcome.value), action, exit_text, outcome.crash)

    def applied(self, action: RecordedAction) -> Json:
        """Return the push that announces a write: the record, and the digest after it."""
        return {
            "type": "action-applied",
            "action": action.model_dump(mode="json", exclude_none=True),
            "tool_domain": self.state.domain,
            "digest": self.state.digest(),
        }

    def hold(self, action: RecordedAction) -> Key:
        """Keep a write's result back until its release; return the key that the release will have."""
        key = (action.epoch, action.seq or 0)
        self._held.add(key)
        return key

    def let_go(self, key: Key) -> None:
        """Stop waiting for the release of a write."""
        self._held.discard(key)

    def release(self, body: ReleaseBody) -> Key | None:
        """Return the write that may go to its model, or None when none of this epoch and number waits."""
        key = (body.epoch, body.seq)
        if key not in self._held:
            logger.warning("release of seq %s in epoch %s: no write is waiting for it", body.seq, body.epoch)
            return None
        self._held.discard(key)
        return key

    def summarize(self, body: SummaryBody) -> Json:
        """Return the scenario summary: action log, hashes, digest, and on request the database."""
        summary: Json = {
            "actions": [action.model_dump(mode="json", exclude_none=True) for action in self.ledger.actions],
            "db_hash": contract_hash(self.state.db),
            "digest": self.state.digest(),
            "epoch": self.ledger.epoch,
            "prompt_hash": hashlib.sha256(self.prompt.encode("utf-8")).hexdigest(),
            "tools": sorted(self.tools),
            "profile": self.state.profile,
        }
        if body.include_db:
            summary["db"] = self.state.db or None
        return summary

    def report(self, errors: list[str]) -> Report:
        """Return the answer to a request that changes the state."""
        return Report(not errors, tuple(errors), self.state.digest())

    def _adopt_domain(self, domain: str | None) -> None:
        if not domain or domain == self.state.domain:
            return
        if domain != DEFAULT_DOMAIN:
            load_domain(domain)
        self.state.domain = domain

    def _restore(self, before: SideState) -> None:
        self.state.db, self.state.memory, self.state.profile = before.db, before.memory, before.profile


def sync_problem(action: RecordedAction, problems: list[str]) -> Json:
    """Return the push that says that the other side does not know of a write."""
    what = f"{action.name} (seq {action.seq}): the other side was not brought up to date: {'; '.join(problems)}"
    return {"type": "bot-error", "message": what}


def crash_report(crash: str) -> Json:
    """Return the push that reports a bug of a tool."""
    return {"type": "bot-error", "message": crash}


def find_tools(domain: str, wanted: Mapping[str, Any]) -> dict[str, Tool]:
    """Return the tools of one side by name; ``wanted`` maps names to the settings of those that a factory makes.

    Raises:
        RegistryError: a tool is unknown, its settings are not for it, or the tools belong to both sides of the call.
    """
    tools = {}
    for name, settings in wanted.items():
        if settings and not isinstance(settings, Mapping):
            raise RegistryError(f"tool {name} takes no settings, got {settings!r}")
        tools[name] = find_tool(domain, name, settings or None)
    if len({tool.side for tool in tools.values() if tool.side is not None}) > 1:
        raise RegistryError("the tools belong to both sides of the call; one host is one side")
    return tools
