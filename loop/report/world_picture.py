"""The picture of the world: services in a ring, and reactions as arrows from the service where
something happens to the one that it changes.

A service's dot grows with the tasks that need it; an arrow has the colour of the service that it
leaves and grows with the reactions that it stands for.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from markupsafe import Markup

from components.records.system import System
from loop.report.drawing import Drawing, fitted

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """Reactions that lead from one service to another."""

    source: str
    target: str
    texts: tuple[str, ...]
    """The rules as sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How many tasks have a service in their world."""

    needed: int
    distracting: int
    """Tasks in which it only stands beside those that are needed."""


@dataclass(frozen=True, slots=True)
class _Dot:
    at: Point
    radius: float
    hue: int
    angle: float


def arrows_of(system: System) -> tuple[Arrow, ...]:
    """Return the arrows of a system's reactions, by source and target."""
    texts: dict[tuple[str, str], list[str]] = {}
    for _name, reaction in sorted(system.environment.reactions.items()):
        for target in sorted({write.service for write in reaction.writes.values()}):
            texts.setdefault((reaction.on.service, target), []).append(reaction.text)
    known = {*system.reference.specs}
    return tuple(
        Arrow(source=source, target=target, texts=tuple(texts[source, target]))
        for source, target in sorted(texts)
        if {source, target} <= known
    )


def uses_of(system: System) -> dict[str, Use]:
    """Return how the tasks use each service."""
    worlds = [task.world for task in system.tasks.values()]
    needed = Counter(name for world in worlds for name in world.services)
    beside = Counter(name for world in worlds for name in world.distractors)
    return {
        name: Use(needed=needed[name], distracting=beside[name])
        for name in sorted(system.reference.specs)
    }


def draw_world(system: System) -> Markup:
    """Return the picture, once wide and once for a phone."""
    return _draw(system, 1040, 200, "wide") + _draw(system, 344, 80, "narrow")


def _draw(system: System, width: float, ring: float, kind: str) -> Markup:
    drawing = Drawing(width)
    height = 2 * ring + 110
    centre = (width / 2, height / 2)
    dots = _dots(system, centre, ring)
    arrows = arrows_of(system)
    for arrow in arrows:
        _draw_arrow(drawing, dots[arrow.source], dots[arrow.target], centre, len(arrow.texts))
    for name, dot in dots.items():
        drawing.hued_circle(*dot.at, dot.radius, dot.hue)
        _draw_label(drawing, system, name, dot, width)
    return drawing.markup(height, _describe(system, arrows), kind)


def _dots(system: System, centre: Point, ring: float) -> dict[str, _Dot]:
    uses = uses_of(system)
    most = max((use.needed for use in uses.values()), default=0) or 1
    dots = {}
    for index, (name, use) in enumerate(uses.items()):
        turn = index / len(uses)
        angle = 2 * math.pi * turn - math.pi / 2
        dots[name] = _Dot(
            at=_moved(centre, angle, ring),
            radius=5 + ring * 0.05 * math.sqrt(use.needed / most),
            hue=round(360 * turn),
            angle=angle,
        )
    return dots


def _draw_arrow(
    drawing: Drawing, source: _Dot, target: _Dot, centre: Point, num_reactions: int
) -> None:
    width = 1.0 + 0.8 * min(num_reactions, 4)
    if source is target:
        start, tip = (_moved(source.at, source.angle + side, source.radius) for side in (-1, 1))
        drawing.arrow(start, _moved(source.at, source.angle, 46), tip, source.hue, width)
        return
    (x0, y0), (x1, y1) = source.at, target.at
    middle = ((x0 + x1) / 2, (y0 + y1) / 2)
    length = math.dist(source.at, target.at)
    # Pulled towards the centre, and to its own right, so that the way back is another line.
    bend = (
        middle[0] + (centre[0] - middle[0]) * 0.35 - (y1 - y0) / length * 12,
        middle[1] + (centre[1] - middle[1]) * 0.35 + (x1 - x0) / length * 12,
    )
    start = _towards(source.at, bend, source.radius)
    tip = _towards(target.at, bend, target.radius + 2)
    drawing.arrow(start, bend, tip, source.hue, width)


def _draw_label(drawing: Drawing, system: System, name: str, dot: _Dot, width: float) -> None:
    x, y = _moved(dot.at, dot.angle, dot.radius + 10)
    across = math.cos(dot.angle)
    anchor = "middle" if abs(across) < 0.2 else "start" if across > 0 else "end"
    room = {"middle": width / 2, "start": width - x, "end": x}[anchor]
    y += 16 * math.sin(dot.angle)
    count = len(system.reference.specs[name].tools)
    quarantined = len(system.environment.blueprints[name].quarantined)
    drawing.text(x, y - 1, fitted(name, room), "ink strong", anchor)
    drawing.text(x, y + 14, f"{count - quarantined} tools", "soft", anchor)


def _moved(point: Point, angle: float, by: float) -> Point:
    return point[0] + by * math.cos(angle), point[1] + by * math.sin(angle)


def _towards(point: Point, other: Point, by: float) -> Point:
    return _moved(point, math.atan2(other[1] - point[1], other[0] - point[0]), by)


def _describe(system: System, arrows: tuple[Arrow, ...]) -> str:
    names = ", ".join(
        f"{name} ({len(spec.tools)} tools)" for name, spec in sorted(system.reference.specs.items())
    )
    links = ", ".join(f"{item.source} to {item.target}" for item in arrows) or "none"
    return f"Services: {names}. Reactions lead from {links}."
