"""What nobody owns can be wrong too: false references, planted over a system that is clean.

A sentence of a specification that is not true of the service, a reaction that the world contract
does not list or promises otherwise, and a certificate that records an older world. Nothing else is
wrong, so whoever blames a component for a rollout, or calls a success false, believed a reference
that he should have doubted.

The rollouts are those of the clean system: no policy reads what is changed here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from attribution.interventions.gold import replay_gold
from attribution.interventions.promises import check_step, promised_reactions
from attribution.interventions.runs import world_of
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict, thaw
from components.records.spec import ToolSpec
from components.records.system import System
from loop.bench_attribution.false_sentences import FALSE_SENTENCES, Sentence, forbidding
from loop.bench_attribution.older_worlds import OLDER_WORLDS
from loop.bench_attribution.planting import Instance, Rollout
from loop.bench_attribution.playing import only

_TRIED, _MOST_TASKS = 3, 4
"""Places looked for, for each that is wanted, so that services can differ; tasks of an instance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongReference:
    """One reference that is wrong, in a system that is not."""

    kind: str
    """A key of `WRONG_KINDS`."""
    statement: str
    system: System
    """With the tasks that meet it, and no other."""
    rollouts: tuple[Rollout, ...]
    """Of the clean system, on these tasks."""


