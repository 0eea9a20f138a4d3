"""Shapes of tasks: which of them the policy has solved, and what is one step harder.

Owns the ladder. From the shape that `task` asks for, a step makes the walk a call longer, the next
adds a service, the next a distractor, and so on; what has reached its largest value is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count

from components.records.task import Task
from components.task.config import TaskConfig
from components.task.gates import length_of
from loop.growth.records import Shape, ShapeFigures
from loop.growth.seen import Before
from loop.seed_round import TURNS_PER_STEP
from loop.summary import pass_rate

Hardness = tuple[int, int, int, bool]
"""What shapes are ordered by: calls, services, distractors, whether said in a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """Where the ladder ends."""

    k: int
    walk_length: int
    distractors: int
    num_services: int
    """Services of the system: those needed and those in the way are no more."""
    max_turns: int | None = None
    """What `harness.max_turns` was set to; None: the limit rises with the tasks."""

    def has_room_for(self, shape: Shape) -> bool:
        """Return whether tasks of this shape can be asked for."""
        return (
            shape.k < shape.walk_length <= self.walk_length
            and shape.k <= self.k
            and shape.distractors <= self.distractors
            and shape.k + shape.distractors <= self.num_services
            and (self.max_turns is None or turns_for(shape) <= self.max_turns)
        )


def turns_for(shape: Shape) -> int:
    """Return how many turns the norm gives tasks of a shape, what is said to a user included."""
    calls = shape.walk_length + 1
    return TURNS_PER_STEP * (calls if shape.is_said_at_once else 2 * calls)


def shape_of(task: Task) -> Shape:
    """Return the shape of a task."""
    return Shape(
        k=len(task.world.services),
        walk_length=length_of(task),
        distractors=len(task.world.distractors),
        is_said_at_once=task.user is None,
    )


def start_of(settings: TaskConfig) -> Shape:
    """Return the shape that settings ask for; the harder one where some requests are said bit by
    bit.
    """
    return Shape(
        k=settings.k,
        walk_length=settings.walk_length,
        distractors=settings.distractors,
        is_said_at_once=not settings.multi_turn,
    )


def hardness(shape: Shape) -> Hardness:
    """Return what shapes are ordered by, the easiest first."""
    return shape.walk_length, shape.k, shape.distractors, not shape.is_said_at_once


def shape_figures(
    tasks: Iterable[Task], before: Before, mastery: float
) -> tuple[ShapeFigures, ...]:
    """Return what the policy made of each shape, the easiest first.

    Siblings of one task resemble each other, so tasks are counted and not rollouts.

    Args:
        tasks: live ones; those that were not played are left out.
        before: what the round before shows.
        mastery: `grow.mastery`.
    """
    groups: dict[Shape, list[bool]] = {}
    for task in tasks:
        if task.task_id in before.played:
            groups.setdefault(shape_of(task), []).append(task.task_id in before.solved)
    return tuple(_figures(shape, groups[shape], mastery) for shape in sorted(groups, key=hardness))


def num_to_judge(mastery: float) -> int:
    """Return how many tasks of a shape, all solved, it takes to call it solved."""
    return next(number for number in count(1) if _low([True] * number) >= mastery)


def harder_than(shape: Shape, start: TaskConfig, top: Top) -> Shape | None:
    """Return the shape one step up the ladder; None at its top.

    Args:
        shape: where to start from.
        start: the foot of the ladder: what has been raised least above it is raised first, the
            walk before services, and these before distractors.
        top: where the ladder ends.
    """
    raised = {
        "walk_length": shape.walk_length - start.walk_length,
        "k": shape.k - start.k,
        "distractors": shape.distractors - start.distractors,
    }
    for name in sorted(raised, key=lambda name: raised[name]):  # sorting keeps the order of equals
        harder = shape.model_copy(update={name: getattr(shape, name) + 1})
        if top.has_room_for(harder):
            return harder
    return None


def settings_for(shape: Shape, start: TaskConfig) -> TaskConfig:
    """Return the settings that compose tasks of a shape, and are otherwise those of `start`."""
    return start.model_copy(
        update={
            "k": shape.k,
            "walk_length": shape.walk_length,
            "distractors": shape.distractors,
            "multi_turn": 0.0 if shape.is_said_at_once else 1.0,
        }
    )


def wanted_shapes(
    figures: Iterable[ShapeFigures], start: TaskConfig, top: Top, mastery: float
) -> Iterator[tuple[ShapeFigures, Shape, int]]:
    """Yield what is solved, the shape one step harder, and how many tasks that one lacks.

    A shape that has enough tasks to be judged lacks none: it is solved itself, and goes on from
    there, or it is where the policy still learns. The hardest is first.
    """
    there = {item.shape: item for item in figures}
    enough = num_to_judge(mastery)
    for shape in sorted(there, key=hardness, reverse=True):
        harder = harder_than(shape, start, top) if there[shape].is_mastered else None
        if harder is None:
            continue
        lacks = enough - (there[harder].tasks if harder in there else 0)
        if lacks > 0:
            yield there[shape], harder, lacks


def _figures(shape: Shape, solved: list[bool], mastery: float) -> ShapeFigures:
    low = _low(solved)
    return ShapeFigures(
        shape=shape,
        tasks=len(solved),
        solved=sum(solved),
        low=low,
        is_mastered=low >= mastery,
    )


def _low(solved: list[bool]) -> float:
    rate = pass_rate(list(solved))
    return rate.low or 0.0
