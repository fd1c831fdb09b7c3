"""The same agent with tools and a database of its own: it reports each write, and what its database looks like.

    python examples/foreign_agent.py --port 8765
    python bot_server.py --config server_configs/user.yaml --port 8766
    python run_evaluation.py --bot-protocol realtime --scenarios \
        tau2_telecom__mms_issue__bad_network_preference__user_abroad_roaming_disabled_on
"""

import asyncio
import hashlib
import json
from pathlib import Path

from forwarding_agent import ForwardingAgent, main

DATA = Path(__file__).resolve().parent.parent / "data"


class ForeignAgent(ForwardingAgent):
    """Knows one database, one initialization and two tools. What it holds outlives a connection."""

    capabilities = {}

    def on_update_system_prompt(self, d):
        self.db, self.actions = None, []
        return super().on_update_system_prompt(d)

    def on_apply_initialization(self, d):
        path = json.loads(d["shared_state_init"])["db_path"]
        if path != "tau2_telecom/db" or any(action["func_name"] != "disable_roaming" for action in d["actions"]):
            return {"success": False, "errors": ["this example knows one database and one initialization"]}
        self.db = json.loads((DATA / f"{path}.json").read_text("utf-8"))
        for action in d["actions"]:
            self.set_roaming(False, **action["arguments"])
        return {"success": True, "errors": []}

    def on_apply_sync_delta(self, d):
        return {"success": False, "errors": ["this example takes no changes from the caller's side"]}

    def on_get_scenario_summary(self, d):
        summary = {"actions": self.actions, "db_hash": hash_of(self.db)}
        return {**summary, "db": self.db} if d.get("include_db") else summary

    async def call_tool(self, name, arguments):
        """Run the tool here and report it, instead of forwarding the call."""
        if name == "EndConversationTool":
            return await self.send("server-message", {"text": "<exit>The task is finished.</exit>"})
        self.set_roaming(True, **arguments)
        self.actions.append({"action_type": "write", "name": name, "arguments": arguments})
        push = {"type": "action-applied", "action": self.actions[-1], "tool_domain": "tau2_telecom"}
        return await self.send("server-message", push)

    def set_roaming(self, is_enabled, customer_id, line_id):
        line = next(line for line in self.db["lines"] if line["line_id"] == line_id)
        line["roaming_enabled"] = is_enabled


def hash_of(db):
    """The hash of the wire: whole numbers without a point. (It folds more, but nothing that is in this database.)"""
    folded = json.loads(
        json.dumps(db), parse_float=lambda text: int(float(text)) if text.endswith(".0") else float(text)
    )
    return hashlib.sha256(json.dumps(folded, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


if __name__ == "__main__":
    asyncio.run(main(ForeignAgent()))
