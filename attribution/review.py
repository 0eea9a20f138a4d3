"""What speaks against the components before any rollout is looked at: one task, all references.

A review is a list of facts about one task's world, gold, rubric and harness. It blames nobody: a
defect that no rollout met lost nothing. Reviews are kept by the identity of the system, since every
rollout of a group asks again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from attribution.evidence import evidence, place_of
from attribution.interventions.budgets import plain_limits, tight_limits
from attribution.interventions.derivation import broken_task
from attribution.interventions.doubts import believed, documented
from attribution.interventions.gold import differing_rows, gold_evidence, replay_gold
from attribution.interventions.promises import broken_reactions, broken_rows
from attribution.interventions.reading import broken_rendering
from attribution.interventions.recorded import Standing, trusted
from attribution.interventions.rescoring import broken_criteria, broken_settings
from attribution.interventions.runs import Arm, arm_of, oracle_run
from attribution.kept import kept
from attribution.records import Evidence, EvidenceKind, Party
from components.environment.world import build_world
from components.errors import SynthesisError
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.task import Task

_ORDER = (Party.ENVIRONMENT, Party.TASK, Party.EVALUATOR, Party.HARNESS)


def review_task(system: System, task_id: str, until: Party = Party.HARNESS) -> tuple[Evidence, ...]:
    """Return everything that speaks against a component, as far as this task shows it.

    Later references are void while earlier ones are in doubt: recorded answers are held against a
    tool only when its documentation is silent and the rows are the certified ones; the rubric is
    compiled again only from a task that fits its certificate; the norm of the harness is asked
    last. A sentence that a recorded run contradicts, and a record that the rubric and the world
    both contradict, speak against nothing.

    Args:
        system: the system under review.
        task_id: the task.
        until: the last component that is looked at, in the order environment, task, evaluator,
            harness.
    """
    task = system.tasks[task_id]
    if task_id not in system.reference.certificates:
        return ()
    try:
        arm = arm_of(system, task_id)
    except SynthesisError as error:
        return (_unbuildable(system, task, str(error)),)
    known = trusted(system, task_id)
    system = known.system
    arm = replace(arm, system=system)
    found = list(review_environment(arm, known.standing))
    depth = _ORDER.index(until)
    certificate, settings = system.reference.certificates[task_id], system.evaluator.settings
    base = (arm.world, task, certificate)
    if depth >= _ORDER.index(Party.TASK) and known.is_whole:
        found += kept("derivation", base, lambda: broken_task(system, task, arm.world))
    if depth >= _ORDER.index(Party.EVALUATOR):
        found += kept("settings", (settings,), lambda: broken_settings(settings))
        is_void = known.standing is not Standing.RECORDED and bool(found)
        if known.is_whole and not is_void and not any(item.party is Party.TASK for item in found):
            judge = system.evaluator.rubrics.get(task_id)
            found += kept(
                "rubric", (*base, judge), lambda: broken_criteria(system, task, arm.world)
            )
    if depth >= _ORDER.index(Party.HARNESS):
        shown = (*base, system.harness)
        found += kept("shown", shown, lambda: (*broken_rendering(arm), *plain_limits(arm)))
        if not found:
            found += tight_limits(arm, oracle_run(arm))
    return tuple(found)


def review_environment(arm: Arm, standing: Standing) -> tuple[Evidence, ...]:
    """Return what speaks against the environment, and against the task's own rows.

    Args:
        arm: the task in the system as it is, with a record that can be used.
        standing: what the task's own record is worth.
    """
    system, task = arm.system, arm.task
    is_recorded = standing is Standing.RECORDED
    rows = (differing_rows(system, task, arm.world) if is_recorded else ()) or _promised_rows(arm)
    replay = replay_gold(arm.world, system.reference.certificates[task.task_id])
    spec = documented(arm, replay, is_recorded).against
    rules = (system.environment.reactions, system.reference.contract)
    reactions = [
        item
        for item in kept("reactions", rules, lambda: broken_reactions(system))
        if _is_active(system, task, str(item.data["reaction"]))
    ]
    reactions = list(believed(system, task.task_id, reactions))
    answers: tuple[Evidence, ...] = ()
    is_whole = set(arm.world.services) == _certified_services(arm)
    if replay.differs_at is not None and is_whole and not (rows or spec or reactions):
        answers = _clock(arm) or gold_evidence(system, task, replay)
    return (*rows, *spec, *reactions, *answers)


def _certified_services(arm: Arm) -> set[str]:
    """Return the services of the certified world; where one is missing, no answer of it counts."""
    certificate = arm.system.reference.certificates[arm.task.task_id]
    known = {key.partition("/")[0] for key in certificate.seed_rows}
    return known or set(arm.world.services)


def _promised_rows(arm: Arm) -> tuple[Evidence, ...]:
    """Rows that break an invariant though they are the certified ones: those of the seeds, and
    the overrides'.
    """
    contract, world = arm.system.reference.contract, arm.task.world
    names = sorted({*world.services, *world.distractors})

    def of_seeds() -> tuple[Evidence, ...]:
        bare = world.model_copy(update={"overrides": FrozenDict()})
        return broken_rows(build_world(arm.system, bare), contract, Party.ENVIRONMENT)

    inputs = (arm.system.environment.seeds, contract)
    seeds = kept(f"invariants of {','.join(names)}", inputs, of_seeds)
    if not world.overrides:
        return seeds
    own = broken_rows(arm.world, contract, Party.TASK, arm.task.task_id, world.overrides)
    return (*(item for item in seeds if _key(item) not in world.overrides), *own)


def _key(item: Evidence) -> str:
    return f"{item.data['service']}/{item.data['table']}/{item.data['row_id']}"


def _is_active(system: System, task: Task, name: str) -> bool:
    reaction = system.reference.contract.reactions.get(name) or system.environment.reactions.get(
        name
    )
    names = {*task.world.services, *task.world.distractors}
    if reaction is None:
        return False
    return {reaction.on.service, *(write.service for write in reaction.writes.values())} <= names


def _clock(arm: Arm) -> tuple[Evidence, ...]:
    """A clock that is not the certified one explains every time that gold wrote."""
    system, task = arm.system, arm.task
    certificate = system.reference.certificates[task.task_id]
    known = {
        str(value)
        for call in certificate.gold_run.values()
        for change in call.changes
        for value in (change.after or {}).values()
        if isinstance(value, str) and len(value) == len(task.world.now) and value.endswith("Z")
    }
    # Times of other tasks come first: a run that wrote its clock replays at no other, and in one
    # that did not, a time in a row is seldom a clock.
    others = {other.world.now for other in system.tasks.values()}
    for now in [*sorted(others - {task.world.now}), *sorted(known - others - {task.world.now})]:
        world = task.world.model_copy(update={"now": now})
        try:
            moved = build_world(system, world)
        except SynthesisError:
            continue
        if replay_gold(moved, certificate).differs_at is None:
            return (
                evidence(
                    EvidenceKind.DERIVATION,
                    Party.TASK,
                    place_of(f"task/{task.task_id}", "world", "now"),
                    f"the certified run was at {now}, the task is at {task.world.now}",
                    task_id=task.task_id,
                    certified=now,
                ),
            )
    return ()


def _unbuildable(system: System, task: Task, problem: str) -> Evidence:
    """A world that cannot be built: the task's if it can without its overrides, the
    environment's otherwise.
    """
    bare = task.world.model_copy(update={"overrides": FrozenDict()})
    try:
        build_world(system, bare)
    except SynthesisError:
        services = sorted({*task.world.services, *task.world.distractors})
        named = next((name for name in services if name in problem), services[0])
        place, party = place_of(f"blueprint/{named}"), Party.ENVIRONMENT
    else:
        key = next((key for key in task.world.overrides if key in problem), "")
        place = place_of(f"task/{task.task_id}", "world", "overrides", *([key] if key else []))
        party = Party.TASK
    return evidence(
        EvidenceKind.BOUNDARY,
        party,
        place,
        f"the world cannot be built: {problem}",
        task_id=task.task_id,
    )


def places_of(found: Iterable[Evidence]) -> dict[tuple[Party, str], tuple[Evidence, ...]]:
    """Group facts by whom they speak against, and where."""
    grouped: dict[tuple[Party, str], tuple[Evidence, ...]] = {}
    for item in found:
        if item.against:
            key = (item.party, item.place)
            grouped[key] = (*grouped.get(key, ()), item)
    return grouped
