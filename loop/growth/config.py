"""How a system grows from round to round."""

from __future__ import annotations

from pydantic import Field

from components.records.config import Config


class GrowConfig(Config):
    """Keys under `grow`: what a round from the second on adds, by what the round before showed."""

    tasks: int | None = Field(ge=0)
    """New tasks a round, beside those that replace retired ones; null: a quarter of the tasks asked
    for, at least 1; 0: retired tasks are replaced, and nothing grows."""
    max_tasks: int | None = Field(ge=1)
    """Live tasks that growth stops at, never fewer than are asked for: beyond it a new task takes
    the place of the easiest solved one; null: half as many again as are asked for."""
    complexity: bool
    """true: where the policy has solved a shape of tasks, tasks one step harder are composed."""
    mastery: float = Field(gt=0, lt=1)
    """A shape is solved when the share of its tasks in which all rollouts passed has this lower end
    of its 95 % Wilson interval; 0.5 takes 4 of 4 tasks, 7 of 8, or 12 of 16."""
    max_k: int = Field(ge=1)
    """Services that the hardest tasks need."""
    max_walk_length: int = Field(ge=2)
    """Calls of the hardest tasks' solutions."""
    max_distractors: int = Field(ge=0)
    """Services in the way in the hardest tasks."""
    breadth: bool
    """true: services that hardly any task needs get tasks."""
    least_share: float = Field(gt=0, le=1)
    """A service is hardly needed when fewer tasks need it than this part of an equal share among
    all services, and none is always fewer."""
    diversity: bool
    """true: where tasks of one kind prevail, tasks of other kinds are composed."""
    most_share: float = Field(gt=0, lt=1)
    """A kind prevails when its share of the tasks, or of their calls, is above this."""


NO_GROWTH = GrowConfig(
    tasks=0,
    max_tasks=None,
    complexity=False,
    mastery=0.5,
    max_k=1,
    max_walk_length=2,
    max_distractors=0,
    breadth=False,
    least_share=1.0,
    diversity=False,
    most_share=0.5,
)
"""Retired tasks are replaced, and nothing grows."""
