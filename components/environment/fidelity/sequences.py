"""Sequences of calls made from a compiled service, where the user gives none.

For each table: a row is made, read, listed, changed, read, deleted, read, and asked for under an id
that nothing has. Owns which values go where; arguments are drawn from the schemas with a seed. What
is drawn means nothing to a server whose arguments are a language or a place that must exist.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from components.environment.reading.records import Role, ToolReading
from components.environment.recorded.records import Call
from components.environment.seeds.sample_values import SchemaSampler
from components.records.base import to_json
from components.records.blueprint import Blueprint, Effect, FunctionalClass, Operation
from components.records.frozen import freeze, thaw
from components.records.spec import ServiceSpec

Path = tuple[str | int, ...]
"""Where a value stands in a call's arguments."""

_READS = (Operation.GET, Operation.LIST, Operation.SEARCH)
_ENDS = (Operation.DELETE, Operation.DETACH)
_NAMES_ROWS = (Role.IDENTIFIER, Role.PARENT)
_ABSENT = ("no_such_row_7q", 987_654_321)
_MOST_LINKS = 3
"""A row of a row of a row; deeper links are drawn."""
_TRIES = 8


@dataclass(frozen=True, slots=True)
class _Made:
    """A row that a sequence has made."""

    arguments: Mapping[str, Any]
    """Of the call that made it."""
    key: Any
    """Its key: a value that was given, or a reference to the answer."""
    columns: Mapping[str, Any]
    """What its columns were given."""

    def of(self, argument: str, column: str) -> Any:
        """Return what an argument that is held against a column must be to pick this row."""
        found = self.columns.get(column)
        if found is None:
            found = self.arguments.get(argument)
        return found if found is not None or column else self.key


@dataclass(slots=True)
class _Draft:
    """A sequence while it is written."""

    calls: list[Call] = field(default_factory=list)
    made: dict[str, _Made] = field(default_factory=dict)
    """Table -> its row."""


def generated_sequences(
    spec: ServiceSpec,
    blueprint: Blueprint,
    readings: Mapping[str, ToolReading],
    seed: int,
    rounds: int,
) -> tuple[tuple[Call, ...], ...]:
    """Return sequences that call every tool which valid arguments could be drawn for.

    Args:
        blueprint: after its gates; simulated tools are left out.
        rounds: sequences for each way to make a row; the odd ones give optional arguments too.
    """
    found: list[tuple[Call, ...]] = []
    for at in range(rounds):
        writer = _Writer(spec, blueprint, readings, random.Random(f"{spec.service}:{seed}:{at}"))
        found += writer.all(optional=at % 2 == 1)
    return tuple(dict.fromkeys(found))


