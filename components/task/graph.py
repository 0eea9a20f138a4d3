"""The tool dependency graph of a set of services: which answer can feed which argument.

Owns the shape of a tool as its blueprint gives it: the rows that its answer shows and what each
argument means. An edge joins an output field and an input that mean the same thing: both are, or
link to, the same field of the same table. Names are never compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from components.environment.wrapped import arguments_in_place
from components.records.blueprint import Blueprint, FieldType, FunctionalClass, ToolBlueprint
from components.records.frozen import FrozenDict
from components.records.spec import ToolSpec
from components.records.system import System

_MAX_LINKS = 4
_MAX_NESTING = 4


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A field of a table."""

    service: str
    table: str
    field: str

    def __str__(self) -> str:
        return f"{self.service}.{self.table}.{self.field}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRows:
    """A part of a tool's answer that shows one row or a list of rows."""

    path: tuple[str, ...]
    """Path in `data` of the row, or of the list."""
    table: str
    fields: FrozenDict[str, str]
    """Key in the answer -> field of the table."""
    is_list: bool


class Role(StrEnum):
    """What an argument does with its value."""

    SELECTS = "selects"
    """Names the row that the tool works on."""
    FILTERS = "filters"
    """Is compared with a field of the rows that are listed."""
    SETS = "sets"
    """Becomes a field's value."""
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A scalar argument; a list is entered at its first element."""

    pointer: str
    schema: Mapping[str, Any]
    required: bool
    role: Role
    place: Place | None
    """The field that it selects by, filters or sets; None when the blueprint does not say."""
    means: Place | None
    """`place` followed through its links to the field that they all stand for."""
    is_free_text: bool
    is_exact: bool
    """False when a filter also takes a part of the value."""
    names_row: bool
    """True when the value is a key of some row, or is linked to."""
    is_natural: bool
    """True when a person would name a row by the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolShape:
    """One offered tool: what goes in and what comes out."""

    service: str
    title: str
    """What the service is called."""
    name: str
    spec: ToolSpec
    blueprint: ToolBlueprint
    parameters: tuple[Parameter, ...]
    shown: tuple[ShownRows, ...]

    @property
    def is_write(self) -> bool:
        """True when the tool changes state."""
        return self.blueprint.functional is FunctionalClass.WRITE


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """The answer of one tool can give an argument of another."""

    source: tuple[str, str]
    """Service and tool."""
    target: tuple[str, str]
    pointer: str
    means: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGraph:
    """The tools of some services by service and name; `edges_of` gives what joins them."""

    tools: Mapping[tuple[str, str], ToolShape]
    blueprints: Mapping[str, Blueprint]
    """Of the whole system: links may lead to services that are not in the graph."""

    def means(self, place: Place) -> Place:
        """Return the field that a place stands for, through its links."""
        return follow(self.blueprints, place)

    def is_compiled(self, service: str) -> bool:
        """Return whether a service was inferred from its specification alone."""
        return self.blueprints[service].inferred

    def of_service(self, service: str) -> tuple[ToolShape, ...]:
        """Return the offered tools of one service, by name."""
        return tuple(tool for key, tool in sorted(self.tools.items()) if key[0] == service)


def tool_graph(system: System, services: tuple[str, ...]) -> ToolGraph:
    """Build the graph over the offered tools of `services`."""
    blueprints = system.environment.blueprints
    tools: dict[tuple[str, str], ToolShape] = {}
    for service in sorted(services):
        blueprint = blueprints[service]
        spec = system.reference.specs[service]
        for name, tool in sorted(blueprint.tools.items()):
            if tool.simulated:
                continue
            if name not in blueprint.quarantined and name in spec.tools:
                tools[service, name] = _shape(
                    service, spec.title or service, spec.tools[name], tool, blueprints
                )
    return ToolGraph(tools=tools, blueprints=blueprints)


def edges_of(graph: ToolGraph) -> tuple[Edge, ...]:
    """Return what joins the tools, sorted."""
    tools, blueprints = graph.tools, graph.blueprints
    edges = [
        Edge(source, target, parameter.pointer, parameter.means)
        for source, giver in sorted(tools.items())
        for target, taker in sorted(tools.items())
        for parameter in taker.parameters
        if parameter.means is not None
        and any(
            follow(blueprints, Place(giver.service, rows.table, field)) == parameter.means
            for rows in giver.shown
            for field in rows.fields.values()
        )
    ]
    return tuple(sorted(set(edges)))


