"""Arguments for the gates' calls: valid by the schema, and naming rows that there are.

Owns the drawing. It is seeded by service and tool, so that the same service gets the same calls.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from components.environment.gates.probe import MAX_ROWS, Prober
from components.environment.gates.promises import samples, samples_of, statements, words
from components.environment.names import is_id_of, singular, snake, tokens
from components.environment.seeds.sample_values import SchemaSampler
from components.records.frozen import JsonObject, freeze, texts_in
from components.records.spec import ToolSpec

MAX_VARIANTS = 48
"""For a tool whose documentation writes rules."""
PLAIN_VARIANTS = 20
"""For a tool of which only name, description and schema are known."""

Joint = Mapping[tuple[str, ...], Any]
"""Values of arguments that together name one row, by path."""


class Variants:
    """Valid arguments of one tool, drawn from its schema, its written rules and the rows that
    there are.
    """

    def __init__(
        self,
        prober: Prober,
        tool: ToolSpec,
        known: Mapping[str, list[Any]],
        joint: Sequence[Joint] = (),
    ) -> None:
        """Args: known: values of arguments that name rows, by argument (may be empty); joint: the
        same, but of one row together.
        """
        self._joint = joint[:MAX_ROWS]
        self._prober = prober
        self._tool = tool
        self._rng = random.Random(f"{prober.spec.service}:{tool.name}")
        self._sampler = SchemaSampler(tool.input_schema, self._rng)
        self._properties: dict[str, Any] = dict(tool.input_schema.get("properties") or {})
        self._required = frozenset(tool.input_schema.get("required") or ())
        self._choices = {
            name: self._choose(name, part, known) for name, part in sorted(self._properties.items())
        }

    def all(self, most: int = 0) -> list[JsonObject]:
        """Return distinct valid arguments, the smallest kinds first (`most` 0: as many as help)."""
        most = most or (MAX_VARIANTS if is_documented(self._tool) else PLAIN_VARIANTS)
        found: dict[bytes, JsonObject] = {}
        for tried, arguments in enumerate(self._drawn()):
            if len(found) >= most or tried > 4 * MAX_VARIANTS:
                break
            if self._prober.is_valid(self._tool.name, arguments):
                frozen = freeze(arguments)
                found.setdefault(_bytes(frozen), frozen)
        return list(found.values())

    def _drawn(self) -> Iterator[dict[str, Any]]:
        least = {name: self._first(name) for name in sorted(self._required)}
        full = {name: self._first(name) for name in self._choices}
        if self._joint:
            least = _placed(least, self._joint[0], only=self._required)
            full = _placed(full, self._joint[0])
        yield least
        yield full
        yield self._fresh(least)
        for row in self._joint:
            yield _placed(least, row, only=self._required)
        for row in self._joint[:2]:
            yield _placed(least, row)
            for path, value in row.items():
                yield _placed(least, {path: value})
        yield from self._linked(least)
        for place in range(MAX_ROWS):
            for name, choices in self._choices.items():
                if place < len(choices):
                    yield {**least, name: choices[place]}
        for _ in range(MAX_VARIANTS):
            drawn = {
                name: self._rng.choice(choices)
                for name, choices in self._choices.items()
                if choices and (name in self._required or self._rng.random() < 0.6)
            }
            if self._joint:
                drawn = _placed(drawn, self._rng.choice(self._joint), only=set(drawn))
            yield drawn

    def _fresh(self, least: Mapping[str, Any]) -> dict[str, Any]:
        """Required arguments with drawn values wherever no row is named."""
        named = {path[0] for row in self._joint[:1] for path in row}
        return {
            name: value if name in named else self._sampler.value(self._properties.get(name))
            for name, value in least.items()
        }

    def _linked(self, least: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield pairs of arguments of which one names a row that holds the other's value."""
        tables = [self._prober.rows(table) for table in self._prober.tables]
        for name, choices in self._choices.items():
            for value in choices[:6]:
                for rows in tables:
                    row = rows.get(value) if isinstance(value, str) else None
                    for held in dict.fromkeys((row or {}).values()) if row else ():
                        if isinstance(held, str) and any(held in keys for keys in tables):
                            yield from (
                                {**least, name: value, other: held}
                                for other in self._choices
                                if other != name
                            )

    def _first(self, name: str) -> Any:
        choices = self._choices.get(name)
        return choices[0] if choices else None

    def _choose(self, name: str, schema: Any, known: Mapping[str, list[Any]]) -> list[Any]:
        """Values to try for one argument: rows it names, its enum, values seen in rows, drawn
        ones.
        """
        values: list[Any] = list(known.get(name, ()))
        if isinstance(schema, Mapping) and schema.get("enum"):
            values += list(schema["enum"])[:8]
        if not values:
            values += self._seen(name, schema)
        if isinstance(schema, Mapping) and schema.get("type") == "boolean":
            values += [True, False]
        drawn = [self._sampler.value(schema) for _ in range(2)]
        drawn.append(self._sampler.value(schema, optional=False))
        values += [_with_samples(value) for value in drawn]
        validator = self._prober.validator(self._tool.name, name)
        fitting: list[Any] = []
        for value in _distinct(values):
            if len(fitting) < MAX_ROWS + 2 and (validator is None or validator.is_valid(value)):
                fitting.append(value)
        return fitting

    def _seen(self, name: str, schema: Any) -> list[Any]:
        """Values of rows that an argument of this name may mean: keys of a table it names, or a
        column.
        """
        is_list = isinstance(schema, Mapping) and schema.get("type") == "array"
        word = singular(snake(name)) if is_list else snake(name)
        spoken = {singular(part) for part in (*tokens(name), *tokens(self._tool.name))}
        found: list[Any] = []
        inner = _properties(schema.get("items") if is_list else schema)
        if inner:
            objects = self._objects(schema["items"] if is_list else schema, inner, spoken)
            if objects:
                return [[item] for item in objects] if is_list else objects
        elif _is_object(schema) and word in words("payloads"):
            found = self._fields(spoken)
        for table in self._prober.tables:
            rows = self._prober.some_rows(table)[:4]
            key, fields = self._prober.shape(table)
            parts = set(table.split("_"))
            if word.endswith(("id", "ids")) and (parts & set(word.split("_")) or parts & spoken):
                column = "id" if "id" in fields else key
                found = [row[column] for row in rows if column in row] + found
            for column in sorted(fields):
                if snake(column) in (word, word.partition("_")[2]):
                    found += [row[column] for row in rows if row.get(column) is not None]
        if word in words("cells"):
            found = [*samples(word), *found]  # cells that surely hold something
        else:
            found += samples(word)
        found += samples_of(self._tool.name)
        if word in words("query_words"):
            found = [*self._grid_words(), *found, *self._spoken_words()]
        found = [*self._statements(schema), *found]
        if is_list:
            return [[value] for value in found if not isinstance(value, tuple)] + (
                [found[:2]] if len(found) > 1 and not isinstance(found[0], tuple) else []
            )
        return found

    def _objects(self, schema: Any, inner: set[str], spoken: set[str]) -> list[dict[str, Any]]:
        """Objects that may stand for rows: of a table that the tool speaks of with new values for
        all but the key, otherwise as they are in any table that has all their properties.
        """
        found: list[dict[str, Any]] = []
        whole: list[dict[str, Any]] = []
        for table in self._prober.tables:
            rows = self._prober.some_rows(table)[:4]
            key, fields = self._prober.shape(table)
            names = {name: name for name in sorted(inner & fields) if snake(name) in (key, "id")}
            called = [
                n for n in sorted(inner - fields) if "_" in snake(n) and is_id_of(snake(n), table)
            ]
            names = names or dict.fromkeys(called[:1], "id" if "id" in fields else key)
            if inner <= fields:
                whole = whole or [{name: row[name] for name in sorted(inner)} for row in rows]
            is_spoken_of = bool(called) or bool(set(table.split("_")) & spoken)
            for row in rows if names and is_spoken_of else ():
                drawn = self._sampler.value(schema, optional=True)
                if isinstance(drawn, dict):
                    own = {name: row[held] for name, held in names.items() if held in row}
                    found.append({**drawn, **own})
        return [*found, *whole]

    def _fields(self, spoken: set[str]) -> list[Any]:
        """New values for the fields of rows that the tool speaks of, one field each and several."""
        found: list[Any] = []
        for table in self._prober.tables:
            rows = self._prober.some_rows(table)[-2:]
            key, _ = self._prober.shape(table)
            if set(table.split("_")) & spoken:
                found += [
                    {n: v for n, v in row.items() if isinstance(v, str) and n not in (key, "id")}
                    for row in rows
                ]
        alone = [{name: item[name]} for item in found[:1] for name in list(item)[:3]]
        return [*alone, *found]

    def _spoken_words(self) -> list[str]:
        """Words that stand in rows, so that a search finds something."""
        found: list[str] = []
        for table in self._prober.tables:
            for row in self._prober.some_rows(table)[:2]:
                texts = [item for _, item in sorted(row.items()) if isinstance(item, str)]
                found += [part for text in texts for part in text.split()[:1] if " " in text]
        return found[:6]

    def _statements(self, schema: Any) -> list[str]:
        """Statements of the kinds that an argument is said to take: some, and those in rows."""
        own = schema.get("description") if isinstance(schema, Mapping) else None
        if not isinstance(own, str) or "sql" not in own.lower():
            return []
        kinds = statements(f"{self._tool.description} {own}".lower())
        held = [
            text
            for table in self._prober.tables
            for row in self._prober.some_rows(table)
            for text in texts_in(row)
        ]
        return [
            text
            for kind, some in kinds.items()
            for text in (*some, *(text for text in held if text.lower().startswith(kind)))
        ]

    def _grid_words(self) -> list[str]:
        """Texts that stand in cells, so that what is sought there is found."""
        found: list[str] = []
        sheets = [t for t in self._prober.tables if t.rpartition("_")[2] in words("sheets")]
        for table in sheets:
            for row in self._prober.rows(table).values():
                grids = [item for _, item in sorted(row.items()) if _is_grid(item)]
                found += [text for grid in grids for text in texts_in(grid[-1])][:1]
        return list(dict.fromkeys(found))[:6]


