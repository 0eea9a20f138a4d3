"""The benchmark from end to end: plant, judge, hold the one against the other.

Two jobs, in workers of their own: `plant` knows the clean system and labels rollouts; `judge` is
given faulty systems and rollouts alone.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from attribution.config import BuiltinFaults
from attribution.faults.catalog import all_kinds
from attribution.faults.kinds import When, held_out, plant
from attribution.meter import added
from attribution.records import Party
from components.records.base import to_json
from components.records.system import System
from loop.bench_attribution.baselines import Baselines
from loop.bench_attribution.before import (
    PLANT_BEFORE,
    Bare,
    FoundBefore,
    Inherited,
    WantedBefore,
    kinds_before,
)
from loop.bench_attribution.faults_file import read_faults
from loop.bench_attribution.ground import services_alone, weakened, with_composed
from loop.bench_attribution.judging import JUDGE, Case, Judged, Rules
from loop.bench_attribution.planting import (
    PLANT,
    Ground,
    Instance,
    Planted,
    Rollout,
    Wanted,
    labelled,
    planted,
)
from loop.bench_attribution.playing import only, play_group
from loop.bench_attribution.restoring import restored
from loop.bench_attribution.scoring import Tally, blamed_on_clean, both_named, count_before
from loop.bench_attribution.wrong_figures import count_wrong
from loop.bench_attribution.wrong_references import WrongReference, wrong_references
from loop.compute.pool import Pool, open_pool
from loop.console import Console
from loop.verb_configs import BenchConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured."""

    tasks: int
    per_kind: int
    group_size: int
    clean_group: int
    doubles: int
    live: int
    """Rollouts that are wanted of a kind, decided by its faults."""
    wrong: int
    """Instances of each kind of wrong reference."""
    every: int = 1
    """One in so many kinds is planted."""


SIZES = {
    "smoke": Size(
        tasks=6, per_kind=1, group_size=2, clean_group=2, doubles=1, live=1, wrong=1, every=25
    ),
    "small": Size(tasks=36, per_kind=2, group_size=4, clean_group=24, doubles=30, live=6, wrong=6),
    "full": Size(tasks=48, per_kind=3, group_size=5, clean_group=30, doubles=50, live=10, wrong=8),
}
_PATCHES_PER_MODE = 3
_FAILURES_PER_TASK = 3
"""Failed clean rollouts of a task that a wrong reference is judged on."""


def run_bench_attribution(config: BenchConfig) -> dict[str, Any]:
    """Return the figures, and print them as they come.

    Raises:
        ConfigError: a fault's file cannot be read, or names what is not there.
    """
    size, console = SIZES[config.scale], Console()
    started = time.perf_counter()
    with open_pool(config.compute, console.line) as pool:
        bare = services_alone()
        system = with_composed(bare, size.tasks, config.seed, pool, console)
        ground = Ground(
            system=system,
            group_size=size.group_size,
            per_kind=size.per_kind,
            live=size.live,
            seed=config.seed,
        )
        found = _planted(config, ground, size, pool, console)
        instances = [item for one in found for item in one.instances]
        doubles = _doubles(ground, instances, size.doubles)
        clean = _clean(system, size.clean_group, config.seed)
        everything = [*instances, *doubles, *clean]
        before = _before(config, bare, size, pool, console)
        inherited = [one for item in before for one in item.instances if one.system is not None]
        wrong = _wrong(config, system, clean, size)
        planted_seconds = time.perf_counter() - started
        cases = [
            *_cases(system, everything),
            *_inherited_cases(inherited),
            *(_case(item.system, item.rollouts) for item in wrong),
        ]
        judged = _judged(config, cases, pool, console)
    console.close()
    figures = _figures(system, found, everything, judged[: len(everything)])
    rest = judged[len(everything) :]
    figures["before_composition"] = count_before(before, rest)
    figures["wrong_references"] = count_wrong(wrong, rest[len(inherited) :])
    figures["cost"] = {
        name: to_json(item) for name, item in added(one.cost for one in judged).items()
    }
    figures["seconds"] = {
        "composed_and_planted": round(planted_seconds, 1),
        "verdicts": round(sum(item.seconds for item in judged), 1),
        "all": round(time.perf_counter() - started, 1),
    }
    return figures


