"""A part of an artifact that fits into a prompt: what stands around a place, and what else fits.

Owns the cutting alone. Every part is whole JSON under its own pointer, so that a patch can be
written from it; what is left out is named. Keys are sorted: a prompt must come out the same however
often the artifact was kept and read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from attribution.evidence import pointer_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Parts of an artifact."""

    parts: tuple[tuple[str, str], ...]
    """Pointer -> JSON text of what stands there; the empty pointer is the whole."""
    left_out: tuple[str, ...]
    """Pointers of what is not shown."""


def excerpt_of(body: Any, place: Sequence[str], max_chars: int) -> Excerpt:
    """Return what is shown of an artifact.

    Args:
        body: the artifact as plain JSON.
        place: keys of the place that matters.
        max_chars: characters of JSON in all; the place itself is shown, cut off, even where it
            alone has more.
    """
    whole = _text(body)
    if len(whole) <= max_chars:
        return Excerpt(parts=(("", whole),), left_out=())
    chain = _chain(body, place)
    shown = next((item for item in chain if len(_text(item[1])) <= max_chars), chain[-1])
    parts = [(pointer_of(*shown[0]), _text(shown[1])[:max_chars])]
    left, left_out = max_chars - len(parts[0][1]), []
    for keys, around in reversed(chain[: chain.index(shown)]):
        inner = shown[0][len(keys)]
        for key, value in _items(around):
            text = _text(value)
            if key == inner:
                continue
            if len(text) <= left:
                parts.append((pointer_of(*keys, key), text))
                left -= len(text)
            else:
                left_out.append(pointer_of(*keys, key))
    return Excerpt(parts=tuple(parts), left_out=tuple(left_out))


def _chain(body: Any, place: Sequence[str]) -> list[tuple[tuple[str, ...], Any]]:
    """Return what stands on the way to a place, the whole artifact first, as far as it goes."""
    chain: list[tuple[tuple[str, ...], Any]] = [((), body)]
    for number, key in enumerate(place, start=1):
        inner = dict(_items(chain[-1][1]))
        if key not in inner:
            break
        chain.append((tuple(place[:number]), inner[key]))
    return chain


def _items(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return sorted(value.items())
    if isinstance(value, list):
        return [(str(number), item) for number, item in enumerate(value)]
    return []


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
