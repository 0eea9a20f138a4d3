"""The expression language of blueprints, specs, reactions and contracts: JSON compiled to closures.

Owns the closed list of operations and their checks at compile time. It reads state, never changes
it, and has no clock, no randomness and no way out of its scope. A reference to a name or table that
cannot exist is refused when the expression is compiled, so that a patch with a slip in it never
reaches a rollout.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from components.environment.conditions import meets
from components.environment.paths import folder_of, is_like, last_part, levels_below
from components.environment.pure import functions as pure
from components.environment.simulation import draw_records
from components.environment.state import MAX_ROW_BYTES, Table
from components.environment.texts import first_lines, last_lines, matches
from components.environment.values import has_path, is_of, settle, settle_number
from components.environment.values import same as same
from components.records.frozen import FrozenDict, canonical_json

_WRONG = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What Python raises when an operation meets a value of the wrong type."""


class ExpressionError(ValueError):
    """An expression is not of the language, or met a value of the wrong type."""


class Scope:
    """What an expression can see: names, tables and the clock."""

    __slots__ = ("names", "now", "tables")

    def __init__(self, names: dict[str, Any], tables: Mapping[str, Table], now: str) -> None:
        """Args: names: JSON values; tables: by the name that expressions use; now: the clock."""
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
        parts = {
            settle(key): compile_expression(item, vocabulary) for key, item in expression.items()
        }
        return lambda scope: FrozenDict({key: part(scope) for key, part in parts.items()})
    if isinstance(expression, (list, tuple)):
        items = tuple(compile_expression(item, vocabulary) for item in expression)
        return lambda scope: tuple([item(scope) for item in items])
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
    try:
        settled = settle(value)
    except ValueError as error:
        raise ExpressionError(f"a literal is not JSON: {error}") from error
    return lambda _scope: settled


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
        if not isinstance(operand, str) or "args" not in vocabulary.names:
            raise ExpressionError(f"@given needs the name of an argument, found {operand!r}")
        path = operand.split(".")
        return lambda scope: has_path(scope.names["args"], path)
    if name == "@draw":
        return _draw(operand, vocabulary)
    if name in ("@call", "@can_call"):
        return _pure_call(name, operand, vocabulary)
    if name in ("@row", "@rows", "@count"):
        return _table_operation(name, operand, vocabulary)
    if name == "@each":
        return _each(operand, vocabulary)
    if name == "@find":
        return _find(operand, vocabulary)
    if name == "@field":
        return _field(operand, vocabulary)
    if name in _UNARY:
        return _call(name, _UNARY[name], compile_expression(operand, vocabulary))
    if name not in _FIXED and name not in _VARIADIC and name not in _LAZY:
        raise ExpressionError(f"unknown operation {name!r}")
    if name in _VARIADIC and not isinstance(operand, (list, tuple)):
        return _call(name, _VARIADIC[name], compile_expression(operand, vocabulary))
    if not isinstance(operand, (list, tuple)):
        raise ExpressionError(f"{name} needs a list of parts, found {operand!r}")
    parts = tuple(compile_expression(item, vocabulary) for item in operand)
    if name in _LAZY:
        return _lazy(name, parts)
    if name in _FIXED:
        if len(parts) != 2:
            raise ExpressionError(f"{name} needs two parts, found {len(parts)}")
        return _call_two(name, _FIXED[name], parts[0], parts[1])
    return _call(name, _VARIADIC[name], lambda scope: tuple([part(scope) for part in parts]))


def _lazy(name: str, parts: tuple[Compiled, ...]) -> Compiled:
    """The operations that look at no more parts than they need."""
    if name == "@and":
        return lambda scope: all(part(scope) for part in parts)
    if name == "@or":
        return lambda scope: any(part(scope) for part in parts)
    if name == "@coalesce":
        return lambda scope: next(
            (value for part in parts if (value := part(scope)) is not None), None
        )
    if len(parts) != 3:
        raise ExpressionError(f"@if needs [condition, then, else], found {len(parts)} parts")
    condition, then, otherwise = parts
    return lambda scope: then(scope) if condition(scope) else otherwise(scope)


def _call(name: str, function: Callable[[Any], Any], part: Compiled) -> Compiled:
    def call(scope: Scope) -> Any:
        value = part(scope)
        try:
            return function(value)
        except _WRONG as error:
            raise _misfit(name, (value,), error) from error

    return call


def _call_two(
    name: str, function: Callable[[Any, Any], Any], left: Compiled, right: Compiled
) -> Compiled:
    def call(scope: Scope) -> Any:
        values = left(scope), right(scope)
        try:
            return function(*values)
        except _WRONG as error:
            raise _misfit(name, values, error) from error

    return call


