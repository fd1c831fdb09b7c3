"""What a bot would hold of its side of a scenario, held for a person: database, tools, action log. No I/O."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from duologue.errors import InitializationFailed, RegistryError, ToolError
from duologue.protocol.messages import ControlRequest, RtviMessage
from duologue.records.action import InitAction, RecordedAction, Side
from duologue.state.canonical import contract_hash
from duologue.state.side_state import SideState
from duologue.toolkit.initialization import initialize
from duologue.toolkit.ledger import Ledger
from duologue.toolkit.results import error_value, normalized
from duologue.toolkit.rules import RULES_NAME, SYNC_RULES, apply_dotted_delta
from duologue.toolkit.tool import END_CALL_TEXT, Tool, find_tool


class Seat:
    """One side of one scenario. It answers the bridge's requests and performs what the person asks for.

    ``say_goodbye`` is the sentence of the exit that is pushed when the side hangs up without a tool.
    """

    def __init__(self, side: Side, say_goodbye: str = END_CALL_TEXT) -> None:
        self.side = side
        self.tools: dict[str, Tool] = {}
        self.state = SideState("default")
        self._goodbye = say_goodbye
        self._prompt = ""
        self._ledger = Ledger()
        self._held: dict[int, list[RtviMessage]] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether a write waits until the other side has been brought up to date."""
        return bool(self._held)

    def answer(self, control: ControlRequest) -> tuple[Any, list[RtviMessage]]:
        """Carry out a request of the bridge; return the ``d`` of the answer and what is pushed after it.

        Raises:
            ValueError: there is no such request, or its fields do not fit.
        """
        d = control.d or {}
        try:
            match control.t:
                case "reset":
                    return True, []
                case "update_system_prompt":
                    return self._begin(d), []
                case "apply_initialization":
                    return self._initialize(d), []
                case "apply_sync_delta":
                    return self._apply(d), []
                case "get_scenario_summary":
                    return self._summary(include_db=bool(d.get("include_db"))), []
                case "get_context_history":
                    return {"context": []}, []
                case "release_action":
                    return self._release(d)
        except (KeyError, TypeError) as error:
            raise ValueError(f"{control.t}: {type(error).__name__}: {error}") from error
        raise ValueError(f"no request is called {control.t!r}")

    def perform(self, call_id: str, name: str, arguments: dict[str, Any]) -> list[RtviMessage]:
        """Run a tool of this side; return what is pushed. A write's result follows with its release."""
        fields = {"tool_call_id": call_id, "function_name": name}
        started = RtviMessage("llm-function-call-in-progress", data={**fields, "arguments": arguments})
        tool = self.tools.get(name)
        if tool is None:
            problem = error_value("unknown_tool", f"there is no tool {name!r}", available_tools=sorted(self.tools))
            return [started, _stopped(fields, problem)]
        outcome = tool.invoke(self.state, arguments)
        closing = [_stopped(fields, normalized(outcome.value))]
        if tool.exit_text and outcome.ok:
            closing.append(_exit(tool.exit_text))
        if not outcome.is_recorded:
            return [started, *closing]
        action = self._ledger.record(tool, arguments, outcome)
        self._held[action.seq or 0] = closing
        return [started, self._announce(action)]

    def hang_up(self, call_id: str) -> list[RtviMessage]:
        """End the call: by this side's own tool for it where it has one."""
        tool = next((tool for tool in self.tools.values() if tool.exit_text and not tool.properties), None)
        return self.perform(call_id, tool.name, {}) if tool is not None else [_exit(self._goodbye)]

    def _announce(self, action: RecordedAction) -> RtviMessage:
        fields = {
            "type": "action-applied",
            "action": action.model_dump(mode="json", exclude_none=True),
            "tool_domain": self.state.domain,
            "digest": self.state.digest(),
        }
        return RtviMessage("server-message", data=fields)

    def _begin(self, d: dict[str, Any]) -> bool:
        scenario = json.loads(d["scenario"])
        domain = d["tool_domain"]
        try:
            tools = {name: find_tool(domain, name, settings) for name, settings in json.loads(d["tools"]).items()}
        except RegistryError as error:
            raise ValueError(str(error)) from error
        self.tools = tools
        self._prompt = d["prompt"]
        self.state = SideState(domain, profile=scenario["profile"])
        self._ledger = Ledger(scenario["epoch"])
        self._held.clear()
        return True

    def _initialize(self, d: dict[str, Any]) -> dict[str, Any]:
        actions = [InitAction.model_validate(action) for action in d["actions"]]
        try:
            initialize(self.state, json.loads(d["shared_state_init"]), actions)
        except InitializationFailed as error:
            return self._report(str(error).splitlines())
        return self._report([])

    def _apply(self, d: dict[str, Any]) -> dict[str, Any]:
        rules = SYNC_RULES.find(self.state.domain, RULES_NAME)
        apply = rules.apply if rules is not None else apply_dotted_delta
        try:
            apply(self.state, d["delta"])
        except ToolError as error:
            return self._report([str(error)])
        return self._report([])

    def _report(self, errors: list[str]) -> dict[str, Any]:
        return {"success": not errors, "errors": errors, "digest": self.state.digest()}

    def _summary(self, *, include_db: bool) -> dict[str, Any]:
        actions = [action.model_dump(mode="json", exclude_none=True) for action in self._ledger.actions]
        return {
            "actions": actions,
            "db_hash": contract_hash(self.state.db),
            **({"db": self.state.db} if include_db else {}),
            "digest": self.state.digest(),
            "epoch": self._ledger.epoch,
            "prompt_hash": hashlib.sha256(self._prompt.encode()).hexdigest(),
            "tools": sorted(self.tools),
            "profile": self.state.profile,
        }

    def _release(self, d: dict[str, Any]) -> tuple[bool, list[RtviMessage]]:
        if d["epoch"] != self._ledger.epoch:
            return False, []
        closing = self._held.pop(d["seq"], None)
        if closing is None:
            return False, []
        errors = [] if d["success"] else [str(error) for error in d["errors"]]
        problem = {"type": "bot-error", "message": "the other side was not brought up to date: " + "; ".join(errors)}
        return True, [*closing, *([RtviMessage("server-message", data=problem)] if errors else [])]


def _stopped(fields: dict[str, Any], result: Any) -> RtviMessage:
    return RtviMessage("llm-function-call-stopped", data={**fields, "cancelled": False, "result": result})


def _exit(text: str) -> RtviMessage:
    return RtviMessage("server-message", data={"text": f"<exit>{text}</exit>"})
