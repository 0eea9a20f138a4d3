"""Reads of compiled services: get, list and search, with filters, bounds, order and pages.

Owns the meaning of each argument of a read. What an argument cannot be compared with is shown in
the reasons, never silently dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components.environment.compiler.asks import plain_word
from components.environment.compiler.bounds import bound, is_time
from components.environment.compiler.counts import count_of, counts_rows
from components.environment.compiler.inputs import Input, Tool, words_of
from components.environment.compiler.narrows import by_elements, refuse_languages, unless_all
from components.environment.compiler.qualifiers import order_of_name, state_of_name
from components.environment.compiler.rows import (
    Content,
    answer_of,
    column_of,
    fits,
    if_given,
    is_equal,
    own_identifiers,
    pick,
    shown_rows,
    with_children,
)
from components.environment.compiler.table import ROW_KEY, Table, Tables, Unclear
from components.environment.compiler.trees import (
    entries,
    is_called_like,
    lies_in,
    others_inside,
    place_check,
    place_of,
)
from components.environment.names import plural, snake, tokens
from components.environment.params import is_free_text, properties_of
from components.environment.reading.records import Role
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

PAGE_SIZE = 10
_ASKED = (Role.VALUE, Role.REFERENCE, Role.QUERY, Role.IDENTIFIER, Role.PARENT)
_MOMENTS = ("created_at", "createdAt", "timestamp", "date", "time", "started_at", "startedAt")
_TEXTS = (FieldType.STRING, FieldType.ARRAY)
_DOWN = ("desc", "descending", "-1", "newest", "latest", "reverse", "down", "high")


def compile_read(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    """Return the blueprint of a read and what decided.

    Raises:
        Unclear: nothing says which row is meant.
    """
    if counts_rows(tool, table):
        return count_of(_query(tool, table, tables), tool)
    if tool.reading.operation is Operation.GET:
        return _get(tool, table, tables)
    return _query(tool, table, tables)


def _get(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    if place_of(tool, table) is not None:
        return _query(tool, table, tables)
    picked = pick(table, own_identifiers(tool))
    said = [f"{item.param.name!r} names the {table.noun}" for item in picked.inputs]
    for item in tool.of(Role.VALUE, Role.REFERENCE, Role.QUERY):
        column = table.find(item.word)
        if not item.param.is_required or column is None or item in picked.inputs:
            continue
        label = f"by_{snake(column)}"
        if label not in picked.conditions and fits(item, table.columns[column].body.type):
            picked.conditions[label] = if_given(item, is_equal(item, column))
            picked.inputs.append(item)
            picked.is_many |= item.is_list
            said.append(f"{item.param.name!r} names the {table.noun}")
    if picked.is_many:
        return _query(tool, table, tables)
    if picked.conditions:
        lookup = picked.lookup()
    elif tool.says("summary") and not table.is_single:
        return _summary(tool, table, tables)
    else:
        asked = [item.param.name for item in tool.of(*_ASKED)]
        is_asked = any(item.param.is_required for item in tool.of(*_ASKED)) or len(asked) > 1
        if is_asked:
            raise Unclear(
                f"what it answers depends on {' and '.join(map(repr, asked))}, and nothing that is "
                "kept does",
                QuarantineReason.EXTERNAL,
            )
        if not (table.is_single or tool.says("one")):
            raise Unclear(f"no argument says which {table.noun}")
        lookup = Lookup(table=table.noun, where=FrozenDict({"the_one": _newest(tool, table)}))
        said.append(f"it takes nothing that names a {table.noun}: the first is shown")
    row = with_children(table, tables, "$found")
    content = Content(table=table, plain={table.noun: row}, row="$found")
    if _is_about(tool) and (text := _long_text(table)) is not None:
        row = {name: f"$found.{name}" for name in table.shown if name != text}
        content = Content(table=table, plain={table.noun: row})
        said.append(f"{text!r} is not shown: it tells about the {table.noun}")
    result = answer_of(tool, content, tables)
    cuts = _cuts(tool, table)
    if cuts:
        result = FrozenDict(_cut(result, table, cuts))
        said += [f"{item.param.name!r} says how much of the text is shown" for item in cuts]
    blueprint = ToolBlueprint(
        operation=Operation.GET,
        functional=FunctionalClass.READ,
        entity=table.noun,
        difficulty=tool.reading.difficulty,
        lookups=FrozenDict({"found": lookup}),
        result=result,
    )
    return blueprint, "; ".join(said)


def _is_about(tool: Tool) -> bool:
    """True for a get whose name says that it tells of a row rather than shows what it holds, and
    whose schema asks for one text.
    """
    output = tool.spec.output_schema
    texts = properties_of(output, output) if output is not None else {}
    is_text = len(texts) == 1 and all(param.type == "string" for param in texts.values())
    return is_text and not words_of("about_it").isdisjoint(tokens(tool.name))


def _cuts(tool: Tool, table: Table) -> list[Input]:
    """Return the inputs that say how many lines of a row's text a get shows."""
    if _long_text(table) is None:
        return []
    words = words_of("first_lines") | words_of("last_lines")
    numbers = [item for item in tool.inputs if item.kind in ("integer", "number")]
    return [item for item in numbers if item.word in words and not item.is_list]


