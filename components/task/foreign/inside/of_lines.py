"""Anybody's tasks: a JSONL file whose first line names a Python module that serves them.

docs/formats.md says what the lines hold and what the module offers.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any


class Lines:
    """Tasks of a file, with the world that its module makes."""

    def __init__(self, path: str | None) -> None:
        file = Path(path or "")
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
        if not lines or "module" not in lines[0]:
            raise ValueError('its first line must be {"schema_version": 1, "module": "FILE.py"}')
        if lines[0].get("schema_version") != 1:
            raise ValueError(f"schema_version must be 1 (got {lines[0].get('schema_version')})")
        self._header = lines[0]
        self._items = {}
        for number, item in enumerate(lines[1:], start=2):
            missing = {"id", "turns", "gold"} - set(item)
            if missing:
                raise ValueError(f"line {number} has no {', '.join(sorted(missing))}")
            self._items[str(item["id"])] = item
        self._module = _loaded(file.parent / lines[0]["module"])

    def names(self) -> list[str]:
        return list(self._items)

    def about(self) -> dict[str, Any]:
        own = hasattr(self._module, "evaluate")
        return {
            "name": self._header.get("name", "tasks of a file"),
            "evaluator": "evaluate() of its module"
            if own
            else "the state that gold leaves, and the task's words in the message",
        }

    def task(self, name: str) -> dict[str, Any]:
        item = self._items[name]
        return {
            "texts": item["turns"],
            "gold": item["gold"],
            "message": item.get("message", ""),
            "words": item.get("words", []),
            "unscored_words": [],
            "unscored": [],
            "judged": item.get("judged", []),
            "state_checked": item.get("state_checked", True),
            "tools": self._module.TOOLS,
            "hidden": item.get("hidden") or [[] for _ in item["gold"]],
            "policy": None,
            "is_scenario": False,
            "reads": item.get("reads", []),
        }

    def run(self, name: str, turns: list[list[dict[str, Any]]], message: str) -> dict[str, Any]:
        item = self._items[name]
        answers, start, end = self._played(item, turns)
        if hasattr(self._module, "evaluate"):
            passes, why = self._module.evaluate(item, turns, message, end)
        else:
            passes, why = self._held(item, end, message)
        keys = {*start, *end}
        return {
            "answers": answers,
            "passes": None if passes is None else bool(passes),
            "why": str(why),
            "state": {
                "hash": _digest(end),
                "changed": sorted(k for k in keys if start.get(k) != end.get(k)),
            },
        }

    def _held(self, item: dict[str, Any], end: Any, message: str) -> tuple[bool, str]:
        if item.get("state_checked", True) and end != self._played(item, item["gold"])[2]:
            return False, "the state is not the one that gold leaves"
        lacking = [w for w in item.get("words", ()) if w.lower() not in message.lower()]
        return not lacking, f"not said: {', '.join(lacking)}" if lacking else "state and words hold"

    def _played(self, item: dict[str, Any], turns: Any) -> tuple[list[Any], Any, Any]:
        world = self._module.World(json.loads(json.dumps(item.get("start", {}))))
        start = json.loads(json.dumps(world.state()))
        answers = []
        for turn in turns:
            row = []
            for call in turn:
                before = _digest(world.state())
                try:
                    found = world.call(call["tool"], dict(call["arguments"]))
                    text, error = found if isinstance(found, str) else json.dumps(found), False
                except Exception as raised:  # the module's refusal is its answer
                    text, error = str(raised), True
                wrote = _digest(world.state()) != before
                row.append({"text": text, "error": error, "facts": {}, "wrote": wrote})
            answers.append(row)
        return answers, start, json.loads(json.dumps(world.state()))


def _loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("served_tasks", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ValueError(f"no module at {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules["served_tasks"] = module
    spec.loader.exec_module(module)
    for name in ("TOOLS", "World"):
        if not hasattr(module, name):
            raise ValueError(f"{path} has no {name}")
    return module


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
