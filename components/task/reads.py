"""Every read that singles out one row at the start of a world, or of which one row is picked.

Owns the enumeration: each read tool with each value of its own service's rows that its arguments
can take. A service's reads depend on its rows alone, so they are found once and shared by all
drafts.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.environment.engine import execute
from components.environment.state import WorldState, rows_of
from components.environment.world import World
from components.records.blueprint import FieldType, FunctionalClass
from components.records.frozen import FrozenDict
from components.records.task import Pick
from components.task.graph import Parameter, Place, Role, ToolGraph, ToolShape
from components.task.known import Known, RowKey, entity_of, known_in, picked_in
from components.task.provenance import assemble, at_path

_MAX_PAIRED_ROWS = 80
_MAX_WORDS = 3
_MAX_PICKED_FROM = 9
"""Rows of a list that a row is picked of; more are not looked through."""
_COMPARED = (FieldType.INTEGER, FieldType.NUMBER, FieldType.TIMESTAMP)
_EMPTY_WORDS = frozenset(
    {"about", "after", "again", "also", "been", "before", "cannot", "does", "down", "during"}
    | {"each", "every", "four", "from", "have", "here", "into", "less", "more", "most", "must"}
    | {"next", "nine", "only", "other", "over", "same", "seven", "should", "some", "still", "such"}
    | {"than", "that", "their", "them", "then", "there", "these", "they", "this", "three", "twice"}
    | {"unknown", "until", "what", "when", "where", "which", "will", "with", "wrong", "your"}
)
"""Words of a title that nobody would call a row by."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReadCall:
    """One read with its arguments, and what it shows at the start of the world."""

    shape: ToolShape
    arguments: FrozenDict[str, Any]
    """Pointer -> value."""
    shows: tuple[Known, ...]
    can_begin: bool
    """True when a person could write every argument, so that nothing need be seen before."""
    needs: frozenset[tuple[Place, Any]]
    """Arguments that nobody would write: what they mean, and their values."""
    takes: frozenset[tuple[Place, Any]]
    """Arguments that an observation could give; `needs` among them."""
    fields: frozenset[tuple[RowKey, str]]
    """Rows and fields that can be read in the answer."""
    pick: Pick | None = None
    """How one row of a longer list is picked; None: the row stands alone."""

    def shows_field(self, row: RowKey, field: str) -> bool:
        """Return whether a row's field can be read in the answer."""
        return (row, field) in self.fields


def possible_reads(world: World, graph: ToolGraph, service: str) -> tuple[ReadCall, ...]:
    """Return the reads of one service that show a row that stands alone, in a fixed order."""
    found = []
    for shape in graph.of_service(service):
        if shape.blueprint.functional is not FunctionalClass.READ:
            continue
        exact = {item.pointer for item in shape.parameters if item.is_exact}
        seen: set[FrozenDict[str, Any]] = set()
        enough: set[tuple[str, Any]] = set()
        for arguments in _argument_sets(world.initial, shape):
            if arguments in seen or any(item in enough for item in arguments.items()):
                continue
            seen.add(arguments)
            outcome = execute(world, world.initial, service, shape.name, assemble(arguments))
            if not outcome.envelope["ok"] or not arguments:
                continue
            data = outcome.envelope["data"]
            shows = tuple(known_in(graph, shape, "", data))
            if shows:
                found.append(_call(shape, arguments, shows))
                if len(arguments) == 1 and set(arguments) <= exact:
                    enough.update(arguments.items())
            else:
                found += _picks(graph, shape, arguments, data)
    return tuple(found)


def _picks(
    graph: ToolGraph, shape: ToolShape, arguments: FrozenDict[str, Any], data: Any
) -> list[ReadCall]:
    """Return a read of a longer list with one way to pick a row of it, where there is any."""
    found = [
        _call(shape, arguments, shows, pick)
        for pick in _ways(graph, shape, data)
        if (shows := tuple(picked_in(graph, shape, "", data, pick)))
    ]
    rng = random.Random(f"{shape.service}.{shape.name}:{sorted(arguments.items())}")
    return [rng.choice(found)] if found else []


def _ways(graph: ToolGraph, shape: ToolShape, data: Any) -> Iterator[Pick]:
    """Yield what rows of a longer list can be compared by."""
    for shown in shape.shown:
        is_there, rows = at_path(data, shown.path)
        if not (is_there and shown.is_list) or len(rows) > _MAX_PICKED_FROM:
            continue
        entity = entity_of(graph, Place(shape.service, shown.table, ""))
        for name, field in sorted(shown.fields.items()):
            body = entity.fields[field]
            if body.type in _COMPARED and not body.link and field != entity.key:
                yield from (Pick(by=name, most=most) for most in (False, True))


