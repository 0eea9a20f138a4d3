"""The operations of a patch, read out of a model's answer. Untrusted text; nothing is applied.

One fenced block of JSON with one list of operations, and nothing that could be read in two ways:
whatever else comes is refused with a reason that the model can be told.
"""

from __future__ import annotations

import re
from typing import Any

from attribution.change import Operation
from components.environment.values import settle
from components.model.answers import STRICT_JSON, Unusable, blocks_of, is_open
from components.model.records import Tried

MAX_OPERATIONS = 40
MAX_BLOCK_CHARS = 60_000
_KINDS = frozenset({"", "json", "json-patch", "jsonpatch"})
_OPS = frozenset({"test", "add", "replace", "remove"})
_POINTER = re.compile(r"(/([^~/]|~[01])*)+")


def operations_of(tried: Tried) -> tuple[Operation, ...]:
    """Return the operations in an answer, its `test`s among them; none where it says `[]`.

    Raises:
        Unusable: it holds no such list, or one that cannot be meant.
    """
    items = _list_in(_block_in(tried))
    if len(items) > MAX_OPERATIONS:
        raise Unusable(f"it has {len(items)} operations; {MAX_OPERATIONS} are the most")
    return tuple(_operation(number, item) for number, item in enumerate(items, start=1))


def _block_in(tried: Tried) -> str:
    text = tried.text or ""
    found = [body for kind, body in blocks_of(text) if kind in _KINDS]
    if len(found) > 1:
        raise Unusable(f"it holds {len(found)} blocks of JSON; give one patch in one block")
    if not found and (not tried.is_whole or is_open(text)):
        raise Unusable("it was cut off before its block of JSON ended; write less")
    if not found:
        raise Unusable("it holds no fenced block of JSON (```json ... ```)")
    if len(found[0]) > MAX_BLOCK_CHARS:
        raise Unusable(f"its block has more than {MAX_BLOCK_CHARS} characters")
    return found[0]


def _list_in(block: str) -> list[Any]:
    try:
        items = STRICT_JSON.decode(block)
    except RecursionError as error:
        raise Unusable("its block is nested too deeply") from error
    except ValueError as error:
        raise Unusable(f"its block is no JSON: {error}") from error
    if not isinstance(items, list):
        raise Unusable("its block must hold a list of operations: [{...}, ...]")
    return items


def _operation(number: int, item: Any) -> Operation:
    where = f"operation {number}"
    if not isinstance(item, dict) or item.get("op") not in _OPS:
        raise Unusable(f"{where} must be an object whose op is test, add, replace or remove")
    op, path = item["op"], item.get("path")
    wanted = {"op", "path"} if op == "remove" else {"op", "path", "value"}
    if set(item) != wanted:
        raise Unusable(f"{where} ({op}) must have exactly the keys {', '.join(sorted(wanted))}")
    if not isinstance(path, str) or not _POINTER.fullmatch(path):
        raise Unusable(
            f"{where}: path must be a JSON Pointer inside the one artifact, such as /key/inner "
            f"(got {str(path)[:80]!r})"
        )
    if path.endswith("/-"):
        raise Unusable(f"{where}: '-' at the end of a path is not taken; replace the whole list")
    try:
        settle(item.get("value"))
        path.encode()
    except ValueError as error:
        raise Unusable(f"{where}: its value has no JSON form: {error}") from error
    return op, path, item.get("value")
