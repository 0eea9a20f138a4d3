"""From a design and the calls that solved it to a task as every other: spans, gold, provenance.

Owns which of the accepted calls count: all writes, and the reads whose values these or the answer
rest on, with the first reading of whatever is read again. It judges nothing beyond what it cannot
put together; the gates do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from components.records.calls import CallRecord
from components.records.frozen import FrozenDict, freeze
from components.records.task import (
    Demand,
    FromExpression,
    FromInstruction,
    FromObservation,
    FromRows,
    GoldStep,
    Provenance,
    Referent,
    Task,
)
from components.records.world import WorldSpec
from components.task.author import answer_schema, task_id_of
from components.task.model_author.records import Design, Effect
from components.task.model_author.sources import Sources, name_of
from components.task.model_author.stated import span_of
from components.task.provenance import concrete, observations_of
from components.task.reasons import Rejection
from components.task.spans import Span

_ANSWER = "answer"


def traced_task(
    design: Design,
    sources: Sources,
    records: tuple[CallRecord, ...],
    effects: Mapping[int, Effect],
    finish: Mapping[str, Any],
    world: WorldSpec,
    seed: int,
) -> Task | Rejection:
    """Return the task of a design that was solved.

    Args:
        design: request, effects, fields of the answer.
        sources: what its calls have shown.
        records: the calls that were accepted, in order.
        effects: number of each write -> what asks for it.
        finish: the answer that was given.
        world: where it was solved.
        seed: of the draft.
    """
    tracing = _Tracing(design, sources, records, effects)
    problem = tracing.follow(finish)
    if problem is not None:
        return problem
    kept = sorted(tracing.arguments)
    names = {name_of(number): f"s{place:02d}" for place, number in enumerate(kept, 1)}
    answer = {key: _renamed(item, names) for key, item in sorted(tracing.answer.items())}
    gold = {
        names[name_of(number)]: GoldStep(
            service=records[number].service,
            tool=records[number].tool,
            arguments=FrozenDict(
                {key: _renamed(item, names) for key, item in tracing.arguments[number].items()}
            ),
            revisit_of=names.get(tracing.revisits.get(number, "")),
        )
        for number in kept
    }
    draft = Task(
        task_id="",
        seed=0,
        instruction=design.instruction,
        demands=FrozenDict(_numbered("d", _demands(design, effects, names))),
        referents=FrozenDict(_numbered("r", _referents(design, gold, answer))),
        world=world,
        gold=FrozenDict(gold),
        answer=FrozenDict(answer),
        answer_schema=freeze(
            answer_schema(
                {name: (finish[name], item.description) for name, item in design.answer.items()}
            )
        ),
        author="model",
    )
    return draft.model_copy(update={"task_id": task_id_of(draft), "seed": seed})


@dataclass(slots=True)
class _Tracing:
    """Which calls count, while it is being found out."""

    design: Design
    sources: Sources
    records: tuple[CallRecord, ...]
    effects: Mapping[int, Effect]
    arguments: dict[int, FrozenDict[str, Provenance]] = field(default_factory=dict)
    answer: dict[str, Provenance] = field(default_factory=dict)
    revisits: dict[int, str] = field(default_factory=dict)
    """Call -> name of the earlier call that read the same, when it was otherwise."""

    def follow(self, finish: Mapping[str, Any]) -> Rejection | None:
        """Go back from the writes and the answer to what they rest on."""
        for name, item in sorted(self.design.answer.items()):
            source = self.sources.answer(name, item, finish[name])
            if isinstance(source, Rejection):
                return source
            self.answer[name] = source
        wanted = {*self.effects, *(n for made in self.answer.values() for n in _steps(made))}
        while wanted:
            number = wanted.pop()
            if number not in self.arguments:
                arguments = self.sources.arguments(number, self.effects.get(number))
                if isinstance(arguments, Rejection):
                    return arguments
                self.arguments[number] = arguments
                wanted |= {n for source in arguments.values() for n in _steps(source)}
            if not wanted:
                wanted = self._first_readings()
        return None

    def _first_readings(self) -> set[int]:
        """Return the first readings that are wanted too: of values that have changed since."""
        found = set[int]()
        used = [
            concrete(place, self.records[_number(place.step)].envelope["data"])
            for source in self._all_sources()
            for place in observations_of(source)
        ]
        for place in used:
            again = _number(place.step)
            fact = self.sources.known[again].get(place.path)
            if fact is None or again in self.revisits or self.sources.shape(again).is_write:
                continue
            for first in range(again):
                old = [
                    item
                    for item in self.sources.known[first].values()
                    if (item.row, item.place.field) == (fact.row, fact.place.field)
                ]
                is_read = not self.sources.shape(first).is_write
                if is_read and any(item.value != fact.value for item in old):
                    self.revisits[again] = name_of(first)
                    found |= {first} - set(self.arguments)
                    break
        return found

    def _all_sources(self) -> Iterator[Provenance]:
        yield from self.answer.values()
        for made in self.arguments.values():
            yield from made.values()


def _demands(
    design: Design, effects: Mapping[int, Effect], names: Mapping[str, str]
) -> list[Demand]:
    said = [(effect.words, names[name_of(number)]) for number, effect in effects.items()]
    said += [(item.words, _ANSWER) for item in design.answer.values()]
    found = []
    for words, step in dict.fromkeys(said):
        span = span_of(design.instruction, words)
        assert span is not None
        found.append(Demand(start=span.start, end=span.end, step=step))
    return sorted(found, key=lambda item: (item.start, item.step))


def _referents(
    design: Design, gold: Mapping[str, GoldStep], answer: Mapping[str, Provenance]
) -> list[Referent]:
    """Return the rows that stand for words: those of a list, and those that the request names."""
    found: dict[tuple[Any, ...], Referent] = {}
    users: list[tuple[str, Provenance]] = [(_ANSWER, item) for item in answer.values()]
    users += [(name, item) for name, step in gold.items() for item in step.arguments.values()]
    for _user, source in users:
        for place in () if isinstance(source, FromRows) else observations_of(source):
            spans = [
                Span(item.start, item.end)
                for _pointer, item in sorted(gold[place.step].arguments.items())
                if isinstance(item, FromInstruction)
            ]
            is_listed = place.pick is not None or any(isinstance(p, int) for p in place.path)
            if not (spans or is_listed):
                continue
            span = _picked_words(design, place) or (spans or _whole(design))[0]
            rows = place.path if place.pick is not None else _rows_path(place.path)
            found.setdefault(
                (place.step, rows, place.pick),
                Referent(
                    start=span.start, end=span.end, step=place.step, rows_path=rows, pick=place.pick
                ),
            )
    return sorted(found.values(), key=lambda item: (item.start, item.step, str(item.rows_path)))


def _picked_words(design: Design, place: FromObservation) -> Span | None:
    for said in design.picks:
        pick = place.pick
        if pick is not None and (said.by, said.most) == (pick.by, pick.most):
            return span_of(design.instruction, said.words)
    return None


def _whole(design: Design) -> list[Span]:
    return [Span(0, len(design.instruction))]


def _rows_path(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Return the place of the row, or of the list that has to have one element."""
    lists = [depth for depth, part in enumerate(path) if isinstance(part, int)]
    return path[: lists[-1]] if lists else path[:-1]


def _numbered(letter: str, items: list[Any]) -> dict[str, Any]:
    return {f"{letter}{number:02d}": item for number, item in enumerate(items, 1)}


def _steps(source: Provenance) -> set[int]:
    return {_number(place.step) for place in observations_of(source)}


def _number(name: str) -> int:
    return int(name[1:])


def _renamed(source: Provenance, names: Mapping[str, str]) -> Provenance:
    if isinstance(source, (FromObservation, FromRows)):
        return source.model_copy(update={"step": names[source.step]})
    if isinstance(source, FromExpression):
        inputs = {key: _renamed(item, names) for key, item in source.inputs.items()}
        return source.model_copy(update={"inputs": FrozenDict(inputs)})
    return source
