"""The expression language of blueprints, specs, reactions and contracts: JSON compiled to closures.

Owns the closed list of operations and their checks at compile time. It reads state, never changes it, and has no
clock, no randomness and no way out of its scope. A reference to a name or table that cannot exist is refused when
the expression is compiled, so that a patch with a slip in it never reaches a rollout.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from components.environment.state import Table
from components.records.frozen import FrozenDict, freeze

TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class ExpressionError(ValueError):
    """An expression is not of the language, or met a value of the wrong type."""


class Scope:
    """What an expression can see: names, tables and the clock."""

    __slots__ = ("names", "now", "tables")

    def __init__(self, names: dict[str, Any], tables: Mapping[str, Table], now: str) -> None:
        """Args: names bound to JSON values; tables by the name that expressions use; the world's clock."""
        self.names = names
        self.tables = tables
        self.now = now


Compiled = Callable[[Scope], Any]


class Vocabulary:
    """The names and tables that an expression may use; checked when it is compiled."""

    __slots__ = ("names", "tables")

    def __init__(self, names: Iterable[str], tables: Mapping[str, tuple[str, frozenset[str]]]):
        """Args: names: roots of `$` references; tables: name -> (key field, all fields)."""
        self.names = frozenset(names) | {"now"}
        self.tables = tables

    def with_names(self, *names: str) -> Vocabulary:
        """Return a vocabulary that also knows `names`."""
        return Vocabulary(self.names | set(names), self.tables)


def compile_expression(expression: Any, vocabulary: Vocabulary) -> Compiled:
    """Compile one expression.

    Raises:
        ExpressionError: an unknown operation, name, table or field, or a wrong number of parts.
    """
    if isinstance(expression, str):
        return (
            _reference(expression, vocabulary) if expression[:1] == "$" else _constant(expression)
        )
    if isinstance(expression, Mapping):
        operation = next(iter(expression), "") if len(expression) == 1 else ""
        if operation[:1] == "@":
            return _operation(operation, expression[operation], vocabulary)
        parts = {key: compile_expression(item, vocabulary) for key, item in expression.items()}
        return lambda scope: FrozenDict({key: part(scope) for key, part in parts.items()})
    if isinstance(expression, (list, tuple)):
        items = tuple(compile_expression(item, vocabulary) for item in expression)
        return lambda scope: tuple(item(scope) for item in items)
    return _constant(expression)


def tables_named(expression: Any) -> frozenset[str]:
    """Return every table that the expression's `@row`, `@rows` and `@count` name."""
    found: set[str] = set()
    if isinstance(expression, Mapping):
        for key, item in expression.items():
            if key in ("@row", "@rows", "@count") and isinstance(item, Mapping):
                found.add(str(item.get("table")))
            found |= tables_named(item)
    elif isinstance(expression, (list, tuple)):
        for item in expression:
            found |= tables_named(item)
    return frozenset(found)


def _constant(value: Any) -> Compiled:
    frozen = freeze(value)
    return lambda _scope: frozen


def _reference(text: str, vocabulary: Vocabulary) -> Compiled:
    root, *path = text[1:].split(".")
    if root not in vocabulary.names:
        raise ExpressionError(
            f"unknown name {text!r}; known: {', '.join(sorted(vocabulary.names))}"
        )
    if root == "now" and not path:
        return lambda scope: scope.now
    if not path:
        return lambda scope: scope.names.get(root)
    if len(path) == 1:
        field = path[0]

        def one_field(scope: Scope) -> Any:
            value = scope.names.get(root)
            return value.get(field) if isinstance(value, dict) else None

        return one_field

    def many_fields(scope: Scope) -> Any:
        value = scope.names.get(root)
        for field in path:
            value = value.get(field) if isinstance(value, dict) else None
        return value

    return many_fields


def _operation(name: str, operand: Any, vocabulary: Vocabulary) -> Compiled:
    if name == "@lit":
        return _constant(operand)
    if name == "@given":
        argument = str(operand)
        return lambda scope: argument in scope.names["args"]
    if name in ("@row", "@rows", "@count"):
        return _table_operation(name, operand, vocabulary)
    if name == "@each":
        return _each(operand, vocabulary)
    if name in _UNARY:
        unary, part = _UNARY[name], compile_expression(operand, vocabulary)
        return lambda scope: unary(part(scope))
    if name not in _FIXED and name not in _VARIADIC:
        raise ExpressionError(f"unknown operation {name!r}")
    if name in _VARIADIC and not isinstance(operand, (list, tuple)):
        whole, function = compile_expression(operand, vocabulary), _VARIADIC[name]
        return lambda scope: _guard(name, function, whole(scope))
    if not isinstance(operand, (list, tuple)):
        raise ExpressionError(f"{name} needs a list of parts, found {operand!r}")
    parts = tuple(compile_expression(item, vocabulary) for item in operand)
    if name == "@and":
        return lambda scope: all(part(scope) for part in parts)
    if name == "@or":
        return lambda scope: any(part(scope) for part in parts)
    if name == "@if":
        if len(parts) != 3:
            raise ExpressionError("@if needs [condition, then, else]")
        condition, then, otherwise = parts
        return lambda scope: then(scope) if condition(scope) else otherwise(scope)
    if name in _FIXED:
        if len(parts) != 2:
            raise ExpressionError(f"{name} needs two parts, found {len(parts)}")
        (left, right), binary = parts, _FIXED[name]
        return lambda scope: _guard(name, binary, left(scope), right(scope))
    variadic = _VARIADIC[name]
    return lambda scope: _guard(name, variadic, [part(scope) for part in parts])


