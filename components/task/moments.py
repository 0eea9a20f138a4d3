"""Times as a request says them: `9:00 tomorrow`, `8:00 in two days`, `9:00 on 24 March 2026`.

Owns the words for them and their one reading. Days are calendar days of the world's clock; what is
neither a date nor in the closed list of `moments.json` is no such time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any

TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
TIMES = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
"""A time as worlds write it."""
_WORDS = re.compile(r"(\d{1,2}):(\d{2}) (.+)")
_DATE = re.compile(r"on (\d{1,2}) (\w+) (\d{4})")
_LAST_HOUR, _LAST_MINUTE = 23, 59


def moment_at(words: str, now: str) -> str | None:
    """Return the time that words say relative to a clock; None where they say none.

    Args:
        words: hour, minutes and day, as in `9:00 tomorrow`.
        now: the world's clock.
    """
    found = _WORDS.fullmatch(words.strip())
    days = None if found is None else _days().get(found[3].lower())
    if found is None or days is None:
        return None
    return _at(datetime.strptime(now, TIME_FORMAT) + timedelta(days=days), found)


def moment_on(words: str) -> str | None:
    """Return the time that words say by its date, as in `9:00 on 24 March 2026`, or None."""
    found = _WORDS.fullmatch(words.strip())
    date = None if found is None else _DATE.fullmatch(found[3])
    if found is None or date is None or date[2] not in _months():
        return None
    try:
        day = datetime(int(date[3]), _months().index(date[2]) + 1, int(date[1]))
    except ValueError:
        return None
    return _at(day, found)


def _at(day: datetime, time: re.Match[str]) -> str | None:
    hour, minute = int(time[1]), int(time[2])
    if hour > _LAST_HOUR or minute > _LAST_MINUTE:
        return None
    return day.replace(hour=hour, minute=minute, second=0).strftime(TIME_FORMAT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A time that a text says."""

    start: int
    """First character."""
    end: int
    """One past the last."""
    moment: str
    is_relative: bool
    """Whether it is said by the clock's day, and not by its date."""


def moments_said(text: str, now: str) -> Iterator[Said]:
    """Yield the times that a text says in words, in order.

    Args:
        text: an instruction.
        now: the world's clock.
    """
    for found in _said().finditer(text):
        by_clock = moment_at(found[0], now)
        moment = by_clock or moment_on(found[0])
        if moment is not None:
            yield Said(
                start=found.start(),
                end=found.end(),
                moment=moment,
                is_relative=by_clock is not None,
            )


@cache
def _said() -> re.Pattern[str]:
    """Return what may be a time in words; longer words for a day come first."""
    days = sorted(map(re.escape, _days()), key=len, reverse=True)
    ends = "|".join([r"on \d{1,2} \w+ \d{4}", *days])
    return re.compile(rf"(?<!\w)\d{{1,2}}:\d{{2}} (?:{ends})(?!\w)", re.IGNORECASE)


def date_words(moment: str) -> str:
    """Return the words for a time by its date, as in `9:00 on 24 March 2026`."""
    time = datetime.strptime(moment, TIME_FORMAT)
    day = f"{time.day} {_months()[time.month - 1]} {time.year}"
    return f"{time.hour}:{time.minute:02d} on {day}"


def shifted(moment: str, days: int) -> str:
    """Return a time so many days later."""
    return (datetime.strptime(moment, TIME_FORMAT) + timedelta(days=days)).strftime(TIME_FORMAT)


def days_between(now: str, moment: str) -> int:
    """Return the calendar days from a clock to a time."""
    first, last = (datetime.strptime(item, TIME_FORMAT).date() for item in (now, moment))
    return (last - first).days


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


def _days() -> Mapping[str, int]:
    found: Mapping[str, int] = _data()["days"]
    return found


def _months() -> Sequence[str]:
    found: Sequence[str] = _data()["months"]
    return found


@cache
def _data() -> Mapping[str, Any]:
    text = resources.files("components.task").joinpath("moments.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found
