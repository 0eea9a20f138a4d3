"""Seed rows of compiled services: realistic, consistent, and the same on every machine.

Owns how tables are filled: those that others point to first, keys and links by what is there, and
everything else by what a column means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components.environment.archetypes.cast import cast_of
from components.environment.archetypes.field_meaning import UNKNOWN_TEXT
from components.environment.archetypes.records import FieldShape
from components.environment.archetypes.rows import row_values
from components.environment.archetypes.table_shape import TableShape
from components.environment.compiler.cells import filled
from components.environment.compiler.columns import meaning_in, title_column
from components.environment.compiler.table import CURRENT, ROW_KEY, Column, KeyKind, Table, Tables
from components.environment.compiler.trees import laid_out
from components.environment.entities import new_id
from components.environment.examples import like
from components.environment.names import snake
from components.environment.params import is_free_text
from components.environment.values import settle
from components.records.blueprint import EntityBlueprint, FieldType, SeedData
from components.records.frozen import FrozenDict, JsonObject

ROWS_PER_TABLE = 8
SEED_NOW = "2026-03-02T09:00:00Z"
"""The moment that seeds are written for: worlds start then."""
_GENERIC = frozenset({"id", "name", "title", "key", "type", "path", "kind", "value", "text"})
"""Names that say nothing of what they name."""
_ID_ENDS = ("id", "_number", "_code", "_key", "_no")
_TOLD_OF_BOTH = frozenset({"title", "name", "author", "authors", "language", "year", "doi"})
"""Fields that two tables which tell of one thing must agree on."""
_KINDS = 8
_USUAL = 3
"""Of so many rows one holds the default of a parameter with a closed list."""
_NUMBERS = (FieldType.INTEGER, FieldType.NUMBER)


def seed_rows(service: str, tables: Tables, entities: Mapping[str, EntityBlueprint]) -> SeedData:
    """Return the seed of a compiled service.

    Args:
        service: its name; the seed of every choice, so that two services differ.
        tables: the compiler's tables by noun.
        entities: the finished entities by noun.
    """
    owners = _owners(tables)
    _share_examples(owners, tables)
    _share_defaults(tables)
    found: dict[str, dict[str, JsonObject]] = {}
    waiting: list[tuple[Table, str]] = []
    for table in _by_links(tables):
        late = _late(table, found)
        found[table.noun] = _rows(service, table, tables, entities[table.noun], found, late)
        waiting += [(table, name) for name in late]
    for table, name in waiting:
        _tie(table, name, tables, found)
    _share_names(owners, tables, found)
    laid_out(tables, found)
    filled(tables, found)
    return SeedData(
        service=service,
        tables=FrozenDict({noun: FrozenDict(rows) for noun, rows in sorted(found.items())}),
    )


def _by_links(tables: Tables) -> Iterator[Table]:
    """Yield tables, those that others point to first; in a ring the one with the fewest links."""
    left = dict(sorted(tables.items()))
    while left:

        def waits(noun: str) -> int:
            return sum(to in left and to != noun for to in left[noun].links.values())

        noun = min(left, key=lambda noun: (waits(noun), noun))
        yield left.pop(noun)


def _late(table: Table, found: Mapping[str, Mapping[str, JsonObject]]) -> list[str]:
    """Return the columns that name rows which are not there yet: of the table itself, or of one
    that waits for this one. A row is never named by such a column.
    """
    return [
        name
        for name, noun in sorted(table.links.items())
        if noun not in found and name not in table.names
    ]


def _tie(table: Table, name: str, tables: Tables, found: dict[str, dict[str, JsonObject]]) -> None:
    """Fill a column that had to wait; within one table the rows become a tree."""
    target = tables[table.links[name]]
    keys = _keys(target, found[target.noun])
    rows = found[table.noun]
    for index, (row_id, row) in enumerate(list(rows.items())):
        value = keys[index % len(keys)] if keys else None
        if target is table:
            value = keys[(index - 1) // 2] if index else None
        rows[row_id] = FrozenDict({**row, name: value})


def _said(table: Table, index: int) -> dict[str, Any]:
    """Return the values of a row that the columns' own words give: names of rows one each, other
    values in turn; a single one is what half of the rows hold.
    """
    found: dict[str, Any] = {}
    for name, column in table.columns.items():
        values = column.examples
        is_kind = column.body.type in (FieldType.STRING, *_NUMBERS)
        usual = column.schema.get("default")
        if (
            usual is not None
            and usual in (column.schema.get("enum") or ())
            and name not in (*table.names, *table.links)
        ):
            if index % _USUAL == 0:  # what a caller who says nothing asks for
                found[name] = usual
            continue
        if not values or not is_kind or name in table.links or _is_made(name, table):
            continue
        if name == table.names[0]:
            value = values[index % len(values)]
            made = like(value, index) if isinstance(value, str) else None
            if index < len(values) or made is not None:
                found[name] = value if index < len(values) else made
        elif len(values) > 1 or index % 2 == 0:
            found[name] = values[index % len(values)]
        elif isinstance(values[0], str) and snake(name).endswith(_ID_ENDS):
            other = like(values[0], index)
            found.update({} if other is None else {name: other})
    return found


def _share_examples(owners: Tables, tables: Tables) -> None:
    """Give the column that names rows what any column of its name is said to take."""
    for word, owner in sorted(owners.items()):
        own = owner.columns[owner.names[0]]
        others = [
            value
            for noun in sorted(tables)
            for name, column in sorted(tables[noun].columns.items())
            if snake(name) == word or tables[noun].links.get(name) == owner.noun
            for value in column.examples
            if isinstance(value, str)
        ]
        own.examples = tuple(dict.fromkeys((*own.examples, *others)))[:ROWS_PER_TABLE]


def _share_defaults(tables: Tables) -> None:
    """Give a column that names rows the defaults of all columns that name its rows: what a caller
    who says nothing asks for is there.
    """
    for noun in sorted(tables):
        for name, target in sorted(tables[noun].links.items()):
            usual = tables[noun].columns[name].schema.get("default")
            own = tables[target].columns[tables[target].names[0]]
            is_text = own.body.type is FieldType.STRING and isinstance(usual, str)
            if is_text and usual and "default" not in own.schema:
                own.schema = FrozenDict({**own.schema, "default": usual})


def _share_names(owners: Tables, tables: Tables, found: dict[str, dict[str, JsonObject]]) -> None:
    """Give what is called alike the same values: where one table's rows are named by a `ticker`,
    the tickers of all tables are among those.
    """
    for word, owner in sorted(owners.items()):
        values, told = _keys(owner, found[owner.noun]), list(found[owner.noun].values())
        for noun, name in _called(word, owner, tables):
            rows = found[noun]
            for index, (row_id, row) in enumerate(list(rows.items())):
                if row[name] is not None and values:
                    same = _same_thing(name, tables[noun], owner, row, told[index % len(told)])
                    named = {name: values[index % len(values)]}
                    rows[row_id] = FrozenDict({**row, **named, **same})


def _owners(tables: Tables) -> dict[str, Table]:
    """Return the tables whose rows are named by a text with a name that means something, by it:
    of several, one that others point to.
    """
    owners: dict[str, Table] = {}
    pointed_at = _pointed_at(tables)
    for noun in sorted(tables):
        table = tables[noun]
        word = snake(table.names[0])
        is_text = table.columns[table.names[0]].body.type is FieldType.STRING
        is_named = is_text and table.kind in (KeyKind.NATURAL, KeyKind.GIVEN)
        if is_named and word not in _GENERIC and table.names[0] not in table.links:
            known = owners.get(word)
            if known is None or _rank(known, pointed_at) > _rank(table, pointed_at):
                owners[word] = table
    return owners


def _rank(table: Table, pointed_at: frozenset[str]) -> tuple[bool, KeyKind, int]:
    return table.noun not in pointed_at, table.kind, len(table.names)


def _pointed_at(tables: Tables) -> frozenset[str]:
    return frozenset(noun for table in tables.values() for noun in table.links.values())


def _called(word: str, owner: Table, tables: Tables) -> Iterator[tuple[str, str]]:
    """Yield the columns of other tables that have an owner's word and hold texts of their own."""
    pointed_at = _pointed_at(tables)
    for noun in sorted(tables):
        table = tables[noun]
        for name in sorted(table.columns):
            if noun in pointed_at and name == table.names[0]:
                continue
            is_text = table.columns[name].body.type is FieldType.STRING
            is_free = name not in table.links and name != table.key
            if table is not owner and snake(name) == word and is_text and is_free:
                yield noun, name


