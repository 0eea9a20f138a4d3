"""Claims about what is held out: it is told by names alone, and nothing of it is ever learned."""

from __future__ import annotations

import asyncio
import re

import pytest

from components.environment.identity import Same
from components.records.base import to_json
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.task import RejectedDraft
from components.task.config import TaskConfig
from components.task.duplicates import calls_of
from loop.policy.config import ErrorRates
from loop.train import split
from loop.train.gold import GoldDraft, GoldWay, draft_gold
from loop.train.split import (
    Kind,
    entities_of,
    held_out_names,
    is_held_out,
    kind_of,
    named_in,
)
from tests.task.builders import builtin_system
from tests.train.gold_tasks import drafts, sizes, way, with_harness

NUM = 36


@pytest.fixture(scope="module")
def found() -> tuple[GoldDraft, ...]:
    return drafts(NUM)


def test_no_trained_task_turns_on_a_held_out_entity(found: tuple[GoldDraft, ...]) -> None:
    environment = builtin_system().environment
    for draft in found:
        entities = entities_of(environment, draft.task, draft.certificate)
        assert entities
        if draft.kind is Kind.TRAIN:
            assert not any(map(is_held_out, entities))
        if draft.kind is Kind.ENTITY:
            assert any(map(is_held_out, entities))


def test_nothing_that_is_learned_names_a_held_out_entity(found: tuple[GoldDraft, ...]) -> None:
    names = sorted(held_out_names(builtin_system().environment))
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names))
    train = [draft for draft in found if draft.kind is Kind.TRAIN]

    assert len(train) > 10
    for draft in train:
        assert not pattern.search(draft.task.instruction)
        for turn in draft.trajectory.turns:
            if turn.index not in draft.slips:
                assert not pattern.search(turn.raw_text)


def test_patterns_and_sets_of_services_are_either_trained_or_held_out(
    found: tuple[GoldDraft, ...],
) -> None:
    def of(*kinds: Kind) -> list[GoldDraft]:
        return [draft for draft in found if draft.kind in kinds]

    usual = of(Kind.TRAIN, Kind.FAMILIAR, Kind.ENTITY)
    trained = {calls_of(draft.task) for draft in usual}
    sets = {draft.task.world.services for draft in usual}

    assert not trained & {calls_of(draft.task) for draft in of(Kind.SEQUENCE)}
    assert not sets & {draft.task.world.services for draft in of(Kind.SERVICES)}


def test_a_share_of_every_name_is_held_out() -> None:
    rows = [f"service/table/row_{number}" for number in range(4000)]

    assert 0.10 < sum(map(is_held_out, rows)) / len(rows) < 0.15


def test_the_split_is_fixed() -> None:
    assert is_held_out("directory/employee/emp_81955a")
    assert not is_held_out("directory/employee/emp_7a3336")


def test_a_mailbox_is_its_person_and_a_code_is_its_ticket() -> None:
    names = split._names_of(Same(builtin_system().environment))

    person = next(named_in(names, "emp_81955a"))
    assert person == "directory/employee/emp_81955a"
    assert set(named_in(names, "from amara.diallo@harborline.example to Amara Diallo")) == {person}
    assert list(named_in(names, "ticket HD-1023")) == ["helpdesk/ticket/tkt_09b658"]
    assert list(named_in(names, "HD-10234, XHD-1023 and 2026-03-02T09:00:00Z")) == []


def test_a_row_that_only_changes_counts_too() -> None:
    draft = next(item for item in drafts(NUM) if item.kind is Kind.TRAIN)
    environment = builtin_system().environment
    step = max(draft.certificate.gold_run)
    record = draft.certificate.gold_run[step]
    change = {
        "service": "directory",
        "table": "employee",
        "row_id": "emp_81955a",
        "before": {"id": "emp_81955a"},
        "after": {"id": "emp_81955a"},
        "cause": "reaction:r",
    }
    touched = type(record).model_validate(
        {**to_json(record), "changes": [*to_json(record)["changes"], change]}
    )
    certificate = draft.certificate.model_copy(
        update={"gold_run": FrozenDict({**draft.certificate.gold_run, step: touched})}
    )

    assert kind_of(environment, draft.task, certificate) is Kind.ENTITY


def test_a_draft_depends_on_its_number_and_seed_alone() -> None:
    system = with_harness(builtin_system())

    def draw(number: int, **given: float) -> GoldDraft | RejectedDraft:
        return asyncio.run(draft_gold(system, sizes(), way(**given), number))

    assert draw(3) == draw(3) == next(item for item in [draw(3)])
    assert draw(3) != draw(3, seed=1)


def test_gold_passes_and_slips_are_marked(found: tuple[GoldDraft, ...]) -> None:
    assert all(draft.scored.passed for draft in found)
    slipped = [draft for draft in found if draft.slips]

    assert slipped
    assert all(draft.kind is Kind.TRAIN for draft in slipped)
    for draft in slipped:
        kept = [turn for turn in draft.trajectory.turns if turn.index not in draft.slips]
        gold = [record.arguments for record in draft.certificate.gold_run.values()]
        calls = [call for turn in kept for call in turn.calls if call.name != "read_more"]
        assert calls[-1].arguments == {"answer": draft.certificate.gold_answer}
        assert all(call.arguments in gold for call in calls[:-1])


def test_walks_are_drawn_up_to_the_length_asked_for(found: tuple[GoldDraft, ...]) -> None:
    assert {len(draft.task.gold) for draft in found} == {3, 4, 5}


def test_without_a_share_nothing_slips() -> None:
    system: System = with_harness(builtin_system())
    none = ErrorRates(skip_step=0, stale_value=0, wrong_argument=0.5, malformed_call=0.5)
    settings = GoldWay(
        seed=0, shorter_walks=False, fewer_distractors=False, slip_share=0.0, error_rates=none
    )
    task = TaskConfig(
        count=None, k=2, walk_length=3, distractors=1, domains=(), max_drafts_per_task=1
    )

    made = [asyncio.run(draft_gold(system, task, settings, number)) for number in range(6)]

    drafted = [item for item in made if isinstance(item, GoldDraft)]
    assert drafted
    assert not any(item.slips for item in drafted)
    assert {len(item.task.gold) for item in drafted} == {3}
