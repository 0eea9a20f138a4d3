"""Tables of a compiled service: which there are, what names their rows, and what their rows hold.

Owns the inference of entities from readings. Every tool on a kind of record adds to one table: what
it writes, what it filters by, and how it names a row. Fields that no tool speaks of come from the
archetype of the noun, and are marked inferred by the service as a whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from components.environment.compiler.inputs import Input, Tool, item_inputs
from components.environment.names import article, is_id_of, singular, snake, strip_noun
from components.environment.params import Param, singular_word
from components.environment.reading.records import Role
from components.records.blueprint import (
    EntityBlueprint,
    FieldBlueprint,
    FieldType,
    Operation,
    QuarantineReason,
)
from components.records.frozen import FrozenDict

ROW_KEY = "row_key"
"""Key of tables whose rows are named by something else; no answer shows it."""
NAMES_ITS_ROW = frozenset({Operation.GET, Operation.UPDATE, Operation.DELETE, Operation.TRANSITION})
ON_PARENT = frozenset({Operation.APPEND, Operation.DETACH, Operation.LINK})
_TYPES = {
    "string": FieldType.STRING,
    "integer": FieldType.INTEGER,
    "number": FieldType.NUMBER,
    "boolean": FieldType.BOOLEAN,
    "array": FieldType.ARRAY,
    "object": FieldType.OBJECT,
}
_SPEAKS_OF = re.compile(r"\b(name|id|identifier|key|title|slug|path)s? of (?:the |an? )?([a-z_]+)")
_RENAMES = ("new_", "updated_", "target_", "to_")


class Unclear(Exception):
    """A tool that cannot be compiled; becomes its quarantine."""

    def __init__(self, detail: str, reason: QuarantineReason = QuarantineReason.UNCLEAR) -> None:
        """Args: detail: the rest of a sentence; reason: why it is not offered."""
        super().__init__(detail)
        self.detail, self.reason = detail, reason


class KeyKind(StrEnum):
    """Where a row's key comes from."""

    GENERATED = "generated"
    """The service makes a text id."""
    COUNTED = "counted"
    """The service counts; the table's own key is hidden."""
    GIVEN = "given"
    """The caller gives it when a row is made."""
    NATURAL = "natural"
    """Rows are named by a value that they hold; the table's own key is hidden."""


@dataclass(slots=True, kw_only=True)
class Column:
    """One field of a table while the compiler works it out."""

    name: str
    body: FieldBlueprint
    schema: Mapping[str, Any] = FrozenDict()
    """Schema that its values must fit; empty: the type alone."""
    document: Mapping[str, Any] = FrozenDict()
    """Whole schema that references point into."""
    meaning: str = ""
    """What its values mean (see the archetypes); empty: by its name."""
    source: str = ""
    """What put it there, for `show`."""
    description: str = ""
    """As its parameter has it."""


@dataclass(slots=True, kw_only=True)
class Table:
    """One table while the compiler works it out."""

    noun: str
    columns: dict[str, Column] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    """Columns that together name a row, the one that is its own first."""
    kind: KeyKind = KeyKind.GENERATED
    links: dict[str, str] = field(default_factory=dict)
    """Column -> noun of the table whose row it names."""
    parent: str = ""
    """Noun of the table that rows are added to; empty when there is none."""
    relates: bool = False
    """Its rows relate others, and go with them."""
    is_single: bool = False
    """Holds one row: nothing names a row or lists them."""

    @property
    def key(self) -> str:
        """Field that holds the key in the engine."""
        return ROW_KEY if self.kind in (KeyKind.COUNTED, KeyKind.NATURAL) else self.names[0]

    @property
    def shown(self) -> tuple[str, ...]:
        """Fields that answers show."""
        return tuple(sorted(self.columns))

    def find(self, word: str) -> str | None:
        """Return the column that a parameter's word means, or None."""
        if is_id_of(word, self.noun) and self.names:
            return self.names[0]
        plain = strip_noun(word, self.noun)
        for start in _RENAMES:
            if plain.startswith(start) and len(plain) > len(start):
                plain = plain[len(start) :]
        wanted = (word, plain)
        for name in sorted(self.columns):
            if snake(name) in wanted:
                return name
        for name in sorted(self.columns):
            if name not in self.names and strip_noun(snake(name), self.noun) in wanted:
                return name
        by_one = {singular(item) for item in wanted}
        return next(
            (name for name in sorted(self.columns) if singular(snake(name)) in by_one), None
        )

    def entity(
        self, service: str, tables: Mapping[str, Table], title: str | None
    ) -> EntityBlueprint:
        """Return the finished entity."""
        fields = {name: column.body for name, column in self.columns.items()}
        if self.key == ROW_KEY:
            fields[ROW_KEY] = FieldBlueprint(type=FieldType.STRING, generated=True)
        for name, noun in self.links.items():
            target = tables[noun]
            place = f"{service}.{noun}"
            if target.key == ROW_KEY:
                place = f"{place}.{target.names[0]}"
            fields[name] = fields[name].model_copy(update={"link": place})
        return EntityBlueprint(
            key=self.key,
            prefix=snake(self.noun).rpartition("_")[2][:8] or "row",
            generated_key=self.kind is not KeyKind.GIVEN,
            title_field=title,
            fields=FrozenDict(fields),
        )