def follow(blueprints: Mapping[str, Blueprint], place: Place) -> Place:
    """Return the field that `place` stands for: its link's target, and that one's, to the end."""
    for _hop in range(_MAX_LINKS):
        entity = _entity(blueprints, place)
        field = None if entity is None else entity.fields.get(place.field)
        if field is None or field.link is None:
            return place
        service, table, *rest = field.link.split(".")
        target = _entity(blueprints, Place(service, table, ""))
        if target is None:
            return Place(service, table, rest[0] if rest else "id")
        place = Place(service, table, rest[0] if rest else target.key)
    return place


def is_reference(blueprints: Mapping[str, Blueprint], place: Place) -> bool:
    """Return whether the field names a row: a key, a link, or what a link points at."""
    end = follow(blueprints, place)
    entity = _entity(blueprints, place)
    if end != place or entity is None or place.field == entity.key:
        return True
    wanted = f"{place.service}.{place.table}.{place.field}"
    return any(
        field.link == wanted
        for blueprint in blueprints.values()
        for other in blueprint.entities.values()
        for field in other.fields.values()
    )


def is_internal(blueprints: Mapping[str, Blueprint], place: Place) -> bool:
    """Return whether a value of this place is an internal id, which no person would write."""
    end = follow(blueprints, place)
    entity = _entity(blueprints, end)
    return entity is None or (end.field == entity.key and entity.generated_key)


def is_natural(blueprints: Mapping[str, Blueprint], place: Place) -> bool:
    """Return whether a person would name a row by this value.

    That is its title, a key that people give, or a text that rows are searched by.
    """
    end = follow(blueprints, place)
    entity = _entity(blueprints, end)
    if entity is None or is_internal(blueprints, end):
        return False
    field = entity.fields.get(end.field)
    if field is None or field.enum or field.type is not FieldType.STRING:
        return False
    if end.field in (entity.key, entity.title_field):
        return True
    return any(
        field_name == end.field
        for tool in blueprints[end.service].tools.values()
        if tool.query is not None and tool.query.table == end.table
        for expression in tool.query.where.values()
        for _pointer, field_name in _compared(expression, ("@eq", "@in", "@contains"))
    )


def _entity(blueprints: Mapping[str, Blueprint], place: Place) -> Any:
    blueprint = blueprints.get(place.service)
    return None if blueprint is None else blueprint.entities.get(place.table)


def _shape(
    service: str,
    title: str,
    spec: ToolSpec,
    tool: ToolBlueprint,
    blueprints: Mapping[str, Blueprint],
) -> ToolShape:
    blueprint = blueprints[service]
    uses = _uses(tool, blueprint)
    parameters = []
    for pointer, schema, required in _scalars(arguments_in_place(spec), "", True, 0):
        role, place, is_exact = uses.get(pointer, (Role.OTHER, None, True))
        table = None if place is None else blueprint.entities.get(place.table)
        field = None if table is None or place is None else table.fields.get(place.field)
        is_text = field is not None and field.free_text
        parameters.append(
            Parameter(
                pointer=pointer,
                schema=schema,
                required=required,
                role=role,
                place=place,
                means=None if place is None else follow(blueprints, place),
                is_free_text=role is Role.SETS and is_text,
                is_exact=is_exact,
                names_row=place is not None and is_reference(blueprints, place),
                is_natural=place is not None and is_natural(blueprints, place),
            )
        )
    return ToolShape(
        service=service,
        title=title,
        name=spec.name,
        spec=spec,
        blueprint=tool,
        parameters=tuple(parameters),
        shown=tuple(_shown(tool, blueprint)),
    )


