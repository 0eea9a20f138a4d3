"""The picture of one task's walk: a lane for each service, a box for each call, from top to bottom;
arrows lead from the answer that shows a value to the call that uses it.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from components.records.calls import CallRecord
from components.records.task import (
    Certificate,
    FromDefault,
    FromInstruction,
    Provenance,
    Task,
)
from components.task.provenance import observations_of
from loop.report.drawing import Drawing, fitted

_WIDTH = 1080.0
_HEAD, _LINE, _PADDING, _BETWEEN = 24.0, 16.0, 8.0, 26.0
"""Pixels: a box's title, a line in it, its rim, the space between two boxes."""
_TOP = 34.0
_ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class _Box:
    name: str
    lane: int
    y: float
    height: float
    title: str
    lines: tuple[str, ...]
    is_write: bool


def draw_walk(task: Task, certificate: Certificate) -> Markup:
    """Return the picture of a task's gold solution, as it was certified."""
    lanes = list(dict.fromkeys(step.service for _name, step in sorted(task.gold.items())))
    boxes = _boxes(task, certificate, lanes)
    width = _WIDTH / len(lanes)
    last = list(boxes.values())[-1]
    height = last.y + last.height + 8
    drawing = Drawing(_WIDTH)
    for number, service in enumerate(lanes):
        x = number * width
        drawing.rect(x + 2, 0, width - 4, height, "lane", 6)
        drawing.text(x + width / 2, 21, fitted(service, width - 16), "ink strong", "middle")
    for source, target in _uses(task):
        _draw_use(drawing, boxes[source], boxes[target], width, len(lanes))
    for box in boxes.values():  # over the arrows, so that every word can be read
        _draw_box(drawing, box, width)
    return drawing.markup(height, _described(task), "walk")


def _boxes(task: Task, certificate: Certificate, lanes: list[str]) -> dict[str, _Box]:
    found: dict[str, _Box] = {}
    y = _TOP
    for name, step in sorted(task.gold.items()):
        record = certificate.gold_run.get(name)
        lines = [
            _told(pointer[1:], source, task) for pointer, source in sorted(step.arguments.items())
        ]
        lines += _reactions(record)
        if step.revisit_of is not None:
            lines.append(f"reads again what {step.revisit_of} read")
        height = _HEAD + _LINE * len(lines) + _PADDING
        found[name] = _Box(
            name=name,
            lane=lanes.index(step.service),
            y=y,
            height=height,
            title=step.tool,
            lines=tuple(lines),
            is_write=record is not None and bool(record.changes),
        )
        y += height + _BETWEEN
    if task.answer:
        told = [_told(field, source, task) for field, source in sorted(task.answer.items())]
        height = _HEAD + _LINE * len(told) + _PADDING
        found[_ANSWER] = _Box(_ANSWER, -1, y, height, "the answer", tuple(told), is_write=False)
    return found


def _told(name: str, source: Provenance, task: Task) -> str:
    """Return an argument, or a field of the answer, with where its value comes from."""
    if isinstance(source, FromInstruction):
        return f'{name}: "{task.instruction[source.start : source.end]}"'
    if isinstance(source, FromDefault):
        return f"{name}: always {source.value}"
    shown = [(str(place.field or place.path[-1]), place.step) for place in observations_of(source)]
    if len(shown) == 1 and shown[0][0] == name:
        return f"{name} of {shown[0][1]}"
    places = ", ".join(f"{field} of {step}" for field, step in shown)
    return f"{name}: {places or 'worked out'}"


def _reactions(record: CallRecord | None) -> list[str]:
    """Return what the call sets off in other services, as one line; none where nothing is."""
    changed = {
        change.service
        for change in (() if record is None else record.changes)
        if change.cause.startswith("reaction:")
    }
    return [f"sets off: {', '.join(sorted(changed))}"] if changed else []


def _uses(task: Task) -> list[tuple[str, str]]:
    """Return which step's answer is used by which, without repeats."""
    users = [(name, tuple(step.arguments.values())) for name, step in sorted(task.gold.items())]
    if task.answer:
        users.append((_ANSWER, tuple(task.answer.values())))
    return list(
        dict.fromkeys(
            (place.step, name)
            for name, sources in users
            for source in sources
            for place in observations_of(source)
        )
    )


def _span(box: _Box, width: float) -> tuple[float, float]:
    """Return where a box begins, and how wide it is."""
    if box.lane < 0:
        return 12.0, _WIDTH - 24
    return box.lane * width + 12, width - 24


def _draw_box(drawing: Drawing, box: _Box, width: float) -> None:
    x, wide = _span(box, width)
    drawing.rect(x, box.y, wide, box.height, "call write" if box.is_write else "call", 5)
    label = box.title if box.lane < 0 else f"{box.name} {box.title}"
    drawing.text(x + 8, box.y + 17, fitted(label, wide - 26), "ink strong")
    room = (wide - 16) * 1.27  # the letters are smaller than a title's
    for number, line in enumerate(box.lines):
        y = box.y + _HEAD + _LINE * number + 11
        drawing.text(x + 8, y, fitted(line, room), "soft small")


def _draw_use(drawing: Drawing, source: _Box, target: _Box, width: float, lanes: int) -> None:
    """Draw an arrow from the bottom of one box to the top of another; in one lane it goes round."""
    left, wide = _span(source, width)
    there, room = _span(target, width)
    hue = round(360 * max(source.lane, 0) / lanes)
    # Arrows of different sources arrive at different places.
    share = (source.lane + 1) / (lanes + 1)
    start = (left + wide * (0.25 + 0.5 * share), source.y + source.height)
    tip = (there + room * (0.15 + 0.7 * share), target.y - 1)
    sideways = 0.0 if source.lane != target.lane else wide * 0.55
    bend = ((start[0] + tip[0]) / 2 + sideways, (start[1] + tip[1]) / 2)
    if source.lane != target.lane:
        bend = (tip[0], start[1] + (tip[1] - start[1]) * 0.35)
    drawing.arrow(start, bend, tip, hue, 1.6)


def _described(task: Task) -> str:
    calls = "; ".join(
        f"{name} {step.service}.{step.tool}" for name, step in sorted(task.gold.items())
    )
    uses = ", ".join(f"{target} uses {source}" for source, target in _uses(task))
    return f"Calls: {calls}. {uses}."