Tables = Mapping[str, Table]


def find_tables(tools: Iterable[Tool]) -> dict[str, Table]:
    """Return the tables that tools speak of, with their keys, columns and links."""
    everyone = sorted(tools, key=lambda tool: tool.name)
    tables: dict[str, Table] = {}
    for tool in everyone:
        for noun in (tool.reading.entity, tool.reading.parent):
            if noun:
                tables.setdefault(noun, Table(noun=noun))
    for table in tables.values():
        _settle_key(table, [tool for tool in everyone if subject(tool) == table.noun], everyone)
    for tool in everyone:
        noun, parent = tool.reading.entity, tool.reading.parent
        if noun and tool.reading.operation is Operation.APPEND and parent and parent != noun:
            tables[noun].parent = parent
    for tool in sorted(everyone, key=_makers_first):
        if tool.reading.entity:
            _add_columns(tool, tables)
    for tool in everyone:
        noun = tool.reading.entity
        if noun and tool.reading.operation is Operation.LINK and tool.first(Role.BATCH):
            tables[noun].relates = True
    for table in tables.values():
        _settle_required(table, [tool for tool in everyone if tool.reading.entity == table.noun])
    _settle_links(tables)
    return tables


_MANY = frozenset({Operation.CREATE, Operation.LIST, Operation.SEARCH, Operation.DELETE})


def settings_of(tools: Iterable[Tool]) -> frozenset[str]:
    """Return the nouns of which there is one: tools set it, and none makes, lists or removes it."""
    by_noun: dict[str, list[Tool]] = {}
    for tool in tools:
        by_noun.setdefault(tool.reading.entity or "", []).append(tool)
    return frozenset(
        noun
        for noun, group in by_noun.items()
        if not any(tool.reading.operation in _MANY | ON_PARENT for tool in group)
        and any(_only_names(tool) for tool in group)
    )


def _only_names(tool: Tool) -> bool:
    data = [item for item in tool.data if item.role is not Role.PARENT]
    is_update = tool.reading.operation is Operation.UPDATE
    return is_update and bool(data) and all(item.role is Role.IDENTIFIER for item in data)


def subject(tool: Tool) -> str | None:
    """Return the noun of the table whose row a tool's identifiers pick."""
    reading = tool.reading
    if reading.operation in ON_PARENT and reading.parent:
        return reading.parent
    return reading.entity


def _makers_first(tool: Tool) -> tuple[int, str]:
    order = {Operation.CREATE: 0, Operation.APPEND: 1, Operation.UPDATE: 2}
    return order.get(tool.reading.operation, 3), tool.name


def _settle_key(table: Table, tools: list[Tool], everyone: list[Tool]) -> None:
    """Decide what names a row, by what most tools name one by; the strictest type wins."""
    votes: Counter[str] = Counter()
    kinds: dict[str, str] = {}
    given: dict[str, Input] = {}
    together: Counter[tuple[str, ...]] = Counter()
    for tool in tools:
        if tool.reading.operation not in NAMES_ITS_ROW | ON_PARENT:
            continue
        names = []
        for item in tool.of(Role.IDENTIFIER):
            if item.kind not in ("string", "integer", "number", ""):
                continue
            name = _key_name(item, table)
            votes[name] += 2 if item.param.is_required else 1
            kind = "integer" if item.kind in ("integer", "number") else "string"
            kinds[name] = "integer" if "integer" in (kind, kinds.get(name)) else "string"
            given.setdefault(name, item)
            names.append(name)
        if names:
            together[tuple(names)] += 1
    if not votes:
        has_many = any(
            tool.reading.operation in (Operation.LIST, Operation.SEARCH, Operation.CREATE)
            for tool in everyone
            if tool.reading.entity == table.noun
        )
        table.is_single = not has_many
        _own(table, "id", "string", KeyKind.GENERATED)
        return
    main = max(sorted(votes), key=lambda name: (name == "id", votes[name]))
    whole = max(
        (names for names in sorted(together) if main in names), key=lambda names: together[names]
    )
    others = [name for name in whole if name != main]
    kind = _kind_of_key(table, main, kinds[main], everyone)
    _own(table, main, kinds[main], kind, given[main])
    table.names = (main, *others)
    for name in votes:
        if name not in table.columns:
            _add(table, name, given[name], "names a row")


