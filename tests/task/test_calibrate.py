"""Calibration: what an explicit request loses, that it stays solvable, and what is never edited."""

from __future__ import annotations

from functools import cache

import pytest

from components.environment.world import build_world
from components.evaluator.compile import compile_rubric
from components.records.task import FromInstruction, FromObservation, Task
from components.task.calibrate import MOST_LOOKUPS
from components.task.certify import certify
from components.task.compose import ComposedTask, compose_task
from components.task.gates import check_structure, length_of
from components.task.gold import run_gold
from components.task.graph import tool_graph
from components.task.measures import grammar_of
from components.task.reasons import Rejection
from tests.task.builders import Settings, system_of

SEEDS = range(16)


@cache
def pairs() -> tuple[tuple[Task, ComposedTask], ...]:
    """Return the explicit and the calibrated task of each seed that gives any."""
    found = []
    for seed in SEEDS:
        explicit = compose_task(system_of(), Settings(k=2, walk_length=4), seed)
        edited = compose_task(system_of(), Settings(k=2, walk_length=4, implicit=1.0), seed)
        assert isinstance(explicit, ComposedTask) == isinstance(edited, ComposedTask)
        if isinstance(explicit, ComposedTask) and isinstance(edited, ComposedTask):
            found.append((explicit.task, edited))
    return tuple(found)


def edited() -> list[tuple[Task, ComposedTask]]:
    return [(explicit, made) for explicit, made in pairs() if made.task.edits]


def test_a_task_that_nothing_can_be_edited_in_is_the_explicit_one() -> None:
    untouched = [(one, made.task) for one, made in pairs() if not made.task.edits]

    assert untouched
    assert all(one == task for one, task in untouched)


def test_edited_tasks_tell_their_explicit_form_and_are_measured_as_such() -> None:
    assert {edit.kind for _one, made in edited() for edit in made.task.edits} >= {"lookup", "join"}
    for explicit, made in edited():
        assert made.task.explicit == explicit.instruction != made.task.instruction
        assert made.task.task_id != explicit.task_id
        assert "implicit" in grammar_of(made.task)


def test_what_is_looked_up_is_not_said_any_more_and_gold_finds_it() -> None:
    looked = [
        (made.task, edit)
        for _one, made in edited()
        for edit in made.task.edits
        if edit.kind == "lookup"
    ]

    assert looked
    for task, edit in looked:
        assert edit.name in task.explicit
        assert edit.name not in task.instruction
        sources = [item for step in task.gold.values() for item in step.arguments.values()]
        assert any(isinstance(item, FromObservation) and item.step == edit.step for item in sources)
        assert all(
            isinstance(item, FromInstruction) for item in task.gold[edit.step].arguments.values()
        )


def test_lookups_come_on_top_of_the_walk_and_are_few() -> None:
    for explicit, made in edited():
        lookups = [edit for edit in made.task.edits if edit.kind == "lookup"]
        assert len(lookups) <= MOST_LOOKUPS
        assert length_of(made.task) == length_of(explicit) == 4
        assert len(made.task.gold) == len(explicit.gold) + len(lookups)


def test_a_walk_that_calls_one_service_twice_is_refused_where_no_lookup_explains_it() -> None:
    task = next(
        made.task
        for _one, made in edited()
        for edit in made.task.edits
        if edit.kind == "lookup"
        and made.task.gold[edit.step].service
        == made.task.gold[
            sorted(made.task.gold)[sorted(made.task.gold).index(edit.step) + 1]
        ].service
    )
    graph = tool_graph(system_of(), task.world.services)

    assert check_structure(task, graph) is None
    refused = check_structure(task.model_copy(update={"edits": ()}), graph)
    assert refused is not None
    assert "twice in a row" in refused.detail


def test_a_joined_sentence_says_it_for_what_was_just_named() -> None:
    said = [
        made.task.instruction
        for _one, made in edited()
        if any(edit.kind == "join" for edit in made.task.edits)
    ]

    assert any(" it " in text or text.endswith(" it.") for text in said)
    assert not any(" of it" in text for text in said)


def test_certificates_of_calibrated_tasks_hold_again() -> None:
    for _one, made in edited()[:3]:
        world = build_world(system_of(), made.task.world)
        gold = run_gold(world, made.task)
        assert not isinstance(gold, Rejection)
        rubric = compile_rubric(
            made.task, [gold.records[name] for name in gold.names], world, gold.answer
        )
        assert certify(system_of(), made.task, rubric, world) == made.certificate


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_the_degree_is_the_share_of_places(share: float) -> None:
    counts = []
    for seed in SEEDS:
        made = compose_task(system_of(), Settings(k=2, walk_length=4, implicit=share), seed)
        counts.append(len(made.task.edits) if isinstance(made, ComposedTask) else 0)
    most = sum(len(made.task.edits) for _one, made in pairs())

    assert sum(counts) == 0 if share == 0 else 0 < sum(counts) < most


def test_draws_of_words_and_distractors_stay_as_they_were() -> None:
    for explicit, made in edited():
        assert made.task.world == explicit.world
        assert made.task.answer_schema == explicit.answer_schema
