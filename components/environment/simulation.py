"""What a tool answers whose answer depends on a world that is not kept here: drawn, and marked.

Owns the offline stand-in for a world model. An answer is drawn from what a record of its kind
usually holds, by the tool, its arguments and the state of its service: the same call in the same
state gives the same answer. It changes no state, and is never taken for the truth: answers say
`simulated`, and no task is built on one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from components.environment.archetypes.cast import cast_of
from components.environment.archetypes.find import archetype_of
from components.environment.archetypes.rows import row_values
from components.environment.archetypes.table_shape import of_archetype
from components.environment.state import Table

MANY = 3
"""Records in an answer that shows several."""


def draw_records(
    noun: str,
    is_many: bool,
    tool: str,
    arguments: Mapping[str, Any],
    tables: Iterable[Table],
    now: str,
) -> Any:
    """Return one record of a kind, or a list of `MANY`.

    Args:
        noun: kind of record.
        is_many: several are shown.
        tool: name of the tool.
        arguments: of the call.
        tables: the service's state.
        now: the world's time.
    """
    state = sum(table.digest for table in tables) % 2**128
    body = orjson.dumps([tool, arguments, str(state)], option=orjson.OPT_SORT_KEYS)
    seed = hashlib.blake2b(body, digest_size=8).hexdigest()
    shape = of_archetype(archetype_of(noun))
    rows = row_values(shape, MANY if is_many else 1, seed=seed, cast=cast_of(), now=now)
    return rows if is_many else rows[0]
