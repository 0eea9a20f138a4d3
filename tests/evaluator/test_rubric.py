"""What each criterion means, and what is left unscored."""

from __future__ import annotations

from typing import Any

import pytest

from components.evaluator.rubric import NOT_REPLAYED, is_pass, score_criteria, score_group
from components.records.frozen import FrozenDict
from components.records.rubric import EvaluatorSettings, Rubric
from components.records.trajectory import CriterionScore, Failure, ScoreStatus, StopReason
from tests.evaluator.builders import Call, call, json_object, play, system, task, trajectory, world

CLOSED = {
    "kind": "row_fields",
    "text": "Ticket 1 is closed.",
    "service": "desk",
    "table": "ticket",
    "where": {"id": "tkt_1"},
    "fields": {"status": "closed"},
}
NOTICE = {
    "kind": "row_fields",
    "text": "There is a notice.",
    "service": "mail",
    "table": "message",
    "where": {"about": "tkt_1"},
    "new_only": True,
}
ANSWER = {"kind": "answer_field", "text": "It is 2.", "field": "open", "expected": 2}


def rubric(**criteria: Any) -> Rubric:
    return Rubric.model_validate({"task_id": "t_1", "criteria": criteria})


def score(criterion: dict[str, Any], *calls: Call, answer: Any = None) -> CriterionScore:
    final = play(*calls).final
    given = None if answer is None else json_object(answer)
    scores = score_criteria(
        rubric(it=criterion), EvaluatorSettings(), world().initial, final, given
    )
    return scores["it"]


def test_row_is_bound_by_query_and_its_fields_count() -> None:
    close = call("desk.update_ticket", ticket_id="tkt_1", status="closed")

    assert score(CLOSED, close).value == 1.0
    assert score(CLOSED).value == 0.0
    assert score(CLOSED).detail == "status: expected 'closed', found 'open'"


def test_exactly_as_many_rows_as_named_must_match() -> None:
    two = {**CLOSED, "where": {"status": "open"}, "fields": {}, "count": 2}
    close = call("desk.update_ticket", ticket_id="tkt_1", status="closed")

    assert score(two, close).value == 1.0
    assert score(two).detail == "3 rows match, 2 should"


def test_new_only_leaves_the_seed_out() -> None:
    new = {**CLOSED, "where": {"subject": "PRINTER jam"}, "fields": {}, "new_only": True}
    create = call("desk.create_ticket", subject="Printer Jam", priority="low")

    assert score(new).value == 0.0
    assert score(new, create).value == 1.0


def test_text_must_hold_the_fact() -> None:
    noted = {**CLOSED, "fields": {}, "facts": {"notes": ["12"]}}

    right = score(noted, call("desk.append_notes", ticket_id="tkt_1", notes="took 12 hours"))
    wrong = score(noted, call("desk.append_notes", ticket_id="tkt_1", notes="took 112 hours"))

    assert right.value == 1.0
    assert wrong.value == 0.0


def test_row_must_be_gone() -> None:
    gone = {
        "kind": "row_absent",
        "text": "Gone.",
        "service": "desk",
        "table": "ticket",
        "row_id": "tkt_3",
    }

    assert score(gone).value == 0.0
    assert score(gone, call("desk.delete_ticket", ticket_id="tkt_3")).value == 1.0


def test_id_of_a_bound_row_is_followed() -> None:
    created = call("desk.create_ticket", subject="New", priority="low")
    settings = EvaluatorSettings()
    criteria = {
        "ticket": {**CLOSED, "where": {"subject": "New"}, "fields": {}, "new_only": True},
        "comment": {
            **CLOSED,
            "table": "comment",
            "where": {"ticket_id": {"@row_of": "ticket"}},
            "fields": {},
            "new_only": True,
        },
    }
    right = play(created, call("desk.add_comment", ticket_id="#0.id", body="x")).final
    wrong = play(created, call("desk.add_comment", ticket_id="tkt_1", body="x")).final

    for final, value in ((right, 1.0), (wrong, 0.0)):
        scores = score_criteria(rubric(**criteria), settings, world().initial, final, None)
        assert (scores["comment"].value, scores["ticket"].value) == (value, 1.0)


