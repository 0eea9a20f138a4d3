"""Texts that a longer request states, chosen by what else it asks for.

A comment beside `resolve` does not promise to look into it. The walk is not executed again: no text
decides where it leads, and gold is run anew.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from components.task.longer import longer, tool_name
from components.task.phrases import slot_name
from components.task.steps import Walk, WalkStep


def with_fitting_texts(walk: Walk, rng: random.Random) -> Walk:
    """Return the walk with texts that fit the request, where there are words for that."""
    tools = [tool_name(step.shape) for step in walk.steps if step.shape.is_write]
    chosen: dict[str, WalkStep] = {}
    for step in walk.steps:
        if step.shape.is_write:
            given = [slot_name(item.parameter.pointer) for item in step.arguments]
            others = [name for name in tools if name != tool_name(step.shape)]
            texts = longer().values(step.shape, given, others)
            if texts:
                text = rng.choice(list(texts))
                chosen[step.name] = _stating(step, text)
    return replace(walk, steps=tuple(chosen.get(step.name, step) for step in walk.steps))


def _stating(step: WalkStep, text: Mapping[str, str]) -> WalkStep:
    arguments = tuple(
        replace(item, value=text.get(slot_name(item.parameter.pointer), item.value))
        if item.source is None and not item.parameter.names_row
        else item
        for item in step.arguments
    )
    return replace(step, arguments=arguments)
