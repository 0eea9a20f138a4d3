"""Whether a solution does what its design says: the writes one by one, and the answer.

The design was made by who knows the world, the solution by who knows the request alone. Each write
must be asked for by one effect, and each effect be met by one write.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from components.environment.state import rows_of
from components.environment.world import World
from components.records.calls import CallRecord
from components.records.frozen import texts_in
from components.task.gates import parameter_of
from components.task.graph import ToolGraph
from components.task.model_author.records import Design, Effect
from components.task.model_author.stated import span_of
from components.task.reasons import Reason, Rejection

_MAX_TOLD = 300
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_FIELD = re.compile(r"[a-z][a-z0-9_]{0,39}")


def check_design(design: Design, graph: ToolGraph) -> Rejection | None:
    """Check that a design speaks of its own request, and of writes that there are."""
    said = [*((item.words, "effect") for item in design.effects)]
    said += [(item.words, f"answer.{name}") for name, item in sorted(design.answer.items())]
    said += [(item.words, "pick") for item in design.picks]
    if _CONTROL.search(design.instruction):
        return _no(Reason.STRUCTURE, "the request holds control characters")
    for name in sorted(design.answer):
        if not _FIELD.fullmatch(name):
            return _no(Reason.STRUCTURE, f"answer: {name!r} is no name such as due_time")
    for words, what in said:
        if span_of(design.instruction, words) is None:
            return _no(Reason.DEMANDS, f"{what}: the words {words!r} do not stand in the request")
    for effect in design.effects:
        shape = graph.tools.get((effect.service, effect.tool))
        if shape is None or not shape.is_write:
            detail = f"{effect.service}.{effect.tool} is no write that is offered"
            return _no(Reason.DEMANDS, detail)
    return None


def matched(
    design: Design, records: Sequence[CallRecord], graph: ToolGraph, world: World
) -> Mapping[int, Effect] | Rejection:
    """Return which effect asks for which accepted write, by the number of the call.

    Args:
        design: its effects.
        records: accepted calls of the solution.
        graph: says which are writes.
        world: at its start.
    """
    writes = {
        number: record
        for number, record in enumerate(records)
        if graph.tools[record.service, record.tool].is_write
    }
    found: dict[int, Effect] = {}
    for effect in design.effects:
        left = [number for number in writes if number not in found]
        number = next((n for n in left if not _differs(effect, writes[n])), None)
        if number is None:
            return _no(Reason.EFFECTS, _unmet(effect, [writes[n] for n in left]))
        unsaid = _unsaid(effect, writes[number], graph, world)
        if unsaid:
            detail = f"{effect.words!r}: the design does not say what {unsaid} must be"
            return _no(Reason.EFFECTS, detail)
        found[number] = effect
    extra = next((number for number in writes if number not in found), None)
    if extra is not None:
        record = writes[extra]
        told = f"{record.service}.{record.tool} {dict(record.arguments)}"[:_MAX_TOLD]
        return _no(Reason.EFFECTS, f"no effect asks for the write {told}")
    return found


def check_answer_said(design: Design, finish: Mapping[str, Any]) -> Rejection | None:
    """Check that an answer has the fields that the design wants, with the values that it says."""
    if set(finish) != set(design.answer):
        asked, given = sorted(design.answer), sorted(finish)
        return _no(Reason.EFFECTS, f"the answer was to have the fields {asked}; it has {given}")
    for field, wanted in sorted(design.answer.items()):
        if wanted.value is None:
            return _no(Reason.EFFECTS, f"the design does not say what answer.{field} comes to")
        if wanted.value != finish[field]:
            detail = f"answer.{field} was to be {wanted.value!r}; it is {finish[field]!r}"
            return _no(Reason.EFFECTS, detail)
    return None


def _unmet(effect: Effect, writes: Sequence[CallRecord]) -> str:
    named = f"{effect.service}.{effect.tool}"
    for record in writes:
        if (record.service, record.tool) == (effect.service, effect.tool):
            return f"{effect.words!r}: in the call of {named}, {_differs(effect, record)}"
    return f"{effect.words!r}: the solution makes no call of {named} that is accepted"


def _unsaid(effect: Effect, record: CallRecord, graph: ToolGraph, world: World) -> str:
    """Return an argument of a call that its effect leaves open; empty where none is.

    A text in one's own words may be open, and so may the id of a row that is made on the way.
    """
    shape = graph.tools[record.service, record.tool]
    for name, value in sorted(record.arguments.items()):
        if name in effect.arguments:
            continue
        parameter = parameter_of(shape, f"/{name}")
        if parameter is not None and parameter.is_free_text:
            continue
        place = None if parameter is None else parameter.means
        if parameter is not None and parameter.names_row and place is not None:
            is_here = place.service in world.services
            rows = rows_of(world.initial, place.service, place.table) if is_here else {}
            if is_here and all(row.get(place.field) != value for row in rows.values()):
                continue
        return name
    return ""


def _differs(effect: Effect, record: CallRecord) -> str:
    """Return in what a call is not the one that an effect asks for; empty when it is."""
    if (record.service, record.tool) != (effect.service, effect.tool):
        return "another tool is called"
    for name, value in sorted(effect.arguments.items()):
        if record.arguments.get(name) != value:
            return f"{name} was to be {value!r}; it is {record.arguments.get(name)!r}"
    texts = list(texts_in(record.arguments))
    for item in effect.holds:
        if not any(item in text for text in texts):
            return f"a text was to hold {item!r}"
    return ""


def _no(reason: Reason, detail: str) -> Rejection:
    return Rejection(reason=reason, detail=detail)
