"""Rows in answers: which row of a table an object in an answer shows, and what arguments mean.

Owns the matching of names and values that the state laws share. A match is by name and value alone,
whatever expression put the object there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.environment.gates.promises import words
from components.environment.names import is_id_of, singular, snake, strip_noun, tokens
from components.environment.values import same
from components.records.calls import RowChange
from components.records.frozen import FrozenDict, JsonObject
from components.records.spec import ToolSpec

_RENAMES = ("new_", "updated_", "target_", "to_")


@dataclass(frozen=True, slots=True)
class Columns:
    """A table as the laws see it."""

    table: str
    key: str
    names: frozenset[str]

    def find(self, argument: str) -> str | None:
        """Return the column that an argument's name means, or None."""
        word = snake(argument)
        wanted = {form for plain in (word, strip_noun(word, self.table)) for form in _forms(plain)}
        exact = [name for name in sorted(self.names) if name == argument]
        found = exact or [name for name in sorted(self.names) if snake(name) in wanted]
        if not found and (is_id_of(word, self.table) or is_id_of(singular(word), self.table)):
            found = [name for name in ("id", self.key) if name in self.names]
        return found[0] if found else None


def _forms(word: str) -> Iterator[str]:
    yield word
    yield singular(word)
    for start in _RENAMES:
        if word.startswith(start):
            yield word[len(start) :]


def shown_lists(data: Any) -> list[tuple[Any, ...]]:
    """Return the lists of objects at the top of an answer."""
    parts = data.values() if isinstance(data, Mapping) else (data,)
    return [
        tuple(part)
        for part in parts
        if isinstance(part, (list, tuple)) and all(isinstance(item, Mapping) for item in part)
    ]


def shown_objects(data: Any) -> list[Mapping[str, Any]]:
    """Return the objects at the top of an answer, and those in its lists."""
    parts = list(data.values()) if isinstance(data, Mapping) else [data]
    found: list[Mapping[str, Any]] = [part for part in parts if isinstance(part, Mapping)]
    for items in shown_lists(data):
        found.extend(items)
    return found


def shared(item: Mapping[str, Any], columns: Columns, but: Iterable[str] = ()) -> list[str]:
    """Return the fields of an object that are columns; empty where it hardly looks like a row."""
    found = sorted((set(item) & columns.names) - set(but))
    return found if len(found) >= 2 and 2 * len(found) >= len(item) else []


def row_shown(
    item: Mapping[str, Any], fields: list[str], rows: Mapping[str, JsonObject], key: str
) -> JsonObject | None:
    """Return the row that an object shows in all these fields, or None."""
    row_id = item.get(key)
    own = rows.get(row_id) if isinstance(row_id, str) else None
    if own is not None:
        return own if _agrees(item, fields, own) else None
    return next((row for row in rows.values() if _agrees(item, fields, row)), None)


def _agrees(item: Mapping[str, Any], fields: list[str], row: Mapping[str, Any]) -> bool:
    return all(same(item[name], row.get(name)) for name in fields)