def _misfit(name: str, values: tuple[Any, ...], error: Exception) -> ExpressionError:
    if isinstance(error, ExpressionError):
        return error
    found = ", ".join(repr(value)[:80] for value in values)
    return ExpressionError(f"{name} cannot take {found}: {str(error)[:200]}")


def _table(operand: Any, name: str, vocabulary: Vocabulary) -> tuple[str, str, frozenset[str]]:
    if not isinstance(operand, Mapping) or operand.get("table") not in vocabulary.tables:
        known = ", ".join(sorted(vocabulary.tables))
        raise ExpressionError(f"{name} needs a known table, found {operand!r}; known: {known}")
    table = str(operand["table"])
    known_parts = {"table", "field", "equals"} if name == "@row" else {"table", "where"}
    if extra := sorted(set(operand) - known_parts):
        raise ExpressionError(f"{name} has no part {extra[0]!r}")
    key, fields = vocabulary.tables[table]
    return table, key, fields


def _table_operation(name: str, operand: Any, vocabulary: Vocabulary) -> Compiled:
    table, key, fields = _table(operand, name, vocabulary)
    if name == "@row":
        field = str(operand.get("field") or key)
        if field not in fields:
            raise ExpressionError(f"@row: table {table!r} has no field {field!r}")
        if "equals" not in operand:
            raise ExpressionError(f"@row in {table!r} needs `equals`")
        equals = compile_expression(operand["equals"], vocabulary)
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
                found.append(values)
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
        for element in elements_of("@each", source(scope)):
            scope.names["element"] = element
            results.append(body(scope))
        scope.names["element"] = outer
        return tuple(results)

    return each


def _find(operand: Any, vocabulary: Vocabulary) -> Compiled:
    """The first element of a list for which an expression over `$element` holds, or null."""
    if not isinstance(operand, (list, tuple)) or len(operand) != 2:
        raise ExpressionError("@find needs [list, expression over $element]")
    source = compile_expression(operand[0], vocabulary)
    holds = compile_expression(operand[1], vocabulary.with_names("element"))

    def find(scope: Scope) -> Any:
        outer, found = scope.names.get("element"), None
        for element in elements_of("@find", source(scope)):
            scope.names["element"] = element
            if holds(scope):
                found = element
                break
        scope.names["element"] = outer
        return found

    return find


def _draw(operand: Any, vocabulary: Vocabulary) -> Compiled:
    """Records of a kind, drawn by the tool, its arguments and the state: see `simulation`."""
    is_right = isinstance(operand, Mapping) and set(operand) == {"noun", "many", "tool"}
    if not is_right or "args" not in vocabulary.names:
        raise ExpressionError(f"@draw needs noun, many and tool, found {operand!r}"[:200])
    noun, is_many, tool = str(operand["noun"]), bool(operand["many"]), str(operand["tool"])
    return lambda scope: settle(
        draw_records(noun, is_many, tool, scope.names["args"], scope.tables.values(), scope.now)
    )


def _pure_call(name: str, operand: Any, vocabulary: Vocabulary) -> Compiled:
    """A function of the library with named arguments, or whether it has a value for them."""
    is_pair = isinstance(operand, (list, tuple)) and len(operand) == 2
    if not is_pair or operand[0] not in pure.FUNCTIONS or not isinstance(operand[1], Mapping):
        raise ExpressionError(f"{name} needs [function, arguments], found {operand!r}"[:200])
    function = operand[0]
    parts = {key: compile_expression(item, vocabulary) for key, item in operand[1].items()}

    def call(scope: Scope) -> Any:
        try:
            return settle(pure.call(function, {key: part(scope) for key, part in parts.items()}))
        except ValueError as error:
            raise ExpressionError(str(error)) from error

    def can_call(scope: Scope) -> bool:
        try:
            call(scope)
        except ExpressionError:
            return False
        return True

    return call if name == "@call" else can_call


def _field(operand: Any, vocabulary: Vocabulary) -> Compiled:
    """One field of an object that an expression gives; as in a reference, no object has none."""
    is_pair = isinstance(operand, (list, tuple)) and len(operand) == 2
    if not is_pair or not isinstance(operand[1], str):
        raise ExpressionError(f'@field needs [object, "name"], found {operand!r}'[:200])
    source, field = operand
    whole = compile_expression(source, vocabulary)
    if isinstance(source, Mapping) and isinstance(source.get("@row"), Mapping):
        table = str(source["@row"]["table"])
        if field not in vocabulary.tables[table][1]:
            raise ExpressionError(f"@field: table {table!r} has no field {field!r}")

    def one_field(scope: Scope) -> Any:
        value = whole(scope)
        return value.get(field) if isinstance(value, dict) else None

    return one_field


