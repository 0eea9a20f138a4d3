"""A task set on disk: what it was made with, its services, its tasks, and its card.

settings.json   keys that decide what the set holds; written first
drafts.db       drafts that are done, until the set is complete
author.jsonl    exchanges with the model that authored its tasks; only with task.author=model
system.json     the services, harness and evaluator that the tasks were certified on
graph.json      what joins the tools of the services
tasks.jsonl     a line a task: {"task": ..., "rubric": ..., "certificate": ..., "split": ...}
card.json       sources, counts, measures; written last: a folder without it is not complete
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from components.environment.sources.documents import first_problem
from components.errors import ConfigError
from components.records.base import to_json
from components.records.frozen import FrozenDict, canonical_json, freeze
from components.records.graph import DependencyGraph
from components.records.rubric import Rubric
from components.records.system import System
from components.records.task import Certificate, Task
from components.task.compose import ComposedTask
from components.task.dependencies import dependency_graph
from loop.composing import with_tasks
from loop.ledger_files import config_changes, pretty_json, read_object, write_file
from loop.train.split import Kind

SETTINGS, DRAFTS, SYSTEM, GRAPH, TASKS, CARD, LOCK = (
    "settings.json", "drafts.db", "system.json", "graph.json", "tasks.jsonl", "card.json", ".lock",
)  # fmt: skip
_MEND = "compose the set again in another folder"


def claim(folder: Path, settings: Mapping[str, Any]) -> None:
    """Begin a set in a folder, or go on with the one that was begun there.

    Raises:
        ConfigError: another set is there.
        LedgerError: the machine refuses.
    """
    path = folder / SETTINGS
    if path.exists():
        changes = config_changes(read_object(path, _MEND), dict(settings))
        if changes:
            first = changes[0]
            raise ConfigError(
                f"{folder} holds a task set that was made with {first.key}={_text(first.old)} (now "
                f"{_text(first.new)}); set out to another folder, or {first.key} as it was"
            )
        return
    if any(other.name != LOCK for other in folder.iterdir()):
        raise ConfigError(
            f"out: {folder} is not empty and holds no task set; set out to a new folder"
        )
    write_file(path, pretty_json(settings), point="tasks")


def write_set(
    folder: Path, system: System, splits: Mapping[str, Kind], card: Mapping[str, Any]
) -> None:
    """Write a complete set; the card last.

    Args:
        folder: its folder.
        system: with tasks, rubrics and certificates.
        splits: task -> where it belongs.
        card: as JSON.
    """
    bare = system.model_copy(
        update={
            "tasks": FrozenDict(),
            "evaluator": system.evaluator.model_copy(update={"rubrics": FrozenDict()}),
            "reference": system.reference.model_copy(update={"certificates": FrozenDict()}),
        }
    )
    write_file(folder / SYSTEM, canonical_json(to_json(bare)), point="tasks")
    graph = dependency_graph(system, sorted(system.environment.blueprints))
    write_file(folder / GRAPH, canonical_json(to_json(graph)), point="tasks")
    lines = [canonical_json(line) + b"\n" for line in _lines(system, splits)]
    write_file(folder / TASKS, b"".join(lines), point="tasks")
    write_file(folder / CARD, pretty_json(card), point="tasks")
    for name in () if card.get("missing") else (DRAFTS, f"{DRAFTS}-wal", f"{DRAFTS}-shm"):
        (folder / name).unlink(missing_ok=True)


def _lines(system: System, splits: Mapping[str, Kind]) -> Iterator[dict[str, Any]]:
    for name, task in sorted(system.tasks.items()):
        yield {
            "schema_version": 1,
            "task": to_json(task),
            "rubric": to_json(system.evaluator.rubrics[name]),
            "certificate": to_json(system.reference.certificates[name]),
            "split": splits[name].value,
        }


def read_set(folder: Path) -> System:
    """Return the services of a set with its tasks.

    Raises:
        ConfigError: there is no complete set, or a file of it cannot be read; the line says where.
    """
    _check_complete(folder, "tasks")
    system = _validated(System, read_object(folder / SYSTEM, _MEND), folder / SYSTEM)
    added: list[ComposedTask] = []
    path = folder / TASKS
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); {_MEND}") from error
    for number, line in enumerate(lines, start=1):
        place = f"{path}, line {number}"
        try:
            body = json.loads(line)
        except ValueError as error:
            raise ConfigError(f"{place}: no JSON ({error}); {_MEND}") from error
        missing = {"task", "rubric", "certificate"} - set(body if isinstance(body, dict) else ())
        if missing:
            raise ConfigError(f"{place}: it has no {', '.join(sorted(missing))}; {_MEND}")
        added.append(
            ComposedTask(
                task=_validated(Task, body["task"], place),
                rubric=_validated(Rubric, body["rubric"], place),
                certificate=_validated(Certificate, body["certificate"], place),
            )
        )
    return with_tasks(system, added)


def read_graph(folder: Path) -> DependencyGraph:
    """Return what joins the tools of a set.

    Raises:
        ConfigError: there is no complete set, or its graph cannot be read.
    """
    _check_complete(folder, "graph")
    path = folder / GRAPH
    if not path.is_file():
        raise ConfigError(f"graph: {folder} has no {GRAPH}; {_MEND}")
    graph: DependencyGraph = _validated(DependencyGraph, read_object(path, _MEND), path)
    return graph


def _check_complete(folder: Path, key: str) -> None:
    if not (folder / CARD).is_file():
        begun = (folder / SETTINGS).is_file()
        why = "is not complete; run the compose that began it again" if begun else "is no task set"
        raise ConfigError(f"{key}: {folder} {why} (it has no {CARD})")


def _validated(model: Any, body: Any, place: object) -> Any:
    try:
        return model.model_validate(freeze(body))
    except ValidationError as error:
        where, problem = first_problem(error)
        raise ConfigError(f"{place}: {where}: {problem}; {_MEND}") from error


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
