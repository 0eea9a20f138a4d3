"""Writes that relate rows: links, shares, and what is taken away from a row or a relation.

Owns the rules for them.
"""

from __future__ import annotations

from components.environment.compiler.inputs import Input, Tool, item_inputs
from components.environment.compiler.links import parent_link
from components.environment.compiler.moves import given, is_childs, list_of, parent_of
from components.environment.compiler.rows import (
    Content,
    Picked,
    column_of,
    key_expression,
    pick,
    refers_to,
)
from components.environment.compiler.table import KeyKind, Table, Tables, Unclear
from components.environment.compiler.writes import change, create, finished, named_rows, stored
from components.environment.names import article
from components.environment.reading.records import Role
from components.records.blueprint import Check, Effect, Lookup, Operation, ToolBlueprint
from components.records.calls import ErrorCode


def compile_relation(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    """Return the blueprint of a link or a detach, and what decided.

    Raises:
        Unclear: nothing says which row is meant, or what it is related to.
    """
    if tool.reading.operation is Operation.DETACH:
        return _detach(tool, table, tables)
    if tool.first(Role.BATCH) is not None or _is_new_relation(tool, table):
        return create(tool, table, tables)
    return _link(tool, table, tables)


def _take_away_many(
    tool: Tool, batch: Input, table: Table, tables: Tables
) -> tuple[ToolBlueprint, str]:
    """Each element of a list describes a row that is to go; what is not there stays away."""
    parts = {name: table.find(param.word) for name, param in item_inputs(batch).items()}
    known = {name: column for name, column in parts.items() if column is not None}
    if not known or any(param.type == "array" for param in item_inputs(batch).values()):
        raise Unclear(f"no part of {batch.param.name!r} says which {table.noun}")
    same = {"@and": [{"@eq": [f"$element.{n}", f"$item.{c}"]} for n, c in sorted(known.items())]}
    where = {"@not": {"@is_null": {"@find": [batch.ref, same]}}}
    count = {"@count": {"table": table.noun, "where": where}}
    gone = Effect(action="delete", table=table.noun, where=where)
    content = Content(table=table, plain={"removed": count}, message=f"{table.noun} removed")
    blueprint = finished(tool, table, {}, {}, {"gone": gone}, content, tables)
    return blueprint, f"every {table.noun} that {batch.param.name!r} describes is taken away"


def _detach(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    batch = tool.first(Role.BATCH)
    if batch is not None and item_inputs(batch):
        return _take_away_many(tool, batch, table, tables)
    parent = parent_of(tool, table, tables)
    inputs = [item for item in tool.data if item.role is not Role.BATCH]
    column = list_of(parent, table) if parent is not None else None
    if parent is not None and column is not None:
        ids = [item for item in inputs if not is_childs(item, table, parent)]
        named = pick(parent, ids)
        values = [item for item in inputs if item not in named.inputs]
        if len(values) == 1 and not values[0].is_list:
            fields = {column: {"@without": [f"$item.{column}", values[0].ref]}}
            blueprint = change(tool, named, fields, {}, {}, tables)
            return blueprint, f"{values[0].param.name!r} is taken out of {column!r}"
    of_parent = pick(parent, inputs) if parent is not None else None
    skip = of_parent.inputs if of_parent is not None else []
    own = pick(table, [item for item in inputs if item not in skip])
    if not own.conditions:
        raise Unclear(f"no argument says which {table.noun} is taken away")
    lookups: dict[str, Lookup] = {}
    where = own.where
    link = parent_link(table, parent) if parent is not None else None
    if parent is not None and of_parent is not None and of_parent.conditions and link is not None:
        if of_parent.is_many:
            raise Unclear(f"it names several {parent.noun} rows")
        lookups["parent"] = of_parent.lookup()
        where = {"@and": [{"@eq": [f"$item.{link}", key_expression(parent, "$parent")]}, where]}
    count = {"@count": {"table": table.noun, "where": where}}
    checks = {
        "is_there": Check(
            holds={"@gt": [count, 0]},
            code=ErrorCode.NOT_FOUND,
            message=f"there is no such {table.noun}",
        )
    }
    gone = Effect(action="delete", table=table.noun, where=where)
    content = Content(table=table, plain={"removed": count}, message=f"{table.noun} removed")
    blueprint = finished(tool, table, lookups, checks, {"gone": gone}, content, tables)
    return blueprint, f"the {table.noun} is taken away"


def _is_new_relation(tool: Tool, table: Table) -> bool:
    """True for a link that names rows of other tables and none of its own: `share(file_id, role)`
    makes a permission, whatever permissions there are.
    """
    ids = tool.of(Role.IDENTIFIER, Role.PARENT)
    is_own = any(refers_to(i, table.noun) or i.word in ("id", "uuid") for i in ids)
    others = [item for item in ids if table.links.get(column_of(item, table) or "")]
    is_free = table.kind is KeyKind.GENERATED and tool.first(Role.BATCH) is None
    return is_free and bool(others) and not is_own


def _link(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    """A row is related to another by the column that names it."""
    parent = parent_of(tool, table, tables)
    picked = Picked(table=table)
    ids = tool.of(Role.IDENTIFIER)
    own = [item for item in ids if refers_to(item, table.noun) or item.word in ("id", "uuid")]
    picked = pick(table, own or ids[:1])
    skip = tuple(picked.inputs)
    fields = given(tool, table, skip)
    lookups, checks = named_rows(tool, table, tables, skip)
    link = parent_link(table, parent) if parent is not None else None
    if parent is not None and link is not None and link not in fields:
        others = [item for item in tool.data if item not in skip]
        of_parent = pick(parent, others)
        if of_parent.conditions and not of_parent.is_many:
            lookups["parent"] = of_parent.lookup()
            fields[link] = key_expression(parent, "$parent")
    for item in tool.data:
        column = table.find(item.word)
        is_new = item not in skip and column is not None and column not in fields
        if is_new and column in stored(tool, table, skip) and column != table.key:
            fields[column] = item.ref
    if not fields:
        raise Unclear(f"nothing says what {article(table.noun)} is related to")
    said = f"{', '.join(sorted(fields))} of the {table.noun} name another row"
    return change(tool, picked, fields, lookups, checks, tables), said
