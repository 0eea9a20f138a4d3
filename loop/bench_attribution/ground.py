"""The clean system of the benchmark: built-in services and tasks composed on them."""

from __future__ import annotations

from collections.abc import Mapping

from components.environment.catalog_loader import (
    builtin_services,
    load_contract,
    load_reactions,
    load_service,
)
from components.harness.defaults import default_harness
from components.records.frozen import FrozenDict
from components.records.system import Environment, Reference, System
from components.records.world import WorldContract
from components.task.config import TaskConfig
from loop.composing import compose_for_now, first_seed
from loop.compute.pool import Pool
from loop.console import Console
from loop.seed_round import TURNS_PER_STEP

SHAPES = ((2, 3, 0), (2, 4, 1), (3, 6, 2))
"""Services, calls and distractors of the tasks: a third each."""


def services_alone() -> System:
    """Return the built-in services with the seed harness and no task."""
    services = {name: load_service(name) for name in builtin_services()}
    harness = default_harness()
    most = TURNS_PER_STEP * (max(length for _k, length, _distractors in SHAPES) + 1)
    return System(
        environment=Environment(
            blueprints=FrozenDict({name: item.blueprint for name, item in services.items()}),
            seeds=FrozenDict({name: item.seed for name, item in services.items()}),
            reactions=load_reactions(),
        ),
        harness=harness.model_copy(
            update={"limits": harness.limits.model_copy(update={"max_turns": most})}
        ),
        reference=Reference(
            specs=FrozenDict({name: item.spec for name, item in services.items()}),
            contract=load_contract(),
        ),
    )


def with_composed(
    system: System, num_tasks: int, seed: int, pool: Pool, console: Console
) -> System:
    """Return the system with tasks of every shape.

    Raises:
        ConfigError: too few drafts became tasks.
    """
    for number, (k, length, distractors) in enumerate(SHAPES):
        wanted = num_tasks // len(SHAPES)
        settings = TaskConfig(
            count=None,
            k=k,
            walk_length=length,
            distractors=distractors,
            domains=(),
            max_drafts_per_task=20,
        )
        base = first_seed(seed) + 1_000_000 * number
        system = compose_for_now(system, settings, wanted, base, pool, console).system
    return system


def weakened(system: System, evidence: str) -> System:
    """Return the system with less to hold against it.

    Args:
        system: a system, faulty or clean.
        evidence: `full`; `schemas`: specs write nothing but schemas, and the world promises
            nothing; `uncertified`: certificates hold no recorded run and no rows.
    """
    reference = system.reference
    if evidence == "schemas":
        specs = {
            name: spec.model_copy(
                update={
                    "tools": FrozenDict(
                        {key: tool.model_copy(update=_SILENT) for key, tool in spec.tools.items()}
                    )
                }
            )
            for name, spec in reference.specs.items()
        }
        reference = reference.model_copy(
            update={"specs": FrozenDict(specs), "contract": WorldContract()}
        )
    if evidence == "uncertified":
        certificates = {
            name: item.model_copy(update={"gold_run": FrozenDict(), "seed_rows": FrozenDict()})
            for name, item in reference.certificates.items()
        }
        reference = reference.model_copy(update={"certificates": FrozenDict(certificates)})
    return system.model_copy(update={"reference": reference})


_SILENT: Mapping[str, object] = {
    "rules": FrozenDict(),
    "effects": FrozenDict(),
    "returns": FrozenDict(),
    "complete": False,
}
