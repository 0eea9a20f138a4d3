"""Rollouts of the scripted policy, played on one system task by task, with common random numbers.

The same seed slips at the same places in every world, so the clean twin of a rollout is the same
policy in the clean system.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attribution.interventions.runs import Arm, Run, arm_of, oracle_run, play, play_on, replay
from components.evaluator.rubric import score_group
from components.harness.policy import Policy
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.task import Task
from components.records.trajectory import ScoredTrajectory, Trajectory
from loop.policy.config import ErrorRates
from loop.policy.scripted import ScriptedPolicy

SLIPS = ErrorRates(skip_step=0.04, stale_value=0.04, wrong_argument=0.04, malformed_call=0.04)
"""Chance of each kind of slip at each step; the rates of the benchmark."""
Played = tuple[Trajectory, ScoredTrajectory]


def policy_of(task: Task, seed: int) -> Policy:
    """Return the scripted policy on a task."""
    return ScriptedPolicy(task, SLIPS, seed)


def play_group(system: System, task_id: str, group_size: int, seed: int) -> list[Played]:
    """Return the scored rollouts of one task, siblings of one group.

    Raises:
        SynthesisError: the task's world cannot be built.
    """
    arm = arm_of(system, task_id)
    policy = policy_of(arm.task, seed)
    played = [
        play(arm, policy, index).trajectory.model_copy(
            update={"rollout_id": f"{task_id}.{index}", "group_index": index}
        )
        for index in range(group_size)
    ]
    return list(zip(played, score_group(system, arm.task, played), strict=True))


def twin_run(clean: Arm, trajectory: Trajectory, seed: int) -> Run:
    """Return the run of the same policy with the same slips in the clean system."""
    return play(clean, policy_of(clean.task, seed), trajectory.seed)


def replayed(arm: Arm, trajectory: Trajectory) -> Run:
    """Say the recorded texts again, and nothing more."""
    return replay(arm, tuple(turn.raw_text for turn in trajectory.turns), trajectory.seed)


def wins(arm: Arm, texts: Sequence[str], seed: int) -> bool:
    """Return whether a run without slips still passes after these texts."""
    run = play_on(arm, texts, seed) if texts else oracle_run(arm)
    return run.passed is True


def only(system: System, names: Iterable[str]) -> System:
    """Return the system with few tasks: what one instance of a fault is judged on."""
    kept = sorted(set(names))
    reference = system.reference
    certificates = {
        name: reference.certificates[name] for name in kept if name in reference.certificates
    }
    rubrics = system.evaluator.rubrics
    evaluator = system.evaluator.model_copy(
        update={"rubrics": FrozenDict({name: rubrics[name] for name in kept if name in rubrics})}
    )
    return system.model_copy(
        update={
            "tasks": FrozenDict({name: system.tasks[name] for name in kept}),
            "evaluator": evaluator,
            "reference": reference.model_copy(update={"certificates": FrozenDict(certificates)}),
        }
    )
