"""What a code service is written with: typed rows, tables of one call, refusals, and `tool`.

Inside the walls this module is called `service_kit`. A service's file declares its rows as Pydantic
classes and its tools as functions `(state, args) -> data`; see `author/prompts/manual.j2`. What a
call puts or deletes is only collected here: the engine outside validates and applies it, or throws
it away when the call is refused.
"""

from __future__ import annotations

import hashlib
import json
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

_TIMESTAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"
Timestamp = Annotated[str, Field(pattern=_TIMESTAMP)]
"""`YYYY-MM-DDTHH:MM:SSZ`."""

_CODES = (
    "invalid_arguments",
    "not_found",
    "conflict",
    "precondition_failed",
    "permission_denied",
    "unsupported",
)


class Refuse(Exception):
    """A tool's error answer; nothing that the call asked for is applied."""

    def __init__(self, code: str, message: str, **details: Any) -> None:
        if code not in _CODES:
            raise ValueError(f"no code {code!r}; known: {', '.join(_CODES)}")
        super().__init__(message)
        self.code, self.message, self.details = code, message, details


class Row(BaseModel):
    """Base of every row: `class Note(Row, table="note", key="id", prefix="nt")`."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, defer_build=True, protected_namespaces=()
    )
    table_name: typing.ClassVar[str] = ""
    key_name: typing.ClassVar[str] = "id"
    key_prefix: typing.ClassVar[str | None] = None

    def __init_subclass__(cls, **_kwargs: Any) -> None:
        """Let the keywords pass; pydantic hands them to the method below once fields are known."""

    @classmethod
    def __pydantic_init_subclass__(
        cls, *, table: str = "", key: str = "id", prefix: str | None = None, **_kwargs: Any
    ) -> None:
        if not table:
            return
        if table in _TABLES:
            raise ValueError(f"two classes are the table {table!r}")
        if key not in cls.model_fields:
            raise ValueError(f"{cls.__name__} has no field {key!r} for its key")
        cls.table_name, cls.key_name, cls.key_prefix = table, key, prefix
        _TABLES[table] = cls

    @property
    def row_id(self) -> str:
        """The value of the key."""
        found: str = getattr(self, self.key_name)
        return found


R = TypeVar("R", bound=Row)
_TABLES: dict[str, type[Row]] = {}
_TOOLS: dict[str, tuple[Callable[..., Any], str]] = {}


def field(
    default: Any = PydanticUndefined,
    *,
    link: str | None = None,
    generated: bool = False,
    free_text: bool = False,
) -> Any:
    """Declare a field: `link` names the `table` (or `service.table`) whose key it holds."""
    extra: dict[str, Any] = {"link": link, "generated": generated, "free_text": free_text}
    return Field(default, json_schema_extra=extra)


def tool(name: str, operation: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function `(state, args)` the tool of this name."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if name in _TOOLS:
            raise ValueError(f"two functions are the tool {name!r}")
        _TOOLS[name] = function, operation
        return function

    return register


class Table(Generic[R]):
    """Rows of one class as this call sees them: those before it, and what it has asked for."""

    def __init__(self, kind: type[R], rows: Mapping[str, Mapping[str, Any]]) -> None:
        self._kind, self._rows = kind, rows
        self._seen: dict[str, R] = {}
        self._asked: dict[str, R | None] = {}

    def get(self, row_id: Any) -> R | None:
        """Return a row, or None."""
        if not isinstance(row_id, str):
            return None
        if row_id in self._asked:
            return self._asked[row_id]
        if row_id not in self._seen:
            if row_id not in self._rows:
                return None
            self._seen[row_id] = self._kind.model_validate(dict(self._rows[row_id]))
        return self._seen[row_id]

    def need(self, row_id: Any) -> R:
        """Return a row; refuse with `not_found` when there is none."""
        row = self.get(row_id)
        if row is None:
            kind = self._kind
            message = f"no {kind.table_name} with {kind.key_name} {row_id!r}"
            raise Refuse("not_found", message, field=kind.key_name)
        return row

    def all(self) -> list[R]:
        """Return all rows by id."""
        return list(iter(self))

    def __iter__(self) -> Iterator[R]:
        for row_id in sorted({*self._rows, *self._asked}):
            row = self.get(row_id)
            if row is not None:
                yield row

    def where(self, **values: Any) -> list[R]:
        """Return the rows whose fields equal these values, by id."""
        return [row for row in self if all(getattr(row, n) == v for n, v in values.items())]

    def first(self, **values: Any) -> R | None:
        """Return the first of these rows, or None."""
        return next(iter(self.where(**values)), None)

    def add(self, **values: Any) -> R:
        """Ask for a new row and return it; its id is made here unless the key is given."""
        kind = self._kind
        if kind.key_name not in values:
            values = {kind.key_name: self._new_id(values), **values}
        row = kind(**values)
        if self.get(row.row_id) is not None:
            message = f"{kind.table_name} with {kind.key_name} {row.row_id!r} already exists"
            raise Refuse("conflict", message, field=kind.key_name)
        self._asked[row.row_id] = row
        return row

    def change(self, row: R, **values: Any) -> R:
        """Ask for other values in a row and return it as it will be."""
        after = self._kind(**{**dict(row), **values})
        if after.row_id != row.row_id:
            raise ValueError(f"{self._kind.table_name}: a change may not touch the key")
        self._asked[row.row_id] = after
        return after

    def delete(self, row: R) -> None:
        """Ask for a row to go."""
        self._asked[row.row_id] = None

    def _new_id(self, values: Mapping[str, Any]) -> str:
        """A short hash of content and occurrence: the same in every order of calls."""
        kind = self._kind
        if kind.key_prefix is None:
            raise ValueError(f"{kind.__name__} makes no ids: give {kind.key_name!r}, or a prefix")
        content = json.dumps(_plain(values), sort_keys=True)
        occurrence = 0
        while True:
            body = f"{kind.table_name}\0{content}\0{occurrence}".encode("utf-8", "surrogatepass")
            made = f"{kind.key_prefix}_{hashlib.blake2b(body, digest_size=4).hexdigest()}"
            if made not in self._rows and made not in self._asked:
                return made
            occurrence += 1

    def changes(self) -> list[dict[str, Any]]:
        """Return what the call has asked for, in order."""
        return [
            {
                "table": self._kind.table_name,
                "id": row_id,
                "values": None if row is None else row.model_dump(mode="json"),
            }
            for row_id, row in self._asked.items()
        ]


class State:
    """The service's state in one call: `state.table(Note)`, and the time `state.now`."""

    def __init__(self, tables: Mapping[str, Mapping[str, Mapping[str, Any]]], now: str) -> None:
        self.now = now
        self._given = tables
        self._tables: dict[type[Row], Table[Any]] = {}

    def table(self, kind: type[R]) -> Table[R]:
        """Return the rows of a class."""
        if kind not in self._tables:
            self._tables[kind] = Table(kind, self._given.get(kind.table_name, {}))
        return self._tables[kind]

    def changes(self) -> list[dict[str, Any]]:
        """Return everything that the call has asked for."""
        return [change for table in self._tables.values() for change in table.changes()]