def _key_name(item: Input, table: Table) -> str:
    word = singular_word(item.param) if item.is_list else item.word
    if is_id_of(word, table.noun):
        return "id"
    if item.is_list:
        return singular(strip_noun(word, table.noun))
    plain = strip_noun(word, table.noun)
    return plain if plain != word else item.param.name


def _kind_of_key(table: Table, name: str, kind: str, everyone: list[Tool]) -> KeyKind:
    makers = [
        tool
        for tool in everyone
        if tool.reading.entity == table.noun
        and tool.reading.operation in (Operation.CREATE, Operation.APPEND)
    ]
    gives = [_gives(tool, table, name) for tool in makers]
    is_changed = any(
        tool.reading.operation is Operation.UPDATE
        and tool.reading.entity == table.noun
        and any(
            item.word.startswith(_RENAMES) and item.word.endswith(snake(name))
            for item in tool.of(Role.VALUE)
        )
        for tool in everyone
    )
    if kind == "integer":
        return KeyKind.COUNTED if name == "id" or not any(gives) else KeyKind.NATURAL
    if makers and all(gives) and not is_changed:
        return KeyKind.GIVEN
    is_made = bool(makers) or name == "id" or snake(name).endswith(("_id", "_uuid", "_key"))
    return KeyKind.GENERATED if is_made and not any(gives) else KeyKind.NATURAL


def _gives(tool: Tool, table: Table, name: str) -> bool:
    batch = tool.first(Role.BATCH)
    params = item_inputs(batch) if batch is not None else {}
    always = [param for param in params.values() if param.is_required and not param.is_nullable]
    always += [item.param for item in tool.data if item.is_always_given]
    return any(_means(param, table, name) and param.type == "string" for param in always)


def _means(param: Param, table: Table, name: str) -> bool:
    if name == "id":
        return is_id_of(param.word, table.noun)
    return snake(name) in (param.word, strip_noun(param.word, table.noun))


def _own(table: Table, name: str, kind: str, key_kind: KeyKind, item: Input | None = None) -> None:
    is_made = key_kind in (KeyKind.GENERATED, KeyKind.COUNTED)
    body = FieldBlueprint(type=_TYPES[kind], generated=is_made)
    schema = FrozenDict() if item is None or item.is_list else item.param.schema
    document = FrozenDict() if item is None else item.param.document
    table.names, table.kind = (name,), key_kind
    table.columns[name] = Column(
        name=name, body=body, schema=schema, document=document, source="names a row"
    )


def _add_columns(tool: Tool, tables: dict[str, Table]) -> None:
    table = tables[tool.reading.entity or ""]
    operation = tool.reading.operation
    is_write = operation not in (Operation.GET, Operation.LIST, Operation.SEARCH)
    batch = tool.first(Role.BATCH)
    if is_write and batch is not None:
        for name, param in item_inputs(batch).items():
            if table.find(param.word) is None:
                add_param(table, name, param, f"stored by {tool.name}")
        if (
            not item_inputs(batch)
            and batch.kind == "object"
            and not table.find(singular(batch.word))
        ):
            name = singular(batch.word)
            body = FieldBlueprint(type=FieldType.OBJECT, nullable=True, required=False)
            table.columns[name] = Column(name=name, body=body, source=f"stored by {tool.name}")
    if operation is Operation.GET:
        for item in tool.of(Role.VALUE, Role.REFERENCE, Role.PARENT):
            is_name = item.param.is_required and item.kind in ("string", "integer")
            if is_name and not item.param.enum and table.find(item.word) is None:
                _add(table, item.param.name, item, f"a part of what {tool.name} asks for")
        return
    if operation is Operation.DELETE:
        return
    for item in tool.data:
        if item.role is Role.BATCH or (item.role in (Role.QUERY, Role.CHANGES) and not is_write):
            continue
        if item.role in (Role.FROM, Role.TO) and not is_write:
            continue
        picks = item.role is Role.IDENTIFIER and operation is not Operation.CREATE
        if picks and (operation not in ON_PARENT or subject(tool) == table.noun):
            continue
        if picks and is_id_of(item.word, tool.reading.parent or ""):
            continue
        if not is_write and item.param.type in ("object", ""):
            continue
        known = table.find(item.word)
        if known is None:
            told = "stored" if is_write else "filtered"
            _add(table, item.param.name, item, f"{told} by {tool.name}", is_write=is_write)
        elif is_write and known not in table.names:
            _widen(table.columns[known], item.param)


def _add(table: Table, name: str, item: Input, source: str, *, is_write: bool = False) -> None:
    one = item.role in (Role.IDENTIFIER, Role.PARENT) and not (is_write and item.is_list)
    add_param(table, name, item.param, source, one=one)