def _with_samples(value: Any) -> Any:
    """Return a drawn value in which texts that are called so are surely taken."""
    if isinstance(value, Mapping):
        return {
            name: samples(snake(name))[0]
            if isinstance(item, str) and samples(snake(name))
            else _with_samples(item)
            for name, item in value.items()
        }
    return [_with_samples(item) for item in value] if isinstance(value, list) else value


def _is_grid(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[-1], tuple)


def _is_object(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "object"


def _properties(schema: Any) -> set[str]:
    return set(schema.get("properties") or ()) if isinstance(schema, Mapping) else set()


def is_documented(tool: ToolSpec) -> bool:
    """True where the spec writes rules, effects or returns of a tool."""
    return bool(tool.rules or tool.effects or tool.returns or tool.complete)


def _placed(
    arguments: Mapping[str, Any], values: Joint, only: Iterable[str] | None = None
) -> dict[str, Any]:
    """Return arguments with values put at their paths (`only`: below these arguments)."""
    placed = dict(arguments)
    for path, value in values.items():
        if only is not None and path[0] not in only:
            continue
        inner: dict[str, Any] = placed
        for name in path[:-1]:
            held = inner.get(name)
            inner[name] = dict(held) if isinstance(held, Mapping) else {}
            inner = inner[name]
        inner[path[-1]] = value
    return placed


def _bytes(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _distinct(values: Iterable[Any]) -> list[Any]:
    found: dict[bytes, Any] = {}
    for value in values:
        try:
            found.setdefault(_bytes(value), value)
        except (TypeError, ValueError):
            continue
    return list(found.values())