def wrong_references(
    system: System, clean: Sequence[Instance], per_kind: int, failures: int, seed: int
) -> list[WrongReference]:
    """Return instances of every kind, on different services as far as there are.

    Args:
        system: clean, with certified tasks.
        clean: the clean rollouts, an instance a task.
        per_kind: instances that are wanted of a kind.
        failures: failed rollouts of a task that each is judged on, and half as many successes.
        seed: of the choice of places.
    """
    rollouts = {item.tasks[0]: _chosen(item.rollouts, failures) for item in clean}
    found = []
    for kind, places in WRONG_KINDS.items():
        rng = random.Random(f"{seed}:wrong:{kind}")
        sound = Sound(system=system, rng=rng, rollouts=rollouts)
        candidates = list(islice(places(sound), _TRIED * per_kind))
        for place in _spread(candidates)[:per_kind]:
            names = place.tasks[:_MOST_TASKS]
            changed = only(place.system, names)
            said = tuple(item for name in names for item in rollouts[name])
            found.append(
                WrongReference(kind=kind, statement=place.statement, system=changed, rollouts=said)
            )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """What nothing is wrong with: a system, its rollouts by task, and a seeded choice."""

    system: System
    rng: random.Random
    rollouts: Mapping[str, Sequence[Rollout]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one reference can be made wrong."""

    where: str
    """The service, so that not all are of one."""
    statement: str
    system: System
    tasks: tuple[str, ...]
    """The tasks whose certified run meets it."""


def _chosen(rollouts: Sequence[Rollout], failures: int) -> list[Rollout]:
    failed = [item for item in rollouts if item.scored.passed is False]
    passed = [item for item in rollouts if item.scored.passed]
    return [*failed[:failures], *passed[: (failures + 1) // 2]]


def _spread(places: Sequence[Place]) -> list[Place]:
    """Return the places in an order in which each service comes once before one comes again."""
    rounds: dict[str, int] = {}
    keyed = []
    for number, place in enumerate(places):
        rounds[place.where] = rounds.get(place.where, 0) + 1
        keyed.append((rounds[place.where], number, place))
    return [place for _round, _number, place in sorted(keyed, key=lambda item: item[:2])]


Places = Callable[[Sound], Iterator[Place]]


def _sentences(make: Sentence) -> Places:
    """Make one sentence of a tool's documentation false, or leave it out."""

    def places(sound: Sound) -> Iterator[Place]:
        system = sound.system
        for (service, tool), names in _tools_called(sound):
            spec = system.reference.specs[service]
            for statement, other in make(spec.tools[tool], _calls(system, names, service, tool)):
                tools = FrozenDict({**spec.tools, tool: other})
                specs = {
                    **system.reference.specs,
                    service: spec.model_copy(update={"tools": tools}),
                }
                changed = _with_reference(system, specs=FrozenDict(specs))
                met = tuple(name for name in names if _is_met(changed, name))
                if met:
                    yield Place(
                        where=service,
                        statement=f"{service}.{tool}: {statement}",
                        system=changed,
                        tasks=met,
                    )
                    break

    return places


def _calls(
    system: System, names: Sequence[str], service: str, tool: str
) -> list[Mapping[str, object]]:
    return [
        thaw(call.arguments)
        for name in names
        for call in system.reference.certificates[name].gold_run.values()
        if (call.service, call.tool) == (service, tool)
    ]


def _with_tool(system: System, service: str, tool: ToolSpec) -> System:
    spec = system.reference.specs[service]
    tools = FrozenDict({**spec.tools, tool.name: tool})
    specs = {**system.reference.specs, service: spec.model_copy(update={"tools": tools})}
    return _with_reference(system, specs=FrozenDict(specs))


def _rules_of_slips(sound: Sound) -> Iterator[Place]:
    """A rule that only a call breaks that a policy made by mistake: no certified run speaks of
    it.
    """
    system = sound.system
    certified = {
        (call.tool, key, str(value))
        for certificate in system.reference.certificates.values()
        for call in certificate.gold_run.values()
        for key, value in call.arguments.items()
    }
    names = sorted(sound.rollouts)
    sound.rng.shuffle(names)
    for name in names:
        for call in _calls_made(sound.rollouts[name]):
            for key, value in sorted(call.arguments.items()):
                if not isinstance(value, str) or (call.tool, key, value) in certified:
                    continue
                other = forbidding(
                    system.reference.specs[call.service].tools[call.tool], key, value
                )
                yield Place(
                    where=call.service,
                    statement=f"{call.service}.{call.tool}: a rule forbids {key}={value!r}",
                    system=_with_tool(system, call.service, other),
                    tasks=(name,),
                )


def _calls_made(rollouts: Sequence[Rollout]) -> Iterator[CallRecord]:
    """Yield the calls of failed rollouts that were answered with success."""
    for rollout in rollouts:
        for turn in rollout.trajectory.turns if rollout.scored.passed is False else ():
            for item in turn.observations:
                if item.call is not None and item.call.envelope.get("ok"):
                    yield item.call


def _tools_called(
    sound: Sound,
) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
    calling: dict[tuple[str, str], list[str]] = {}
    for name, certificate in sorted(sound.system.reference.certificates.items()):
        for key in sorted({(call.service, call.tool) for call in certificate.gold_run.values()}):
            calling.setdefault(key, []).append(name)
    keys = sorted(calling)
    sound.rng.shuffle(keys)
    for key in keys:
        yield key, tuple(calling[key])


def _is_met(system: System, name: str) -> bool:
    """Whether a call of the certified run breaks what is written or promised now."""
    world = world_of(system, system.tasks[name].world)
    promised = promised_reactions(world, system.reference.contract)
    replay = replay_gold(world, system.reference.certificates[name])
    return any(check_step(world, promised, step) for step in replay.steps)


def _unwritten_reactions(sound: Sound) -> Iterator[Place]:
    """Leave a reaction that the world has out of the contract."""
    system = sound.system
    for name, tasks in _reactions_met(sound):
        contract = system.reference.contract
        others = {key: item for key, item in contract.reactions.items() if key != name}
        yield Place(
            where=contract.reactions[name].on.service,
            statement=f"the contract does not list the reaction {name}",
            system=_with_reference(
                system, contract=contract.model_copy(update={"reactions": FrozenDict(others)})
            ),
            tasks=tasks,
        )


def _false_promises(sound: Sound) -> Iterator[Place]:
    """Let the contract promise another value of a reaction, or that it never happens."""
    system = sound.system
    for number, (name, tasks) in enumerate(_reactions_met(sound)):
        contract = system.reference.contract
        rule = contract.reactions[name]
        key = min(rule.writes)
        write = rule.writes[key]
        if number % 2 and write.fields:
            fields = FrozenDict({**write.fields, max(write.fields): None})
            writes = {**rule.writes, key: write.model_copy(update={"fields": fields})}
            other = rule.model_copy(update={"writes": FrozenDict(writes)})
        else:
            other = rule.model_copy(update={"on": rule.on.model_copy(update={"when": False})})
        reactions = FrozenDict({**contract.reactions, name: other})
        changed = _with_reference(
            system, contract=contract.model_copy(update={"reactions": reactions})
        )
        met = tuple(task for task in tasks if _is_met(changed, task))
        if met:
            yield Place(
                where=rule.on.service,
                statement=f"the contract promises the reaction {name} otherwise",
                system=changed,
                tasks=met,
            )


def _reactions_met(sound: Sound) -> Iterator[tuple[str, tuple[str, ...]]]:
    meeting: dict[str, set[str]] = {}
    system = sound.system
    for task, certificate in system.reference.certificates.items():
        for call in certificate.gold_run.values():
            for change in call.changes:
                if change.cause.startswith("reaction:"):
                    meeting.setdefault(change.cause.partition(":")[2], set()).add(task)
    names = sorted(set(meeting) & set(system.reference.contract.reactions))
    sound.rng.shuffle(names)
    for name in names:
        yield name, tuple(sorted(meeting[name]))


def _older(kind: str) -> Places:
    """Let certificates record the run of gold in an older world."""

    def places(sound: Sound) -> Iterator[Place]:
        system = sound.system
        for older in OLDER_WORLDS[kind](system, sound.rng):
            certificates = FrozenDict({**system.reference.certificates, **older.certificates})
            yield Place(
                where=older.where,
                statement=f"certificates are older than this: {older.statement}",
                system=_with_reference(system, certificates=certificates),
                tasks=tuple(sorted(older.certificates)),
            )

    return places


def _with_reference(system: System, **update: object) -> System:
    return system.model_copy(update={"reference": system.reference.model_copy(update=update)})


WRONG_KINDS: dict[str, Places] = {
    **{name: _sentences(make) for name, make in FALSE_SENTENCES.items()},
    "rule_of_a_slip": _rules_of_slips,
    "unwritten_reaction": _unwritten_reactions,
    "false_promise": _false_promises,
    **{name: _older(name) for name in OLDER_WORLDS},
}
"""Kind of wrong reference -> its places in a clean system."""
