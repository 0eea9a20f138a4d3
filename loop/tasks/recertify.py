"""Certificates run again, a task a unit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from typing import Any

from components.records.base import Record, to_json
from components.records.system import System
from components.task.certify import recertify
from components.task.reasons import Reason, Rejection
from loop.compute.jobs import Job, Work
from loop.compute.pool import Pool
from loop.rehearsal import rehearsal_problem


class Certified(Record):
    """What all units share."""

    system: System


class Named(Record):
    """One task."""

    task_id: str


class Lapsed(Record):
    """Why a certificate no longer holds."""

    reason: str
    detail: str


@asynccontextmanager
async def _open(shared: Certified) -> AsyncIterator[Callable[[Named], Work]]:
    async def again(unit: Named) -> dict[str, Any]:
        made = recertify(shared.system, unit.task_id)
        if not isinstance(made, Rejection):
            task = shared.system.tasks[unit.task_id]
            rubric = shared.system.evaluator.rubrics[unit.task_id]
            problem = rehearsal_problem(shared.system, task, rubric)
            if not problem:
                return {}
            made = Rejection(reason=Reason.USER, detail=problem)
        return {"lapsed": to_json(Lapsed(reason=made.reason.value, detail=made.detail))}

    yield again


CERTIFY = Job(name="certify", shared=Certified, unit=Named, open=_open)


def recertify_all(
    system: System, pool: Pool, progress: Callable[[int, int], None]
) -> dict[str, Lapsed]:
    """Return what no longer holds, by task.

    Args:
        system: with tasks, rubrics and certificates.
        pool: who does it.
        progress: is told how many are done, of how many.
    """
    lapsed: dict[str, Lapsed] = {}
    units = ((name, Named(task_id=name)) for name in sorted(system.tasks))
    with closing(pool.map(CERTIFY, Certified(system=system), units)) as results:
        for done, (name, body) in enumerate(results, start=1):
            if "lapsed" in body:
                lapsed[name] = Lapsed.model_validate(body["lapsed"])
            progress(done, len(system.tasks))
    return lapsed
