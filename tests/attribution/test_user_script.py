"""A defect in the script of a task's user is the task's, and replays hear the same user again."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from attribution.attribute import attribute_trajectory
from attribution.interventions.budgets import plain_limits
from attribution.interventions.derivation import broken_task
from attribution.interventions.runs import arm_of, first_difference, replay, texts_of
from attribution.patchers.task import task_changes
from attribution.records import Decision, Party
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.task import Task
from components.records.trajectory import StopReason
from components.task.compose import ComposedTask, compose_task
from components.task.config import TaskConfig
from components.task.user import script_problems
from loop.composing import with_tasks
from loop.policy.config import ErrorRates
from tests.attribution.hand_made import bare_system
from tests.attribution.playing import NO_SLIPS, attribute_all, only, play_all, with_defect

SETTINGS = TaskConfig(
    count=None,
    k=2,
    walk_length=5,
    distractors=0,
    domains=(),
    multi_turn=1.0,
    max_drafts_per_task=20,
)
SKIPS = ErrorRates(skip_step=0.3, stale_value=0, wrong_argument=0, malformed_call=0)


@cache
def talks() -> System:
    """A system with three tasks whose users say at least three messages."""
    system, made = bare_system(), list[ComposedTask]()
    for seed in range(40):
        draft = compose_task(system, SETTINGS, seed)
        if isinstance(draft, ComposedTask) and len(moves_of(draft.task)) > 2:
            made.append(draft)
        if len(made) == 3:
            return with_tasks(system, made)
    raise AssertionError("too few drafts")


def moves_of(task: Task) -> Any:
    assert task.user is not None
    return task.user.moves


def one() -> tuple[System, Task]:
    name = sorted(talks().tasks)[0]
    return only(talks(), name), talks().tasks[name]


def broken(what: str) -> System:
    """The first task's system, its script broken."""
    system, task = one()
    names = sorted(moves_of(task))
    at, first = f"/user/moves/{names[0]}", moves_of(task)[names[0]]
    operations: dict[str, tuple[str, str, Any]] = {
        "a message is missing": ("remove", at, None),
        "a message waits for itself": ("replace", f"{at}/after", [names[0]]),
        "a message is cut off": ("replace", f"{at}/end", (first.start + first.end) // 2),
        "a message lies outside": ("replace", f"{at}/end", len(task.instruction) + 9),
    }
    return with_defect(system, f"task/{task.task_id}", operations[what])


DEFECTS = (
    "a message is missing",
    "a message waits for itself",
    "a message is cut off",
    "a message lies outside",
)


@pytest.mark.parametrize("what", DEFECTS)
def test_a_defect_of_the_script_is_found_as_the_tasks(what: str) -> None:
    system = broken(what)
    (task_id,) = system.tasks

    ((trajectory, scored),) = play_all(system, 1, NO_SLIPS)
    verdict = attribute_trajectory(system, trajectory, scored).verdict

    assert scored.passed is not True
    assert verdict.decision is Decision.BLAMED
    assert [blame.party for blame in verdict.blamed] == [Party.TASK]
    assert verdict.blamed[0].place.startswith(f"task/{task_id}#/user")


@pytest.mark.parametrize("what", DEFECTS)
def test_the_repair_makes_the_user_say_everything_again(what: str) -> None:
    system = broken(what)
    (task,) = system.tasks.values()
    place = f"task/{task.task_id}#/user/moves"

    change = next(iter(task_changes(system, place, ())))
    mended = with_defect(system, change.artifact, *change.operations)

    assert not list(script_problems(mended.tasks[task.task_id]))
    ((trajectory, scored),) = play_all(mended, 1, NO_SLIPS)
    assert (trajectory.stop_reason, scored.passed) == (StopReason.FINISHED, True)


def test_a_clean_script_is_evidence_against_nobody() -> None:
    for task_id, task in sorted(talks().tasks.items()):
        arm = arm_of(talks(), task_id)
        assert broken_task(talks(), task, arm.world) == ()
        assert plain_limits(arm) == ()


def test_who_skips_a_step_of_a_conversation_is_to_blame() -> None:
    played = play_all(talks(), 3, SKIPS)
    failed = [item for item in played if item[1].passed is False]

    parties = {
        blame.party for found in attribute_all(talks(), failed) for blame in found.verdict.blamed
    }

    assert len(failed) >= 2
    assert parties == {Party.POLICY}


def test_a_replay_hears_the_same_user() -> None:
    system, task = one()
    ((trajectory, _scored),) = play_all(system, 1, SKIPS)

    again = replay(arm_of(system, task.task_id), texts_of(trajectory))

    assert any(turn.user for turn in trajectory.turns)
    assert first_difference(trajectory, again.trajectory) is None
    spoken = next(index for index, turn in enumerate(trajectory.turns) if turn.user)
    other = trajectory.turns[spoken].model_copy(update={"user": "Something else."})
    turns = (*trajectory.turns[:spoken], other, *trajectory.turns[spoken + 1 :])
    changed = trajectory.model_copy(update={"turns": turns})
    assert first_difference(trajectory, changed) == spoken


def test_too_few_messages_to_the_user_are_the_harness_defect() -> None:
    system, task = one()
    system = with_defect(system, "harness", ("add", "/limits/max_user_turns", 1))

    ((trajectory, scored),) = play_all(system, 1, NO_SLIPS)
    verdict = attribute_trajectory(system, trajectory, scored).verdict

    assert trajectory.stop_reason is StopReason.MAX_USER_TURNS
    assert [blame.place for blame in verdict.blamed] == ["harness#/limits/max_user_turns"]
    assert isinstance(moves_of(task), FrozenDict)
