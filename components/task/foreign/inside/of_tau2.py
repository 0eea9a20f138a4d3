"""tau2's domains: the MCP wheels, with tools and data, or the package itself, with its evaluator.

The wheels have no evaluator. What tau2 documents is applied there: the database is the one that
gold leaves, and each `communicate_info` stands in a message, as far as `reward_basis` counts.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

DOMAINS = ("retail", "airline")
READS = ("get_", "find_", "list_", "search_", "calculate", "transfer_")


def open_tau2(domain: str, path: str | None) -> Wheel | Package:
    """Return a domain, from a checkout at `path`, or from the wheel that is installed."""
    if domain not in DOMAINS:
        raise ValueError(f"tau2 has {' and '.join(DOMAINS)} here, not {domain}")
    if path is None:
        return Wheel(domain)
    root = Path(path) / "src"
    sys.path.insert(0, str(root if root.is_dir() else Path(path)))
    if (Path(path) / "data").is_dir():
        os.environ.setdefault("TAU2_DATA_DIR", str(Path(path) / "data"))
    return Package(domain)


class Domain:
    """What both carriers share: tasks, and the form in which they are told."""

    def __init__(self, domain: str, tasks: list[dict[str, Any]], policy: str) -> None:
        self.domain = domain
        self.policy = policy
        self.items = {str(task["id"]): task for task in tasks}
        self._gold: dict[str, str] = {}

    def names(self) -> list[str]:
        return list(self.items)

    def use(self, tasks: list[dict[str, Any]]) -> None:
        """Take these tasks in place of the domain's own: a run's file holds what was played."""
        self.items = {str(task["id"]): task for task in tasks}
        self._gold = {}

    def task(self, name: str) -> dict[str, Any]:
        item = self.items[name]
        scenario = item["user_scenario"]
        told = scenario["instructions"]
        parts = told.values() if isinstance(told, dict) else [told]
        criteria = item["evaluation_criteria"]
        basis = criteria.get("reward_basis") or ["DB", "COMMUNICATE"]
        judged = criteria.get("nl_assertions") if "NL_ASSERTION" in basis else None
        return {
            "texts": ["\n".join(str(part) for part in parts if part)],
            "gold": [self._calls(item)],
            "message": "\n".join(criteria.get("communicate_info") or []),
            "words": criteria.get("communicate_info") or [] if "COMMUNICATE" in basis else [],
            "unscored_words": criteria.get("communicate_info") or []
            if "COMMUNICATE" not in basis and not judged
            else [],
            "unscored": [] if judged else criteria.get("nl_assertions") or [],
            "judged": judged or [],
            "state_checked": "DB" in basis,
            "tools": self.tools(),
            "hidden": [[]],
            "policy": self.domain,
            "is_scenario": True,
            "reads": self._searches(item),
        }

    def _searches(self, item: dict[str, Any]) -> list[dict[str, Any]]:
        """Return reads for one who knows who asks, and the cities and dates of a flight."""
        found = []
        for call in self._calls(item):
            owner = self._owner(call["arguments"])
            if owner:
                found.append({"tool": "get_user_details", "arguments": {"user_id": owner}})
            for leg in call["arguments"].get("flights") or ():
                flight = self._flight(leg["flight_number"])
                if flight:
                    way = {"origin": flight[0], "destination": flight[1], "date": leg["date"]}
                    found.append({"tool": "search_direct_flight", "arguments": way})
        return found

    def _owner(self, arguments: dict[str, Any]) -> str | None:
        for key, table in (("order_id", "orders"), ("reservation_id", "reservations")):
            row = (self._tables().get(table) or {}).get(arguments.get(key))
            if row:
                return str(row["user_id"])
        return arguments.get("user_id")

    def _flight(self, number: str) -> tuple[str, str] | None:
        flight = self._tables()["flights"].get(number)
        return (flight["origin"], flight["destination"]) if flight else None

    def _tables(self) -> dict[str, Any]:
        raise NotImplementedError

    def _calls(self, item: dict[str, Any]) -> list[dict[str, Any]]:
        actions = item["evaluation_criteria"].get("actions") or []
        return [
            {"tool": act["name"], "arguments": act["arguments"]}
            for act in actions
            if act.get("requestor") in (None, "assistant")
        ]

    def tools(self) -> dict[str, Any]:
        raise NotImplementedError

    def _facts(self, db: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the records that a call is about, as they are before it."""
        facts: dict[str, Any] = {}
        order = (db.get("orders") or {}).get(arguments.get("order_id"))
        reservation = (db.get("reservations") or {}).get(arguments.get("reservation_id"))
        owner = (order or reservation or arguments).get("user_id")
        facts["order"], facts["reservation"] = order, reservation
        facts["user"] = db["users"].get(owner)
        legs = [*(reservation or {}).get("flights", ()), *(arguments.get("flights") or ())]
        flights = db.get("flights") or {}
        facts["flights"] = {
            f"{leg['flight_number']} {leg['date']}": {
                "origin": flights[leg["flight_number"]]["origin"],
                "destination": flights[leg["flight_number"]]["destination"],
                "status": (flights[leg["flight_number"]]["dates"].get(leg["date"]) or {}).get(
                    "status"
                ),
            }
            for leg in legs
            if leg.get("flight_number") in flights
        }
        return dict(json.loads(json.dumps(facts)))  # a copy, as it is before the call


