"""Rollouts of the scripted policy, played on one system task by task, with common random numbers.

The same seed slips at the same places in every world, so the clean twin of a rollout is the same
policy in the clean system.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attribution.interventions.runs import Arm, Run, arm_of, oracle_run, play, play_on, replay
from attribution.kept import kept
from components.evaluator.rubric import score_group
from components.harness.policy import Policy
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.task import Task
from components.records.trajectory import ScoredTrajectory, Trajectory
from loop.bench_attribution.slips import bench_policy, one_slip_policies
from loop.policy.config import ErrorRates

SLIPS = ErrorRates(skip_step=0.04, stale_value=0.04, wrong_argument=0.04, malformed_call=0.04)
"""Chance of each kind of slip at each step; the rates of the benchmark."""
Played = tuple[Trajectory, ScoredTrajectory]


def policy_of(task: Task, seed: int) -> Policy:
    """Return the scripted policy on a task."""
    return bench_policy(task, SLIPS, seed)


def play_group(system: System, task_id: str, indexes: Iterable[int], seed: int) -> list[Played]:
    """Return the scored rollouts of one task, siblings of one group.

    Args:
        system: what they run on.
        task_id: their task.
        indexes: places in the group; each has slips of its own.
        seed: of all slips.

    Raises:
        SynthesisError: the task's world cannot be built.
    """
    arm = arm_of(system, task_id)
    played = [_played(arm, index, seed) for index in indexes]
    return list(zip(played, score_group(system, arm.task, played), strict=True))


def play_single_slips(system: System, task_id: str, variants: int, seed: int) -> list[Trajectory]:
    """Return rollouts of one task that err once each: at every step, in every way.

    Args:
        system: what they run on.
        task_id: their task.
        variants: rollouts for each step and way, which may take other values.
        seed: of these values.

    Raises:
        SynthesisError: the task's world cannot be built.
    """
    arm = arm_of(system, task_id)

    def make() -> list[Trajectory]:
        policies = list(one_slip_policies(arm.task, seed))
        return [
            play(arm, policy, variant).trajectory.model_copy(
                update={
                    "rollout_id": f"{task_id}.s{variant * len(policies) + number}",
                    "group_index": variant * len(policies) + number,
                }
            )
            for variant in range(variants)
            for number, policy in enumerate(policies)
        ]

    inputs = (arm.world, arm.system.harness, arm.task)
    return kept("single slips", inputs, make, (variants, seed))


def score_alone(system: System, trajectory: Trajectory) -> ScoredTrajectory:
    """Return the result of one rollout, as if it were a group of its own."""
    task = system.tasks[trajectory.task_id]
    inputs = (trajectory, system.environment, task, system.evaluator)
    return kept("single score", inputs, lambda: score_group(system, task, [trajectory])[0])


def _played(arm: Arm, index: int, seed: int) -> Trajectory:
    def make() -> Trajectory:
        name = f"{arm.task.task_id}.{index}"
        trajectory = play(arm, policy_of(arm.task, seed), index).trajectory
        return trajectory.model_copy(update={"rollout_id": name, "group_index": index})

    inputs = (arm.world, arm.system.harness, arm.task)
    return kept("benchmark rollout", inputs, make, (index, seed))


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
