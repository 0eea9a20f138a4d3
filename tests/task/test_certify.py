"""Bad tasks are refused, each for its own reason; a certificate runs again to the same bytes."""

from __future__ import annotations

from typing import Any

from components.records.base import to_json
from components.records.frozen import FrozenDict, canonical_json
from components.records.rubric import RowFields, Rubric, Untouched
from components.records.system import System
from components.records.task import Certificate, FromDefault, FromInstruction, Referent, Task
from components.task.certify import GATES_VERSION, certify, recertify
from components.task.compose import ComposedTask
from components.task.provenance import at_path, observations_of
from components.task.reasons import Reason, Rejection
from tests.task.builders import builtin_system, changed, composed, gold_of, rubric_of


def good() -> ComposedTask:
    """A task whose writes take literals and observed values, and that asks for an answer."""
    for item in composed(3, 7, 6):
        if item.task.answer and _stated(item.task):
            return item
    raise AssertionError("no composed task states a value for a write")


def _stated(task: Task) -> list[tuple[str, str]]:
    """Return the literals of writes: (step, pointer)."""
    demanded = {item.step for item in task.demands.values()}
    return [
        (name, pointer)
        for name, step in task.gold.items()
        for pointer, source in step.arguments.items()
        if isinstance(source, FromInstruction) and name in demanded and "address" not in pointer
    ]


def with_argument(task: Task, name: str, pointer: str, source: Any) -> Task:
    step = task.gold[name]
    arguments = FrozenDict({**step.arguments, pointer: source})
    gold = FrozenDict({**task.gold, name: step.model_copy(update={"arguments": arguments})})
    return task.model_copy(update={"gold": gold})


def refused(task: Task, rubric: Rubric | None = None, system: System | None = None) -> Rejection:
    made = certify(system or builtin_system(), task, rubric or rubric_of(task))
    assert isinstance(made, Rejection), "the task was admitted"
    return made


def test_a_good_task_is_admitted_with_every_kind_of_probe() -> None:
    item = good()

    kinds = {probe.kind for probe in item.certificate.probes.values()}

    assert item.certificate.gates_version == GATES_VERSION
    assert {"gold", "null", "omit_write", "stale_value", "wrong_answer", "more_reads"} <= kinds
    assert {"shotgun_answer", "contradicting_answer", "missing_answer"} <= kinds
    assert all(p.did_pass == p.should_pass for p in item.certificate.probes.values())


def test_probes_of_many_tasks_reach_records_values_facts_and_collateral() -> None:
    found = {
        probe.kind
        for k, length in ((2, 6), (3, 7))
        for item in composed(k, length, 4)
        for probe in item.certificate.probes.values()
    }

    assert {"wrong_record", "change_value", "change_fact", "free_text", "collateral"} <= found
    assert "other_order" in found


def test_a_value_that_the_request_does_not_state_is_refused() -> None:
    item = good()
    name, pointer = _stated(item.task)[0]
    value = item.certificate.gold_run[name].arguments[pointer[1:]]

    bad = with_argument(item.task, name, pointer, FromDefault(value=value))

    assert refused(bad, item.rubric).reason in (Reason.UNSTATED_VALUE, Reason.SHOWN_ELSEWHERE)
    assert refused(bad, item.rubric).detail.startswith(name)


def test_an_ambiguous_referent_is_refused() -> None:
    item, step = next(
        (item, referent.step)
        for item in composed(3, 7, 4)
        for referent in item.task.referents.values()
        if referent.step == "s01" and referent.pick is None and _is_search(item.task, referent)
    )

    twice = _with_twin(item.task, step)

    assert refused(twice, item.rubric).reason is Reason.AMBIGUOUS_REFERENT


def _is_search(task: Task, referent: Referent) -> bool:
    _found, rows = at_path(gold_of(task).observed[referent.step], referent.rows_path)
    return isinstance(rows, tuple)


def _with_twin(task: Task, step: str) -> Task:
    """Return the task with a second row in its world that answers the same query."""
    gold = task.gold[step]
    data = gold_of(task).observed[step]
    (table_rows,) = [value for value in data.values() if isinstance(value, tuple)]
    row_id = table_rows[0]["id"]
    seed = builtin_system().environment.seeds[gold.service]
    (table,) = [name for name, rows in seed.tables.items() if row_id in rows]
    twin_id = row_id[:-1] + ("0" if row_id[-1] != "0" else "1")
    twin = {**seed.tables[table][row_id], "id": twin_id}
    world = task.world.model_copy(
        update={"overrides": FrozenDict({f"{gold.service}/{table}/{twin_id}": FrozenDict(twin)})}
    )
    return task.model_copy(update={"world": world})


