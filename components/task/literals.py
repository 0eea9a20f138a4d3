"""Values that a request can simply state: texts, choices, numbers and times, drawn by seed."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from components.environment.archetypes.draw import RowDraw
from components.records.blueprint import FieldType
from components.task.graph import Parameter, ToolGraph, ToolShape
from components.task.phrases import phrases
from components.task.senses import row_for, stated

_STEP = 5
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def draw_literal(
    graph: ToolGraph,
    shape: ToolShape,
    parameter: Parameter,
    now: str,
    rng: random.Random,
    row: RowDraw | None = None,
) -> str | int | float | None:
    """Return a value for an argument that names no row, or None when a person could not state one.

    A choice is drawn from its list; texts come from the phrases of the tool or from a common
    stock; numbers are round and within the schema's bounds; times are on the hour, days after
    `now`. What a compiled service asks for is drawn by what its name says, of `row` where several
    values are to agree.
    """
    choices = parameter.schema.get("enum")
    if choices:
        texts = [item for item in choices if isinstance(item, str) and item]
        return rng.choice(texts) if texts else None
    if graph.is_compiled(shape.service):
        found: str | int | float | None = stated(shape, parameter, row or row_for(shape, now, rng))
        return found
    kind = parameter.schema.get("type")
    if kind == "integer" or kind == "number":
        low = int(parameter.schema.get("minimum", 10))
        high = int(parameter.schema.get("maximum", max(low, 10) * 12))
        stepped = [value for value in range(low, high + 1) if value % _STEP == 0 and value > 9]
        return rng.choice(stepped[:24]) if stepped else rng.randint(low, high)
    if kind != "string":
        return None
    if _is_time(graph, parameter):
        moment = datetime.strptime(now, _TIME_FORMAT) + timedelta(days=rng.randint(4, 25))
        return moment.replace(hour=rng.choice((7, 8, 9)), minute=0, second=0).strftime(_TIME_FORMAT)
    if "pattern" in parameter.schema:
        return None
    stock = phrases().values(shape, parameter.pointer)
    low, high = parameter.schema.get("minLength", 0), parameter.schema.get("maxLength", 10_000)
    fitting = [text for text in stock if low <= len(text) <= high]
    return rng.choice(fitting) if fitting else None


def _is_time(graph: ToolGraph, parameter: Parameter) -> bool:
    if parameter.schema.get("format") == "date-time":
        return True
    place = parameter.place
    if place is None or place.service not in graph.blueprints:
        return False
    field = graph.blueprints[place.service].entities[place.table].fields.get(place.field)
    return field is not None and field.type is FieldType.TIMESTAMP
