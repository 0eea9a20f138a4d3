"""A random agent: valid calls without a thought. A task that it passes asks for nothing.

It only writes: reads change nothing, so an agent that wastes calls on them is less likely to pass.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from components.environment.world import World
from components.records.frozen import FrozenDict
from components.task.anchors import reference_values
from components.task.gold import Call
from components.task.graph import Parameter, ToolGraph, ToolShape
from components.task.literals import draw_literal
from components.task.provenance import assemble

NUM_CALLS = 200


def random_calls(world: World, graph: ToolGraph, seed: str) -> Iterator[Call]:
    """Yield `NUM_CALLS` writes with arguments that the schemas allow.

    Args:
        world: gives the rows that arguments name.
        graph: the tools of the services that a task needs.
        seed: every draw comes from it.
    """
    rng = random.Random(seed)
    writes = [shape for _, shape in sorted(graph.tools.items()) if shape.is_write]
    choices: dict[tuple[str, str, str], list[Any]] = {}
    for _turn in range(NUM_CALLS if writes else 0):
        shape = rng.choice(writes)
        values = {}
        for item in shape.parameters:
            if not item.required and rng.random() < 0.5:
                continue
            value = _drawn(world, graph, shape, item, choices, rng)
            if value is not None:
                values[item.pointer] = value
        yield Call(shape.service, shape.name, assemble(FrozenDict(values)))


def _drawn(
    world: World,
    graph: ToolGraph,
    shape: ToolShape,
    item: Parameter,
    choices: dict[tuple[str, str, str], list[Any]],
    rng: random.Random,
) -> Any:
    if not item.names_row:
        return draw_literal(graph, shape, item, world.initial.now, rng)
    key = (shape.service, shape.name, item.pointer)
    if key not in choices:
        choices[key] = reference_values(world, graph, item)
    return rng.choice(choices[key]) if choices[key] else None
