"""From what is wanted to new tasks: who gets how many, drafts through the gates, and room for them.

Owns the budget of a round. Drafts are units of the stage `grow`; nothing else is kept between
starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.records.frozen import FrozenDict
from components.records.harness import Limits
from components.records.system import System
from components.records.task import Task
from components.task.config import TaskConfig
from components.task.measures import difficulty_of
from loop.composing import Drafting, draft_tasks, first_seed
from loop.context import RoundContext, live_tasks
from loop.growth.mixes import tools_of
from loop.growth.records import GrowthStep, Rule, shape_words
from loop.growth.seen import Before
from loop.growth.shapes import Hardness, hardness, shape_of, start_of, turns_for
from loop.growth.wants import Look, Want, least_uses, uses_of
from loop.seed_round import TURNS_PER_STEP

_FIRST, _APART = 100_000, 10_000
"""Seeds of growth's drafts, counted from the round's first: where they begin, and how far those of
two steps lie apart."""
_SPARE = 2
"""Wants of a rule that are tried beyond its tasks, where earlier ones come to nothing."""


@dataclass(frozen=True, slots=True)
class Spent:
    """The system with the new tasks, and what came of each want."""

    system: System
    steps: tuple[GrowthStep, ...]


def shares_of(wants: Mapping[Rule, Sequence[Want]], budget: int) -> dict[Rule, int]:
    """Return how many tasks each rule may add.

    One each, in the order of the rules, while there are any; then harder tasks as many as they
    lack, and the others in turn.

    Args:
        wants: what each rule asks for.
        budget: tasks in all.
    """
    lacks = {rule: sum(want.lacks for want in wants.get(rule, ())) for rule in Rule}
    shares = dict.fromkeys(Rule, 0)
    turns = [*Rule, *([Rule.COMPLEXITY] * lacks[Rule.COMPLEXITY])]
    turns += [Rule.BREADTH, Rule.DIVERSITY] * budget
    for rule in turns:
        if sum(shares.values()) < budget and shares[rule] < lacks[rule]:
            shares[rule] += 1
    return shares


def spend(
    context: RoundContext, look: Look, wants: Mapping[Rule, Sequence[Want]], budget: int
) -> Spent:
    """Draft what is wanted, as far as the budget goes.

    Args:
        context: the open round.
        look: what the wants rest on; its system gets the tasks.
        wants: by rule, the most pressing first.
        budget: tasks in all.
    """
    system, steps = look.system, list[GrowthStep]()
    for rule, left in shares_of(wants, budget).items():
        asked = wants.get(rule, ())
        planned = _in_turn([want.lacks for want in asked], left)
        most = sum(count > 0 for count in planned) + _SPARE
        for number, want in enumerate(asked[:most]):
            # What an earlier want did not get is free for this one.
            count = min(want.lacks, left - sum(planned[number + 1 :]))
            if count > 0:
                system, step = _drafted(context, system, want, count, len(steps))
                steps.append(step)
                left -= len(step.admitted)
    return Spent(system, tuple(steps))


def in_the_way(look: Look, before: Before) -> tuple[Task, ...]:
    """Return solved tasks that may make room for new ones, the first to go first.

    The easiest shape comes first, and none goes that is harder than all solved shapes. A task stays
    that pins a repair, or without which too few tasks would need one of its services.
    """
    mastered = [hardness(item.shape) for item in look.shapes if item.is_mastered]
    if not mastered:
        return ()
    tasks, tools = look.tasks, tools_of(look.system)
    uses = uses_of(look.system, tasks, look.start)
    least = least_uses(uses, look.config)

    def place(task: Task) -> tuple[Hardness, int, str]:
        return hardness(shape_of(task)), difficulty_of(task, tools), task.task_id

    found = []
    for task in sorted(tasks, key=place):
        own = [name for name in task.world.services if name in uses]
        is_free = task.task_id in before.solved and task.task_id not in before.pinned
        is_easy = hardness(shape_of(task)) <= max(mastered)
        if is_free and is_easy and all(uses[name] > least for name in own):
            found.append(task)
            uses.subtract(own)
    return tuple(found)


def without(
    system: System, gone: Sequence[Task], number: int
) -> tuple[System, FrozenDict[str, str]]:
    """Return the system with solved tasks retired, and why each was.

    Args:
        system: as it has grown.
        gone: tasks that leave play.
        number: round that has shown them to be solved.
    """
    reasons = {
        task.task_id: (
            f"solved in round {number} ({shape_words(shape_of(task))}); it made room for a new task"
        )
        for task in gone
    }
    retired = FrozenDict({**system.retired, **reasons})
    return system.model_copy(update={"retired": retired}), FrozenDict(reasons)


def with_limits(
    before: System, after: System, start: TaskConfig
) -> tuple[System, FrozenDict[str, int]]:
    """Return the system with limits that leave its longest tasks the room that they left before.

    Raised by what the norm asks for more, so that a limit which was too tight stays as it was.

    Args:
        before: as the round began.
        after: with its new tasks.
        start: what the first limits were made for.
    """
    old, new = _norm(before, start), _norm(after, start)
    limits = after.harness.limits
    raised = {
        name: getattr(limits, name) + new[name] - old[name]
        for name in sorted(new)
        if new[name] > old[name]
    }
    if not raised:
        return after, FrozenDict()
    harness = after.harness.model_copy(update={"limits": limits.model_copy(update=raised)})
    return after.model_copy(update={"harness": harness}), FrozenDict(raised)


def _norm(system: System, start: TaskConfig) -> dict[str, int]:
    """Return the turns that the norm gives the longest live task, and those of them to a user."""
    shapes = [start_of(start), *(shape_of(system.tasks[name]) for name in live_tasks(system))]
    talks = [shape.walk_length + 1 for shape in shapes if not shape.is_said_at_once]
    default = Limits.model_fields["max_user_turns"].default
    return {
        "max_turns": max(map(turns_for, shapes)),
        "max_user_turns": max([default, *(TURNS_PER_STEP * calls for calls in talks)]),
    }


def _in_turn(lacks: Sequence[int], share: int) -> list[int]:
    """Return how many tasks each want gets when they take one each in turn."""
    found = [0] * len(lacks)
    for _ in range(max(lacks, default=0)):
        for number, most in enumerate(lacks):
            if sum(found) < share and found[number] < most:
                found[number] += 1
    return found


def _drafted(
    context: RoundContext, system: System, want: Want, count: int, number: int
) -> tuple[System, GrowthStep]:
    base = context.number * 1_000_000 + first_seed(context.config.seed)
    drafting = Drafting(
        settings=want.settings,
        base=base + _FIRST + _APART * number,
        units=context.folder.units,
        stage="grow",
        pool=context.pool,
        console=context.console,
        spares_held_out=context.config.trains,
        prefix=f"{want.rule.value}-{number:02d}-",
        refusal=want.refusal,
    )
    composed = draft_tasks(drafting, system, count)
    step = GrowthStep(
        rule=want.rule,
        subject=want.subject,
        why=want.why,
        figures=FrozenDict(want.figures),
        wanted=count,
        drafted=composed.drafted,
        rejected=FrozenDict(composed.rejected),
        admitted=composed.added,
    )
    return composed.system, step
