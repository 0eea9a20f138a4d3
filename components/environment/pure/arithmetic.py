"""Pure functions of numbers: statistics, number theory, matrices, money.

Owns what is computed of numbers; expressions are in `functions.py`.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from components.environment.pure.values import (
    Arguments,
    PureError,
    matrix_of,
    number_of,
    numbers_of,
    text_of,
    whole_of,
)

_MOST = 10**12
"""Largest number whose divisors are looked for."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
    (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
Function = Callable[[Arguments], Any]


def _one(compute: Callable[[Any], Any]) -> Function:
    return lambda arguments: compute(number_of(arguments["a"]))


def _of_all(compute: Callable[[list[Any]], Any]) -> Function:
    return lambda arguments: compute(numbers_of(arguments))


def prime_factors(value: int) -> list[int]:
    """Return the prime factors of a whole number from 2 on, the least first."""
    found, factor = [], 2
    while factor * factor <= value:
        while value % factor == 0:
            found.append(factor)
            value //= factor
        factor += 1 if factor == 2 else 2
    return [*found, value] if value > 1 else found


def _is_prime(arguments: Arguments) -> bool:
    value = whole_of(arguments["a"], most=_MOST)
    return value > 1 and prime_factors(value) == [value]


def _divisors(arguments: Arguments) -> list[int]:
    value = whole_of(arguments["a"], 1, _MOST)
    found = {1}
    for factor in prime_factors(value):
        found |= {item * factor for item in found}
    return sorted(found)


def _fibonacci(arguments: Arguments) -> int:
    first, last = 0, 1
    for _ in range(whole_of(arguments["a"], 0, 90)):
        first, last = last, first + last
    return first


def _quadratic(arguments: Arguments) -> list[Any]:
    a, b, c = (number_of(arguments[name]) for name in ("a", "b", "c"))
    if a == 0:
        raise PureError("the equation is not quadratic: a is 0")
    inside = b * b - 4 * a * c
    if inside < 0:
        raise PureError("the equation has no real root")
    roots = sorted({(-b - math.sqrt(inside)) / (2 * a), (-b + math.sqrt(inside)) / (2 * a)})
    return [int(root) if root.is_integer() else root for root in roots]


def _mode(values: list[Any]) -> Any:
    return statistics.multimode(values)[0]


def _percentile(arguments: Arguments) -> Any:
    values, share = sorted(numbers_of(arguments)), number_of(arguments["a"])
    if not 0 <= share <= 100:
        raise PureError("a percentile from 0 to 100 is needed")
    place = (len(values) - 1) * share / 100
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def _spread(values: list[Any], compute: Callable[[list[Any]], Any]) -> Any:
    if len(values) < 2:
        raise PureError("two numbers or more are needed")
    return compute(values)


def describe(values: list[Any]) -> dict[str, Any]:
    """Return the usual statistics of numbers."""
    return {
        "count": len(values),
        "sum": sum(values),
        "mean": statistics.fmean(values),
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
    }


def _correlation(arguments: Arguments) -> Any:
    first, last = numbers_of(arguments, "first"), numbers_of(arguments, "last")
    if len(first) != len(last) or len(first) < 2:
        raise PureError("two lists of equally many numbers are needed")
    return statistics.correlation(first, last)


def _matrices(compute: Callable[[Any, Any], Any]) -> Function:
    def function(arguments: Arguments) -> list[list[Any]]:
        first, last = matrix_of(arguments["first"]), matrix_of(arguments["last"])
        if len(first) != len(last) or len(first[0]) != len(last[0]):
            raise PureError("the matrices must have the same shape")
        return [
            [compute(a, b) for a, b in zip(*rows, strict=True)]
            for rows in zip(first, last, strict=True)
        ]

    return function


def _matrix_multiply(arguments: Arguments) -> list[list[Any]]:
    first, last = matrix_of(arguments["first"]), matrix_of(arguments["last"])
    if len(first[0]) != len(last):
        raise PureError("the first matrix must have as many columns as the second has rows")
    columns = list(zip(*last, strict=True))
    return [[sum(a * b for a, b in zip(row, col, strict=True)) for col in columns] for row in first]


def _transpose(arguments: Arguments) -> list[list[Any]]:
    return [list(row) for row in zip(*matrix_of(arguments["matrix"]), strict=True)]


def _square(value: Any) -> list[list[Fraction]]:
    rows = matrix_of(value)
    if len(rows) != len(rows[0]):
        raise PureError("a matrix with as many rows as columns is needed")
    return [[Fraction(item) for item in row] for row in rows]


def _plain(value: Fraction) -> Any:
    return int(value) if value.denominator == 1 else float(value)


def _eliminated(rows: list[list[Fraction]], size: int) -> Fraction:
    """Reduce the first columns of rows to the unit matrix; return their determinant."""
    determinant = Fraction(1)
    for place in range(size):
        pivot = next((n for n in range(place, size) if rows[n][place]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != place:
            rows[place], rows[pivot] = rows[pivot], rows[place]
            determinant = -determinant
        head = rows[place][place]
        determinant *= head
        rows[place] = [item / head for item in rows[place]]
        for other in range(size):
            if other != place and (factor := rows[other][place]):
                pairs = zip(rows[other], rows[place], strict=True)
                rows[other] = [item - factor * own for item, own in pairs]
    return determinant


def _determinant(arguments: Arguments) -> Any:
    rows = _square(arguments["matrix"])
    return _plain(_eliminated(rows, len(rows)))


def _inverse(arguments: Arguments) -> list[list[Any]]:
    rows = _square(arguments["matrix"])
    size = len(rows)
    wide = [
        row + [Fraction(int(n == place)) for place in range(size)] for n, row in enumerate(rows)
    ]
    if _eliminated(wide, size) == 0:
        raise PureError("the matrix has no inverse: its determinant is 0")
    return [[_plain(item) for item in row[size:]] for row in wide]


def _vectors(arguments: Arguments) -> tuple[list[Any], list[Any]]:
    first, last = numbers_of(arguments, "first"), numbers_of(arguments, "last")
    if len(first) != len(last):
        raise PureError("the vectors must have the same length")
    return first, last


def _dot(arguments: Arguments) -> Any:
    return sum(a * b for a, b in zip(*_vectors(arguments), strict=True))


def _cross(arguments: Arguments) -> list[Any]:
    (a, b, c), (x, y, z) = _vectors(arguments)
    return [b * z - c * y, c * x - a * z, a * y - b * x]


def to_roman(value: int) -> str:
    """Return a whole number from 1 to 3999 in Roman numerals."""
    found = ""
    for size, letters in _ROMAN:
        count, value = divmod(value, size)
        found += letters * count
    return found


def _from_roman(arguments: Arguments) -> int:
    written = text_of(arguments["text"], 20).strip().upper()
    rest, value = written, 0
    for size, letters in _ROMAN:
        while rest.startswith(letters):
            rest, value = rest[len(letters) :], value + size
    if rest or not 0 < value < 4000 or to_roman(value) != written:
        raise PureError(f"{written!r} is no Roman numeral")
    return value


def _in_base(arguments: Arguments) -> str:
    source = whole_of(arguments.get("source", 10), 2, 36)
    target = whole_of(arguments["target"], 2, 36)
    given = arguments["value"]
    written = text_of(given, 60) if isinstance(given, str) else str(whole_of(given))
    value = int(written.strip().lower(), source)
    digits, left = "", abs(value)
    while left:
        left, digit = divmod(left, target)
        digits = _DIGITS[digit] + digits
    return ("-" if value < 0 else "") + (digits or "0")


def _change(arguments: Arguments) -> Any:
    old, new = number_of(arguments["first"]), number_of(arguments["last"])
    return (new - old) / old * 100


def _compound(arguments: Arguments) -> Any:
    principal, rate, years = (number_of(arguments[name]) for name in ("principal", "rate", "years"))
    times = number_of(arguments.get("times", 1))
    if not 0 < times <= 366 or not 0 <= years <= 1000:
        raise PureError("1 to 366 times a year for at most 1000 years are needed")
    return round(principal * (1 + rate / 100 / times) ** (times * years), 2)


def _payment(arguments: Arguments) -> Any:
    principal, rate = number_of(arguments["principal"]), number_of(arguments["rate"]) / 1200
    months = number_of(arguments["years"]) * 12
    if not 0 < months <= 1200:
        raise PureError("a term of at most 100 years is needed")
    if rate == 0:
        return round(principal / months, 2)
    return round(principal * rate / (1 - (1 + rate) ** -months), 2)


def _bmi(arguments: Arguments) -> Any:
    height = number_of(arguments["height"]) / (100 if arguments.get("is_cm") else 1)
    return round(number_of(arguments["weight"]) / height**2, 2)


def _scaled(arguments: Arguments, sign: int) -> Any:
    given = arguments["value"]
    value = Fraction(
        text_of(given, 60).strip() if isinstance(given, str) else str(number_of(given))
    )
    return value * Fraction(10) ** (sign * whole_of(arguments["decimals"], 0, 36))


def _to_units(arguments: Arguments) -> str:
    return str(int(_scaled(arguments, 1)))


def _from_units(arguments: Arguments) -> str:
    value = _scaled(arguments, -1)
    with localcontext() as context:
        context.prec = 120
        written = f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


ARITHMETIC: dict[str, Function] = {
    "sine": _one(math.sin),
    "cosine": _one(math.cos),
    "tangent": _one(math.tan),
    "radians": _one(math.radians),
    "degrees": _one(math.degrees),
    "cube_root": _one(lambda a: math.copysign(abs(a) ** (1 / 3), a)),
    "exponential": _one(math.exp),
    "floor": _one(math.floor),
    "ceiling": _one(math.ceil),
    "round": lambda a: round(number_of(a["a"]), whole_of(a.get("digits", 0), 0, 15)),
    "lcm": lambda a: math.lcm(whole_of(a["a"]), whole_of(a["b"])),
    "is_prime": _is_prime,
    "prime_factors": lambda a: prime_factors(whole_of(a["a"], 2, _MOST)),
    "divisors": _divisors,
    "fibonacci": _fibonacci,
    "quadratic": _quadratic,
    "least": _of_all(min),
    "greatest": _of_all(max),
    "range": _of_all(lambda values: max(values) - min(values)),
    "mode": _of_all(_mode),
    "variance": _of_all(lambda values: _spread(values, statistics.variance)),
    "deviation": _of_all(lambda values: _spread(values, statistics.stdev)),
    "population_variance": _of_all(statistics.pvariance),
    "population_deviation": _of_all(statistics.pstdev),
    "percentile": _percentile,
    "describe": _of_all(describe),
    "frequencies": _of_all(lambda v: {str(item): n for item, n in sorted(Counter(v).items())}),
    "correlation": _correlation,
    "sorted_numbers": _of_all(sorted),
    "matrix_add": _matrices(lambda a, b: a + b),
    "matrix_subtract": _matrices(lambda a, b: a - b),
    "matrix_multiply": _matrix_multiply,
    "transpose": _transpose,
    "determinant": _determinant,
    "inverse": _inverse,
    "dot_product": _dot,
    "cross_product": _cross,
    "magnitude": lambda a: math.hypot(*numbers_of(a, "vector")),
    "to_roman": lambda a: to_roman(whole_of(a["a"], 1, 3999)),
    "from_roman": _from_roman,
    "in_base": _in_base,
    "percent_of": lambda a: number_of(a["share"]) * number_of(a["value"]) / 100,
    "percent_change": _change,
    "compound": _compound,
    "payment": _payment,
    "bmi": _bmi,
    "to_smallest_units": _to_units,
    "from_smallest_units": _from_units,
    "hypotenuse": lambda a: math.hypot(number_of(a["a"]), number_of(a["b"])),
}
