"""The toy shop on the side of bots that are not ours: its tools, written again."""

from __future__ import annotations

from typing import Any

from tests.interop.foreign_bot import ForeignBot


def write(db: dict, name: str, arguments: dict) -> None:
    match name:
        case "request_payment":
            db["order"]["status"] = "awaiting"
        case "write_remark":
            db["order"]["remark"] = arguments["text"]
        case "pay_bill":
            db["wallet"]["bill"] = "paid"


def initialize(db: dict, action: dict) -> None:
    assert action["func_name"] == "set_coins"
    db["wallet"]["coins"] = action["arguments"]["count"]


def sync(db: dict, delta: dict) -> None:
    for path, value in delta.items():
        table, key = path.split(".")
        db[table][key] = value


def shop_bot(plan: Any = None, **options: Any) -> ForeignBot:
    return ForeignBot(plan=plan, initialize=initialize, write=write, sync=sync, **options)
