"""Defects planted in admitted services, to see whether the gates find each of them.

    python -m tests.environment.gates.mutants --builtin
    python -m tests.environment.gates.mutants --labels LABELS.jsonl [--every 4] [--show 20]

A mutant is one change at one path of a blueprint, as JSON Patch would make it. It counts when it is
live: some well-meant call, or the same call made again, comes out otherwise than before.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.environment.catalog_loader import builtin_services, load_service
from components.environment.gates.probe import GATE_NOW, Prober, offered
from components.environment.gates.run import admit_service
from components.environment.gates.self_tests import run_self_tests
from components.environment.world import build_service_world
from components.errors import SynthesisError
from components.records.base import to_json
from components.records.blueprint import Blueprint, SeedData
from components.records.frozen import FrozenDict, canonical_json, thaw
from components.records.spec import ServiceSpec

_READS = ("get", "list", "search")
_CHANGES = ("update", "transition", "append", "link")
Body = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One planted defect."""

    kind: str
    tool: str
    path: str
    """Place in the tool's blueprint, parts separated by `/`."""
    value: Any = None
    is_removed: bool = False
    """The place is taken out instead."""


@dataclass(slots=True)
class Count:
    """How many mutants of one kind were live and how many were caught."""

    num_live: int = 0
    num_caught: int = 0
    missed: list[str] = field(default_factory=list)


def planted(blueprint: Blueprint, mutant: Mutant) -> Blueprint:
    """Return the blueprint with a defect in it."""
    body = thaw(to_json(blueprint))
    *way, last = mutant.path.split("/")
    place = body["tools"][mutant.tool]
    for part in way:
        place = place[part]
    if mutant.is_removed:
        del place[last]
    else:
        place[last] = mutant.value
    return Blueprint.model_validate(body)


def mutants_of(blueprint: Blueprint, seed: SeedData, name: str) -> Iterator[Mutant]:
    """Yield every defect that can be planted in one tool."""
    tool = thaw(to_json(blueprint))["tools"][name]
    rows = seed.tables.get(tool["entity"] or "", FrozenDict())
    yield from _in_effects(blueprint, name, tool, rows)
    yield from _in_checks(name, tool)
    yield from _in_lookups(name, tool)
    if tool["query"] is not None:
        yield from _in_query(blueprint, name, tool, rows)
    yield from _in_answer(blueprint, name, tool, rows)
    if tool["operation"] in _READS and rows:
        yield _leak(blueprint, name, tool)


def _in_effects(
    blueprint: Blueprint, name: str, tool: Body, rows: Mapping[str, Any]
) -> Iterator[Mutant]:
    for label, effect in sorted(tool["effects"].items()):
        place = f"effects/{label}"
        yield Mutant(kind="silent no-op", tool=name, path=f"{place}/when", value=False)
        entity = blueprint.entities[effect["table"]]
        given = [f for f, v in sorted(effect["fields"].items()) if "$args" in repr(v)]
        texts = [f for f in given if entity.fields[f].type.value == "string" and f != entity.key]
        for one in given:
            if one == entity.key:
                continue
            path = f"{place}/fields/{one}"
            yield Mutant(kind="lost value", tool=name, path=path, is_removed=True)
            others = [f for f in texts if f != one]
            if one in texts and others:
                value = effect["fields"][others[0]]
                yield Mutant(kind="wrong value written", tool=name, path=path, value=value)
        free = [
            f
            for f, body in sorted(entity.fields.items())
            if f not in effect["fields"]
            and f != entity.key
            and body.type.value == "string"
            and body.enum is None
            and not body.link
        ]
        if texts and free and effect["action"] == "update":
            fields = {**effect["fields"], free[0]: effect["fields"][texts[0]]}
            del fields[texts[0]]
            path = f"{place}/fields"
            yield Mutant(kind="wrong field written", tool=name, path=path, value=fields)
            yield Mutant(
                kind="another field written", tool=name, path=f"{path}/{free[0]}", value="x"
            )
        if effect["action"] == "update" and effect["target"] and len(rows) > 1:
            broad = {**effect, "target": None, "where": True}
            yield Mutant(kind="too many rows changed", tool=name, path=place, value=broad)
        if effect["action"] == "delete":
            is_child = effect["table"] != tool["entity"]
            if is_child:
                yield Mutant(kind="children left", tool=name, path=place, is_removed=True)
            elif effect["target"]:
                broad = {**effect, "target": None, "where": True}
                yield Mutant(kind="too many rows deleted", tool=name, path=place, value=broad)


def _in_checks(name: str, tool: Body) -> Iterator[Mutant]:
    for label, check in sorted(tool["checks"].items()):
        kind = "duplicate accepted" if label == "is_new" else "lost check"
        yield Mutant(kind=kind, tool=name, path=f"checks/{label}", is_removed=True)
        turned = {"@not": check["holds"]}
        yield Mutant(kind="check turned", tool=name, path=f"checks/{label}/holds", value=turned)


