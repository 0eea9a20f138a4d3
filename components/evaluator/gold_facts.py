"""Which facts a gold solution puts into free text, by provenance.

A fact is a value that gold took from an observation, or a marked span of the instruction, and put
into the text. The words around it are nobody's demand. A text that the instruction gives whole is
one fact, as is text that was there before the write and is still there after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.environment.world import World
from components.evaluator.created import Place
from components.evaluator.facts import holds_fact, text_of
from components.evaluator.reach import reach_of
from components.records.calls import CallRecord
from components.records.rubric import Equivalence
from components.records.task import (
    FromDefault,
    FromExpression,
    FromInstruction,
    FromRows,
    FromRule,
    Provenance,
    Task,
)

_EXACT = Equivalence(ignore_case=False, trim_space=False)


@dataclass(frozen=True, slots=True)
class Fragment:
    """One argument of gold as text, and the values that provenance says were put into it."""

    text: str
    facts: tuple[str, ...]
    reaches: frozenset[tuple[Place, str]]
    """Rows and fields that the argument goes into."""


def gold_fragments(
    task: Task, gold_run: Sequence[CallRecord], world: World
) -> tuple[Fragment, ...]:
    """Return every textual argument of gold that holds facts.

    Args:
        task: for its instruction and provenance.
        gold_run: the executed calls, in the order of the steps' sorted names.
        world: for its blueprints, which say where an argument goes.
    """
    steps = dict(zip(sorted(task.gold), gold_run, strict=True))
    found = []
    for name, call in steps.items():
        for pointer, provenance in sorted(task.gold[name].arguments.items()):
            text = text_of(value_at(call.arguments, pointer))
            if not text:
                continue
            values = (_text(value) for value in _leaves(provenance, task, steps))
            facts = tuple(
                dict.fromkeys(
                    value for value in values if value.strip() and holds_fact(text, value, _EXACT)
                )
            )
            if facts:
                argument = pointer.split("/")[1]
                found.append(Fragment(text, facts, _reached(call, argument, world)))
    return tuple(found)


def facts_of_field(
    place: Place, field: str, before: Any, after: Any, fragments: Sequence[Fragment]
) -> tuple[str, ...]:
    """Return the facts that one free-text field must hold.

    Args:
        place: the row.
        field: the field.
        before: its value before gold; None for a created row.
        after: its value after gold.
        fragments: of the whole gold solution; one counts where its whole text stands in the field.
    """
    text = text_of(after)
    facts = [
        fact
        for piece in fragments
        if (place, field) in piece.reaches and piece.text in text
        for fact in piece.facts
    ]
    return tuple(dict.fromkeys([*facts, *_kept(before, after)]))


def value_at(document: Any, pointer: str) -> Any:
    """Return what a JSON Pointer names, or None."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, Mapping):
            document = document.get(key)
        elif isinstance(document, (list, tuple)) and key.isdigit() and int(key) < len(document):
            document = document[int(key)]
        else:
            return None
    return document


def _leaves(provenance: Provenance, task: Task, steps: Mapping[str, CallRecord]) -> Iterator[Any]:
    if isinstance(provenance, (FromDefault, FromRows, FromRule)):
        return
    if isinstance(provenance, FromInstruction):
        yield task.instruction[provenance.start : provenance.end]
    elif isinstance(provenance, FromExpression):
        for _, inner in sorted(provenance.inputs.items()):
            yield from _leaves(inner, task, steps)
    else:
        call = steps.get(provenance.step)
        value: Any = None if call is None else call.envelope.get("data")
        for part in provenance.path:
            if isinstance(value, Mapping):
                value = value.get(str(part))
            elif isinstance(value, (list, tuple)) and isinstance(part, int) and part < len(value):
                value = value[part]
            else:
                return
        if provenance.pick is not None:
            index = provenance.pick.index_in(value)
            value = None if index is None else value[index].get(provenance.field)
        yield value


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    return str(value)


def _reached(call: CallRecord, argument: str, world: World) -> frozenset[tuple[Place, str]]:
    reach = reach_of(world.services[call.service].blueprint.tools[call.tool], argument)
    found = set()
    for change in call.changes:
        label, _, name = change.cause.partition(":")
        if label == "effect" and name in reach:
            place = Place(change.service, change.table, change.row_id)
            found |= {(place, field) for field in reach[name].fields}
    return frozenset(found)


def _kept(before: Any, after: Any) -> list[str]:
    """Return the texts that were in the field before gold and that gold only added to."""
    if isinstance(before, str) and isinstance(after, str):
        is_added_to = after.startswith(before) or after.endswith(before)
        return [before.strip()] if before.strip() and is_added_to else []
    if isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        return [item for item in before if isinstance(item, str) and item and item in after]
    return []
