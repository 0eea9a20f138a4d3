"""Writes of compiled services: creates, updates and deletes.

Owns the rules by which a write becomes effects. Rows that belong to a deleted one go with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.environment.compiler.columns import meaning_in
from components.environment.compiler.gone import children_gone, relations_gone
from components.environment.compiler.inputs import (
    NO_DATA,
    Input,
    Tool,
    element_value,
    item_inputs,
    words_of,
)
from components.environment.compiler.renames import is_copy
from components.environment.compiler.row_names import (
    are_there,
    has_name,
    is_copied,
    is_free,
    is_new,
    names_rows,
    next_name,
    origin_of,
    origin_of_element,
    titles_of,
)
from components.environment.compiler.rows import (
    Content,
    answer_of,
    column_of,
    fits,
    key_expression,
    own_identifiers,
    pick,
    shown_row,
    shown_rows,
)
from components.environment.compiler.table import Column, KeyKind, Table, Tables, Unclear
from components.environment.compiler.trees import called_by_path, place_check
from components.environment.compiler.upserts import told_of, upserted
from components.environment.names import plural, singular, snake, tokens
from components.environment.params import Param
from components.environment.reading.records import Role
from components.records.blueprint import (
    Check,
    Effect,
    FieldType,
    FunctionalClass,
    Lookup,
    Operation,
    ToolBlueprint,
)
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict

_NAMES = ("name", "title", "text", "content")


def compile_write(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    """Return the blueprint of a create, an update or a delete, and what decided.

    Raises:
        Unclear: nothing says which row is meant, or what is to change.
    """
    match tool.reading.operation:
        case Operation.CREATE:
            return create(tool, table, tables)
        case Operation.UPDATE:
            return _update(tool, table, tables)
        case _:
            return _delete(tool, table, tables)


def create(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    """Return the blueprint of a tool that makes rows."""
    batch = tool.first(Role.BATCH)
    items = item_inputs(batch) if batch is not None else {}
    origin = origin_of(tool, table)
    skip = () if origin is None else tuple(origin.inputs)
    fields = stored(tool, table, skip)
    if batch is not None and items:
        fields |= {
            column: element_value(batch, name)
            for name, param in items.items()
            if (column := _column_of_param(param, table)) is not None
        }
        fields |= _copied_each(tool, batch, table, fields)
    elif batch is not None:
        column = element_column(batch, table)
        if column is None:
            raise Unclear(f"nothing says what each of {batch.param.name!r} holds")
        fields[column] = "$element"
    is_bare = not tool.inputs and tool.reading.operation is Operation.CREATE
    if not fields and origin is None and not is_bare:
        raise Unclear(f"it takes nothing that a new {table.noun} could hold")
    lookups, checks = named_rows(tool, table, tables, skip)
    if batch is None:
        checks |= is_new(tool, table, skip) | has_name(tool, table)
    else:
        checks |= is_told(batch) | _copies_are_there(tool, batch, table)
    if origin is not None:
        lookups["origin"] = origin.lookup()
        copied = {name: f"$origin.{name}" for name in table.columns if is_copied(name, table)}
        kept = {
            column: {"@coalesce": [item.ref, copied[column]]}
            for item in tool.data
            if not item.is_always_given and (column := table.find(item.word)) in copied
            if column in fields
        }
        fields = copied | fields | kept
    fields = {**born(tool, table), **stamps(table, is_new=True), **fields}
    if batch is None and table.tree and (path := fields.get(table.names[0])) is not None:
        checks |= place_check(tool, table)
        fields = {name: {how: path} for name, how in called_by_path(table).items()} | fields
    if table.kind is KeyKind.NATURAL:
        fields = {name: next_name(table, name) for name in table.names} | fields
    if table.kind is KeyKind.COUNTED:
        if batch is not None:
            raise Unclear("it makes many rows with counted ids at once")
        ids = {"@each": [{"@rows": {"table": table.noun}}, f"$element.{table.names[0]}"]}
        fields[table.names[0]] = {"@add": [{"@coalesce": [{"@max": ids}, 0]}, 1]}
    if table.kind is KeyKind.GIVEN and table.key not in fields:
        raise Unclear(f"nothing gives the key {table.key!r} of a new {table.noun}")
    make = Effect(
        action="create",
        table=table.noun,
        each=None if batch is None else batch.ref,
        fields=FrozenDict(fields),
    )
    make = upserted(make, tool, table, tool.data)
    if make.on_conflict != "refuse":
        checks.pop("is_new", None)
    if batch is None:
        content = Content(
            table=table,
            plain={table.noun: shown_row(table, "$make")},
            row="$make",
            message=f"{table.noun} {'created' if make.on_conflict == 'refuse' else 'saved'}",
        )
    else:
        plain = {plural(table.noun): shown_rows(table, "$make")}
        content = Content(table=table, plain=plain, rows="$make")
    blueprint = finished(tool, table, lookups, checks, {"make": make}, content, tables)
    said = f"a new {table.noun} holds {', '.join(sorted(fields))}"
    return blueprint, said if make.on_conflict == "refuse" else f"{said}; {told_of(make)}"


def _copied_each(
    tool: Tool, batch: Input, table: Table, fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what each row of a list of copies takes over from the row that its element names."""
    own = names_rows(batch, table)
    if own is None or not is_copy(tool):
        return {}
    origin = origin_of_element(batch, own, table)
    held = {name: {"@field": [origin, name]} for name in table.columns if is_copied(name, table)}
    kept = {
        name: {"@coalesce": [fields[name], value]} for name, value in held.items() if name in fields
    }
    return {**held, **kept, table.names[0]: None}


