"""One table of a compiled service while the compiler works it out.

Owns the record: columns, what names a row, links. What fills it is in `tables.py`, `keys.py` and
`links.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from components.environment.archetypes.records import Archetype
from components.environment.compiler.inputs import Input, Tool
from components.environment.compiler.key_forms import prefix_of
from components.environment.examples import examples_of
from components.environment.names import is_id_of, singular, snake, strip_noun
from components.environment.params import Param
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
CURRENT = "is_current"
"""Column of tables one row of which tools make the current one."""
NAMES_ITS_ROW = frozenset({Operation.GET, Operation.UPDATE, Operation.DELETE, Operation.TRANSITION})
ON_PARENT = frozenset({Operation.APPEND, Operation.DETACH, Operation.LINK})
TYPES = {
    "string": FieldType.STRING,
    "integer": FieldType.INTEGER,
    "number": FieldType.NUMBER,
    "boolean": FieldType.BOOLEAN,
    "array": FieldType.ARRAY,
    "object": FieldType.OBJECT,
}
RENAMES = ("new_", "updated_", "target_", "to_")
"""What stands before the name of a field that gets a new value."""
OLD = ("old_", "current_", "existing_", "original_")
"""What stands before the name of a field that a row is known by until then."""


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
    is_asked: bool = False
    """Reads must be told its value and no write sets it: rows that lack it are shown as well."""
    is_held: bool = False
    """Every row of the seed holds a value, as such records do; a new row may lack it."""
    is_rest: bool = False
    """Holds what callers name beside the other columns: the seed's rows hold nothing there."""
    examples: tuple[str | int | float, ...] = ()
    """Values that its parameter is said to take."""


@dataclass(slots=True, kw_only=True)
class Table:
    """One table while the compiler works it out."""

    noun: str
    usual: Archetype
    """What such a record usually holds, in the sense that the service gives the noun."""
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
    is_made: bool = False
    """Some tool makes its rows."""
    tree: Mapping[str, str] = FrozenDict()
    """Noun -> column of the paths, of the tables whose rows lie in one tree of folders, its own
    among them; empty: its rows have no place."""
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
        for start in (*RENAMES, *OLD):
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

    def _prefix(self) -> str:
        """Return the prefix of made keys: the noun, or what the pattern of the key asks for."""
        usual = snake(self.noun).rpartition("_")[2][:8] or "row"
        column = self.columns.get(self.key)
        return usual if column is None else prefix_of(column.schema, usual)

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
            prefix=self._prefix(),
            generated_key=self.kind is not KeyKind.GIVEN,
            title_field=title,
            fields=FrozenDict(fields),
        )


Tables = Mapping[str, Table]


def subject(tool: Tool) -> str | None:
    """Return the noun of the table whose row a tool's identifiers pick."""
    reading = tool.reading
    if reading.operation in ON_PARENT and reading.parent:
        return reading.parent
    return reading.entity


def add_input(table: Table, name: str, item: Input, source: str, *, is_write: bool = False) -> None:
    one = item.role in (Role.IDENTIFIER, Role.PARENT) and not (is_write and item.is_list)
    add_param(table, name, item.param, source, one=one)


def add_param(table: Table, name: str, param: Param, source: str, *, one: bool = False) -> None:
    """Add a column that holds a parameter's values (with `one`, one element of a list)."""
    schema = param.items if one and param.type == "array" else param.schema
    kind = schema.get("type") if one else param.type
    kind = TYPES.get(kind, FieldType.JSON) if isinstance(kind, str) else FieldType.JSON
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
        examples=examples_of(param),
    )
