"""References that are missing, or that others contradict: they blame nobody."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from attribution.interventions.calls import broken_calls
from attribution.interventions.doubts import believed, doubted_sentences
from attribution.interventions.recorded import Standing, trusted
from attribution.interventions.runs import arm_of, replay
from attribution.records import Decision, EvidenceKind, Party
from attribution.review import review_task
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict, content_hash, thaw
from components.records.rubric import RowFields
from components.records.system import System
from components.records.task import Certificate
from loop.bench_attribution.false_sentences import forbidding
from tests.attribution.composed import composed_system
from tests.attribution.playing import NO_SLIPS, attribute_all, only, play_all, with_defect
from tests.attribution.test_gaps import mend


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


def called(system: System) -> tuple[CallRecord, str]:
    """Return a certified call that finds one row by a text, and the name of that argument."""
    return next(
        (call, key)
        for _name, certificate in sorted(system.reference.certificates.items())
        for _step, call in sorted(certificate.gold_run.items())
        for key, value in sorted(call.arguments.items())
        if isinstance(value, str) and not call.changes and len(call.arguments) == 1
    )


def with_rule(system: System, service: str, tool: str, key: str, value: str) -> System:
    """Return the system with a made-up rule in the tool's documentation."""
    spec = system.reference.specs[service]
    tools = FrozenDict({**spec.tools, tool: forbidding(spec.tools[tool], key, value)})
    specs = {**system.reference.specs, service: spec.model_copy(update={"tools": tools})}
    reference = system.reference.model_copy(update={"specs": FrozenDict(specs)})
    return system.model_copy(update={"reference": reference})


def test_a_sentence_with_which_a_certified_service_fails_its_gates_is_in_doubt() -> None:
    name = min(clean().tasks)
    small = only(clean(), name)
    call, key = called(small)
    seed = small.environment.seeds[call.service]
    value = next(
        str(row[key])
        for _table, rows in sorted(seed.tables.items())
        for _row, row in sorted(rows.items())
        if key in row and row[key] != call.arguments[key]
    )
    system = with_rule(small, call.service, call.tool, key, value)
    [(found, _scored)] = play_all(system, 1, NO_SLIPS)
    text = found.turns[0].raw_text.replace(str(call.arguments[key]), value)
    breach = replay(arm_of(system, name), [text]).trajectory
    (fact,) = broken_calls(arm_of(system, name), breach)
    at = f"/tools/{call.tool}/difficulty"
    changed = with_defect(system, f"blueprint/{call.service}", ("replace", at, 5))

    (doubt,) = doubted_sentences(system, name, [fact])

    assert list(believed(system, name, [fact])) == []
    assert doubt.kind is EvidenceKind.REFERENCE
    assert doubt.place == f"spec/{call.service}#/tools/{call.tool}/rules/false"
    assert "gates" in doubt.statement
    # A service that is not as it was certified may have lost the rule since.
    assert list(believed(changed, name, [fact])) == [fact]
    assert doubted_sentences(changed, name, [fact]) == ()


def of_another_row(system: System) -> tuple[System, str]:
    """Return the system with certificates that name one row otherwise, which no run speaks of,
    and the row's place.
    """
    said = to_text(system)
    key, row, other = next(
        (f"{service}/{table}/{row_id}", thaw(row), thaw(other))
        for service, seed in sorted(system.environment.seeds.items())
        for table, rows in sorted(seed.tables.items())
        for row_id, row in sorted(rows.items())
        for other_id, other in sorted(rows.items())
        if row_id != other_id and row_id not in said and len(row) > 1
    )
    field = next(name for name in sorted(row) if row[name] != other[name] and name != "id")
    service, table, row_id = key.split("/")
    for name, certificate in sorted(system.reference.certificates.items()):
        if key in certificate.seed_rows:
            system = with_certificate(
                system,
                name,
                seed_rows=FrozenDict(
                    {**certificate.seed_rows, key: content_hash({**row, field: other[field]})}
                ),
                environment_hashes=FrozenDict(
                    {**certificate.environment_hashes, f"seed/{service}": "of another seed"}
                ),
            )
    return system, f"seed/{service}#/tables/{table}/{row_id}"


def to_text(system: System) -> str:
    return " ".join(
        str(thaw(call.envelope)) + str(thaw(call.arguments))
        for certificate in system.reference.certificates.values()
        for call in certificate.gold_run.values()
    )


def test_a_row_that_only_a_certificate_wants_back_waits_for_a_person() -> None:
    system, place = of_another_row(clean())
    played = play_all(system, 1)

    mended, decided = mend(system, played, attribute_all(system, played))

    assert {patch.place for patch, _record in decided} == {place}
    for _patch, record in decided:
        assert not record.accepted
        assert not record.checks["second_reference"].holds
        assert "only the certificate says" in record.reason
    assert mended == system


def test_a_row_that_cost_a_run_is_put_back() -> None:
    name = min(clean().tasks)
    small = only(clean(), name)
    call, key = called(small)
    service, table, row_id = next(
        (call.service, table, row_id)
        for table, rows in sorted(small.environment.seeds[call.service].tables.items())
        for row_id, row in sorted(rows.items())
        if row.get(key) == call.arguments[key]
    )
    at = f"/tables/{table}/{row_id}/{key}"
    system = with_defect(small, f"seed/{service}", ("replace", at, "another"))
    played = play_all(system, 1, NO_SLIPS)

    mended, decided = mend(system, played, attribute_all(system, played))

    assert [record.checks["second_reference"].holds for _p, record in decided if record.accepted]
    assert mended.environment.seeds == small.environment.seeds
