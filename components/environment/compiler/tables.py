"""Tables of a compiled service: which there are, their fields, keys and links.

Owns the inference of entities. A table exists only where the spec says what its rows hold: in the
arguments of a create, or in an output schema. Nouns alone make no table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from components.environment.compiler.params import (
    Param,
    field_of,
    is_id_of,
    is_list_of_texts,
    is_storable,
    properties_of,
    singular_word,
    strip_noun,
)
from components.environment.compiler.words import NameReading, article, singular, snake, words
from components.records.blueprint import (
    EntityBlueprint,
    FieldBlueprint,
    FieldType,
    QuarantineReason,
)
from components.records.frozen import FrozenDict
from components.records.spec import ToolSpec

HIDDEN_KEY = "row_key"
_SPEAKS_OF = re.compile(r"\b(name|id|identifier|key|title|slug|path)s? of (?:the |an? )?([a-z_]+)")


class Unclear(Exception):
    """A tool that is not plain; becomes its quarantine."""

    def __init__(self, detail: str, reason: QuarantineReason = QuarantineReason.UNCLEAR) -> None:
        """Args: detail: one sentence; reason: why it is not offered."""
        super().__init__(detail)
        self.detail, self.reason = detail, reason


class KeyKind(StrEnum):
    """Where a row's key comes from."""

    GENERATED = "generated"
    """The service makes a text id, and tools take it."""
    INTEGER = "integer"
    """The service counts; the table's own key is hidden."""
    GIVEN = "given"
    """The caller gives it (a name, a path)."""
    HIDDEN = "hidden"
    """No tool takes an id; rows are found by their values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A tool whose name and schema read plainly."""

    tool: ToolSpec
    reading: NameReading
    params: Mapping[str, Param]

    @property
    def required(self) -> tuple[Param, ...]:
        """Required parameters, by name."""
        return tuple(param for _, param in sorted(self.params.items()) if param.is_required)


@dataclass(slots=True, kw_only=True)
class Table:
    """One table while the compiler works it out."""

    noun: str
    fields: dict[str, FieldBlueprint]
    key: str = HIDDEN_KEY
    """Field that tools name rows by; the hidden key where they do not."""
    kind: KeyKind = KeyKind.HIDDEN
    links: dict[str, str] = field(default_factory=dict)
    """Field -> noun of the table whose key it holds."""
    text_lists: frozenset[str] = frozenset()
    """Array fields whose elements are texts: a search reads them."""
    checked_links: set[str] = field(default_factory=set)
    """Links named as ids: a create with an unknown one is answered `not_found`."""

    @property
    def shown(self) -> tuple[str, ...] | None:
        """Fields that answers show; None: all."""
        if self.kind in (KeyKind.GENERATED, KeyKind.GIVEN):
            return None
        return tuple(sorted(name for name in self.fields if name != HIDDEN_KEY))

    @property
    def lookup_field(self) -> str | None:
        """Field to look rows up by; None: the table's own key."""
        return None if self.kind in (KeyKind.GENERATED, KeyKind.GIVEN) else self.key

    def entity(self, service: str) -> EntityBlueprint:
        """Return the finished entity."""
        fields = dict(self.fields)
        for name, noun in self.links.items():
            fields[name] = fields[name].model_copy(update={"link": f"{service}.{noun}"})
        titles = [name for name in sorted(fields) if snake(name) in words("title_fields")]
        is_hidden = self.kind in (KeyKind.HIDDEN, KeyKind.INTEGER)
        return EntityBlueprint(
            key=HIDDEN_KEY if is_hidden else self.key,
            prefix=self.noun.rpartition("_")[2][:8] or "row",
            generated_key=self.kind is not KeyKind.GIVEN,
            title_field=titles[0] if titles else None,
            fields=FrozenDict(fields),
        )


def elements_of(candidate: Candidate) -> tuple[Param, dict[str, Param]] | None:
    """Return the batch parameter and the properties of its elements, or None.

    A batch is one required array of objects named after the tool's noun, and nothing else.
    """
    if len(candidate.params) != 1:
        return None
    (param,) = candidate.params.values()
    if param.type != "array" or not param.is_required:
        return None
    items = param.item_properties
    noun = candidate.reading.noun
    if not items or singular_word(param) not in (noun, noun.rpartition("_")[2], "item"):
        return None
    return param, items


