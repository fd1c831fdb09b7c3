"""Attempts with a recorded caller against a turn agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from duologue.clock import Clock
from duologue.runner.attempt import Attempt
from duologue.trace.call_trace import CallTrace
from duologue.trace.held_call import hold_call
from duologue.turn_agents.conversation import TurnConversation, TurnSetup
from duologue.turn_agents.turn import TaskInfo


@dataclass(frozen=True, slots=True)
class TurnCalls:
    """Holds conversations with a turn agent.

    Args:
        setup: what answers.
        clock: measures recognition, agent and conversation.
    """

    setup: TurnSetup
    clock: Clock

    def header(self) -> Mapping[str, Any]:
        """Return what answers; how often a turn agent was asked gates nothing."""
        return {
            "adapter": self.setup.agent_name,
            "stt": self.setup.transcriber.name,
            "dispatch": self.setup.dispatch.value,
            "sends_prompt": self.setup.sends_prompt,
            "min_agent_turns": 0,
        }

    async def hold(self, attempt: Attempt, trace: CallTrace) -> None:
        """Hold the conversation of one attempt.

        Raises:
            ScenarioError: its caller is not recorded.
        """
        scenario = attempt.scenario
        session = f"{attempt.run_id}-{attempt.epoch}"
        task = TaskInfo(scenario.domain, scenario.task_id, session, attempt.number)
        await hold_call(TurnConversation(scenario, task, self.setup, trace, self.clock), trace, self.clock)