def test_gold_with_a_wrong_value_fails_the_rubric() -> None:
    item = good()
    name, criterion = next(
        (name, criterion)
        for name, criterion in item.rubric.criteria.items()
        if isinstance(criterion, RowFields) and criterion.fields
    )
    field = next(iter(criterion.fields))
    wrong = criterion.model_copy(
        update={"fields": FrozenDict({**criterion.fields, field: "something else"})}
    )
    rubric = item.rubric.model_copy(
        update={"criteria": FrozenDict({**item.rubric.criteria, name: wrong})}
    )

    assert refused(item.task, rubric).reason is Reason.GOLD_FAILS


def test_a_goal_that_holds_at_the_start_is_refused() -> None:
    item = good()
    (trivial,) = [
        {"untouched": criterion}
        for criterion in item.rubric.criteria.values()
        if isinstance(criterion, Untouched)
    ]
    place = sorted(item.certificate.seed_rows)[0].split("/")
    seed = builtin_system().environment.seeds[place[0]].tables[place[1]][place[2]]
    key = builtin_system().environment.blueprints[place[0]].entities[place[1]].key
    there = RowFields(
        text="It is as it was.",
        service=place[0],
        table=place[1],
        where=FrozenDict({key: place[2]}),
        fields=FrozenDict(seed),
    )
    rubric = Rubric(task_id=item.task.task_id, criteria=FrozenDict({**trivial, "there": there}))

    assert refused(item.task, rubric).reason is Reason.GOAL_ALREADY_TRUE


def test_gold_that_uses_the_first_reading_is_refused() -> None:
    item, again, field, source = next(
        (item, again, field, source)
        for item in composed(2, 4, 6)
        for field, source in item.task.answer.items()
        for again in (name for name, step in item.task.gold.items() if step.revisit_of)
        if len(item.task.answer) == 1 and source.kind == "observation" and source.step == again
    )
    task = item.task
    first = source.model_copy(update={"step": task.gold[again].revisit_of})
    bad = task.model_copy(update={"answer": FrozenDict({field: first})})

    assert refused(bad, item.rubric).reason in (Reason.STALE_GOLD, Reason.UNDERIVABLE)


def test_a_request_that_names_a_distractor_is_refused() -> None:
    item = next(item for item in composed(2, 4, 4) if item.task.world.distractors)
    (distractor,) = item.task.world.distractors
    bad = changed(item.task, instruction=f"{item.task.instruction} Use the {distractor} service.")

    assert refused(bad, item.rubric).reason is Reason.NAMES_DISTRACTOR


def test_a_request_with_an_internal_id_is_refused() -> None:
    item = good()
    bad = changed(item.task, instruction=f"{item.task.instruction} It is tkt_04630f.")

    assert refused(bad, item.rubric).reason is Reason.REVEALS_ID


def test_a_write_that_nobody_asked_for_is_refused() -> None:
    item = good()
    writes = [label for label, demand in item.task.demands.items() if demand.step != "answer"]
    fewer = FrozenDict(
        {label: demand for label, demand in item.task.demands.items() if label != writes[0]}
    )

    assert refused(changed(item.task, demands=fewer), item.rubric).reason is Reason.DEMANDS


def test_a_request_that_tells_what_should_be_read_is_refused() -> None:
    item = good()
    value = next(iter(item.certificate.gold_answer.values()))
    bad = changed(item.task, instruction=f"{item.task.instruction} I think it is {value}.")

    assert refused(bad, item.rubric).reason in (Reason.STALE_GOLD, Reason.SHOWN_ELSEWHERE)


def test_a_rubric_that_misses_a_write_lets_a_mutant_pass() -> None:
    item = good()
    rows = [name for name, item_ in item.rubric.criteria.items() if isinstance(item_, RowFields)]
    fewer = FrozenDict({k: v for k, v in item.rubric.criteria.items() if k not in rows})
    rubric = item.rubric.model_copy(update={"criteria": fewer})

    assert refused(item.task, rubric).reason in (Reason.FALSE_PASS, Reason.UNSTATED_VALUE)


def test_a_certificate_runs_again_to_the_same_bytes_and_lapses_with_the_world() -> None:
    item = good()
    task_id = item.task.task_id
    base = builtin_system()
    system = base.model_copy(
        update={
            "tasks": FrozenDict({task_id: item.task}),
            "evaluator": base.evaluator.model_copy(
                update={"rubrics": FrozenDict({task_id: item.rubric})}
            ),
            "reference": base.reference.model_copy(
                update={"certificates": FrozenDict({task_id: item.certificate})}
            ),
        }
    )
    quiet = system.model_copy(
        update={"environment": base.environment.model_copy(update={"reactions": FrozenDict()})}
    )

    again = recertify(system, task_id)
    lapsed = recertify(quiet, task_id)

    assert isinstance(again, Certificate)
    assert canonical_json(to_json(again)) == canonical_json(to_json(item.certificate))
    assert isinstance(lapsed, Rejection)


def test_what_is_used_comes_from_steps_that_ran_before() -> None:
    for item in composed(3, 5, 4):
        for name, step in item.task.gold.items():
            for source in step.arguments.values():
                assert all(place.step < name for place in observations_of(source))
