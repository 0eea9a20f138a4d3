"""What requests say beyond their steps: forbidden calls, conditions, every row, numbers, dates."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import pytest

from components.environment.catalog_loader import builtin_services
from components.environment.world import build_world
from components.records.base import to_json
from components.records.frozen import FrozenDict
from components.records.task import (
    Certificate,
    Condition,
    Every,
    FromInstruction,
    FromRows,
    Restraint,
    Task,
)
from components.task.certify import certify
from components.task.clause_gates import every_problem
from components.task.compose import ComposedTask, compose_task
from components.task.gold import Gold, run_gold
from components.task.measures import grammar_of
from components.task.moments import moment_at
from components.task.provenance import ProvenanceError, at_path, derive_value
from components.task.reasons import Reason, Rejection
from tests.task.builders import Settings, changed, system_of

SEEDS = (*range(100, 130), 134)
C = TypeVar("C", Restraint, Condition, Every)


@cache
def drawn() -> tuple[ComposedTask, ...]:
    system = system_of(builtin_services())
    found = (
        compose_task(system, Settings(k=3, walk_length=6, distractors=1), seed) for seed in SEEDS
    )
    return tuple(item for item in found if isinstance(item, ComposedTask))


def having(kind: type[C]) -> list[tuple[ComposedTask, str, C]]:
    found = [
        (item, name, clause)
        for item in drawn()
        for name, clause in sorted(item.task.clauses.items())
        if isinstance(clause, kind)
    ]
    assert found, kind
    return found


def probes(item: ComposedTask, kind: str) -> list[str]:
    """Targets of a kind's probes, all of which failed, as they must."""
    found = [probe for probe in item.certificate.probes.values() if probe.kind == kind]
    assert not any(probe.did_pass or probe.should_pass for probe in found)
    return [probe.target for probe in found]


def gold_of(task: Task) -> Gold:
    gold = run_gold(build_world(system_of(builtin_services()), task.world), task)
    assert isinstance(gold, Gold), gold
    return gold


def refused(item: ComposedTask, name: str, clause: Any) -> Rejection:
    task = changed(item.task, clauses={**item.task.clauses, name: clause})
    made = certify(system_of(builtin_services()), task, item.rubric)
    assert isinstance(made, Rejection)
    return made


def test_a_share_of_requests_says_more_and_others_say_what_they_did() -> None:
    kinds = [kind for item in drawn() for kind in grammar_of(item.task)]

    assert {"plain", "restraint", "condition", "every", "count", "date"} <= set(kinds)
    assert 0.2 < kinds.count("plain") / len(drawn()) < 0.7


def test_who_makes_a_forbidden_call_fails_and_gold_does_not_make_it() -> None:
    for item, name, clause in having(Restraint):
        words = item.task.instruction[clause.start : clause.end]
        made = {(step.service, step.tool) for step in item.task.gold.values()}

        assert probes(item, "forbidden").count(name) == 1
        assert (clause.service, clause.tool) not in made
        assert clause.service in item.task.world.services
        assert words == words.strip(" .,;")
        assert name in item.certificate.forbidden


def test_a_forbidden_call_that_the_world_refuses_forbids_nothing() -> None:
    item, name, clause = having(Restraint)[0]
    nowhere = {pointer: {"kind": "default", "value": "none"} for pointer in clause.arguments}

    made = refused(item, name, {**clause.model_dump(), "arguments": nowhere})

    assert (made.reason, made.detail) == (Reason.FALSE_PASS, f"forbidden {name}")


def test_a_condition_is_as_the_world_is_and_the_other_branch_fails() -> None:
    both = 0
    for item, name, clause in having(Condition):
        observed = gold_of(item.task).observed
        value = derive_value(clause.source, item.task.instruction, observed)
        limit = derive_value(clause.value, item.task.instruction, observed)
        is_so = {"is": value == limit, "above": value > limit, "below": value < limit}

        assert clause.holds is is_so[clause.relation]
        assert clause.source.step < clause.step or not clause.step
        if clause.step and clause.otherwise:
            both += 1
            assert name in probes(item, "other_branch")
    assert both


def test_a_condition_said_the_other_way_is_refused() -> None:
    item, name, clause = having(Condition)[0]
    wrong = {**clause.model_dump(), "holds": not clause.holds}

    assert refused(item, name, wrong).reason is Reason.CLAUSES


def test_every_row_that_is_meant_has_its_write_and_one_left_out_fails() -> None:
    for item, name, clause in having(Every):
        left_out = probes(item, "every_but_one")

        assert left_out == [f"{name} {step}" for step in clause.steps]
        assert 2 <= len(clause.steps) <= 4
        assert len({item.task.gold[step].tool for step in clause.steps}) == 1


