"""What the kinds of fault of the task look at: one task, its certified run, and its rows.

Owns how a change of a task is written down; it never decides whether a change shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from attribution.change import Change, Operation
from attribution.faults.kinds import Clean, change_of
from attribution.patchers.task import respelled_steps
from attribution.swap import body_of
from components.records.blueprint import EntityBlueprint, FieldBlueprint, FieldType
from components.records.calls import CallRecord
from components.records.frozen import thaw
from components.records.system import System
from components.records.task import FromInstruction, FromObservation, GoldStep, Task
from components.task.provenance import at_path, observations_of

INSTRUCTION = ("instruction",)
"""Place of a fault in the words of a task."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A value that gold takes from the instruction."""

    step: str
    pointer: str
    start: int
    end: int
    text: str
    cast: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """A value that gold takes from an earlier answer."""

    step: str
    """Gold step that needs it, or `answer`."""
    at: tuple[str, ...]
    """Keys in the task of where the value comes from."""
    source: FromObservation
    value: Any
    data: Any
    """The earlier answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the seed."""

    service: str
    table: str
    row_id: str
    values: Mapping[str, Any]

    @property
    def key(self) -> str:
        """`service/table/id`."""
        return f"{self.service}/{self.table}/{self.row_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """One certified task."""

    system: System
    task: Task
    calls: Mapping[str, CallRecord]
    """The certified calls, by step."""

    @property
    def body(self) -> dict[str, Any]:
        """The task as plain JSON, the caller's own."""
        body: dict[str, Any] = body_of(self.system, f"task/{self.task.task_id}")
        return body

    def change(
        self, operations: Iterable[tuple[str, str, object]], place: tuple[str, ...], reason: str
    ) -> Change:
        """Return a change of this task."""
        return change_of(f"task/{self.task.task_id}", operations, place, reason)

    def reworded(
        self,
        places: Iterable[tuple[int, int, str]],
        reason: str,
        more: Iterable[Operation] = (),
    ) -> Change:
        """Return the change that puts texts at [start, end) of the instruction, all spans moved
        along, and then does more.
        """
        return self.change([*respelled_steps(self.body, places), *more], INSTRUCTION, reason)

    def everywhere(self, old: str, new: str) -> list[tuple[int, int, str]]:
        """Return the places of a word or phrase in the instruction, each with its new text."""
        found = re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", self.task.instruction)
        return [(*item.span(), new) for item in found]

    def given(self) -> list[Given]:
        """Return what gold takes from the instruction, in the order of the steps."""
        return [
            Given(
                step=name,
                pointer=pointer,
                start=source.start,
                end=source.end,
                text=self.task.instruction[source.start : source.end],
                cast=source.cast,
            )
            for name, step in sorted(self.task.gold.items())
            for pointer, source in sorted(step.arguments.items())
            if isinstance(source, FromInstruction)
        ]

    def used(self) -> list[Used]:
        """Return what gold takes as it stands from earlier answers, in the order of the steps, the
        answer last; without what is picked of a list or worked out.
        """
        sources: list[tuple[str, tuple[str, ...], Any]] = [
            (name, ("gold", name, "arguments", pointer), source)
            for name, step in sorted(self.task.gold.items())
            for pointer, source in sorted(step.arguments.items())
        ]
        sources += [
            ("answer", ("answer", name), source)
            for name, source in sorted(self.task.answer.items())
        ]
        found = []
        for step, at, source in sources:
            is_plain = isinstance(source, FromObservation) and source.pick is None
            if is_plain and source.step in self.calls:
                data = self.calls[source.step].envelope.get("data")
                is_there, value = at_path(data, source.path)
                if is_there:
                    used = Used(step=step, at=at, source=source, value=value, data=data)
                    found.append(used)
        return found

    def writes(self) -> list[str]:
        """Return the steps that changed something, in order."""
        return [name for name in sorted(self.task.gold) if self.calls[name].changes]

    def idle_writes(self) -> list[str]:
        """Return the steps that changed something and whose answer nothing else is taken from."""
        sources = [
            *(source for step in self.task.gold.values() for source in step.arguments.values()),
            *self.task.answer.values(),
        ]
        needed = {place.step for source in sources for place in observations_of(source)}
        needed |= {step.revisit_of for step in self.task.gold.values() if step.revisit_of}
        return [name for name in self.writes() if name not in needed]

    def new_step(self, number: int = 1) -> str:
        """Return the name of the step this many after the last."""
        return f"s{int(max(self.task.gold)[1:]) + number:02d}"

    def rows(self, *services: str) -> Iterator[Row]:
        """Yield the rows of these services, of the task's own where none is named, that the task
        leaves as they are in the seed.
        """
        for service in services or self.task.world.services:
            for table, rows in sorted(self.system.environment.seeds[service].tables.items()):
                for row_id, values in sorted(rows.items()):
                    row = Row(service=service, table=table, row_id=row_id, values=thaw(values))
                    if row.key not in self.task.world.overrides:
                        yield row

    def entity(self, service: str, table: str) -> EntityBlueprint:
        """Return what is known of a table's rows."""
        return self.system.environment.blueprints[service].entities[table]

    def field(self, row: Row, name: str) -> FieldBlueprint:
        """Return what is known of a field."""
        return self.entity(row.service, row.table).fields[name]

    def named(self, service: str, value: str) -> Iterator[tuple[Row, str]]:
        """Yield the rows that plain text names, each with the field that holds it."""
        for row in self.rows(service):
            for name, found in sorted(row.values.items()):
                known = self.field(row, name)
                is_plain = known.type is FieldType.STRING and not known.enum and not known.link
                is_key = name == self.entity(row.service, row.table).key
                if found == value and is_plain and not is_key and not known.free_text:
                    yield row, name

    def alike(self, row: Row) -> list[Row]:
        """Return the other rows of a row's table."""
        return [
            other
            for other in self.rows(row.service)
            if other.table == row.table and other.row_id != row.row_id
        ]

    def row_of(self, value: Any) -> Row | None:
        """Return the row of the task's services that has this id."""
        if not isinstance(value, str):
            return None
        return next((row for row in self.rows() if row.row_id == value), None)

    def schema(self, step: GoldStep) -> Mapping[str, Any]:
        """Return the parameters' schemas of a step's tool, by name."""
        spec = self.system.reference.specs[step.service].tools[step.tool]
        properties: Mapping[str, Any] = spec.input_schema.get("properties") or {}
        return properties

    def parameter(self, step: str, pointer: str) -> Mapping[str, Any]:
        """Return the schema of the parameter that an argument is part of."""
        found = self.schema(self.task.gold[step]).get(pointer.split("/")[1])
        return found if isinstance(found, Mapping) else {}


def parts_of(clean: Clean) -> Iterator[Parts]:
    """Yield the certified tasks, in a drawn order."""
    for task in clean.tasks():
        calls = dict(clean.gold_run(task.task_id))
        if set(calls) == set(task.gold):
            yield Parts(system=clean.system, task=task, calls=calls)


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the span of each sentence."""
    ends = [found.start() for found in re.finditer(r"(?<=[.!?])\s+(?=[A-Z])", text)]
    starts = [0, *(found.end() for found in re.finditer(r"(?<=[.!?])\s+(?=[A-Z])", text))]
    return list(zip(starts, [*ends, len(text)], strict=True))


def sibling_paths(item: Used) -> list[tuple[tuple[str | int, ...], Any]]:
    """Return the other texts and numbers of the row that a value is taken from, by path: those
    that look like it first.
    """
    is_there, row = at_path(item.data, item.source.path[:-1])
    if not is_there or not isinstance(row, Mapping):
        return []
    found = [
        ((*item.source.path[:-1], name), other)
        for name, other in sorted(row.items())
        if type(other) is type(item.value) and other != item.value
    ]
    start = str(item.value).partition("_")[0]
    return sorted(found, key=lambda pair: str(pair[1]).partition("_")[0] != start)
