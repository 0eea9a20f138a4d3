"""Mistakes with values: one is taken from a place that looks like the right one.

Each mistake is a changed task: the line is played with it, and whatever later steps take from it
follows. Owns what is changed; whether the line ends otherwise is seen by playing it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from components.environment.state import rows_of
from components.environment.world import World
from components.records.frozen import FrozenDict
from components.records.task import (
    FromDefault,
    FromExpression,
    FromInstruction,
    FromObservation,
    FromRows,
    FromRule,
    Provenance,
    Task,
    has_all,
)
from components.task.gates import known_of, parameter_of
from components.task.gold import Gold
from components.task.graph import ToolGraph
from components.task.known import Known
from components.task.lines import ANSWER, path_of, put_for, with_source
from components.task.provenance import (
    ProvenanceError,
    at_path,
    concrete,
    derive_value,
    observations_of,
)

_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_TIME_LENGTH = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A task in which one value comes from a wrong place."""

    kind: str
    user: str
    """Step that uses the value, or `answer`."""
    pointer: str
    task: Task
    did: str
    """What was done, in words."""


class ValueMistakes:
    """Makes the mistakes with values of one task."""

    def __init__(self, world: World, task: Task, graph: ToolGraph, gold: Gold) -> None:
        """Args: as certified."""
        self._world, self._task, self._graph, self._gold = world, task, graph, gold

    def all(self) -> Iterator[Mistake]:
        """Yield every mistake, in a fixed order."""
        for user, pointer, source in self._sources():
            if isinstance(source, FromRule):
                for said in sorted({source.allowed, source.otherwise} - {self._said(source)}):
                    wrong = FromDefault(value=said)
                    yield self._mistake("wrong_outcome", user, pointer, wrong, f"{said!r} said")
                continue
            for place in dict.fromkeys(observations_of(source)):
                for kind, other, did in self._other_places(place):
                    yield self._mistake(kind, user, pointer, put_for(source, place, other), did)
            if isinstance(source, FromInstruction):
                for kind, value in self._other_words(user, pointer):
                    did = f"{value!r} for {self._text(source)!r}"
                    yield self._mistake(kind, user, pointer, FromDefault(value=value), did)
            if isinstance(source, FromRows):
                for value, did in self._miscounted(source):
                    yield self._mistake("miscount", user, pointer, FromDefault(value=value), did)
            if isinstance(source, FromExpression) and source.template:
                yield self._mistake(
                    "unfilled_text",
                    user,
                    pointer,
                    FromDefault(value=source.template),
                    f"{source.template!r} as it stands",
                )

    def _said(self, source: FromRule) -> Any:
        return derive_value(source, self._task.instruction, self._gold.observed)

    def _miscounted(self, source: FromRows) -> Iterator[tuple[int | float, str]]:
        """Yield wrong numbers over a list: one row more or less, and rows that do not belong."""
        right = derive_value(source, self._task.instruction, self._gold.observed)
        every = source.model_copy(update={"where": FrozenDict()})
        _found, rows = at_path(self._gold.observed[source.step], source.path)
        wrong: list[tuple[int | float, str]] = [(right + 1, "one more"), (right - 1, "one less")]
        if source.operation == "sum":
            values = [row.get(source.field) for row in rows if has_all(row, source.where)]
            wrong += [(right - value, "a row left out") for value in values[:1]]
            wrong.append((round(right / len(values), 2), "the mean"))
        try:
            whole = derive_value(every, self._task.instruction, self._gold.observed)
            wrong.append((whole, "over all rows"))
        except ProvenanceError:
            pass  # A row that does not belong has no such number.
        for value, did in wrong:
            if value != right:
                yield value, f"{value} for {right}, {did}"

    def hedges(self) -> Iterator[Mistake]:
        """Yield texts that hold what they should and, after it, another row's value as well.

        Apart from the mistakes: whoever writes both has looked the right one up.
        """
        for user, pointer, source in self._sources():
            places = observations_of(source) if isinstance(source, FromExpression) else ()
            for place in places[:1]:
                fact = self._fact(concrete(place, self._gold.observed[place.step]))
                if fact is None:
                    continue
                rows = rows_of(self._gold.initial, fact.place.service, fact.place.table).values()
                values = sorted({str(row[fact.place.field]) for row in rows} - {str(fact.value)})
                if values:
                    more = FromDefault(value=f", or {values[0]}")
                    both = FrozenDict[str, Provenance]({"a": source, "b": more})
                    hedged = FromExpression(operation="concat", inputs=both)
                    did = f"also {values[0]!r} beside {fact.value!r}"
                    yield self._mistake("hedged_text", user, pointer, hedged, did)

    def _sources(self) -> Iterator[tuple[str, str, Provenance]]:
        for name in self._gold.names:
            for pointer, source in sorted(self._task.gold[name].arguments.items()):
                yield name, pointer, source
        for field, source in sorted(self._task.answer.items()):
            yield ANSWER, f"/{field}", source

    def _mistake(self, kind: str, user: str, pointer: str, source: Provenance, did: str) -> Mistake:
        where = "answer" if user == ANSWER else f"{user} {self._task.gold[user].tool}"
        return Mistake(
            kind=kind,
            user=user,
            pointer=pointer,
            task=with_source(self._task, user, pointer, source),
            did=f"{where}{pointer}: {did}",
        )

    def _other_places(self, place: FromObservation) -> Iterator[tuple[str, FromObservation, str]]:
        """Yield kind, place and words of other values than the one that an answer shows."""
        here = concrete(place, self._gold.observed[place.step])
        found, value = at_path(self._gold.observed[place.step], here.path)
        if not found:
            return
        fact = self._fact(here)
        earlier = self._task.gold[place.step].revisit_of
        if earlier is not None and fact is not None:
            for first in known_of(self._task, self._graph, self._gold, earlier):
                is_same = (first.row, first.place) == (fact.row, fact.place)
                if is_same and first.value != value:
                    yield self._at("first_reading", earlier, first.path, value, first.value)
        yield from self._siblings(here, value)
        yield from self._fields(here, fact, value)

    def _siblings(
        self, here: FromObservation, value: Any
    ) -> Iterator[tuple[str, FromObservation, str]]:
        """Yield the same field of the rows before and after, in a list."""
        data = self._gold.observed[here.step]
        numbers = [at for at, part in enumerate(here.path) if isinstance(part, int)]
        for at in numbers[-1:]:
            for step in (1, -1):
                path = (*here.path[:at], int(here.path[at]) + step, *here.path[at + 1 :])
                found, other = at_path(data, path)
                if found and other != value and other is not None:
                    yield self._at("sibling_row", here.step, path, value, other)

    def _fields(
        self, here: FromObservation, fact: Known | None, value: Any
    ) -> Iterator[tuple[str, FromObservation, str]]:
        """Yield other fields of the row: the one that means the same sort of thing, and another."""
        found, row = at_path(self._gold.observed[here.step], here.path[:-1])
        if not found or not isinstance(row, (dict, FrozenDict)):
            return
        alike: list[str] = []
        other: list[str] = []
        for name in sorted(row):
            if type(row[name]) is not type(value) or row[name] == value:
                continue
            known = self._fact(here.model_copy(update={"path": (*here.path[:-1], name)}))
            is_alike = fact is not None and known is not None and known.means == fact.means
            (alike if is_alike else other).append(name)
        for name in (*alike[:2], *other[:1]):
            path = (*here.path[:-1], name)
            yield self._at("sibling_field", here.step, path, value, row[name])

    def _fact(self, place: FromObservation) -> Known | None:
        known = known_of(self._task, self._graph, self._gold, place.step)
        return next((item for item in known if item.path == place.path), None)

    def _at(
        self, kind: str, step: str, path: tuple[str | int, ...], value: Any, other: Any
    ) -> tuple[str, FromObservation, str]:
        shown = "/".join(map(str, path))
        did = f"{other!r} ({shown} of {step}) for {value!r}"
        return kind, FromObservation(step=step, path=path), did

    def _text(self, source: FromInstruction) -> str:
        return self._task.instruction[source.start : source.end]

    def _other_words(self, user: str, pointer: str) -> Iterator[tuple[str, Any]]:
        """Yield kind and value of what a careless reader takes for a value of the request."""
        step = self._task.gold[user]
        parameter = parameter_of(self._graph.tools[step.service, step.tool], pointer)
        if parameter is None:
            return
        _found, value = at_path(self._gold.records[user].arguments, path_of(pointer))
        if parameter.is_free_text:
            yield from _other_texts(str(value))
            return
        place = parameter.place
        choices = [item for item in parameter.schema.get("enum") or () if item != value]
        if choices:
            yield "other_choice", choices[-1]
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield from (("wrong_scale", value * 10), ("wrong_scale", value * 100))
            yield "wrong_scale", value // 10 if isinstance(value, int) else value / 10
        elif isinstance(value, str) and len(value) == _TIME_LENGTH and value.endswith("Z"):
            moment = datetime.strptime(value, _TIME_FORMAT)
            for off in (timedelta(hours=-1), timedelta(hours=2), timedelta(days=365)):
                yield "wrong_time", (moment + off).strftime(_TIME_FORMAT)
        elif isinstance(value, str) and place is not None:
            rows = rows_of(self._gold.initial, place.service, place.table).values()
            others = sorted({str(row[place.field]) for row in rows if row.get(place.field)})
            if value in others:
                at = others.index(value)
                near = others[max(0, at - 1) : at] + others[at + 1 : at + 2]
                yield from (("wrong_referent", other) for other in near)


def _other_texts(text: str) -> Iterator[tuple[str, str]]:
    """Yield a text that the request gives whole, cut short, and another text in its place."""
    words = text.split()
    if len(words) > 1:
        yield "cut_text", " ".join(words[: len(words) // 2])
    yield "other_text", "Done."