def chosen_kinds(which: str) -> list[str]:
    """Return the keys of the kinds that are planted after composition: `all`, `developed` or
    `held_out`.
    """
    kinds = all_kinds()
    aside = held_out(kinds)
    return [
        kind.key
        for kind in kinds
        if kind.when is When.AFTER
        and (which == "all" or (kind.key in aside) == (which == "held_out"))
    ]


def _planted(
    config: BenchConfig, ground: Ground, size: Size, pool: Pool, console: Console
) -> list[Planted]:
    if isinstance(config.faults, BuiltinFaults):
        wanted = [(key, Wanted(kind=key)) for key in chosen_kinds(config.kinds)[:: size.every]]
    else:
        wanted = [
            (f"{number}:{kind}", Wanted(kind=kind, fault=fault))
            for number, (kind, fault) in enumerate(read_faults(config.faults.path, ground.system))
        ]
    found = []
    with closing(pool.map(PLANT, ground, wanted)) as results:
        for number, (_key, body) in enumerate(results, 1):
            found.append(Planted.model_validate(body))
            console.progress("faults planted", number, len(wanted))
    return found


def _doubles(ground: Ground, instances: Sequence[Instance], most: int) -> list[Instance]:
    """Return instances with two live faults of different components on one task."""
    rng = random.Random(f"{ground.seed}:doubles")
    pairs = [
        (one, other)
        for number, one in enumerate(instances)
        for other in instances[number + 1 :]
        if one.faults[0].component is not other.faults[0].component
        and set(_live_tasks(one)) & set(_live_tasks(other))
    ]
    rng.shuffle(pairs)
    found: list[Instance] = []
    for one, other in pairs:
        if len(found) == most:
            break
        kind = " + ".join(sorted((one.kind, other.kind)))
        made = planted(ground, kind, (*one.faults, *other.faults))
        shared = set(_live_tasks(one)) & set(_live_tasks(other))
        if made is None or not shared & set(made.tasks):
            continue
        names = tuple(sorted(shared & set(made.tasks)))
        rollouts = tuple(item for item in made.rollouts if item.trajectory.task_id in names)
        found.append(made.model_copy(update={"tasks": names, "rollouts": rollouts}))
    return found


def _live_tasks(instance: Instance) -> list[str]:
    owner = Party(instance.faults[0].component.value)
    return [item.trajectory.task_id for item in instance.rollouts if owner in item.parties]


def _clean(system: System, group_size: int, seed: int) -> list[Instance]:
    found = []
    for name in sorted(system.tasks):
        played = play_group(system, name, range(group_size), seed + 1)
        rollouts = labelled(system, system, (), played, seed + 1)
        found.append(Instance(kind="", faults=(), tasks=(name,), rollouts=tuple(rollouts)))
    return found


def _before(
    config: BenchConfig, bare: System, size: Size, pool: Pool, console: Console
) -> list[FoundBefore]:
    if not isinstance(config.faults, BuiltinFaults):
        return []
    aside = held_out(all_kinds())
    kinds = [
        kind.key
        for kind in kinds_before()
        if config.kinds == "all" or (kind.key in aside) == (config.kinds == "held_out")
    ]
    shared = Bare(system=bare, group_size=size.group_size, per_kind=size.per_kind, seed=config.seed)
    wanted = [(key, WantedBefore(kind=key)) for key in kinds[:: size.every]]
    found = []
    with closing(pool.map(PLANT_BEFORE, shared, wanted)) as results:
        for number, (_key, body) in enumerate(results, 1):
            found.append(FoundBefore.model_validate(body))
            console.progress("faults before composition", number, len(wanted))
    return found