def _settle_required(table: Table, tools: list[Tool]) -> None:
    """A column that every maker of a row is always given, and none may clear, is never null."""
    makers = [
        _given(tool, table)
        for tool in tools
        if tool.reading.operation in (Operation.CREATE, Operation.APPEND)
    ]
    if not makers:
        return
    cleared = {
        table.find(item.word) for tool in tools for item in tool.data if item.param.is_nullable
    }
    for name in set.intersection(*makers) - cleared:
        column = table.columns[name]
        column.body = column.body.model_copy(update={"nullable": False, "required": True})


def _given(tool: Tool, table: Table) -> set[str]:
    """Return the columns that a maker always gives a value."""
    batch = tool.first(Role.BATCH)
    params = list(item_inputs(batch).values()) if batch is not None else []
    params += [item.param for item in tool.data if item.role is not Role.BATCH]
    found = {
        table.find(param.word)
        for param in params
        if param.is_required and not param.is_nullable and param.default_fits
    }
    return {name for name in found if name is not None and name in table.columns}


def _widen(column: Column, param: Param) -> None:
    """A column that tools write values of several types into holds any."""
    kind = _TYPES.get(param.type, FieldType.JSON)
    if kind is not column.body.type and column.source.startswith("stored"):
        column.body = column.body.model_copy(update={"type": FieldType.JSON})
        column.schema = FrozenDict()


def add_param(table: Table, name: str, param: Param, source: str, *, one: bool = False) -> None:
    """Add a column that holds a parameter's values (with `one`, one element of a list)."""
    schema = param.items if one and param.type == "array" else param.schema
    kind = schema.get("type") if one else param.type
    kind = _TYPES.get(kind, FieldType.JSON) if isinstance(kind, str) else FieldType.JSON
    if not param.default_fits:  # it is filled in before the call all the same
        kind = FieldType.JSON
    if name in (ROW_KEY, "id") and name not in table.columns:
        name = f"{snake(table.noun)}_{name}"
    body = FieldBlueprint(type=kind, nullable=True, required=False)
    table.columns[name] = Column(
        name=name,
        body=body,
        schema=schema,
        document=param.document,
        source=source,
        description=param.description,
    )


def _settle_links(tables: dict[str, Table]) -> None:
    """A column that is called by another table's id, or by its noun, names a row of that table."""
    for table in tables.values():
        for name, column in sorted(table.columns.items()):
            if name == table.names[0] and table.kind is not KeyKind.NATURAL:
                continue
            target = _target(name, column, table, tables)
            if target is not None:
                table.links[name] = target.noun
        if table.parent and table.parent not in table.links.values():
            _add_parent_link(table, tables[table.parent])


def _target(name: str, column: Column, table: Table, tables: Tables) -> Table | None:
    word = snake(name)
    if column.body.type not in (FieldType.STRING, FieldType.INTEGER, FieldType.NUMBER):
        return None
    for noun, other in sorted(tables.items()):
        if other is table and not word.startswith("parent_"):
            continue
        last = noun.rpartition("_")[2]
        own = other.columns[other.names[0]].body.type
        is_number = own in (FieldType.INTEGER, FieldType.NUMBER)
        fits = is_number == (column.body.type is not FieldType.STRING)
        called = {f"{noun}_id", f"{last}_id", f"{noun}_uuid", f"{noun}id", f"{last}id", noun}
        if other.names[0] != "id":
            called |= {f"{noun}_{snake(other.names[0])}", f"{last}_{snake(other.names[0])}"}
        if fits and (word in called or word.removeprefix("parent_") in called):
            return other
        if fits and _speaks_of(column.description, other):
            return other
    return None


def _speaks_of(description: str, other: Table) -> bool:
    """True where a description says `the name of the entity` of a table that is named by that."""
    own = snake(other.names[0])
    last = other.noun.rpartition("_")[2]
    return any(
        word == own and noun in (other.noun, last)
        for word, noun in _SPEAKS_OF.findall(description.lower())
    )


def _add_parent_link(table: Table, parent: Table) -> None:
    name = f"{snake(parent.noun)}_{snake(parent.names[0])}"
    own = parent.columns[parent.names[0]]
    body = FieldBlueprint(type=own.body.type, nullable=True, required=False)
    table.columns[name] = Column(
        name=name, body=body, source=f"{article(table.noun)} belongs to {article(parent.noun)}"
    )
    table.links[name] = parent.noun


def parent_link(table: Table, parent: Table) -> str | None:
    """Return the column of a table that names a row of its parent, or None."""
    found = [name for name, noun in sorted(table.links.items()) if noun == parent.noun]
    return found[0] if found else None
