"""Observations as text: the one form of an envelope, and its pages.

An answer is never cut in silence. A long one is shown page by page; each page says which it is,
what is left and how to get it. The text of an answer is one line of JSON, so the lines around it
cannot be mistaken for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.harness.tools import READ_MORE
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, JsonObject

_HEADER = re.compile(r"\[page (\d+) of (\d+) of (\S+)\]\n")
_BODY_START = '{"ok":'
_ENCODE = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page as shown, or as read back from what was shown."""

    call_id: str
    """Empty when the whole answer is on one page and was read back from text."""
    number: int
    total: int
    text: str
    """The characters of the answer on this page."""


def observation_body(envelope: Mapping[str, Any]) -> str:
    """Return an envelope as one line of JSON: `ok` first, then by key; blobs are counted."""
    rest = {key: envelope[key] for key in envelope if key != "ok"}
    parts = [f'"ok":{json.dumps(bool(envelope.get("ok")))}']
    parts += [f"{json.dumps(key)}:{_line(rest[key])}" for key in sorted(rest)]
    return "{" + ",".join(parts) + "}"


def error_envelope(code: ErrorCode, message: str, **details: Any) -> JsonObject:
    """Return an error in the one envelope, for calls that the harness answers itself."""
    body = FrozenDict({"code": code.value, "message": message, "details": FrozenDict(details)})
    return FrozenDict({"ok": False, "error": body})


def num_pages(body: str, size: int) -> int:
    """Return how many pages of `size` characters an answer has; at least one."""
    return max(1, -(-len(body) // size))


def page_text(body: str, call_id: str, number: int, size: int) -> str:
    """Return page `number` (from 1) of an answer; a short answer is shown as it is."""
    total = num_pages(body, size)
    if total == 1:
        return body
    rest = len(body) - number * size
    if rest > 0:
        call = json.dumps({"call_id": call_id, "page": number + 1})
        footer = f"[{rest} more characters: call {READ_MORE} with {call}]"
    else:
        footer = f"[end of {call_id}]"
    chunk = body[(number - 1) * size : number * size]
    return f"[page {number} of {total} of {call_id}]\n{chunk}\n{footer}"


def read_page(shown: str) -> Page | None:
    """Read an answer, or a page of one, back from an observation; None when there is none."""
    header = _HEADER.search(shown)
    if header:
        text = shown[header.end() :].split("\n", 1)[0]
        return Page(call_id=header[3], number=int(header[1]), total=int(header[2]), text=text)
    start = shown.find(_BODY_START)
    if start < 0:
        return None
    return Page(call_id="", number=1, total=1, text=shown[start:].split("\n", 1)[0])


def _line(value: Any) -> str:
    text = _ENCODE(value)
    return _ENCODE(_without_blobs(value)) if '"mimeType":' in text else text


def _without_blobs(value: Any) -> Any:
    """Replace encoded content (images, sound) by a text that says what and how much it is."""
    if isinstance(value, Mapping):
        for key in ("data", "blob"):
            if "mimeType" in value and isinstance(value.get(key), str):
                left_out = f"[{value['mimeType']}: {len(value[key])} characters not shown]"
                return {**value, key: left_out}
        return {name: _without_blobs(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_blobs(item) for item in value]
    return value
