"""Admission: every gate of a task, and the certificate of those that pass.

Owns the order of the gates and what a certificate records. A task is admitted whole or refused
with one reason; the certificate names the versions of all that it rests on and lapses with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from components.environment.state import Table, state_hash
from components.environment.world import World, build_world
from components.errors import SynthesisError
from components.evaluator.constraints import (
    Constraint,
    argument_constraints,
    unconstrained_arguments,
)
from components.evaluator.rubric import is_pass, score_criteria
from components.records.base import Record, hash_record, to_json
from components.records.frozen import FrozenDict, content_hash
from components.records.rubric import Rubric, Untouched
from components.records.system import System
from components.records.task import Certificate, Probe, Task
from components.records.world import Reaction
from components.task.asking import check_answer, check_names
from components.task.clause_gates import check_clauses, forbidden_calls
from components.task.gates import (
    check_alone,
    check_demands,
    check_provenance,
    check_reads,
    check_revisit,
    check_structure,
    check_words,
    check_writes,
    unstated_values,
)
from components.task.gold import Gold, run_gold
from components.task.graph import ToolGraph, tool_graph
from components.task.mutants import Mutants
from components.task.order import check_order
from components.task.pair_gates import check_pair
from components.task.reasons import Reason, Rejection
from components.task.remembered import Remembered
from components.task.rules import ruled_of
from components.task.user_gates import check_user

_MOST_HASHES = 2_000
"""Artifacts and tables of which the hashes are remembered."""
GATES_VERSION = 7
"""Raised when a gate changes what it admits."""


def certify(
    system: System,
    task: Task,
    rubric: Rubric,
    world: World | None = None,
    twin: Task | None = None,
) -> Certificate | Rejection:
    """Pass a task through every gate.

    Args:
        system: services, reactions and evaluator settings; its own tasks and rubrics are not
            looked at.
        task: the task.
        rubric: its criteria.
        world: the task's, where it is built already; None: it is built here.
        twin: the other half of its pair; None: it is looked up by the task's present certificate.
    """
    try:
        world = world or build_world(system, task.world)
        graph = tool_graph(system, task.world.services)
    except (SynthesisError, KeyError) as error:
        return Rejection(reason=Reason.STRUCTURE, detail=str(error))
    problem = (
        check_structure(task, graph)
        or check_words(system, task, world)
        or check_demands(task, graph)
    )
    if problem is not None:
        return problem
    gold = run_gold(world, task)
    if isinstance(gold, Rejection):
        return gold
    twin = twin or _twin_of(system, task)
    problem = (
        check_writes(task, graph, gold)
        or check_revisit(task, graph, gold)
        or check_provenance(task, graph, gold)
        or check_reads(task, graph, gold)
        or check_answer(task, gold)
        or check_names(task, graph, gold)
        or check_clauses(task, graph, gold)
        or check_user(task, gold)
        or check_pair(system, task, twin, world, gold)
        or check_order(world, task, gold)
        or _check_goal(system, rubric, gold)
    )
    if problem is not None:
        return problem
    probes = _probed(system, world, graph, task, rubric, gold)
    if isinstance(probes, Rejection):
        return probes
    return _certificate(system, world, task, rubric, gold, probes, twin)


def _twin_of(system: System, task: Task) -> Task | None:
    stored = system.reference.certificates.get(task.task_id)
    return None if stored is None else system.tasks.get(stored.twin)


def recertify(system: System, task_id: str) -> Certificate | Rejection:
    """Pass a task through every gate again and compare with the stored certificate."""
    stored = system.reference.certificates.get(task_id)
    task, rubric = system.tasks.get(task_id), system.evaluator.rubrics.get(task_id)
    if stored is None or task is None or rubric is None:
        return Rejection(reason=Reason.LAPSED, detail=f"{task_id}: no task, rubric or certificate")
    made = certify(system, task, rubric)
    if isinstance(made, Rejection):
        return made
    old, new = to_json(stored), to_json(made)
    differing = sorted(name for name in new if new[name] != old[name])
    if differing:
        return Rejection(reason=Reason.LAPSED, detail=f"{task_id}: {', '.join(differing)} differ")
    return made


def _check_goal(system: System, rubric: Rubric, gold: Gold) -> Rejection | None:
    """Check that gold passes, all is scored, and the goal was not there at the start."""
    settings = system.evaluator.settings
    scores = score_criteria(rubric, settings, gold.initial, gold.final, gold.answer)
    verdict = is_pass(scores, rubric, settings)
    if verdict is None:
        open_ones = [
            f"{name}: {item.detail}" for name, item in scores.items() if item.value is None
        ]
        return Rejection(reason=Reason.UNSCORED, detail="; ".join(open_ones))
    if not verdict:
        failed = [f"{name}: {item.detail}" for name, item in scores.items() if not item.value]
        return Rejection(reason=Reason.GOLD_FAILS, detail="; ".join(failed))
    start = score_criteria(rubric, settings, gold.initial, gold.initial, None)
    for name, criterion in rubric.criteria.items():
        if not isinstance(criterion, Untouched) and start[name].value == 1.0:
            return Rejection(reason=Reason.GOAL_ALREADY_TRUE, detail=f"{name} holds at the start")
    return None


def _probed(
    system: System, world: World, graph: ToolGraph, task: Task, rubric: Rubric, gold: Gold
) -> FrozenDict[str, Probe] | Rejection:
    settings = system.evaluator.settings
    records = [gold.records[name] for name in gold.names]
    constraints = argument_constraints(task, records, world, rubric)
    free = {(item.step, item.pointer) for item in constraints if item.constraint is Constraint.NONE}
    compared = {
        (item.step, item.pointer) for item in constraints if item.constraint is Constraint.VALUE
    }
    hedged = check_alone(task, graph, gold, compared)
    if hedged is not None:
        return hedged
    for step, pointer in unstated_values(task, graph):
        if (step, pointer) not in free:
            return Rejection(reason=Reason.UNSTATED_VALUE, detail=f"{step}{pointer}")
    probes: dict[str, Probe] = {}
    mutants = Mutants(world, task, graph, gold, constraints, settings.equivalence)
    for number, mutant in enumerate(mutants.all(), 1):
        scores = score_criteria(rubric, settings, gold.initial, mutant.final, mutant.answer)
        did_pass = is_pass(scores, rubric, settings)
        detail = f"{mutant.kind} {mutant.target}".strip()
        if did_pass is None:
            return Rejection(reason=Reason.UNSCORED, detail=detail)
        if did_pass is not mutant.should_pass:
            wrong = Reason.FALSE_PASS if did_pass else Reason.FALSE_FAIL
            failed = [f"{name}: {item.detail}" for name, item in scores.items() if not item.value]
            return Rejection(reason=wrong, detail="; ".join([detail, *failed]))
        probes[f"p{number:03d}"] = Probe(
            kind=mutant.kind,
            target=mutant.target,
            should_pass=mutant.should_pass,
            did_pass=did_pass,
        )
    return FrozenDict(probes)


def _certificate(
    system: System,
    world: World,
    task: Task,
    rubric: Rubric,
    gold: Gold,
    probes: FrozenDict[str, Probe],
    twin: Task | None,
) -> Certificate:
    ruled = ruled_of(task)
    records = [gold.records[name] for name in gold.names]
    return Certificate(
        task_id=task.task_id,
        task_hash=hash_record(task),
        environment_hashes=FrozenDict(_environment_hashes(system, task)),
        evaluator_hashes=FrozenDict(
            {
                "settings": hash_record(system.evaluator.settings),
                f"rubric/{task.task_id}": hash_record(rubric),
            }
        ),
        gates_version=GATES_VERSION,
        gold_run=gold.records,
        gold_answer=gold.answer,
        seed_rows=FrozenDict(_seed_rows(world)),
        initial_state=state_hash(gold.initial),
        final_state=state_hash(gold.final),
        probes=probes,
        unconstrained=unconstrained_arguments(task, records, world, rubric),
        forbidden=FrozenDict(dict(forbidden_calls(task, gold.observed))),
        twin="" if ruled is None or twin is None else twin.task_id,
        asker=() if ruled is None else ruled[1].asker,
    )


def _environment_hashes(system: System, task: Task) -> Iterator[tuple[str, str]]:
    for name in sorted({*task.world.services, *task.world.distractors}):
        yield f"blueprint/{name}", _hash_of(system.environment.blueprints[name])
        yield f"seed/{name}", _hash_of(system.environment.seeds[name])
        if name in system.environment.code:
            yield f"code/{name}", hash_record(system.environment.code[name])
    yield "reactions", _reactions_hash(system.environment.reactions)


def _seed_rows(world: World) -> Iterator[tuple[str, str]]:
    for service, tables in sorted(world.initial.services.items()):
        for name in sorted(tables):
            for row_id, row_hash in _row_hashes(tables[name]):
                yield f"{service}/{name}/{row_id}", row_hash


_hash_of: Remembered[Record, str] = Remembered(hash_record, _MOST_HASHES)
_reactions_hash: Remembered[Mapping[str, Reaction], str] = Remembered(
    lambda reactions: content_hash({name: to_json(item) for name, item in reactions.items()}),
    _MOST_HASHES,
)
_row_hashes: Remembered[Table, tuple[tuple[str, str], ...]] = Remembered(
    lambda table: tuple((row_id, content_hash(table.rows[row_id].values)) for row_id in table.ids),
    _MOST_HASHES,
)