def given_values(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of every argument, and of what an object among them holds."""
    for name, value in arguments.items():
        yield name, value
        if isinstance(value, Mapping):
            yield from value.items()


def names_within(value: Any) -> Iterator[str]:
    """Yield the names of all fields of a value, at any depth."""
    if isinstance(value, Mapping):
        yield from value
        for item in value.values():
            yield from names_within(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from names_within(item)


def spread(arguments: Mapping[str, Any], names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of every argument; of an object that is called by what it does, not by
    what it is (`changes`, `data`), what it names of a row's fields, and then what is left of it.
    """
    fields = frozenset(names)
    for name, value in arguments.items():
        inner = value if isinstance(value, Mapping) else {}
        held = {n: v for n, v in inner.items() if n in fields and n not in arguments}
        is_spread = bool(held) and snake(name) in words("payloads")
        if is_spread:
            yield from held.items()
        left = {n: v for n, v in inner.items() if n not in held}
        if not is_spread or left:
            yield name, FrozenDict(left) if is_spread else value


def steps_back(change: RowChange) -> bool:
    """True for a row that is only the current one no more, as another has become it."""
    before, after = change.before or FrozenDict(), change.after or FrozenDict()
    changed = [name for name in after if not same(after[name], before.get(name))]
    return (
        [snake(name) for name in changed if after[name] is False]
        == ["is_current"]
        == [snake(name) for name in changed]
    )


def fits_filter(held: Any, wanted: Any) -> bool:
    """True when a row's value fits what a filter asks for, read as kindly as names allow."""
    if isinstance(wanted, (list, tuple)):
        return any(fits_filter(held, item) for item in wanted)
    if isinstance(held, (list, tuple)):
        return any(fits_filter(item, wanted) for item in held)
    if isinstance(held, str) and isinstance(wanted, str):
        return wanted.lower() in held.lower()
    return same(held, wanted)


def is_kin(held: Any, wanted: Any) -> bool:
    """True when two values are of one JSON kind, so that they can be compared at all."""
    if isinstance(wanted, (list, tuple)):
        return all(is_kin(held, item) for item in wanted) and not isinstance(held, Mapping)
    if isinstance(held, (list, tuple)):
        return all(is_kin(item, wanted) for item in held)
    kinds = (bool, str, (int, float), Mapping)
    return any(isinstance(held, kind) and isinstance(wanted, kind) for kind in kinds)


def is_named_by(tool: str, field: str, arguments: Iterable[str]) -> bool:
    """True for a field that the names of a tool and of an argument give together: `fill_color_r`
    of `set_fill_color(r)`.
    """
    parts = tokens(field)
    ends = [own for argument in arguments if parts[-len(own := tokens(argument)) :] == own]
    return any(set(parts[: -len(own)]) <= set(tokens(tool)) for own in ends if own)


def is_in_some_order(rows: Sequence[JsonObject]) -> bool:
    """True for rows that rise or fall by one of their numbers or times."""
    for name in sorted(rows[0]) if rows else ():
        held = [row[name] for row in rows if row[name] is not None]
        are_numbers = all(type(item) in (int, float) for item in held)
        are_times = all(isinstance(item, str) and item[:4].isdigit() for item in held)
        if held and (are_numbers or are_times) and sorted(held) in (held, held[::-1]):
            return True
    return False


def fits_name(tool: str, row: JsonObject, rows: Collection[JsonObject]) -> bool:
    """True for a row in the state that a tool's name speaks of (`list_open_issues`), and for any
    where the name speaks of none that rows can be in. A row of which nothing is known is in none.
    """
    flags = {name for item in rows for name, value in item.items() if isinstance(value, bool)}
    for word in tokens(tool)[1:]:
        for column, value in row.items():
            parts = set(tokens(column)) - {"is", "has"}
            if column in flags and parts == {word}:
                return value is True
            if column in flags and parts in ({word[2:]}, {word[3:]}):
                return value is (not word.startswith(("un", "dis")))
            is_state = parts <= {"status", "state", "visibility", "availability", "phase"}
            if is_state and _is_held(word, rows):
                return isinstance(value, str) and value.lower() == word
    return True


def _is_held(word: str, rows: Collection[JsonObject]) -> bool:
    return any(
        isinstance(value, str) and value.lower() == word for item in rows for value in item.values()
    )


def filter_column(columns: Columns, argument: str, value: Any, tool: ToolSpec) -> str | None:
    """Return the column that an argument of a read filters by, or None: `all` filters nothing."""
    column = columns.find(argument)
    is_all = isinstance(value, str) and value.lower() in words("all_values")
    if column is None or value is None or is_all:
        return None
    return _of_another(column, columns.names, tool)


def _of_another(column: str, names: Iterable[str], tool: ToolSpec) -> str:
    """Return the column that a name is compared with where it is another thing's: rows that hold a
    `page_title` beside their own `title` are asked for by the first, where the tool speaks of
    pages; otherwise the column itself.
    """
    said = {singular(word) for word in tokens(f"{tool.name} {tool.description[:400]}")}
    ends = f"_{snake(column)}"
    found = [name for name in sorted(names) if snake(name).endswith(ends)]
    spoken = [name for name in found if tokens(name)[-2] in said]
    return spoken[0] if spoken and snake(column) in ("title", "name") else column
