"""The picture of a pool: its tools in a ring, service by service, joined where one can prepare
another in another service.

A service has a colour, and its tools' edges out have it too; under a pointer, the service's edges
stand out. What joins tools of one service is counted in the table and not drawn.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from markupsafe import Markup

from components.records.graph import DependencyGraph, EdgeKind
from loop.report.drawing import Drawing, fitted

Point = tuple[float, float]

_STEP = 13.5
"""Pixels of the ring that a tool takes."""
_GAP = 1.6
"""Tools' places between two services."""
_LEAST_RADIUS = 230.0
_LABEL = 128.0
"""Pixels outside the ring for names of tools."""
_MARGIN = 104.0
"""Pixels outside these for names of services, at the sides."""
_PULL = 0.5
"""How far from the centre the edges of a service run together, of the ring's radius."""


@dataclass(frozen=True, slots=True)
class _Seat:
    at: Point
    angle: float
    service: int


def draw_graph(graph: DependencyGraph) -> Markup:
    """Return the picture."""
    services = services_of(graph)
    places = len(graph.tools) + _GAP * len(services)
    radius = max(_LEAST_RADIUS, places * _STEP / (2 * math.pi))
    centre = (radius + _LABEL + _MARGIN, radius + _LABEL + 48)
    drawing = Drawing(2 * centre[0])
    seats, middles = _seated(graph, services, centre, radius, places)
    _draw_edges(drawing, graph, seats, [_moved(centre, angle, radius * _PULL) for angle in middles])
    for name, seat in seats.items():
        hue = _hue(seat.service, len(services))
        node = graph.tools[name]
        _draw_tool(drawing, name, f"{node.functional}, {node.operation}", seat, hue)
    for number, service in enumerate(services):
        x, y = _moved(centre, middles[number], radius + _LABEL + 22)
        across = math.cos(middles[number])
        anchor = "middle" if abs(across) < 0.35 else "start" if across > 0 else "end"
        drawing.text(x, y + 5, fitted(service, _MARGIN), f"ink strong s{number}", anchor)
    return drawing.markup(2 * centre[1], _described(graph, services), "graph")


def services_of(graph: DependencyGraph) -> list[str]:
    """Return the names of the services, sorted."""
    return sorted({node.service for node in graph.tools.values()})


def joined(graph: DependencyGraph) -> Counter[tuple[str, str]]:
    """Return how many pairs of tools are joined, by the services of source and target."""
    pairs = {(edge.source, edge.target) for edge in graph.edges}
    return Counter((source.partition(".")[0], target.partition(".")[0]) for source, target in pairs)


def highlighting(graph: DependencyGraph) -> Markup:
    """Return the style rules that let a service's edges stand out under a pointer."""
    rules = [
        f".graph:has(.s{number}:hover) .edge:not(.e{number}) {{ opacity: .02; }} "
        f".graph:has(.s{number}:hover) .e{number} {{ opacity: .75; }}"
        for number, _service in enumerate(services_of(graph))
    ]
    return Markup("\n".join(rules))  # numbers alone are put in


def _seated(
    graph: DependencyGraph, services: list[str], centre: Point, radius: float, places: float
) -> tuple[dict[str, _Seat], list[float]]:
    """Return each tool's place, and the angle in the middle of each service."""
    seats: dict[str, _Seat] = {}
    middles = []
    place = 0.0
    for number, service in enumerate(services):
        names = [name for name, node in sorted(graph.tools.items()) if node.service == service]
        for index, name in enumerate(names):
            angle = 2 * math.pi * (place + index) / places - math.pi / 2
            seats[name] = _Seat(_moved(centre, angle, radius), angle, number)
        middle = place + (len(names) - 1) / 2
        middles.append(2 * math.pi * middle / places - math.pi / 2)
        place += len(names) + _GAP
    return seats, middles


def _draw_edges(
    drawing: Drawing, graph: DependencyGraph, seats: dict[str, _Seat], knots: list[Point]
) -> None:
    """Draw what joins tools of different services; `knots` is where a service's edges meet."""
    kinds: dict[tuple[str, str], set[EdgeKind]] = {}
    for edge in graph.edges:
        kinds.setdefault((edge.source, edge.target), set()).add(edge.kind)
    num_services = len(services_of(graph))
    for (source, target), found in sorted(kinds.items()):
        here, there = seats[source], seats[target]
        if here.service == there.service:
            continue
        is_value = EdgeKind.VALUE in found
        kind = f"edge {'value' if is_value else 'reaction'} e{here.service}"
        hue = _hue(here.service, num_services)
        bends = knots[here.service], knots[there.service]
        drawing.curve(here.at, bends, there.at, hue, kind)


def _draw_tool(drawing: Drawing, name: str, hint: str, seat: _Seat, hue: int) -> None:
    service, _, tool = name.partition(".")
    drawing.hued_circle(*seat.at, 3.4, hue)
    degrees = math.degrees(seat.angle)
    is_left = math.cos(seat.angle) < 0
    x, y = seat.at[0] + 9 * math.cos(seat.angle), seat.at[1] + 9 * math.sin(seat.angle)
    drawing.turned_text(
        x,
        y,
        degrees + 180 if is_left else degrees,
        fitted(tool, _LABEL * 1.35),  # the letters are smaller than the page's
        f"tool s{seat.service}",
        "end" if is_left else "start",
        f"{service}.{tool}: {hint}",
    )


def _hue(number: int, services: int) -> int:
    return round(360 * number / max(services, 1))


def _moved(point: Point, angle: float, by: float) -> Point:
    return point[0] + by * math.cos(angle), point[1] + by * math.sin(angle)


def _described(graph: DependencyGraph, services: list[str]) -> str:
    pairs = joined(graph)
    most = [
        f"{source} to {target} ({count})"
        for (source, target), count in pairs.most_common()
        if source != target
    ][:10]
    return (
        f"{len(graph.tools)} tools of {len(services)} services. Joined most: "
        f"{', '.join(most) or 'none'}."
    )
