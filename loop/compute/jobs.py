"""What can be handed to a worker: a closed list of jobs, each named, none of them a closure.

A job is opened once with what all its units share, then works on one unit after another. What it
returns depends on the shared record and the unit alone, never on where or beside what it runs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from components.records.base import Record

SharedT = TypeVar("SharedT", bound=Record)
UnitT = TypeVar("UnitT", bound=Record)

Work = Coroutine[Any, Any, Any]
"""One unit's work; ends in its result, a JSON body."""

JOBS = {
    "attribute": "loop.blame:ATTRIBUTE",
    "certify": "loop.tasks.recertify:CERTIFY",
    "certify_faulty": "loop.bench_tasks.planting:CERTIFY_FAULTY",
    "compile": "loop.synthesis.compiled:COMPILE",
    "compose": "loop.composing:COMPOSE",
    "gold": "loop.train.gold:GOLD",
    "judge": "loop.bench_attribution.judging:JUDGE",
    "measure": "loop.bench_tasks.measuring:MEASURE",
    "plant": "loop.bench_attribution.planting:PLANT",
    "plant_before": "loop.bench_attribution.before:PLANT_BEFORE",
    "rollout": "loop.batches:ROLLOUT",
}
"""Job -> where it is defined. Imported by the worker that is asked for it, and not before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Generic[SharedT, UnitT]):
    """One kind of work."""

    name: str
    """Its name in `JOBS`."""
    shared: type[SharedT]
    """What all units share."""
    unit: type[UnitT]
    """One unit of work, as small as it may be lost and done again."""
    open: Callable[[SharedT], AbstractAsyncContextManager[Callable[[UnitT], Work]]]
    """Yields what works on a unit; holds what units share (a client, a model) until the end."""


def find_job(name: str) -> Job[Any, Any]:
    """Return the job of this name.

    Raises:
        KeyError: there is none.
    """
    module, _, attribute = JOBS[name].partition(":")
    job: Job[Any, Any] = getattr(importlib.import_module(module), attribute)
    return job