def _scalars(
    schema: Mapping[str, Any], pointer: str, required: bool, depth: int
) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    """Yield pointer, schema and whether it must be given, for every scalar argument."""
    kind = schema.get("type")
    if depth > _MAX_NESTING:
        return
    if kind == "object" or "properties" in schema:
        needed = schema.get("required") or ()
        for name, part in sorted((schema.get("properties") or {}).items()):
            if isinstance(part, Mapping):
                step = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
                yield from _scalars(part, step, required and name in needed, depth + 1)
    elif kind == "array":
        items = schema.get("items")
        if isinstance(items, Mapping):
            yield from _scalars(items, f"{pointer}/0", required, depth + 1)
    else:
        yield pointer, schema, required


Use = tuple[Role, Place | None, bool]


def _uses(tool: ToolBlueprint, blueprint: Blueprint) -> dict[str, Use]:
    """Return what each argument does, by pointer; the first meaning wins."""
    service = blueprint.service
    found: dict[str, Use] = {}

    def note(pointer: str, role: Role, table: str, field: str, is_exact: bool = True) -> None:
        found.setdefault(pointer, (role, Place(service, table, field), is_exact))

    for _name, lookup in sorted(tool.lookups.items()):
        key = lookup.field or blueprint.entities[lookup.table].key
        for pointer in _arguments_in(lookup.equals, None):
            note(pointer, Role.SELECTS, lookup.table, key)
        for _label, condition in sorted(lookup.where.items()):
            for pointer, field in _compared(condition, ("@eq", "@in")):
                note(pointer, Role.SELECTS, lookup.table, field)
    for _name, effect in sorted(tool.effects.items()):
        element = next(iter(_arguments_in(effect.each, None)), None)
        for field, value in sorted(effect.fields.items()):
            for pointer in _arguments_in(value, element):
                note(pointer, Role.SETS, effect.table, field)
                kind = blueprint.entities[effect.table].fields[field].type
                if kind is FieldType.ARRAY:
                    note(f"{pointer}/0", Role.SETS, effect.table, field)
        for pointer, field in _compared(effect.where, ("@eq",)):
            note(pointer, Role.SELECTS, effect.table, field)
    for expression in (*(check.holds for check in tool.checks.values()), tool.result):
        for operand in _operands(expression, "@row"):
            key = operand.get("field") or blueprint.entities[operand["table"]].key
            for pointer in _arguments_in(operand.get("equals"), None):
                note(pointer, Role.SELECTS, operand["table"], key)
    if tool.query is not None:
        for _name, expression in sorted(tool.query.where.items()):
            for pointer, field in _compared(expression, ("@eq", "@in")):
                note(pointer, Role.FILTERS, tool.query.table, field)
        for _name, expression in sorted(tool.query.where.items()):
            for pointer, field in _compared(expression, ("@contains",)):
                note(pointer, Role.FILTERS, tool.query.table, field, is_exact=False)
    return found


def _arguments_in(expression: Any, element: str | None) -> Iterator[str]:
    """Yield the pointer of every argument that an expression takes its value from.

    Args:
        element: pointer of the list whose elements are `$element`, or None.
    """
    if isinstance(expression, str):
        root, *path = expression.split(".")
        if root == "$args" and path:
            yield "/" + "/".join(path)
        elif root == "$element" and element is not None:
            yield "/".join((element, "0", *path))
    elif isinstance(expression, Mapping):
        for key, part in expression.items():
            if key not in ("@lit", "@given"):
                yield from _arguments_in(part, element)
    elif isinstance(expression, (list, tuple)):
        for part in expression:
            yield from _arguments_in(part, element)


