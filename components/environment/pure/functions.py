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
from typing import Any

from components.environment.pure.arithmetic import ARITHMETIC
from components.environment.pure.dates import DATES
from components.environment.pure.grids import GRIDS
from components.environment.pure.sql import SQL
from components.environment.pure.texts import TEXTS
from components.environment.pure.units import convert as convert_units
from components.environment.pure.values import PureError, number_of, numbers_of, text_of

_MAX_NODES = 200
_MAX_POWER = 512


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
    if isinstance(value, (list, tuple)):
        return [_bounded(item) for item in value]
    if isinstance(value, dict):
        return {name: _bounded(item) for name, item in value.items()}
    if isinstance(value, complex):
        raise PureError("the result is no real number")
    if isinstance(value, float) and not math.isfinite(value):
        raise PureError("the result is no finite number")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        raise PureError("the result is too large")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
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
    written = text_of(expression).replace("^", "**").replace("\u00d7", "*").replace("\u00f7", "/")
    try:
        tree = ast.parse(written.strip(), mode="eval")
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


def _hash(arguments: Mapping[str, Any]) -> Any:
    name = str(arguments.get("algorithm", "sha256")).lower().replace("-", "")
    if name not in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512"):
        raise PureError(f"there is no algorithm {name[:40]!r}; md5, sha1, sha256 or sha512")
    digest = hashlib.new(name, text_of(arguments["text"]).encode(), usedforsecurity=False)
    if str(arguments.get("encoding", "hex")).lower() == "base64":
        return base64.b64encode(digest.digest()).decode()
    return digest.hexdigest()


def _encode(arguments: Mapping[str, Any]) -> Any:
    written, scheme = text_of(arguments["text"]), str(arguments["scheme"]).lower()
    match scheme:
        case "base64":
            return base64.b64encode(written.encode()).decode()
        case "hex":
            return written.encode().hex()
        case "url":
            return urllib.parse.quote(written, safe="")
        case "html":
            return html.escape(written)
    raise PureError(f"there is no encoding {scheme[:40]!r}; base64, hex, url or html")


def _decode(arguments: Mapping[str, Any]) -> Any:
    written, scheme = text_of(arguments["text"]), str(arguments["scheme"]).lower()
    match scheme:
        case "base64":
            return base64.b64decode(written, validate=True).decode()
        case "hex":
            return bytes.fromhex(written).decode()
        case "url":
            return urllib.parse.unquote(written)
        case "html":
            return html.unescape(written)
    raise PureError(f"there is no encoding {scheme[:40]!r}; base64, hex, url or html")


def _case(arguments: Mapping[str, Any]) -> Any:
    written, style = text_of(arguments["text"]), str(arguments["style"]).lower()
    parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+", written)
    match style:
        case "upper" | "uppercase":
            return written.upper()
        case "lower" | "lowercase":
            return written.lower()
        case "title":
            return string.capwords(written)
        case "snake":
            return "_".join(part.lower() for part in parts)
        case "kebab" | "slug":
            return "-".join(part.lower() for part in parts)
        case "camel":
            return "".join(p.lower() if n == 0 else p.capitalize() for n, p in enumerate(parts))
    raise PureError(f"there is no style {style[:40]!r}; upper, lower, title, snake, kebab or camel")


def _two(compute: Callable[[Any, Any], Any]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda arguments: compute(number_of(arguments["a"]), number_of(arguments["b"]))


def _one(compute: Callable[[Any], Any]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda arguments: compute(number_of(arguments["a"]))


def _whole(compute: Callable[[int, int], int]) -> Callable[[Mapping[str, Any]], Any]:
    def function(arguments: Mapping[str, Any]) -> Any:
        n, k = number_of(arguments["a"]), number_of(arguments["b"])
        if n != int(n) or k != int(k) or not 0 <= k <= n <= 1_000:
            raise PureError("whole numbers with 0 <= k <= n <= 1000 are needed")
        return compute(int(n), int(k))

    return function


def _factorial(value: Any) -> Any:
    if value != int(value) or not 0 <= value <= 20:
        raise PureError("a whole number from 0 to 20 is needed")
    return math.factorial(int(value))


FUNCTIONS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    **ARITHMETIC,
    **DATES,
    **TEXTS,
    "add": _two(operator.add),
    "subtract": _two(operator.sub),
    "multiply": _two(operator.mul),
    "divide": _two(operator.truediv),
    "floor_divide": _two(operator.floordiv),
    "modulo": _two(operator.mod),
    "power": _two(power),
    "permutations": _whole(math.perm),
    "combinations": _whole(math.comb),
    "gcd": _two(lambda a, b: math.gcd(int(a), int(b))),
    "square_root": _one(math.sqrt),
    "factorial": _one(_factorial),
    "absolute": _one(abs),
    "logarithm": lambda a: math.log(number_of(a["a"]), number_of(a.get("b", math.e))),
    "calculate": lambda arguments: calculate(arguments["expression"]),
    "mean": lambda arguments: statistics.fmean(numbers_of(arguments)),
    "median": lambda arguments: statistics.median(numbers_of(arguments)),
    "sum": lambda arguments: sum(numbers_of(arguments)),
    "echo": lambda arguments: text_of(arguments["text"]),
    "greet": lambda arguments: f"Hello, {text_of(arguments.get('name') or 'World')}!",
    "length": lambda arguments: len(text_of(arguments["text"])),
    "word_count": lambda arguments: len(text_of(arguments["text"]).split()),
    "reverse": lambda arguments: text_of(arguments["text"])[::-1],
    "trim": lambda arguments: text_of(arguments["text"]).strip(),
    "case": _case,
    **GRIDS,
    **SQL,
    "hash": _hash,
    "checksum": lambda arguments: zlib.crc32(text_of(arguments["text"]).encode()),
    "equal": lambda arguments: arguments["a"] == arguments["b"],
    "encode": _encode,
    "decode": _decode,
    "convert_units": lambda a: convert_units(
        number_of(a["value"]), text_of(a["source"]), text_of(a["target"])
    ),
}
