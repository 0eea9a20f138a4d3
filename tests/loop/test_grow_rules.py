"""The rules of growth one by one: the ladder, the budget, and what prevails."""

from __future__ import annotations

from typing import Any

import pytest

from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.task import Task
from components.task.compose import ComposedTask, compose_task
from components.task.config import TaskConfig
from components.task.measures import grammar_of
from loop.growth.mixes import prevailing, tools_of
from loop.growth.records import Rule, Shape, ShapeFigures, shape_words
from loop.growth.seen import Before
from loop.growth.shapes import Top, harder_than, num_to_judge, wanted_shapes
from loop.growth.spending import in_the_way, shares_of
from loop.growth.wants import Look, Want
from tests.loop.configs import bare_system, run_config

START = TaskConfig(
    count=None, k=2, walk_length=3, distractors=0, domains=(), max_drafts_per_task=20
)


def top(**changes: int) -> Top:
    values: dict[str, Any] = {"k": 4, "walk_length": 6, "distractors": 2, "num_services": 12}
    return Top(**{**values, **changes})


def shape(k: int, walk_length: int, distractors: int = 0) -> Shape:
    return Shape(k=k, walk_length=walk_length, distractors=distractors)


def figures(of: Shape, solved: int, tasks: int, *, is_mastered: bool) -> ShapeFigures:
    return ShapeFigures(shape=of, tasks=tasks, solved=solved, low=0.0, is_mastered=is_mastered)


def want(rule: Rule, lacks: int) -> Want:
    return Want(rule=rule, subject="", why="", figures={}, lacks=lacks, settings=START)


def climbed(end: Top) -> list[tuple[int, int, int]]:
    """Return every shape of the ladder above its foot."""
    found, at = [], harder_than(shape(2, 3), START, end)
    while at is not None:
        found.append((at.walk_length, at.k, at.distractors))
        at = harder_than(at, START, end)
    return found


def test_the_ladder_raises_calls_then_services_then_what_is_in_the_way() -> None:
    assert climbed(top()) == [
        (4, 2, 0), (4, 3, 0), (4, 3, 1), (5, 3, 1), (5, 4, 1), (5, 4, 2), (6, 4, 2),
    ]  # fmt: skip


def test_the_ladder_passes_over_what_has_no_room() -> None:
    assert climbed(top(k=2, walk_length=4)) == [(4, 2, 0), (4, 2, 1), (4, 2, 2)]
    assert climbed(top(num_services=2)) == [(4, 2, 0), (5, 2, 0), (6, 2, 0)]
    assert climbed(top(max_turns=9)) == [(3, 2, 1), (3, 2, 2)]


@pytest.mark.parametrize(("mastery", "tasks"), [(0.3, 2), (0.5, 4), (0.6, 6), (0.9, 35)])
def test_so_many_solved_tasks_call_a_shape_solved(mastery: float, tasks: int) -> None:
    assert num_to_judge(mastery) == tasks


def test_a_step_is_wanted_until_there_are_enough_tasks_to_judge_it() -> None:
    easy, next_one = shape(2, 3), shape(2, 4)
    solved = figures(easy, 8, 8, is_mastered=True)

    def lacking(*shapes: ShapeFigures) -> list[tuple[str, int]]:
        found = wanted_shapes(shapes, START, top(), 0.5)
        return [(shape_words(harder), lacks) for _, harder, lacks in found]

    assert lacking(figures(easy, 5, 8, is_mastered=False)) == []
    assert lacking(solved) == [("2 services, 4 calls", 4)]
    assert lacking(solved, figures(next_one, 1, 3, is_mastered=False)) == [
        ("2 services, 4 calls", 1)
    ]
    assert lacking(solved, figures(next_one, 1, 4, is_mastered=False)) == []
    assert lacking(solved, figures(next_one, 4, 4, is_mastered=True)) == [
        ("3 services, 4 calls", 4)
    ]


