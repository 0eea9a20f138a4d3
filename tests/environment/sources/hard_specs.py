"""Hand-written tools that are hard to read: each says what it tries and how it must end.

Data for the reading and for all that is built on it. `end` is `kept` (nothing to tell), `mended`
(kept, and told what was changed) or a reason of the fixed list, why it is quarantined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.environment.sources.hard_parts import PARTS
from tests.environment.sources.hard_references import REFERENCES
from tests.environment.sources.hard_roots import ROOTS
from tests.environment.sources.hard_tools import AFTER, TOOLS
from tests.environment.sources.hard_words import TEXT, object_of


@dataclass(frozen=True, slots=True, kw_only=True)
class HardSpec:
    """One tool as a server might list it."""

    tries: str
    """What about it is hard; different from all others."""
    end: str
    tool: Any
    before: tuple[Any, ...] = ()
    """Tools that are listed before it, without fault."""


def listing_of(hard: HardSpec) -> list[Any]:
    """Return the `tools` of a server that holds the hard tool among four plain ones; it is last."""
    return [*PLAIN_TOOLS, *hard.before, hard.tool]


_ID = {"type": "object", "properties": {"item_id": TEXT}, "required": ["item_id"]}
PLAIN_TOOLS: tuple[dict[str, Any], ...] = (
    {"name": "create_item", "description": "Create an item.",
     "inputSchema": {**object_of(title=TEXT, amount={"type": "integer"}), "required": ["title"]}},
    {"name": "get_item", "description": "Get one item by its id.", "inputSchema": _ID},
    {"name": "list_items", "description": "List all items.", "inputSchema": object_of()},
    {"name": "delete_item", "description": "Delete an item by its id.", "inputSchema": _ID},
)  # fmt: skip


def _update(schema: Any) -> dict[str, Any]:
    return {"name": "update_item", "description": "Update an item.", "inputSchema": schema}


HARD_SPECS: tuple[HardSpec, ...] = (
    *(HardSpec(tries=tries, end=end, tool=_update(schema)) for tries, schema, end in ROOTS),
    *(
        HardSpec(tries=tries, end=end, tool=_update(object_of(item_id=TEXT, value=part)))
        for tries, part, end in PARTS
    ),
    *(HardSpec(tries=tries, end=end, tool=_update(schema)) for tries, schema, end in REFERENCES),
    *(HardSpec(tries=tries, end=end, tool=tool) for tries, tool, end in TOOLS),
    *(
        HardSpec(tries=tries, end=end, tool=tool, before=before)
        for tries, before, tool, end in AFTER
    ),
)
"""All of them."""
