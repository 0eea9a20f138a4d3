"""What names the rows of a table of a compiled service, and where such names come from.

Owns the vote: what most tools name a row by is its key, the strictest type wins, and where no tool
on the table names one, what other tools call its rows.
"""

from __future__ import annotations

from collections import Counter

from components.environment.archetypes.field_meaning import meaning_of
from components.environment.archetypes.records import Shape
from components.environment.compiler.inputs import Input, Tool, item_inputs, words_of
from components.environment.compiler.links import SAID, SPEAKS_OF
from components.environment.compiler.renames import is_copy
from components.environment.compiler.table import (
    NAMES_ITS_ROW,
    OLD,
    ON_PARENT,
    RENAMES,
    TYPES,
    Column,
    KeyKind,
    Table,
    add_input,
    subject,
)
from components.environment.examples import examples_of
from components.environment.names import is_id_of, singular, snake, strip_noun
from components.environment.params import singular_word
from components.environment.reading.records import Role
from components.records.blueprint import (
    FieldBlueprint,
    Operation,
)
from components.records.frozen import FrozenDict

_NAMES = ("name", "title", "slug")
_OUTSIDE = ("crypto.", "place.", "person.", "company.", "web.", "finance.")
"""Starts of meanings whose values no service makes up for its own rows."""


def settle_key(table: Table, tools: list[Tool], everyone: list[Tool]) -> None:
    """Decide what names a row, by what most tools name one by; the strictest type wins."""
    votes: Counter[str] = Counter()
    gets: Counter[str] = Counter()
    kinds: dict[str, str] = {}
    given: dict[str, Input] = {}
    together: Counter[tuple[str, ...]] = Counter()
    for tool in tools:
        if tool.reading.operation not in NAMES_ITS_ROW | ON_PARENT:
            continue
        names = []
        for item in tool.of(Role.IDENTIFIER):
            if item.kind not in ("string", "integer", "number", ""):
                continue
            name = _key_name(item, table)
            votes[name] += 2 if item.param.is_required else 1
            gets[name] += tool.reading.operation is Operation.GET
            kind = "integer" if item.kind in ("integer", "number") else "string"
            kinds[name] = "integer" if "integer" in (kind, kinds.get(name)) else "string"
            known = given.setdefault(name, item)
            if item.param.default and item.kind == known.kind and not known.param.default:
                given[name] = item  # what no argument means is the name of a row
            names.append(name)
        if names:
            together[tuple(names)] += 1
    if not votes:
        has_many = any(
            tool.reading.operation in (Operation.LIST, Operation.SEARCH, Operation.CREATE)
            for tool in everyone
            if tool.reading.entity == table.noun
        )
        spoken = _spoken_key(table, everyone) if has_many else None
        if spoken is not None:
            name, item = spoken
            _own(table, name, "string", _kind_of_key(table, name, "string", everyone), item)
            return
        table.is_single = not has_many
        if table.is_single and table.usual.shape is Shape.VALUE:
            _own_value(table)
        else:
            _own(table, "id", "string", KeyKind.GENERATED)
        return
    main = max(sorted(votes), key=lambda name: (name == "id", votes[name], gets[name]))
    whole = max(
        (names for names in sorted(together) if main in names), key=lambda names: together[names]
    )
    others = [name for name in whole if name != main]
    kind = _kind_of_key(table, main, kinds[main], everyone, given[main])
    if kind is KeyKind.NATURAL and given[main].kind == "number":
        kinds[main] = "number"  # no row is counted: a coordinate may be a fraction
    _own(table, main, kinds[main], kind, given[main])
    table.names = (main, *others)
    for name in votes:
        if name not in table.columns:
            add_input(table, name, given[name], "names a row")


def _spoken_key(table: Table, everyone: list[Tool]) -> tuple[str, Input] | None:
    """Return what tools on other records name a row of this table by (`crate_name`), where no
    tool on the table itself names one.
    """
    last = table.noun.rpartition("_")[2]
    votes: Counter[str] = Counter()
    given: dict[str, Input] = {}
    for tool in everyone:
        for item in tool.of(Role.IDENTIFIER, Role.PARENT, Role.REFERENCE, Role.VALUE):
            if item.kind != "string" or subject(tool) == table.noun:
                continue
            if item.role is Role.VALUE or item.word in (table.noun, last):
                called = _called_by(item, table.noun, last)
                votes.update([called] if called else [])
                given.setdefault(called, item)
                continue
            plain = strip_noun(item.word, table.noun)
            if plain == item.word:
                said = SAID.findall(item.param.description.lower())
                is_said = any(noun in (table.noun, last) for noun, word in said if word == plain)
                plain = item.param.name if is_said else ""
            if plain and not is_id_of(plain, table.noun):
                votes[plain] += 1
                given.setdefault(plain, item)
    if not votes:
        return None
    name = max(sorted(votes), key=lambda word: votes[word])
    return name, given[name]


