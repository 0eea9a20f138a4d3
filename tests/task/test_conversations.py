"""Requests said bit by bit, as composed: what is held back, put right and given up again."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from jsonpointer import set_pointer

from attribution.patchers.task import respelled_steps
from components.environment.world import build_world
from components.evaluator.rubric import is_pass, score_criteria
from components.records.base import to_json
from components.records.task import FromInstruction, Task
from components.records.user import MoveKind
from components.task.certify import certify, recertify
from components.task.compose import ComposedTask, compose_task
from components.task.gold import Gold, run_gold
from components.task.measures import grammar_of
from components.task.provenance import UNSAID, ProvenanceError, derive_arguments
from components.task.reasons import Reason, Rejection
from components.task.user import said_by, script_problems
from components.task.user_gates import check_user, late_values, user_lines
from loop.composing import with_tasks
from loop.rehearsal import rehearsed
from tests.task.builders import Settings, changed, system_of

NUM = 8


@cache
def drafts() -> tuple[ComposedTask, ...]:
    settings = Settings(k=3, walk_length=6, multi_turn=1.0)
    made = [compose_task(system_of(), settings, seed) for seed in range(NUM)]
    return tuple(item for item in made if isinstance(item, ComposedTask))


def draft_with(kind: MoveKind) -> ComposedTask:
    return next(
        item
        for item in drafts()
        if any(move.kind is kind for move in user_of(item.task).moves.values())
    )


def user_of(task: Task) -> Any:
    assert task.user is not None
    return task.user


def gold_of(task: Task) -> Gold:
    gold = run_gold(build_world(system_of(), task.world), task)
    assert isinstance(gold, Gold)
    return gold


def test_every_draft_with_a_user_says_its_request_in_several_messages() -> None:
    tasks = [item.task for item in drafts()]

    assert len(tasks) >= NUM - 2
    assert {task.kind for task in tasks} == {"multi_turn"}
    assert all(len(user_of(task).moves) >= 2 for task in tasks)
    assert all(not list(script_problems(task)) for task in tasks)
    kinds = {kind for task in tasks for kind in grammar_of(task)}
    assert {"user", "correct", "change_mind"} <= kinds


def test_a_share_of_none_leaves_every_task_as_it_was() -> None:
    made = compose_task(system_of(), Settings(k=3, walk_length=6), 1)

    assert isinstance(made, ComposedTask)
    assert (made.task.kind, made.task.user, made.task.policy_rules) == ("single_turn", None, ())


def test_a_corrected_value_is_derived_only_after_the_correction() -> None:
    task = draft_with(MoveKind.CORRECT).task
    gold, names = gold_of(task), sorted(user_of(task).moves)
    name = next(n for n, move in user_of(task).moves.items() if move.kind is MoveKind.CORRECT)
    ((step, pointer),) = late_values(task, user_of(task).moves[name])
    before = names[: names.index(name)]

    with pytest.raises(ProvenanceError, match="has not said it"):
        derive_arguments(task.gold[step], said_by(task, before), gold.observed)
    found = derive_arguments(task.gold[step], said_by(task, [*before, name]), gold.observed)
    assert found == gold.records[step].arguments
    source = task.gold[step].arguments[pointer]
    assert isinstance(source, FromInstruction)
    assert UNSAID in said_by(task, before)[source.start : source.end]


def test_whoever_does_not_listen_fails() -> None:
    made = draft_with(MoveKind.CORRECT)
    task, system = made.task, system_of()
    world, gold = build_world(system, task.world), gold_of(task)

    lines = list(user_lines(world, task, gold))

    assert {kind for kind, *_rest in lines} == {"part_only", "uncorrected"}
    for _kind, _target, final, answer in lines:
        settings = system.evaluator.settings
        scores = score_criteria(made.rubric, settings, gold.initial, final, answer)
        assert is_pass(scores, made.rubric, settings) is False


def test_what_the_user_gives_up_must_not_be_done() -> None:
    made = draft_with(MoveKind.CHANGE_MIND)
    task = made.task
    move = next(item for item in user_of(task).moves.values() if item.kind is MoveKind.CHANGE_MIND)

    inside = [c for c in task.clauses.values() if move.start <= c.start and c.end <= move.end]

    assert [clause.kind for clause in inside] == ["restraint"]
    probes = made.certificate.probes.values()
    assert any(probe.kind == "forbidden" and not probe.did_pass for probe in probes)


def test_the_same_seed_makes_the_same_task_and_its_certificate_holds() -> None:
    made = drafts()[0]
    again = compose_task(system_of(), Settings(k=3, walk_length=6, multi_turn=1.0), made.task.seed)

    assert again == made
    system = with_tasks(system_of(), [made])
    assert recertify(system, made.task.task_id) == made.certificate


def damaged(task: Task, what: str) -> Task:
    body = user_of(task).model_dump()
    names = sorted(body["moves"])
    if what == "unsaid":
        del body["moves"][names[0]]
    elif what == "waits for ever":
        body["moves"][names[0]]["after"] = (names[0],)
    elif what == "cut":
        body["moves"][names[-1]]["end"] -= 9
    elif what == "said too early":
        body["opening"] = len(task.instruction)
    return changed(task, user=body)


@pytest.mark.parametrize("what", ["unsaid", "waits for ever", "cut", "said too early"])
def test_a_script_that_does_not_fit_is_refused(what: str) -> None:
    made = draft_with(MoveKind.CORRECT)

    refused = certify(system_of(), damaged(made.task, what), made.rubric)

    assert isinstance(refused, Rejection)
    assert refused.reason is Reason.USER


def test_a_value_that_was_said_before_needs_no_correction() -> None:
    made = draft_with(MoveKind.CORRECT)
    task = made.task
    move = next(item for item in user_of(task).moves.values() if item.kind is MoveKind.CORRECT)
    ((step, pointer),) = late_values(task, move)
    source: Any = task.gold[step].arguments[pointer]
    value = task.instruction[source.start : source.end]
    body = to_json(task)
    for _operation, at, moved in respelled_steps(body, [(0, 0, f"It is about {value}. ")]):
        set_pointer(body, at, moved)
    told = Task.model_validate(body)

    assert user_of(told).opening == user_of(task).opening + len(f"It is about {value}. ")
    refused = check_user(told, gold_of(told))
    assert isinstance(refused, Rejection)
    assert "was said before" in refused.detail


def test_gold_passes_in_the_real_harness_or_the_draft_is_refused() -> None:
    made = draft_with(MoveKind.CORRECT)
    body = user_of(made.task).model_dump()
    moves = user_of(made.task).moves
    del body["moves"][next(key for key in moves if moves[key].kind is MoveKind.CORRECT)]
    lost = ComposedTask(
        task=changed(made.task, user=body), rubric=made.rubric, certificate=made.certificate
    )

    assert rehearsed(system_of(), made) is made
    refused = rehearsed(system_of(), lost)
    assert getattr(refused, "reason", "") == "user"