def _call(
    shape: ToolShape,
    arguments: FrozenDict[str, Any],
    shows: tuple[Known, ...],
    pick: Pick | None = None,
) -> ReadCall:
    used = [item for item in shape.parameters if item.pointer in arguments]
    return ReadCall(
        shape=shape,
        arguments=arguments,
        shows=shows,
        can_begin=all(item.is_natural for item in used),
        needs=frozenset(
            (item.means, arguments[item.pointer])
            for item in used
            if item.names_row and not item.is_natural and item.means is not None
        ),
        takes=frozenset(
            (item.means, arguments[item.pointer])
            for item in used
            if item.names_row and item.means is not None
        ),
        fields=frozenset((item.row, item.place.field) for item in shows),
        pick=pick,
    )


def _argument_sets(state: WorldState, shape: ToolShape) -> Iterator[FrozenDict[str, Any]]:
    needed = [item for item in shape.parameters if item.required]
    if len(needed) > 1 or any(item.place is None for item in needed):
        return
    optional = [
        item
        for item in shape.parameters
        if not item.required and item.role is Role.FILTERS and item.schema.get("type") == "string"
    ]
    named = [item for item in optional if "enum" not in item.schema]
    for base in _bases(state, needed):
        if base:
            yield base
            yield from (
                FrozenDict({**base, item.pointer: value})
                for item in optional
                if "enum" in item.schema
                for value in item.schema["enum"]
                if _is_word(value)
            )
            continue
        for item in named:
            yield from (FrozenDict({item.pointer: value}) for value in _values(state, item.place))
        exact = [item for item in named if item.is_exact]
        yield from _pairs(state, exact, [item for item in optional if item not in exact])


def _bases(state: WorldState, needed: list[Parameter]) -> Iterator[FrozenDict[str, Any]]:
    if not needed:
        yield FrozenDict()
    for item in needed:
        yield from (FrozenDict({item.pointer: value}) for value in _values(state, item.place))


def _pairs(
    state: WorldState, exact: list[Parameter], vague: list[Parameter]
) -> Iterator[FrozenDict[str, Any]]:
    """Yield an exact filter with a word or choice that many rows share: `her open ticket`.

    The second part alone must not single out a row, else nothing would have to be found out for
    the first.
    """
    for first in exact:
        if first.place is None:
            continue
        rows = list(rows_of(state, first.place.service, first.place.table).values())
        for second in vague:
            if second.place is None or second.place.table != first.place.table:
                continue
            told = [(row, _words_of(second, row.get(second.place.field))) for row in rows]
            shared = Counter(word for _row, words in told for word in words)
            for row, words in told[:_MAX_PAIRED_ROWS]:
                value = row.get(first.place.field)
                common = [word for word in words if shared[word] > 1]
                if isinstance(value, str) and value:
                    for word in common[:_MAX_WORDS]:
                        yield FrozenDict({first.pointer: value, second.pointer: word})


def _words_of(parameter: Parameter, value: Any) -> list[str]:
    """Return what a person would pick from a value: a choice whole, of a text its longer words."""
    if not isinstance(value, str):
        return []
    if "enum" in parameter.schema:
        return [value] if _is_word(value) else []
    words = {word.lower() for word in re.findall(r"[A-Za-z]{4,}", value)}
    return sorted(words - _EMPTY_WORDS, key=lambda word: (-len(word), word))


def _is_word(value: Any) -> bool:
    """Return whether a choice can stand in a sentence as it is; `in_progress` cannot."""
    return isinstance(value, str) and value.isalpha()


def _values(state: WorldState, place: Place | None) -> list[Any]:
    """Return the values that a field has, without repetition, in a fixed order."""
    if place is None:
        return []
    values = {row.get(place.field) for row in rows_of(state, place.service, place.table).values()}
    return sorted(value for value in values if isinstance(value, str) and value)


def index_by_value(calls: tuple[ReadCall, ...]) -> Mapping[tuple[Place, Any], list[ReadCall]]:
    """Return the reads that show each value, by what the value means."""
    index: dict[tuple[Place, Any], list[ReadCall]] = {}
    for call in calls:
        for item in call.shows:
            if isinstance(item.value, str):
                index.setdefault((item.means, item.value), []).append(call)
    return index
