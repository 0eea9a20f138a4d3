"""A value that is read again can be had in no cheaper way: not guessed, looked up or hedged."""

from __future__ import annotations

from collections.abc import Iterator

from components.environment.state import rows_of
from components.environment.world import build_world
from components.records.frozen import FrozenDict
from components.records.task import FromDefault, FromObservation, Task
from components.task.compose import ComposedTask
from components.task.gates import check_alone, check_revisit, known_of
from components.task.gold import Gold
from components.task.graph import Place, ToolGraph, tool_graph
from components.task.known import Known, RowKey, other_names
from components.task.provenance import observations_of, shows
from components.task.reasons import Reason
from components.task.steps import can_be_had
from tests.task.builders import builtin_system, changed, composed, gold_of

EMAIL = Place("directory", "employee", "email")


def tasks() -> Iterator[tuple[ComposedTask, ToolGraph, Gold, str]]:
    """Yield tasks with their graph, their gold and the step that reads again."""
    for k, length, num in [(2, 4, 4), (2, 6, 4), (3, 7, 6)]:
        for item in composed(k, length, num):
            graph = tool_graph(builtin_system(), item.task.world.services)
            (again,) = [name for name, step in item.task.gold.items() if step.revisit_of]
            yield item, graph, gold_of(item.task), again


def fresh_values(task: Task, graph: ToolGraph, gold: Gold, again: str) -> list[Known]:
    """Return what the second reading shows that the first did not."""
    earlier = str(task.gold[again].revisit_of)
    before = {(item.row, item.place): item.value for item in known_of(task, graph, gold, earlier)}
    return [
        item
        for item in known_of(task, graph, gold, again)
        if before.get((item.row, item.place), item.value) != item.value
    ]


def used_places(task: Task) -> set[FromObservation]:
    sources = [source for step in task.gold.values() for source in step.arguments.values()]
    return {place for item in (*sources, *task.answer.values()) for place in observations_of(item)}


def without(task: Task, places: set[FromObservation]) -> Task:
    """Return the task with constants in the place of what rests on some observations."""
    gold = {}
    for name, step in task.gold.items():
        arguments = {
            pointer: FromDefault(value="x") if set(observations_of(source)) & places else source
            for pointer, source in step.arguments.items()
        }
        gold[name] = step.model_copy(update={"arguments": FrozenDict(arguments)})
    answer = {
        field: source
        for field, source in task.answer.items()
        if not set(observations_of(source)) & places
    }
    return task.model_copy(update={"gold": FrozenDict(gold), "answer": FrozenDict(answer)})


def test_no_composed_task_rests_on_one_of_few_values_that_could_be_guessed() -> None:
    for item, graph, gold, again in tasks():
        used = used_places(item.task)
        open_values = [
            fact
            for fact in fresh_values(item.task, graph, gold, again)
            if FromObservation(step=again, path=fact.path) in used
            and graph.blueprints[fact.place.service]
            .entities[fact.place.table]
            .fields[fact.place.field]
            .enum
            is None
        ]

        assert open_values


def test_a_status_that_could_be_guessed_is_no_reason_to_read_again() -> None:
    made = 0
    for item, graph, gold, again in tasks():
        fresh = fresh_values(item.task, graph, gold, again)
        status = [fact for fact in fresh if fact.place.field == "status"]
        if not status:
            continue
        made += 1
        others = {FromObservation(step=again, path=fact.path) for fact in fresh}
        answer = {"status": FromObservation(step=again, path=status[0].path)}
        bad = changed(without(item.task, others), answer=answer)

        problem = check_revisit(bad, graph, gold)

        assert problem is not None
        assert problem.reason is Reason.STALE_GOLD
        assert check_revisit(item.task, graph, gold) is None
    assert made


def test_a_value_that_goes_into_free_text_alone_is_refused() -> None:
    for item, graph, gold, again in tasks():
        places = {
            FromObservation(step=again, path=fact.path)
            for fact in fresh_values(item.task, graph, gold, again)
        }
        compared = {
            (name, pointer)
            for name, step in item.task.gold.items()
            if gold.records[name].changes
            for pointer in step.arguments
        }
        no_answer = item.task.model_copy(update={"answer": FrozenDict()})

        assert check_alone(item.task, graph, gold, compared) is None
        problem = check_alone(no_answer, graph, gold, set())
        assert problem is not None
        assert problem.reason is Reason.STALE_GOLD
        assert check_alone(without(item.task, places), graph, gold, compared) is not None


def test_a_person_is_named_by_name_and_id_and_not_by_a_deputy() -> None:
    item, graph, _gold, _again = next(tasks())
    world = build_world(
        builtin_system(),
        item.task.world.model_copy(update={"services": ("directory", "helpdesk", "mail")}),
    )
    people = rows_of(world.initial, "directory", "employee")
    person = next(iter(people.values()))
    fact = Known(
        step="s01",
        path=(),
        value=person["email"],
        place=EMAIL,
        means=EMAIL,
        row=RowKey("directory", "employee", person["id"]),
    )

    names = other_names(graph, world.initial, fact)

    assert {person["id"], person["name"]} <= set(names)
    assert person["email"] not in names
    assert not set(names) & {person["deputy_id"], person["status"], person["team_id"]}
    assert can_be_had(fact.value, "", [{"owner": person["name"]}], names)
    assert not can_be_had(fact.value, "", [{"owner": person["name"]}])


def test_neither_request_nor_earlier_answers_name_whom_the_new_value_names() -> None:
    for item, graph, gold, again in tasks():
        used = used_places(item.task)
        texts = [item.task.instruction]
        texts += [gold.observed[name] for name in gold.names if name < again]

        assert any(
            not any(
                shows(text, name)
                for name in (fact.value, *other_names(graph, gold.initial, fact))
                for text in texts
            )
            for fact in fresh_values(item.task, graph, gold, again)
            if FromObservation(step=again, path=fact.path) in used
        )
