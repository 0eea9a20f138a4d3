"""How far a certificate's record can be trusted, and what stands for it where it cannot.

A record that is missing says nothing. One that the rubric and the world as it is both contradict is
void: gold, played now, passes the stored rubric, and the certified final state does not; two that
know nothing of each other agree against the third. In both cases gold is played in the world as it
is, and that run stands for the record: it cannot speak against the environment, since it comes of
it, but the rubric and the harness can still be held against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from attribution.evidence import evidence, place_of
from attribution.interventions.gold import certified_final
from attribution.interventions.runs import world_of
from attribution.kept import kept
from attribution.meter import Intervention, metered
from attribution.records import Evidence, EvidenceKind, Party
from components.environment.engine import call_recorded
from components.environment.state import WorldState
from components.environment.world import World
from components.evaluator.rubric import is_pass, score_criteria
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict, JsonObject
from components.records.rubric import EvaluatorSettings, Rubric
from components.records.system import System
from components.records.task import Certificate, Task
from components.task.provenance import (
    ProvenanceError,
    clock_of,
    derive_answer,
    derive_arguments,
)


class Standing(Enum):
    """What a certificate's record is worth."""

    RECORDED = "recorded"
    """It is there, and nothing but itself speaks against it."""
    MISSING = "missing"
    """It holds no run."""
    VOID = "void"
    """The world as it is and the rubric agree, and it says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trusted:
    """A system as a review of one task should read it."""

    system: System
    """The same where the record stands; else with the run of gold in its place."""
    standing: Standing
    is_whole: bool
    """False: gold cannot be played to its end, or ends in another answer than was certified, and
    nothing may be compiled of its run.
    """


def trusted(system: System, task_id: str) -> Trusted:
    """Return the system with a record of the task's gold that can be held against components.

    Raises:
        SynthesisError: the task's world cannot be built.
    """
    return kept(f"trusted:{task_id}", (system,), lambda: _trusted(system, task_id))


def _trusted(system: System, task_id: str) -> Trusted:
    certificate = system.reference.certificates.get(task_id)
    if certificate is None:
        return Trusted(system=system, standing=Standing.RECORDED, is_whole=True)
    task = system.tasks[task_id]
    world = world_of(system, task.world)
    if certificate.gold_run and not _is_contradicted(system, task, world, certificate):
        return Trusted(system=system, standing=Standing.RECORDED, is_whole=True)
    own = _own_run(world, task)
    is_missing = not certificate.gold_run
    answer = certificate.gold_answer if own.answer is None else own.answer
    stand_in = certificate.model_copy(
        update={
            "gold_run": own.calls,
            "gold_answer": answer,
            "seed_rows": FrozenDict[str, str](),
        }
    )
    certificates = FrozenDict({**system.reference.certificates, task_id: stand_in})
    reference = system.reference.model_copy(update={"certificates": certificates})
    is_whole = own.answer is not None and (not is_missing or answer == certificate.gold_answer)
    return Trusted(
        system=system.model_copy(update={"reference": reference}),
        standing=Standing.MISSING if is_missing else Standing.VOID,
        is_whole=is_whole,
    )


def doubted_record(system: System, task_id: str) -> tuple[Evidence, ...]:
    """Return what a user should know of a task's record: that it is void."""
    if trusted(system, task_id).standing is not Standing.VOID:
        return ()
    return (
        evidence(
            EvidenceKind.REFERENCE,
            Party.ENVIRONMENT,
            place_of(f"certificate/{task_id}"),
            "the certificate is doubtful: gold, played now, passes the rubric, and the certified "
            "final state does not; certify the task again, or undo what has changed since",
            against=False,
            task_id=task_id,
            says="gold, played now, passes the rubric, and the certified final state does not",
            contradicted_by="its rubric and the world as it is, which agree",
            unused="the recorded run, its answer and its row hashes",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _OwnRun:
    """Gold played in the world as it is, up to the first call that is refused."""

    calls: FrozenDict[str, CallRecord]
    final: WorldState
    answer: JsonObject | None
    """None: it was not played to its end."""


def _own_run(world: World, task: Task) -> _OwnRun:
    return kept("own run", (world, task), lambda: _played(world, task))


@metered(Intervention.GOLD_REPLAY)
def _played(world: World, task: Task) -> _OwnRun:
    observed, calls, state = {**clock_of(task)}, {}, world.initial
    answer = None
    try:
        for name in sorted(task.gold):
            step = task.gold[name]
            arguments = derive_arguments(step, task.instruction, observed)
            state, call = call_recorded(world, state, step.service, step.tool, arguments)
            calls[name] = call
            if not call.envelope["ok"]:
                break
            observed[name] = call.envelope["data"]
        else:
            answer = derive_answer(task, observed)
    except ProvenanceError:
        answer = None
    return _OwnRun(calls=FrozenDict(calls), final=state, answer=answer)


def _is_contradicted(system: System, task: Task, world: World, certificate: Certificate) -> bool:
    rubric, settings = system.evaluator.rubrics.get(task.task_id), system.evaluator.settings
    written = {change.service for call in certificate.gold_run.values() for change in call.changes}
    if rubric is None or not written <= set(world.services):
        return False

    def certified_passes() -> bool | None:
        try:
            final = certified_final(world, certificate)
        except ValueError:  # it holds rows that the services would not take any more
            return False
        return _passes(rubric, settings, world, final, certificate.gold_answer)

    inputs = (world, certificate, rubric, settings)
    if kept("certified passes", inputs, certified_passes) is not False:
        return False
    own = _own_run(world, task)
    return own.answer is not None and (
        _passes(rubric, settings, world, own.final, own.answer) is True
    )


@metered(Intervention.SCORING)
def _passes(
    rubric: Rubric,
    settings: EvaluatorSettings,
    world: World,
    final: WorldState,
    answer: JsonObject,
) -> bool | None:
    return is_pass(score_criteria(rubric, settings, world.initial, final, answer), rubric, settings)