def _in_lookups(name: str, tool: Body) -> Iterator[Mutant]:
    for label, lookup in sorted(tool["lookups"].items()):
        if not lookup["optional"]:
            path = f"lookups/{label}/optional"
            yield Mutant(kind="not found answered", tool=name, path=path, value=True)
        first = {**lookup, "equals": None, "where": {"the_first": True}}
        yield Mutant(kind="wrong row picked", tool=name, path=f"lookups/{label}", value=first)


def _in_query(
    blueprint: Blueprint, name: str, tool: Body, rows: Mapping[str, Any]
) -> Iterator[Mutant]:
    query = tool["query"]
    for label, condition in sorted(query["where"].items()):
        path = f"query/where/{label}"
        yield Mutant(kind="filter ignored", tool=name, path=path, is_removed=True)
        turned = {"@if": [{"@is_null": condition}, None, {"@not": condition}]}
        yield Mutant(kind="filter turned", tool=name, path=path, value=turned)
    if query["limit"] is not None:
        yield Mutant(kind="limit ignored", tool=name, path="query/limit", value=None)
        more = {"@if": [{"@is_null": query["limit"]}, None, {"@add": [query["limit"], 1]}]}
        yield Mutant(kind="limit off by one", tool=name, path="query/limit", value=more)
    if query["offset"] is not None:
        more = {"@if": [{"@is_null": query["offset"]}, None, {"@add": [query["offset"], 1]}]}
        yield Mutant(kind="page off by one", tool=name, path="query/offset", value=more)
    if query["cursor"] is not None:
        yield Mutant(kind="cursor ignored", tool=name, path="query/cursor", value=None)
    if blueprint.inferred or query["sort_by"] is not None:  # else no order was ever promised
        is_falling = not query["descending"]
        yield Mutant(kind="order turned", tool=name, path="query/descending", value=is_falling)
    if query["sort_with"] is not None:
        yield Mutant(kind="sorting ignored", tool=name, path="query/sort_with", value=None)
    if query["descending_with"] is not None:
        way = query["descending_with"]
        other = {"@if": [{"@is_null": way}, None, {"@not": way}]}
        yield Mutant(kind="order turned", tool=name, path="query/descending_with", value=other)
    if len(rows) > 1:
        key = blueprint.entities[query["table"]].key
        table = sorted(rows)[1] if query["table"] == tool["entity"] else None
        if table is not None:
            lost = {"@ne": [f"$item.{key}", {"@lit": table}]}
            yield Mutant(kind="lost item", tool=name, path="query/where/lost", value=lost)


def _in_answer(
    blueprint: Blueprint, name: str, tool: Body, rows: Mapping[str, Any]
) -> Iterator[Mutant]:
    result = tool["result"]
    if not isinstance(result, dict) or tool["entity"] is None:
        return
    entity = blueprint.entities[tool["entity"]]
    drifting = sorted(
        f
        for f, body in entity.fields.items()
        if body.type.value in ("integer", "number", "boolean")
        and any(row.get(f) is not None for row in rows.values())
    )
    shown = {f: f for f in sorted(entity.fields) if f != "row_key"}
    for part, value in sorted(result.items()):
        path = f"result/{part}"
        base = _row_in(value)
        is_rows = base == "$rows"
        if value == "$total":
            more = {"@add": ["$total", 1]}
            yield Mutant(kind="wrong total", tool=name, path=path, value=more)
        if is_rows and drifting:
            body: Body = {f: f"$element.{f}" for f in shown}
            body[drifting[0]] = {"@concat": [f"$element.{drifting[0]}"]}
            yield Mutant(kind="type drift", tool=name, path=path, value={"@each": ["$rows", body]})
        elif base is not None and not is_rows:
            label = base[1:]
            if drifting and base != "$rows":
                body = {f: f"{base}.{f}" for f in shown}
                body[drifting[0]] = {"@concat": [f"{base}.{drifting[0]}"]}
                if not (tool["effects"].get(label) or {}).get("each"):
                    yield Mutant(kind="type drift", tool=name, path=path, value=body)
            target = (tool["effects"].get(label) or {}).get("target")
            if target and tool["effects"][label]["action"] == "update":
                old = _with_row(value, f"${target}")
                yield Mutant(kind="stale answer", tool=name, path=path, value=old)
            if len(rows) > 1 and tool["operation"] in ("get", "create", *_CHANGES):
                other = {"@row": {"table": tool["entity"], "equals": {"@lit": sorted(rows)[-1]}}}
                if isinstance(value, str):
                    yield Mutant(kind="wrong row shown", tool=name, path=path, value=other)


def _row_in(value: Any) -> str | None:
    """Return the row or rows that a part of an answer shows, or None."""
    if isinstance(value, str) and value.startswith("$") and "." not in value:
        return value if value not in ("$total", "$next_cursor", "$args", "$now") else None
    if isinstance(value, dict) and set(value) == {"@pick"}:
        return _row_in(value["@pick"][0])
    if isinstance(value, dict) and set(value) == {"@each"}:
        return _row_in(value["@each"][0])
    return None


