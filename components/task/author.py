"""From a walk to a task: instruction with spans, gold with provenance, answer with schema."""

from __future__ import annotations

import random
from typing import Any

from components.errors import SynthesisError
from components.records.base import to_json
from components.records.frozen import FrozenDict, content_hash, freeze
from components.records.task import (
    Demand,
    FromExpression,
    FromInstruction,
    FromObservation,
    GoldStep,
    Provenance,
    Referent,
    Task,
)
from components.records.world import WorldSpec
from components.task.filling import FACT, Argument
from components.task.ground import Ground
from components.task.known import Known
from components.task.phrases import phrases
from components.task.spans import Span, Tag, flatten
from components.task.steps import Walk, WalkStep
from components.task.wording import Wording

_JSON_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number"}


def author_task(
    ground: Ground, walk: Walk, world: WorldSpec, seed: int, rng: random.Random
) -> Task:
    """Return the task of a walk; its id is a hash of its content, whatever seed led to it.

    Raises:
        SynthesisError: a row or a value of the walk cannot be put into words.
    """
    text, spans = flatten(Wording(ground, walk, rng).request())
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
        answer=FrozenDict({name: _observed(fact) for name, fact in sorted(walk.answer.items())}),
        answer_schema=freeze(_answer_schema(walk)),
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
        observed = _observed(item.source)
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
    is_number = isinstance(item.value, int) and not isinstance(item.value, bool)
    return FromInstruction(
        start=span.start, end=span.end, cast="integer" if is_number else "string"
    )


def _same_words(item: Argument, walk: Walk, spans: dict[Tag, Span]) -> Span | None:
    """Return where the request states the same value for another step: a row that it names once."""
    for step in walk.steps:
        for other in step.arguments:
            if other.source is None and other.value == item.value:
                span = spans.get(("literal", step.name, other.parameter.pointer))
                if span is not None:
                    return span
    return None


def _observed(fact: Known) -> FromObservation:
    if fact.pick is None:
        return FromObservation(step=fact.step, path=fact.path)
    *rows, _index, field = fact.path
    return FromObservation(step=fact.step, path=tuple(rows), pick=fact.pick, field=str(field))


def _answer_schema(walk: Walk) -> dict[str, Any]:
    fields = sorted(walk.answer.items())
    return {
        "type": "object",
        "properties": {
            name: {"type": _JSON_TYPES[type(fact.value)], "description": _described(name, fact)}
            for name, fact in fields
        },
        "required": [name for name, _fact in fields],
        "additionalProperties": False,
    }


def _described(name: str, fact: Known) -> str:
    noun = phrases().noun(fact.place)
    return f"The {noun} at the start." if name.endswith("_before") else f"The {noun}."