def _copies_are_there(tool: Tool, batch: Input, table: Table) -> dict[str, Check]:
    own = names_rows(batch, table)
    return are_there(batch, own, table) if own is not None and is_copy(tool) else {}


def is_told(batch: Input) -> dict[str, Check]:
    """What a tool acts on each element of must be given, where its schema leaves that open."""
    if batch.is_always_given:
        return {}
    return {
        "is_told": Check(
            holds={"@not": {"@is_null": batch.ref}},
            code=ErrorCode.INVALID_ARGUMENTS,
            message=f"{batch.param.name} must be given",
        )
    }


def stored(tool: Tool, table: Table, skip: tuple[Input, ...] = ()) -> dict[str, Any]:
    """Return column -> expression of what a tool's inputs store in a new row."""
    found: dict[str, Any] = {}
    for item in tool.data:
        if item in skip or item.role is Role.BATCH:
            continue
        column = table.find(item.word)
        if column is None or not _stores(item, table, column):
            continue
        default = table.columns[column].body.default
        value: Any = item.stored
        if not item.is_always_given and default is not None:
            value = {"@coalesce": [value, default]}
        found[column] = value
        found |= dict.fromkeys(titles_of(item, table, column), value)
    return found


def _stores(item: Input, table: Table, column: str) -> bool:
    kind = table.columns[column].body.type
    if kind is FieldType.JSON:
        return True
    if kind is FieldType.ARRAY:
        return item.is_list
    if kind is FieldType.OBJECT:
        return item.param.type == "object"
    return not item.is_list and fits(item, kind)


def _column_of_param(param: Param, table: Table) -> str | None:
    column = table.find(param.word)
    if column is None:
        return None
    item = Input(param=param, role=Role.VALUE, path=(param.name,))
    return column if _stores(item, table, column) else None


def element_column(batch: Input, table: Table) -> str | None:
    """Return the column that holds an element of a list whose elements are no records, or None."""
    own = table.find(singular(batch.word))
    if own is not None and fits_element(batch, table.columns[own].body.type):
        return own
    if batch.kind != "string":
        return None
    texts = [n for n, column in sorted(table.columns.items()) if column.meaning.startswith("text")]
    names = [n for n in sorted(table.columns) if snake(n) in _NAMES]
    found = names or texts
    return found[0] if found else None


def fits_element(batch: Input, kind: FieldType) -> bool:
    """True where a column of a type can hold an element of a list."""
    if batch.kind == "object":
        return kind in (FieldType.OBJECT, FieldType.JSON)
    return kind is not FieldType.ARRAY and fits(batch, kind)


def stamps(table: Table, *, is_new: bool) -> dict[str, Any]:
    """Return the columns that the service itself sets to the time of a write."""
    meanings = ("time.created", "time.updated") if is_new else ("time.updated",)
    return {
        name: "$now"
        for name, column in sorted(table.columns.items())
        if column.body.generated
        and column.meaning in meanings
        and column.body.type is FieldType.TIMESTAMP
    }


