"""Marks of a service: what no gate demands and a reader wants to know.

Owns three counts: writes that no read shows, ids that no tool tells, and reads that say little.
A mark costs no tool its place; the counts are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.environment.gates.bindings import bindings_of, text_pairs
from components.environment.gates.probe import Prober, Seen
from components.environment.gates.promises import words
from components.environment.gates.shown import shown_objects
from components.environment.names import snake
from components.records.blueprint import Blueprint, Operation, ToolBlueprint
from components.records.frozen import FrozenDict, JsonObject

_READS = frozenset({Operation.GET, Operation.LIST, Operation.SEARCH})
_TELLING = _READS - {Operation.GET} | {Operation.CREATE, Operation.APPEND}
_MAKING = frozenset({Operation.CREATE, Operation.APPEND})
_SEEN = 3
"""Calls of one read that are compared before and after a write."""
_INFORMATIVE = 2

Variants = Mapping[str, list[JsonObject]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Counts over the tools of one service that pass the gates."""

    writes: tuple[str, ...] = ()
    """Tools that changed a row."""
    unobservable: tuple[str, ...] = ()
    """Writes whose change no read of the service shows."""
    ids: tuple[str, ...] = ()
    """Required arguments that name one row, as `tool.argument`; not those whose values the schema
    lists, and no years and languages.
    """
    undiscoverable: tuple[str, ...] = ()
    """Those whose value no list, search or create of the service tells."""
    reads: tuple[str, ...] = ()
    """Reads of rows that answered; simulated ones are not counted."""
    hollow: tuple[str, ...] = ()
    """Reads that show fewer than two fields beyond id, name, date and what was given; a value that
    stands alone is all that was asked for.
    """


def mark_service(prober: Prober, blueprint: Blueprint, variants: Variants) -> Marks:
    """Count the marks of the tools that have failed nothing."""
    sound = [
        name
        for name in prober.tools
        if name not in prober.failed() and not blueprint.tools[name].simulated
    ]
    tools = {name: blueprint.tools[name] for name in sound}
    answered = {
        name: [
            (arguments, seen)
            for arguments in variants.get(name, [])
            if (seen := prober.call(name, arguments)).is_ok
        ]
        for name in sound
    }
    writes = {
        name: changed[0]
        for name, calls in answered.items()
        if (changed := [seen for _, seen in calls if seen.changes])
    }
    reads = [name for name in sound if tools[name].operation in _READS and answered[name]]
    told = set(_told(answered, tools))
    made = _made(answered, tools)
    ids = {
        f"{name}.{argument}": values
        for name in sound
        for argument, values in _ids(prober, blueprint, name, made)
    }
    return Marks(
        writes=tuple(writes),
        unobservable=tuple(
            name
            for name, seen in writes.items()
            if not _is_observed(prober, blueprint, seen, [(n, answered[n]) for n in reads])
        ),
        ids=tuple(ids),
        undiscoverable=tuple(place for place, values in ids.items() if not values & told),
        reads=tuple(reads),
        hollow=tuple(
            name
            for name in reads
            if _most_told(answered[name]) < _INFORMATIVE
            and _most_told(_searched(prober, name, tools[name], answered[name])) < _INFORMATIVE
        ),
    )


def _most_told(calls: list[tuple[JsonObject, Seen]]) -> int:
    return max((_num_informative(arguments, seen) for arguments, seen in calls), default=0)


def _searched(
    prober: Prober, name: str, tool: ToolBlueprint, calls: list[tuple[JsonObject, Seen]]
) -> list[tuple[JsonObject, Seen]]:
    """Return a search's answers where it is asked for a word that a row holds: what was made up
    for it may be in none, and then nothing is seen of what it tells.
    """
    if tool.query is None:
        return []
    found = []
    for row in list(prober.rows(tool.query.table).values())[:_SEEN]:
        for pair in text_pairs(tool):
            text = row.get(pair.column)
            if len(pair.path) == 1 and isinstance(text, str) and text.strip():
                least = min((arguments for arguments, _ in calls), key=len)
                asked = FrozenDict({**least, pair.path[0]: max(text.split(), key=len)})
                found.append((asked, prober.call(name, asked)))
    return [(asked, seen) for asked, seen in found if seen.is_ok]


def _made(
    answered: Mapping[str, list[tuple[JsonObject, Seen]]], tools: Mapping[str, ToolBlueprint]
) -> dict[str, list[JsonObject]]:
    """Return the rows that tools made, by table."""
    found: dict[str, list[JsonObject]] = {}
    for name, calls in answered.items():
        if tools[name].operation not in _MAKING:
            continue
        for change in (change for _, seen in calls for change in seen.changes):
            if change.before is None and change.after is not None:
                found.setdefault(change.table, []).append(change.after)
    return found