def _rows(
    service: str,
    table: Table,
    tables: Tables,
    entity: EntityBlueprint,
    found: Mapping[str, Mapping[str, JsonObject]],
    late: list[str],
) -> dict[str, JsonObject]:
    number = 1 if table.is_single else ROWS_PER_TABLE
    shape = _shape(table, tables, found)
    values = row_values(shape, number, seed=f"{service}:{table.noun}", cast=cast_of(), now=SEED_NOW)
    rows: dict[str, JsonObject] = {}
    named = _named_by_others(table, tables, found)
    for index, row in enumerate(values):
        own = {name: _fixed(row.get(name), table, name, index) for name in table.columns}
        own.update(_said(table, index))
        own.update({name: keys[index % len(keys)] for name, keys in named.items()})
        own.update(dict.fromkeys(late))
        settled = settle(own)
        key = table.key
        if key == ROW_KEY or table.kind is KeyKind.GENERATED:
            rest = FrozenDict({name: value for name, value in settled.items() if name != key})
            row_id = new_id(table.noun, entity.prefix, rest, rows)
            usual = table.columns[table.names[0]].schema.get("default")
            if key != ROW_KEY and index == 0 and isinstance(usual, str) and usual:
                row_id = usual
            rows[row_id] = FrozenDict({**rest, key: row_id})
        else:
            row_id = str(settled[key])
            if row_id and row_id not in rows:
                rows[row_id] = FrozenDict({**settled, key: row_id})
    return rows