def test_a_write_for_every_row_must_name_all_of_them() -> None:
    item, name, clause = having(Every)[0]
    fewer = clause.model_copy(update={"steps": clause.steps[:-1]})

    assert refused(item, name, fewer.model_dump()).reason in (Reason.CLAUSES, Reason.STRUCTURE)


ROWS = (
    {"id": "a", "status": "open", "at": "2026-01-02"},
    {"id": "b", "status": "open", "at": "2026-01-01"},
    {"id": "c", "status": "closed", "at": "2026-01-03"},
)


@pytest.mark.parametrize(
    ("part", "wanted"),
    [
        ({}, ("a", "b", "c")),
        ({"where": {"status": "open"}}, ("a", "b")),
        ({"by": "at", "most": True}, ("a", "c")),
        ({"by": "at"}, ("a", "b")),
        ({"by": "status"}, None),
    ],
)
def test_the_rows_meant_are_read_off_the_list(part: dict[str, Any], wanted: Any) -> None:
    clause = Every.model_validate(
        {"start": 0, "end": 1, "step": "s1", "rows_path": (), "key": "id", "steps": ("s2", "s3")}
        | part
    )
    rows = ROWS if "by" not in part or part["by"] != "status" else (*ROWS[:2], ROWS[0])

    assert clause.chosen(rows) == wanted


def test_numbers_are_those_of_the_rows_and_another_number_fails() -> None:
    counted = [
        (item, field, source)
        for item in drawn()
        for field, source in item.task.answer.items()
        if isinstance(source, FromRows)
    ]
    assert counted
    for item, field, source in counted:
        found, rows = at_path(gold_of(item.task).observed[source.step], source.path)
        taken = [row for row in rows if all(row[key] == v for key, v in source.where.items())]
        number = len(taken) if source.operation == "count" else sum(r[source.field] for r in taken)

        assert found
        assert item.certificate.gold_answer[field] == number
        assert probes(item, "wrong_count")


def test_a_sum_over_a_row_without_its_number_cannot_be_derived() -> None:
    source = FromRows(step="s1", path=("rows",), operation="sum", field="amount")
    data = FrozenDict({"rows": ({"amount": 3}, {"amount": None})})

    with pytest.raises(ProvenanceError):
        derive_value(source, "", {"s1": data})
    assert derive_value(source, "", {"s1": {"rows": ({"amount": 3}, {"amount": 4})}}) == 7


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("9:00 tomorrow", "2026-03-03T09:00:00Z"),
        ("17:30 in two days", "2026-03-04T17:30:00Z"),
        ("8:00 the day after tomorrow", "2026-03-04T08:00:00Z"),
        ("7:00 a week from now", "2026-03-09T07:00:00Z"),
        ("7:00 some day", None),
        ("25:00 tomorrow", None),
        ("tomorrow", None),
    ],
)
def test_words_say_a_time_relative_to_the_clock(words: str, wanted: str | None) -> None:
    assert moment_at(words, "2026-03-02T23:10:05Z") == wanted


def test_a_relative_date_counts_from_the_clock_and_another_day_fails() -> None:
    dated = [item for item in drawn() if "date" in grammar_of(item.task)]
    assert dated
    for item in dated:
        for name, step in item.task.gold.items():
            for pointer, source in step.arguments.items():
                if isinstance(source, FromInstruction) and source.cast == "moment":
                    words = item.task.instruction[source.start : source.end]
                    given = item.certificate.gold_run[name].arguments[pointer[1:]]
                    assert given == moment_at(words, item.task.world.now)
                    assert given[:10] not in item.task.instruction
        assert probes(item, "wrong_day")


def test_tasks_read_back_as_they_were_and_plain_ones_are_written_as_before() -> None:
    for item in drawn():
        task, certificate = to_json(item.task), to_json(item.certificate)

        assert Task.model_validate(task) == item.task
        assert Certificate.model_validate(certificate) == item.certificate
        assert ("clauses" in task) is bool(item.task.clauses)
        assert ("forbidden" in certificate) is bool(item.certificate.forbidden)


def test_short_walks_make_plain_requests() -> None:
    system = system_of(builtin_services())
    made = [compose_task(system, Settings(k=2, walk_length=3), seed) for seed in range(8)]
    kinds = {kind for i in made if isinstance(i, ComposedTask) for kind in grammar_of(i.task)}

    assert kinds
    assert kinds <= {"plain", "pick"}


def test_rows_that_the_writes_name_are_held_against_the_list() -> None:
    item, _name, clause = having(Every)[0]
    observed = dict(gold_of(item.task).observed)

    assert every_problem(item.task, clause, observed) == ""
    assert "shows no rows" in every_problem(item.task, clause, {**observed, clause.step: None})
