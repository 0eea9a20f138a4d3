"""Pure functions of dates and times; what time it is, the world's clock says."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from components.environment.pure.values import Arguments, PureError, number_of, text_of, whole_of

_LATEST = 253_402_300_799


def _moment(given: Any, now: str) -> datetime:
    """Return a moment from ISO text, a day, or a time of the world's own day."""
    written = text_of(given).strip().removesuffix("Z")
    try:
        if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2})?", written):
            hours, minutes, *seconds = map(int, written.split(":"))
            today = datetime.fromisoformat(now.removesuffix("Z"))
            return today.replace(hour=hours, minute=minutes, second=seconds[0] if seconds else 0)
        return datetime.fromisoformat(written)
    except ValueError:
        raise PureError(f"{written[:40]!r} is no date or time; write 2026-01-31 or 09:00") from None


def _zone(name: Any) -> ZoneInfo:
    try:
        return ZoneInfo(text_of(name or "UTC"))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise PureError(f"there is no time zone {str(name)[:40]!r}") from None


def time_in_zone(arguments: Mapping[str, Any]) -> Any:
    """Return the world's time in a zone."""
    zone = _zone(arguments.get("zone"))
    moment = datetime.fromisoformat(arguments["now"].removesuffix("Z") + "+00:00").astimezone(zone)
    return _told(moment, zone)


def convert_time(arguments: Mapping[str, Any]) -> Any:
    """Return a moment of one zone in another."""
    source, target = _zone(arguments.get("source")), _zone(arguments.get("target"))
    moment = _moment(arguments["time"], arguments["now"])
    there = moment.replace(tzinfo=moment.tzinfo or source)
    here = there.astimezone(target)
    hours = (here.utcoffset() or timedelta()) - (there.utcoffset() or timedelta())
    difference = f"{hours.total_seconds() / 3600:+g}h"
    return {
        "source": _told(there, source),
        "target": _told(here, target),
        "time_difference": difference,
    }


def _told(moment: datetime, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "timezone": zone.key,
        "datetime": moment.isoformat(timespec="seconds"),
        "day_of_week": moment.strftime("%A"),
        "is_dst": bool(moment.dst()),
    }


def _date_after(arguments: Mapping[str, Any]) -> Any:
    start = _moment(arguments.get("date") or arguments["now"], arguments["now"])
    days = number_of(arguments.get("days", 0))
    if abs(days) > 1_000_000:
        raise PureError("that many days lead out of the calendar")
    return (start + timedelta(days=days)).date().isoformat()


def _days_between(arguments: Mapping[str, Any]) -> Any:
    first, last = (_moment(arguments[name], arguments["now"]) for name in ("first", "last"))
    return (last.date() - first.date()).days


def _weekday(arguments: Mapping[str, Any]) -> Any:
    return _moment(arguments["date"], arguments["now"]).strftime("%A")


def _months_after(arguments: Arguments) -> str:
    start = _moment(arguments.get("date") or arguments["now"], arguments["now"]).date()
    months = start.year * 12 + start.month - 1 + whole_of(arguments["months"], -12_000, 12_000)
    year, month = divmod(months, 12)
    day = min(start.day, calendar.monthrange(year, month + 1)[1])
    return start.replace(year=year, month=month + 1, day=day).isoformat()


def _to_unix(arguments: Arguments) -> int:
    moment = _moment(arguments["date"], arguments["now"])
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _from_unix(arguments: Arguments) -> str:
    seconds = whole_of(arguments["seconds"], 0, _LATEST)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}Z"


def _is_leap_year(arguments: Arguments) -> bool:
    return calendar.isleap(whole_of(arguments["year"], 1, 9999))


def _age(arguments: Arguments) -> int:
    born = _moment(arguments["date"], arguments["now"]).date()
    today = _moment(arguments["now"], arguments["now"]).date()
    if born > today:
        raise PureError("a date of birth in the past is needed")
    return today.year - born.year - ((today.month, today.day) < (born.month, born.day))


DATES: dict[str, Callable[[Arguments], Any]] = {
    "time_in_zone": time_in_zone,
    "convert_time": convert_time,
    "date_after": _date_after,
    "months_after": _months_after,
    "days_between": _days_between,
    "weekday": _weekday,
    "to_unix": _to_unix,
    "from_unix": _from_unix,
    "is_leap_year": _is_leap_year,
    "age": _age,
}
