"""Arguments of a call in a walk: values seen before, or literals that the request states."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.environment.archetypes.draw import RowDraw
from components.environment.archetypes.meanings import Kind, Meaning
from components.environment.world import World
from components.records.frozen import JsonObject
from components.task.anchors import reference_values
from components.task.graph import Parameter, Place, Role, ToolGraph, ToolShape
from components.task.known import Known, RowKey
from components.task.literals import draw_literal
from components.task.phrases import phrases
from components.task.provenance import assemble
from components.task.senses import is_own, is_record_of_list, row_for, sense, takes

FACT = "value"
"""Name of the one place in the template of a text that states an observed value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument with its source."""

    parameter: Parameter
    value: Any
    source: Known | None
    """The observation that shows it; None for a literal."""
    template: str = ""
    """Not empty: a text made of this and of `source`'s value."""
    words: str = ""
    """Not empty: how the request says a literal that is a time relative to the clock."""


_MOST_GIVEN = 4
"""Values that a person gives in one sentence to a tool that has no phrases."""
Arguments = tuple[Argument, ...]


def as_object(arguments: Arguments) -> JsonObject:
    """Return the arguments as the JSON object of the call."""
    return assemble({item.parameter.pointer: item.value for item in arguments})


def is_grounded(arguments: Arguments) -> bool:
    """Return whether at least one argument needs an observation."""
    return any(item.source is not None for item in arguments)


class Filler:
    """Fills arguments from what is known, by seed."""

    def __init__(self, world: World, graph: ToolGraph, rng: random.Random) -> None:
        """Args: world and graph of the walk; rng for every choice."""
        self._world, self._graph, self._rng = world, graph, rng

    def given(
        self, shape: ToolShape, values: Mapping[str, Any], known: Sequence[Known]
    ) -> Arguments | None:
        """Return the arguments with these values, or None when one of them cannot be had.

        References come from what is known, or are literals where a person would write them.
        Choices keep their value; other literals are drawn anew.
        """
        filled = []
        for item in shape.parameters:
            if item.pointer not in values:
                continue
            value = values[item.pointer]
            if item.names_row:
                source = _find(known, item.means, value)
                if source is None and not item.is_natural:
                    return None
                filled.append(Argument(parameter=item, value=value, source=source))
                continue
            if item.role is Role.SETS and "enum" not in item.schema:
                drawn = draw_literal(self._graph, shape, item, self._world.initial.now, self._rng)
                value = value if drawn is None else drawn
            filled.append(Argument(parameter=item, value=value, source=None))
        return tuple(filled)

    def drawn(
        self, shape: ToolShape, known: Sequence[Known], must: Sequence[Known] = ()
    ) -> Arguments | None:
        """Return drawn arguments of a write, or None when it cannot be filled.

        Args:
            shape: the write.
            known: values that may be used.
            must: when not empty, one of these values has to be used.
        """
        if not _can_be_asked(self._graph, shape):
            return None
        filled: dict[str, Argument] = {}
        row = (
            row_for(shape, self._world.initial.now, self._rng)
            if self._graph.is_compiled(shape.service)
            else None
        )
        is_met = not must
        for item in shape.parameters:
            chosen = self._one_of(item, must) if not is_met else None
            if chosen is not None:
                is_met = True
                filled[item.pointer] = Argument(parameter=item, value=chosen.value, source=chosen)
        for item in shape.parameters:
            if item.pointer in filled:
                continue
            taken = {id(one.source) for one in filled.values()}
            argument = self._drawn_one(shape, item, known, taken, row)
            if argument is None and item.required:
                return None
            if argument is not None:
                filled[item.pointer] = argument
        if not is_met:
            for item in shape.parameters:
                fact = self._rng.choice(list(must))
                if item.is_free_text and item.required and _is_stateable(self._graph, fact):
                    filled[item.pointer] = self._stating(shape, item, fact)
                    is_met = True
                    break
        ordered = tuple(filled[name] for name in sorted(filled))
        return ordered if is_met and is_grounded(ordered) else None

    def _drawn_one(
        self,
        shape: ToolShape,
        item: Parameter,
        known: Sequence[Known],
        taken: Collection[int],
        row: RowDraw | None,
    ) -> Argument | None:
        if item.names_row:
            chosen = self._one_of(item, known)
            if chosen is not None and (item.required or self._rng.random() < 0.5):
                return Argument(parameter=item, value=chosen.value, source=chosen)
            if not item.required or not item.is_natural:
                return None
            values = reference_values(self._world, self._graph, item)
            if not values:
                return None
            return Argument(parameter=item, value=self._rng.choice(values), source=None)
        if not item.required:
            return None
        if _is_plain_text(self._graph, shape, item):
            meaning = sense(shape, item)
            fitting = [
                fact
                for fact in known
                if id(fact) not in taken
                and _is_stateable(self._graph, fact)
                and _belongs(self._graph, meaning, fact)
            ]
            if fitting:
                fact = self._rng.choice(fitting)
                if _is_prose(item) or meaning.kind is Kind.PROSE:
                    return self._stating(shape, item, fact)
                return Argument(parameter=item, value=fact.value, source=fact)
        literal = draw_literal(self._graph, shape, item, self._world.initial.now, self._rng, row)
        return None if literal is None else Argument(parameter=item, value=literal, source=None)

    def _one_of(self, item: Parameter, known: Sequence[Known]) -> Known | None:
        if item.means is None or not item.names_row:
            return None
        means = item.means
        fitting = [fact for fact in known if fact.means == means and isinstance(fact.value, str)]
        if not fitting:
            return None
        chosen = self._rng.choice(fitting)
        # What is the same is taken from where it was seen first.
        return _find(known, chosen.means, chosen.value)

    def _stating(self, shape: ToolShape, item: Parameter, fact: Known) -> Argument:
        template = self._rng.choice(phrases().fact_texts(shape, item.pointer, fact.place))
        text = template.replace("{" + FACT + "}", str(fact.value))
        return Argument(parameter=item, value=text, source=fact, template=template)