def born(tool: Tool, table: Table) -> dict[str, Any]:
    """Return the times at which a new row became what it is: when it was sent, by a tool that
    sends; when it was posted, granted or placed.
    """
    names = set(words_of("born"))
    if not words_of("sends").isdisjoint(tokens(tool.name)):
        names.add("sent_at")
    return {
        name: "$now"
        for name, column in sorted(table.columns.items())
        if snake(name) in names
        and name not in (*table.names, *table.links)
        and column.body.type in (FieldType.TIMESTAMP, FieldType.STRING)
        and meaning_in(column).startswith("time")
    }


def named_rows(
    tool: Tool, table: Table, tables: Tables, skip: tuple[Input, ...] = ()
) -> tuple[dict[str, Lookup], dict[str, Check]]:
    """Rows of other tables that a write names must exist; an optional one only when it is given."""
    lookups: dict[str, Lookup] = {}
    checks: dict[str, Check] = {}
    for item in tool.data:
        column = table.find(item.word)
        noun = table.links.get(column or "")
        if item in skip or noun is None or item.is_list:
            continue
        target = tables[noun]
        if not fits(item, target.columns[target.names[0]].body.type):
            continue
        label = f"of_{item.word}"
        place = None if target.key == target.names[0] else target.names[0]
        lookups[label] = Lookup(
            table=noun, field=place, equals=item.ref, optional=not item.is_always_given
        )
        if not item.is_always_given:
            checks[f"{label}_exists"] = Check(
                holds={"@or": [{"@is_null": item.ref}, {"@not": {"@is_null": f"${label}"}}]},
                code=ErrorCode.NOT_FOUND,
                message=f"there is no such {noun}",
            )
    return lookups, checks


