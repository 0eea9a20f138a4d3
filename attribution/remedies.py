"""The system with every known defect repaired, in memory: the clean arm that a rollout is replayed in.

There is no clean version to swap in. For each place that evidence speaks against, the first candidate repair that
makes the evidence go away stands for it. Nothing here is kept: what becomes of a repair `attribution.accept` decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attribution.change import Change, applicable, changed
from attribution.patchers.candidates import candidate_changes
from attribution.records import Evidence, Party
from attribution.review import places_of, review_task
from attribution.swap import identity_cached
from components.errors import SelvageError
from components.records.system import System

_MAX_ROUNDS = 6
_MAX_CANDIDATES = 60
_ORDER = (Party.ENVIRONMENT, Party.TASK, Party.EVALUATOR, Party.HARNESS, Party.POLICY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A place that evidence speaks against, and what would repair it."""

    party: Party
    place: str
    evidence: tuple[Evidence, ...]
    change: Change | None
    """None: no candidate makes the evidence go away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """A system with the defects that one task shows repaired."""

    system: System
    suspects: tuple[Suspect, ...]
    remaining: tuple[Evidence, ...]
    """What still speaks against a component."""


def repair_for_task(system: System, task_id: str, extra: Sequence[Evidence] = ()) -> Repaired:
    """Repair, in memory, everything that one task's review speaks against.

    Args:
        system: the system as it is.
        task_id: the task.
        extra: further facts, that a rollout brought.
    """
    if extra:
        return _repair(system, task_id, tuple(extra))
    return identity_cached(system, f"repair:{task_id}", lambda: _repair(system, task_id, ()))


def _repair(system: System, task_id: str, extra: tuple[Evidence, ...]) -> Repaired:
    suspects: dict[str, Suspect] = {}
    current, pending = system, extra
    found: tuple[Evidence, ...] = ()
    for _ in range(_MAX_ROUNDS):
        found = (*reviewed(current, task_id), *pending)
        pending = ()
        open_places = {
            key: facts for key, facts in places_of(found).items() if key[1] not in suspects
        }
        if not open_places:
            break
        party, place = min(open_places, key=lambda key: (_ORDER.index(key[0]), key[1]))
        facts = open_places[party, place]
        pending = tuple(item for item in found if item in extra and item not in facts)
        change = choose_change(current, party, place, facts, task_id)
        suspects[place] = Suspect(party=party, place=place, evidence=facts, change=change)
        if change is not None:
            current = changed(current, change)
    return Repaired(
        system=current, suspects=tuple(suspects.values()), remaining=reviewed(current, task_id)
    )


def reviewed(system: System, task_id: str) -> tuple[Evidence, ...]:
    """Return a task's review, made once for each system."""
    return identity_cached(system, f"review:{task_id}", lambda: review_task(system, task_id))


def choose_change(
    system: System, party: Party, place: str, facts: Sequence[Evidence], task_id: str
) -> Change | None:
    """Return the first candidate after which the place is clear and nothing else is worse.

    A repair of the environment is tried on several tasks that its evidence or its tool concerns, the others on
    their own task.
    """
    tasks = _concerned(system, party, place, task_id)
    before = sum(len(reviewed(system, name)) for name in tasks)
    best: tuple[int, Change] | None = None
    candidates = candidate_changes(system, party, place, facts)
    for count, (change, after) in enumerate(applicable(system, candidates)):
        if count >= _MAX_CANDIDATES:
            break
        if change.artifact == "retired" or "/quarantined/" in change.operations[-1][1]:
            continue  # hiding a defect is no counterfactual
        try:
            reviews = [review_task(after, name) for name in tasks]
        except SelvageError:
            continue
        left = sum(len(review) for review in reviews)
        if any(item.place == place for review in reviews for item in review):
            continue
        if not left:
            return change
        if left <= before and (best is None or left < best[0]):
            best = (left, change)
    return None if best is None else best[1]


def _concerned(system: System, party: Party, place: str, task_id: str) -> list[str]:
    if party is not Party.ENVIRONMENT or not place.startswith("blueprint/"):
        return [task_id]
    others = []
    artifact, _, pointer = place.partition("#")
    service = artifact.partition("/")[2]
    tool = pointer.split("/")[2] if pointer.count("/") >= 2 else ""
    for name, certificate in sorted(system.reference.certificates.items()):
        if name == task_id or name not in system.tasks or name in system.retired:
            continue
        calls = certificate.gold_run.values()
        if any((call.service, call.tool) == (service, tool) for call in calls):
            others.append(name)
    return [task_id, *others[:3]]
