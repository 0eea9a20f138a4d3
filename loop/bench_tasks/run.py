"""What a set of tasks is worth, from end to end: compose or read it, measure, plant, count.

python -m loop bench tasks                  # a set of its own
python -m loop bench tasks tasks=FOLDER     # one that compose wrote
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.errors import ConfigError
from components.records.base import to_json
from components.records.system import System
from components.task.config import TaskConfig
from loop.bench_attribution.ground import services_alone
from loop.bench_tasks.measuring import MEASURE, Ground, Measured, Named
from loop.bench_tasks.planting import CERTIFY_FAULTY, Certified, Wanted, kinds_of_tasks
from loop.composing import Composed, compose_for_now, first_seed
from loop.compute.pool import Pool, open_pool
from loop.console import Console
from loop.tasks.folder import read_set
from loop.verb_configs import BenchConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured."""

    tasks: int
    """Tasks that are composed where no set is named."""
    places: int
    """Tasks that each kind of fault is planted in."""


SIZES = {
    "smoke": Size(tasks=10, places=1),
    "small": Size(tasks=100, places=4),
    "full": Size(tasks=1000, places=20),
}
K, WALK_LENGTH, DISTRACTORS = 5, 9, 5
"""Shape of the tasks that are composed."""


def run_bench_tasks(config: BenchConfig) -> dict[str, Any]:
    """Return the figures.

    Raises:
        ConfigError: the folder holds no complete set, or too few drafts became tasks.
    """
    size, console, started = SIZES[config.scale], Console(), time.perf_counter()
    given = None if config.tasks is None else read_set(Path(config.tasks))
    if given is not None and not given.tasks:
        raise ConfigError(f"tasks: {config.tasks} has no task; compose a set with task.count=10")
    with open_pool(config.compute, console.line) as pool:
        composed = None if given is not None else _composed(size.tasks, config.seed, pool, console)
        system = composed.system if composed is not None else given
        assert system is not None
        measured = _measured(system, pool, console)
        certified = _planted(system, size.places, config.seed, pool, console)
    console.close()
    return {
        "schema_version": 1,
        "tasks": len(system.tasks),
        "composed": None if composed is None else _making(composed),
        **count_tasks(measured),
        "faults": count_faults(certified),
        "seconds": round(time.perf_counter() - started, 1),
    }


def _composed(num_tasks: int, seed: int, pool: Pool, console: Console) -> Composed:
    settings = TaskConfig(
        count=num_tasks,
        k=K,
        walk_length=WALK_LENGTH,
        distractors=DISTRACTORS,
        domains=(),
        max_drafts_per_task=20,
    )
    return compose_for_now(services_alone(), settings, num_tasks, first_seed(seed), pool, console)


def _making(composed: Composed) -> dict[str, Any]:
    return {
        "k": K,
        "walk_length": WALK_LENGTH,
        "distractors": DISTRACTORS,
        "drafts": composed.drafted,
        "rejected": composed.rejected,
    }


def _measured(system: System, pool: Pool, console: Console) -> list[Measured]:
    units = ((name, Named(task_id=name)) for name in sorted(system.tasks))
    found: list[Measured] = []
    with closing(pool.map(MEASURE, Ground(system=system), units)) as results:
        for _name, body in results:
            found.append(Measured.model_validate(body))
            console.progress("tasks measured", len(found), len(system.tasks))
    return found


def _planted(
    system: System, places: int, seed: int, pool: Pool, console: Console
) -> list[Certified]:
    kinds = kinds_of_tasks()
    units = ((kind, Wanted(kind=kind, places=places, seed=seed)) for kind in kinds)
    found: list[Certified] = []
    with closing(pool.map(CERTIFY_FAULTY, Ground(system=system), units)) as results:
        for _kind, body in results:
            found.append(Certified.model_validate(body))
            console.progress("kinds of fault planted", len(found), len(kinds))
    return found


def share(hits: int, total: int) -> dict[str, Any]:
    """Return hits, total and their share; null where there is nothing to count."""
    return {"hits": hits, "total": total, "share": round(hits / total, 4) if total else None}


def count_tasks(measured: Sequence[Measured]) -> dict[str, Any]:
    """Return the counts over all tasks."""
    mutants, alternatives = Counter[str](), Counter[str]()
    for item in measured:
        mutants.update(item.mutants)
        alternatives.update(item.alternatives)
    survivors = [line for item in measured for line in item.survivors]
    refused = [line for item in measured for line in item.refused]
    lived = Counter(line.kind for line in survivors)
    num_mutants, num_alternatives = sum(mutants.values()), sum(alternatives.values())
    num_agents = sum(item.random_agents for item in measured)
    return {
        "certificates_hold": share(sum(not item.lapsed for item in measured), len(measured)),
        "lapsed": {item.task_id: item.lapsed for item in measured if item.lapsed},
        "doing_nothing_passes": share(
            sum(item.does_nothing_pass for item in measured), len(measured)
        ),
        "random_agents_pass": share(sum(item.random_passes for item in measured), num_agents),
        "random_calls": sum(item.random_calls for item in measured),
        "tasks_with_alternative": share(
            sum(bool(item.alternatives) for item in measured), len(measured)
        ),
        "alternatives_pass": share(num_alternatives - len(refused), num_alternatives),
        "alternatives_by_kind": dict(sorted(alternatives.items())),
        "alternatives_refused": [to_json(line) for line in refused],
        "mutants_killed": share(num_mutants - len(survivors), num_mutants),
        "mutants_by_kind": {
            kind: share(total - lived[kind], total) for kind, total in sorted(mutants.items())
        },
        "survivors": [to_json(line) for line in survivors],
        "hedged_texts_pass": share(
            sum(item.hedges_passed for item in measured), sum(item.hedges for item in measured)
        ),
        "pairs": count_pairs(measured),
    }


def count_pairs(measured: Sequence[Measured]) -> dict[str, Any]:
    """Return how many pairs there are, and how many pass as a pair whoever does not look at what a
    rule looks at: both halves of it.
    """
    halves: dict[str, list[Measured]] = {}
    for item in measured:
        if item.pair:
            halves.setdefault(item.pair, []).append(item)
    names = sorted({name for item in measured for name in item.ways})
    return {
        "pairs": len(halves),
        "pass_both": {
            name: share(
                sum(all(half.ways.get(name) for half in pair) for pair in halves.values()),
                len(halves),
            )
            for name in names
        },
    }


def count_faults(certified: Sequence[Certified]) -> dict[str, Any]:
    """Return what the gates made of faulty tasks; harmless ones are counted apart."""
    by_kind: dict[str, Any] = {}
    reasons: Counter[str] = Counter()
    refused = live = harmless = 0
    for item in certified:
        num_refused = sum(item.refused.values()) - item.refused_harmless
        passed = [one for one in item.admitted if not one.is_harmless]
        num_harmless = item.refused_harmless + len(item.admitted) - len(passed)
        reasons.update(item.refused)
        refused, live = refused + num_refused, live + num_refused + len(passed)
        harmless += num_harmless
        by_kind[item.kind] = {
            **share(num_refused, num_refused + len(passed)),
            "harmless": num_harmless,
            "reasons": dict(item.refused),
        }
    return {
        "refused": share(refused, live),
        "harmless": harmless,
        "kinds": len(certified),
        "kinds_without_place": sorted(
            kind for kind, row in by_kind.items() if not row["total"] + row["harmless"]
        ),
        "reasons": dict(reasons.most_common()),
        "by_kind": by_kind,
        "admitted": [
            {"kind": item.kind, **to_json(one)} for item in certified for one in item.admitted
        ],
    }