class Wheel(Domain):
    """An MCP wheel: its tools, called in this process, and its data."""

    def __init__(self, domain: str) -> None:
        server: Any = importlib.import_module(f"tau2_{domain}_mcp.server")
        server._save_state = lambda *_: None  # states live as long as a run
        self._server = server
        data = Path(str(server.__file__)).with_name("data") / "tau2" / "domains" / domain
        tasks = json.loads((data / "tasks.json").read_text(encoding="utf-8"))
        super().__init__(domain, tasks, (data / "policy.md").read_text(encoding="utf-8"))
        text = (data / "db.json").read_text(encoding="utf-8")
        self._base, self._live = json.loads(text), json.loads(text)

    def about(self) -> dict[str, Any]:
        return {
            "name": f"tau2 {self.domain}, the MCP wheel {self._server.SERVER_VERSION}",
            "evaluator": "none is in the wheel: the database gold leaves, and communicate_info",
            "judged": "nl_assertions need a model that judges; here they are never decided",
        }

    def tools(self) -> dict[str, Any]:
        found = {}
        for tool in self._server._list_tools():
            if tool["name"] in self._server.BUSINESS_TOOLS:
                schema = tool["inputSchema"]
                schema["properties"].pop(self._server.STATE_KEY_ARG, None)
                found[tool["name"]] = schema | {
                    "reads": tool["name"].startswith(READS),
                    "description": tool.get("description") or "",
                }
        return found

    def _tables(self) -> dict[str, Any]:
        return dict(self._base)

    def run(self, name: str, turns: list[list[dict[str, Any]]], message: str) -> dict[str, Any]:
        answers, state = self._played([call for turn in turns for call in turn])
        if name not in self._gold:
            self._gold[name] = self._played(self._calls(self.items[name]))[1]["hash"]
        criteria = self.items[name]["evaluation_criteria"]
        basis = criteria.get("reward_basis") or ["DB", "COMMUNICATE"]
        said = message.lower().replace(",", "")
        lacking = [w for w in criteria.get("communicate_info") or () if w.lower() not in said]
        passes, why = True, "all that is counted holds"
        if "DB" in basis and state["hash"] != self._gold[name]:
            passes, why = False, "the database is not the one that gold leaves"
        elif "COMMUNICATE" in basis and lacking:
            passes, why = False, f"not communicated: {', '.join(lacking)}"
        return {"answers": [answers], "passes": passes, "why": why, "state": state}

    def _played(self, calls: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        key = "tau2/" + self.domain + "/run"
        db = self._live
        self._server._STATES[key] = {"domain": self.domain, "task_id": "run", "db": db, "calls": []}
        answers = []
        for call in calls:
            facts = self._facts(db, call["arguments"])
            arguments = {**call["arguments"], self._server.STATE_KEY_ARG: key}
            payload = self._server._call_business_tool(call["tool"], arguments)
            text = payload["tau2_tool_message"]["content"]
            is_read = call["tool"].startswith(READS)
            answers.append({"text": text, "error": not payload["ok"], "facts": facts})
            answers[-1]["wrote"] = payload["ok"] and not is_read
        changed, bodies = [], []
        for table, rows in db.items():
            base = self._base[table]
            for key in sorted(k for k in {*rows, *base} if rows.get(k) != base.get(k)):
                changed.append(f"{table}/{key}")
                bodies.append([table, key, rows.get(key)])
                if key in base:
                    rows[key] = json.loads(json.dumps(base[key]))
                else:
                    del rows[key]
        return answers, {"hash": _digest(bodies), "changed": changed}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


class Package(Domain):
    """The tau2 package: its environment, and its evaluators of state and of what was said."""

    def __init__(self, domain: str) -> None:
        base = f"tau2.domains.{domain}"
        environment = importlib.import_module(f"{base}.environment")
        files = importlib.import_module(f"{base}.utils")
        model = importlib.import_module(f"{base}.data_model")
        self._state = importlib.import_module("tau2.evaluator.evaluator_env").EnvironmentEvaluator
        self._said = importlib.import_module("tau2.evaluator.evaluator_communicate")
        self._message = importlib.import_module("tau2.data_model.message")
        self._task = importlib.import_module("tau2.data_model.tasks").Task
        importlib.import_module("loguru").logger.remove()
        upper = domain.upper()
        tasks = json.loads(Path(getattr(files, f"{upper}_TASK_SET_PATH")).read_text("utf-8"))
        policy = Path(getattr(files, f"{upper}_POLICY_PATH")).read_text("utf-8")
        super().__init__(domain, tasks, policy)
        self._get = environment.get_environment
        database = {"retail": "RetailDB", "airline": "FlightDB"}[domain]
        self._db = getattr(model, database).load(getattr(files, f"{upper}_DB_PATH"))
        self._free: list[Any] = []
        self._lent: list[Any] = []

    def _made(self, solo_mode: bool = False) -> Any:
        """Return an environment with a database that `_restored` takes back after the run."""
        db = self._free.pop() if self._free else self._db.model_copy(deep=True)
        self._lent.append(db)
        return self._get(db=db, solo_mode=solo_mode)

    def _restored(self) -> None:
        for db in self._lent:
            for table in type(db).model_fields:
                rows, base = getattr(db, table), getattr(self._db, table)
                for key in [k for k in {*rows, *base} if rows.get(k) != base.get(k)]:
                    if key in base:
                        rows[key] = base[key].model_copy(deep=True)
                    else:
                        del rows[key]
        self._free, self._lent = [*self._free, *self._lent], []

    def _changed(self, db: Any) -> list[str]:
        found = []
        for table in type(db).model_fields:
            rows, base = getattr(db, table), getattr(self._db, table)
            found += [f"{table}/{k}" for k in {*rows, *base} if rows.get(k) != base.get(k)]
        return sorted(found)

    def about(self) -> dict[str, Any]:
        return {
            "name": f"tau2 {self.domain}, the package",
            "evaluator": "its EnvironmentEvaluator and CommunicateEvaluator",
            "judged": "nl_assertions need a model that judges; here they are never decided",
        }

    def tools(self) -> dict[str, Any]:
        found = {}
        for tool in self._get(db=self._db).get_tools():
            function = tool.openai_schema["function"]
            found[tool.name] = function["parameters"] | {
                "reads": tool.name.startswith(READS),
                "description": function.get("description") or "",
            }
        return found

    def _tables(self) -> dict[str, Any]:
        return _Dumped(self._db)

    def run(self, name: str, turns: list[list[dict[str, Any]]], message: str) -> dict[str, Any]:
        task = self._task.model_validate(self.items[name])
        env = self._made()
        answers, history = [], []
        for number, call in enumerate(call for turn in turns for call in turn):
            facts = self._facts(_Dumped(env.tools.db), call["arguments"])
            asked = self._message.ToolCall(
                id=str(number), name=call["tool"], arguments=call["arguments"]
            )
            answer = env.get_response(asked)
            history += [
                self._message.AssistantMessage(role="assistant", tool_calls=[asked]),
                answer,
            ]
            answers.append({"text": answer.content, "error": answer.error, "facts": facts})
            answers[-1]["wrote"] = not answer.error and not call["tool"].startswith(READS)
        history.append(self._message.AssistantMessage(role="assistant", content=message or "Done."))
        reward = self._state.calculate_reward(self._made, task, history).reward
        basis = {str(item.value) for item in task.evaluation_criteria.reward_basis}
        if "COMMUNICATE" in basis:
            said = self._said.CommunicateEvaluator.calculate_reward(task, history)
            reward *= said.reward
        state = {"hash": env.get_db_hash(), "changed": self._changed(env.tools.db)}
        self._restored()
        return {
            "answers": [answers],
            "passes": reward == 1.0,
            "why": f"its evaluators give {reward}",
            "state": state,
        }


class _Dumped(dict[str, Any]):
    """Tables of a database of models, each row as JSON when it is asked for."""

    def __init__(self, source: Any) -> None:
        super().__init__()
        self._source = source

    def get(self, key: Any, default: Any = None) -> Any:
        found = self._source if isinstance(self._source, dict) else vars(self._source)
        value = found.get(key)
        if value is None:
            return default
        return _Dumped(value) if isinstance(value, dict) else value.model_dump(mode="json")

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None

    def __bool__(self) -> bool:
        return True
