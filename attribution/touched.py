"""What a patch touches must be right afterwards, wherever a reference says what is right.

A patch that mends one thing and spoils another beside it may still leave less open than there was.
Reactions, seed rows, criteria and settings have references that say of each one, without running
anything, whether it is as it should be: for these, better than before is not enough.
"""

from __future__ import annotations

from collections.abc import Iterator

from attribution.evidence import same_place, split_place, touched_places
from attribution.interventions.promises import broken_reactions
from attribution.interventions.rescoring import broken_criteria, broken_settings
from attribution.interventions.runs import world_of
from attribution.patchers.rows import certified_hashes
from attribution.records import AcceptanceCheck
from components.records.frozen import FrozenDict, content_hash, thaw
from components.records.patch import Patch
from components.records.system import System


def touched_check(before: System, after: System, patch: Patch) -> AcceptanceCheck:
    """Count the places that a patch touches and that are as their reference says.

    Args:
        before: the system as it is.
        after: the system with the patch.
        patch: the patch; only reactions, seeds, rubrics and settings have such references.
    """
    family, _, name = patch.artifact.partition("/")
    if family == "seed":
        rows = sorted(_rows(before, name, patch) | _rows(after, name, patch))
        wrong = [
            f"{table}/{row}" for table, row in rows if not _is_certified(after, name, table, row)
        ]
        num_before = sum(_is_certified(before, name, table, row) for table, row in rows)
        return _check(len(rows), num_before, wrong)
    was, now = (list(_open(system, family, name)) for system in (before, after))
    places = touched_places(patch)
    old, new = (
        sorted({one for one in found if any(same_place(one, place) for place in places)})
        for found in (was, now)
    )
    total = max(len(places), len(old), len(new))
    return _check(total, total - len(old), new)


def _check(total: int, num_before: int, wrong: list[str]) -> AcceptanceCheck:
    return AcceptanceCheck(
        before=num_before,
        after=total - len(wrong),
        total=total,
        holds=not wrong,
        detail=f"{wrong[0]} is not as its reference says" if wrong else "",
    )


def _open(system: System, family: str, name: str) -> Iterator[str]:
    """Yield the places of an artifact that are not as their reference says."""
    if family == "reactions":
        yield from (fact.place for fact in broken_reactions(system))
    elif family == "settings":
        yield from (fact.place for fact in broken_settings(system.evaluator.settings))
    elif family == "rubric" and name in system.tasks and name in system.reference.certificates:
        task = system.tasks[name]
        world = world_of(system, task.world)
        yield from (fact.place for fact in broken_criteria(system, task, world))


def _rows(system: System, service: str, patch: Patch) -> set[tuple[str, str]]:
    """Return table and id of each row that lies inside a touched place, or around it."""
    tables = system.environment.seeds[service].tables
    found: set[tuple[str, str]] = set()
    for place in touched_places(patch):
        keys = split_place(place)[1][1:]
        for table in tables if not keys else keys[:1]:
            ids = tables.get(table, FrozenDict()) if len(keys) < 2 else keys[1:2]
            found |= {(table, row) for row in ids}
    return found


def _is_certified(system: System, service: str, table: str, row_id: str) -> bool:
    """Whether a row is as some certificate of a world that does not override it has it; one that no
    certificate speaks of is nobody's to judge here."""
    key = f"{service}/{table}/{row_id}"
    hashes = {
        found
        for task_id, found in certified_hashes(system, service, table, row_id).items()
        if key not in system.tasks[task_id].world.overrides
    }
    row = system.environment.seeds[service].tables.get(table, FrozenDict()).get(row_id)
    return not hashes or (None if row is None else content_hash(thaw(row))) in hashes
