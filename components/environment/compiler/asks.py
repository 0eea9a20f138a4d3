"""What a read's argument says: which rows are asked for, or only how the answer is to look.

Owns that line. An argument of the second kind is kept in no column and leaves out no row; a lower
or an upper bound is one whatever word stands beside it. The words are data (`asks.json`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from components.environment.names import tokens
from components.environment.params import Param
from components.environment.reading.features import words_of_roles
from components.environment.reading.records import Role
from components.environment.reading.roles import PAGING

_BY_NAME = {
    "auth": Role.AUTH,
    **PAGING,
    "format": Role.FORMAT,
    "select": Role.SELECT,
    "control": Role.CONTROL,
    "query": Role.QUERY,
    "from": Role.FROM,
    "to": Role.TO,
}
_NUMERIC = ("integer", "number")
_MOST_TEXT = 160
"""Characters of a parameter's description in which a word decides."""
_COMPACT = 3
_MEASURED = ("sha256", "sha1", "md5", "base64", "utf8", "iso8601")
"""Ends of words whose number counts nothing."""


@cache
def words_asked(kind: str) -> frozenset[str]:
    """Return one list of words of `asks.json`."""
    text = Path(__file__).with_name("asks.json").read_text(encoding="utf-8")
    return frozenset(json.loads(text)[kind].split())


def says_how(param: Param) -> bool:
    """True for what a read is told of its answer rather than of the rows: a flag, an object of
    conditions, or a value that it has anyway when nothing is said. No row is kept for it.
    """
    if param.word in words_asked("tells_how") or _is_said_to_tell_how(param):
        return True
    if param.type in ("object", "") or (param.type == "array" and _holds_objects(param)):
        return True
    if param.type == "boolean":
        return not _is_property(param)
    return param.has_default and param.default not in (None, "", False) and not param.enum


def _is_said_to_tell_how(param: Param) -> bool:
    """True where the description of a text begins as that of a flag or a bound does (`Include the
    words of each verse`): no row holds such a text.
    """
    said = tokens(param.description[:_MOST_TEXT])
    if param.word in words_asked("tongues") and words_asked("said_of_tongues") & set(said):
        return True
    is_open = param.type == "string" and not param.enum and not param.is_required
    return is_open and bool(said) and said[0] in words_asked("said_first")


def _holds_objects(param: Param) -> bool:
    kind = param.items.get("type")
    return kind == "object" or "properties" in param.items or bool(param.item_properties)


def _is_property(param: Param) -> bool:
    """True for a flag that a row can have, by its name."""
    first, last = param.word.partition("_")[0], param.word.rpartition("_")[2]
    if first in ("include", "with", "show", "return", "use", "exclude", "allow", "fetch"):
        return False
    ends = tuple(words_asked("property_ends"))
    is_said = last in words_asked("is_property") or first in words_asked("property_starts")
    return is_said or (last.endswith(ends) and last not in ("detailed", "needed", "feed", "seed"))


def tells_how_to_write(param: Param) -> bool:
    """True for a flag that says how a write is done or answered (`recursive`), and not what is
    written.
    """
    first = param.word.partition("_")[0]
    told = words_of_roles("select") | words_of_roles("control") | words_of_roles("format")
    is_flag = param.type == "boolean" and param.word not in words_asked("is_property")
    return is_flag and (param.word in told or first in ("include", "return", "skip"))


def is_nearby(param: Param) -> bool:
    """True for a part of a place that rows are looked for around, not at."""
    return param.word in words_asked("nearby") and param.type in (*_NUMERIC, "string")


def role_by_name(param: Param) -> Role | None:
    """Return the role that a read's argument has by its name alone, or None: `limit` limits."""
    for kind, role in _BY_NAME.items():
        if param.word in words_of_roles(kind):
            is_text = role in (Role.QUERY, Role.CURSOR) and param.type not in ("string", "")
            is_odd = role is Role.LIMIT and param.type not in (*_NUMERIC, "string", "")
            return None if is_text or is_odd else role
    return None


def bounds(params: Mapping[str, Param] | Collection[Param]) -> dict[str, Role]:
    """Return which of a read's arguments bound from below (`FROM`) and above (`TO`), by name.

    Example:
        `min_price`, `price_max`, `filter_min_ram`; `start_slot` beside `end_slot`.
    """
    every = list(params.values() if isinstance(params, Mapping) else params)
    spoken = {param.word for param in every}
    found: dict[str, Role] = {}
    for param in every:
        if param.type in (*_NUMERIC, "string") and not param.enum:
            role = _side(param.word, spoken)
            if role is not None:
                found[param.name] = role
    return found


def _side(word: str, spoken: Collection[str]) -> Role | None:
    parts = word.split("_")
    ends = {parts[0], parts[-1]} | ({parts[1]} if parts[0] == "filter" and parts[1:] else set())
    if parts[-1] == "than" and len(parts) > 1:
        ends.add(parts[-2])
    below, above = ends & words_asked("below"), ends & words_asked("above")
    if len(parts) > 1 and bool(below) != bool(above):
        return Role.FROM if below else Role.TO
    for pair in sorted(words_asked("pairs")):
        low, high = pair.split("/")
        for own, other, role in ((low, high, Role.FROM), (high, low, Role.TO)):
            if own in parts and len(parts) > 1:
                twin = "_".join(other if part == own else part for part in parts)
                if twin in spoken:
                    return role
            is_compact = len(parts) == 1 and len(own) == _COMPACT and len(word) > _COMPACT + 1
            if is_compact and word.startswith(own) and other + word[len(own) :] in spoken:
                return role
    return None


def bounded_words(param: Param) -> tuple[str, ...]:
    """Return what a bound is about: the words of its name without those that say that it bounds."""
    marks = words_asked("below") | words_asked("above") | {"filter", "than"}
    marks |= {word for pair in words_asked("pairs") for word in pair.split("/")}
    parts = [part for part in param.word.split("_") if part not in marks]
    if len(parts) == 1 and parts[0] == param.word and parts[0][:_COMPACT] in ("min", "max"):
        parts = [parts[0][_COMPACT:]]
    return tuple(parts)


def is_kept(words: tuple[str, ...]) -> bool:
    """True for what rows can hold and a bound can be about (`price`; no `length`)."""
    return bool(words) and words[-1] not in words_asked("unbounded")


def plain_word(param: Param) -> str:
    """Return the field that a read's argument is about where its name says more than that, or an
    empty text: `author1` and `author_2` are authors, `title_contains` is a title.
    """
    word = param.word
    first, _, last = word.rpartition("_")
    if first and last in words_asked("contains"):
        return first
    plain = word.rstrip("0123456789").rstrip("_")
    is_numbered = plain != word and len(plain) > _COMPACT and param.type == "string"
    return plain if is_numbered and not word.endswith(_MEASURED) else ""
