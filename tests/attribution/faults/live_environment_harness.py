"""When a fault of environment or harness is live: it changes an outcome.

Of a fault that is planted after composition, an outcome is whether a rollout of a certified task
passes: the oracle's, or one of the scripted policy with slips. A fault planted before composition
is inherited by gold, rubric and certificates, so an outcome is what a call answers and changes: a
call of a certified run of the clean twin, or one with arguments drawn from the rows.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from attribution.change import Change, bind, changed
from attribution.evidence import same_place
from attribution.faults.kinds import Clean, FaultKind, When
from attribution.interventions.runs import arm_of, oracle_run, world_of
from attribution.ownership import unreferenced_paths
from attribution.swap import body_of, swap
from components.environment.engine import call_recorded
from components.environment.world import World
from components.records.base import to_json
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict
from components.records.patch import Component
from components.records.system import System
from components.records.world import WorldSpec
from tests.attribution.composed import composed_system
from tests.attribution.hand_made import NOW, bare_system
from tests.attribution.playing import only, play_all

NUM_TASKS, NUM_CANDIDATES, NUM_DRAWN = 24, 12, 24


def clean_for(kind: FaultKind) -> Clean:
    """Return what the kind looks at: certified tasks, or services alone."""
    system = composed_system(NUM_TASKS) if kind.when is When.AFTER else bare_system()
    return Clean(system=system, rng=random.Random(0))


def first_candidates(kind: FaultKind) -> Iterator[Change]:
    """Yield the candidates that are looked at."""
    for change, _ in zip(kind.places(clean_for(kind)), range(NUM_CANDIDATES), strict=False):
        yield change


def is_live(kind: FaultKind, change: Change) -> bool:
    """Return whether the change of the clean system shows in an outcome."""
    clean = composed_system(NUM_TASKS)
    faulty = changed(clean, change)
    if kind.when is When.BEFORE:
        services = services_of(clean, change)
        pairs = zip(answers(clean, services), answers(faulty, services), strict=True)
        return any(
            (one.envelope, one.changes) != (other.envelope, other.changes) for one, other in pairs
        )
    names = [name for name in sorted(clean.tasks) if meets(clean, name, change)]
    if any(
        oracle_run(arm_of(faulty, name)).passed is not oracle_run(arm_of(clean, name)).passed
        for name in names
    ):
        return True
    slips = [scored.passed for _, scored in play_all(only(faulty, *names), 2)]
    return slips != [scored.passed for name in names for scored in clean_slips(name)]


@cache
def clean_slips(task_id: str) -> list[Any]:
    """Return the scored rollouts of the scripted policy in the clean system."""
    return [scored for _, scored in play_all(only(composed_system(NUM_TASKS), task_id), 2)]


def meets(system: System, task_id: str, change: Change) -> bool:
    """Return whether the world of a task holds what changed."""
    family, _, name = change.artifact.partition("/")
    world = system.tasks[task_id].world
    return family in ("harness", "reactions") or name in (*world.services, *world.distractors)


def services_of(system: System, change: Change) -> tuple[str, ...]:
    """Return the services whose tools the change can show in."""
    name = change.artifact.partition("/")[2]
    return (name,) if name else tuple(sorted(system.environment.blueprints))


def answers(system: System, services: tuple[str, ...]) -> Iterator[CallRecord]:
    """Yield the records of certified runs played again, and of drawn calls."""
    clean = composed_system(NUM_TASKS)
    for task_id, certificate in sorted(clean.reference.certificates.items()):
        calls = [certificate.gold_run[step] for step in sorted(certificate.gold_run)]
        if any(call.service in services for call in calls):
            yield from _played(world_of(system, clean.tasks[task_id].world), calls)
    everything = WorldSpec(services=tuple(sorted(clean.environment.blueprints)), now=NOW)
    world = world_of(system, everything)
    for service in services:
        for tool, arguments in drawn_calls(service):
            yield call_recorded(world, world.initial, service, tool, arguments)[1]


def _played(world: World, calls: Iterable[CallRecord]) -> Iterator[CallRecord]:
    state = world.initial
    for call in calls:
        state, record = call_recorded(world, state, call.service, call.tool, call.arguments)
        yield record


@cache
def drawn_calls(service: str) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Return calls of every tool, with arguments drawn from the rows that they are compared with
    or written to.
    """
    system = bare_system()
    spec, found = system.reference.specs[service], []
    for tool, body in sorted(system.environment.blueprints[service].tools.items()):
        rng = random.Random(f"{service}.{tool}")
        schema = spec.tools[tool].input_schema
        homes = dict(_homes(service, to_json(body)))
        for _ in range(NUM_DRAWN):
            found.append((tool, _drawn(schema, homes, rng)))
    return tuple(found)


