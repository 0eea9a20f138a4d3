"""The gates of asking: the right answer can be given, and a name means one row."""

from __future__ import annotations

import pytest

from components.records.base import to_json
from components.records.frozen import FrozenDict, freeze, thaw
from components.records.task import FromInstruction, Task
from components.task.certify import certify
from components.task.compose import ComposedTask
from components.task.reasons import Reason, Rejection
from tests.task.builders import builtin_system, composed


def asking() -> ComposedTask:
    """A task that asks for one text."""
    return next(item for item in composed(2, 4, 6) if len(item.task.answer) == 1)


@pytest.mark.parametrize(
    "change", [{"type": "integer"}, {"enum": ["something else"]}, {"maxLength": 1}]
)
def test_a_schema_that_refuses_the_right_answer_is_refused(change: dict[str, object]) -> None:
    item = asking()
    schema = thaw(item.task.answer_schema)
    (name,) = schema["properties"]
    schema["properties"][name].update(change)
    bad = item.task.model_copy(update={"answer_schema": freeze(schema)})

    made = certify(builtin_system(), bad, item.rubric)

    assert isinstance(made, Rejection)
    assert made.reason is Reason.ANSWER_REFUSED


def test_a_name_that_two_rows_bear_is_refused_where_a_tool_finds_the_first() -> None:
    """A pull request got the number of another one: the lookup answered, and nobody noticed."""
    item, key, values = _looked_up()
    overrides = FrozenDict({**item.task.world.overrides, key: freeze(values)})
    world = item.task.world.model_copy(update={"overrides": overrides})
    bad = item.task.model_copy(update={"world": world})

    made = certify(builtin_system(), bad, item.rubric)

    assert isinstance(made, Rejection)
    assert made.reason is Reason.AMBIGUOUS_REFERENT
    assert "2 rows" in made.detail


def _looked_up() -> tuple[ComposedTask, str, dict[str, object]]:
    """Return a task whose first call looks a row up by a name, the key of a later row of its
    table, and that row with the same name.
    """
    system = builtin_system()
    for item in (*composed(2, 4, 6), *composed(3, 7, 6)):
        task: Task = item.task
        step = task.gold["s01"]
        tool = system.environment.blueprints[step.service].tools[step.tool]
        for lookup in tool.lookups.values():
            source = step.arguments.get(f"/{lookup.field}")
            if lookup.field is None or not isinstance(source, FromInstruction):
                continue
            name = task.instruction[source.start : source.end]
            rows = system.environment.seeds[step.service].tables[lookup.table]
            own = next(row_id for row_id, row in rows.items() if row[lookup.field] == name)
            last = max(rows)
            if last != own:
                values = {**thaw(rows[last]), lookup.field: name}
                return item, f"{step.service}/{lookup.table}/{last}", values
    raise AssertionError("no composed task looks a row up by a name")


def test_the_gates_admit_what_was_composed() -> None:
    item = asking()

    made = certify(builtin_system(), item.task, item.rubric)

    assert not isinstance(made, Rejection)
    assert to_json(made) == to_json(item.certificate)
