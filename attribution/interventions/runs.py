"""Rollouts that attribution plays itself: recorded texts said again, then the oracle, in any
system.

Everything here is deterministic and never waits: the policies are scripts, the session is a state
value.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from attribution.interventions.steps import executed
from attribution.kept import kept
from attribution.meter import Intervention, metered
from components.environment.engine import call_recorded
from components.environment.reactions import services_named
from components.environment.state import WorldState
from components.environment.world import World, build_world
from components.evaluator.rubric import is_pass, score_criteria
from components.harness.episode import run_rollout
from components.harness.oracle import OraclePolicy
from components.harness.policy import (
    Policy,
    PolicyReply,
    PolicyRequest,
    PrefixPolicy,
    RolloutPlan,
)
from components.records.base import to_json
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict, JsonObject, content_hash
from components.records.system import System
from components.records.task import Task
from components.records.trajectory import CriterionScore, StopReason, Trajectory, Turn
from components.records.world import WorldSpec

T = TypeVar("T")
_SILENCE = "That is all."


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One system as one task meets it."""

    system: System
    task: Task
    world: World


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One rollout played here, and how its own system scores it."""

    trajectory: Trajectory
    final: WorldState
    criteria: FrozenDict[str, CriterionScore]
    passed: bool | None
    """None: a boundary broke, or a criterion could not be decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Played:
    """One rollout played here, before anybody scores it."""

    trajectory: Trajectory
    final: WorldState


class SilentPolicy:
    """Says nothing of use: ends a replay where its recording ends."""

    version = "silent"
    simulated = True

    async def act(self, request: PolicyRequest) -> PolicyReply:
        """Return a text without a call."""
        del request
        return PolicyReply(text=_SILENCE)


class _Session:
    """A world's state, call by call."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.state = world.initial

    def call(
        self, service: str, tool: str, arguments: Mapping[str, Any], key: str | None = None
    ) -> CallRecord:
        """Execute one call. No key is needed: nothing here is ever sent twice."""
        del key
        self.state, record = call_recorded(self._world, self.state, service, tool, arguments)
        return record


class _KeptSession(_Session):
    """The same, where siblings that make the same calls share them."""

    def call(
        self, service: str, tool: str, arguments: Mapping[str, Any], key: str | None = None
    ) -> CallRecord:
        """Execute one call, or return the record of it."""
        del key
        step = executed(self._world, self.state, service, tool, arguments)
        self.state = step.after
        return step.call


def arm_of(system: System, task_id: str) -> Arm:
    """Return the arm of a task.

    Raises:
        SynthesisError: its world cannot be built.
    """
    task = system.tasks[task_id]
    return Arm(system=system, task=task, world=world_of(system, task.world))


def world_of(system: System, spec: WorldSpec) -> World:
    """Return a world, built once for all systems that share the records it is made of. Raises
    SynthesisError.
    """
    environment, specs = system.environment, system.reference.specs
    return kept("world", (environment, specs, spec), lambda: _shared_world(system, spec))


def _shared_world(system: System, spec: WorldSpec) -> World:
    environment, specs = system.environment, system.reference.specs
    names = sorted({*spec.services, *spec.distractors})
    parts = (environment.blueprints, environment.seeds, environment.code, specs)
    active = {
        name: reaction
        for name, reaction in sorted(environment.reactions.items())
        if services_named(reaction) <= set(names)
    }
    inputs = (*(part.get(name) for name in names for part in parts), *active.values())
    values = (content_hash(to_json(spec)), *active)
    return kept("shared world", inputs, lambda: build_world(system, spec), values)


def play(arm: Arm, policy: Policy, seed: int = 0) -> Run:
    """Play one rollout of a policy that never waits."""
    played = _play(arm, policy, _Session(arm.world), seed)
    criteria, passed = score(arm, played.final, played.trajectory)
    return Run(trajectory=played.trajectory, final=played.final, criteria=criteria, passed=passed)


def _play(arm: Arm, policy: Policy, session: _Session, seed: int = 0) -> _Played:
    plan = RolloutPlan(rollout_id="replay", group_index=0, seed=seed, component_hashes=FrozenDict())
    trajectory = _now(run_rollout(arm.system, arm.world, arm.task, policy, plan, session))
    return _Played(trajectory=trajectory, final=session.state)


@metered(Intervention.SCORING)
def score(
    arm: Arm, final: WorldState, trajectory: Trajectory
) -> tuple[FrozenDict[str, CriterionScore], bool | None]:
    """Return each criterion's result, and whether the run passes in this arm."""
    rubric = arm.system.evaluator.rubrics.get(arm.task.task_id)
    if rubric is None or trajectory.stop_reason is StopReason.FAILURE:
        return FrozenDict(), None
    settings = arm.system.evaluator.settings
    criteria = score_criteria(rubric, settings, arm.world.initial, final, trajectory.answer)
    return criteria, is_pass(criteria, rubric, settings)