UNTOUCHED = {
    "kind": "untouched",
    "text": "Nothing else changed.",
    "allowed": {"desk/ticket/tkt_1": ["status", "updated_at"], "desk/ticket/tkt_3": ["*"]},
    "max_new": {"desk/comment": 1},
}
COMMENT = call("desk.add_comment", ticket_id="tkt_2", body="x")


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [call("desk.get_ticket", ticket_id="tkt_2")],
        [call("desk.update_ticket", ticket_id="tkt_1", status="pending"), COMMENT],
        [call("desk.delete_ticket", ticket_id="tkt_3")],
    ],
)
def test_allowed_changes_leave_the_rest_untouched(calls: list[Call]) -> None:
    assert score(UNTOUCHED, *calls) == CriterionScore(status=ScoreStatus.SCORED, value=1.0)


@pytest.mark.parametrize(
    ("calls", "detail"),
    [
        (
            [call("desk.update_ticket", ticket_id="tkt_1", priority="high")],
            "desk/ticket/tkt_1: priority changed from 'normal' to 'high'",
        ),
        ([call("desk.delete_ticket", ticket_id="tkt_1")], "desk/ticket/tkt_1 is gone"),
        (
            [call("desk.set_tags", ticket_id="tkt_2", tags=["slow", "lan"])],
            "desk/ticket/tkt_2: tags changed from ('lan', 'slow') to ('slow', 'lan')",
        ),
        ([COMMENT, call("desk.add_comment", ticket_id="tkt_2", body="y")], "is new; 1 may be"),
        ([call("mail.send", to="a", subject="b", body="c")], "is new; 0 may be"),
    ],
)
def test_collateral_change_is_found(calls: list[Call], detail: str) -> None:
    found = score(UNTOUCHED, *calls)

    assert found.value == 0.0
    assert detail in found.detail


@pytest.mark.parametrize("answer", [{"open": 2}, {"open": 2.0}])
def test_right_answer_is_met(answer: dict[str, Any]) -> None:
    assert score(ANSWER, answer=answer).value == 1.0


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        {"open": "2"},
        {"open": [2]},
        {"open": [1, 2, 3]},
        {"open": "2 or 3"},
        {"open": None},
        {"open": {"open": 2}},
        {"open": 2, "or_maybe": 3},
        {"Open": 2},
    ],
)
def test_wrong_shotgun_and_hedged_answers_are_not_met(answer: Any) -> None:
    assert score(ANSWER, answer=answer).value == 0.0


@pytest.mark.parametrize(
    ("criterion", "reason"),
    [
        ({**CLOSED, "table": "tickets"}, "there is no table desk.tickets"),
        ({**CLOSED, "service": "disk"}, "there is no table disk.ticket"),
        ({**CLOSED, "fields": {"state": "closed"}}, "desk.ticket has no field 'state'"),
        ({**CLOSED, "where": {"key": "tkt_1"}}, "desk.ticket has no field 'key'"),
        ({**CLOSED, "where": {"id": {"@row_of": "none"}}}, "'none' is no criterion"),
        ({**CLOSED, "where": {"id": {"@row_of": "it"}}}, "'it' refers to itself"),
        ({**UNTOUCHED, "max_new": {"desk/tickets": 1}}, "there is no table desk.tickets"),
        ({**UNTOUCHED, "allowed": {"nonsense": ["*"]}}, "criterion it: ValueError"),
    ],
)
def test_what_cannot_be_decided_is_unscored_with_the_reason(
    criterion: dict[str, Any], reason: str
) -> None:
    found = score(criterion)

    assert (found.status, found.value) == (ScoreStatus.UNSCORED, None)
    assert reason in found.detail


def scored(value: float | None) -> CriterionScore:
    status = ScoreStatus.UNSCORED if value is None else ScoreStatus.SCORED
    return CriterionScore(status=status, value=value)


@pytest.mark.parametrize(
    ("values", "threshold", "passed"),
    [
        ((1.0, 1.0), 1.0, True),
        ((1.0, 0.0), 1.0, False),
        ((1.0, None), 1.0, None),
        ((0.0, None), 1.0, None),
        ((1.0, 0.0), 0.75, True),
        ((0.0, 1.0), 0.75, False),
    ],
)
def test_pass_needs_the_threshold_by_weight(
    values: tuple[float | None, float | None], threshold: float, passed: bool | None
) -> None:
    both = rubric(a={**CLOSED, "weight": 3.0}, b=ANSWER)
    scores = FrozenDict({"a": scored(values[0]), "b": scored(values[1])})

    assert is_pass(scores, both, EvaluatorSettings(pass_threshold=threshold)) is passed


