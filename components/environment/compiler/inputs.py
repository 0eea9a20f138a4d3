"""A tool as the compiler sees it: its reading, and every value that a caller can give it.

Owns the flattening of arguments: an object that only wraps the others (`{"input": {...}}`) is
looked into, so that each input has a name, a reference, and a role of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from components.environment.compiler.asks import (
    bounds,
    is_nearby,
    plain_word,
    role_by_name,
    tells_how_to_write,
    words_asked,
)
from components.environment.names import is_id_of, snake, tokens
from components.environment.params import (
    Param,
    is_storable,
)
from components.environment.reading.records import Role, ToolReading
from components.records.blueprint import Operation
from components.records.spec import ToolSpec

_WRAPPERS = frozenset(
    {"input", "params", "args", "arguments", "data", "body", "request", "payload"}
)
_WORD = re.compile(r"[a-z']+")
_TO_DO = re.compile(r"(\w+?)_to_(?:add|remove|delete|find|create|insert|append|check)")
_MOST_TEXT = 200
"""Characters of a description in which a word decides."""
_STORED = (Role.VALUE, Role.CHANGES)
_SEVERAL = (Operation.LIST, Operation.SEARCH)
_READS = (Operation.GET, *_SEVERAL)
NO_DATA = frozenset({Role.AUTH, Role.FORMAT, Role.CONTROL, Role.SELECT, Role.LIMIT, Role.OFFSET,
                     Role.PAGE, Role.CURSOR, Role.SORT_BY, Role.SORT_ORDER})  # fmt: skip
"""Roles whose values are never stored."""


@cache
def words_of(kind: str) -> frozenset[str]:
    """Return one list of words of the compiler's lexicon."""
    text = Path(__file__).with_name("words.json").read_text(encoding="utf-8")
    return frozenset(json.loads(text)[kind].split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One value that a caller can give."""

    param: Param
    role: Role
    path: tuple[str, ...]
    """Names from the arguments down to it."""
    called: str = ""
    """What other tools call what it gives, in snake_case; empty: its own name."""

    @property
    def ref(self) -> str:
        """Reference of its value in expressions."""
        return ".".join(("$args", *self.path))

    @property
    def is_given(self) -> Any:
        """Expression: the caller gave a value (null is one where the schema allows it)."""
        if len(self.path) == 1:
            return {"@given": self.path[0]}
        return {"@not": {"@is_null": self.ref}}

    @property
    def is_always_given(self) -> bool:
        """True where no call can leave it out or set it to null."""
        return self.param.is_required and not self.param.is_nullable

    @property
    def word(self) -> str:
        """Name in snake_case."""
        return self.called or self.param.word

    @property
    def kind(self) -> str:
        """JSON type of one value: of the elements where it is a list; empty when unknown."""
        if self.param.type != "array":
            return self.param.type
        found = self.param.items.get("type")
        return found if isinstance(found, str) else ""

    @property
    def is_list(self) -> bool:
        """True for an array."""
        return self.param.type == "array"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool that is to be compiled."""

    spec: ToolSpec
    reading: ToolReading
    inputs: tuple[Input, ...]

    @property
    def name(self) -> str:
        """Its name in the spec."""
        return self.spec.name

    def of(self, *roles: Role) -> tuple[Input, ...]:
        """Return the inputs that have one of these roles, in the order of the schema."""
        return tuple(item for item in self.inputs if item.role in roles)

    def first(self, *roles: Role) -> Input | None:
        """Return the first input of these roles, a required one before the others."""
        found = sorted(self.of(*roles), key=lambda item: not item.param.is_required)
        return found[0] if found else None

    def says(self, kind: str) -> bool:
        """True where a word of this kind (see `words.json`) stands in its name or in how its
        description begins.
        """
        text = self.spec.description.lower()[:_MOST_TEXT]
        return not words_of(kind).isdisjoint({*tokens(self.name), *_WORD.findall(text)})

    @property
    def data(self) -> tuple[Input, ...]:
        """Inputs whose values may be stored or compared with what is stored."""
        return tuple(item for item in self.inputs if item.role not in NO_DATA)


def read_tool(
    spec: ToolSpec, reading: ToolReading, params: Mapping[str, Param], flat: frozenset[str]
) -> Tool:
    """Return a tool with its inputs.

    Args:
        spec: the tool.
        reading: what it is taken for.
        params: its parameters, as `read_params` gives them.
        flat: names in snake_case of objects of changes whose parts are inputs of their own (see
            `flat_names`); any other object is one value.
    """
    return Tool(spec=spec, reading=reading, inputs=tuple(_inputs(reading, params, flat)))


def with_values(tool: Tool) -> Tool:
    """Return a tool whose identifiers are values."""
    inputs = tuple(
        replace(item, role=Role.VALUE) if item.role is Role.IDENTIFIER else item
        for item in tool.inputs
    )
    return replace(tool, inputs=inputs)


def flat_names(tools: Sequence[Mapping[str, Param]], noun: str) -> frozenset[str]:
    """Return which objects of changes hold columns: those whose parts other tools take beside each
    other, in every tool that has such an object; not what a batch's elements hold as one value.

    Args:
        tools: the parameters of all tools of one entity.
        noun: the entity.
    """
    held: dict[str, list[bool]] = {}
    params = [_unwrapped(own, noun) for own in tools]
    for number, own in enumerate(params):
        spoken = {
            param.word
            for other in (*params[:number], *params[number + 1 :])
            for param in other.values()
            if param.type != "object"
        }
        for param in own.values():
            if param.type == "object":
                parts = {part.word for part in param.properties.values()}
                held.setdefault(param.word, []).append(bool(parts & spoken))
            for part in param.item_properties.values():
                if part.type == "object":
                    held.setdefault(part.word, []).append(False)
    return frozenset(word for word, found in held.items() if all(found))


def _unwrapped(params: Mapping[str, Param], noun: str) -> Mapping[str, Param]:
    wrapper = _wrapper(params, noun)
    return params if wrapper is None else wrapper.properties


def _inputs(
    reading: ToolReading, params: Mapping[str, Param], flat: frozenset[str]
) -> Iterator[Input]:
    wrapper = _wrapper(params, reading.entity or "")
    if wrapper is not None:
        bounded = bounds(wrapper.properties) if reading.operation in _READS else {}
        for name, param in wrapper.properties.items():
            if is_storable(name):
                role = _asked(param, _inner_role(param, reading), bounded, reading)
                yield Input(param=param, role=role, path=(wrapper.name, name))
        return
    bounded = bounds(params) if reading.operation in _READS else {}
    stored = [name for name, role in reading.roles.items() if role in _STORED]
    has_more = any(n in params and params[n].is_required for n in stored)
    for name, param in params.items():
        role = reading.roles.get(name, Role.VALUE)
        is_read = reading.operation in _READS
        if not is_read and param.is_required and param.item_properties and stored in ([name], []):
            role = Role.BATCH if role in (*_STORED, Role.IDENTIFIER, Role.PARENT) else role
        is_scoped = has_more and not (
            reading.operation is Operation.UPDATE and _tells_its_id(param)
        )
        if role is Role.BATCH and (is_scoped or not param.is_required or param.type != "array"):
            role = Role.VALUE
        if role is Role.CHANGES and param.type == "object" and param.word in flat:
            for inner, part in param.properties.items():
                if is_storable(inner):
                    yield Input(param=part, role=Role.VALUE, path=(name, inner))
        elif is_storable(name):
            role = _asked(param, role, bounded, reading)
            called = _plain(param.word) or (plain_word(param) if is_read else "")
            yield Input(param=param, role=role, path=(name,), called=called)


def _asked(param: Param, role: Role, bounded: Mapping[str, Role], reading: ToolReading) -> Role:
    """Return the role of a read's argument where its name says more than it was taken for."""
    is_several = reading.operation in _SEVERAL
    may_bound = is_several or not param.is_required
    if param.name in bounded and may_bound and role in (Role.VALUE, Role.REFERENCE, Role.PARENT):
        return bounded[param.name]
    if role is Role.QUERY and is_several and plain_word(param):
        return Role.VALUE  # `title_contains` is asked of the titles alone
    if role is not Role.VALUE:
        return role
    if reading.operation not in _READS:
        return Role.CONTROL if tells_how_to_write(param) else role
    if is_several and param.word in words_asked("offsets") and param.type == "integer":
        return Role.OFFSET
    if _finds_by_words(param, reading):
        return Role.QUERY
    return Role.CONTROL if is_several and is_nearby(param) else role


def _plain(word: str) -> str:
    """Return what `tag_to_add` and `tag_to_remove` both call: a tag; else an empty text."""
    found = _TO_DO.fullmatch(word)
    return found.group(1) if found else ""


def _tells_its_id(param: Param) -> bool:
    """True for a list whose elements each say which row they are about."""
    return any(part.word in ("id", "uuid") for part in param.item_properties.values())


def _finds_by_words(param: Param, reading: ToolReading) -> bool:
    """True for a text that a list of records is searched for, whatever it is called besides."""
    is_many = reading.operation in _SEVERAL
    last = param.word.rpartition("_")[2]
    is_open = is_many and param.type == "string" and not param.enum
    return is_open and last in words_of("text_filters") and not plain_word(param)


def _wrapper(params: Mapping[str, Param], noun: str) -> Param | None:
    """Return the one parameter that only wraps the real ones, or None: one that is called so, or
    by the noun of the record (`{"note": {...}}`).
    """
    if len(params) != 1:
        return None
    (param,) = params.values()
    is_one = param.type == "object" and bool(param.properties) and param.is_required
    is_called_so = param.word in _WRAPPERS or param.word in (noun, noun.rpartition("_")[2])
    return param if is_one and is_called_so else None


def _inner_role(param: Param, reading: ToolReading) -> Role:
    if reading.entity and is_id_of(param.word, reading.entity):
        return Role.IDENTIFIER
    by_name = role_by_name(param) if reading.operation in _READS else None
    if by_name is not None:
        return by_name
    return Role.REFERENCE if param.word.endswith("_id") else Role.VALUE


def item_inputs(batch: Input) -> dict[str, Param]:
    """Return the properties of a batch's elements by name; empty where they are no objects."""
    return {name: param for name, param in batch.param.item_properties.items() if is_storable(name)}


def style_of(names: Mapping[str, Any] | tuple[str, ...]) -> str:
    """Return how names of several words are written: `camel`, or `snake` where that is not seen."""
    several = [name for name in names if len(snake(name).split("_")) > 1]
    camel = sum("_" not in name and name != name.lower() for name in several)
    return "camel" if camel * 2 > len(several) > 0 else "snake"


def styled(name: str, style: str) -> str:
    """Return a snake_case name in a style."""
    if style != "camel":
        return name
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