def play_on(arm: Arm, texts: Sequence[str], seed: int = 0) -> Run:
    """Say recorded texts again, then let the oracle go on; made once for all evaluators."""
    make = _oracle_played if not texts else _continued
    return _kept_run(arm, "continuation", tuple(texts), make, seed)


def oracle_run(arm: Arm) -> Run:
    """Return the oracle's run from the start, scored by this arm."""
    return play_on(arm, ())


def replay(arm: Arm, texts: Sequence[str], seed: int = 0) -> Run:
    """Say recorded texts again, and nothing more; made once for all evaluators."""
    return _kept_run(arm, "replay", tuple(texts), _replayed, seed)


def _kept_run(
    arm: Arm,
    what: str,
    texts: tuple[str, ...],
    make: Callable[[Arm, tuple[str, ...]], _Played],
    seed: int,
) -> Run:
    """Return a run, scored by this arm. What is played reads no rubric, and no script its seed."""
    system = arm.system
    inputs = (arm.world, system.harness, arm.task)
    played = kept(what, inputs, lambda: make(arm, texts), texts)
    trajectory, final = played.trajectory, played.final
    evaluator, task_id = system.evaluator, arm.task.task_id
    judges = (evaluator.rubrics.get(task_id), evaluator.settings, arm.world.initial)
    criteria, passed = kept("score", (played, *judges), lambda: score(arm, final, trajectory))
    if seed:
        trajectory = trajectory.model_copy(update={"seed": seed})
    return Run(trajectory=trajectory, final=final, criteria=criteria, passed=passed)


@metered(Intervention.ORACLE)
def _oracle_played(arm: Arm, texts: tuple[str, ...]) -> _Played:
    del texts
    return _play(arm, OraclePolicy(arm.task), _KeptSession(arm.world))


@metered(Intervention.CONTINUATION)
def _continued(arm: Arm, texts: tuple[str, ...]) -> _Played:
    policy = PrefixPolicy(texts=texts, then=OraclePolicy(arm.task))
    return _play(arm, policy, _KeptSession(arm.world))


@metered(Intervention.REPLAY)
def _replayed(arm: Arm, texts: tuple[str, ...]) -> _Played:
    policy = PrefixPolicy(texts=texts, then=SilentPolicy())
    played = _play(arm, policy, _KeptSession(arm.world))
    turns = played.trajectory.turns[: len(texts)]
    return replace(played, trajectory=played.trajectory.model_copy(update={"turns": turns}))


def texts_of(trajectory: Trajectory) -> tuple[str, ...]:
    """Return the raw texts of a rollout, turn by turn."""
    return tuple(turn.raw_text for turn in trajectory.turns)


def what_was_read(turn: Turn) -> list[tuple[str, JsonObject]]:
    """Return the calls of a turn by name and arguments."""
    return [(call.name, call.arguments) for call in turn.calls]


def what_was_shown(turn: Turn) -> tuple[str, ...]:
    """Return what the policy saw after a turn."""
    return (*(item.shown for item in turn.observations), turn.feedback, turn.user)


def first_difference(recorded: Trajectory, other: Trajectory) -> int | None:
    """Return the first turn that was read or answered otherwise in another arm; None when none was.

    -1 says that the very first messages already differ.
    """
    if (recorded.user_text, recorded.system_text) != (other.user_text, other.system_text):
        return -1
    for index, turn in enumerate(recorded.turns):
        if index >= len(other.turns):
            return index
        twin = other.turns[index]
        if what_was_read(turn) != what_was_read(twin) or what_was_shown(turn) != what_was_shown(
            twin
        ):
            return index
    return None


def turns_before_difference(recorded: Trajectory, other: Trajectory) -> int:
    """Return how many turns were written before anything that differs in another arm was seen."""
    differs, num_turns = first_difference(recorded, other), len(recorded.turns)
    return num_turns if differs is None else min(differs + 1, num_turns)


def _now(waiting: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits to its end, whether or not an event loop is running
    around it.
    """
    try:
        waiting.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    waiting.close()
    raise AssertionError("a scripted rollout waited for something")