class _Writer:
    """Writes the sequences of one round."""

    def __init__(
        self,
        spec: ServiceSpec,
        blueprint: Blueprint,
        readings: Mapping[str, ToolReading],
        rng: random.Random,
    ) -> None:
        self._spec, self._blueprint, self._readings = spec, blueprint, readings
        self._rng = rng
        self._optional = False
        self._tools = [n for n, tool in sorted(blueprint.tools.items()) if not tool.simulated]
        self._makers: dict[str, list[str]] = {}
        for name in self._tools:
            for effect in blueprint.tools[name].effects.values():
                if effect.action == "create":
                    self._makers.setdefault(effect.table, []).append(name)

    def all(self, *, optional: bool) -> Iterator[tuple[Call, ...]]:
        """Yield a sequence for each maker, and one for each tool that no other one calls."""
        self._optional = optional
        called: set[str] = set()
        for table, makers in sorted(self._makers.items()):
            for maker in makers:
                calls = self._life(table, maker)
                called.update(call.tool for call in calls)
                if calls:
                    yield calls
        for name in self._tools:
            if name not in called:
                arguments = self._drawn(name)
                if arguments is not None:
                    yield (Call(tool=name, arguments=freeze(arguments)),)

    def _life(self, table: str, maker: str) -> tuple[Call, ...]:
        draft = _Draft()
        made = self._make(draft, table, maker, 0)
        if made is None:
            return ()
        mine = [
            name
            for name in self._tools
            if name != maker and self._blueprint.tools[name].entity == table
        ]
        reads = [
            name
            for name in self._tools
            if self._blueprint.tools[name].operation in _READS
            and (name in mine or not self._spec.tools[name].input_schema.get("required"))
        ]
        ends = [name for name in mine if self._blueprint.tools[name].operation in _ENDS]
        changes = [
            name
            for name in mine
            if name not in (*reads, *ends, *self._makers.get(table, ()))
            and self._blueprint.tools[name].functional is FunctionalClass.WRITE
        ]
        for name in (*reads, *(n for change in changes for n in (change, *reads))):
            self._use(draft, name, made)
        for name in ends:
            for inner in (name, *reads):
                self._use(draft, inner, made)
        for name in (*reads, *changes, *ends):
            if self._selecting(name):
                self._use(draft, name, None)
        return tuple(draft.calls)

    def _make(self, draft: _Draft, table: str, maker: str, depth: int) -> _Made | None:
        """Add the call that makes a row, after those that make the rows it links to."""
        arguments = self._drawn(maker)
        if arguments is None:
            return None
        for at, linked in self._links(maker, table):
            if linked == table or linked not in self._makers or depth >= _MOST_LINKS:
                continue
            row = draft.made.get(linked)
            row = row or self._make(draft, linked, self._makers[linked][0], depth + 1)
            if row is not None:
                _put(arguments, at, row.key)
        draft.calls.append(Call(tool=maker, arguments=freeze(arguments)))
        effect, key = self._effect(maker, table), self._blueprint.entities[table].key
        columns = {
            column: _get(arguments, place)
            for column in effect.fields
            if (place := _place(effect, column)) is not None
        }
        if columns.get(key) is None:
            columns[key] = f"${len(draft.calls)}.{key}"
        draft.made[table] = made = _Made(arguments, columns[key], columns)
        return made

    def _links(self, maker: str, table: str) -> Iterator[tuple[Path, str]]:
        """Yield where in a maker's arguments the key of another table's row belongs."""
        tool = self._blueprint.tools[maker]
        for lookup in tool.lookups.values():
            at = _argument(lookup.equals)
            if at is not None and lookup.field in (
                None,
                self._blueprint.entities[lookup.table].key,
            ):
                yield (at,), lookup.table
        effect = self._effect(maker, table)
        for column in effect.fields:
            body = self._blueprint.entities[table].fields.get(column)
            service, _, rest = ((body.link if body else None) or "").partition(".")
            place = _place(effect, column)
            if service == self._spec.service and place is not None:
                yield place, rest.partition(".")[0]

    def _effect(self, maker: str, table: str) -> Effect:
        effects = self._blueprint.tools[maker].effects.values()
        return next(item for item in effects if item.action == "create" and item.table == table)

    def _use(self, draft: _Draft, name: str, made: _Made | None) -> None:
        """Add a call of a tool on a row that was made, or (None) on one that is not there."""
        required = self._spec.tools[name].input_schema.get("required") or ()
        selecting = self._selecting(name)
        is_write = self._blueprint.tools[name].functional is FunctionalClass.WRITE
        # A change of nothing is no change: where only its row must be said, say more.
        arguments = self._drawn(name, optional=is_write and set(required) <= set(selecting))
        if arguments is None:
            return
        for at, column in selecting.items():
            if at in arguments or at in required:
                value = self._absent(name, at) if made is None else made.of(at, column)
                if value is not None:
                    arguments[at] = self._as_list(name, at, value)
        for at, role in self._readings[name].roles.items():
            if made is not None and role is Role.QUERY and at in arguments:
                arguments[at] = next(_texts(made.arguments), arguments[at])
        draft.calls.append(Call(tool=name, arguments=freeze(arguments)))

    def _selecting(self, name: str) -> dict[str, str]:
        """Return the arguments that pick a tool's rows, each with the column that it is held
        against (empty: the row as a whole).
        """
        tool = self._blueprint.tools[name]
        found = {at: "" for at, role in self._readings[name].roles.items() if role in _NAMES_ROWS}
        for lookup in tool.lookups.values():
            if (at := _argument(lookup.equals)) is not None:
                found[at] = lookup.field or self._blueprint.entities[lookup.table].key
        found.update(_compared(to_json(tool)))
        return found

    def _as_list(self, name: str, at: str, value: Any) -> Any:
        schema = (self._spec.tools[name].input_schema.get("properties") or {}).get(at)
        is_list = isinstance(schema, Mapping) and schema.get("type") == "array"
        return [value] if is_list and not isinstance(value, (list, tuple)) else value

    def _absent(self, name: str, at: str) -> Any:
        """Return an id that nothing has, or None where the schema takes none of ours."""
        fitting = (one for one in _ABSENT if self._fits(name, at, self._as_list(name, at, one)))
        return next(fitting, None)

    def _fits(self, name: str, at: str, value: Any) -> bool:
        document = thaw(self._spec.tools[name].input_schema)
        part = (document.get("properties") or {}).get(at, True)
        defs = {key: document[key] for key in ("$defs", "definitions") if key in document}
        whole = {**part, **defs} if isinstance(part, dict) else part
        return bool(jsonschema_rs.validator_for(whole).is_valid(value))

    def _drawn(self, name: str, *, optional: bool = False) -> dict[str, Any] | None:
        """Return arguments that fit the tool's schema, or None where none could be drawn."""
        schema = self._spec.tools[name].input_schema
        validator = jsonschema_rs.validator_for(thaw(schema))
        sampler = SchemaSampler(schema, self._rng)
        for _ in range(_TRIES):
            whole = {"type": "object", **schema}
            drawn = sampler.value(whole, optional=optional or self._optional)
            if isinstance(drawn, dict) and validator.is_valid(drawn):
                return drawn
        return None


