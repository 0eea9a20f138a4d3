"""Links between tables of a compiled service: which column names a row of which table.

Owns the evidence: a column called by another table's key, or a description that says so.
"""

from __future__ import annotations

import re

from components.environment.compiler.table import (
    Column,
    KeyKind,
    Table,
    Tables,
)
from components.environment.names import article, snake
from components.records.blueprint import (
    FieldBlueprint,
    FieldType,
)

SPEAKS_OF = re.compile(r"\b(name|id|identifier|key|title|slug|path)s? of (?:the |an? )?([a-z_]+)")
SAID = re.compile(r"\b([a-z_]+) (name|code|symbol|key|title|slug|path|ticker|address|number)\b")


def settle_links(tables: dict[str, Table]) -> None:
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
        if other.is_single:  # the one address that is current is not what every address names
            continue
        last = noun.rpartition("_")[2]
        if word in (noun, last) and _is_a_part(word, other):
            continue
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


def _is_a_part(word: str, other: Table) -> bool:
    """True where rows of a table hold a value of the table's own noun beside their name: a `range`
    that a range's sheet holds is no row of ranges.
    """
    return any(snake(name) == word and name not in other.names for name in other.columns)


def _speaks_of(description: str, other: Table) -> bool:
    """True where a description says `name of the entity`, or `entity name`, of a table that is
    named by that.
    """
    own = snake(other.names[0])
    last = other.noun.rpartition("_")[2]
    text = description.lower()
    said = [*SPEAKS_OF.findall(text), *((word, noun) for noun, word in SAID.findall(text))]
    return any(word == own and noun in (other.noun, last) for word, noun in said)


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