def test_missing_score_or_empty_rubric_is_no_pass() -> None:
    assert is_pass(FrozenDict(), rubric(a=CLOSED), EvaluatorSettings()) is None
    assert is_pass(FrozenDict(), rubric(), EvaluatorSettings()) is None


CLOSE = call("desk.update_ticket", ticket_id="tkt_1", status="closed")


def test_group_is_rewarded_over_its_scored_members() -> None:
    # Scored members: (closed, notice, answer) = (1, 1, 1), (1, 1, 0), (0, 0, 0).
    # p = (2/3, 2/3, 1/3); weights 5/6, 5/6, 7/6 of 17/6; the second has 10/17.
    here = system(rubric(closed=CLOSED, notice=NOTICE, answer=ANSWER))
    broken = Failure(boundary="provider", message="timed out")
    group = [
        trajectory(CLOSE, answer={"open": 2}, rollout_id="r_1"),
        trajectory(CLOSE, answer={"open": 2}, rollout_id="r_2", failure=broken),
        trajectory(CLOSE, answer={"open": 3}, rollout_id="r_3"),
        trajectory(rollout_id="r_4", stop_reason=StopReason.MAX_TURNS),
    ]

    found = score_group(here, task(), group)

    assert [item.rollout_id for item in found] == ["r_1", "r_2", "r_3", "r_4"]
    assert [item.passed for item in found] == [True, None, False, False]
    assert found[1].reward is None
    assert found[1].status is ScoreStatus.UNSCORED
    assert found[1].reason == "provider failed: timed out"
    rewards = [item.reward for item in found if item.reward is not None]
    assert rewards == pytest.approx([1.0, 10 / 17, 0.0])


def test_calls_that_do_not_replay_leave_only_their_trajectory_unscored() -> None:
    here = system(rubric(closed=CLOSED))
    right = trajectory(CLOSE, rollout_id="r_1")
    other_end = right.model_copy(update={"rollout_id": "r_2", "final_state": "0" * 32})
    other_start = right.model_copy(update={"rollout_id": "r_3", "initial_state": "0" * 32})
    turn = right.turns[0]
    record = turn.observations[0].call
    assert record is not None
    forged = record.model_copy(update={"state_after": "1" * 32})
    seen = turn.observations[0].model_copy(update={"call": forged})
    on_the_way = right.model_copy(
        update={
            "rollout_id": "r_4",
            "turns": (turn.model_copy(update={"observations": (seen,)}),),
        }
    )

    found = score_group(here, task(), [other_end, right, other_start, on_the_way])

    assert [item.passed for item in found] == [None, True, None, None]
    assert found[1].reward == 1.0
    for item in (found[0], found[2], found[3]):
        assert NOT_REPLAYED in item.reason
        assert item.reward is None


def test_exception_while_scoring_leaves_siblings_scored() -> None:
    # A hash that is no text breaks the comparison itself, not its result.
    here = system(rubric(closed=CLOSED))
    good = trajectory(CLOSE, rollout_id="r_1")
    bad = trajectory(CLOSE, rollout_id="r_2").model_copy(update={"turns": (None,)})

    found = score_group(here, task(), [bad, good])

    assert (found[0].status, found[0].reward) == (ScoreStatus.UNSCORED, None)
    assert "score: AttributeError" in found[0].reason
    assert (found[1].passed, found[1].reward) == (True, 1.0)


def test_undecided_criterion_leaves_the_trajectory_unscored_and_keeps_the_others() -> None:
    here = system(rubric(closed=CLOSED, other={**CLOSED, "table": "tickets"}))

    [found] = score_group(here, task(), [trajectory(CLOSE)])

    assert found.status is ScoreStatus.UNSCORED
    assert found.reason == "undecided: other"
    assert found.criteria["closed"].value == 1.0
    assert found.reward is None


def test_group_without_rubric_or_world_is_unscored() -> None:
    lost = task(world={"services": ["desk", "nothing"], "now": "2025-03-01T09:00:00Z"})

    [no_rubric] = score_group(system(), task(), [trajectory()])
    [no_world] = score_group(system(rubric(closed=CLOSED)), lost, [trajectory()])

    assert no_rubric.reason == "the task has no rubric"
    assert no_world.reason == "world: no service 'nothing'"
    assert {no_rubric.status, no_world.status} == {ScoreStatus.UNSCORED}


def test_trajectory_of_another_task_is_unscored() -> None:
    here = system(rubric(closed=CLOSED))

    [found] = score_group(here, task(), [trajectory(CLOSE, task_id="t_2")])

    assert found.reason == "it is a trajectory of task t_2"