def _place(effect: Effect, column: str) -> Path | None:
    """Return where in the arguments a created row's column comes from."""
    expression = effect.fields.get(column)
    at = _argument(expression)
    if at is not None:
        return (at,)
    each = _argument(effect.each)
    if each is not None and isinstance(expression, str) and expression.startswith("$element."):
        return each, 0, expression.removeprefix("$element.")
    return None


def _argument(expression: Any) -> str | None:
    if not isinstance(expression, str) or not expression.startswith("$args."):
        return None
    return expression.removeprefix("$args.")


def _compared(value: Any) -> dict[str, str]:
    """Return the arguments that a tool's expressions hold against a column, with that column."""
    found: dict[str, str] = {}
    if isinstance(value, Mapping):
        value = list(value.values())
    elif isinstance(value, list) and len(value) == 2:
        parts = [part["@lower"] if _is_lower(part) else part for part in value]
        column = next((part for part in parts if str(part).startswith("$item.")), None)
        at = next((name for part in parts if (name := _argument(part)) is not None), None)
        if column is not None and at is not None:
            return {at: column.removeprefix("$item.")}
    for item in value if isinstance(value, list) else ():
        found |= _compared(item)
    return found


def _is_lower(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) == {"@lower"}


def _get(arguments: Any, place: Path) -> Any:
    for part in place:
        try:
            arguments = arguments[part]
        except (KeyError, IndexError, TypeError):
            return None
    return arguments


def _put(arguments: dict[str, Any], place: Path, value: Any) -> None:
    """Put a value into every item of a list on the way, since all of them link."""
    if len(place) == 1:
        arguments[str(place[0])] = value
        return
    for item in arguments.get(str(place[0])) or ():
        if isinstance(item, dict):
            item[str(place[2])] = value


def _texts(value: Any) -> Iterator[str]:
    items: Sequence[Any] = ()
    if isinstance(value, str) and not value.startswith("$"):
        yield value
    elif isinstance(value, Mapping):
        items = list(value.values())
    elif isinstance(value, (list, tuple)):
        items = value
    for item in items:
        yield from _texts(item)
