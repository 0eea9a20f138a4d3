"""A request means the same to whoever does it sentence by sentence."""

from __future__ import annotations

from components.environment.world import build_world
from components.records.frozen import FrozenDict
from components.records.task import FromObservation
from components.task.certify import certify
from components.task.order import check_order
from components.task.reasons import Reason, Rejection
from tests.task.builders import builtin_system, changed, composed, gold_of, rubric_of


def test_admitted_tasks_come_out_the_same_when_their_reads_are_made_late() -> None:
    for item in composed(2, 6, 8):
        world = build_world(builtin_system(), item.task.world)

        assert check_order(world, item.task, gold_of(item.task)) is None


def test_an_answer_that_has_changed_by_its_turn_is_refused() -> None:
    found = 0
    for item in composed(2, 3, 4):
        task = item.task
        again = {name: step.revisit_of for name, step in task.gold.items() if step.revisit_of}
        answer = {
            field: source.model_copy(update={"step": again[source.step]})
            for field, source in task.answer.items()
            if isinstance(source, FromObservation) and source.step in again
        }
        if not answer or set(answer) != set(task.answer):
            continue
        stale = changed(task, answer=FrozenDict(answer))
        world = build_world(builtin_system(), task.world)

        refused = check_order(world, stale, gold_of(stale))

        assert isinstance(refused, Rejection)
        assert refused.reason is Reason.OUT_OF_ORDER
        found += 1
    assert found > 0


def test_a_word_said_twice_in_a_row_is_refused() -> None:
    (item, *_others) = composed(2, 6, 8)
    clumsy = changed(item.task, instruction=item.task.instruction + " Thank you you.")

    refused = certify(builtin_system(), clumsy, rubric_of(clumsy))

    assert isinstance(refused, Rejection)
    assert refused.reason is Reason.CLUMSY
