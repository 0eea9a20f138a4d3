"""BFCL's multi-turn categories: its API classes, its data and its multi_turn_checker."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import json
from pathlib import Path
from typing import Any

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
READS = ("get_", "list_", "view_", "ls", "pwd", "display", "find", "du")
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}


class Bfcl:
    """All categories (`multi_turn`), or one (`multi_turn_base`)."""

    def __init__(self, which: str, path: str | None) -> None:
        del path
        base = "bfcl_eval.eval_checker.multi_turn_eval"
        self._utils = importlib.import_module(f"{base}.multi_turn_utils")
        self._checker = importlib.import_module(f"{base}.multi_turn_checker")
        backend = importlib.import_module("bfcl_eval.constants.executable_backend_config")
        self._modules = backend.CLASS_FILE_PATH_MAPPING
        self._documents = backend.MULTI_TURN_FUNC_DOC_FILE_MAPPING
        chosen = [c for c in CATEGORIES if which in ("multi_turn", f"multi_turn_{c}")]
        if not chosen:
            raise ValueError(f"bfcl has multi_turn, multi_turn_{', multi_turn_'.join(CATEGORIES)}")
        self._data = Path(importlib.import_module("bfcl_eval").__file__ or "").parent / "data"
        self._entries: dict[str, dict[str, Any]] = {}
        self._golds: dict[str, list[list[str]]] = {}
        for category in chosen:
            name = f"BFCL_v4_multi_turn_{category}.json"
            for line in (self._data / name).read_text("utf-8").splitlines():
                entry = json.loads(line)
                self._entries[entry["id"]] = entry
            answers = (self._data / "possible_answer" / name).read_text("utf-8").splitlines()
            for line in answers:
                answer = json.loads(line)
                self._golds[answer["id"]] = answer["ground_truth"]
        self._docs: dict[str, dict[str, Any]] = {}
        self._starts: dict[str, str] = {}
        self._runs = 0

    def names(self) -> list[str]:
        return list(self._entries)

    def about(self) -> dict[str, Any]:
        return {
            "name": "BFCL multi-turn",
            "evaluator": "its multi_turn_checker and multi_turn_irrelevance_checker",
        }

    def task(self, name: str) -> dict[str, Any]:
        entry = self._entries[name]
        texts = ["\n".join(m["content"] for m in turn) for turn in entry["question"]]
        tools: dict[str, Any] = {}
        for class_name in entry["involved_classes"]:
            tools |= self._documented(class_name)
        missing = entry.get("missed_function") or {}
        turns = len(self._golds[name])
        hidden = []
        for turn in range(turns):
            later = [f for at, fs in missing.items() if int(at) > turn for f in fs]
            hidden.append([*(entry.get("excluded_function") or ()), *later])
        return {
            "texts": texts,
            "gold": [[self._read(text, tools) for text in turn] for turn in self._golds[name]],
            "message": "",
            "words": [],
            "unscored_words": [],
            "unscored": [],
            "judged": [],
            "state_checked": True,
            "tools": tools,
            "hidden": hidden,
            "policy": None,
            "is_scenario": False,
            "reads": self._looks(tools),
        }

    def _looks(self, tools: dict[str, Any]) -> list[dict[str, Any]]:
        """Return reads that need nothing: an agent can look around at the start."""
        found = [
            {"tool": name, "arguments": {}}
            for name, schema in tools.items()
            if name.startswith(READS) and not schema.get("required")
        ]
        if "find" in tools:
            found.append({"tool": "find", "arguments": {"path": "."}})
        return found

    def _documented(self, class_name: str) -> dict[str, Any]:
        if class_name not in self._docs:
            path = self._data / "multi_turn_func_doc" / self._documents[class_name]
            made = getattr(importlib.import_module(self._modules[class_name]), class_name)
            found = {}
            for line in path.read_text("utf-8").splitlines():
                doc = json.loads(line)
                method = getattr(made, doc["name"], None)
                order = [] if method is None else list(inspect.signature(method).parameters)[1:]
                found[doc["name"]] = _schema(doc["parameters"]) | {
                    "order": order,
                    "words": doc["description"],
                }
            self._docs[class_name] = found
        return self._docs[class_name]

    def _read(self, text: str, tools: dict[str, Any]) -> dict[str, Any]:
        """Return a call from its text; what is no plain call keeps its text alone."""
        try:
            node = ast.parse(text.strip(), mode="eval").body
            assert isinstance(node, ast.Call)
            assert isinstance(node.func, ast.Name)
            order = (tools.get(node.func.id) or {}).get("order") or []
            arguments = dict(zip(order, map(ast.literal_eval, node.args), strict=False))
            assert len(arguments) == len(node.args)
            arguments |= {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
        except (SyntaxError, ValueError, AssertionError):
            return {"tool": text.split("(")[0].strip(), "arguments": {}, "text": text}
        return {"tool": node.func.id, "arguments": arguments, "text": text}

    def run(self, name: str, turns: list[list[dict[str, Any]]], message: str) -> dict[str, Any]:
        del message
        entry, gold = self._entries[name], self._golds[name]
        self._runs += 1
        model = f"run{self._runs}"
        decoded = [[[_written(call) for call in turn]] if turn else [] for turn in turns]
        is_gold = [[text for step in turn for text in step] for turn in decoded] == gold
        if name not in self._starts:
            self._starts[name] = self._state_after([], name, "start")
        state, answers = self._starts[name], []
        for turn in turns:
            row: list[dict[str, Any]] = []
            for call in turn:
                found = self._executed([_written(call)], name, model)[0][0]
                row.append({"text": found, "error": _is_error(found), "facts": {}})
                if is_gold:  # a state is dear where contexts are long; only gold's calls need it
                    before, state = state, self._state_after([], name, model)
                    row[-1]["wrote"] = state != before
            answers.append(row)
        end = state if is_gold else self._state_after([], name, model)
        verdict = self._checker.multi_turn_irrelevance_checker(decoded, gold)
        if verdict["valid"]:
            verdict = self._checker.multi_turn_checker(decoded, gold, entry, "", f"eval{model}")
        self._forget()
        return {
            "answers": answers,
            "passes": bool(verdict["valid"]),
            "why": str(verdict.get("error_message", "its checker agrees"))[:300],
            "state": {"hash": end, "changed": [] if end == self._starts[name] else ["state"]},
        }

    def _executed(self, calls: list[str], name: str, model: str) -> tuple[list[str], Any]:
        entry = self._entries[name]
        found, instances = self._utils.execute_multi_turn_func_call(
            calls, entry["initial_config"], entry["involved_classes"], model, name,
            long_context="long_context" in name, is_evaL_run=False,
        )  # fmt: skip
        return found, instances

    def _state_after(self, calls: list[str], name: str, model: str) -> str:
        return _state(self._executed(calls, name, model)[1])

    def _forget(self) -> None:
        """Drop what the checker keeps of a run, for it keeps it for ever."""
        space = vars(self._utils)
        for key in [key for key in space if key.endswith("_instance")]:
            del space[key]


def _written(call: dict[str, Any]) -> str:
    if "text" in call:
        return str(call["text"])
    given = ", ".join(f"{key}={value!r}" for key, value in call["arguments"].items())
    return f"{call['tool']}({given})"


def _is_error(text: str) -> bool:
    if text.startswith("Error during execution"):
        return True
    try:
        body = json.loads(text)
    except ValueError:
        return False
    return isinstance(body, dict) and "error" in body


def _state(instances: dict[str, Any]) -> str:
    """Return what the checker compares, as text: public attributes."""
    parts = []
    for name in sorted(instances):
        for key, value in sorted(vars(instances[name]).items()):
            if not key.startswith("_"):
                parts.append(f"{name}.{key}={_plain(value)}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{" + ",".join(f"{k!r}:{_plain(v)}" for k, v in sorted(value.items(), key=repr)) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_plain, value)) + "]"
    if hasattr(value, "__dict__"):
        shown = {k: v for k, v in vars(value).items() if k != "parent" and k[0] != "_"}
        return type(value).__name__ + _plain(shown)
    return repr(value)


def _schema(doc: Any) -> Any:
    """Return BFCL's types as JSON Schema."""
    if isinstance(doc, dict):
        made = {key: _schema(value) for key, value in doc.items()}
        kind = made.get("type")
        if isinstance(kind, str) and kind in _TYPES:
            made["type"] = _TYPES[kind]
            if made["type"] is None:
                del made["type"]
        return made
    return [_schema(item) for item in doc] if isinstance(doc, list) else doc
