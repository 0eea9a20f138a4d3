"""Sabotage: readings that are scrambled on purpose, to see what the gates make of them.

    python -m tests.environment.gates.sabotage --labels LABELS.jsonl [--every 6] [--readings read]
    python -m tests.environment.gates.sabotage --specs SPECS.jsonl.gz

In every sixth server each reading of a record store is changed in one respect: its operation, its
identifiers, or its record. A scramble counts as live when the tool that comes of it behaves
otherwise than the sound one on some well-meant call; one that changes nothing proves nothing, and
neither does one whose sound form is rejected already.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.environment.compiler.compile import compile_spec
from components.environment.gates.probe import GATE_NOW, Prober, offered
from components.environment.gates.run import admit_service
from components.environment.gates.self_tests import run_self_tests
from components.environment.reading.records import Role, ToolReading
from components.environment.sources.listing import spec_from_listing
from components.environment.sources.names import service_name
from components.environment.world import build_service_world
from components.errors import SynthesisError
from components.records.blueprint import (
    Blueprint,
    FunctionalClass,
    Operation,
    SeedData,
    ToolBlueprint,
)
from components.records.frozen import FrozenDict, JsonObject, canonical_json
from components.records.spec import ServiceSpec, ToolSpec
from tests.environment.gates.labelled import label_readings

KINDS = ("operation", "identifiers", "entity")
_OTHERS: Mapping[str, tuple[str, ...]] = {
    "get": ("list", "update", "transition", "create"),
    "list": ("get", "create", "update"),
    "search": ("get", "create", "update"),
    "create": ("update", "list", "transition", "delete"),
    "update": ("create", "get", "delete", "transition"),
    "delete": ("update", "transition", "get", "create"),
    "transition": ("delete", "create", "get", "update"),
    "append": ("update", "delete", "get", "list"),
    "detach": ("create", "get", "transition", "append"),
    "link": ("create", "delete", "get", "append"),
}
_READS = ("get", "list", "search")
_NAMING = (Role.IDENTIFIER, Role.PARENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A server with readings that are taken for right."""

    spec: ServiceSpec
    readings: Mapping[str, ToolReading]
    judged: frozenset[str]
    """Tools whose reading is known to be right."""


@dataclass(slots=True)
class Tally:
    """Counts of one kind of sabotage."""

    num_live: int = 0
    num_caught: int = 0
    num_broken: int = 0
    """Servers that did not compile."""
    missed: list[tuple[str, str, str]] = field(default_factory=list)
    by_gate: Counter[str] = field(default_factory=Counter)


def is_store(reading: ToolReading) -> bool:
    """True for readings of tools that keep records."""
    return reading.deterministic and reading.operation.value in _OTHERS


def scrambled(
    readings: Mapping[str, ToolReading], kind: str, rng: random.Random
) -> dict[str, ToolReading]:
    """Return readings of which every one of a record store is changed in one respect."""
    nouns = sorted({r.entity for r in readings.values() if is_store(r) and r.entity})
    found = dict(readings)
    for name, reading in sorted(readings.items()):
        if is_store(reading):
            found[name] = _scrambled_one(reading, kind, nouns, rng)
    return found


def _scrambled_one(
    reading: ToolReading, kind: str, nouns: list[str], rng: random.Random
) -> ToolReading:
    if kind == "operation":
        other = rng.choice(_OTHERS[reading.operation.value])
        functional = FunctionalClass.READ if other in _READS else FunctionalClass.WRITE
        return reading.model_copy(update={"operation": Operation(other), "functional": functional})
    if kind == "entity":
        others = [noun for noun in nouns if noun != reading.entity]
        return reading.model_copy(update={"entity": rng.choice(others)}) if others else reading
    named = [name for name, role in sorted(reading.roles.items()) if role in _NAMING]
    if not named:
        return reading
    roles = {**reading.roles, **dict.fromkeys(named, Role.VALUE)}
    others = [name for name, role in sorted(roles.items()) if name not in named]
    if others and rng.random() < 0.5:
        roles[rng.choice(others)] = Role.IDENTIFIER
    return reading.model_copy(update={"roles": FrozenDict(roles)})


