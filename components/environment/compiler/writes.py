"""Writes of compiled services: creates, updates, deletes, and elements of lists.

Owns the rules by which a write becomes effects. What a description promises beyond them (rows that
go with a deleted one, say) is either expressed or quarantines the tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from components.environment.compiler.answers import Content, shape_answer
from components.environment.compiler.params import (
    Param,
    is_list_of_texts,
    same_field,
    singular_word,
)
from components.environment.compiler.reads import key_param
from components.environment.compiler.tables import (
    NESTED_WORDS,
    Candidate,
    KeyKind,
    Table,
    Unclear,
    changed_params,
    elements_of,
    list_field_of,
    row_expression,
)
from components.environment.compiler.words import article, plural, singular, snake, words
from components.records.blueprint import (
    Check,
    Effect,
    FunctionalClass,
    Lookup,
    Operation,
    QuarantineReason,
    ToolBlueprint,
)
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict

Tables = Mapping[str, Table]
_GOES_TOO = re.compile(
    r"\b(?:and|with|including)(?: all| any| of| its| their| the| own)*"
    r"(?: associated| related| linked| corresponding| attached| child| nested| dependent"
    r"|(?<=its)|(?<=their)|(?<=all))+ ([a-z_]+)"
)


def compile_write(candidate: Candidate, tables: Tables) -> tuple[ToolBlueprint, str]:
    """Return the blueprint of a write and the rule that decided.

    Raises:
        Unclear: the tool is not plain.
    """
    reading = candidate.reading
    owner = list_field_of(tables, reading.noun)
    if owner is not None and reading.noun not in tables and reading.verb in ("add", "delete"):
        return _list_element(candidate, *owner, tables)
    table = tables.get(reading.noun)
    if table is None:
        noun = reading.noun or "record"
        raise Unclear(f"nothing in the spec says what {article(noun)} holds")
    if reading.verb in ("create", "add"):
        return _create(candidate, table, tables)
    if reading.verb == "update":
        return _update(candidate, table, tables)
    return _delete(candidate, table, tables)


def _create(candidate: Candidate, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    batch = elements_of(candidate)
    params = batch[1] if batch else candidate.params
    source = "$element" if batch else "$args"
    fields: dict[str, Any] = {name: f"{source}.{name}" for name in sorted(params)}
    if table.kind is KeyKind.INTEGER:
        if batch:
            raise Unclear(
                "it creates many rows with counted ids", QuarantineReason.UNSUPPORTED_SCHEMA
            )
        ids = {"@each": [{"@rows": {"table": table.noun}}, f"$element.{table.key}"]}
        fields[table.key] = {"@add": [{"@coalesce": [{"@max": ids}, 0]}, 1]}
    lookups, checks = ({}, {}) if batch else _link_checks(params, table, tables)
    content = Content(table=table, message=f"{table.noun} created")
    if batch:
        made: Any = "$make"
        if table.shown is not None:
            made = {"@each": ["$make", row_expression(table, "$element")]}
        content.rows = {table.noun: "$make"}
        content.plain = {plural(table.noun): made}
    else:
        content.row = "$make"
        content.plain = {table.noun: row_expression(table, "$make")}
    blueprint = ToolBlueprint(
        operation=Operation.CREATE,
        functional=FunctionalClass.WRITE,
        entity=table.noun,
        difficulty=_difficulty(params, is_nested=batch is not None, num_links=len(lookups)),
        lookups=FrozenDict(lookups),
        checks=FrozenDict(checks),
        effects=FrozenDict(
            {
                "make": Effect(
                    action="create",
                    table=table.noun,
                    each=f"$args.{batch[0].name}" if batch else None,
                    fields=FrozenDict(fields),
                )
            }
        ),
        result=shape_answer(candidate.tool, content, tables),
    )
    rule = f"create: one {table.noun} for each element of {batch[0].name!r}" if batch else "create"
    return blueprint, f"{rule}; its arguments are the fields of {article(table.noun)}"


def _link_checks(
    params: Mapping[str, Param], table: Table, tables: Tables
) -> tuple[dict[str, Lookup], dict[str, Check]]:
    """Rows named by id must exist; an optional one only when it is given."""
    lookups: dict[str, Lookup] = {}
    checks: dict[str, Check] = {}
    for name, param in sorted(params.items()):
        if name not in table.checked_links:
            continue
        target = tables[table.links[name]]
        label = f"of_{param.word}"
        is_optional = not param.is_required or param.is_nullable
        lookups[label] = Lookup(
            table=target.noun,
            field=target.lookup_field,
            equals=f"$args.{name}",
            optional=is_optional,
        )
        if is_optional:
            known = {"@not": {"@is_null": f"${label}"}}
            checks[f"{label}_exists"] = Check(
                holds={"@or": [{"@is_null": f"$args.{name}"}, known]},
                code=ErrorCode.NOT_FOUND,
                message=f"no {target.noun} with that {name}",
            )
    return lookups, checks


def _update(candidate: Candidate, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    key = key_param(candidate, table)
    if key is None or key.type == "array":
        raise Unclear(f"nothing in its arguments names the {table.noun} to change")
    changes = {
        name: item for name, item in changed_params(candidate).items() if item.name != key.name
    }
    outer = {name for name in candidate.params if name not in changes and name != key.name}
    if not changes:
        raise Unclear(f"it takes no new value for the {table.noun}")
    fields: dict[str, Any] = {}
    for name, param in sorted(changes.items()):
        if param.type == "object" and param.word in NESTED_WORDS and not param.properties:
            raise Unclear(f"its argument {name!r} does not say what it holds")
        field = _stored_field(param, table)
        source = f"$args.{name}" if name in candidate.params else f"$args.{min(outer)}.{name}"
        fields[field] = _new_value(param, source, field, is_top=name in candidate.params)
    top_level = {name: param for name, param in changes.items() if name in candidate.params}
    lookups, checks = _link_checks(top_level, table, tables)
    lookups["found"] = Lookup(
        table=table.noun, field=table.lookup_field, equals=f"$args.{key.name}"
    )
    effect = Effect(action="update", table=table.noun, target="found", fields=FrozenDict(fields))
    content = Content(
        table=table,
        row="$change",
        message=f"{table.noun} updated",
        plain={table.noun: row_expression(table, "$change")},
    )
    blueprint = ToolBlueprint(
        operation=Operation.UPDATE,
        functional=FunctionalClass.WRITE,
        entity=table.noun,
        difficulty=max(3, _difficulty(changes, is_nested=bool(outer), num_links=len(lookups))),
        lookups=FrozenDict(lookups),
        checks=FrozenDict(checks),
        effects=FrozenDict({"change": effect}),
        result=shape_answer(candidate.tool, content, tables),
    )
    return (
        blueprint,
        f"update: {key.name!r} names one {table.noun}, the other arguments are its fields",
    )


def _stored_field(param: Param, table: Table) -> str:
    for field, body in sorted(table.fields.items()):
        if snake(field) != param.word:
            continue
        if body.type.value != param.type:
            raise Unclear(f"its argument {param.name!r} has another type than when it is created")
        if body.enum is not None and not set(param.enum or ()) <= set(body.enum):
            raise Unclear(f"its argument {param.name!r} takes other values than when it is created")
        if field == table.key:
            raise Unclear(f"it changes the key of {article(table.noun)}")
        return field
    raise Unclear(f"its argument {param.name!r} is no field of {article(table.noun)}")


def _new_value(param: Param, source: str, field: str, *, is_top: bool) -> Any:
    """Return the field's new value: as given, and unchanged when left out."""
    if param.is_required and not param.is_nullable:
        return source
    if param.has_default and param.default is not None:
        raise Unclear(f"its argument {param.name!r} has a default that would overwrite a value")
    if is_top and param.is_nullable and not param.has_default:
        return {"@if": [{"@given": param.name}, source, f"$item.{field}"]}
    return {"@coalesce": [source, f"$item.{field}"]}