def _update(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    batch = tool.first(Role.BATCH)
    if batch is not None:
        return update_many(tool, batch, table, tables)
    picked = pick(table, own_identifiers(tool))
    skip = tuple(picked.inputs)
    fields: dict[str, Any] = {}
    for item in tool.data:
        if item in skip or item.role in (Role.IDENTIFIER, Role.BATCH):
            continue
        column = table.find(item.word)
        if column is None or column == table.key or not _stores(item, table, column):
            continue
        fields[column] = new_value(item, table.columns[column])
        fields |= dict.fromkeys(titles_of(item, table, column), fields[column])
    if not fields:
        raise Unclear(f"nothing that it takes can be a new value of a {table.noun}")
    lookups, checks = named_rows(tool, table, tables, skip)
    checks |= is_free(tool, table, skip)
    said = f"{', '.join(sorted(fields))} of the {table.noun} are set"
    return change(tool, picked, fields, lookups, checks, tables), said


def update_many(
    tool: Tool, batch: Input, table: Table, tables: Tables
) -> tuple[ToolBlueprint, str]:
    """Each element of a list names a row and holds its new values."""
    items = item_inputs(batch)
    own = next(
        (name for name, param in items.items() if table.find(param.word) == table.names[0]), None
    )
    if own is None:
        raise Unclear(f"no part of {batch.param.name!r} says which {table.noun}")
    named = names_rows(batch, table)
    checks = is_told(batch) | ({} if named is None else are_there(batch, named, table))
    key = f"$item.{table.names[0]}"
    element = {"@find": [batch.ref, {"@eq": [f"$element.{own}", key]}]}
    fields: dict[str, Any] = {}
    for name, param in items.items():
        column = _column_of_param(param, table)
        if column is None or column in (table.key, table.names[0]):
            continue
        held = f"$item.{column}"
        new = element_value(batch, name, element)
        is_changes = param.type == "object" and table.columns[column].body.type is FieldType.OBJECT
        fields[column] = {"@merge": [held, new]} if is_changes else {"@coalesce": [new, held]}
    if not fields:
        raise Unclear(f"no part of {batch.param.name!r} can be a new value of a {table.noun}")
    all_named = {"@each": [batch.ref, f"$element.{own}"]}
    effect = Effect(
        action="update",
        table=table.noun,
        where={"@in": [key, all_named]},
        fields=FrozenDict({**stamps(table, is_new=False), **fields}),
    )
    content = Content(
        table=table, plain={plural(table.noun): shown_rows(table, "$set")}, rows="$set"
    )
    blueprint = finished(tool, table, {}, checks, {"set": effect}, content, tables)
    return blueprint, f"each of {batch.param.name!r} names a {table.noun} and its new values"


def new_value(item: Input, column: Column) -> Any:
    """Return the expression of a column after a change that may leave it alone.

    A null default stands for `not given`, like a missing argument. An object of changes leaves
    alone what it does not name.
    """
    own, value = f"$item.{column.name}", item.stored
    is_changes = item.role is Role.CHANGES or bool(item.parts)
    if is_changes and column.body.type is FieldType.OBJECT:
        return {"@merge": [own, value]}
    if item.is_always_given:
        return value
    is_null_by_default = item.param.has_default and item.param.default is None
    left_out = {"@is_null": value} if is_null_by_default else {"@not": item.is_given}
    return {"@if": [left_out, own, value]}


def change(
    tool: Tool,
    picked: Any,
    fields: Mapping[str, Any],
    lookups: dict[str, Lookup],
    checks: dict[str, Check],
    tables: Tables,
) -> ToolBlueprint:
    """Return the blueprint of a tool that sets columns of the rows that its identifiers pick."""
    table: Table = picked.table
    fields = {**stamps(table, is_new=False), **fields}
    if picked.is_many:
        effect = Effect(
            action="update", table=table.noun, where=picked.where, fields=FrozenDict(fields)
        )
        plain = {plural(table.noun): shown_rows(table, "$set")}
        content = Content(table=table, plain=plain, rows="$set")
    else:
        lookups = {**lookups, "found": picked.lookup()}
        effect = Effect(
            action="update", table=table.noun, target="found", fields=FrozenDict(fields)
        )
        plain = {table.noun: shown_row(table, "$set")}
        content = Content(table=table, plain=plain, row="$set", message=f"{table.noun} updated")
    return finished(tool, table, lookups, checks, {"set": effect}, content, tables)


def _delete(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    inputs = own_identifiers(tool)
    picked = pick(table, inputs)
    if not picked.conditions:
        others = [item for item in tool.inputs if item.role not in NO_DATA]
        picked = pick(table, [item for item in others if column_of(item, table)])
    effects: dict[str, Effect] = {}
    lookups: dict[str, Lookup] = {}
    if picked.is_many or not picked.conditions:
        if not picked.conditions and tool.inputs and any(i.param.is_required for i in tool.inputs):
            raise Unclear(f"no argument says which {table.noun}")
        takes_all = table.is_single or tool.says("all") or _speaks_of_many(tool, table)
        if not picked.conditions and not takes_all:
            raise Unclear(f"no argument says which {table.noun}, and no word that all of them go")
        where = picked.where if picked.conditions else True
        effects["gone"] = Effect(action="delete", table=table.noun, where=where)
        rows = {"@rows": {"table": table.noun, "where": where}}
        keys = {"@each": [rows, key_expression(table, "$element")]}
        effects |= children_gone(table, tables, keys) | relations_gone(table, tables, keys)
        told: dict[str, Any] = {"deleted": {"@count": {"table": table.noun, "where": where}}}
        said = f"every {table.noun} that is named is deleted"
    else:
        lookups["found"] = picked.lookup()
        effects["gone"] = Effect(action="delete", table=table.noun, target="found")
        key = [key_expression(table, "$found")]
        effects |= children_gone(table, tables, key) | relations_gone(table, tables, key)
        told = {"deleted": True, table.noun: shown_row(table, "$found")}
        said = f"the {table.noun} is deleted with what belongs to it"
    row = "$found" if "found" in lookups else ""
    content = Content(table=table, plain=told, row=row, message=f"{table.noun} deleted")
    return finished(tool, table, lookups, {}, effects, content, tables), said


def _speaks_of_many(tool: Tool, table: Table) -> bool:
    """True where a tool's name speaks of several rows of its table."""
    return plural(table.noun.rpartition("_")[2]) in tokens(tool.name)


def finished(
    tool: Tool,
    table: Table,
    lookups: Mapping[str, Lookup],
    checks: Mapping[str, Check],
    effects: Mapping[str, Effect],
    content: Content,
    tables: Tables,
) -> ToolBlueprint:
    """Return the blueprint of a write from its parts."""
    return ToolBlueprint(
        operation=tool.reading.operation,
        functional=FunctionalClass.WRITE,
        entity=table.noun,
        difficulty=tool.reading.difficulty,
        lookups=FrozenDict(lookups),
        checks=FrozenDict(checks),
        effects=FrozenDict(effects),
        result=answer_of(tool, content, tables),
    )
