"""The system with every known defect repaired, in memory: the clean arm of a rollout.

There is no clean version to swap in. For each place that evidence speaks against, the smallest
candidate repair stands for it after which nothing speaks against that place. Nothing here is kept:
what becomes of a repair `attribution.accept` decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attribution.change import Change, applicable, bind
from attribution.facts import reviewed, still_holds
from attribution.interventions.recorded import trusted
from attribution.kept import kept
from attribution.meter import Intervention, metered
from attribution.patchers.candidates import candidate_changes
from attribution.records import Evidence, EvidenceKind, Party
from attribution.review import places_of
from attribution.swap import swap
from components.errors import SelvageError
from components.records.system import System

_MAX_DEFECTS = 12
_MAX_CANDIDATES = 60
_MAX_TASKS = 4
_MAX_FACTS = 4
_ORDER = (Party.ENVIRONMENT, Party.TASK, Party.EVALUATOR, Party.HARNESS)


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


def repair_for_task(system: System, task_id: str, extra: Sequence[Evidence] = ()) -> Repaired:
    """Repair, in memory, everything that one task's review speaks against.

    Args:
        system: the system as it is.
        task_id: the task.
        extra: further facts, that a rollout brought.
    """
    facts = tuple(item.evidence_id for item in extra)
    return kept(
        "repair", (system,), lambda: _repair(system, task_id, tuple(extra)), (task_id, facts)
    )


def _repair(system: System, task_id: str, extra: tuple[Evidence, ...]) -> Repaired:
    suspects: dict[str, Suspect] = {}
    current = system
    while len(suspects) < _MAX_DEFECTS:
        places = {}
        for (
            until
        ) in _ORDER:  # a later component is looked at only when nothing speaks against the earlier
            found = (*reviewed(current, task_id, until), *extra)
            places = {key: said for key, said in places_of(found).items() if key[1] not in suspects}
            if places:
                break
        if not places:
            break
        party, place = min(places, key=lambda key: (_ORDER.index(key[0]), key[1]))
        facts = places[party, place]
        change = _remedy(current, party, place, facts, task_id)
        suspects[place] = Suspect(party=party, place=place, evidence=facts, change=change)
        if change is not None:
            current = repaired_by(current, change)
    return Repaired(system=current, suspects=tuple(suspects.values()))


def repaired_by(system: System, change: Change) -> System:
    """Return the system with a change made: the same object for the same change, so that reviews
    are shared.
    """

    def made() -> System:
        patch = bind(system, change)
        return kept("after", (system,), lambda: swap(system, patch), patch.patch_id)

    return kept("changed", (system, change), made)


def _remedy(
    system: System, party: Party, place: str, facts: Sequence[Evidence], task_id: str
) -> Change | None:
    """Return the repair that stands for a place: one for all tasks that show the defect, where
    one serves.
    """
    tasks = _concerned(system, place)

    def common() -> list[Change]:
        shown = [
            item
            for name in tasks
            for item in reviewed(system, name, party)
            if item.against and item.place == place
        ]
        return fitting_changes(system, party, place, shown, tasks, 1) if shown else []

    if tasks:
        for change in kept(f"remedy:{place}", (system,), common):
            review = reviewed(repaired_by(system, change), task_id, party)
            if not any(item.place == place for item in review):
                return change
    own = fitting_changes(system, party, place, facts, [task_id], 1)
    return own[0] if own else None


def fitting_changes(
    system: System,
    party: Party,
    place: str,
    facts: Sequence[Evidence],
    tasks: Sequence[str],
    most: int,
) -> list[Change]:
    """Return the smallest candidates that clear the place and leave no more elsewhere.

    Args:
        system: the system with the defect.
        party: who owns the place.
        place: where the defect is.
        facts: what speaks against it.
        tasks: tasks that show it.
        most: how many are wanted.
    """
    earlier = [item for name in tasks for item in reviewed(system, name, party)]
    before, unbuilt = len(earlier), _unbuilt(earlier)
    found: list[Change] = []
    known = _with_records(system, tasks)
    candidates = applicable(system, candidate_changes(known, party, place, facts))
    for number, (change, after) in enumerate(candidates):
        if number >= _MAX_CANDIDATES or len(found) >= most:
            break
        if hides(change):
            continue  # hiding a defect is no counterfactual
        try:
            if _clears(after, party, place, facts, tasks, before, unbuilt):
                found.append(change)
        except SelvageError:
            continue
    return found


def _with_records(system: System, tasks: Sequence[str]) -> System:
    """Return the system with a record of gold for each task that has none of worth."""
    for name in tasks:
        try:
            system = trusted(system, name).system
        except SelvageError:
            continue
    return system


@metered(Intervention.CANDIDATE)
def _clears(
    after: System,
    party: Party,
    place: str,
    facts: Sequence[Evidence],
    tasks: Sequence[str],
    most: int,
    unbuilt: set[str],
) -> bool:
    """Whether nothing speaks against the place any more, and no more than before elsewhere; the
    first task that says otherwise is enough.
    """
    if any(still_holds(after, fact) for fact in facts[:_MAX_FACTS]):
        return False
    count = 0
    for name in tasks:
        later = reviewed(after, name, party)
        count += len(later)
        if count > most or any(item.place == place for item in later):
            return False
        if not _unbuilt(later) <= unbuilt:
            return False  # nothing speaks against a place in a world that cannot be built
    return True


def _unbuilt(found: Iterable[Evidence]) -> set[str]:
    return {item.place for item in found if item.kind is EvidenceKind.BOUNDARY}


def hides(change: Change) -> bool:
    """Return whether a change takes a task or a tool out instead of repairing it."""
    is_quarantine = any(
        op == "add" and path.startswith("/quarantined/") for op, path, _value in change.operations
    )
    return change.artifact == "retired" or is_quarantine


def _concerned(system: System, place: str) -> list[str]:
    """Return a few certified tasks that a defect of what all tasks share is looked for in."""
    artifact, _, pointer = place.partition("#")
    family, _, service = artifact.partition("/")
    if family in ("task", "rubric", "retired"):
        return []
    tool = pointer.split("/")[2] if family == "blueprint" and pointer.count("/") >= 2 else ""
    names = []
    for name, certificate in sorted(system.reference.certificates.items()):
        if name not in system.tasks or name in system.retired:
            continue
        world = system.tasks[name].world
        calls = certificate.gold_run.values()
        if tool and not any((call.service, call.tool) == (service, tool) for call in calls):
            continue
        if family == "seed" and service not in (*world.services, *world.distractors):
            continue
        names.append(name)
    return names[:_MAX_TASKS]
