"""References that are missing, or that others contradict: they blame nobody."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from attribution.interventions.recorded import Standing, trusted
from attribution.records import Decision, EvidenceKind, Party
from attribution.review import review_task
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict
from components.records.rubric import RowFields
from components.records.system import System
from components.records.task import Certificate
from tests.attribution.composed import composed_system
from tests.attribution.playing import NO_SLIPS, attribute_all, only, play_all, with_defect


@cache
def clean() -> System:
    return composed_system(6)


def with_certificate(system: System, name: str, **update: object) -> System:
    certificate = system.reference.certificates[name].model_copy(update=update)
    certificates = FrozenDict({**system.reference.certificates, name: certificate})
    reference = system.reference.model_copy(update={"certificates": certificates})
    return system.model_copy(update={"reference": reference})


def without_record(system: System) -> System:
    for name in sorted(system.reference.certificates):
        system = with_certificate(system, name, gold_run=FrozenDict(), seed_rows=FrozenDict())
    return system


def with_false_criterion(system: System, name: str) -> tuple[System, str]:
    """Return the system with a value in a task's rubric that gold does not give, and its place."""
    criteria = system.evaluator.rubrics[name].criteria
    key, rows = next(
        (key, item) for key, item in sorted(criteria.items()) if isinstance(item, RowFields)
    )
    pointer = f"/criteria/{key}/fields/{min(rows.fields)}"
    faulty = with_defect(system, f"rubric/{name}", ("replace", pointer, "something else"))
    return faulty, f"rubric/{name}#/criteria/{key}"


def otherwise(call: CallRecord) -> CallRecord:
    """Return the call as if it had written other texts."""
    changes = []
    for change in call.changes:
        after = {
            key: f"{value} of old" if isinstance(value, str) and key != "id" else value
            for key, value in (change.after or {}).items()
        }
        changes.append(change.model_copy(update={"after": FrozenDict(after)}))
    return call.model_copy(update={"changes": tuple(changes)})


def other_values(certificate: Certificate) -> dict[str, object]:
    run = {name: otherwise(call) for name, call in certificate.gold_run.items()}
    return {"gold_run": FrozenDict(run)}


def other_answer(certificate: Certificate) -> dict[str, object]:
    return {"gold_answer": FrozenDict(dict.fromkeys(certificate.gold_answer, "Somebody Else"))}


@pytest.mark.parametrize("older", [other_values, other_answer])
def test_a_record_that_rubric_and_world_contradict_is_void_and_named(
    older: Callable[[Certificate], dict[str, object]],
) -> None:
    name = min(clean().tasks)
    changed = older(clean().reference.certificates[name])
    system = with_certificate(only(clean(), name), name, **changed)
    played = play_all(system, 12)

    attributions = attribute_all(system, played)

    assert trusted(system, name).standing is Standing.VOID
    assert {bool(scored.passed) for _, scored in played} == {True, False}
    for item, (_, scored) in zip(attributions, played, strict=True):
        parties = [blame.party for blame in item.verdict.blamed]
        assert parties == ([] if scored.passed else [Party.POLICY])
        assert (item.verdict.decision is Decision.CLEARED) is bool(scored.passed)
        named = [fact.place for fact in item.evidence if fact.kind is EvidenceKind.REFERENCE]
        assert named == [f"certificate/{name}#"]


def test_a_record_that_the_rubric_alone_contradicts_stands() -> None:
    name = min(clean().tasks)
    faulty, place = with_false_criterion(only(clean(), name), name)

    attributions = attribute_all(faulty, play_all(faulty, 2, NO_SLIPS))

    assert trusted(faulty, name).standing is Standing.RECORDED
    assert [item.verdict.blamed[0].place for item in attributions] == [place, place]


def test_without_any_record_nothing_speaks_against_a_clean_system() -> None:
    system = without_record(clean())

    assert all(review_task(system, name) == () for name in system.tasks)
    assert trusted(system, min(system.tasks)).standing is Standing.MISSING
    for item, (_, scored) in zip(
        attribute_all(system, played := play_all(system, 4)), played, strict=True
    ):
        parties = [blame.party for blame in item.verdict.blamed]
        assert parties == ([] if scored.passed else [Party.POLICY])


def test_without_any_record_documentation_and_rubric_are_still_held_weakly() -> None:
    name = min(clean().tasks)
    faulty, place = with_false_criterion(without_record(only(clean(), name)), name)

    (first, *_) = attribute_all(faulty, play_all(faulty, 2, NO_SLIPS))

    (blame,) = first.verdict.blamed
    assert blame.place == place
    assert blame.confidence <= 0.5
