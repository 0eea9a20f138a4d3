"""What all gates share: calls on a fresh service, and records of failures.

Owns the calling. It sees the spec and the rows of the state, never the
blueprint: table keys are read off the rows. A call that raises is data here, not an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs
import orjson

from components.environment.engine import execute
from components.environment.expressions import Vocabulary
from components.environment.state import Table, WorldState, rows_of
from components.environment.world import World
from components.records.calls import ErrorCode, RowChange
from components.records.frozen import FrozenDict, JsonObject, canonical_json, freeze, thaw
from components.records.spec import ServiceSpec

GATE_NOW = "2026-03-02T09:00:00Z"
MAX_ROWS = 12
NO_SUCH_ROW = "no_such_row_7q"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFailure:
    """One broken expectation, small enough to read."""

    tool: str
    """Empty when it is the service's own (its seed, say)."""
    gate: str
    """`self`, `adversarial`, `documentation` or `law`."""
    rule: str
    """What was tested."""
    arguments: JsonObject
    expected: str
    came: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What one call did."""

    state: WorldState
    envelope: JsonObject
    changes: tuple[RowChange, ...]
    crash: str = ""
    """The exception that came out of the engine; empty when none did."""

    @property
    def is_ok(self) -> bool:
        """True when the tool answered."""
        return not self.crash and self.envelope.get("ok") is True

    @property
    def code(self) -> str:
        """Error code, or an empty text."""
        error = self.envelope.get("error")
        return str(error.get("code")) if isinstance(error, Mapping) else ""

    @property
    def data(self) -> Any:
        """The answer's data; where it is one text that is JSON, what the text says."""
        return _opened(self.envelope.get("data"))

    def told(self) -> str:
        """Say what came, in one line."""
        if self.crash:
            return f"it crashed: {self.crash}"
        if self.is_ok:
            return f"ok with {len(self.changes)} changes: {_short(self.data)}"
        message = self.envelope.get("error", {}).get("message", "")
        return f"{self.code or 'no envelope'}: {str(message)[:160]}"


def _opened(data: Any) -> Any:
    if not isinstance(data, Mapping) or len(data) != 1:
        return data
    (text,) = data.values()
    if not isinstance(text, str) or text[:1] not in ("{", "["):
        return data
    try:
        return freeze(orjson.loads(text))
    except orjson.JSONDecodeError:
        return data


