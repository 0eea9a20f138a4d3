"""Columns that no tool speaks of: those that a record of its kind usually has.

Owns what is added from archetypes. What a spec says itself is never replaced: a usual field is
added only where no column means the same.
"""

from __future__ import annotations

from typing import Any

from components.environment.archetypes.context import in_context, senses
from components.environment.archetypes.field_meaning import meaning_of
from components.environment.archetypes.field_senses import sense_of
from components.environment.archetypes.meanings import Kind, parse_meaning
from components.environment.archetypes.records import Archetype, FieldShape, Found
from components.environment.archetypes.told_forms import told_forms
from components.environment.compiler.inputs import style_of, styled, words_of
from components.environment.compiler.table import Column, Table, Tables
from components.environment.names import snake
from components.records.blueprint import FieldBlueprint, FieldType

_TITLES = ("title", "name", "subject", "summary", "label", "display_name", "filename")
_TELLING = 2
"""Fields of its own with which a record says something without a name."""
_STAMPS = ("time.created", "time.updated")
_CLOSED = frozenset({"enum", "const", "format", "pattern", "minimum", "maximum"})
"""What a schema says of its values beyond their type."""


def add_archetype_columns(table: Table, tables: Tables, spoken: frozenset[str]) -> None:
    """Add the usual fields of a table's noun, written in the style of the fields that are there.

    Args:
        spoken: words that the service uses; they say which sense a field's name has.
    """
    usual = table.usual
    for column in table.columns.values():
        sense = _sense(column, spoken)
        if sense is not None:
            _mean(column, sense)
    style = style_of(tuple(table.columns))
    has_title = title_column(table) is not None
    meanings = {meaning_in(column) for column in table.columns.values()}
    left_out = _left_out(table)
    for name, shape in usual.fields.items():
        if name in left_out:
            continue
        is_title = name == usual.title_field
        if name in table.columns:
            _mean(table.columns[name], shape)
        if table.find(name) is not None or (is_title and has_title):
            continue
        if (same := _same_column(name, shape, table)) is not None:
            _mean(same, shape)
            continue
        if shape.meaning in meanings and not shape.meaning.startswith("count"):
            continue
        _add(table, styled(name, style), shape, usual)
    for name, noun in usual.links.items():
        target = tables.get(noun)
        is_kept = target is not None and target is not table
        if is_kept and name not in usual.fields and noun not in table.links.values():
            _add_link(table, styled(f"{name}_id", style), tables[noun])


def _same_column(name: str, shape: FieldShape, table: Table) -> Column | None:
    """Return the column that says what a usual field would say again: `base` beside
    `base_currency`, `no` beside `number`.
    """
    first, _, last = name.rpartition("_")
    alike = {first} if last in words_of("same_tails") else set()
    alike |= {f"{name}_{tail}" for tail in words_of("same_tails")}
    alike |= words_of("numbers") if name in words_of("numbers") else set()
    for own, column in sorted(table.columns.items()):
        if snake(own) in alike - {""} and column.body.type is shape.type:
            return column
    return None


def _sense(column: Column, spoken: frozenset[str]) -> FieldShape | None:
    """Return what a field is that is called by a word of several senses (`from_address`)."""
    word = snake(column.name).rpartition("_")[2]
    if word not in senses():
        return None
    found = in_context(word, spoken)
    is_so_called = found.found is Found.ALIAS and found.title_field == word
    return found.fields[word] if is_so_called else None


def _mean(column: Column, shape: FieldShape) -> None:
    """Let a column of which its name alone is known mean what it means in this place.

    The address of a wallet is none of a street, as `address` is elsewhere.
    """
    kind = column.body.type.value
    by_name = meaning_of(snake(column.name), kind)
    is_told = bool(column.meaning or column.examples or set(column.schema) & _CLOSED)
    if is_told or meaning_of(snake(column.name), kind, column.schema) != by_name:
        return
    if column.body.type is shape.type:
        column.meaning = shape.meaning


def _left_out(table: Table) -> frozenset[str]:
    """Return the usual fields that would be made up for a noun that nothing is known of: a text,
    and a name where its tools give it fields of its own.
    """
    usual = table.usual
    if usual.found is not Found.FALLBACK:
        return frozenset()
    prose = {name for name, shape in usual.fields.items() if _is_prose(shape)}
    own = [name for name in table.columns if name not in (*table.names, *table.links)]
    return frozenset(prose | ({usual.title_field} if len(own) >= _TELLING else set()))


def _is_prose(shape: FieldShape) -> bool:
    return parse_meaning(shape.meaning).kind is Kind.PROSE


def settle_senses(tables: Tables, spoken: frozenset[str]) -> None:
    """Give columns the meaning that their name has among the words of the service.

    Args:
        spoken: those words; what a column's own description says of its form weighs more.
    """
    for table in tables.values():
        for name, column in table.columns.items():
            word, kind = snake(name), json_type_of(column)
            is_told = bool(told_forms(word, kind, column.description))
            if is_told or column.schema.get("enum") or column.schema.get("format"):
                continue
            column.meaning = sense_of(word, kind, spoken) or column.meaning


def json_type_of(column: Column) -> str:
    """Return the JSON type of a column's values; a text where it can hold several."""
    kind = column.body.type
    is_text = kind in (FieldType.TIMESTAMP, FieldType.JSON)
    return "string" if is_text else kind.value


def meaning_in(column: Column) -> str:
    """Return what the values of a column mean."""
    schema = column.schema
    if column.description and not schema.get("description"):
        schema = {**schema, "description": column.description}
    return column.meaning or meaning_of(snake(column.name), json_type_of(column), schema)


def _add(table: Table, name: str, shape: FieldShape, usual: Archetype) -> None:
    is_stamp = shape.meaning in _STAMPS
    kind = FieldType.TIMESTAMP if is_stamp else shape.type
    body = FieldBlueprint(
        type=kind,
        nullable=True,
        required=False,
        default=_default(name, shape, usual),
        generated=is_stamp,
    )
    table.columns[name] = Column(
        name=name,
        body=body,
        meaning=shape.meaning,
        source=f"usual for {usual.name}",
        is_held=not shape.nullable,
    )


def _default(name: str, shape: FieldShape, usual: Archetype) -> Any:
    """Return what a new record holds there when nothing is given."""
    if snake(name) == usual.status_field and usual.lifecycle:
        return usual.lifecycle[0]
    if shape.type is FieldType.BOOLEAN:
        return False
    if shape.type is FieldType.INTEGER and shape.meaning.startswith("count"):
        return 0
    return None


def _add_link(table: Table, name: str, target: Table) -> None:
    if table.find(snake(name)) is not None:
        return
    own = target.columns[target.names[0]].body.type
    body = FieldBlueprint(type=own, nullable=True, required=False)
    table.columns[name] = Column(name=name, body=body, source=f"usual link to {target.noun}")
    table.links[name] = target.noun


def title_column(table: Table) -> str | None:
    """Return the column that a person would call a row by, or None."""
    usual = table.usual.title_field
    for word in (usual, *_TITLES):
        found = table.find(word)
        if found is not None and table.columns[found].body.type is FieldType.STRING:
            return found
    return None
