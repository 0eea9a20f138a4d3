"""The gates of asking: the right answer may be given, and a name in the request names one row.

Both look at what the policy meets, not at what gold does: `finish` refuses an answer that its
schema does not allow, and a tool that looks a row up by its name finds the first of two that bear
it.
"""

from __future__ import annotations

import jsonschema_rs

from components.environment.state import rows_of
from components.records.frozen import thaw
from components.records.task import FromInstruction, Task
from components.task.gates import parameter_of
from components.task.gold import Gold
from components.task.graph import Place, Role, ToolGraph, ToolShape
from components.task.lines import path_of
from components.task.provenance import at_path
from components.task.reasons import Reason, Rejection


def check_answer(task: Task, gold: Gold) -> Rejection | None:
    """Check that the answer's schema allows the right answer."""
    try:
        validator = jsonschema_rs.validator_for(thaw(task.answer_schema))
    except (ValueError, RecursionError, jsonschema_rs.ReferencingError) as error:
        return Rejection(reason=Reason.ANSWER_REFUSED, detail=f"no schema: {error}")
    problem = next(iter(validator.iter_errors(thaw(gold.answer))), None)
    if problem is None:
        return None
    return Rejection(reason=Reason.ANSWER_REFUSED, detail=problem.message)


def check_names(task: Task, graph: ToolGraph, gold: Gold) -> Rejection | None:
    """Check that no two rows bear a name that the request gives and a tool looks up."""
    for number, name in enumerate(gold.names):
        record = gold.records[name]
        shape = graph.tools[record.service, record.tool]
        given: dict[str, list[tuple[Place, object]]] = {}
        asked: set[str] = set()
        for pointer, source in sorted(task.gold[name].arguments.items()):
            parameter = parameter_of(shape, pointer)
            place = None if parameter is None else parameter.place
            if parameter is None or place is None or parameter.role is not Role.SELECTS:
                continue
            found, value = at_path(record.arguments, path_of(pointer))
            if not found:
                continue
            given.setdefault(place.table, []).append((place, value))
            if isinstance(source, FromInstruction):
                asked.add(place.table)
        for table in sorted(asked):
            if not _looks_up(shape, table):
                continue
            rows = rows_of(gold.states[number], record.service, table).values()
            count = sum(all(row[at.field] == value for at, value in given[table]) for row in rows)
            if count > 1:
                told = ", ".join(f"{at.field} {value!r}" for at, value in given[table])
                detail = f"{name}: {count} rows of {record.service}.{table} have {told}"
                return Rejection(reason=Reason.AMBIGUOUS_REFERENT, detail=detail)
    return None


def _looks_up(shape: ToolShape, table: str) -> bool:
    return any(lookup.table == table for lookup in shape.blueprint.lookups.values())
