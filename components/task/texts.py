"""Texts that a longer request states, chosen by what it has asked for before.

A comment beside `resolve` does not promise to look into it. The walk is not executed again: no text
decides where it leads, and gold is run anew.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from components.task.clauses import Forbidden
from components.task.filling import Arguments
from components.task.longer import tool_name
from components.task.phrases import slot_name
from components.task.purposes import words_of
from components.task.steps import Walk, WalkStep


def with_fitting_texts(walk: Walk, rng: random.Random) -> Walk:
    """Return the walk with texts that fit the request, where there are words for that."""
    before: list[str] = []
    chosen: dict[str, WalkStep] = {}
    for step in walk.steps:
        if step.shape.is_write:
            given = [slot_name(item.parameter.pointer) for item in step.arguments]
            texts = words_of(walk.purpose_at(step.name)).values(step.shape, given, before)
            if texts:
                text = rng.choice(list(texts))
                chosen[step.name] = replace(step, arguments=_stating(step.arguments, text))
            before.append(tool_name(step.shape))
    conditions = tuple(
        replace(item, otherwise=_fitting(item.otherwise, walk.purpose, before, rng))
        for item in walk.clauses.conditions
    )
    return replace(
        walk,
        steps=tuple(chosen.get(step.name, step) for step in walk.steps),
        clauses=replace(walk.clauses, conditions=conditions),
    )


def _fitting(
    forbidden: Forbidden | None, purpose: str, before: Sequence[str], rng: random.Random
) -> Forbidden | None:
    """Return the call of a branch that is not taken with a text that fits the request."""
    if forbidden is None:
        return None
    given = [slot_name(item.parameter.pointer) for item in forbidden.arguments]
    texts = words_of(purpose).values(forbidden.shape, given, before)
    if not texts:
        return forbidden
    return replace(forbidden, arguments=_stating(forbidden.arguments, rng.choice(list(texts))))


def _stating(arguments: Arguments, text: Mapping[str, str]) -> Arguments:
    return tuple(
        replace(item, value=text.get(slot_name(item.parameter.pointer), item.value))
        if item.source is None and not item.parameter.names_row
        else item
        for item in arguments
    )