def _with_row(value: Any, row: str) -> Any:
    if isinstance(value, str):
        return row
    return {"@pick": [row, value["@pick"][1]]}


def _leak(blueprint: Blueprint, name: str, tool: Body) -> Mutant:
    entity = blueprint.entities[tool["entity"]]
    texts = [
        f for f, b in sorted(entity.fields.items()) if b.type.value == "string" and b.enum is None
    ]
    texts = [f for f in texts if f != entity.key and not entity.fields[f].link]
    fields = {texts[0]: "seen"} if texts else {}
    effect = {"action": "update", "table": tool["entity"], "where": True, "fields": fields}
    effects = {**tool["effects"], "leak": effect}
    return Mutant(kind="a read writes", tool=name, path="effects", value=effects)


def _trace(spec: ServiceSpec, blueprint: Blueprint, seed: SeedData, calls: Any, tool: str) -> Any:
    world = build_service_world(spec, blueprint, seed, GATE_NOW)
    prober = Prober(spec=spec, world=world, tools=offered(spec, world))
    found = []
    for arguments in calls:
        first = prober.call(tool, arguments)
        again = prober.call(tool, arguments, first.state) if first.changes else first
        for seen in (first, again):
            changes = [(c.table, c.row_id, c.before, c.after) for c in seen.changes]
            answer = seen.data if seen.is_ok else seen.code
            found.append(canonical_json([seen.is_ok, answer, sorted(changes, key=repr)]))
    return found


def measure(
    services: Iterable[tuple[ServiceSpec, Blueprint, SeedData]], *, every: int = 1
) -> dict[str, Count]:
    """Plant every defect in the admitted tools of services, one at a time, and count.

    Args:
        every: take every so many mutants (1: all).
    """
    counts: dict[str, Count] = defaultdict(Count)
    place = 0
    for spec, blueprint, seed in services:
        admission = admit_service(spec, blueprint, seed)
        sound = admission.blueprint
        if any(not failure.tool for failure in admission.failures) or not sound.tools:
            continue
        world = build_service_world(spec, sound, seed, GATE_NOW)
        prober = Prober(spec=spec, world=world, tools=offered(spec, world))
        variants = run_self_tests(prober, sound)
        for name, tool in sorted(sound.tools.items()):
            if tool.simulated:
                continue
            for mutant in mutants_of(sound, seed, name):
                place += 1
                if place % every == 0:
                    _count(counts[mutant.kind], (spec, sound, seed), mutant, variants[name])
    return counts


def _count(
    count: Count,
    service: tuple[ServiceSpec, Blueprint, SeedData],
    mutant: Mutant,
    calls: list[Any],
) -> None:
    spec, sound, seed = service
    name = mutant.tool
    try:
        other = planted(sound, mutant)
        before = _trace(spec, sound, seed, calls, name)
        after = _trace(spec, other, seed, calls, name)
    except (SynthesisError, KeyError):
        return
    if before == after:
        return
    count.num_live += 1
    if any(failure.tool == name for failure in admit_service(spec, other, seed).failures):
        count.num_caught += 1
    else:
        count.missed.append(f"{spec.service}.{name} {mutant.path} {mutant.value!r}"[:220])


def total(counts: Mapping[str, Count]) -> tuple[int, int]:
    """Return (caught, live) over all kinds."""
    return (
        sum(count.num_caught for count in counts.values()),
        sum(count.num_live for count in counts.values()),
    )


def builtin() -> Iterator[tuple[ServiceSpec, Blueprint, SeedData]]:
    """Yield the services of the catalog."""
    for name in builtin_services():
        loaded = load_service(name)
        yield loaded.spec, loaded.blueprint, loaded.seed


def main() -> None:
    """Print the counts by kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builtin", action="store_true")
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--readings", choices=("labels", "read"), default="read")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--show", type=int, default=0)
    given = parser.parse_args()
    if given.builtin:
        services: Iterable[Any] = builtin()
    else:
        from components.environment.compiler.compile import compile_spec
        from tests.environment.gates.sabotage import labelled_subjects

        def compiled() -> Iterator[Any]:
            for subject in labelled_subjects(given.labels, is_read=given.readings == "read"):
                blueprint, seed, _ = compile_spec(subject.spec, subject.readings)
                yield subject.spec, blueprint, seed

        services = compiled()
    counts = measure(services, every=given.every)
    missed: Counter[str] = Counter()
    for kind, count in sorted(counts.items()):
        print(f"{kind}: {count.num_caught} of {count.num_live}")
        missed[kind] = len(count.missed)
        for text in count.missed[: given.show]:
            print("   ", text)
    caught, live = total(counts)
    print(f"all: {caught} of {live} ({caught / max(live, 1):.1%}), {len(counts)} kinds")


if __name__ == "__main__":
    main()