def _long_text(table: Table) -> str | None:
    return next(
        (
            name
            for name, column in sorted(table.columns.items())
            if snake(name) in words_of("long_texts") and column.body.type is FieldType.STRING
        ),
        None,
    )


def _cut(part: Any, table: Table, cuts: list[Input]) -> Any:
    """Return an answer in which the row's text stands as far as the caller asks for it."""
    whole = f"$found.{_long_text(table)}"
    if isinstance(part, Mapping):
        return {name: _cut(item, table, cuts) for name, item in part.items()}
    if isinstance(part, (list, tuple)):
        return [_cut(item, table, cuts) for item in part]
    if part == "$found":
        return {name: _cut(f"$found.{name}", table, cuts) for name in table.shown}
    if part != whole:
        return part
    text: Any = whole
    for item in cuts:
        lines = "@first_lines" if item.word in words_of("first_lines") else "@last_lines"
        shown: Any = {"@coalesce": [whole, ""]} if text == whole else text
        text = {"@if": [{"@is_null": item.ref}, text, {lines: [shown, item.ref]}]}
    return text


def _newest(tool: Tool, table: Table) -> Any:
    """Return the condition of the one row that a tool shows without being told which."""
    moment = next((name for name in _MOMENTS if name in table.columns), None)
    column = moment or next((n for n, c in sorted(table.columns.items()) if is_time(c)), None)
    if column is None or not tool.says("newest"):
        return True
    every = {"@each": [{"@rows": {"table": table.noun}}, f"$element.{column}"]}
    return {"@eq": [f"$item.{column}", {"@max": every}]}