def find_tables(
    candidates: Iterable[Candidate],
) -> tuple[dict[str, Table], dict[str, str], dict[str, str]]:
    """Return the tables by noun, what is wrong with nouns that cannot be one, and odd tools by
    name.

    The tables are still without keys and links; see `settle_keys` and `settle_links`. A second tool
    that creates the same rows must take the same fields (one row, or many at once); otherwise it is
    odd.
    """
    tables: dict[str, Table] = {}
    problems: dict[str, str] = {}
    odd: dict[str, str] = {}
    everyone = sorted(candidates, key=_one_by_one_first)
    for candidate in everyone:
        reading = candidate.reading
        if reading.verb not in ("create", "add") or not reading.noun:
            continue
        if reading.verb == "add" and list_field_of(tables, reading.noun) is not None:
            continue
        batch = elements_of(candidate)
        params = batch[1] if batch else dict(candidate.params)
        try:
            fields = {name: _field(param) for name, param in params.items()}
        except Unclear as problem:
            problems.setdefault(reading.noun, problem.detail)
            continue
        known = tables.get(reading.noun)
        if known is not None and set(fields) != set(known.fields):
            odd[candidate.tool.name] = (
                f"it makes {article(reading.noun)} in another way than another tool"
            )
        elif known is None and fields:
            lists = frozenset(name for name, param in params.items() if is_list_of_texts(param))
            tables[reading.noun] = Table(noun=reading.noun, fields=fields, text_lists=lists)
    for candidate in everyone:
        if candidate.reading.verb in ("get", "list", "search"):
            _table_from_output(candidate, tables)
    for noun in problems:
        tables.pop(noun, None)
    return tables, problems, odd


def _one_by_one_first(candidate: Candidate) -> tuple[bool, bool, str]:
    is_batch = elements_of(candidate) is not None
    return candidate.reading.verb != "create", is_batch, candidate.tool.name


def _field(param: Param) -> FieldBlueprint:
    if not is_storable(param.name) or param.name == HIDDEN_KEY:
        raise Unclear(f"its argument {param.name!r} cannot be stored under that name")
    if not param.type:
        raise Unclear(f"its argument {param.name!r} can hold values of several kinds")
    if param.word in words("control_words"):
        raise Unclear(f"its argument {param.name!r} changes how it works, not what it stores")
    if param.type == "object" and param.word in NESTED_WORDS and not param.properties:
        raise Unclear(f"its argument {param.name!r} does not say what it holds")
    return field_of(param, always_given=param.is_required)


def _table_from_output(candidate: Candidate, tables: dict[str, Table]) -> None:
    """A read with an output schema says what its rows hold."""
    output, noun = candidate.tool.output_schema, candidate.reading.noun
    if output is None or not noun or noun in tables:
        return
    for name, param in properties_of(output, output).items():
        if singular(snake(name)) != noun or param.type not in ("array", "object"):
            continue
        properties = param.item_properties if param.type == "array" else param.properties
        if len(properties) >= 2 and all(item.type for item in properties.values()):
            fields = {
                name: field_of(item, always_given=item.is_required)
                for name, item in properties.items()
                if is_storable(name)
            }
            lists = frozenset(name for name, item in properties.items() if is_list_of_texts(item))
            tables[noun] = Table(noun=noun, fields=fields, text_lists=lists)


def list_field_of(tables: Mapping[str, Table], noun: str) -> tuple[Table, str] | None:
    """Return the table and array field that a noun names one element of (`tag` -> note.tags)."""
    for table in tables.values():
        for name, body in sorted(table.fields.items()):
            if body.type is FieldType.ARRAY and singular(snake(name)) == noun:
                return table, name
    return None


def settle_keys(tables: dict[str, Table], candidates: Iterable[Candidate]) -> dict[str, str]:
    """Decide how rows of each table are named; return what is wrong with tables where that is not
    plain.
    """
    problems: dict[str, str] = {}
    everyone = list(candidates)
    for noun, table in tables.items():
        votes = [vote for item in everyone if (vote := _key_vote(item, table, tables)) is not None]
        try:
            _settle_key(table, votes)
        except Unclear as problem:
            problems[noun] = problem.detail
    for noun in problems:
        tables.pop(noun)
    return problems


def _key_vote(
    candidate: Candidate, table: Table, tables: Mapping[str, Table]
) -> tuple[str, Param] | None:
    """Return (field, or an empty text for an id, parameter) by which a tool names rows of the
    table.
    """
    reading = candidate.reading
    is_own = reading.noun == table.noun or (reading.verb == "open" and reading.noun not in tables)
    owner = list_field_of(tables, reading.noun)
    is_list = owner is not None and owner[0] is table and reading.noun not in tables
    if not (is_own and reading.verb in ("get", "open", "update", "delete")) and not is_list:
        return None
    natural: tuple[str, Param] | None = None
    for param in candidate.required:
        word = singular_word(param) if param.type == "array" else param.word
        if is_id_of(word, table.noun) and param.type in ("string", "integer", "number", "array"):
            return "", param
        name = strip_noun(word, table.noun)
        if name in words("natural_keys") and natural is None:
            stored = [field for field in table.fields if snake(field) == name]
            if stored and (param.type == "string" or is_list_of_texts(param)):
                natural = stored[0], param
    if reading.verb == "update" and natural is not None and reading.by == "":
        return None
    return natural


