"""Conformance vectors of the telecom domain: tasks, random walks and speed rows, replayed in the ``tau2`` profile.

Digests are taken over plain databases in which invented bill ids (``B`` and eight lower-case hex digits) are replaced
by ``BGEN1``, ``BGEN2``… in the order of the bill list; the same renaming holds for arguments and outcomes.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from duologue.errors import RegistryError, ToolError
from duologue.records.action import Side
from duologue.state.canonical import differences, digest
from duologue.state.fixtures import load_db
from duologue.state.side_state import SideState
from duologue.toolkit.dual_state import DualState
from duologue.toolkit.initialization import run_init_function
from duologue.toolkit.rules import PREDICATES
from duologue.toolkit.vectors import VECTOR_FORMATS, VectorFormat
from tools.tau2_telecom import network
from tools.tau2_telecom.db import DOMAIN, ID_FIELDS, TAU2, Database, find, phone_device

FIXTURES = {Side.AGENT: f"{DOMAIN}/db", Side.USER: f"{DOMAIN}/user_db"}

_INVENTED = re.compile(r"B[0-9a-f]{8}")
_PLACEHOLDER = re.compile(r"BGEN([1-9][0-9]*)")
_FIXTURE = "fixture"


def _invented_ids(agent_db: Database) -> list[str]:
    return [bill["bill_id"] for bill in agent_db["bills"] if _INVENTED.fullmatch(bill["bill_id"])]


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What one recorded call did here: the stage it failed at (empty when it did not) and its structured outcome."""

    stage: str
    out: Any
    reason: str = ""


