"""The tool dependency graph of a set of services: which answer can feed which argument.

Owns the shape of a tool as its blueprint gives it: the rows that its answer shows and what each
argument means. An edge joins an output field and an input that mean the same thing: both are, or
link to, the same field of the same table. Names are never compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from components.environment.wrapped import arguments_in_place
from components.records.blueprint import Blueprint, FieldType, FunctionalClass, ToolBlueprint
from components.records.spec import ServiceSpec, ToolSpec
from components.records.system import System
from components.task.shown import ShownRows, shown_rows

_MAX_LINKS = 4
_MAX_NESTING = 4
_MAX_KEPT = 8
"""Systems of which the shapes of tools are remembered."""


class Place(NamedTuple):
    """A field of a table."""

    service: str
    table: str
    field: str

    def __str__(self) -> str:
        return f"{self.service}.{self.table}.{self.field}"


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
    _tellable: dict[Place, bool] = dataclasses.field(
        default_factory=dict, repr=False, compare=False
    )
    _found: dict[Place, Place] = dataclasses.field(default_factory=dict, repr=False, compare=False)
    _places: dict[int, tuple[ShownRows, tuple[tuple[str, Place, Place], ...]]] = dataclasses.field(
        default_factory=dict, repr=False, compare=False
    )

    def means(self, place: Place) -> Place:
        """Return the field that a place stands for, through its links."""
        if place not in self._found:
            self._found[place] = follow(self.blueprints, place)
        return self._found[place]

    def places_of(self, service: str, shown: ShownRows) -> tuple[tuple[str, Place, Place], ...]:
        """Return key, field, and what it means, of all that a part of an answer shows, by key.

        Args:
            service: whose tool answers.
            shown: a part of its answer; the graph keeps it.
        """
        known = self._places.get(id(shown))
        if known is None:
            places = tuple(
                (key, place, self.means(place))
                for key, name in sorted(shown.fields.items())
                for place in (Place(service, shown.table, name),)
            )
            known = self._places[id(shown)] = shown, places
        return known[1]

    def is_tellable(self, place: Place) -> bool:
        """Return whether people put values of a field into texts: no internal id, no choice, no
        prose, no time that a service makes.
        """
        if place not in self._tellable:
            entity = self.blueprints[place.service].entities[place.table]
            field = entity.fields[place.field]
            self._tellable[place] = (
                not is_internal(self.blueprints, place)
                and field.enum is None
                and not (field.generated and field.type is FieldType.TIMESTAMP)
                and not (field.free_text and place.field != entity.title_field)
            )
        return self._tellable[place]

    def is_compiled(self, service: str) -> bool:
        """Return whether a service was inferred from its specification alone."""
        return self.blueprints[service].inferred

    def of_service(self, service: str) -> tuple[ToolShape, ...]:
        """Return the offered tools of one service, by name."""
        return tuple(tool for key, tool in sorted(self.tools.items()) if key[0] == service)


def tool_graph(system: System, services: tuple[str, ...]) -> ToolGraph:
    """Build the graph over the offered tools of `services`."""
    blueprints, specs = system.environment.blueprints, system.reference.specs
    shapes = _shapes_of(blueprints, specs)
    tools = {
        (service, shape.name): shape
        for service in sorted(services)
        for shape in shapes.of_service(service)
    }
    return ToolGraph(tools=tools, blueprints=blueprints)


class _Shapes:
    """The shapes of the tools of one set of services, each made when it is first asked for."""

    def __init__(
        self, blueprints: Mapping[str, Blueprint], specs: Mapping[str, ServiceSpec]
    ) -> None:
        self.blueprints, self.specs = blueprints, specs
        self._linked = frozenset(
            field.link
            for blueprint in blueprints.values()
            for entity in blueprint.entities.values()
            for field in entity.fields.values()
            if field.link is not None
        )
        self._made: dict[str, tuple[ToolShape, ...]] = {}

    def of_service(self, service: str) -> tuple[ToolShape, ...]:
        """Return the shapes of the offered tools of one service, by name."""
        if service not in self._made:
            blueprint, spec = self.blueprints[service], self.specs[service]
            self._made[service] = tuple(
                _shape(
                    service,
                    spec.title or service,
                    spec.tools[name],
                    tool,
                    self.blueprints,
                    self._linked,
                )
                for name, tool in sorted(blueprint.tools.items())
                if not tool.simulated and name not in blueprint.quarantined and name in spec.tools
            )
        return self._made[service]


_kept: list[_Shapes] = []


def _shapes_of(blueprints: Mapping[str, Blueprint], specs: Mapping[str, ServiceSpec]) -> _Shapes:
    """Return what was made of the same artifacts before, the very same objects."""
    for shapes in _kept:
        if shapes.blueprints is blueprints and shapes.specs is specs:
            return shapes
    _kept.append(_Shapes(blueprints, specs))
    del _kept[:-_MAX_KEPT]
    return _kept[-1]


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


def _is_reference(
    blueprints: Mapping[str, Blueprint], linked: frozenset[str], place: Place
) -> bool:
    """Return whether the field names a row: a key, a link, or what a link points at."""
    end = follow(blueprints, place)
    entity = _entity(blueprints, place)
    if end != place or entity is None or place.field == entity.key:
        return True
    return str(place) in linked


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
    linked: frozenset[str],
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
                names_row=place is not None and _is_reference(blueprints, linked, place),
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
        shown=tuple(shown_rows(tool, blueprint)),
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
