"""The calls that a rollout made, held against what is written and promised of them."""

from __future__ import annotations

from attribution.interventions.promises import check_step, promised_reactions
from attribution.interventions.runs import Arm
from attribution.interventions.steps import run_steps
from attribution.records import Evidence
from components.records.trajectory import Trajectory


def broken_calls(arm: Arm, trajectory: Trajectory) -> tuple[Evidence, ...]:
    """Return what the calls of a rollout break, sentences included that are in doubt.

    The calls are executed again from the world's start; each is held against its specification and
    against the reactions that the world contract promises.
    """
    calls = [
        item.call
        for turn in trajectory.turns
        for item in turn.observations
        if item.call is not None
    ]
    promised = promised_reactions(arm.world, arm.system.reference.contract)
    _final, steps = run_steps(arm.world, arm.world.initial, calls)
    return tuple(
        item
        for index, step in enumerate(steps)
        for item in check_step(
            arm.world,
            promised,
            step,
            task_id=trajectory.task_id,
            rollout_id=trajectory.rollout_id,
            call_index=index,
            earlier=calls[:index],
        )
    )
