"""Instants of one row that agree with each other and with the world's fixed `now`.

created <= updated <= now; closed lies between them; due and start come after created; end comes
after start. Series step back from now, plans step forward, one row a step.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

KINDS = frozenset({
    "created", "updated", "past", "recent", "closed", "finished", "old", "future", "due", "start",
    "end", "series", "upcoming", "period_start", "period_end",
})  # fmt: skip
_DAY = 86400
_STEPS = {"timestamp": 3600, "epoch": 3600}
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LENGTHS = (15, 30, 45, 60, 90, 120)


def parse_now(now: str) -> datetime:
    """Return the world's time (`YYYY-MM-DDTHH:MM:SSZ`) as an instant."""
    return datetime.strptime(now, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


class RowTimes:
    """The instants of one row, drawn when first asked for."""

    def __init__(self, now: datetime, rng: random.Random, index: int, size: int) -> None:
        """Args: index: place of the row in its table; size: rows of the table."""
        self._now, self._index, self._size = now, index, size
        self._age = rng.randint(4 * _DAY, 180 * _DAY)
        self._draws = [rng.random() for _ in range(6)]
        self.minutes = _LENGTHS[int(self._draws[5] * len(_LENGTHS))]
        """Length of what starts and ends."""
        self.seconds = 20 + int(self._draws[4] * 3000)
        """Length of what ran and finished."""

    def shown(self, kind: str, form: str) -> str | int:
        """Return an instant as JSON.

        Args:
            kind: one of `KINDS`.
            form: timestamp, date, epoch (seconds), clock (`HH:MM`), weekday, week or year.
        """
        instant = self._at(kind, form)
        match form:
            case "timestamp":
                return instant.strftime("%Y-%m-%dT%H:%M:%SZ")
            case "epoch":
                return int(instant.timestamp())
            case "clock":
                return instant.strftime("%H:%M")
            case "year":
                return instant.year
            case "weekday":
                return _WEEKDAYS[instant.weekday()]
            case "week":
                return instant.isocalendar().week
            case _:
                return instant.strftime("%Y-%m-%d")

    def _at(self, kind: str, form: str) -> datetime:
        now, draws = self._now, self._draws
        created = now - timedelta(seconds=self._age)
        match kind:
            case "created":
                return created
            case "updated":
                return created + timedelta(seconds=int(self._age * (0.4 + 0.5 * draws[0])))
            case "closed":
                return created + timedelta(seconds=int(self._age * (0.2 + 0.2 * draws[1])))
            case "past":
                return created + timedelta(seconds=int(self._age * 0.15 * draws[2]))
            case "finished":
                return self._at("past", form) + timedelta(seconds=self.seconds)
            case "recent":
                return now - timedelta(minutes=10 + int(draws[3] * 60 * 72))
            case "old":
                return now - timedelta(days=250 + int(draws[2] * 5200))
            case "future":
                return now + timedelta(days=2 + int(draws[1] * 80), hours=int(draws[3] * 8))
            case "due":
                due = now + timedelta(days=-14 + int(draws[2] * 50), hours=int(draws[3] * 8))
                return max(due, created + timedelta(days=1))
            case "start":
                return self._start(created)
            case "end":
                if form == "date":
                    return self._start(created) + timedelta(days=1 + int(draws[4] * 20))
                return self._start(created) + timedelta(minutes=self.minutes)
            case "series":
                step = _STEPS.get(form, _DAY)
                return now - timedelta(seconds=step * (self._size - 1 - self._index))
            case "upcoming":
                return now + timedelta(days=self._index)
            case _:
                return self._period(kind)

    def _start(self, created: datetime) -> datetime:
        day = self._now + timedelta(days=-12 + int(self._draws[1] * 40))
        start = max(day, created + timedelta(days=1))
        half_hours = int(self._draws[3] * 18)
        return start.replace(hour=8 + half_hours // 2, minute=30 * (half_hours % 2), second=0)

    def _period(self, kind: str) -> datetime:
        """Return the bounds of whole months, one a row, the last full one latest."""
        first = self._now.replace(day=1)
        for _ in range(self._size - self._index):
            first = (first - timedelta(days=1)).replace(day=1)
        if kind == "period_start":
            return first
        return (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
