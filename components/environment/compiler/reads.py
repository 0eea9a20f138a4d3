"""Reads of compiled services: get, list and search tools whose every argument is accounted for.

Owns the rules by which a read becomes a lookup or a query. An argument without a plain meaning
quarantines the tool: a filter that is silently ignored would teach a policy something false.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from components.environment.compiler.answers import Content, shape_answer, table_of_property
from components.environment.compiler.params import (
    Param,
    is_id_of,
    properties_of,
    same_field,
    singular_word,
)
from components.environment.compiler.tables import (
    HIDDEN_KEY,
    Candidate,
    KeyKind,
    Table,
    Unclear,
    row_expression,
    text_fields,
)
from components.environment.compiler.words import article, plural, singular, snake, tokens, words
from components.records.blueprint import (
    Check,
    FieldType,
    FunctionalClass,
    Lookup,
    Operation,
    QuarantineReason,
    Query,
    ToolBlueprint,
)
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict

Tables = Mapping[str, Table]


def compile_read(candidate: Candidate, tables: Tables) -> tuple[ToolBlueprint, str]:
    """Return the blueprint of a read and the rule that decided.

    Raises:
        Unclear: the tool is not plain.
    """
    reading = candidate.reading
    if reading.verb == "open" and candidate.tool.annotations.get("readOnlyHint") is not True:
        raise Unclear("its name says 'open', which may change something")
    table = tables.get(reading.noun)
    if table is None:
        table = _primary_table(candidate, tables)
        if not candidate.params:
            return _read_everything(candidate, table, tables)
    key = key_param(candidate, table)
    if key is not None and key.type == "array":
        return _get_many(candidate, table, key, tables)
    is_exact = reading.verb in ("get", "open") or table.kind is not KeyKind.GIVEN
    if key is not None and reading.verb != "list" and is_exact:
        return _get(candidate, table, key, tables)
    if reading.verb == "search" or any(
        param.word in words("query_words") for param in candidate.required
    ):
        return _query(candidate, table, tables, Operation.SEARCH)
    if reading.verb == "list" or (reading.verb == "get" and reading.is_plural):
        return _query(candidate, table, tables, Operation.LIST)
    raise Unclear(f"it reads one {table.noun} but takes nothing that names it")


def _primary_table(candidate: Candidate, tables: Tables) -> Table:
    """The table that an output schema shows, when the name speaks of another noun
    (`search_nodes`).
    """
    shown = _shown_tables(candidate, tables)
    if not shown:
        noun = candidate.reading.noun or "records"
        raise Unclear(
            f"nothing in the spec says what {plural(noun)} hold, or what its answer holds"
        )
    targets = [
        table for table in shown if any(table.noun in other.links.values() for other in shown)
    ]
    if len(shown) == 1 or len(targets) == 1:
        return (targets or shown)[0]
    return shown[0]


def _shown_tables(candidate: Candidate, tables: Tables) -> list[Table]:
    output = candidate.tool.output_schema
    if output is None:
        return []
    found = [
        table_of_property(param, tables)
        for _, param in sorted(properties_of(output, output).items())
    ]
    return [table for table in found if table is not None]


def key_param(candidate: Candidate, table: Table) -> Param | None:
    """Return the required parameter that names a row of the table (or, an array, several rows)."""
    if table.kind is KeyKind.HIDDEN:
        return None
    for param in candidate.required:
        word = singular_word(param) if param.type == "array" else param.word
        is_id = table.key == "id" or is_id_of(snake(table.key), table.noun)
        if is_id and is_id_of(word, table.noun) and _fits_key(param, table):
            return param
        named = replace(param, word=word)
        if table.kind is KeyKind.GIVEN and same_field(named, table.key, table.noun):
            return param if _fits_key(param, table) else None
    return None


def _fits_key(param: Param, table: Table) -> bool:
    kind = param.items.get("type") if param.type == "array" else param.type
    return kind in (("integer", "number") if table.kind is KeyKind.INTEGER else ("string",))


def _get(
    candidate: Candidate, table: Table, key: Param, tables: Tables
) -> tuple[ToolBlueprint, str]:
    checks: dict[str, Check] = {}
    for name, param in sorted(candidate.params.items()):
        if param is key:
            continue
        if not param.is_required or name not in table.links:
            raise Unclear(
                f"its argument {name!r} has no plain meaning for reading one {table.noun}"
            )
        checks[f"within_{param.word}"] = Check(
            holds={"@eq": [f"$found.{name}", f"$args.{name}"]},
            code=ErrorCode.NOT_FOUND,
            message=f"that {table.noun} does not belong to the given {name}",
        )
    found = Lookup(table=table.noun, field=table.lookup_field, equals=f"$args.{key.name}")
    content = Content(
        table=table, row="$found", plain={table.noun: row_expression(table, "$found")}
    )
    blueprint = ToolBlueprint(
        operation=Operation.GET,
        functional=FunctionalClass.READ,
        entity=table.noun,
        difficulty=3 if checks else 2,
        lookups=FrozenDict({"found": found}),
        checks=FrozenDict(checks),
        result=shape_answer(candidate.tool, content, tables),
    )
    return blueprint, f"get: {key.name!r} names one {table.noun}"


def _get_many(
    candidate: Candidate, table: Table, key: Param, tables: Tables
) -> tuple[ToolBlueprint, str]:
    if len(candidate.params) != 1:
        raise Unclear(f"it takes more than the list {key.name!r}")
    where = {"named": {"@in": [f"$item.{table.key}", f"$args.{key.name}"]}}
    blueprint = _listing(candidate, table, tables, Operation.LIST, where, None, 3)
    return (
        blueprint,
        f"get many: {key.name!r} names rows of {table.noun}; unknown ones are left out",
    )


def _read_everything(
    candidate: Candidate, table: Table, tables: Tables
) -> tuple[ToolBlueprint, str]:
    rows = {
        shown.noun: {"@rows": {"table": shown.noun}} for shown in _shown_tables(candidate, tables)
    }
    content = Content(table=table, rows=rows)
    blueprint = ToolBlueprint(
        operation=Operation.LIST,
        functional=FunctionalClass.READ,
        entity=table.noun,
        difficulty=1,
        result=shape_answer(candidate.tool, content, tables),
    )
    return blueprint, f"read all: its output schema shows every row of {', '.join(sorted(rows))}"


def _query(
    candidate: Candidate, table: Table, tables: Tables, operation: Operation
) -> tuple[ToolBlueprint, str]:
    where: dict[str, Any] = {}
    limit: Any = None
    cursor: Any = None
    said: list[str] = []
    for name, param in sorted(candidate.params.items()):
        reference = f"$args.{name}"
        if param.word in words("query_words") and param.type == "string" and "query" not in where:
            searched = searched_fields(candidate, param, table)
            where["query"] = _if_given(param, _matches(searched, reference, table))
            said.append(f"{name!r} is looked for in {', '.join(searched)}")
        elif param.word in words("limit_words") and param.type in ("integer", "number"):
            limit = reference
        elif (
            param.word in words("cursor_words") and param.type == "string" and not param.is_required
        ):
            cursor = reference
        else:
            where[f"by_{param.word}"] = _filter(param, table)
            said.append(f"{name!r} filters")
    if operation is Operation.SEARCH and not where:
        raise Unclear("it searches but takes nothing to search for")
    if limit is not None and cursor is None and _has_offset(candidate):
        raise Unclear("it pages by number", QuarantineReason.UNSUPPORTED_SCHEMA)
    difficulty = min(3, 1 + len(candidate.params))
    blueprint = _listing(candidate, table, tables, operation, where, (limit, cursor), difficulty)
    if limit is not None:
        blueprint = blueprint.model_copy(update={"checks": FrozenDict({"limit": _whole(limit)})})
    return blueprint, f"{operation.value}: rows of {table.noun}" + (
        f"; {'; '.join(said)}" if said else ""
    )


def _whole(limit: str) -> Check:
    """A schema of `number`, or one without a minimum, lets through what cannot count rows."""
    text = {"@concat": [limit]}
    marks = [{"@contains": [text, mark]} for mark in (".", "e", "-")]
    return Check(
        holds={"@not": {"@or": marks}},
        code=ErrorCode.INVALID_ARGUMENTS,
        message="the limit must be a whole number, 0 or more",
    )


def _has_offset(candidate: Candidate) -> bool:
    return any(
        param.word in ("offset", "page", "skip", "start") for param in candidate.params.values()
    )


def _listing(
    candidate: Candidate,
    table: Table,
    tables: Tables,
    operation: Operation,
    where: dict[str, Any],
    page: tuple[Any, Any] | None,
    difficulty: int,
) -> ToolBlueprint:
    limit, cursor = page or (None, None)
    if cursor is not None and table.shown is not None:
        raise Unclear("its cursor would show a hidden key", QuarantineReason.UNSUPPORTED_SCHEMA)
    rows: dict[str, Any] = {table.noun: "$rows"}
    for other in _shown_tables(candidate, tables):
        if other.noun != table.noun:
            rows[other.noun] = _linked_rows(other, table)
    shown: Any = "$rows"
    if table.shown is not None:
        shown = {"@each": ["$rows", row_expression(table, "$element")]}
    plain: dict[str, Any] = {plural(table.noun): shown, "total": "$total"}
    if cursor is not None:
        plain["next_cursor"] = "$next_cursor"
    content = Content(table=table, rows=rows, total="$total", plain=plain)
    return ToolBlueprint(
        operation=operation,
        functional=FunctionalClass.READ,
        entity=table.noun,
        difficulty=difficulty,
        query=Query(table=table.noun, where=FrozenDict(where), limit=limit, cursor=cursor),
        result=shape_answer(candidate.tool, content, tables),
    )


def _linked_rows(other: Table, table: Table) -> Any:
    """Rows of another table in the same answer: those that link to the rows found."""
    links = sorted(name for name, noun in other.links.items() if noun == table.noun)
    if not links:
        raise Unclear(f"its answer shows {plural(other.noun)}, and nothing says which")
    keys = {"@each": ["$rows", f"$element.{table.key}"]}
    parts = [{"@in": [f"$item.{name}", keys]} for name in links]
    return {"@rows": {"table": other.noun, "where": {"@or": parts}}}


def searched_fields(candidate: Candidate, param: Param, table: Table) -> list[str]:
    """Return the fields that a search reads: those that its descriptions name, else all texts."""
    every = text_fields(table)
    if not every:
        raise Unclear(f"{article(table.noun)} holds no text to search")
    named: list[str] = []
    for text in (param.description, candidate.tool.description):
        spoken = {singular(word) for word in tokens(text)}
        named = [name for name in every if singular(tokens(name)[-1]) in spoken]
        if named:
            break
    return named or every


def _matches(fields: list[str], reference: str, table: Table) -> Any:
    parts: list[Any] = []
    for name in fields:
        if table.fields[name].type is FieldType.ARRAY:
            each = {"@each": [f"$item.{name}", {"@contains": ["$element", reference]}]}
            parts.append({"@in": [True, each]})
        else:
            parts.append({"@contains": [f"$item.{name}", reference]})
    return {"@or": parts}


def _if_given(param: Param, condition: Any) -> Any:
    if param.is_required and not param.is_nullable:
        return condition
    return {"@if": [{"@is_null": f"$args.{param.name}"}, None, condition]}


def _filter(param: Param, table: Table) -> Any:
    """Return the filter of an argument that equals a field, or refuse the tool."""
    reference = f"$args.{param.name}"
    for name, body in sorted(table.fields.items()):
        if name == HIDDEN_KEY:
            continue
        if (
            body.type is FieldType.ARRAY
            and param.type == "string"
            and singular(snake(name)) == param.word
        ):
            return _if_given(param, {"@contains": [f"$item.{name}", reference]})
        if not same_field(param, name, table.noun) or body.type.value != param.type:
            continue
        is_prose = body.free_text or snake(name) in words("title_fields")
        if is_prose or body.type in (FieldType.ARRAY, FieldType.OBJECT):
            raise Unclear(f"its argument {param.name!r} may mean equal or similar")
        return _if_given(param, {"@eq": [f"$item.{name}", reference]})
    raise Unclear(f"its argument {param.name!r} is no field of {article(table.noun)}")
