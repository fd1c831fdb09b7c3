"""What a trace holds of both sides' states: at the beginning, at the end, and a side's own account of itself."""

from __future__ import annotations

from collections.abc import Sequence

from duologue.records.action import RecordedAction, Side
from duologue.records.event import FinalState, InitialState, SummaryPulled
from duologue.state.canonical import contract_hash
from duologue.toolkit.dual_state import DualState


def initial_state(dual: DualState) -> InitialState:
    """Return both states as they stand before the call; the event shares nothing with them."""
    agent, user = dual.side(Side.AGENT).copy(), dual.side(Side.USER).copy()
    return InitialState(agent_db=agent.db, user_db=user.db, agent_memory=agent.memory, user_memory=user.memory)


def final_state(dual: DualState) -> FinalState:
    """Return both states as they stand after the call; the event shares nothing with them."""
    agent, user = dual.side(Side.AGENT).copy(), dual.side(Side.USER).copy()
    return FinalState(agent_db=agent.db, user_db=user.db, agent_digest=agent.digest(), user_digest=user.digest())


def own_summary(
    dual: DualState, side: Side, actions: Sequence[RecordedAction], *, epoch: str | None = None, with_db: bool = True
) -> SummaryPulled:
    """Return what the harness knows of a side whose database is its own; the event shares nothing with it.

    ``epoch`` is left out of the actions that are in it.
    """
    state = dual.side(side).copy()
    dumped = [action.model_dump(mode="json", exclude_none=True) for action in actions]
    return SummaryPulled(
        side=side,
        actions=without_epoch(dumped, epoch),
        db_hash=contract_hash(state.db),
        digest=state.digest(),
        db=state.db if with_db else None,
    )


def without_epoch(actions: Sequence[dict[str, object]], epoch: str | None) -> tuple[dict[str, object], ...]:
    """Return ``actions`` without their key ``epoch`` where it is ``epoch``: that of the attempt says nothing."""
    return tuple(
        {key: value for key, value in action.items() if key != "epoch" or value != epoch} for action in actions
    )
