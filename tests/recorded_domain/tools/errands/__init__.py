"""Two errands over the phone: tools that come with the record, and a grader that compares calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.errands import caller

from duologue.records.action import Side
from duologue.records.event import Fault, ToolCalled
from duologue.records.outcome import Cause, Verdict
from duologue.toolkit.checks import Evidence, Finding, Grade, check
from duologue.toolkit.results import ToolResult
from duologue.toolkit.tool import TOOL_FACTORIES, Tool, ToolKind

__all__ = ["build_tool", "caller", "grade"]

DOMAIN = "errands"


def build_tool(name: str, settings: Mapping[str, Any]) -> Tool:
    """Return a tool that accepts anything."""
    properties = settings["properties"]
    return Tool(name, DOMAIN, Side.AGENT, ToolKind.GENERIC, settings["description"], _accept, properties)


def _accept(state: Any, **arguments: Any) -> ToolResult:
    return ToolResult({"ok": True})


@check(DOMAIN, "calls", version=1, graded=True)
def grade(given: Evidence) -> Finding:
    """Pass when the calls are the expected ones, in order, and nothing broke."""
    made = [[call.name, call.arguments] for call in given.trace.of(ToolCalled)]
    faults = given.trace.of(Fault)
    passed = None if faults else made == given.scenario.grading["calls"]
    detail = f"{faults[0].error}: {faults[0].message}" if faults else f"called {made}"
    cause = Cause.TRANSPORT if faults else None
    verdict = Verdict(signal="calls", version=1, passed=passed, evaluable=not faults, cause=cause, reason=detail)
    return Finding(passed, detail, cause=cause, grade=Grade((verdict,), ("calls",), {"made": made}))


TOOL_FACTORIES.register(DOMAIN, "record", build_tool, owner=__name__)
