"""Results kept by the identity of the frozen records that they rest on.

Swaps share every record that they do not touch, so what rests on the environment alone is computed
once for all swaps of task, harness and evaluator. Keeping never changes a result: everything kept
is a function of its inputs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")
_MAX_KEPT = 16384
_kept: OrderedDict[tuple[str, tuple[int, ...], Hashable], tuple[tuple[object, ...], Any]] = (
    OrderedDict()
)


def kept(
    what: str, inputs: tuple[object, ...], make: Callable[[], T], values: Hashable = None
) -> T:
    """Return something made once for these inputs; they are held, so that an identity is never
    reused.

    Args:
        what: name of the result.
        inputs: every record that `make` reads; compared by identity.
        make: makes it.
        values: what else it reads; compared by value.
    """
    key = (what, tuple(map(id, inputs)), values)
    if key in _kept:
        _kept.move_to_end(key)
        found: T = _kept[key][1]
        return found
    value = make()
    _kept[key] = (inputs, value)
    while len(_kept) > _MAX_KEPT:
        _kept.popitem(last=False)
    return value
