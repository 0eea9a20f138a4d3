"""Systems with composed, certified tasks on the built-in services."""

from __future__ import annotations

from functools import cache

from components.records.frozen import FrozenDict
from components.records.system import Evaluator, System
from components.task.compose import ComposedTask, compose_task
from components.task.config import TaskConfig
from tests.attribution.hand_made import bare_system

SETTINGS = TaskConfig(
    count=None, k=2, walk_length=4, distractors=1, domains=(), max_drafts_per_task=20
)


@cache
def composed_system(num_tasks: int, first_seed: int = 0, settings: TaskConfig = SETTINGS) -> System:
    """Return a system with this many tasks, composed from consecutive seeds."""
    system = bare_system()
    made: dict[str, ComposedTask] = {}
    seed = first_seed
    while len(made) < num_tasks:
        found = compose_task(system, settings, seed)
        seed += 1
        if isinstance(found, ComposedTask):
            made[found.task.task_id] = found
        assert seed - first_seed < 20 * num_tasks
    rubrics = FrozenDict({name: item.rubric for name, item in made.items()})
    certificates = FrozenDict({name: item.certificate for name, item in made.items()})
    reference = system.reference.model_copy(update={"certificates": certificates})
    return system.model_copy(
        update={
            "tasks": FrozenDict({name: item.task for name, item in made.items()}),
            "evaluator": Evaluator(rubrics=rubrics),
            "reference": reference,
        }
    )