def _is_observed(
    prober: Prober,
    blueprint: Blueprint,
    written: Seen,
    reads: list[tuple[str, list[tuple[JsonObject, Seen]]]],
) -> bool:
    """True when some read answers otherwise after a write than before."""
    tables = {change.table for change in written.changes}
    near = sorted(reads, key=lambda item: blueprint.tools[item[0]].entity not in tables)
    for name, calls in near:
        for arguments, before in calls[:_SEEN]:
            after = prober.call(name, arguments, written.state)
            if after.envelope != before.envelope:
                return True
        for arguments in _of_new_rows(blueprint, name, written, calls):
            after = prober.call(name, arguments, written.state)
            if after.envelope != prober.call(name, arguments).envelope:
                return True
    return False


def _of_new_rows(
    blueprint: Blueprint, name: str, written: Seen, calls: list[tuple[JsonObject, Seen]]
) -> Iterator[JsonObject]:
    """Yield the arguments by which a read names a row that was written, or searches for it."""
    arguments = calls[0][0]
    tool = blueprint.tools[name]
    for binding in bindings_of(blueprint, tool):
        for row in _rows_in(written, binding.table):
            given = {
                pair.path[0]: [row[pair.column]] if pair.is_list else row[pair.column]
                for pair in binding.pairs
                if len(pair.path) == 1 and row.get(pair.column) is not None
            }
            yield FrozenDict(
                {**arguments, **{key: item for key, item in given.items() if key in arguments}}
            )
    table = tool.query.table if tool.query is not None else ""
    for row in _rows_in(written, table):
        for pair in text_pairs(tool):
            text = row.get(pair.column)
            if len(pair.path) == 1 and isinstance(text, str) and text.strip():
                yield FrozenDict({**arguments, pair.path[0]: max(text.split(), key=len)})


def _rows_in(written: Seen, table: str) -> Iterator[JsonObject]:
    """Yield a few rows of a table as a write left them, or took them away."""
    for change in written.changes[:2]:
        row = change.after or change.before
        if change.table == table and row is not None:
            yield row


def _told(
    answered: Mapping[str, list[tuple[JsonObject, Seen]]], tools: Mapping[str, ToolBlueprint]
) -> Iterator[Any]:
    """Yield the values that lists, searches and creates show and that nobody had to give them."""
    for name, calls in answered.items():
        if tools[name].operation not in _TELLING:
            continue
        for arguments, seen in calls:
            given = {value for value in arguments.values() if isinstance(value, (str, int))}
            for item in shown_objects(seen.data):
                for value in item.values():
                    if isinstance(value, (str, int)) and value not in given:
                        yield value


def _ids(
    prober: Prober, blueprint: Blueprint, name: str, made: Mapping[str, Sequence[JsonObject]]
) -> Iterator[tuple[str, set[Any]]]:
    """Yield the required arguments that name one row, with the values that do.

    Args:
        prober: holds the seed's rows.
        blueprint: of the service.
        name: of a tool.
        made: table -> rows that its tools made.
    """
    schema = prober.spec.tools[name].input_schema
    listed = [key for key, part in (schema.get("properties") or {}).items() if "enum" in part]
    required = frozenset(schema.get("required") or ()) - set(listed)
    for binding in bindings_of(blueprint, blueprint.tools[name]):
        if not binding.is_one:
            continue
        rows = [*prober.rows(binding.table).values(), *made.get(binding.table, ())]
        for pair in binding.pairs:
            argument = pair.path[0]
            if len(pair.path) == 1 and argument in required and not _says_itself(argument):
                held = {row.get(pair.column) for row in rows}
                yield argument, {item for item in held if isinstance(item, (str, int))}


def _says_itself(argument: str) -> bool:
    """True for names of values that anyone can give, such as a year."""
    return snake(argument) in words("names_no_record")


def _num_informative(arguments: JsonObject, seen: Seen) -> int:
    """Count fields that say more than id, name and date, and that were not given."""
    return max((_num_in(item, arguments) for item in shown_objects(seen.data)), default=0)


def _num_in(item: Mapping[str, Any], arguments: JsonObject) -> int:
    count = 0
    for name, value in item.items():
        word = snake(name)
        is_plain = word in words("plain_fields") or word.rpartition("_")[2] in words("key_ends")
        is_empty = value is None or value in ((), "", {})
        if not is_plain and not is_empty and name not in arguments:
            count += 1
    is_value = len(item) == 1 and count == 1
    return _INFORMATIVE if is_value else count