def _wrong(
    config: BenchConfig, system: System, clean: Sequence[Instance], size: Size
) -> list[WrongReference]:
    """Return wrong references; none where their sentences or records are withheld anyway."""
    if not isinstance(config.faults, BuiltinFaults) or config.evidence != "full":
        return []
    return wrong_references(system, clean, size.wrong, _FAILURES_PER_TASK, config.seed)


def _judged(
    config: BenchConfig, cases: Sequence[Case], pool: Pool, console: Console
) -> list[Judged]:
    rules = Rules(patches_per_mode=_PATCHES_PER_MODE, repairs=True)
    found: dict[int, Judged] = {}
    weaker = (
        (str(number), case.model_copy(update={"system": weakened(case.system, config.evidence)}))
        for number, case in enumerate(cases)
    )
    with closing(pool.as_done(JUDGE, rules, weaker)) as results:
        for key, body in results:
            found[int(key)] = Judged.model_validate(body)
            console.progress("systems judged", len(found), len(cases))
    return [found[number] for number in range(len(cases))]


def _cases(system: System, instances: Sequence[Instance]) -> Iterator[Case]:
    for item in instances:
        yield _case(only(plant(system, item.faults), item.tasks), item.rollouts)


def _case(system: System, rollouts: Sequence[Rollout]) -> Case:
    return Case(
        system=system,
        trajectories=tuple(one.trajectory for one in rollouts),
        scored=tuple(one.scored for one in rollouts),
    )


def _inherited_cases(found: Sequence[Inherited]) -> Iterator[Case]:
    for item in found:
        if item.system is not None:
            yield Case(system=item.system, trajectories=item.trajectories, scored=item.scored)


def _figures(
    system: System, found: Sequence[Planted], instances: Sequence[Instance], judged: list[Judged]
) -> dict[str, Any]:
    aside = held_out(all_kinds())
    tallies = {"all": Tally(), "developed": Tally(), "held_out": Tally()}
    by_component = {party.value: Tally() for party in Party if party is not Party.POLICY}
    baselines = Baselines()
    doubles, harm = [0, 0], {"accepted": 0, "lower_gold": 0, "raise_nothing": 0}
    harmed: list[str] = []
    clean: list[Any] = []
    clean_attributions: list[Any] = []
    for item, said in zip(instances, judged, strict=True):
        if not item.faults:
            clean += item.rollouts
            clean_attributions += said.attributions
            continue
        outcome = restored(system, item, said)
        harm["accepted"] += outcome.accepted
        harm["lower_gold"] += outcome.lower_gold
        harm["raise_nothing"] += outcome.raise_nothing
        if outcome.lower_gold or outcome.raise_nothing:
            harmed.append(f"{item.kind} at {', '.join(fault.place for fault in item.faults)}")
        if len(item.faults) == 2:
            doubles[0] += both_named(item, said)
            doubles[1] += 1
            continue
        owner = Party(item.faults[0].component.value)
        which = "held_out" if item.kind in aside else "developed"
        for tally in (tallies["all"], tallies[which], by_component[owner.value]):
            tally.add(item, said, outcome)
        baselines.add(item.rollouts, owner)
    whole = tallies["all"].as_json()
    false_blame = blamed_on_clean(clean, clean_attributions)
    return {
        **whole,
        "false_blame": false_blame,
        "heldout_component_accuracy": tallies["held_out"].component.as_json(),
        "developed_component_accuracy": tallies["developed"].component.as_json(),
        "by_component": {
            name: {key: value for key, value in tally.as_json().items() if key != "by_kind"}
            for name, tally in by_component.items()
        },
        "double_faults_both_named": {"hits": doubles[0], "total": doubles[1]},
        "baselines": baselines.as_json(),
        "patches": {**harm, "harmed": harmed},
        "kinds": {
            one.kind: {"live": len(one.instances), "inert": one.inert}
            for one in sorted(found, key=lambda one: one.kind)
        },
    }
