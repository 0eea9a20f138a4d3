"""JSON read out of a model's text: strictly first, then with repairs that change no value.

Repaired: single quotes, Python's True, False and None, trailing commas, and brackets missing at the
    very end when it is certain that nothing else is. A text cut inside a string or a number is
    never completed: a guess would be executed.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

MAX_DEPTH = 64
"""A value nested deeper than this is refused."""
_CLOSES = {"{": "}", "[": "]"}
_WORDS = {"True": "true", "False": "false", "None": "null"}
_LITERAL = re.compile(r"true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_TOKEN = re.compile(
    r"""\s*(?:(?P<mark>[{}\[\],:])
    |(?P<double>"(?:[^"\\]|\\.)*")
    |(?P<single>'(?:[^'\\]|\\.)*')
    |(?P<word>[A-Za-z0-9_+.-]+))""",
    re.DOTALL | re.VERBOSE,
)


class Unreadable(ValueError):
    """The text is no JSON value; the message says why, as part of a sentence."""


def read_value(text: str, start: int, closing: str = "") -> tuple[Any, int]:
    """Return the object or list that begins at `start`, and where it ends.

    Args:
        text: whole text.
        start: place of a `{` or `[`.
        closing: mark that follows a finished value, such as `</tool_call>`; brackets that are
            missing right before it were forgotten, not cut off.

    Raises:
        Unreadable: there is no value that could be read with certainty.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        mended, end = _mend(text, start, closing, error)
        try:
            value = _DECODER.decode(mended)
        except (ValueError, RecursionError):
            raise _unreadable(error, start) from error
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the JSON holds {error}") from error
    _check(value, text[start:end])
    return value, end


def end_of_value(text: str, start: int) -> int | None:
    """Return where the strict JSON object or list at `start` ends; None when there is none."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def read_values(text: str, start: int, closing: str = "") -> tuple[list[Any], int]:
    """Return all objects and lists from `start` on, glued together or not, and where they end.

    Raises:
        Unreadable: one of them could not be read.
    """
    values: list[Any] = []
    at = skip(text, start)
    while at < len(text) and text[at] in _CLOSES:
        value, at = read_value(text, at, closing)
        values.append(value)
        at = skip(text, at, " \t\r\n,;}]")  # a bracket too many changes no value
    return values, at


def decode_text(text: str) -> Any:
    """Return the JSON value that is the whole of `text`. Raises Unreadable."""
    stripped = text.strip()
    if stripped[:1] in _CLOSES:
        value, end = read_value(stripped, 0)
        if end != len(stripped):
            raise Unreadable("there is more text after the JSON")
        return value
    try:
        value = _DECODER.decode(stripped)
    except (ValueError, RecursionError) as error:
        raise Unreadable("it is no JSON") from error
    _check(value, stripped)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise Unreadable(f"{name}, which is no JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Unreadable("a number that is too large")
    return value


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant, parse_float=_finite)


def _check(value: Any, text: str) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise Unreadable(f"the JSON is nested more than {MAX_DEPTH} levels deep")
        level = [
            inner
            for item in level
            if isinstance(item, (dict, list))
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    if text.isascii() and "\\u" not in text:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise Unreadable("the JSON holds half of a surrogate pair") from error


def _mend(text: str, start: int, closing: str, error: json.JSONDecodeError) -> tuple[str, int]:
    """Return strict JSON for the value at `start`, and where it ends in `text`."""
    out: list[str] = []
    is_open: list[str] = []
    at = start
    while token := _TOKEN.match(text, at):
        piece = _strict(token, text, error, start)
        if piece in _CLOSES:
            is_open.append(piece)
            if len(is_open) > MAX_DEPTH:
                raise _unreadable(error, start)
        elif piece in _CLOSES.values():
            if _CLOSES[is_open[-1]] != piece:
                raise _unreadable(error, start)
            is_open.pop()
            if out[-1] == ",":
                out.pop()
        out.append(piece)
        at = token.end()
        if not is_open:
            return "".join(out), at
    if not _only_brackets_miss(text, at, closing, out[-1], is_open):
        raise _unreadable(error, start)
    return "".join([*out, *(_CLOSES[mark] for mark in reversed(is_open))]), at


def _only_brackets_miss(text: str, at: int, closing: str, last: str, is_open: list[str]) -> bool:
    """At a closing mark the writer thought it was done; at the end, only one bracket may miss."""
    at = skip(text, at)
    if closing and text.startswith(closing, at):
        return last not in (*_CLOSES, ",", ":")
    return at == len(text) and last == "}" and is_open == ["{"]


def _strict(token: re.Match[str], text: str, error: json.JSONDecodeError, start: int) -> str:
    if token["single"] is not None:
        follows = text[skip(text, token.end()) :][:1]
        if follows not in (":", ",", "}", "]"):  # an apostrophe inside the text ends nothing
            raise _unreadable(error, start)
        inner = re.sub(r"\\'", "'", token["single"][1:-1])
        return '"' + re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', inner) + '"'
    if token["word"] is not None:
        word = _WORDS.get(token["word"], token["word"])
        if not _LITERAL.fullmatch(word):
            raise _unreadable(error, start)
        return word
    return token["mark"] or token["double"]


def skip(text: str, at: int, characters: str = " \t\r\n") -> int:
    """Return the first place from `at` on that holds none of these characters."""
    while at < len(text) and text[at] in characters:
        at += 1
    return at


def _unreadable(error: json.JSONDecodeError, start: int) -> Unreadable:
    return Unreadable(f"the JSON breaks at character {error.pos - start}: {error.msg}")
