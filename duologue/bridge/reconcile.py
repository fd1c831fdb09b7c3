"""The shadow of both databases: what a write means, and what has to be sent. No I/O but that of async tools.

The shadow replays each reported write with the same tool objects that the bots use, syncs, and says which
side needs which delta. Digests decide whether a bot and its shadow agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from duologue.errors import InitializationFailed, ReconcileFailed, RegistryError, ToolError
from duologue.records.action import Delta, RecordedAction, Side
from duologue.records.scenario import Scenario
from duologue.state.side_state import SideState
from duologue.toolkit.dual_state import DualState
from duologue.toolkit.initialization import initialize
from duologue.toolkit.resources import Clones
from duologue.toolkit.rules import RULES_NAME, SYNC_RULES, Deltas
from duologue.toolkit.side_host import Performed

_ACTION_KEYS = frozenset(RecordedAction.model_fields)


@dataclass(frozen=True, slots=True)
class Write:
    """One ``action-applied``; ``digest`` is the bot's database after it, None from foreign bots."""

    side: Side
    action: RecordedAction
    digest: str | None


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a write is next in its stream; a fatal problem means that the stream is broken."""

    accepted: bool
    problem: str = ""
    fatal: bool = False


def parse_write(side: Side, data: dict[str, object]) -> Write:
    """Parse the payload of ``action-applied``; keys that are not ours are ignored.

    Raises:
        ReconcileFailed: it does not name a write.
    """
    action = data.get("action")
    if not isinstance(action, dict):
        raise ReconcileFailed(f"the {side} bot pushed an action-applied without an action")
    known = {key: value for key, value in action.items() if key in _ACTION_KEYS and key != "side"}
    try:
        record = RecordedAction.model_validate({"action_type": "write", **known, "side": side})
    except ValueError as error:
        raise ReconcileFailed(f"the {side} bot pushed a malformed action: {error}") from error
    digest = data.get("digest")
    return Write(side, record, digest if isinstance(digest, str) else None)


class Reconciler:
    """Both shadows and the streams of writes.

    Raises:
        InitializationFailed: the scenario cannot be set up.
    """

    def __init__(self, scenario: Scenario, epoch: str) -> None:
        self.scenario = scenario
        self.epoch = epoch
        self.dual = DualState.for_scenario(scenario, epoch=epoch)
        self.streams: dict[Side, list[RecordedAction]] = {side: [] for side in Side}
        self._checked: set[Side] = set()
        self._repaired: set[Side] = set()

    def has_state(self, side: Side) -> bool:
        """Whether ``side`` has a database in this scenario."""
        return self.dual.side(side).db is not None

    def watch(self, side: Side) -> None:
        """Compare this side's digests from now on (its bot reports them)."""
        self._checked.add(side)

    def is_watched(self, side: Side) -> bool:
        """Whether this side's digests are compared."""
        return side in self._checked and self.has_state(side)

    def shadow_digest(self, side: Side) -> str | None:
        """Return the digest that the bot of ``side`` must have now."""
        return self.dual.side(side).digest()

    def first_pushes(self) -> tuple[dict[Side, str | None], Deltas | None]:
        """Return the digests right after initialization, and the deltas from there to the shadow.

        The deltas are None when the shadow is not one sync away (profiles that initialize step by step);
        then the bots start from a full state.
        """
        rules = SYNC_RULES.find(self.scenario.domain, RULES_NAME)
        if rules is not None and self.scenario.profile in rules.stepwise_profiles:
            return self.dual.digests(), None
        states = {side: self._initialized(side) for side in Side}
        digests = {side: state.digest() for side, state in states.items()}
        if rules is None or self.dual.user is None:
            return digests, Deltas()
        return digests, rules.sync(states[Side.AGENT], states[Side.USER])

    def admit(self, write: Write) -> Admission:
        """Say whether ``write`` is the next of its side and epoch."""
        action, stream = write.action, self.streams[write.side]
        if action.epoch is not None and action.epoch != self.epoch:
            return Admission(False, f"write {action.name} of another epoch ({action.epoch[:60]})")
        expected = len(stream) + 1
        if action.seq is None or action.seq == expected:
            return Admission(True)
        if action.seq > expected:
            return Admission(False, f"write {action.seq} of the {write.side} side came, {expected} is missing", True)
        if action.seq >= 1 and _content(stream[action.seq - 1]) == _content(action):
            return Admission(False, f"write {action.seq} of the {write.side} side was pushed again")
        return Admission(False, f"the {write.side} side pushed two different writes as number {action.seq}", True)

    def replay(self, write: Write) -> str:
        """Perform an admitted write on the shadow; return a note when its result differs, else an empty text.

        Raises:
            ReconcileFailed: the shadow cannot do what the bot did.
        """
        action = write.action
        self.streams[write.side].append(action)
        try:
            outcome = self.dual.invoke(write.side, action.name, action.arguments)
        except RegistryError as error:
            raise ReconcileFailed(f"the {write.side} bot reported a write that its domain lacks: {error}") from error
        if not outcome.is_recorded:
            raise ReconcileFailed(
                f"the {write.side} bot performed {action.name}, the shadow did not: {outcome.value!r}"[:2000]
            )
        if action.result is not None and outcome.value != action.result:
            return f"the result of {action.name} differs from the shadow's"
        return ""

    async def perform(self, side: Side, name: str, arguments: dict[str, object], clones: Clones) -> Performed:
        """Run a tool on the shadow of a side whose database is the harness's own, and on the attempt's clones.

        Raises:
            RegistryError: the scenario names a tool that its domain lacks.
            ResourceFailed: a clone is not there or not in order.
        """
        done = await self.dual.host(side).perform_async(name, arguments, clones)
        if done.action is not None:
            self.streams[side].append(done.action)
        return done

    def happen(self, kind: str, data: dict[str, object]) -> None:
        """Let a world event change the shadows.

        Raises:
            ReconcileFailed: the domain does not know it, or refuses it.
        """
        try:
            self.dual.happen(kind, data)
        except (RegistryError, ToolError) as error:
            raise ReconcileFailed(f"world event {kind}: {error}") from error

    def sync(self) -> Deltas:
        """Reconcile the shadows after writes and return what each bot must change.

        Raises:
            ReconcileFailed: the databases do not fit together, or syncing twice changes something.
        """
        try:
            deltas = self.dual.sync()
            again = self.dual.sync()
        except ToolError as error:
            raise ReconcileFailed(f"sync: {error}") from error
        except Exception as error:
            raise ReconcileFailed(f"sync crashed: {type(error).__name__}: {error}") from error
        if again:
            raise ReconcileFailed(f"sync is not idempotent: a second run changes {again}")
        return deltas

    def full_state(self, side: Side) -> dict[str, Any]:
        """Return ``shared_state_init`` that makes a bot equal to its shadow."""
        state = self.dual.side(side)
        return {"db": state.db, "memory": state.memory, "profile": state.profile}

    def begin_repair(self, side: Side) -> None:
        """Note that ``side`` gets its one full push of the call.

        Raises:
            ReconcileFailed: it had it already.
        """
        if side in self._repaired:
            raise ReconcileFailed(f"the {side} bot's database differs from its shadow again after a full push")
        self._repaired.add(side)

    def log_problem(self, side: Side, actions: tuple[dict[str, object], ...]) -> str:
        """Return how the bot's own action log differs from the stream seen live, or an empty text."""
        stream = self.streams[side]
        if len(actions) != len(stream):
            return f"the {side} bot's log has {len(actions)} writes, {len(stream)} were seen live"
        for number, (logged, seen) in enumerate(zip(actions, stream, strict=True), start=1):
            for key, value in _content(seen).items():
                if key in logged and logged[key] != value and not (key == "seq" and value is None):
                    return f"write {number} of the {side} bot's log differs from the one seen live in {key!r}"
            if logged.get("name") != seen.name:
                return f"write {number} of the {side} bot's log has no name"
        return ""

    def _initialized(self, side: Side) -> SideState:
        state = SideState(self.scenario.domain, profile=self.scenario.profile)
        actions = [action for action in self.scenario.initialization_actions if action.side is side]
        initialize(state, dict(self.scenario.side(side).shared_state), actions)
        return state


def initial_payload(
    scenario: Scenario, side: Side, full: dict[str, object] | None
) -> tuple[dict[str, object], list[Delta]]:
    """Return ``shared_state_init`` and ``actions`` for one side; ``full`` replaces both when the side starts whole."""
    if full is not None:
        return full, []
    spec = scenario.side(side)
    actions = [action for action in scenario.initialization_actions if action.side is side]
    if not spec.shared_state and not actions:
        return {}, []
    return {**spec.shared_state, "profile": scenario.profile}, [action.model_dump(mode="json") for action in actions]


def build_reconciler(scenario: Scenario, epoch: str) -> Reconciler:
    """Return the shadows in their initial state.

    Raises:
        InitializationFailed: also when the first sync refuses the databases.
    """
    try:
        return Reconciler(scenario, epoch)
    except ToolError as error:
        raise InitializationFailed(f"{scenario.name}: {error}") from error


def _content(action: RecordedAction) -> dict[str, object]:
    return {
        "action_type": action.action_type,
        "name": action.name,
        "arguments": action.arguments,
        "result": action.result,
        "seq": action.seq,
    }
