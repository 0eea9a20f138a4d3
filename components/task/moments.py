"""Times that a request says relative to the world's clock: `9:00 tomorrow`, `8:00 in two days`.

Owns the words for them and their one reading. Days are calendar days of the clock; what is not in
the closed list of `moments.json` is no such time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from importlib import resources

TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
TIMES = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
"""A time as worlds write it."""
_WORDS = re.compile(r"(\d{1,2}):(\d{2}) (.+)")


def moment_at(words: str, now: str) -> str | None:
    """Return the time that words say, as the world writes times; None where they say none.

    Args:
        words: hour, minutes and day, as in `9:00 tomorrow`.
        now: the world's clock.
    """
    found = _WORDS.fullmatch(words.strip())
    days = None if found is None else _days().get(found[3].lower())
    if found is None or days is None or int(found[1]) > 23 or int(found[2]) > 59:
        return None
    moment = datetime.strptime(now, TIME_FORMAT) + timedelta(days=days)
    return moment.replace(hour=int(found[1]), minute=int(found[2]), second=0).strftime(TIME_FORMAT)


def shifted(moment: str, days: int) -> str:
    """Return a time so many days later."""
    return (datetime.strptime(moment, TIME_FORMAT) + timedelta(days=days)).strftime(TIME_FORMAT)


def words_for(days: int, moment: str) -> Sequence[str]:
    """Return the words for the time of day of `moment`, so many days after the clock's.

    Args:
        days: calendar days from the clock; words are known for some numbers only.
        moment: gives hour and minutes.
    """
    time = datetime.strptime(moment, TIME_FORMAT)
    at = f"{time.hour}:{time.minute:02d}"
    return [f"{at} {words}" for words, number in _days().items() if number == days]


def known_days() -> Sequence[int]:
    """Return the numbers of days that there are words for."""
    return sorted(set(_days().values()))


@cache
def _days() -> Mapping[str, int]:
    text = resources.files("components.task").joinpath("moments.json").read_text(encoding="utf-8")
    found: dict[str, int] = json.loads(text)["days"]
    return found