def _drawn(
    schema: Mapping[str, Any], homes: Mapping[str, list[Any]], rng: random.Random
) -> FrozenDict[str, Any]:
    arguments = {}
    for name, item in (schema.get("properties") or {}).items():
        if name in (schema.get("required") or ()) or rng.random() < 0.4:
            values = item.get("enum") or homes.get(name) or _PLAIN.get(item.get("type"), ["a"])
            arguments[name] = _slipped(rng.choice(values), rng)
    return FrozenDict(arguments)


def _slipped(value: Any, rng: random.Random) -> Any:
    """Return now and then a text of the same form that no row holds, or the first word."""
    way = rng.random() if isinstance(value, str) else 1.0
    return f"{value[:-2]}00" if way < 0.1 else value.split(" ")[0] if way < 0.25 else value


_PLAIN: dict[Any, list[Any]] = {"integer": [1, 2, 5], "number": [1, 10], "boolean": [True, False]}


def _homes(service: str, tool: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the arguments of a tool with the values of the column that each belongs to."""
    system = bare_system()
    entities = system.environment.blueprints[service].entities
    seeds = system.environment.seeds[service].tables
    pairs = []
    for effect in tool["effects"].values():
        pairs += [(value, effect["table"], field) for field, value in effect["fields"].items()]
    query = tool["query"] or {}
    if query:
        pairs.append((query["cursor"], query["table"], entities[query["table"]].key))
        for left, right in _compared(query["where"]):
            pairs.append((right, query["table"], str(left).removeprefix("$item.")))
    for lookup in tool["lookups"].values():
        key = lookup["field"] or entities[lookup["table"]].key
        pairs.append((lookup["equals"], lookup["table"], key))
    for value, table, field in pairs:
        if isinstance(value, str) and value.startswith("$args."):
            column = [row.get(field) for row in seeds.get(table, {}).values()]
            known = sorted({item for item in column if item is not None}, key=str)
            if known:
                yield value.removeprefix("$args."), known


def _compared(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("@eq", "@contains"):
                yield item[0], item[1]
            yield from _compared(item)
    elif isinstance(value, list):
        for item in value:
            yield from _compared(item)


TABLE_ROW = re.compile(r"^\| `(\w+)` \| (.+) \| (.+) \|$", re.MULTILINE)


def assert_is_live(kind: FaultKind) -> None:
    """Fail where none of the first candidates changes an outcome."""
    found = list(first_candidates(kind))
    assert found, kind.key
    assert any(is_live(kind, change) for change in found), kind.key


def assert_fits_its_component(kind: FaultKind) -> None:
    """Fail where a candidate is not made of what its component owns, or does not say where it is,
    or is not the same for the same seed.
    """
    system = clean_for(kind).system
    candidates = list(first_candidates(kind))
    assert candidates == list(first_candidates(kind))
    for change in candidates:
        patch = bind(system, change)
        assert patch.component is kind.component
        assert unreferenced_paths(patch) == ()
        assert body_of(swap(system, patch), change.artifact) != body_of(system, change.artifact)
        touched = [f"{change.artifact}#{pointer}" for _, pointer, _ in change.operations]
        assert any(same_place(change.place, place) for place in touched), change.place


def assert_is_a_list_of_kinds(kinds: Sequence[FaultKind], component: Component) -> None:
    """Fail where kinds are too few, share a name, or do not say in one sentence what they are."""
    names = [kind.name for kind in kinds]
    assert len(names) >= 25
    assert len(set(names)) == len(names)
    for kind in kinds:
        assert kind.component is component
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.name), kind.name
        assert re.fullmatch(r"[A-Z][^.]+\.", kind.statement), kind.statement


def documented(component: Component) -> dict[str, str]:
    """Return the kinds of the component's page, each with what the page says is wrong."""
    page = Path(__file__).parents[3] / "docs" / f"faults_{component.value}.md"
    return {row[1]: row[2] for row in TABLE_ROW.finditer(page.read_text("utf-8"))}