def takes_text(graph: ToolGraph, shape: ToolShape) -> bool:
    """Return whether a value that was seen can be stated in a text that a write must be given."""
    return any(
        item.required
        and (item.is_free_text or (not item.names_row and _is_plain_text(graph, shape, item)))
        for item in shape.parameters
    ) and _can_be_asked(graph, shape)


def _is_plain_text(graph: ToolGraph, shape: ToolShape, item: Parameter) -> bool:
    """Return whether a compiled service takes a text here that nothing else gives."""
    is_text = item.schema.get("type") == "string" and "enum" not in item.schema
    is_open = is_text and "pattern" not in item.schema and graph.is_compiled(shape.service)
    return is_open and not is_own(sense(shape, item))


def _can_be_asked(graph: ToolGraph, shape: ToolShape) -> bool:
    """Return whether a person would ask for one call of a tool: a compiled one that takes records
    by the list is for many, and one that must be given many values is for a form.
    """
    needed = [item for item in shape.parameters if item.required]
    return not graph.is_compiled(shape.service) or (
        len(needed) <= _MOST_GIVEN and not any(is_record_of_list(item.pointer) for item in needed)
    )


def _belongs(graph: ToolGraph, meaning: Meaning, fact: Known) -> bool:
    """Return whether an observed value is what an argument is about, by itself or by its link."""
    return any(
        takes(meaning, graph.blueprints[place.service], place) for place in {fact.place, fact.means}
    )


def _find(known: Sequence[Known], means: Place | None, value: Any) -> Known | None:
    for fact in known:
        if fact.value == value and fact.means == means:
            return fact
    return None


def _is_stateable(graph: ToolGraph, fact: Known) -> bool:
    """Return whether a person would put the value into a text: no internal id, no prose."""
    return (
        isinstance(fact.value, (str, int, float))
        and not isinstance(fact.value, bool)
        and 1 < len(str(fact.value)) <= 80
        and graph.is_tellable(fact.place)
    )


def _is_prose(item: Parameter) -> bool:
    return item.is_free_text or (
        item.schema.get("maxLength", 10_000) > 200
        and item.pointer.endswith(("body", "text", "content", "description", "note", "message"))
    )


def latest(known: Sequence[Known]) -> tuple[Known, ...]:
    """Return what is known without values that a later reading of the same field has replaced."""
    newest: dict[tuple[RowKey, str], Known] = {}
    for fact in known:
        key = (fact.row, fact.place.field)
        if key not in newest or newest[key].value != fact.value:
            newest[key] = fact
    return tuple(fact for fact in newest.values() if fact.value is not None)
