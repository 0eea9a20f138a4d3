"""Marks of a service: what no gate demands and a reader wants to know.

Owns three counts: writes that no read shows, ids that no tool tells, and reads that say little.
A mark costs no tool its place; where many are marked, the service as a whole is in doubt.
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
from components.records.frozen import FrozenDict, JsonObject, canonical_json

_READS = frozenset({Operation.GET, Operation.LIST, Operation.SEARCH})
_TELLING = _READS - {Operation.GET} | {Operation.CREATE, Operation.APPEND}
_MAKING = frozenset({Operation.CREATE, Operation.APPEND})
_SEEN = 3
"""Calls of one read that are compared before and after a write."""
_INFORMATIVE = 2
_WORDS = 3
"""Words of a text that say as much as one field."""
_LEAST_TOLD = 3
"""Characters of a value that can be told from the text around it."""
LEAST_EVIDENCE = 4
"""Writes, ids and reads that must have been looked at before anything is said of the whole."""
MOST_MARKED = 0.05
"""Share of them that may be marked in a service that makes sense as a whole. Chosen on services
that were read by people: of those within it, one in twenty misled; of the others, three in five.
"""

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

    @property
    def doubt(self) -> str:
        """Why the service as a whole hardly makes sense by itself; empty where it does."""
        looked_at = len(self.writes) + len(self.ids) + len(self.reads)
        parts = (
            ("writes that no read shows", self.unobservable),
            ("ids that no tool tells", self.undiscoverable),
            ("reads that say nothing", self.hollow),
        )
        marked = sum(len(names) for _, names in parts)
        if looked_at < LEAST_EVIDENCE:
            return (
                f"only {looked_at} of its writes, ids and reads could be looked at; "
                f"{LEAST_EVIDENCE} are needed"
            )
        if marked <= MOST_MARKED * looked_at:
            return ""
        told = ", ".join(f"{what}: {_few(names)}" for what, names in parts if names)
        return f"{marked} of {looked_at} writes, ids and reads make no sense alone ({told})"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


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
    texts = [item for item in told if isinstance(item, str) and "\n" in item]
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
        undiscoverable=tuple(
            place
            for place, values in ids.items()
            if not values & told and not any(_stands_in(item, texts) for item in values)
        ),
        reads=tuple(reads),
        hollow=tuple(
            name
            for name in reads
            if _most_told(answered[name]) < _INFORMATIVE
            and _most_told(_searched(prober, name, tools[name], answered[name])) < _INFORMATIVE
        ),
    )


def _stands_in(value: Any, texts: Sequence[str]) -> bool:
    """True where an answer that is a text of several lines tells a value."""
    return len(str(value)) >= _LEAST_TOLD and any(str(value) in text for text in texts)


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
            yield from _texts(seen.data)


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
    """Count fields that say more than id, name and date, and that were not given; of an answer that
    is a text, its words.
    """
    given = set(canonical_json(arguments).decode().lower().split())
    words_told = [len(set(text.lower().split()) - given) // _WORDS for text in _texts(seen.data)]
    fields = (_num_in(item, arguments) for item in shown_objects(seen.data))
    return max((*fields, *words_told), default=0)


def _texts(data: Any) -> Iterator[str]:
    """Yield the texts that an answer is, where it is no records."""
    parts = list(data.values()) if isinstance(data, Mapping) else [data]
    yield from (part for part in parts if isinstance(part, str))


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