def _settle_key(table: Table, votes: list[tuple[str, Param]]) -> None:
    ids = [param for name, param in votes if not name]
    given = [name for name in table.fields if is_id_of(snake(name), table.noun)]
    if ids:
        kinds = {_scalar_type(param) for param in ids}
        if len(kinds) != 1:
            raise Unclear(f"tools disagree on the type of {article(table.noun)}'s id")
        if given:
            body = table.fields[given[0]]
            if not body.required or body.type is not FieldType.STRING:
                raise Unclear(f"{article(table.noun)}'s id may or may not be given by the caller")
            table.key, table.kind = given[0], KeyKind.GIVEN
        elif kinds == {"string"}:
            table.key, table.kind = "id", KeyKind.GENERATED
            table.fields["id"] = FieldBlueprint(type=FieldType.STRING, generated=True)
        else:
            table.key, table.kind = "id", KeyKind.INTEGER
            table.fields["id"] = FieldBlueprint(type=FieldType.INTEGER, generated=True)
            table.fields[HIDDEN_KEY] = FieldBlueprint(type=FieldType.STRING, generated=True)
        return
    names = {name for name, _ in votes}
    if len(names) > 1:
        raise Unclear(
            f"tools name {article(table.noun)} in different ways ({', '.join(sorted(names))})"
        )
    if names:
        (name,) = names
        body = table.fields[name]
        if not body.required or body.nullable or body.type is not FieldType.STRING or body.enum:
            raise Unclear(f"{name!r} names {article(table.noun)}, but a new one may lack it")
        table.key, table.kind = name, KeyKind.GIVEN
        return
    table.fields[HIDDEN_KEY] = FieldBlueprint(type=FieldType.STRING, generated=True)


def _scalar_type(param: Param) -> str:
    kind = str(param.items.get("type", "")) if param.type == "array" else param.type
    return "integer" if kind == "number" else kind


def add_update_fields(tables: Mapping[str, Table], candidates: Iterable[Candidate]) -> None:
    """Fields that only an update speaks of belong to the table too; a create leaves them null."""
    for candidate in candidates:
        table = tables.get(candidate.reading.noun)
        if table is None or candidate.reading.verb != "update":
            continue
        for param in changed_params(candidate).values():
            known = any(snake(name) == param.word for name in table.fields)
            is_key = (
                is_id_of(param.word, table.noun) or strip_noun(param.word, table.noun) == table.key
            )
            is_control = param.word in words("control_words") or param.word.startswith("new_")
            is_new = param.type and not known and not is_key and not is_control
            if is_new and is_storable(param.name):
                body = field_of(param, always_given=False)
                table.fields[param.name] = body.model_copy(
                    update={"nullable": True, "default": None}
                )


def changed_params(candidate: Candidate) -> dict[str, Param]:
    """Return an update's parameters, with those of one nested object of changes taken out of it."""
    found: dict[str, Param] = {}
    for name, param in candidate.params.items():
        inner = param.properties
        if param.type == "object" and inner and param.word in NESTED_WORDS:
            found.update({item: body for item, body in inner.items() if item not in found})
        else:
            found[name] = param
    return found


NESTED_WORDS = frozenset({"updates", "changes", "fields", "data", "patch", "values"})
"""Names of one object parameter that holds an update's new values."""


def settle_links(tables: Mapping[str, Table], candidates: Iterable[Candidate]) -> None:
    """Find fields that hold another table's key: by name (`project_id`) or by what their
    description says.
    """
    texts: dict[tuple[str, str], str] = {}
    for candidate in candidates:
        if candidate.reading.verb in ("create", "add"):
            batch = elements_of(candidate)
            for name, param in (batch[1] if batch else candidate.params).items():
                texts[candidate.reading.noun, name] = param.description.lower()
    for noun, table in tables.items():
        for name, body in table.fields.items():
            if name == table.key or body.type not in (FieldType.STRING, FieldType.INTEGER):
                continue
            target = _named_table(snake(name), noun, tables)
            by_name = target is not None
            target = target or _described_table(texts.get((noun, name), ""), tables)
            if target is None or target is table or not _holds_key(body, target):
                continue
            table.links[name] = target.noun
            if by_name:
                table.checked_links.add(name)


def _named_table(word: str, own: str, tables: Mapping[str, Table]) -> Table | None:
    if not word.endswith("_id"):
        return None
    noun = word[:-3]
    matches = [
        table
        for name, table in sorted(tables.items())
        if name != own and noun in (name, name.rpartition("_")[2])
    ]
    return matches[0] if len(matches) == 1 else None


def _described_table(text: str, tables: Mapping[str, Table]) -> Table | None:
    for what, noun in _SPEAKS_OF.findall(text):
        table = tables.get(singular(noun))
        if table is not None and (snake(table.key) == what or what in ("id", "identifier")):
            return table
    return None


def _holds_key(body: FieldBlueprint, target: Table) -> bool:
    if target.kind is KeyKind.HIDDEN:
        return False
    wanted = FieldType.INTEGER if target.kind is KeyKind.INTEGER else FieldType.STRING
    return body.type is wanted


def text_fields(table: Table) -> list[str]:
    """Return the fields that a text search reads: prose and names, and lists of texts."""
    found: list[str] = []
    for name, body in sorted(table.fields.items()):
        is_text = body.type is FieldType.STRING and not body.generated and name not in table.links
        if name != HIDDEN_KEY and (is_text or name in table.text_lists):
            found.append(name)
    return found


def row_expression(table: Table, name: str) -> Any:
    """Return an expression for one row as answers show it."""
    return name if table.shown is None else {"@pick": [name, list(table.shown)]}
