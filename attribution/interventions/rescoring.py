"""The stored rubric against the one compiled again from certified gold, and both against runs
that are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from attribution.evidence import evidence, place_of
from attribution.interventions.gold import certified_final, with_changes
from attribution.meter import Intervention, metered
from attribution.records import Evidence, EvidenceKind, Party
from components.environment.state import WorldState, net_changes
from components.environment.world import World
from components.errors import BoundaryError
from components.evaluator.compile import compile_rubric
from components.evaluator.equivalence import values_match
from components.evaluator.rubric import is_pass, score_criteria
from components.records.base import to_json
from components.records.calls import RowChange
from components.records.frozen import FrozenDict, JsonObject
from components.records.rubric import EvaluatorSettings, Rubric, Untouched
from components.records.system import System
from components.records.task import Certificate, Task
from components.records.trajectory import CriterionScore, ScoreStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRun:
    """A final state and an answer whose verdict is known without any rubric."""

    name: str
    final: WorldState
    answer: JsonObject | None
    should_pass: bool


def reference_rubric(task: Task, certificate: Certificate, world: World) -> Rubric | None:
    """Return the rubric compiled mechanically from the certified run; None when the task no
    longer fits it.
    """
    if set(task.gold) != set(certificate.gold_run):
        return None
    run = [certificate.gold_run[name] for name in sorted(certificate.gold_run)]
    try:
        return compile_rubric(task, run, world, certificate.gold_answer)
    except (BoundaryError, KeyError, ValueError):
        return None


@metered(Intervention.RUBRIC)
def broken_criteria(system: System, task: Task, world: World) -> tuple[Evidence, ...]:
    """Return the criteria of a task that are not what its certified run makes them.

    Each is told by what it does: one that certified gold does not meet fails rightful runs, one
    that is missing or asks less lets wrong runs pass.
    """
    certificate = system.reference.certificates[task.task_id]
    stored = system.evaluator.rubrics.get(task.task_id)
    reference = reference_rubric(task, certificate, world)
    if reference is None:
        return ()
    artifact = f"rubric/{task.task_id}"
    if stored is None:
        return (
            evidence(
                EvidenceKind.RUBRIC,
                Party.EVALUATOR,
                place_of(artifact),
                "the task has no rubric",
                task_id=task.task_id,
            ),
        )
    scores = score_criteria(
        stored,
        EvaluatorSettings(),
        world.initial,
        certified_final(world, certificate),
        certificate.gold_answer,
    )
    found = []
    for name in sorted(set(stored.criteria) | set(reference.criteria)):
        mine, theirs = stored.criteria.get(name), reference.criteria.get(name)
        if mine is not None and theirs is not None and _sense(mine) == _sense(theirs):
            continue
        is_met = name in scores and scores[name].value == 1.0
        if mine is None:
            what = "is missing: a run that does not do this can pass"
        elif not is_met:
            what = "is not met by the certified run: rightful runs fail"
        elif theirs is None:
            continue  # a further criterion that gold meets is stricter, not wrong
        else:
            what = "asks less than the certified run gives, or something else"
        found.append(
            evidence(
                EvidenceKind.RUBRIC,
                Party.EVALUATOR,
                place_of(artifact, "criteria", name),
                f"the criterion {name!r} {what}",
                task_id=task.task_id,
                criterion=name,
                stored=None if mine is None else to_json(mine),
                reference=None if theirs is None else to_json(theirs),
                false_fail=mine is not None and not is_met,
            )
        )
    return tuple(found)


def _sense(criterion: Any) -> Any:
    body = to_json(criterion)
    body.pop("text")
    if isinstance(criterion, Untouched):
        body["allowed"] = {key: sorted(value) for key, value in body["allowed"].items()}
    return body


def broken_settings(settings: EvaluatorSettings) -> tuple[Evidence, ...]:
    """Return the settings under which values that differ are the same, or same ones differ."""
    rules, found = settings.equivalence, []
    if not _one_miss_fails(settings):
        found.append(("pass_threshold", "a run that misses one of twenty criteria passes"))
    samples: tuple[tuple[str, Any, Any, bool, str], ...] = (
        ("number_tolerance", 10, 11, False, "10 and 11 are the same number"),
        ("number_tolerance", 0.5, 0.51, False, "0.5 and 0.51 are the same number"),
        ("number_tolerance", 0.1 + 0.2, 0.3, True, "0.3 and the sum of 0.1 and 0.2 differ"),
        ("ignore_case", "Open", "open", True, "'Open' and 'open' differ"),
        ("trim_space", " open  now ", "open now", True, "spaces around a text make it another"),
    )
    for name, left, right, should, words in samples:
        if values_match(left, right, rules, "answer.any") is not should:
            found.append((f"equivalence/{name}", words))
    artifact = "settings"
    return tuple(
        evidence(
            EvidenceKind.CANONICAL,
            Party.EVALUATOR,
            place_of(artifact, *name.split("/")),
            f"evaluator setting {name}: {words}",
            setting=name,
        )
        for name, words in dict(found).items()
    )


def _one_miss_fails(settings: EvaluatorSettings) -> bool:
    criterion = Untouched(text="one of many", allowed=FrozenDict())
    names = [f"c{index:02}" for index in range(20)]
    rubric = Rubric(task_id="any", criteria=FrozenDict(dict.fromkeys(names, criterion)))
    scores = {
        name: CriterionScore(status=ScoreStatus.SCORED, value=0.0 if name == names[0] else 1.0)
        for name in names
    }
    return is_pass(scores, rubric, settings) is False


def known_runs(world: World, certificate: Certificate) -> Iterator[KnownRun]:
    """Yield gold, nothing, and mutants of the certified final state: each surviving change
    undone, a field of it altered, a row beside it touched, and each field of the answer altered
    or left out.
    """
    final, answer = certified_final(world, certificate), certificate.gold_answer
    yield KnownRun(name="gold", final=final, answer=answer, should_pass=True)
    yield KnownRun(name="null", final=world.initial, answer=None, should_pass=False)
    changes = net_changes(
        change
        for name in sorted(certificate.gold_run)
        for change in certificate.gold_run[name].changes
    )
    for change in changes:
        label = f"{change.service}/{change.table}/{change.row_id}"
        if _is_compared(world, change):
            undone = with_changes(world, final, (_undo(change),))
            yield KnownRun(name=f"undone {label}", final=undone, answer=answer, should_pass=False)
    other = _collateral(world, changes)
    if other is not None:
        touched = with_changes(world, final, (other,))
        name = f"collateral {other.service}/{other.table}/{other.row_id}"
        yield KnownRun(name=name, final=touched, answer=answer, should_pass=False)
    for field, value in sorted(answer.items()):
        wrong = FrozenDict({**answer, field: altered(value)})
        yield KnownRun(name=f"answer {field}", final=final, answer=wrong, should_pass=False)
    if answer:
        yield KnownRun(name="no answer", final=final, answer=None, should_pass=False)


def _is_compared(world: World, change: RowChange) -> bool:
    """Whether undoing a change shows: one of generated fields alone does not, nor one of prose
    alone.
    """
    if change.before is None or change.after is None:
        return True
    fields = world.services[change.service].blueprint.entities[change.table].fields
    return any(
        change.before[name] != change.after[name] and not field.generated and not field.free_text
        for name, field in fields.items()
    )


def _undo(change: RowChange) -> RowChange:
    return change.model_copy(update={"before": change.after, "after": change.before})


def _collateral(world: World, changes: tuple[RowChange, ...]) -> RowChange | None:
    """Return the removal of a row that gold does not touch, from a table that it does."""
    touched = {(change.service, change.table, change.row_id) for change in changes}
    for change in changes:
        for row_id in world.initial.table(change.service, change.table).ids:
            if (change.service, change.table, row_id) not in touched:
                before = world.initial.table(change.service, change.table).values_of(row_id)
                return RowChange(
                    service=change.service,
                    table=change.table,
                    row_id=row_id,
                    before=before,
                    after=None,
                    cause="mutant",
                )
    return None


def altered(value: Any) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, (list, tuple)):
        return (*value, "x")
    return "x"


def decides_rightly(
    rubric: Rubric, settings: EvaluatorSettings, world: World, run: KnownRun
) -> bool:
    """Return whether a rubric gives a known run its verdict."""
    scores = score_criteria(rubric, settings, world.initial, run.final, run.answer)
    return is_pass(scores, rubric, settings) is run.should_pass
