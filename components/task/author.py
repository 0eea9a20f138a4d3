"""From a walk to a task: instruction with spans, gold with provenance, answer with schema."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from components.errors import SynthesisError
from components.records.base import to_json
from components.records.frozen import FrozenDict, content_hash, freeze
from components.records.task import (
    Clause,
    Condition,
    Demand,
    Every,
    FromDefault,
    FromExpression,
    FromInstruction,
    FromObservation,
    FromRows,
    GoldStep,
    Provenance,
    Referent,
    Restraint,
    Task,
)
from components.records.world import WorldSpec
from components.task.clauses import Conditional, Forbidden
from components.task.dialogue import Dialogue
from components.task.filling import FACT, Argument
from components.task.ground import Ground
from components.task.known import Known
from components.task.moments import moment_on
from components.task.phrases import phrases
from components.task.request import VALUE, Request
from components.task.spans import Span, Tag, flatten
from components.task.steps import Walk, WalkStep

_JSON_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number"}


def author_task(
    ground: Ground,
    walk: Walk,
    world: WorldSpec,
    seed: int,
    rng: random.Random,
    *,
    has_user: bool = False,
    speaks: bool = True,
) -> Task:
    """Return the task of a walk; its id is a hash of its content, whatever seed led to it.

    Args:
        ground: as explored.
        walk: as found.
        world: where gold will run.
        seed: recorded with the task.
        rng: chooses the words.
        has_user: whether a user says the request bit by bit.
        speaks: whether who acts in a longer request may be the one who says it.

    Raises:
        SynthesisError: a row or a value of the walk cannot be put into words.
    """
    kind = Dialogue if has_user else Request
    request = kind(ground, walk, rng, speaks=speaks)
    text, spans = flatten(request.request())
    draft = Task(
        task_id="",
        seed=0,
        instruction=text,
        demands=FrozenDict(
            {
                f"d{number:02d}": Demand(start=span.start, end=span.end, step=tag[1])
                for number, (tag, span) in enumerate(_of_kind(spans, "demand"), 1)
            }
        ),
        referents=FrozenDict(
            {
                f"r{number:02d}": _referent(walk.step(tag[1]), span)
                for number, (tag, span) in enumerate(_of_kind(spans, "referent"), 1)
            }
        ),
        world=world,
        gold=FrozenDict({step.name: _gold_step(walk, step, spans) for step in walk.steps}),
        answer=FrozenDict(dict(sorted(_answer(walk).items()))),
        answer_schema=freeze(answer_schema(_answer_fields(walk))),
        clauses=FrozenDict(dict(sorted(_clauses(walk, spans)))),
        explicit=walk.explicit if walk.edits else "",
        edits=walk.edits,
    )
    if isinstance(request, Dialogue):
        draft = draft.model_copy(
            update={
                "kind": "multi_turn",
                "user": request.script(spans),
                "policy_rules": request.rules(),
            }
        )
    return draft.model_copy(update={"task_id": task_id_of(draft), "seed": seed})


def task_id_of(task: Task) -> str:
    """Return the id of a task: a short hash of all that it says, without id, seed and split."""
    body = to_json(task)
    for name in ("task_id", "seed", "split"):
        del body[name]
    return f"t_{content_hash(body)[:10]}"


def _of_kind(spans: dict[Tag, Span], kind: str) -> list[tuple[Tag, Span]]:
    return sorted(
        ((tag, span) for tag, span in spans.items() if tag[0] == kind), key=lambda item: item[1]
    )


def _referent(step: WalkStep, span: Span) -> Referent:
    path, pick = step.known[0].path[:-1], step.known[0].pick
    if pick is not None:
        return Referent(
            start=span.start, end=span.end, step=step.name, rows_path=path[:-1], pick=pick
        )
    # A list is named whole: that it has exactly one element is what is checked.
    rows_path = path[:-1] if path and path[-1] == 0 else path
    return Referent(start=span.start, end=span.end, step=step.name, rows_path=rows_path)


def _gold_step(walk: Walk, step: WalkStep, spans: dict[Tag, Span]) -> GoldStep:
    return GoldStep(
        service=step.shape.service,
        tool=step.shape.name,
        arguments=FrozenDict(
            {
                item.parameter.pointer: _provenance(walk, step, item, spans)
                for item in step.arguments
            }
        ),
        revisit_of=walk.first.step if step.name == walk.again.step else None,
    )


def _provenance(walk: Walk, step: WalkStep, item: Argument, spans: dict[Tag, Span]) -> Provenance:
    if item.source is not None:
        observed = observed_fact(item.source)
        if not item.template:
            return observed
        return FromExpression(
            operation="format", template=item.template, inputs=FrozenDict({FACT: observed})
        )
    span = spans.get(("literal", step.name, item.parameter.pointer)) or _same_words(
        item, walk, spans
    )
    if span is None:
        raise SynthesisError(f"{step.name}{item.parameter.pointer}: the request does not state it")
    return _stated(span, item)


def _same_words(item: Argument, walk: Walk, spans: dict[Tag, Span]) -> Span | None:
    """Return where the request states the same value for another step: a row that it names once."""
    for step in walk.steps:
        for other in step.arguments:
            if other.source is None and other.value == item.value:
                span = spans.get(("literal", step.name, other.parameter.pointer))
                if span is not None:
                    return span
    return None


def observed_fact(fact: Known) -> FromObservation:
    """Return where a value that a read showed is found again."""
    if fact.pick is None:
        return FromObservation(step=fact.step, path=fact.path)
    *rows, _index, field = fact.path
    return FromObservation(step=fact.step, path=tuple(rows), pick=fact.pick, field=str(field))


def _answer(walk: Walk) -> dict[str, Provenance]:
    found: dict[str, Provenance] = {name: observed_fact(fact) for name, fact in walk.answer.items()}
    counted = walk.clauses.counted
    if counted is not None:
        where = counted.part.where
        found[counted.name] = FromRows(
            step=counted.part.step,
            path=counted.path,
            operation=counted.operation,
            where=FrozenDict({} if where is None else dict([where])),
            field=counted.field,
        )
    return found


def _clauses(walk: Walk, spans: dict[Tag, Span]) -> Iterator[tuple[str, Clause]]:
    """Yield what the request says beyond its steps, by name."""
    clauses = walk.clauses
    for forbidden in clauses.forbidden():
        span = spans["clause", forbidden.name]
        arguments = {
            item.parameter.pointer: _forbidden_value(forbidden, item, spans)
            for item in forbidden.arguments
        }
        yield (
            forbidden.name,
            Restraint(
                start=span.start,
                end=span.end,
                service=forbidden.shape.service,
                tool=forbidden.shape.name,
                arguments=FrozenDict(arguments),
            ),
        )
    for item in clauses.conditions:
        span, value = spans["clause", item.name], spans["literal", item.name, VALUE]
        yield (
            item.name,
            Condition(
                start=span.start,
                end=span.end,
                source=observed_fact(item.fact),
                relation=item.relation,
                value=_stated(value, item),
                holds=item.holds,
                step=item.step,
                otherwise="" if item.otherwise is None else item.otherwise.name,
            ),
        )
    group = clauses.group
    if group is not None:
        span, part = spans["clause", group.name], group.part
        yield (
            group.name,
            Every(
                start=span.start,
                end=span.end,
                step=part.step,
                rows_path=part.shown.path,
                key=part.key,
                where=FrozenDict({} if part.where is None else dict([part.where])),
                by=part.by,
                most=part.most,
                steps=group.steps,
            ),
        )


def _forbidden_value(forbidden: Forbidden, item: Argument, spans: dict[Tag, Span]) -> Provenance:
    """Return where an argument of a forbidden call comes from; a constant where no words say it."""
    if item.source is not None:
        return observed_fact(item.source)
    span = spans.get(("literal", forbidden.name, item.parameter.pointer))
    return FromDefault(value=item.value) if span is None else _stated(span, item)


def _stated(span: Span, item: Argument | Conditional) -> FromInstruction:
    """Return the span of a value that the request states, read as what it is."""
    if isinstance(item, Argument) and item.words:
        cast = "moment" if moment_on(item.words) is None else "date"
        return FromInstruction(start=span.start, end=span.end, cast=cast)
    is_number = isinstance(item.value, int) and not isinstance(item.value, bool)
    return FromInstruction(
        start=span.start, end=span.end, cast="integer" if is_number else "string"
    )


def _answer_fields(walk: Walk) -> dict[str, tuple[Any, str]]:
    told = {name: (fact.value, _described(name, fact)) for name, fact in walk.answer.items()}
    counted = walk.clauses.counted
    if counted is not None:
        told[counted.name] = (counted.value, "The number asked for.")
    return told


def answer_schema(fields: Mapping[str, tuple[Any, str]]) -> dict[str, Any]:
    """Return the JSON Schema of an answer.

    Args:
        fields: field -> its right value, of which the type is taken, and what it is.
    """
    return {
        "type": "object",
        "properties": {
            name: {"type": _JSON_TYPES[type(value)], "description": text}
            for name, (value, text) in sorted(fields.items())
        },
        "required": sorted(fields),
        "additionalProperties": False,
    }


def _described(name: str, fact: Known) -> str:
    noun = phrases().noun(fact.place)
    return f"The {noun} at the start." if name.endswith("_before") else f"The {noun}."