def _called_by(item: Input, *nouns: str) -> str:
    """Return what names the row that an argument called like its kind picks, as its description
    says (`category`: "The name of the category"), or an empty text.
    """
    if item.word not in nouns or not item.param.is_required:
        return ""
    said = SPEAKS_OF.findall(item.param.description.lower())
    return next((word for word, noun in said if noun in nouns and word in _NAMES), "")


def _key_name(item: Input, table: Table) -> str:
    word = singular_word(item.param) if item.is_list else item.word
    if is_id_of(word, table.noun):
        return "id"
    if item.is_list:
        return singular(strip_noun(word, table.noun))
    if item.called:
        return item.called
    plain = strip_noun(word, table.noun)
    for start in OLD:
        plain = plain.removeprefix(start) or plain
    return plain if plain != word else item.param.name


def _kind_of_key(
    table: Table, name: str, kind: str, everyone: list[Tool], item: Input | None = None
) -> KeyKind:
    makers = [
        tool
        for tool in everyone
        if tool.reading.entity == table.noun
        and tool.reading.operation in (Operation.CREATE, Operation.APPEND)
        and not _grows(tool, table)
    ]
    gives = [_gives(tool, table, name) for tool in makers]
    is_changed = any(
        tool.reading.operation is Operation.UPDATE
        and tool.reading.entity == table.noun
        and any(
            item.word.startswith(RENAMES) and item.word.endswith(snake(name))
            for item in tool.of(Role.VALUE)
        )
        for tool in everyone
    )
    has_form = not makers and item is not None and bool(examples_of(item.param))
    if kind == "integer":
        is_measure = snake(name).rpartition("_")[2] in words_of("measures")
        is_known = is_measure or (has_form and name != "id")
        return KeyKind.NATURAL if is_known or (name != "id" and any(gives)) else KeyKind.COUNTED
    if makers and all(gives) and not is_changed:
        return KeyKind.GIVEN
    is_id = name == "id" or snake(name).endswith(("_id", "_uuid", "_key"))
    is_made = (is_id and not has_form) or (bool(makers) and not _is_outside(snake(name)))
    return KeyKind.GENERATED if is_made and not any(gives) else KeyKind.NATURAL


def _grows(tool: Tool, table: Table) -> bool:
    """True for a tool that adds to a row that it names by its id, and makes none."""
    is_alone = tool.reading.parent in (None, table.noun)
    ids = tool.of(Role.IDENTIFIER, Role.PARENT)
    is_named = any(is_id_of(item.word, table.noun) for item in ids)
    return tool.reading.operation is Operation.APPEND and is_alone and is_named


def _is_outside(word: str) -> bool:
    """True for a name whose values come from elsewhere, however rows are made: an address."""
    return meaning_of(word, "string").startswith(_OUTSIDE)


def _gives(tool: Tool, table: Table, name: str) -> bool:
    batch = tool.first(Role.BATCH)
    params = item_inputs(batch) if batch is not None else {}
    always = [param for param in params.values() if param.is_required and not param.is_nullable]
    own = ("integer", "number") if snake(name).rpartition("_")[2] in words_of("measures") else ()
    kinds = ("string", *own)
    texts = [param.word for param in always if param.type in kinds]
    texts += [i.word for i in tool.data if i.is_always_given and i.param.type in kinds]
    if is_copy(tool):  # its other names are of the row that is copied
        texts = [word for word in texts if word.startswith(RENAMES)]
    return any(_means(word.removeprefix("new_"), table, name) for word in texts)


def _means(word: str, table: Table, name: str) -> bool:
    if name == "id":
        return is_id_of(word, table.noun)
    return snake(name) in (word, strip_noun(word, table.noun))


def _own_value(table: Table) -> None:
    """Let a table that holds one value be that value; no id is shown beside it."""
    name = table.usual.title_field
    shape = table.usual.fields[name]
    kind = shape.type.value if shape.type.value in TYPES else "string"
    _own(table, name, kind, KeyKind.NATURAL)
    table.columns[name].meaning = shape.meaning


def _own(table: Table, name: str, kind: str, key_kind: KeyKind, item: Input | None = None) -> None:
    is_made = key_kind in (KeyKind.GENERATED, KeyKind.COUNTED)
    body = FieldBlueprint(type=TYPES[kind], generated=is_made)
    schema = FrozenDict() if item is None or item.is_list else item.param.schema
    document = FrozenDict() if item is None else item.param.document
    table.names, table.kind = (name,), key_kind
    table.columns[name] = Column(
        name=name,
        body=body,
        schema=schema,
        document=document,
        source="names a row",
        examples=() if item is None or item.is_list else examples_of(item.param),
    )
