"""Results of tau2-bench: one JSON document with `simulations`, and the `tasks` that they play.

The user is simulated there, and its scenario is in the task; both sides may call tools. Tools are
in `info.environment_info.tool_defs` where the version writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attribution.foreign.answers import short
from attribution.foreign.openai import with_answers
from attribution.foreign.reading import (
    MAX_FILE_BYTES,
    MAX_MESSAGES,
    MAX_TOOLS,
    MAX_TRACES,
    Place,
    objects,
    outcome_of,
    parse,
    refuse_large,
    tools_of,
    unreadable,
)
from attribution.foreign.records import ForeignMessage, ForeignTrace, Outcome
from attribution.foreign.words import words

_CHECKS = (
    ("env_assertions", "env_assertion", "met"),
    ("action_checks", "action", "action_match"),
    ("nl_assertions", "nl_assertion", "met"),
    ("communicate_checks", "info", "met"),
)
"""List of the evaluator's checks, key of what is checked, key of whether it is met."""
_MOST_UNMET = 20


def read_tau2(path: Path) -> Iterator[ForeignTrace]:
    """Yield the simulations of a results file.

    Raises:
        ConfigError: it is no such document; says where and why.
    """
    whole, body = _document(path)
    tasks = {
        str(task.get("id")): task for task in objects(body.get("tasks"), "tasks", whole, MAX_TRACES)
    }
    tools = tools_of(_definitions(body, whole), whole)
    for number, run in enumerate(objects(body["simulations"], "simulations", whole, MAX_TRACES)):
        place = Place(path, f"simulations.{number}")
        reward = run.get("reward_info")
        value = reward.get("reward") if isinstance(reward, dict) else None
        outcome, number_won = outcome_of(value, None, place)
        ended = str(run.get("termination_reason") or "")
        broken = ended if ended in words("broken_ends") else ""
        task_id = str(run.get("task_id") or "")
        yield ForeignTrace(
            trace_id=str(run.get("id") or f"{path.stem}-{number:05d}"),
            task_id=task_id,
            source=str(place),
            messages=_messages(run, place),
            tools=tools,
            outcome=Outcome.UNKNOWN if broken else outcome,
            reward=number_won,
            broken=f"the run ended with {broken}" if broken else "",
            ended=ended,
            unmet=_unmet(reward if isinstance(reward, dict) else {}),
            scenario=json.dumps(tasks.get(task_id, {}).get("user_scenario"), ensure_ascii=False),
        )


def read_tau2_tasks(path: Path) -> list[dict[str, Any]]:
    """Return the tasks that a results file carries, as they are written there.

    Raises:
        ConfigError: it is no such document; says where and why.
    """
    whole, body = _document(path)
    return objects(body.get("tasks"), "tasks", whole, MAX_TRACES)


def _document(path: Path) -> tuple[Place, dict[str, Any]]:
    refuse_large(path)
    whole = Place(path, "line 1")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None
    assert len(text) <= MAX_FILE_BYTES
    body = parse(text, whole)
    if not isinstance(body, dict) or "simulations" not in body:
        whole.refuse("has no simulations", "name a results file of tau2, or set format=")
    return whole, body


def _unmet(reward: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the benchmark's own evaluator says was not met."""
    found = []
    for key, inner, flag in _CHECKS:
        listed = reward.get(key)
        for entry in listed if isinstance(listed, list) else []:
            if isinstance(entry, dict) and entry.get(flag) is False:
                found.append(_told(entry.get(inner), key))
    database = reward.get("db_check")
    if isinstance(database, dict) and database.get("db_match") is False:
        found.append("the database is not as it should be")
    return tuple(found[:_MOST_UNMET])


def _told(check: Any, key: str) -> str:
    if not isinstance(check, dict):
        return short(f"{key}: {check}")
    name = check.get("func_name") or check.get("name") or key
    by = check.get("env_type") or check.get("requestor") or "agent"
    arguments = json.dumps(check.get("arguments") or {}, ensure_ascii=False)
    return short(f"{name}({arguments}) of the {by}")


def _messages(run: Mapping[str, Any], place: Place) -> tuple[ForeignMessage, ...]:
    listed: list[dict[str, Any]] = []
    for entry in objects(run.get("messages"), "messages", place, MAX_MESSAGES):
        several = entry.get("tool_messages")
        listed += several if isinstance(several, list) else [entry]
    return with_answers(listed, place)


def _definitions(body: Mapping[str, Any], place: Place) -> list[dict[str, Any]]:
    found: Any = body.get("info")
    for key in ("environment_info", "tool_defs"):
        found = found.get(key) if isinstance(found, dict) else None
    if isinstance(found, dict):
        found = [
            {"name": name, **entry} for name, entry in found.items() if isinstance(entry, dict)
        ]
    return objects(found, "info.environment_info.tool_defs", place, MAX_TOOLS)
