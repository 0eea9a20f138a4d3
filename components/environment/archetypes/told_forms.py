"""Forms that the words of a parameter give its values: `5 digits`, `(1-114)`, `0, 1 or 2`.

Owns the reading of them; the patterns are in `forms.json`. A form says how a value is written, and
so says more than a name does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from components.environment.archetypes.meanings import parse_meaning
from components.environment.archetypes.word_lists import read_data

_MOST_DIGITS = 20
_WIDEST = 1e6
_PLACES = 2


@lru_cache(maxsize=8192)
def told_forms(word: str, kind: str, description: str) -> tuple[str, ...]:
    """Return the meanings that a description's forms give, the first one best.

    Args:
        word: the field's name in snake_case.
        kind: its JSON type.
        description: of the field.

    Example:
        >>> told_forms("chapter_number", "integer", "Number of the chapter (1-114)")
        ('count:1..114',)
    """
    if not description or kind not in ("string", "integer", "number"):
        return ()
    forms = read_data("forms")
    found: list[str] = []
    is_numbered = word.rpartition("_")[2] in forms["numbered"].split()
    if kind != "string" or is_numbered:
        found += _numbers(kind, description)
    for pattern, meaning in (*forms["either"], *(forms["text"] if kind == "string" else ())):
        match = re.search(pattern, description)
        if match is not None and _is_short(match):
            found.append(match.expand(meaning))
    return tuple(found)


def _is_short(match: re.Match[str]) -> bool:
    return all(0 < int(group) <= _MOST_DIGITS for group in match.groups() if group is not None)


def _numbers(kind: str, description: str) -> Iterator[str]:
    forms = read_data("forms")
    listed = re.search(forms["listed"], description)
    if listed is not None:
        yield "choice:" + "|".join(str(int(item)) for item in re.findall(r"\d+", listed.group(1)))
    for pattern, written in forms["number"]:
        match = re.search(pattern, description)
        if match is None or re.search(forms["dated"], description):
            continue
        low, high = (float(end) for end in match.expand(written).split(".."))
        if low < high and max(abs(low), abs(high)) <= _WIDEST:
            yield _ranged(kind, low, high)


def _ranged(kind: str, low: float, high: float) -> str:
    """Return a range: of whole numbers, but where it is too narrow for them."""
    is_whole = low.is_integer() and high.is_integer()
    if is_whole and (kind != "number" or high - low > _PLACES):
        meaning = f"count:{int(low)}..{int(high)}"
    else:
        meaning = f"number:{low}..{high}/{_PLACES}"
    return parse_meaning(meaning).name