@dataclass(slots=True, kw_only=True)
class Prober:
    """Calls one service and collects failures. Lives while one service is judged."""

    spec: ServiceSpec
    world: World
    tools: tuple[str, ...]
    """Tools that are offered, sorted."""
    num_calls: int = 0
    failures: list[GateFailure] = field(default_factory=list)
    _rows: dict[int, tuple[Table, dict[str, JsonObject]]] = field(default_factory=dict)
    _validators: dict[str, Any] = field(default_factory=dict)
    _shapes: dict[str, tuple[str, frozenset[str]]] = field(default_factory=dict)
    _seen: dict[tuple[str, bytes], Seen] = field(default_factory=dict)
    """Calls on the initial state that were made before: tools are pure functions of it."""
    _values: frozenset[Any] | None = None
    _some: dict[str, list[JsonObject]] = field(default_factory=dict)

    @property
    def initial(self) -> WorldState:
        """State that every test starts from."""
        return self.world.initial

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the service's tables, sorted."""
        return tuple(sorted(self.initial.services[self.spec.service]))

    def rows(self, table: str, state: WorldState | None = None) -> dict[str, JsonObject]:
        """Return the rows of a table by id."""
        found = (state or self.initial).table(self.spec.service, table)
        known = self._rows.get(id(found))
        if known is None or known[0] is not found:
            known = (found, rows_of(state or self.initial, self.spec.service, table))
            # Written tables are used once or twice; only the seed's tables are worth keeping.
            if state is None or found is self.initial.table(self.spec.service, table):
                self._rows[id(found)] = known
        return known[1]

    def some_rows(self, table: str) -> list[JsonObject]:
        """Return a few rows of the seed that show what its columns hold."""
        if table not in self._some:
            self._some[table] = diverse(self.rows(table).values())
        return self._some[table]

    def call(
        self, tool: str, arguments: Mapping[str, Any], state: WorldState | None = None
    ) -> Seen:
        """Call a tool; whatever goes wrong inside comes back as data. A call on the initial state
        that was made before is not made again.
        """
        key = None if state is not None else _call_key(tool, arguments)
        seen = None if key is None else self._seen.get(key)
        if seen is None:
            seen = self.call_anew(tool, arguments, state)
            if key is not None:
                self._seen[key] = seen
        return seen

    def call_anew(
        self, tool: str, arguments: Mapping[str, Any], state: WorldState | None = None
    ) -> Seen:
        """Call a tool even where the same call was made before."""
        self.num_calls += 1
        before = state or self.initial
        try:
            outcome = execute(self.world, before, self.spec.service, tool, freeze(arguments))
        except Exception as error:  # noqa: BLE001
            # The gate's whole point: nothing may come out of a service but an envelope.
            return Seen(before, FrozenDict(), (), f"{type(error).__name__}: {error}"[:200])
        return Seen(outcome.state, outcome.envelope, outcome.changes)

    def fail(
        self,
        tool: str,
        gate: str,
        rule: str,
        arguments: Mapping[str, Any],
        expected: str,
        came: str,
    ) -> None:
        """Record a failure; one a tool and rule is enough, the one with the smallest arguments."""
        new = GateFailure(
            tool=tool,
            gate=gate,
            rule=rule,
            arguments=freeze(_clipped(arguments)),
            expected=expected,
            came=came,
        )
        for place, old in enumerate(self.failures):
            if (old.tool, old.gate, old.rule) == (tool, gate, rule):
                if _size(new) < _size(old):
                    self.failures[place] = new
                return
        self.failures.append(new)

    def failed(self) -> set[str]:
        """Return the tools that have failed so far."""
        return {failure.tool for failure in self.failures}

    def whole(self, tool: str, arguments: JsonObject) -> JsonObject:
        """Return arguments with the schema's defaults, as the tool gets them."""
        defaults = self.world.services[self.spec.service].tools[tool].defaults
        return FrozenDict({**defaults, **arguments}) if defaults else arguments

    def values(self) -> frozenset[Any]:
        """Return all texts and whole numbers that rows hold."""
        if self._values is None:
            self._values = frozenset(
                value
                for table in self.tables
                for row in self.rows(table).values()
                for value in row.values()
                if isinstance(value, (str, int))
            )
        return self._values

    def vocabulary(self, *names: str) -> Vocabulary:
        """Return the vocabulary of the spec's expressions: tables as their rows show them."""
        return Vocabulary(names, {table: self.shape(table) for table in self.tables})

    def shape(self, table: str) -> tuple[str, frozenset[str]]:
        """Return (key field, fields) of a table, read off its rows."""
        if table in self._shapes:
            return self._shapes[table]
        rows = self.rows(table)
        # A table without rows still has its columns.
        columns = self.world.services[self.spec.service].models[table].model_fields
        fields = frozenset(columns) | {name for row in rows.values() for name in row}
        keys = [name for name in sorted(fields) if all(row[name] == i for i, row in rows.items())]
        key = "id" if "id" in keys or not rows or not keys else keys[0]
        self._shapes[table] = key, fields | {key}
        return self._shapes[table]

    def is_valid(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """True when the arguments fit the tool's schema."""
        if tool not in self._validators:
            schema = thaw(self.spec.tools[tool].input_schema)
            self._validators[tool] = jsonschema_rs.validator_for(schema)
        try:
            return bool(self._validators[tool].is_valid(arguments))
        except (ValueError, TypeError):
            return False

    def validator(self, tool: str, name: str) -> Any:
        """Return the validator of one argument's schema, or None where it has none."""
        place = f"{tool}\n{name}"
        if place not in self._validators:
            document = self.spec.tools[tool].input_schema
            schema = (document.get("properties") or {}).get(name)
            self._validators[place] = _validator_of(schema, document)
        return self._validators[place]


def offered(spec: ServiceSpec, world: World) -> tuple[str, ...]:
    """Return the names of the tools that a world offers of a service."""
    return tuple(sorted(world.services[spec.service].tools))


def _validator_of(schema: Any, document: Mapping[str, Any]) -> Any:
    if not isinstance(schema, Mapping):
        return None
    body = thaw(schema)
    for key in ("$defs", "definitions"):
        if key in document:
            body[key] = thaw(document[key])
    try:
        return jsonschema_rs.validator_for(body)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None


def diverse(rows: Iterable[JsonObject]) -> list[JsonObject]:
    """Return up to `MAX_ROWS` rows that together show every value of columns with few values."""
    left = list(rows)
    values: dict[str, set[Any]] = {}
    for row in left:
        for name, item in row.items():
            if item is None or isinstance(item, (str, bool)):
                values.setdefault(name, set()).add(item)
    few = {name for name, found in values.items() if len(found) <= 8}
    chosen: list[JsonObject] = []
    shown: set[tuple[str, Any]] = set()
    for row in left:
        new = {(name, row[name]) for name in few if name in row} - shown
        if new:
            chosen.append(row)
            shown |= new
    chosen += [row for row in left if row not in chosen][: max(0, MAX_ROWS - len(chosen))]
    return chosen[:MAX_ROWS]


def absent_value(prober: Prober, tool: str, arguments: Mapping[str, Any], name: str) -> Any:
    """Return a value for one argument that fits its schema and names no row, or None.

    A pattern is kept: a few characters of a value that exists are changed.
    """
    there = prober.values()
    given = arguments.get(name)
    tries: list[Any] = [NO_SUCH_ROW, 987_654_321]
    if isinstance(given, str) and given:
        tries += [f"{given[:-2]}{a}{b}" for a in "9zf0" for b in "7qe3"]
        tries += [f"{start}{given[2:]}" for start in ("qz", "zq", "QZ", "97")]
    for value in tries:
        if value not in there and prober.is_valid(tool, {**arguments, name: value}):
            return value
    return None


def _call_key(tool: str, arguments: Mapping[str, Any]) -> tuple[str, bytes] | None:
    """Return what tells one call from another, or None for arguments that no JSON can hold."""
    try:
        return tool, orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):
        return None


