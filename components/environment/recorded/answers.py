"""Answers of real servers, read: what they hold, whether they are errors, and of which kind.

Real servers answer in text. What is JSON, or a Python literal as `str` writes it, is read as data;
everything else is prose. Some say an error in the text of an answer that is none by the protocol:
its first words decide then.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from components.environment.recorded.records import Answer
from components.records.calls import ErrorCode
from components.records.frozen import freeze

_SAYS_ERROR = re.compile(
    r"\W*(?:[a-z_]+ ){0,3}(?:error|exception|failed|failure)\b[^:\n]{0,60}:", re.IGNORECASE
)
"""A line that begins with a few words, `error` among them, and goes on after a colon."""
_KINDS = {
    ErrorCode.NOT_FOUND: re.compile(
        r"not found|no such|do(?:es)?(?: not|n't) exist|cannot find|could not find|ENOENT|"
        r"unknown (?!argument|param|key)|there is no |did not match any|bad revision",
        re.IGNORECASE,
    ),
    ErrorCode.CONFLICT: re.compile(
        r"already (?:exist|used|taken|there|in use|has)|duplicate|EEXIST|conflict", re.IGNORECASE
    ),
    ErrorCode.INVALID_ARGUMENTS: re.compile(
        r"validation error|invalid|is required|required property|missing required|must be|"
        r"must not|expected|not a valid|malformed|syntax error",
        re.IGNORECASE,
    ),
}
"""What a text says of an error, by the code that a compiled service has for it."""


def body_of(answer: Answer) -> Any:
    """Return what an answer holds: a JSON value, or its prose as a text."""
    structured = answer.structured
    if isinstance(structured, Mapping) and set(structured) == {"result"}:
        # What the SDK wraps a tool's plain result in.
        inner = structured["result"]
        return _read(inner) if isinstance(inner, str) else inner
    return _read(answer.text) if structured is None else structured


def _read(text: str) -> Any:
    found = _data(text)
    if found is None:
        lines = [line for line in text.splitlines() if line.strip()]
        parts = [_data(line) for line in lines]
        found = tuple(parts) if len(parts) > 1 and all(part is not None for part in parts) else None
    return text if found is None else found


def _data(text: str) -> Any:
    """Return the object or list that a text is, or None."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text.strip())
            json.dumps(found, allow_nan=False)
            return freeze(found) if isinstance(found, (dict, list)) else None
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def is_error(answer: Answer) -> bool:
    """Return whether an answer says that the call failed."""
    if answer.is_error:
        return True
    body = body_of(answer)
    if isinstance(body, str):
        return _SAYS_ERROR.match(body) is not None
    return isinstance(body, Mapping) and (
        bool(body.get("error")) or body.get("success") is False or body.get("ok") is False
    )


def error_kinds(answer: Answer) -> frozenset[ErrorCode]:
    """Return the kinds of error that a text may mean; empty where it says none."""
    body = body_of(answer)
    text = body if isinstance(body, str) else f"{json.dumps(body, default=dict)} {answer.text}"
    return frozenset(code for code, pattern in _KINDS.items() if pattern.search(text))
