"""The pure functions that a tool may be: arithmetic, text, encodings, hashes, dates, units.

Owns what is computed. A closed library: a tool is one of these or it is not computed at all. Each
function takes JSON values by name and returns one; what it cannot take is a `PureError`, which the
caller is told. Sizes are bounded, so that no argument makes one slow.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import html
import math
import operator
import re
import statistics
import string
import urllib.parse
import zlib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from components.environment.pure.grids import GRIDS
from components.environment.pure.sql import SQL
from components.environment.pure.units import convert as convert_units

MAX_TEXT = 100_000
_MAX_NODES = 200
_MAX_POWER = 512


class PureError(ValueError):
    """Arguments that a function has no value for; the text says why."""


def call(name: str, arguments: Mapping[str, Any]) -> Any:
    """Return what a function gives.

    Args:
        name: of the library.
        arguments: JSON values by the function's own names; a missing one is null.

    Raises:
        PureError: the function has no value for these arguments, or there is no such function.
    """
    function = FUNCTIONS.get(name)
    if function is None:
        raise PureError(f"there is no function {name!r}")
    try:
        value = function({key: item for key, item in arguments.items() if item is not None})
    except PureError:
        raise
    except (ArithmeticError, KeyError, TypeError, ValueError, IndexError) as error:
        raise PureError(f"{name} cannot take these arguments: {error}"[:200]) from error
    return _bounded(value)


def _bounded(value: Any) -> Any:
    if isinstance(value, complex):
        raise PureError("the result is no real number")
    if isinstance(value, float) and not math.isfinite(value):
        raise PureError("the result is no finite number")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        raise PureError("the result is too large")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _number(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise PureError(f"{value[:40]!r} is no number") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PureError(f"a number is needed, found {str(value)[:40]!r}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise PureError(f"a text is needed, found {str(value)[:40]!r}")
    if len(value) > MAX_TEXT:
        raise PureError(f"the text has {len(value)} characters; {MAX_TEXT} are the most")
    return value


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_CALLS: dict[str, Callable[..., Any]] = {
    "sqrt": math.sqrt, "sin": math.sin, "cos": math.cos, "tan": math.tan, "log": math.log,
    "log10": math.log10, "log2": math.log2, "exp": math.exp, "abs": abs, "floor": math.floor,
    "ceil": math.ceil, "round": round, "asin": math.asin, "acos": math.acos, "atan": math.atan,
    "min": min, "max": max,
}  # fmt: skip
_CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau}


def calculate(expression: str) -> Any:
    """Return the value of an arithmetic expression.

    Example:
        >>> calculate("2 * (3 + 4) ^ 2")
        98
    """
    text = _text(expression).replace("^", "**").replace("\u00d7", "*").replace("\u00f7", "/")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise PureError(f"no arithmetic expression: {expression[:80]!r}") from error
    if sum(1 for _ in ast.walk(tree)) > _MAX_NODES:
        raise PureError("the expression is too long")
    return _bounded(_value(tree.body))


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return power(_value(left), _value(right))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _bounded(_BINARY[type(op)](_value(left), _value(right)))
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
            return _CALLS[name](*[_value(item) for item in args])
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="math"), attr=name), args=args, keywords=[]
        ) if name in _CALLS:
            return _CALLS[name](*[_value(item) for item in args])
    raise PureError(f"the expression holds more than arithmetic ({type(node).__name__})")


def power(base: Any, exponent: Any) -> Any:
    """Return a power, with bounds on what integers may grow to."""
    if abs(exponent) > _MAX_POWER or (isinstance(base, int) and abs(base) > 2**63):
        raise PureError("the power is too large")
    return base**exponent


def _moment(text: str, now: str) -> datetime:
    """Return a moment from ISO text, a day, or a time of the world's own day."""
    text = _text(text).strip().removesuffix("Z")
    try:
        if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2})?", text):
            hours, minutes, *seconds = map(int, text.split(":"))
            today = datetime.fromisoformat(now.removesuffix("Z"))
            return today.replace(hour=hours, minute=minutes, second=seconds[0] if seconds else 0)
        return datetime.fromisoformat(text)
    except ValueError:
        raise PureError(f"{text[:40]!r} is no date or time; write 2026-01-31 or 09:00") from None


def _zone(name: Any) -> ZoneInfo:
    try:
        return ZoneInfo(_text(name or "UTC"))
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
    days = _number(arguments.get("days", 0))
    if abs(days) > 1_000_000:
        raise PureError("that many days lead out of the calendar")
    return (start + timedelta(days=days)).date().isoformat()


def _days_between(arguments: Mapping[str, Any]) -> Any:
    first, last = (_moment(arguments[name], arguments["now"]) for name in ("first", "last"))
    return (last.date() - first.date()).days


def _weekday(arguments: Mapping[str, Any]) -> Any:
    return _moment(arguments["date"], arguments["now"]).strftime("%A")