def warm_up() -> None:
    """Make pydantic import now what it imports with a first class, so that no call has to."""

    class Small(Row, table="small", key="id", prefix="s"):
        id: str
        at: Timestamp | None = None
        kind: Literal["a"] = field("a")
        parts: list[dict[str, Any]] = Field(default_factory=list)

    made = Table(Small, {}).add(at=None)
    made.model_validate(made.model_dump(mode="json"))
    _described(Small)
    _TABLES.clear()


def perform(
    name: str,
    arguments: dict[str, Any],
    now: str,
    tables: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> dict[str, Any]:
    """Run one tool and return its changes and data, or its refusal, as JSON values."""
    state = State(tables, now)
    try:
        data = _plain(_TOOLS[name][0](state, arguments))
    except Refuse as refusal:
        details = _plain(refusal.details)
        return {"code": refusal.code, "message": refusal.message, "details": details}
    return {"data": data, "changes": state.changes()}


def describe(module: types.ModuleType) -> dict[str, Any]:
    """Return the tables, fields, tools and seed rows that a service's file declares."""
    seed: dict[str, dict[str, Any]] = {}
    for row in getattr(module, "SEED", ()):
        if not isinstance(row, Row):
            raise TypeError("SEED holds rows only")
        seed.setdefault(row.table_name, {})[row.row_id] = row.model_dump(mode="json")
    return {
        "tables": {name: _described(kind) for name, kind in sorted(_TABLES.items())},
        "tools": {name: operation for name, (_, operation) in sorted(_TOOLS.items())},
        "seed": seed,
    }


def _described(kind: type[Row]) -> dict[str, Any]:
    try:
        kind.model_rebuild()
    except PydanticUndefinedAnnotation as error:
        raise ValueError(f"{kind.__name__}: {error}") from error
    fields = {name: _field(kind, name, info) for name, info in kind.model_fields.items()}
    return {"key": kind.key_name, "prefix": kind.key_prefix, "fields": fields}


def _field(kind: type[Row], name: str, info: FieldInfo) -> dict[str, Any]:
    annotation, is_nullable = _without_none(info.annotation)
    found: dict[str, Any] = {"type": "", "nullable": is_nullable, "required": info.is_required()}
    if typing.get_origin(annotation) is Literal:
        choices = typing.get_args(annotation)
        if not all(isinstance(choice, str) for choice in choices):
            raise ValueError(f"{kind.__name__}.{name}: a Literal may hold texts only")
        found |= {"type": "string", "enum": list(choices)}
    else:
        found["type"] = _type_of(kind, name, annotation, info.metadata)
    if not info.is_required():
        found["default"] = _plain(info.get_default(call_default_factory=True))
    if isinstance(info.json_schema_extra, dict):
        found |= {k: v for k, v in info.json_schema_extra.items() if v}
    return found


_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _type_of(kind: type[Row], name: str, annotation: Any, metadata: list[Any]) -> str:
    if typing.get_origin(annotation) is Annotated:
        annotation, *inner = typing.get_args(annotation)
        metadata = [*metadata, *(part for item in inner for part in getattr(item, "metadata", ()))]
    if annotation is str and any(getattr(part, "pattern", None) == _TIMESTAMP for part in metadata):
        return "timestamp"
    if annotation in _TYPES:
        return _TYPES[annotation]
    if annotation is Any:
        return "json"
    whole = typing.get_origin(annotation) or annotation
    if whole in (list, tuple):
        return "array"
    if whole is dict or (isinstance(whole, type) and issubclass(whole, BaseModel)):
        return "object"
    raise ValueError(
        f"{kind.__name__}.{name}: {annotation!r} is no field type; use str, int, float, bool, "
        "Timestamp, Literal of texts, list, dict or another model"
    )


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [part for part in typing.get_args(annotation) if part is not type(None)]
        if len(parts) < len(typing.get_args(annotation)):
            return (parts[0], True) if len(parts) == 1 else (Any, True)
        return (float, False) if set(parts) == {int, float} else (Any, False)
    return annotation, False


def _plain(value: Any) -> Any:
    """Return rows and other models in an answer as JSON values; what is no JSON fails later."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
