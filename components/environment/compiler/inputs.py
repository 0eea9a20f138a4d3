"""A tool as the compiler sees it: its reading, and every value that a caller can give it.

Owns the flattening of arguments: an object that only wraps the others (`{"note": {...}}`) is
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
from components.environment.names import is_id_of, plural, snake, tokens
from components.environment.params import (
    Param,
    is_storable,
)
from components.environment.reading.records import Role, ToolReading
from components.records.blueprint import Operation
from components.records.frozen import FrozenDict
from components.records.spec import ToolSpec

_WORD = re.compile(r"[a-z']+")
_TO_DO = re.compile(r"(\w+?)_to_(?:add|remove|delete|find|create|insert|append|check)")
_MOST_TEXT = 200
"""Characters of a description in which a word decides."""
_STORED = (Role.VALUE, Role.CHANGES)
_HOLDS_FIELDS = frozenset({Operation.CREATE, Operation.UPDATE, Operation.APPEND})
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
    parts: tuple[str, ...] = ()
    """Names in it that are inputs of their own, of an object that holds the fields of a row."""
    of_elements: Mapping[str, Param] = FrozenDict()
    """Of a list: what its elements hold besides what the schema says, by its path in them."""

    @property
    def ref(self) -> str:
        """Reference of its value in expressions."""
        return ".".join(("$args", *self.path))

    @property
    def stored(self) -> Any:
        """Expression of what is stored of it: of an object, what is no input of its own."""
        return {"@omit": [self.ref, list(self.parts)]} if self.parts else self.ref

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
    return Tool(spec=spec, reading=reading, inputs=tuple(_inputs(spec.name, reading, params, flat)))


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
    tool: str, reading: ToolReading, params: Mapping[str, Param], flat: frozenset[str]
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
        if _is_of_many(tool, param, reading):
            role = Role.BATCH
        elif role is Role.BATCH and (is_scoped or not param.is_required or param.type != "array"):
            role = Role.VALUE
        is_flat = role is Role.CHANGES and param.type == "object" and param.word in flat
        if is_flat or (role in _STORED and holds_fields(param, reading) and param.properties):
            yield from _parts(param, reading, {other.word for other in params.values()})
        elif is_storable(name):
            role = _asked(param, role, bounded, reading)
            called = _plain(param.word) or (plain_word(param) if is_read else "")
            yield Input(param=param, role=role, path=(name,), called=called)


def holds_fields(param: Param, reading: ToolReading) -> bool:
    """True for an object that holds the fields of a row, by its name: `changes`, `note_data`, or
    the noun itself.
    """
    noun = reading.entity or ""
    return reading.operation in _HOLDS_FIELDS and param.type == "object" and is_payload(param, noun)


def is_payload(param: Param, noun: str = "") -> bool:
    """True where an object's name says no more than that it holds fields (of a noun)."""
    own = (noun, noun.rpartition("_")[2])
    start, _, end = param.word.rpartition("_")
    is_called_so = param.word in words_of("payloads") or (bool(noun) and param.word in own)
    is_nouns = bool(start) and start in own and end in words_of("payload_ends")
    is_body = bool(start) and end in words_of("body_ends")
    return param.type == "object" and (is_called_so or is_nouns or is_body)


def _parts(param: Param, reading: ToolReading, taken: set[str]) -> Iterator[Input]:
    """Yield the properties of an object of fields as inputs, but those given beside it as well."""
    is_sure = param.is_required and not param.is_nullable
    is_named = Role.IDENTIFIER in reading.roles.values()
    for name, part in param.properties.items():
        if not is_storable(name) or part.word in taken:
            continue
        is_own = reading.operation is Operation.UPDATE and not is_named
        is_own = is_own and is_id_of(part.word, reading.entity or "")
        role = Role.IDENTIFIER if is_own else Role.VALUE
        one = replace(part, is_required=part.is_required and is_sure)
        yield Input(param=one, role=role, path=(param.name, name))


def _is_of_many(tool: str, param: Param, reading: ToolReading) -> bool:
    """True for a list of which each element is a record that a tool acts on, whatever else it takes
    and whether or not it must be given: `batch_create(type, inputs)`, `add_notes(notes)`.
    """
    last = (reading.entity or "").rpartition("_")[2]
    said = {*tokens(tool)}
    is_whole = param.word in words_of("elements") and not said.isdisjoint(words_of("many"))
    is_noun = bool(last) and param.word == plural(last) and param.word in said
    is_list = param.type == "array" and bool(param.item_properties)
    is_store = reading.operation in (*_HOLDS_FIELDS, Operation.DETACH, Operation.LINK)
    return is_list and is_store and (is_whole or is_noun)


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
    """Return the one parameter that only wraps the real ones, or None: one that is called by the
    noun of the record (`{"note": {...}}`).
    """
    if len(params) != 1:
        return None
    (param,) = params.values()
    is_one = param.type == "object" and bool(param.properties) and param.is_required
    return param if is_one and param.word in (noun, noun.rpartition("_")[2]) else None


def _inner_role(param: Param, reading: ToolReading) -> Role:
    if reading.entity and is_id_of(param.word, reading.entity):
        return Role.IDENTIFIER
    by_name = role_by_name(param) if reading.operation in _READS else None
    if by_name is not None:
        return by_name
    return Role.REFERENCE if param.word.endswith("_id") else Role.VALUE


def item_inputs(batch: Input) -> dict[str, Param]:
    """Return the properties of a batch's elements by name; empty where they are no objects. Fields
    that lie in an object of the element are named by their path in it.
    """
    found: dict[str, Param] = {}
    for name, param in batch.param.item_properties.items():
        if not is_storable(name):
            continue
        inner = param.properties if is_payload(param) else {}
        is_sure = param.is_required and not param.is_nullable
        for part, one in inner.items():
            if is_storable(part):
                needed = one.is_required and is_sure
                found[f"{name}.{part}"] = replace(one, is_required=needed)
        if not inner:
            found[name] = param
    return {**found, **batch.of_elements}


def element_value(batch: Input, name: str, element: Any = "$element") -> Any:
    """Return the expression of what an element holds under a path: of an object, what has no path
    of its own.
    """
    value: Any = element
    for part in name.split("."):
        value = f"{value}.{part}" if isinstance(value, str) else {"@field": [value, part]}
    start = f"{name}."
    parts = [one[len(start) :] for one in batch.of_elements if one.startswith(start)]
    return {"@omit": [value, parts]} if parts else value


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