def _hash(arguments: Mapping[str, Any]) -> Any:
    name = str(arguments.get("algorithm", "sha256")).lower().replace("-", "")
    if name not in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512"):
        raise PureError(f"there is no algorithm {name[:40]!r}; md5, sha1, sha256 or sha512")
    digest = hashlib.new(name, _text(arguments["text"]).encode(), usedforsecurity=False)
    if str(arguments.get("encoding", "hex")).lower() == "base64":
        return base64.b64encode(digest.digest()).decode()
    return digest.hexdigest()


def _encode(arguments: Mapping[str, Any]) -> Any:
    text, scheme = _text(arguments["text"]), str(arguments["scheme"]).lower()
    match scheme:
        case "base64":
            return base64.b64encode(text.encode()).decode()
        case "hex":
            return text.encode().hex()
        case "url":
            return urllib.parse.quote(text, safe="")
        case "html":
            return html.escape(text)
    raise PureError(f"there is no encoding {scheme[:40]!r}; base64, hex, url or html")


def _decode(arguments: Mapping[str, Any]) -> Any:
    text, scheme = _text(arguments["text"]), str(arguments["scheme"]).lower()
    match scheme:
        case "base64":
            return base64.b64decode(text, validate=True).decode()
        case "hex":
            return bytes.fromhex(text).decode()
        case "url":
            return urllib.parse.unquote(text)
        case "html":
            return html.unescape(text)
    raise PureError(f"there is no encoding {scheme[:40]!r}; base64, hex, url or html")


def _case(arguments: Mapping[str, Any]) -> Any:
    text, style = _text(arguments["text"]), str(arguments["style"]).lower()
    parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+", text)
    match style:
        case "upper" | "uppercase":
            return text.upper()
        case "lower" | "lowercase":
            return text.lower()
        case "title":
            return string.capwords(text)
        case "snake":
            return "_".join(part.lower() for part in parts)
        case "kebab" | "slug":
            return "-".join(part.lower() for part in parts)
        case "camel":
            return "".join(p.lower() if n == 0 else p.capitalize() for n, p in enumerate(parts))
    raise PureError(f"there is no style {style[:40]!r}; upper, lower, title, snake, kebab or camel")


def _numbers(arguments: Mapping[str, Any]) -> list[Any]:
    values = arguments["numbers"]
    if not isinstance(values, (list, tuple)) or not values or len(values) > 10_000:
        raise PureError("a list of 1 to 10,000 numbers is needed")
    return [_number(item) for item in values]


def _two(compute: Callable[[Any, Any], Any]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda arguments: compute(_number(arguments["a"]), _number(arguments["b"]))


def _one(compute: Callable[[Any], Any]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda arguments: compute(_number(arguments["a"]))


def _whole(compute: Callable[[int, int], int]) -> Callable[[Mapping[str, Any]], Any]:
    def function(arguments: Mapping[str, Any]) -> Any:
        n, k = _number(arguments["a"]), _number(arguments["b"])
        if n != int(n) or k != int(k) or not 0 <= k <= n <= 1_000:
            raise PureError("whole numbers with 0 <= k <= n <= 1000 are needed")
        return compute(int(n), int(k))

    return function


def _factorial(value: Any) -> Any:
    if value != int(value) or not 0 <= value <= 20:
        raise PureError("a whole number from 0 to 20 is needed")
    return math.factorial(int(value))


FUNCTIONS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "add": _two(operator.add),
    "subtract": _two(operator.sub),
    "multiply": _two(operator.mul),
    "divide": _two(operator.truediv),
    "modulo": _two(operator.mod),
    "power": _two(power),
    "permutations": _whole(math.perm),
    "combinations": _whole(math.comb),
    "gcd": _two(lambda a, b: math.gcd(int(a), int(b))),
    "square_root": _one(math.sqrt),
    "factorial": _one(_factorial),
    "absolute": _one(abs),
    "logarithm": lambda a: math.log(_number(a["a"]), _number(a.get("b", math.e))),
    "calculate": lambda arguments: calculate(arguments["expression"]),
    "mean": lambda arguments: statistics.fmean(_numbers(arguments)),
    "median": lambda arguments: statistics.median(_numbers(arguments)),
    "sum": lambda arguments: sum(_numbers(arguments)),
    "echo": lambda arguments: _text(arguments["text"]),
    "length": lambda arguments: len(_text(arguments["text"])),
    "word_count": lambda arguments: len(_text(arguments["text"]).split()),
    "reverse": lambda arguments: _text(arguments["text"])[::-1],
    "trim": lambda arguments: _text(arguments["text"]).strip(),
    "case": _case,
    **GRIDS,
    **SQL,
    "hash": _hash,
    "checksum": lambda arguments: zlib.crc32(_text(arguments["text"]).encode()),
    "equal": lambda arguments: arguments["a"] == arguments["b"],
    "encode": _encode,
    "decode": _decode,
    "time_in_zone": time_in_zone,
    "convert_time": convert_time,
    "date_after": _date_after,
    "days_between": _days_between,
    "weekday": _weekday,
    "convert_units": lambda a: convert_units(
        _number(a["value"]), _text(a["source"]), _text(a["target"])
    ),
}
