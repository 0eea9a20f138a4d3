"""Whether a second reference agrees that a row of a world should start as another.

That a row is not the certified one says that something has changed since, and not what is wrong
now: the row may have been spoiled, or rightly changed and the certificate not renewed. So one more
voice is wanted that knows nothing of the certificate: a rollout that comes out right only with the
row put back, gold that passes its rubric only with it, or an invariant of the world contract.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attribution.interventions.promises import broken_rows
from attribution.interventions.runs import arm_of
from attribution.kept import kept
from attribution.records import AcceptanceCheck, Party
from components.environment.world import World
from components.errors import SelvageError
from components.records.patch import Patch
from components.records.system import System
from components.records.world import WorldContract

_VOICES = ("gold_passes", "norm")
"""Checks that a rubric decides."""
_ALONE = (
    "only the certificate says that the row should be so, and no run is lost by it: certify the "
    "tasks again if the row is meant, or put it back by hand"
)


def is_of_rows(patch: Patch) -> bool:
    """Return whether a patch changes rows at the start of worlds, and nothing else."""
    if patch.artifact.startswith("seed/"):
        return True
    paths = [step.path for step in patch.operations if step.op != "test"]
    return patch.artifact.startswith("task/") and all(
        path.startswith("/world/overrides") for path in paths
    )


def second_reference(
    before: System,
    after: System,
    tasks: Sequence[str],
    checks: Mapping[str, AcceptanceCheck],
) -> AcceptanceCheck:
    """Return the check: it holds where more than a certificate speaks for a patch of rows.

    Args:
        before: the system as it is.
        after: the system with the patch.
        tasks: tasks that it can change anything for.
        checks: what was counted before and after it.
    """
    is_agreed = (
        checks["examples"].total > 0  # a verdict has named the row: put back, it decides the run
        or any(checks[name].after > checks[name].before for name in _VOICES)
        or _num_broken(after, tasks) < _num_broken(before, tasks)
    )
    return AcceptanceCheck(
        before=int(is_agreed),
        after=int(is_agreed),
        total=1,
        holds=is_agreed,
        detail="" if is_agreed else _ALONE,
    )


def _num_broken(system: System, tasks: Sequence[str]) -> int:
    """Count the rows that break an invariant at the start of the tasks' worlds."""
    found: set[str] = set()
    for task_id in tasks:
        try:
            world = arm_of(system, task_id).world
        except SelvageError:
            continue
        found |= _broken(world, system.reference.contract)
    return len(found)


def _broken(world: World, contract: WorldContract) -> set[str]:
    def places() -> set[str]:
        facts = broken_rows(world, contract, Party.ENVIRONMENT)
        return {item.place for item in facts}

    return kept("broken rows", (world, contract), places)