def elements_of(name: str, value: Any) -> tuple[Any, ...]:
    """Return the elements of a list; null has none.

    Raises:
        ExpressionError: the value is no list.
    """
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise ExpressionError(f"{name} needs a list, found {value!r}"[:200])
    return tuple(value)


def _ordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    return lambda left, right: left is not None and right is not None and bool(compare(left, right))


def _contains(whole: Any, part: Any) -> bool:
    if whole is None or part is None:
        return False
    if isinstance(whole, str):
        return _text(part).lower() in whole.lower()
    return _in(part, whole)


def _in(item: Any, items: Any) -> bool:
    return any(same(item, other) for other in elements_of("@in", items))


def _without(items: Any, item: Any) -> tuple[Any, ...]:
    return tuple(other for other in elements_of("@without", items) if not same(other, item))


def _hours_after(timestamp: str, hours: float) -> str:
    if len(timestamp) != 20 or timestamp[-1] != "Z":
        raise ValueError("a timestamp looks like 2026-01-31T09:00:00Z")
    moment = datetime.fromisoformat(timestamp[:-1]) + timedelta(hours=_number(hours))
    return moment.isoformat(timespec="seconds") + "Z"


def _pick(values: Any, fields: Any) -> Any:
    if values is None:
        return None
    return FrozenDict({field: values.get(field) for field in elements_of("@pick", fields)})


def _omit(values: Any, fields: Any) -> Any:
    """An object without some of its fields; null has none."""
    return FrozenDict({name: item for name, item in (values or {}).items() if name not in fields})


def _merge(old: Any, new: Any) -> Any:
    """The fields of two objects; those of the second win, and null has none."""
    return FrozenDict({**(old or {}), **(new or {})})


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ExpressionError(f"a text or number is needed, found {value!r}"[:200])
    return str(value)


def _concat(parts: Iterable[Any]) -> str:
    text = "".join([_text(part) for part in parts])
    if len(text) > MAX_ROW_BYTES:
        raise ExpressionError(f"@concat would make {len(text)} characters")
    return text


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{str(value)[:80]!r} is not a number")
    return value


def _arithmetic(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    # Python would also multiply texts and add lists; JSON numbers must stay finite and in 64 bits.
    return lambda left, right: settle_number(compute(_number(left), _number(right)))


def _add(parts: Iterable[Any]) -> Any:
    return settle_number(sum(_number(part) for part in parts))


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[[Any], Any]:
    def pick(values: Any) -> Any:
        parts = elements_of("@min or @max", values)
        if len(parts) == 1 and isinstance(parts[0], (list, tuple)):
            parts = tuple(parts[0])
        known = [part for part in parts if part is not None]
        return choose(known) if known else None

    return pick


_UNARY: dict[str, Callable[[Any], Any]] = {
    "@not": operator.not_,
    "@is_null": lambda value: value is None,
    "@len": lambda value: len(value) if value is not None else 0,
    "@text": lambda value: value if isinstance(value, bool) or value is None else str(value),
    "@json": lambda value: canonical_json(value).decode(),
    "@folder_of": folder_of,
    "@last_part": last_part,
    "@lower": lambda value: value.lower() if isinstance(value, str) else value,
}
_FIXED: dict[str, Callable[[Any, Any], Any]] = {
    "@eq": same,
    "@ne": lambda left, right: not same(left, right),
    "@lt": _ordered(operator.lt),
    "@le": _ordered(operator.le),
    "@gt": _ordered(operator.gt),
    "@ge": _ordered(operator.ge),
    "@in": _in,
    "@contains": _contains,
    "@matches": matches,
    "@levels_below": levels_below,
    "@is_like": is_like,
    "@meets": meets,
    "@sub": _arithmetic(operator.sub),
    "@mul": _arithmetic(operator.mul),
    "@append": lambda items, item: (*elements_of("@append", items), item),
    "@without": _without,
    "@hours_after": _hours_after,
    "@part_before": lambda text, mark: text.partition(mark)[0],
    "@part_after": lambda text, mark: text.partition(mark)[2],
    "@first_lines": first_lines,
    "@last_lines": last_lines,
    "@pick": _pick,
    "@omit": _omit,
    "@is": is_of,
    "@merge": _merge,
}
_LAZY = frozenset({"@and", "@or", "@if", "@coalesce"})
_VARIADIC: dict[str, Callable[[Any], Any]] = {
    "@add": _add,
    "@concat": _concat,
    "@min": _extreme(min),
    "@max": _extreme(max),
}
