"""What a training task gives away of a held-out one, by another look than the split's own.

The split says which task is held out, and why; here the words, calls and answers of all training
tasks are gone through for what was to be new: a set of services, a sequence of calls, the name of
an entity, the words of a request. Nothing found is what is expected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from components.records.base import Record
from components.records.system import System
from components.records.task import Task
from components.task.duplicates import NearDuplicates, calls_of
from components.task.rules import complied
from loop.train.split import HELD_OUT, Kind, Names, held_out_names, learned_texts


class Leaks(Record):
    """What was looked for, and the held-out tasks that training tasks give away."""

    checked: int
    """Held-out tasks."""
    found: tuple[str, ...]
    """`task: what it shares with which training task`, sorted."""


def leaks_of(system: System, splits: Mapping[str, Kind]) -> Leaks:
    """Return what training tasks give away of held-out ones.

    Args:
        system: with tasks and their certificates.
        splits: task -> where it belongs.
    """
    kinds = {name: [task for task in system.tasks if splits[task] is name] for name in HELD_OUT}
    trained = [system.tasks[name] for name in system.tasks if splits[name] is Kind.TRAIN]
    found = [
        *_shared("set of services", _services, trained, system, kinds[Kind.SERVICES]),
        *_shared("sequence of calls", _sequence, trained, system, kinds[Kind.SEQUENCE]),
        *_names(system, trained, kinds[Kind.ENTITY]),
        *_words(system, trained, [name for names in kinds.values() for name in names]),
    ]
    return Leaks(checked=sum(map(len, kinds.values())), found=tuple(sorted(found)))


def _services(task: Task) -> tuple[str, ...]:
    return tuple(sorted(task.world.services))


def _sequence(task: Task) -> tuple[str, ...]:
    return calls_of(complied(task))


def _shared(
    what: str,
    of: Callable[[Task], tuple[str, ...]],
    trained: Iterable[Task],
    system: System,
    names: Iterable[str],
) -> list[str]:
    seen = Counter(map(of, trained))
    return [
        f"{name}: its {what} is that of {seen[key]} training tasks"
        for name in names
        if seen[key := of(system.tasks[name])]
    ]


def _names(system: System, trained: Iterable[Task], held_out: Iterable[str]) -> list[str]:
    """Return the held-out tasks of which a name that is kept from training occurs in training."""
    names = held_out_names(system.environment)
    certificates = system.reference.certificates
    pattern = Names(dict.fromkeys(names, "")).pattern

    def said(task: Task) -> set[str]:
        texts = learned_texts(task, certificates[task.task_id])
        return {found for text in texts for found in pattern.findall(text)}

    known = {name for task in trained for name in said(task)}
    return [
        f"{name}: training tasks name {sorted(shared)[0]!r}"
        for name in held_out
        if (shared := said(system.tasks[name]) & known)
    ]


def _words(system: System, trained: Iterable[Task], held_out: Iterable[str]) -> list[str]:
    near = NearDuplicates(trained)
    return [
        f"{name}: a training task says nearly the same"
        for name in held_out
        if near.is_one(system.tasks[name])
    ]