def test_each_rule_gets_its_part_of_a_round() -> None:
    harder, wider, other = (
        [want(Rule.COMPLEXITY, 4)],
        [want(Rule.BREADTH, 1), want(Rule.BREADTH, 1)],
        [want(Rule.DIVERSITY, 9)],
    )
    every = {Rule.COMPLEXITY: harder, Rule.BREADTH: wider, Rule.DIVERSITY: other}

    assert list(shares_of(every, 4).values()) == [2, 1, 1]
    assert list(shares_of(every, 10).values()) == [4, 2, 4]
    assert list(shares_of({Rule.DIVERSITY: other}, 4).values()) == [0, 0, 4]
    assert list(shares_of({Rule.BREADTH: wider}, 4).values()) == [0, 2, 0]
    assert list(shares_of(every, 0).values()) == [0, 0, 0]


@pytest.fixture(scope="module")
def composed() -> tuple[System, dict[int, list[Task]]]:
    """A system, and plain tasks of three and five calls with one that has a clause at the end."""
    config = run_config("environment.services=[directory,payments]")
    system = bare_system(config)
    found: dict[int, list[Task]] = {3: [], 5: []}
    for length, tasks in found.items():
        settings = config.task.model_copy(update={"walk_length": length})
        with_clause: list[Task] = []
        for seed in range(40):
            made = compose_task(system, settings, seed)
            if isinstance(made, ComposedTask):
                (tasks if grammar_of(made.task) == ["plain"] else with_clause).append(made.task)
            if len(tasks) >= 4 and (length == 3 or with_clause):
                break
        found[length] = [*tasks[:4], *with_clause[:1]]
    return system, found


def test_what_tasks_have_no_room_for_is_not_missed_in_them(
    composed: tuple[System, dict[int, list[Task]]],
) -> None:
    system, tasks = composed

    short = list(prevailing(tasks[3], tools_of(system), 0.6))
    few = list(prevailing(tasks[3][:3], tools_of(system), 0.6))

    assert [(item.mix.name, item.kind, item.share) for item in short] == [
        ("conversation", "said at once", 1.0)
    ]
    assert few == []


def test_where_plain_requests_prevail_one_with_a_clause_is_another_kind(
    composed: tuple[System, dict[int, list[Task]]],
) -> None:
    system, tasks = composed
    *plain, other = tasks[5]
    tools = tools_of(system)

    found = {item.mix.name: item for item in prevailing(tasks[5], tools, 0.6)}
    clauses = found["clauses"]

    assert (clauses.kind, clauses.count, clauses.total) == ("plain", 4, 5)
    assert clauses.is_other(other, tools, 0.6)
    assert not any(clauses.is_other(task, tools, 0.6) for task in (*plain, *tasks[3]))
    rare = prevailing(tasks[5], tools, 0.85)
    assert "clauses" not in {item.mix.name for item in rare}


def test_the_easiest_solved_tasks_make_room_first_and_what_pins_a_repair_stays(
    composed: tuple[System, dict[int, list[Task]]],
) -> None:
    bare, tasks = composed
    everything = {task.task_id: task for length in (3, 5) for task in tasks[length]}
    system = bare.model_copy(update={"tasks": FrozenDict(everything)})
    short, long = ([task.task_id for task in tasks[length]] for length in (3, 5))
    solved = frozenset([*short[1:], *long])

    def gone(*mastered: Shape) -> list[str]:
        look = Look(
            system=system,
            start=START,
            config=run_config().grow,
            top=top(),
            shapes=tuple(figures(of, 4, 4, is_mastered=True) for of in mastered),
            solved=solved,
            seed="",
        )
        before = Before(
            number=1, solved=solved, played=frozenset(everything), pinned=frozenset(short[1:2])
        )
        return [task.task_id for task in in_the_way(look, before)]

    assert gone() == []
    assert sorted(gone(shape(2, 3))) == sorted(short[2:])
    both = gone(shape(2, 5))
    assert sorted(both[: len(short) - 2]) == sorted(short[2:])
    assert set(both) <= {*short[2:], *long}
    assert len(both) == 6  # of nine tasks three stay for each service: a quarter of nine and more