def _shape(
    table: Table, tables: Tables, found: Mapping[str, Mapping[str, JsonObject]]
) -> TableShape:
    usual = table.usual
    links = {
        name: _keys(tables[noun], found.get(noun, {}))
        for name, noun in table.links.items()
        if name not in table.names
    }
    columns = {
        name: column for name, column in sorted(table.columns.items()) if not _is_made(name, table)
    }
    return TableShape(
        noun=table.noun,
        fields={name: _field(column, table) for name, column in columns.items()},
        title_field=title if (title := title_column(table)) in columns else None,
        texts=usual.texts,
        unique=frozenset(name for name in table.names[:1] if name in columns),
        links={name: keys for name, keys in links.items() if keys},
        schemas={name: column.schema for name, column in columns.items() if column.schema},
        documents={name: column.document for name, column in columns.items() if column.document},
        sums={
            name: rule for name, rule in usual.sums.items() if _names(rule, name) <= set(columns)
        },
        order=[group for group in usual.order if set(group) <= set(columns)],
    )


def _named_by_others(
    table: Table, tables: Tables, found: Mapping[str, Mapping[str, JsonObject]]
) -> dict[str, list[Any]]:
    """Return what a row's name may be where it names a row of another table as well."""
    keys = {
        name: _keys(tables[noun], found.get(noun, {}))
        for name, noun in table.links.items()
        if name in table.names
    }
    return {name: values for name, values in keys.items() if values}


def _same_thing(
    name: str, table: Table, owner: Table, row: Mapping[str, Any], told: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a row says of a thing that another table's row tells of by the same single name:
    the file of an article has its title and its author.
    """
    if (name,) != table.names or len(owner.names) != 1:
        return {}
    fixed = {*table.links, *owner.links, *table.names, *owner.names}
    return {
        word: told[word]
        for word in sorted(_TOLD_OF_BOTH & set(table.columns) & set(owner.columns) - fixed)
        if table.columns[word].body.type is owner.columns[word].body.type
        and (told[word] is not None or table.columns[word].body.nullable)
        and row[word] is not None
    }


def _names(rule: str, name: str) -> set[str]:
    return {name, *(part for part in rule.split() if part not in "+-*")}


def _is_made(name: str, table: Table) -> bool:
    """True for keys that are counted or made of the row's content."""
    is_key = name == table.names[0]
    return is_key and table.kind in (KeyKind.GENERATED, KeyKind.COUNTED)


def _field(column: Column, table: Table) -> FieldShape:
    kind = column.body.type
    meaning = meaning_in(column)
    if column.name in table.names and meaning == "code.snippet":
        meaning = "id.code"
    if meaning == UNKNOWN_TEXT and not is_free_text(snake(column.name)):
        word = snake(column.name).replace("_", "-")
        meaning = "choice:" + "|".join(f"{word}-{number}" for number in range(1, _KINDS + 1))
    is_known = column.name in table.names or column.name in table.links or column.body.generated
    is_known |= column.is_asked or table.is_single
    nullable = column.body.nullable and not is_known
    return FieldShape(type=kind, meaning=meaning, nullable=nullable)


def _keys(table: Table, rows: Mapping[str, JsonObject]) -> list[Any]:
    name = table.key if table.key != ROW_KEY else table.names[0]
    return [row[name] for row in rows.values()]


def _before(value: Any, column: Column) -> Any:
    options = column.meaning.partition(":")[2].replace("!", "").split("|")
    return options[0] or value


def _fixed(value: Any, table: Table, name: str, index: int) -> Any:
    """Return a value with what only the table knows: counted keys, a default that names a row."""
    column = table.columns[name]
    if column.is_rest:
        return None
    if name == CURRENT and column.source.startswith("moved by"):
        return index == 1  # there is one, and another can become it
    if name == table.names[0] and table.kind is KeyKind.COUNTED:
        return index + 1
    default = column.schema.get("default")
    if name in table.names and index == 0 and isinstance(default, (str, int)) and default != "":
        is_number = column.body.type in _NUMBERS
        if is_number == (not isinstance(default, str)) and not isinstance(default, bool):
            return default
    if index == 0 and column.source.startswith("moved by"):
        # The first row can be moved: a world in which everything is done leaves nothing to do.
        return False if column.body.type is FieldType.BOOLEAN else _before(value, column)
    if value is None and not column.body.nullable:
        if column.body.default is not None:
            return column.body.default
        return index + 1 if column.body.type in _NUMBERS else f"{snake(table.noun)}-{index + 1}"
    return value