def _compared(expression: Any, operations: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield (argument pointer, field of `$item`) for every comparison of the two."""
    if isinstance(expression, Mapping):
        for key, part in expression.items():
            if key in operations and isinstance(part, (list, tuple)) and len(part) == 2:
                fields = [_item_field(side) for side in part]
                pointers = [next(iter(_arguments_in(side, None)), None) for side in part]
                for field, pointer in ((fields[0], pointers[1]), (fields[1], pointers[0])):
                    if field is not None and pointer is not None:
                        yield pointer, field
            yield from _compared(part, operations)
    elif isinstance(expression, (list, tuple)):
        for part in expression:
            yield from _compared(part, operations)


def _item_field(side: Any) -> str | None:
    if isinstance(side, Mapping) and set(side) == {"@lower"}:
        side = side["@lower"]
    if isinstance(side, str) and side.startswith("$item.") and side.count(".") == 1:
        return side.split(".")[1]
    return None


def _operands(expression: Any, operation: str) -> Iterator[Mapping[str, Any]]:
    if isinstance(expression, Mapping):
        for key, part in expression.items():
            if key == operation and isinstance(part, Mapping):
                yield part
            yield from _operands(part, operation)
    elif isinstance(expression, (list, tuple)):
        for part in expression:
            yield from _operands(part, operation)


def _shown(tool: ToolBlueprint, blueprint: Blueprint) -> Iterator[ShownRows]:
    """Yield the rows that the tool's result shows."""
    rows: dict[str, tuple[str, bool]] = {}
    """Root name -> its table, and whether it is a list."""
    for name, lookup in tool.lookups.items():
        rows[f"${name}"] = (lookup.table, False)
    for name, effect in tool.effects.items():
        rows[f"${name}"] = (effect.table, effect.each is not None)
    if tool.query is not None:
        rows["$rows"] = (tool.query.table, True)
    yield from _shown_in(tool.result, (), rows, tool, blueprint)


def _shown_in(
    expression: Any,
    path: tuple[str, ...],
    rows: Mapping[str, tuple[str, bool]],
    tool: ToolBlueprint,
    blueprint: Blueprint,
) -> Iterator[ShownRows]:
    whole = _row_expression(expression, rows, tool, blueprint)
    if whole is not None:
        table, fields, is_list = whole
        yield ShownRows(path=path, table=table, fields=fields, is_list=is_list)
        return
    if not isinstance(expression, Mapping) or any(key[:1] == "@" for key in expression):
        return
    single: dict[str, dict[str, str]] = {}
    for key, part in sorted(expression.items()):
        root, _, field = part.partition(".") if isinstance(part, str) else ("", "", "")
        if field and root in rows and not rows[root][1]:
            if field in blueprint.entities[rows[root][0]].fields:
                single.setdefault(rows[root][0], {})[key] = field
        else:
            yield from _shown_in(part, (*path, key), rows, tool, blueprint)
    for table, fields_by_key in sorted(single.items()):
        yield ShownRows(path=path, table=table, fields=FrozenDict(fields_by_key), is_list=False)


def _row_expression(
    expression: Any,
    rows: Mapping[str, tuple[str, bool]],
    tool: ToolBlueprint,
    blueprint: Blueprint,
) -> tuple[str, FrozenDict[str, str], bool] | None:
    """Return (table, key -> field, is list) when the expression is a row or a list of rows."""
    if isinstance(expression, str) and expression in rows:
        table, is_list = rows[expression]
        names: Any = blueprint.entities[table].fields
        if expression == "$rows" and tool.query is not None and tool.query.fields is not None:
            names = tool.query.fields
        return table, FrozenDict({name: name for name in names}), is_list
    if not isinstance(expression, Mapping) or len(expression) != 1:
        return None
    operation, operand = next(iter(expression.items()))
    if operation in ("@row", "@rows") and isinstance(operand, Mapping):
        table = str(operand.get("table"))
        fields = blueprint.entities[table].fields
        return table, FrozenDict({name: name for name in fields}), operation == "@rows"
    if not isinstance(operand, (list, tuple)) or len(operand) != 2:
        return None
    inner = _row_expression(operand[0], rows, tool, blueprint)
    if inner is None:
        return None
    table, fields_shown, is_list = inner
    if operation == "@pick" and not is_list and isinstance(operand[1], (list, tuple)):
        return table, FrozenDict({n: n for n in operand[1] if n in fields_shown}), False
    if operation == "@each" and is_list:
        return table, _element_fields(operand[1], fields_shown), True
    return None


def _element_fields(body: Any, known: Mapping[str, str]) -> FrozenDict[str, str]:
    if isinstance(body, Mapping) and set(body) == {"@pick"}:
        return FrozenDict({name: name for name in body["@pick"][1] if name in known})
    if not isinstance(body, Mapping):
        return FrozenDict()
    named = {
        key: part.partition(".")[2]
        for key, part in body.items()
        if isinstance(part, str) and part.startswith("$element.")
    }
    return FrozenDict({key: field for key, field in named.items() if field in known})
