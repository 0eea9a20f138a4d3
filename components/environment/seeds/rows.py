"""Seed rows of compiled services: few, plausible, the same on every machine.

Owns the small word lists and the choice of values by a field's name. Rows fit their entity; links
hold keys of rows that exist; a table that links to itself links to nothing.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from components.environment.compiler.params import Param, is_free_text
from components.environment.compiler.tables import HIDDEN_KEY, KeyKind, Table
from components.environment.compiler.words import snake
from components.environment.entities import new_id
from components.environment.seeds.sample_values import SchemaSampler
from components.records.blueprint import EntityBlueprint, FieldBlueprint, FieldType, SeedData
from components.records.frozen import freeze, thaw

ROWS_PER_TABLE = 6
_PEOPLE = ("Ada Moreno", "Ben Okafor", "Chloe Tanaka", "Dev Larsson", "Elif Novak", "Finn Adeyemi")
_PLACES = ("Lisbon", "Nairobi", "Osaka", "Quito", "Tallinn", "Winnipeg")
_THINGS = (
    "Quarterly review", "Harbor survey", "Orchard plan", "Winter schedule", "Lantern prototype",
    "Ridge trail map",
)  # fmt: skip
_SENTENCES = (
    "Compare the two drafts before the meeting on Thursday.",
    "The supplier asked for a later delivery date.",
    "Keep the old key until the new lock is fitted.",
    "Three samples came back without a label.",
    "Ask the museum whether the north hall is free.",
    "The second pump runs louder than the first.",
)
_TAGS = ("urgent", "draft", "travel", "budget", "garden", "archive")
_KINDS = ("review", "survey", "plan", "schedule", "prototype", "map")
_RELATIONS = ("belongs_to", "depends_on", "follows", "replaces", "supports", "refers_to")


def seed_rows(
    service: str,
    tables: Mapping[str, Table],
    entities: Mapping[str, EntityBlueprint],
    params: Mapping[tuple[str, str], Param],
) -> SeedData:
    """Return the seed of a compiled service.

    Args:
        service: its name; the seed of every choice.
        tables: the compiler's tables by noun.
        entities: the finished entities by noun.
        params: (noun, field) -> parameter whose schema the field's values must fit.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for noun in _by_links(tables):
        rows: dict[str, dict[str, Any]] = {}
        for index in range(ROWS_PER_TABLE):
            row = _row(service, tables[noun], entities[noun], index, found, tables, params)
            row_id = row[entities[noun].key]
            if row_id not in rows:
                rows[row_id] = row
        found[noun] = rows
    body = {
        noun: {row_id: freeze(row) for row_id, row in rows.items()} for noun, rows in found.items()
    }
    return SeedData.model_validate({"service": service, "tables": body})


def _by_links(tables: Mapping[str, Table]) -> list[str]:
    """Return nouns so that a table comes after those that it links to; a circle is cut by name."""
    order: list[str] = []
    left = sorted(tables)
    while left:
        free = [
            noun
            for noun in left
            if all(to in order or to == noun for to in tables[noun].links.values())
        ]
        chosen = (free or left)[0]
        order.append(chosen)
        left.remove(chosen)
    return order


def _row(
    service: str,
    table: Table,
    entity: EntityBlueprint,
    index: int,
    found: Mapping[str, Mapping[str, Mapping[str, Any]]],
    tables: Mapping[str, Table],
    params: Mapping[tuple[str, str], Param],
) -> dict[str, Any]:
    rng = random.Random(f"{service}:{table.noun}:{index}")
    row: dict[str, Any] = {}
    for name, body in sorted(entity.fields.items()):
        if name in (entity.key, HIDDEN_KEY) and entity.generated_key:
            continue
        if name == table.key and table.kind is KeyKind.INTEGER:
            row[name] = index + 1
        elif name in table.links:
            row[name] = _link(table.links[name], found, tables, rng, body)
        else:
            row[name] = _value(name, body, index, rng, params.get((table.noun, name)))
    if entity.generated_key:
        row[entity.key] = new_id(table.noun, entity.prefix, row, found.get(table.noun, {}))
    elif index:
        row[entity.key] = _distinct(str(row[entity.key]), index)
    return row


def _distinct(key: str, index: int) -> str:
    """Word lists are as long as a table; a key from elsewhere gets a number."""
    is_listed = key in (*_PEOPLE, *_THINGS, *_PLACES)
    return key if is_listed else f"{key}_{index + 1}"


def _link(
    noun: str,
    found: Mapping[str, Mapping[str, Mapping[str, Any]]],
    tables: Mapping[str, Table],
    rng: random.Random,
    body: FieldBlueprint,
) -> Any:
    rows = [row for _, row in sorted(found.get(noun, {}).items())]
    if not rows:
        return None if body.nullable else (1 if body.type is FieldType.INTEGER else "none")
    return rng.choice(rows)[tables[noun].key]


def _value(
    name: str, body: FieldBlueprint, index: int, rng: random.Random, param: Param | None
) -> Any:
    value = _plausible(snake(name), body, index, rng)
    if param is None:
        return value
    schema = {**thaw(param.schema), "$defs": thaw(param.document.get("$defs") or {})}
    schema["definitions"] = thaw(param.document.get("definitions") or {})
    if value is not None and jsonschema_rs.validator_for(schema).is_valid(value):
        return value
    drawn = SchemaSampler(param.document, rng).value(param.schema)
    return drawn if jsonschema_rs.validator_for(schema).is_valid(drawn) else value


def _plausible(word: str, body: FieldBlueprint, index: int, rng: random.Random) -> Any:
    if body.enum:
        return body.enum[index % len(body.enum)]
    match body.type:
        case FieldType.BOOLEAN:
            return index % 2 == 0
        case FieldType.INTEGER:
            return rng.randint(1, 20)
        case FieldType.NUMBER:
            return float(rng.randint(2, 400)) / 2
        case FieldType.ARRAY:
            if is_free_text(word):
                return [_SENTENCES[index % 6], _SENTENCES[(index + 2) % 6]]
            return sorted(rng.sample(_TAGS, 2))
        case FieldType.OBJECT:
            return {}
        case FieldType.TIMESTAMP | FieldType.STRING:
            return _text(word, index)


def _text(word: str, index: int) -> str:
    last = word.rpartition("_")[2]
    if word.startswith(("relation", "link")):
        return _RELATIONS[index % 6]
    person, thing = _PEOPLE[index % 6], _THINGS[index % 6]
    slug = thing.lower().replace(" ", "-")
    match last:
        case "email":
            return f"{person.lower().replace(' ', '.')}@example.com"
        case "date" | "day":
            return f"2026-03-{index + 10:02d}"
        case "time" | "at" | "start" | "end" | "timestamp":
            return f"2026-03-{index + 10:02d}T09:00:00Z"
        case "path" | "file" | "filename":
            return f"/documents/{slug}.md"
        case "url" | "uri" | "link":
            return f"https://example.com/{slug}"
        case "slug" | "key" | "code" | "id":
            return slug
        case "user" | "username" | "author" | "owner" | "assignee" | "person" | "contact":
            return person.lower().replace(" ", ".")
        case "first":
            return person.split()[0]
        case "city" | "place" | "location" | "address":
            return _PLACES[index % 6]
        case "type" | "kind" | "category":
            return _KINDS[index % 6]
        case "status" | "state":
            return ("open", "done")[index % 2]
        case "priority":
            return ("low", "medium", "high")[index % 3]
        case "phone":
            return f"+1202555010{index}"
        case "color" | "colour":
            return ("red", "green", "blue")[index % 3]
    return _SENTENCES[index % 6] if is_free_text(word) else thing