def _guard(name: str, function: Callable[..., Any], *values: Any) -> Any:
    try:
        return function(*values)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ExpressionError(f"{name} cannot take {values!r}: {error}") from error


def _table(operand: Any, name: str, vocabulary: Vocabulary) -> tuple[str, str, frozenset[str]]:
    if not isinstance(operand, Mapping) or operand.get("table") not in vocabulary.tables:
        known = ", ".join(sorted(vocabulary.tables))
        raise ExpressionError(f"{name} needs a known table, found {operand!r}; known: {known}")
    table = str(operand["table"])
    key, fields = vocabulary.tables[table]
    return table, key, fields


def _table_operation(name: str, operand: Any, vocabulary: Vocabulary) -> Compiled:
    table, key, fields = _table(operand, name, vocabulary)
    if name == "@row":
        field = str(operand.get("field") or key)
        if field not in fields:
            raise ExpressionError(f"@row: table {table!r} has no field {field!r}")
        equals = compile_expression(operand.get("equals"), vocabulary)
        if field == key:
            return lambda scope: scope.tables[table].values_of(equals(scope))
        return lambda scope: scope.tables[table].find(field, equals(scope))
    where = compile_expression(operand.get("where", True), vocabulary.with_names("item"))

    def select(scope: Scope) -> list[FrozenDict[str, Any]]:
        outer = scope.names.get("item")
        found = []
        for values in scope.tables[table].in_order():
            scope.names["item"] = values
            if where(scope):
                found.append(FrozenDict(values))
        scope.names["item"] = outer
        return found

    if name == "@rows":
        return lambda scope: tuple(select(scope))
    return lambda scope: len(select(scope))


def _each(operand: Any, vocabulary: Vocabulary) -> Compiled:
    if not isinstance(operand, (list, tuple)) or len(operand) != 2:
        raise ExpressionError("@each needs [list, expression over $element]")
    source = compile_expression(operand[0], vocabulary)
    body = compile_expression(operand[1], vocabulary.with_names("element"))

    def each(scope: Scope) -> tuple[Any, ...]:
        outer = scope.names.get("element")
        results = []
        for element in source(scope) or ():
            scope.names["element"] = element
            results.append(body(scope))
        scope.names["element"] = outer
        return tuple(results)

    return each


def same(left: Any, right: Any) -> bool:
    """JSON equality: `True` is not 1, 1 is 1.0."""
    if isinstance(left, bool) is not isinstance(right, bool):
        return False
    return bool(left == right)


def _ordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    return lambda left, right: left is not None and right is not None and bool(compare(left, right))


def _contains(whole: Any, part: Any) -> bool:
    if whole is None or part is None:
        return False
    if isinstance(whole, str):
        return str(part).lower() in whole.lower()
    return any(same(item, part) for item in whole)


def _without(items: Any, item: Any) -> tuple[Any, ...]:
    return tuple(other for other in items or () if not same(other, item))


def _hours_after(timestamp: str, hours: float) -> str:
    moment = datetime.strptime(timestamp, TIME_FORMAT) + timedelta(hours=hours)
    return moment.strftime(TIME_FORMAT)


def _pick(values: Any, fields: Any) -> Any:
    return (
        FrozenDict({field: values.get(field) for field in fields}) if values is not None else None
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ExpressionError(f"@concat takes texts and numbers, found {value!r}")
    return str(value)


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[[Iterable[Any]], Any]:
    def pick(values: Iterable[Any]) -> Any:
        parts = list(values)
        if len(parts) == 1 and isinstance(parts[0], (list, tuple)):
            parts = list(parts[0])
        known = [part for part in parts if part is not None]
        return choose(known) if known else None

    return pick


_UNARY: dict[str, Callable[[Any], Any]] = {
    "@not": operator.not_,
    "@is_null": lambda value: value is None,
    "@len": lambda value: len(value) if value is not None else 0,
    "@lower": lambda value: value.lower() if isinstance(value, str) else value,
}
_FIXED: dict[str, Callable[[Any, Any], Any]] = {
    "@eq": same,
    "@ne": lambda left, right: not same(left, right),
    "@lt": _ordered(operator.lt),
    "@le": _ordered(operator.le),
    "@gt": _ordered(operator.gt),
    "@ge": _ordered(operator.ge),
    "@in": lambda item, items: any(same(item, other) for other in items or ()),
    "@contains": _contains,
    "@sub": operator.sub,
    "@mul": operator.mul,
    "@append": lambda items, item: (*(items or ()), item),
    "@without": _without,
    "@hours_after": _hours_after,
    "@part_before": lambda text, mark: text.partition(mark)[0],
    "@part_after": lambda text, mark: text.partition(mark)[2],
    "@pick": _pick,
}
_VARIADIC: dict[str, Callable[[Any], Any]] = {
    "@and": all,
    "@or": any,
    "@if": lambda parts: parts,
    "@add": lambda parts: sum(parts[1:], parts[0]),
    "@concat": lambda parts: "".join(_text(part) for part in parts),
    "@coalesce": lambda parts: next((part for part in parts if part is not None), None),
    "@min": _extreme(min),
    "@max": _extreme(max),
}
