"""How the carrier's back office and the customer's phone learn of each other.

From the line to the phone: service, roaming, used-up data, a request for payment. From the phone to the back
office: the payment. Everything else stays on its side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from duologue.errors import ToolRefusal
from duologue.records.action import Delta
from duologue.state.side_state import SideState
from duologue.toolkit.rules import RULES_NAME, SYNC_RULES, Deltas, SyncRefused, SyncRules, parse_delta_path
from tools.tau2_telecom.db import (
    DOMAIN,
    ID_FIELDS,
    TAU2,
    Database,
    Entity,
    customer_bills,
    database,
    find,
    find_customer_by_phone,
    find_line_by_phone,
    follows_upstream,
    snapshot,
    surroundings,
)
from tools.tau2_telecom.network import derive_network

_PLACE = "surroundings"


@dataclass(slots=True)
class _Reconciliation:
    """Collects the deltas of one sync; ``strict`` refuses what does not fit instead of leaving it alone."""

    agent_db: Database
    user_db: Database
    strict: bool
    agent: Delta = field(default_factory=dict)
    user: Delta = field(default_factory=dict)

    def run(self) -> None:
        """Compute both deltas; they are complete up to the point where it refuses."""
        place = surroundings(self.user_db)
        phone_number = place["phone_number"]
        if phone_number is None:
            return
        line = find_line_by_phone(self.agent_db, phone_number)
        if line is None:
            self._refuse(f"no line has the phone number {phone_number!r}")
            return
        self._mirror_line(line)
        settled = self._settle_payment(place["payment_request"])
        if settled is not None or place["payment_request"] is None:
            self._surface_request(phone_number, settled)

    def _refuse(self, message: str) -> None:
        if self.strict:
            raise ToolRefusal(message)

    def _mirror(self, name: str, value: Any) -> None:
        if surroundings(self.user_db)[name] is not value:
            self.user[f"{_PLACE}.{name}"] = value

    def _mirror_line(self, line: Entity) -> None:
        self._mirror("line_active", line["status"] == "Active")
        self._mirror("roaming_allowed", bool(line["roaming_enabled"]))
        plan = find(self.agent_db, "plans", line["plan_id"])
        if plan is None:
            self._refuse(f"line {line['line_id']} has an unknown plan {line['plan_id']!r}")
            return
        is_exceeded = line["data_used_gb"] >= plan["data_limit_gb"] + line["data_refueling_gb"]
        self._mirror("mobile_data_usage_exceeded", bool(is_exceeded))

    def _settle_payment(self, request: Entity | None) -> str | None:
        """Book a paid request and return its bill's id, or None when nothing was paid."""
        if request is None or not request["paid"]:
            return None
        bill_id = str(request["bill_id"])
        bill = find(self.agent_db, "bills", bill_id)
        if bill is None:
            self._refuse(f"the paid bill {bill_id!r} does not exist")
        elif bill["status"] != "Paid":
            self.agent[f"bills[{bill_id}].status"] = "Paid"
        self.user[f"{_PLACE}.payment_request"] = None
        return bill_id

    def _surface_request(self, phone_number: str, settled: str | None) -> None:
        """Show the phone the first of the customer's bills that awaits payment, if one does."""
        customer = find_customer_by_phone(self.agent_db, phone_number, strict=self.strict)
        if customer is None:
            self._refuse(f"no customer has the phone number {phone_number!r}")
            return
        for bill in customer_bills(self.agent_db, customer, strict=self.strict):
            if bill["status"] == "Awaiting Payment" and bill["bill_id"] != settled:
                request = {"bill_id": bill["bill_id"], "amount_due": bill["total_due"], "paid": False}
                self.user[f"{_PLACE}.payment_request"] = request
                return


def sync_telecom(agent: SideState, user: SideState) -> Deltas:
    """Reconcile both databases in place and return what changed; a second call changes nothing.

    Raises:
        SyncRefused: in the ``tau2`` profile, when phone number, plan, owner or paid bill is unknown. What was
            settled before that point stays, and is named in the error.
        ToolRefusal: a side has no database, or one of the wrong kind.
    """
    reconciliation = _Reconciliation(database(agent), database(user), follows_upstream(user))
    refusal: ToolRefusal | None = None
    try:
        reconciliation.run()
    except ToolRefusal as error:
        refusal = error
    deltas = Deltas(reconciliation.agent, reconciliation.user)
    apply_telecom_delta(agent, deltas.agent)
    apply_telecom_delta(user, deltas.user)
    if refusal is not None:
        raise SyncRefused(str(refusal), deltas) from refusal
    return deltas


def apply_telecom_delta(state: SideState, delta: Delta) -> None:
    """Set each path of ``delta`` in ``state.db``; all or nothing.

    A path is dotted (``surroundings.line_active``) or names an entity by its id (``bills[B1002].status``). In the
    ``guide`` profile an unknown id is passed over, and a change of the surroundings makes the phone search its network.

    Raises:
        ToolRefusal: a path does not exist; in the ``tau2`` profile also an unknown id.
        ToolError: a path is malformed.
    """
    if not delta:
        return
    db, is_strict = database(state), follows_upstream(state)
    targets = []
    for path, value in delta.items():
        target = _locate(db, path, is_strict)
        if target is not None:
            targets.append((*target, value))
    for node, leaf, value in targets:
        node[leaf] = snapshot(value)
    touches_place = any(path.split(".", 1)[0] == _PLACE for path in delta)
    if touches_place and not is_strict and isinstance(db.get("device"), dict):
        derive_network(db)


def _locate(db: Database, path: str, is_strict: bool) -> tuple[Entity, str] | None:
    """Return the object and key that ``path`` names, or None for an id that is unknown and may be."""
    *parents, (leaf, leaf_id) = parse_delta_path(path)
    if leaf_id is not None:
        raise ToolRefusal(f"delta path {path!r} names an entity, not one of its fields")
    node: Any = db
    for name, entity_id in parents:
        if not isinstance(node, dict) or name not in node:
            raise ToolRefusal(f"delta path {path!r}: there is no {name!r}")
        node = node[name]
        if entity_id is None:
            continue
        node = _entity(node, name, entity_id, path)
        if node is None:
            if is_strict:
                raise ToolRefusal(f"delta path {path!r}: no entry of {name} has the id {entity_id!r}")
            return None
    if not isinstance(node, dict) or leaf not in node:
        raise ToolRefusal(f"delta path {path!r}: there is no {leaf!r}")
    return node, leaf


def _entity(rows: Any, table: str, entity_id: str, path: str) -> Entity | None:
    key = ID_FIELDS.get(table)
    if key is None or not isinstance(rows, list):
        raise ToolRefusal(f"delta path {path!r}: {table!r} is not a list of entities with ids")
    return next((row for row in rows if row[key] == entity_id), None)


SYNC_RULES.register(DOMAIN, RULES_NAME, SyncRules(sync_telecom, apply_telecom_delta, frozenset({TAU2})), owner=__name__)
