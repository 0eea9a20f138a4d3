"""What a round should add, by the three rules, with the figures that ask for it.

Owns the rules. Looks at the live tasks and at what the round before shows of them; nothing else,
and no chance, decides what is wanted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from components.records.frozen import content_hash
from components.records.system import System
from components.records.task import Task
from components.task.compose import services_for_tasks
from components.task.config import TaskConfig
from loop.context import live_tasks
from loop.growth.config import GrowConfig
from loop.growth.mixes import FEWEST, Prevailing, Tools, prevailing, tools_of
from loop.growth.records import Rule, ShapeFigures, shape_words
from loop.growth.shapes import (
    Top,
    hardness,
    num_to_judge,
    settings_for,
    shape_of,
    start_of,
    wanted_shapes,
)

OTHER_SERVICES = "other_services"
"""A task that does not need the service which tasks are wanted for."""
SAME_KIND = "same_kind"
"""A task of the kind that prevails."""
_ALONE = 3
"""Services that a task needs so that one that reacts with no other may be among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """Tasks of one kind that are to be added."""

    rule: Rule
    subject: str
    why: str
    figures: dict[str, float]
    lacks: int
    """Tasks that it takes at most."""
    settings: TaskConfig
    """What drafts are composed by."""
    refusal: Callable[[Task], str] = field(default=lambda _task: "")
    """Why a certified draft is not one of those wanted; empty: it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the rules look at."""

    system: System
    start: TaskConfig
    """`task` of the configuration."""
    config: GrowConfig
    top: Top
    shapes: tuple[ShapeFigures, ...]
    """What the policy made of each shape; empty where outcomes tell nothing."""
    solved: frozenset[str]
    """Live tasks that the policy has solved."""
    seed: str
    """Decides which of several services that are needed alike comes first."""

    @property
    def tasks(self) -> list[Task]:
        """The live tasks, by id."""
        return [self.system.tasks[name] for name in live_tasks(self.system)]


def wants_of(look: Look) -> dict[Rule, list[Want]]:
    """Return what each rule asks for, the most pressing first; rules that ask for nothing are left
    out.
    """
    rules = {
        Rule.COMPLEXITY: (look.config.complexity, _harder),
        Rule.BREADTH: (look.config.breadth, _wider),
        Rule.DIVERSITY: (look.config.diversity, _other),
    }
    found = {
        rule: [want for want in wants(look) if look.top.has_room_for(start_of(want.settings))]
        for rule, (is_on, wants) in rules.items()
        if is_on
    }
    return {rule: wants for rule, wants in found.items() if wants}


def uses_of(system: System, tasks: Sequence[Task], start: TaskConfig) -> Counter[str]:
    """Return how many tasks need each service that tasks may be about."""
    uses = Counter(dict.fromkeys(services_for_tasks(system, start.domains), 0))
    uses.update(name for task in tasks for name in task.world.services if name in uses)
    return uses


def least_uses(uses: Counter[str], config: GrowConfig) -> int:
    """Return how many tasks each service should be needed by, at least."""
    equal = uses.total() / len(uses) if uses else 0.0
    return max(1, math.ceil(config.least_share * equal))


def _harder(look: Look) -> Iterator[Want]:
    mastery = look.config.mastery
    for item, harder, lacks in wanted_shapes(look.shapes, look.start, look.top, mastery):
        yield Want(
            rule=Rule.COMPLEXITY,
            subject=shape_words(harder),
            why=(
                f"every rollout passed in {item.solved} of {item.tasks} tasks of "
                f"{shape_words(item.shape)}: a share of at least {item.low:.2f}, and "
                f"{mastery:.2f} counts as solved"
            ),
            figures={"solved": item.solved, "tasks": item.tasks, "low": item.low},
            lacks=lacks,
            settings=settings_for(harder, look.start),
        )


def _wider(look: Look) -> Iterator[Want]:
    uses = uses_of(look.system, look.tasks, look.start)
    least = least_uses(uses, look.config)
    for name in sorted(uses, key=lambda name: (uses[name], content_hash([look.seed, name]))):
        if uses[name] >= least:
            continue
        domain = look.system.reference.specs[name].domain
        of = f" (domain {domain})" if domain and domain != name else ""
        yield Want(
            rule=Rule.BREADTH,
            subject=name,
            why=(
                f"{uses[name]} of {len(look.tasks)} tasks need {name}{of}; with {len(uses)} "
                f"services, {least} should"
            ),
            figures={"tasks": uses[name], "least": least},
            lacks=least - uses[name],
            settings=_about(look, name),
            refusal=_needs(name),
        )


def _about(look: Look, name: str) -> TaskConfig:
    """Return settings that have tasks need a service: it, and those that it reacts with."""
    allowed = services_for_tasks(look.system, look.start.domains)
    partners = {
        other
        for reaction in look.system.environment.reactions.values()
        for pair in ({reaction.on.service, write.service} for write in reaction.writes.values())
        if name in pair
        for other in pair
        if other != name and other in allowed
    }
    k = look.start.k if partners else max(_ALONE, look.start.k)
    changes = {
        "k": k,
        "walk_length": max(look.start.walk_length, k + 1),
        "domains": (name, *sorted(partners)) if len(partners) + 1 >= k else allowed,
    }
    return look.start.model_copy(update=changes)


def _other(look: Look) -> Iterator[Want]:
    tools, most = tools_of(look.system), look.config.most_share
    enough = num_to_judge(look.config.mastery)
    for item in sorted(prevailing(look.tasks, tools, most), key=lambda item: -item.share):
        others = [task for task in item.judged if item.is_other(task, tools, most)]
        lacks = FEWEST
        if item.mix.noun == "tasks":
            lacks = math.ceil(item.count / most) - item.total
        if look.solved.isdisjoint(task.task_id for task in others):
            # What the policy cannot do at all is tried, and not piled up.
            lacks = min(lacks, enough - len(others))
        if lacks <= 0:
            continue
        yield Want(
            rule=Rule.DIVERSITY,
            subject=f"{item.mix.name}: other than {item.kind}",
            why=(
                f"{item.count} of {item.total} {item.mix.noun} are {item.kind}: {item.share:.0%}, "
                f"and {most:.0%} may be"
            ),
            figures={"count": item.count, "total": item.total},
            lacks=lacks,
            settings=_settings_of(look, item),
            refusal=_other_than(item, tools, most),
        )


def _needs(name: str) -> Callable[[Task], str]:
    return lambda task: "" if name in task.world.services else OTHER_SERVICES


def _other_than(item: Prevailing, tools: Tools, most: float) -> Callable[[Task], str]:
    return lambda task: "" if item.is_other(task, tools, most) else SAME_KIND


def _settings_of(look: Look, item: Prevailing) -> TaskConfig:
    """Return settings of the shape that most of the judged tasks have, the easiest of several."""
    shapes = Counter(map(shape_of, item.judged))
    shape = min(shapes, key=lambda shape: (-shapes[shape], hardness(shape)))
    if item.mix.name == "conversation":
        shape = shape.model_copy(update={"is_said_at_once": not shape.is_said_at_once})
    return settings_for(shape, look.start)