def _summary(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    """How many rows there are, and how many in each state that they can be in."""
    counts: dict[str, Any] = {"total": {"@count": {"table": table.noun, "where": True}}}
    for name, column in sorted(table.columns.items()):
        kind, _, options = column.meaning.partition(":")
        if kind in ("enum", "choice") and column.body.type is FieldType.STRING:
            counts[f"by_{snake(name)}"] = {
                option: {
                    "@count": {
                        "table": table.noun,
                        "where": {"@eq": [f"$item.{name}", {"@lit": option}]},
                    }
                }
                for option in options.replace("!", "").split("|")
            }
    content = Content(table=table, plain={f"{table.noun}_statistics": counts}, row="")
    blueprint = ToolBlueprint(
        operation=Operation.GET,
        functional=FunctionalClass.READ,
        entity=table.noun,
        difficulty=tool.reading.difficulty,
        result=answer_of(tool, content, tables),
    )
    return blueprint, f"it counts the rows of {table.noun}"


def _query(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    refuse_languages(tool)
    where: dict[str, Any] = {}
    said: list[str] = []
    for label, condition, told in _filters(tool, table):
        said.append(told)
        if condition is not None:
            where.setdefault(label, condition)
    state = state_of_name(tool, table)
    if state is not None:
        column, value = state
        where.setdefault(f"by_name_{snake(column)}", {"@eq": [f"$item.{column}", value]})
        said.append(f"its name asks for rows whose {column!r} is {value!r}")
    limit, checks = _whole(_limit(tool))
    offset, more = _offset(tool, limit)
    if limit is None and offset is not None:
        limit = PAGE_SIZE
    cursor = tool.first(Role.CURSOR)
    cursor = cursor if cursor is not None and cursor.kind == "string" and offset is None else None
    sort_with, turned = _order(tool, table)
    order = order_of_name(tool, table)
    if order is not None:
        said.append(f"its name orders them by {order[0]!r}")
    query = Query(
        table=table.noun,
        where=FrozenDict(where),
        sort_by=order[0] if order is not None else None,
        descending=order[1] if order is not None and sort_with is None else False,
        sort_with=sort_with,
        descending_with=turned,
        limit=limit,
        offset=offset,
        cursor=None if cursor is None else {"@if": [{"@eq": [cursor.ref, ""]}, None, cursor.ref]},
    )
    rows = shown_rows(table, "$rows")
    if place_of(tool, table) is not None:
        rows = entries(table, "$rows")
    plain: dict[str, Any] = {plural(table.noun): rows, "total": "$total"}
    plain |= others_inside(tool, table, tables)
    if cursor is not None:
        plain["next_cursor"] = "$next_cursor"
    content = Content(
        table=table, plain=plain, rows="$rows", total="$total", is_filtered=bool(where)
    )
    blueprint = ToolBlueprint(
        operation=tool.reading.operation,
        functional=FunctionalClass.READ,
        entity=table.noun,
        difficulty=tool.reading.difficulty,
        lookups=FrozenDict(_parents(tool, table, tables)),
        checks=FrozenDict({**checks, **more, **place_check(tool, table)}),
        query=query,
        result=answer_of(tool, content, tables),
    )
    return blueprint, "; ".join(said) or f"all rows of {table.noun}"


def _parents(tool: Tool, table: Table, tables: Tables) -> dict[str, Lookup]:
    """Return what finds the rows that a list must be told the place of: of what is not there,
    nothing is listed.
    """
    found: dict[str, Lookup] = {}
    for item in tool.of(Role.PARENT):
        noun = table.links.get(column_of(item, table) or "")
        target = tables.get(noun or "")
        if target is None or not target.is_made or item.is_list or not item.is_always_given:
            continue
        if fits(item, target.columns[target.names[0]].body.type):
            place = None if target.key == target.names[0] else target.names[0]
            lookup = Lookup(table=target.noun, field=place, equals=item.ref)
            found[f"of_{item.word}"] = lookup
    return found


def _filters(tool: Tool, table: Table) -> Iterator[tuple[str, Any, str]]:
    """Yield label, condition over `$item` (null: none) and what is said of each argument."""
    texts = text_columns(table)
    place = place_of(tool, table)
    for item in tool.inputs:
        name = item.param.name
        if item is place:
            own = table.tree[table.noun]
            condition = if_given(item, lies_in(tool, item, own))
            yield f"by_{snake(own)}", condition, f"{name!r} is where they lie"
            continue
        written = by_elements(item, table) if item.role is not Role.SORT_BY else None
        if written is not None:
            yield f"by_{item.word}", if_given(item, written), f"{name!r} filters"
        elif item.role is Role.QUERY and texts:
            every = is_called_like(tool, item, table) or {
                "@matches": [[f"$item.{column}" for column in texts], item.ref]
            }
            yield "query", if_given(item, every), f"{name!r} is looked for in all texts"
        elif item.role in (Role.FROM, Role.TO):
            yield bound(item, table)
        elif item.role in (Role.IDENTIFIER, Role.PARENT, Role.REFERENCE, Role.VALUE, Role.STATE):
            column = column_of(item, table)
            condition = None if column is None else compared(item, column, table)
            if condition is not None:
                condition = unless_all(item, condition)
            if column is not None and condition is not None and table.columns[column].is_asked:
                condition = {"@or": [{"@is_null": f"$item.{column}"}, condition]}
            if column is None or condition is None:
                yield "", None, f"{name!r} is compared with nothing"
            else:
                label = f"by_{item.param.word if item.called else snake(column)}"
                yield label, if_given(item, condition), f"{name!r} filters"


def compared(item: Input, column: str, table: Table) -> Any:
    """Return the condition that a value fits a column, or None where the types have no relation."""
    kind, own = table.columns[column].body.type, f"$item.{column}"
    if kind is FieldType.ARRAY:
        if item.is_list:
            return {"@in": [True, {"@each": [item.ref, {"@in": ["$element", own]}]}]}
        return {"@contains": [own, item.ref]}
    if kind is FieldType.JSON and not item.is_list:
        return {"@eq": [own, item.ref]}
    if not fits(item, kind):
        return None
    if item.is_list:
        return {"@in": [own, item.ref]}
    if kind is FieldType.STRING:
        word = snake(column)
        asks_part = item.called == plain_word(item.param) != ""
        if (
            asks_part
            or is_free_text(word)
            or (word in ("title", "name") and table.names[0] != column)
        ):
            return {"@contains": [own, item.ref]}
        return {"@eq": [{"@lower": own}, {"@lower": item.ref}]}
    return {"@eq": [own, item.ref]}


def text_columns(table: Table) -> list[str]:
    """Return the columns whose words a search reads."""
    links = {*table.links, *(table.names if table.names[0] == "id" else ())}
    return [
        name
        for name, column in sorted(table.columns.items())
        if column.body.type in _TEXTS and name not in links and name != ROW_KEY
    ]


def _whole(item: Input | None) -> tuple[Any, dict[str, Check]]:
    """Return the expression of a count and the check that it is a whole number, 0 or more."""
    if item is None or item.kind not in ("integer", "number") or item.is_list:
        return None, {}
    marks = [{"@contains": [{"@concat": [item.ref]}, mark]} for mark in (".", "e", "-")]
    check = Check(
        holds={"@not": {"@or": marks}},
        code=ErrorCode.INVALID_ARGUMENTS,
        message=f"{item.param.name} must be a whole number, 0 or more",
    )
    return item.ref, {f"whole_{item.word}": check}


def _limit(tool: Tool) -> Input | None:
    """Return the input that limits the rows: not what limits a part of each, beside it."""
    found = tool.of(Role.LIMIT)
    plain = [item for item in found if item.word in words_of("row_limits")]
    return next(iter(plain), None) or tool.first(Role.LIMIT)


def _offset(tool: Tool, limit: Any) -> tuple[Any, dict[str, Check]]:
    start = tool.first(Role.OFFSET)
    passed, checks = _whole(start)
    if start is not None and passed is not None:
        counts_from_one = start.param.default == 1 or start.param.schema.get("minimum") == 1
        if counts_from_one:
            passed = {"@if": [{"@is_null": passed}, None, {"@max": [{"@sub": [passed, 1]}, 0]}]}
        return passed, checks
    page = tool.first(Role.PAGE)
    number, checks = _whole(page)
    if page is None or number is None:
        return None, {}
    size: Any = PAGE_SIZE if limit is None else {"@coalesce": [limit, PAGE_SIZE]}
    lowest = page.param.default if page.param.default in (0, 1) else 1
    if page.param.schema.get("minimum") == 0:
        lowest = 0
    before = number if lowest == 0 else {"@max": [{"@sub": [number, 1]}, 0]}
    return {"@if": [{"@is_null": number}, None, {"@mul": [before, size]}]}, checks


def _order(tool: Tool, table: Table) -> tuple[Any, Any]:
    """Return the expressions of the field to sort by and of the direction."""
    by, order = tool.first(Role.SORT_BY), tool.first(Role.SORT_ORDER)
    sort_with: Any = None
    if by is not None and by.kind == "string" and not by.is_list:
        sort_with = by.ref
        for value in by.param.enum or ():
            column = _sorted_column(value, table)
            if column is not None and column != value:
                sort_with = {"@if": [{"@eq": [by.ref, value]}, column, sort_with]}
    turned: Any = None
    if order is not None and order.kind == "string" and not order.is_list:
        is_down = {"@in": [{"@lower": order.ref}, list(_DOWN)]}
        turned = {"@if": [{"@is_null": order.ref}, None, is_down]}
    elif order is not None and order.kind == "boolean":
        rises = "asc" in order.word
        turned = {"@not": order.ref} if rises else order.ref
        turned = {"@if": [{"@is_null": order.ref}, None, turned]}
    return sort_with, turned


def _sorted_column(value: str, table: Table) -> str | None:
    spoken = set(tokens(value)) - {"asc", "desc", "ascending", "descending"}
    found = [name for name in sorted(table.columns) if spoken & set(tokens(name))]
    exact = [name for name in found if set(tokens(name)) == spoken]
    best = exact or found
    return best[0] if best else None