def _delete(candidate: Candidate, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    key = key_param(candidate, table)
    batch = elements_of(candidate)
    if key is not None:
        extra = [name for name in candidate.params if name != key.name]
        if extra:
            raise Unclear(f"its argument {extra[0]!r} has no plain meaning for a delete")
        if key.type == "array":
            gone: Any = {"@in": [f"$item.{table.key}", f"$args.{key.name}"]}
            return _delete_where(candidate, table, gone, tables, f"$args.{key.name}")
        return _delete_one(candidate, table, key, tables)
    if table.kind is not KeyKind.HIDDEN:
        raise Unclear(f"nothing in its arguments names the {table.noun} to delete")
    stored = set(table.fields)
    if batch and set(batch[1]) <= stored and all(item.is_required for item in batch[1].values()):
        names = sorted(batch[1])
        given = {"@each": [f"$args.{batch[0].name}", {"@pick": ["$element", names]}]}
        return _delete_where(
            candidate, table, {"@in": [{"@pick": ["$item", names]}, given]}, tables, None
        )
    raise Unclear(f"nothing in its arguments names the {table.noun} to delete")


def _delete_one(
    candidate: Candidate, table: Table, key: Param, tables: Tables
) -> tuple[ToolBlueprint, str]:
    effects = {
        "gone": Effect(action="delete", table=table.noun, target="found"),
        **_goes_too(
            candidate, table, tables, lambda link: {"@eq": [f"$item.{link}", f"$args.{key.name}"]}
        ),
    }
    content = Content(
        table=table,
        row="$found",
        message=f"{table.noun} deleted",
        plain={table.key: f"$args.{key.name}", "deleted": True},
    )
    found = Lookup(table=table.noun, field=table.lookup_field, equals=f"$args.{key.name}")
    blueprint = ToolBlueprint(
        operation=Operation.DELETE,
        functional=FunctionalClass.WRITE,
        entity=table.noun,
        difficulty=2 if len(effects) == 1 else 3,
        lookups=FrozenDict({"found": found}),
        effects=FrozenDict(effects),
        result=shape_answer(candidate.tool, content, tables),
    )
    return blueprint, f"delete: {key.name!r} names one {table.noun}"


def _delete_where(
    candidate: Candidate, table: Table, gone: Any, tables: Tables, keys: Any
) -> tuple[ToolBlueprint, str]:
    effects = {"gone": Effect(action="delete", table=table.noun, where=gone)}
    if keys is not None:
        effects.update(
            _goes_too(candidate, table, tables, lambda link: {"@in": [f"$item.{link}", keys]})
        )
    elif _promised(candidate, table):
        raise Unclear("its description promises that more goes with the deleted rows")
    count = {"@count": {"table": table.noun, "where": gone}}
    content = Content(
        table=table,
        total=count,
        message=f"{plural(table.noun)} deleted",
        plain={"deleted": count},
    )
    blueprint = ToolBlueprint(
        operation=Operation.DELETE,
        functional=FunctionalClass.WRITE,
        entity=table.noun,
        difficulty=4 if keys is None else 3,
        effects=FrozenDict(effects),
        result=shape_answer(candidate.tool, content, tables),
    )
    return (
        blueprint,
        f"delete many: rows of {table.noun} that are named; unknown ones are passed over",
    )


def _promised(candidate: Candidate, table: Table) -> list[str]:
    """Return the nouns that a description says are deleted as well."""
    text = candidate.tool.description.lower()
    own = {table.noun, *table.noun.split("_")}
    return [singular(word) for word in _GOES_TOO.findall(text) if singular(word) not in own]


def _goes_too(candidate: Candidate, table: Table, tables: Tables, where: Any) -> dict[str, Effect]:
    """Effects for rows that the description deletes with the named ones."""
    effects: dict[str, Effect] = {}
    for noun in _promised(candidate, table):
        other = tables.get(noun)
        links = (
            [] if other is None else sorted(n for n, to in other.links.items() if to == table.noun)
        )
        if other is None or not links:
            raise Unclear(
                f"its description promises that {plural(noun)} go too, and nothing says which"
            )
        parts = [where(link) for link in links]
        effects[f"gone_{noun}"] = Effect(action="delete", table=noun, where={"@or": parts})
    return effects


def _list_element(
    candidate: Candidate, table: Table, field: str, tables: Tables
) -> tuple[ToolBlueprint, str]:
    """Put one element into a list of a row, or take it out."""
    key = key_param(candidate, table)
    others = [param for _, param in sorted(candidate.params.items()) if param is not key]
    if key is None or key.type == "array" or len(others) != 1 or not others[0].is_required:
        raise Unclear(
            f"it changes {field!r} of {article(table.noun)} in another way than element by element",
            QuarantineReason.UNSUPPORTED_SCHEMA,
        )
    (element,) = others
    if is_list_of_texts(element) or element.type not in ("string", "integer", "number"):
        raise Unclear(f"it changes several {field} at once", QuarantineReason.UNSUPPORTED_SCHEMA)
    is_named = singular_word(element) == candidate.reading.noun or element.word in (
        "value",
        "name",
        "text",
    )
    if not is_named and not same_field(element, candidate.reading.noun, table.noun):
        raise Unclear(f"its argument {element.name!r} is not plainly an element of {field!r}")
    value, stored = f"$args.{element.name}", f"$item.{field}"
    is_add = candidate.reading.verb == "add"
    new_list: Any = {"@append" if is_add else "@without": [stored, value]}
    if is_add and candidate.reading.noun in words("set_like"):
        new_list = {"@if": [{"@contains": [stored, value]}, stored, new_list]}
    checks = {}
    if not is_add:
        checks["is_there"] = Check(
            holds={"@contains": [f"$found.{field}", value]},
            code=ErrorCode.NOT_FOUND,
            message=f"that {table.noun} has no such {candidate.reading.noun}",
        )
    effect = Effect(
        action="update", table=table.noun, target="found", fields=FrozenDict({field: new_list})
    )
    content = Content(
        table=table,
        row="$change",
        message=f"{table.noun} updated",
        plain={table.noun: row_expression(table, "$change")},
    )
    found = Lookup(table=table.noun, field=table.lookup_field, equals=f"$args.{key.name}")
    blueprint = ToolBlueprint(
        operation=Operation.APPEND if is_add else Operation.DETACH,
        functional=FunctionalClass.WRITE,
        entity=table.noun,
        difficulty=3,
        lookups=FrozenDict({"found": found}),
        checks=FrozenDict(checks),
        effects=FrozenDict({"change": effect}),
        result=shape_answer(candidate.tool, content, tables),
    )
    return blueprint, f"{blueprint.operation.value}: {element.name!r} is one element of {field!r}"


def _difficulty(params: Mapping[str, Param], *, is_nested: bool, num_links: int) -> int:
    """1 to 5: how much has to be found out and written down right before the call."""
    if is_nested or num_links > 1:
        return 4
    return 3 if num_links or len(params) > 2 else 2