def behaviour(spec: ServiceSpec, blueprint: Blueprint, seed: SeedData) -> dict[str, Any]:
    """Return a prober and the variants of each tool of a compiled service."""
    world = build_service_world(spec, blueprint, seed, GATE_NOW)
    prober = Prober(spec=spec, world=world, tools=offered(spec, world))
    return {"prober": prober, "variants": run_self_tests(prober, blueprint)}


def is_live(name: str, sound: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True when the tool is built otherwise and some well-meant call comes out otherwise."""
    built = [part["prober"].world.services for part in (sound, other)]
    first, second = (next(iter(services.values())).tools[name].blueprint for services in built)
    if _structure(first) == _structure(second):
        return False
    calls = [*sound["variants"].get(name, ())[:8], *other["variants"].get(name, ())[:8]]
    return any(_trace(sound["prober"], name, c) != _trace(other["prober"], name, c) for c in calls)


def _structure(tool: ToolBlueprint) -> Any:
    """What a tool does with which arguments, whatever the columns are called."""
    return (
        sorted((item.table, _arguments(item.model_dump())) for item in tool.lookups.values()),
        sorted(
            (item.action, item.table, _arguments(item.model_dump()))
            for item in tool.effects.values()
        ),
        None if tool.query is None else (tool.query.table, _arguments(tool.query.model_dump())),
        sorted(tool.result) if isinstance(tool.result, Mapping) else [],
    )


def _arguments(expression: Any) -> tuple[str, ...]:
    return tuple(sorted(set(re.findall(r"\$args\.[\w.]+", repr(expression)))))


def _trace(prober: Prober, name: str, arguments: Mapping[str, Any]) -> Any:
    """What a call came to: its changes field by field, or its answer's values."""
    seen = prober.call(name, arguments)
    if not seen.is_ok:
        return "refused"
    if not seen.changes:
        return canonical_json(seen.data)
    changes = []
    for change in seen.changes:
        before: JsonObject = change.before or FrozenDict()
        after: JsonObject = change.after or FrozenDict()
        kind = (bool(change.before), bool(change.after), change.table)
        new = {key: item for key, item in after.items() if item != before.get(key)}
        changes.append((kind, sorted(new) if change.before else []))
    return sorted(map(repr, changes))


def measure(
    subjects: Iterable[Subject], *, every: int = 6, seed: int = 0, kinds: Iterable[str] = KINDS
) -> tuple[dict[str, Tally], Tally]:
    """Compile and gate sound and scrambled readings.

    Returns:
        A tally by kind, and one of the sound tools (`num_live` offered, `num_caught` rejected by
        the documentation gate alone).
    """
    kinds = tuple(kinds)
    tallies = {kind: Tally() for kind in kinds}
    sound = Tally()
    for place, subject in enumerate(subjects):
        try:
            blueprint, rows, _ = compile_spec(subject.spec, subject.readings)
        except SynthesisError:
            sound.num_broken += 1
            continue
        passing = _count_sound(sound, subject, blueprint, rows)
        if (place + seed) % every:
            continue
        try:
            before = behaviour(subject.spec, blueprint, rows)
        except SynthesisError:
            continue
        for kind in kinds:
            rng = random.Random(f"{seed}:{kind}:{subject.spec.service}")
            readings = scrambled(subject.readings, kind, rng)
            _count_scrambled(tallies[kind], subject, readings, before, passing)
    return tallies, sound


def _count_sound(
    tally: Tally, subject: Subject, blueprint: Blueprint, rows: SeedData
) -> frozenset[str]:
    """Count what the documentation gate rejects; return the tools that pass every gate."""
    admission = admit_service(subject.spec, blueprint, rows)
    names = [name for name in blueprint.tools if name in subject.judged]
    tally.num_live += len(names)
    first = {failure.tool: failure for failure in reversed(admission.failures)}
    for name in names:
        gates = {failure.gate for failure in admission.failures if failure.tool == name}
        if gates == {"documentation"}:
            tally.num_caught += 1
            failure = first[name]
            tally.by_gate[failure.rule] += 1
            told = f"{failure.rule}: {failure.expected}; {failure.came}"
            tally.missed.append((subject.spec.service, name, told[:150]))
    return frozenset(names) - {failure.tool for failure in admission.failures}


def _count_scrambled(
    tally: Tally,
    subject: Subject,
    readings: Mapping[str, ToolReading],
    before: Mapping[str, Any],
    passing: frozenset[str],
) -> None:
    changed = {name for name in readings if readings[name] != subject.readings[name]}
    try:
        blueprint, rows, _ = compile_spec(subject.spec, readings)
        after = behaviour(subject.spec, blueprint, rows)
    except SynthesisError:
        return
    known = before["prober"].world.services[subject.spec.service].tools
    live = [
        name
        for name in sorted(changed & set(blueprint.tools) & set(known) & passing)
        if is_live(name, before, after)
    ]
    if not live:
        return
    admission = admit_service(subject.spec, blueprint, rows)
    for name in live:
        tally.num_live += 1
        gates = {failure.gate for failure in admission.failures if failure.tool == name}
        if gates:
            tally.num_caught += 1
            tally.by_gate["documentation" if "documentation" in gates else min(gates)] += 1
        else:
            was, now = subject.readings[name], readings[name]
            told = (
                f"{was.operation.value}->{now.operation.value} {was.entity}->{now.entity} "
                f"{[n for n, r in was.roles.items() if r in _NAMING]}->"
                f"{[n for n, r in now.roles.items() if r in _NAMING]}"
            )
            tally.missed.append((subject.spec.service, name, told))


def labelled_subjects(path: Path, *, is_read: bool = False) -> Iterator[Subject]:
    """Yield the servers of a labels file, read from the labels (or by the compiler's reader)."""
    tools: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        tools[item["server"]].append(item)
    for server, items in sorted(tools.items()):
        listed = [{key: i[key] for key in ("name", "description", "inputSchema")} for i in items]
        spec = spec_from_listing(service_name(server), listed).spec
        labels = {item["name"]: item["label"] for item in items}
        right = label_readings(spec, labels)
        readings = _read(spec) if is_read else right
        judged = [
            name
            for name in spec.tools
            if name in labels and _is_right(readings[name], right[name], spec.tools[name])
        ]
        yield Subject(spec=spec, readings=readings, judged=frozenset(judged))


def _is_right(reading: ToolReading, right: ToolReading, tool: ToolSpec) -> bool:
    """True for the same operation and the same required identifiers."""
    required = frozenset(tool.input_schema.get("required") or ())

    def named(one: ToolReading) -> frozenset[str]:
        return frozenset(name for name, role in one.roles.items() if role in _NAMING) & required

    return reading.operation == right.operation and named(reading) == named(right)


def spec_subjects(path: Path) -> Iterator[Subject]:
    """Yield the servers of a file of specs, one a line, as the compiler reads them."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            item = json.loads(line)
            spec = spec_from_listing(service_name(item["server"]), item["tools"]).spec
            yield Subject(spec=spec, readings=_read(spec), judged=frozenset(spec.tools))


def _read(spec: ServiceSpec) -> Mapping[str, ToolReading]:
    from components.environment.reading.read import read_spec

    return read_spec(spec)


def main() -> None:
    """Print the tallies of one run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--specs", type=Path)
    parser.add_argument("--readings", choices=("labels", "read"), default="labels")
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=0)
    given = parser.parse_args()
    if given.labels is not None:
        subjects = labelled_subjects(given.labels, is_read=given.readings == "read")
    else:
        subjects = spec_subjects(given.specs)
    tallies, sound = measure(subjects, every=given.every, seed=given.seed)
    for kind, tally in {**tallies, "sound": sound}.items():
        share = tally.num_caught / max(tally.num_live, 1)
        if tally.num_broken:
            print(f"{tally.num_broken} servers did not compile")
        print(f"{kind}: {tally.num_caught} of {tally.num_live} ({share:.1%})", dict(tally.by_gate))
        for item in tally.missed[: given.show]:
            print("   ", *item)
    live = sum(tally.num_live for tally in tallies.values())
    caught = sum(tally.num_caught for tally in tallies.values())
    print(f"all: {caught} of {live} ({caught / max(live, 1):.1%})")


if __name__ == "__main__":
    main()