class _Environment:
    """Both databases in the ``tau2`` profile, driven by vector records."""

    def __init__(self, agent_db: Database, user_db: Database) -> None:
        agent, user = (SideState(DOMAIN, db, profile=TAU2) for db in (agent_db, user_db))
        self.dual = DualState(DOMAIN, agent, user)
        self.dual.sync()

    def db(self, side: Side) -> Database:
        """Return one side's database with invented bill ids renamed."""
        return dict(self.renamed(self.dual.side(side).db))

    def renamed(self, value: Any) -> Any:
        """Return ``value`` with invented bill ids renamed."""
        names = {bill_id: f"BGEN{index}" for index, bill_id in enumerate(self._invented(), 1)}
        return _renamed(value, names) if names else value

    def _invented(self) -> list[str]:
        return _invented_ids(self.dual.agent.db or {"bills": []})

    def _arguments(self, recorded: dict[str, Any]) -> dict[str, Any]:
        """Return recorded arguments with placeholders replaced by the ids that stand for them now."""
        names = {f"BGEN{index}": bill_id for index, bill_id in enumerate(self._invented(), 1)}
        return dict(_renamed(recorded, names))

    def run(self, record: dict[str, Any]) -> _Outcome:
        """Run the call of ``record`` and, when it succeeds, the sync after it."""
        outcome = self._call(Side(record["side"]), record)
        if outcome.stage:
            return outcome
        try:
            self.dual.sync()
        except ToolError as error:
            return _Outcome("sync", None, str(error))
        return outcome

    def _call(self, side: Side, record: dict[str, Any]) -> _Outcome:
        arguments = self._arguments(record["args"])
        try:
            if "func" in record:
                return _Outcome("", run_init_function(self.dual.side(side), record["func"], arguments))
            outcome = self.dual.invoke(side, record["tool"], arguments)
        except (RegistryError, ToolError) as error:
            return _Outcome("call", None, str(error))
        if not outcome.ok:
            return _Outcome("call", None, str(outcome.value["message"]))
        return _Outcome("", outcome.out)

    def derived(self) -> list[Any]:
        """Return what follows from the phone's state, in the order of the vectors."""
        db = self.dual.side(Side.USER).db or {}
        mbps, label = network.measure_speed(db)
        sim = network.effective_sim_status(phone_device(db))
        return [network.mobile_data_works(db), mbps, label, network.can_send_mms(db), sim]

    def differences_after(self, record: dict[str, Any]) -> list[str]:
        """Run ``record`` and return in what its result differs."""
        outcome = self.run(record)
        expected = {"stage": "" if record["ok"] else record["stage"], "derived": record["derived"]}
        found = {"stage": outcome.stage, "derived": self.derived()}
        if record["ok"] and not outcome.stage:
            expected["out"], found["out"] = record["out"], self.renamed(outcome.out)
        for side in Side:
            expected[side.value], found[side.value] = record[side.value], digest(self.db(side))
        name = record.get("func") or record.get("tool")
        reason = f" ({outcome.reason})" if outcome.reason else ""
        return [f"{name}: {line}{reason}" for line in differences(expected, found)]

    def assertion(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return ``{"result": …}`` of an assertion, or ``{"error": …}``."""
        try:
            function = PREDICATES.get(DOMAIN, record["func"])
            db = self.dual.side(Side(record["side"])).db
            arguments = self._arguments(record["args"])
            inspect.signature(function).bind(db, **arguments)
            return {"result": function(db, **arguments)}
        except (RegistryError, ToolError, TypeError) as error:
            return {"error": str(error)}


def _assertion_differences(environment: _Environment, records: list[dict[str, Any]], where: str) -> Iterator[str]:
    for index, record in enumerate(records):
        found = environment.assertion(record)
        is_same = (
            ("error" in found) if "error" in record else differences(record.get("result"), found.get("result")) == []
        )
        if is_same and "passed" in record:
            is_same = record["passed"] == (
                "result" in found and not differences(record["assert_value"], found["result"])
            )
        if not is_same:
            expected = {key: record[key] for key in ("result", "error", "passed") if key in record}
            yield f"{where}[{index}] {record['func']}: {expected} != {found}"


def _step_differences(environment: _Environment, records: list[dict[str, Any]], where: str) -> Iterator[str]:
    for index, record in enumerate(records):
        for line in environment.differences_after(record):
            yield f"{where}[{index}] {line}"


# Walks


def _is_walk(record: Any) -> bool:
    return isinstance(record, dict) and {"walk", "initial", "start", "init", "calls", "final"} <= record.keys()


def _initial_db(record: dict[str, Any], side: Side) -> Database:
    db = record["initial"][f"{side.value}_db"]
    return load_db(FIXTURES[side]) if db == _FIXTURE else dict(db)


def replay_walk(record: dict[str, Any]) -> list[str]:
    """Replay a walk and return every difference up to and including the first step that differs."""
    where = f"walk {record['walk']}"
    environment = _Environment(_initial_db(record, Side.AGENT), _initial_db(record, Side.USER))
    for side in Side:
        if digest(environment.db(side)) != record["start"][side.value]:
            return [f"{where}: start: the {side.value} digest differs"]
    for phase in ("init", "calls"):
        for index, step in enumerate(record[phase]):
            lines = environment.differences_after(step)
            if lines:
                return [f"{where}: {phase}[{index}] {line}" for line in lines]
    found = [f"{where}: {line}" for line in _assertion_differences(environment, record["assertions"], "assertions")]
    for side in Side:
        lines = differences(record["final"][f"{side.value}_db"], environment.db(side))
        found += [f"{where}: final {side.value} database: {line}" for line in lines]
        if digest(environment.db(side)) != record["final"][side.value]:
            found.append(f"{where}: final {side.value} digest differs")
    return found


# Tasks


def _is_task(record: Any) -> bool:
    return isinstance(record, dict) and {"id", "init", "gold", "after_init", "after_gold"} <= record.keys()


def _touched(agent_db: Database, fixture: Database) -> dict[str, list[dict[str, Any]]]:
    touched = {}
    for name, key in ID_FIELDS.items():
        rows = [row for row in agent_db[name] if differences(find(fixture, name, row[key]), row)]
        if rows:
            touched[name] = rows
    return touched


def _state_differences(environment: _Environment, expected: dict[str, Any], where: str) -> list[str]:
    agent_db, user_db = environment.db(Side.AGENT), environment.db(Side.USER)
    found = {
        "agent_digest": digest(agent_db),
        "user_digest": digest(user_db),
        "user_db": user_db,
        "agent_touched": _touched(agent_db, load_db(FIXTURES[Side.AGENT])),
    }
    return [f"{where}: {line}" for line in differences(expected, found)]


def replay_task(record: dict[str, Any]) -> list[str]:
    """Replay a task's initialization and reference actions and return every difference."""
    environment = _Environment(load_db(FIXTURES[Side.AGENT]), load_db(FIXTURES[Side.USER]))
    lines = list(_step_differences(environment, record["init"], "init"))
    lines += _state_differences(environment, record["after_init"], "after_init")
    lines += _assertion_differences(environment, record["assertions_before_gold"], "assertions_before_gold")
    lines += _step_differences(environment, record["gold"], "gold")
    lines += _state_differences(environment, record["after_gold"], "after_gold")
    lines += _assertion_differences(environment, record["assertions_after_gold"], "assertions_after_gold")
    return [f"{record['id']}: {line}" for line in lines]


# Speed rows


_SPEED_KEYS = {"technology", "signal", "poor_vpn", "data_saver", "mbps", "label"}


def _is_speed_row(record: Any) -> bool:
    return isinstance(record, dict) and record.keys() == _SPEED_KEYS


def replay_speed_row(record: dict[str, Any]) -> list[str]:
    """Set technology, signal, VPN and data saver on the fixture's phone and compare speed and label."""
    db = load_db(FIXTURES[Side.USER])
    device = phone_device(db)
    device["network_technology_connected"] = record["technology"]
    device["network_signal_strength"] = record["signal"]
    device["data_saver_mode"] = record["data_saver"]
    if record["poor_vpn"]:
        device["vpn_connected"] = True
        device["vpn_details"] = {"server_address": None, "protocol": None, "server_performance": "poor"}
    mbps, label = network.measure_speed(db)
    where = f"{record['technology']} {record['signal']} poor_vpn={record['poor_vpn']} data_saver={record['data_saver']}"
    expected, found = {"mbps": record["mbps"], "label": record["label"]}, {"mbps": mbps, "label": label}
    return [f"{where}: {line}" for line in differences(expected, found)]


for _name, _recognises, _replay in (
    ("walk", _is_walk, replay_walk),
    ("task", _is_task, replay_task),
    ("speed row", _is_speed_row, replay_speed_row),
):
    VECTOR_FORMATS.register(DOMAIN, _name, VectorFormat(_recognises, _replay), owner=__name__)