def dicts_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every object in a JSON value, outer ones first."""
    if isinstance(value, Mapping):
        yield value
        for item in value.values():
            yield from dicts_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from dicts_in(item)


def judge_envelope(
    prober: Prober, gate: str, tool: str, arguments: Mapping[str, Any], seen: Seen
) -> bool:
    """Record a failure unless the answer is a well-formed envelope and an error changed nothing."""
    if seen.crash:
        prober.fail(tool, gate, "always an envelope", arguments, "an envelope", seen.told())
        return False
    if seen.envelope.get("ok") is True:
        if set(seen.envelope) == {"ok", "data"}:
            return True
        prober.fail(
            tool, gate, "envelope", arguments, "exactly ok and data", str(sorted(seen.envelope))
        )
        return False
    error = seen.envelope.get("error")
    codes = {code.value for code in ErrorCode}
    shaped = (
        seen.envelope.get("ok") is False
        and isinstance(error, Mapping)
        and error.get("code") in codes
        and isinstance(error.get("message"), str)
        and bool(error.get("message"))
        and isinstance(error.get("details"), Mapping)
    )
    if not shaped:
        prober.fail(
            tool, gate, "envelope", arguments, "a code, a message, details", _short(seen.envelope)
        )
        return False
    if seen.code == ErrorCode.INTERNAL.value:
        prober.fail(
            tool, gate, "no internal error", arguments, "an answer or its own error", seen.told()
        )
        return False
    return True


def _short(value: Any) -> str:
    text = canonical_json(value).decode("utf-8", "replace")
    return text if len(text) <= 240 else f"{text[:237]}..."


def _clipped(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= 120 else f"{value[:100]}... ({len(value)} characters)"
    if isinstance(value, Mapping):
        return {key: _clipped(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clipped(item) for item in value]
    return value


def _size(failure: GateFailure) -> int:
    return len(canonical_json(failure.arguments))
