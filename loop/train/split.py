"""Which tasks a policy may be trained on, and which are kept to measure it.

The rule, in full. A task is held out if one of these holds, looked at in this order:

1. `services`: the set of services that it needs is held out: one set in eight.
2. `sequence`: its pattern, the tools of its gold solution in order, is held out: one in eight.
3. `entity`: it turns on a held-out entity: one entity in eight. An entity is a row of the seed data
   with all rows that continue it (a mailbox continues the person whose address is its key). It is
   called by its ids, by its title, and by values that other tables refer to it by (an address, a
   number). A task turns on every entity that its instruction, an argument of its gold solution or
   its answer calls by such a name, and on every entity that its gold solution changes.
4. `familiar`: its own id is drawn: one task in sixteen. Nothing about it is new but the task.

The halves of a pair share their sequence, with what is asked for in its place, and their id here; a
pair that the rule would still divide does not become one.

Everything else is `train`. Whether something is held out is the hash of its name, so it never
changes with the seed or the number of tasks. What a task merely shows in passing (a list that also
holds another row) is no part of the rule.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import lru_cache

from components.environment.identity import Same
from components.records.blueprint import FieldType
from components.records.frozen import FrozenDict, texts_in
from components.records.system import Environment
from components.records.task import Certificate, Task
from components.task.duplicates import calls_of
from components.task.rules import complied

_SALT = "selvage-split-1"
_ONE_IN = 8
_FAMILIAR_ONE_IN = 16
_MIN_NAME = 3
"""Characters of a name; a shorter value calls nothing."""


class Kind(StrEnum):
    """Why a task is held out; `train`: it is not."""

    TRAIN = "train"
    FAMILIAR = "familiar"
    ENTITY = "entity"
    SEQUENCE = "sequence"
    SERVICES = "services"


HELD_OUT = (Kind.FAMILIAR, Kind.ENTITY, Kind.SEQUENCE, Kind.SERVICES)


def kind_of(environment: Environment, task: Task, certificate: Certificate) -> Kind:
    """Return where a task belongs.

    Args:
        environment: gives the seed rows.
        task: the task.
        certificate: holds its recorded run of gold.
    """
    if _is_drawn("services", " ".join(sorted(task.world.services)), _ONE_IN):
        return Kind.SERVICES
    if _is_drawn("sequence", " ".join(calls_of(complied(task))), _ONE_IN):
        return Kind.SEQUENCE
    if any(is_held_out(entity) for entity in entities_of(environment, task, certificate)):
        return Kind.ENTITY
    return (
        Kind.FAMILIAR
        if _is_drawn("task", task.pair or task.task_id, _FAMILIAR_ONE_IN)
        else Kind.TRAIN
    )


def is_held_out(entity: str) -> bool:
    """Return whether an entity (`service/table/id`) is kept out of training."""
    return _is_drawn("entity", entity, _ONE_IN)


def entities_of(environment: Environment, task: Task, certificate: Certificate) -> frozenset[str]:
    """Return the entities that a task turns on."""
    names, rows = _names_of(Same(environment)), _entities_of_rows(Same(environment))
    texts = learned_texts(task, certificate)
    for arguments in certificate.forbidden.values():
        texts += texts_in(arguments) if task.pair else []
    found = {entity for text in texts for entity in named_in(names, text)}
    for record in certificate.gold_run.values():
        for change in record.changes:
            entity = rows.get(f"{change.service}/{change.table}/{change.row_id}")
            if entity is not None:
                found.add(entity)
    return frozenset(found)


def learned_texts(task: Task, certificate: Certificate) -> list[str]:
    """Return what is learned of a task: its words, and the arguments and answer of its gold."""
    found = [task.instruction]
    for record in certificate.gold_run.values():
        found += texts_in(record.arguments)
    return [*found, *texts_in(certificate.gold_answer)]


def held_out_names(environment: Environment) -> frozenset[str]:
    """Return every name of every held-out entity: words that no trained token may spell."""
    names = _names_of(Same(environment)).entities
    return frozenset(name for name, entity in names.items() if is_held_out(entity))


class Names:
    """What entities are called, and a pattern that finds the names in a text."""

    def __init__(self, entities: Mapping[str, str]) -> None:
        """Args: entities: name -> entity."""
        self.entities = entities
        longest_first = sorted(entities, key=lambda name: (-len(name), name))
        body = "|".join(map(re.escape, longest_first)) or r"(?!)"
        self.pattern = re.compile(rf"(?<!\w)(?:{body})(?!\w)")


def named_in(names: Names, text: str) -> Iterator[str]:
    """Yield the entities that a text calls by name."""
    for found in names.pattern.finditer(text):
        yield names.entities[found[0]]


def _is_drawn(what: str, name: str, one_in: int) -> bool:
    digest = hashlib.sha256(f"{_SALT}:{what}:{name}".encode()).digest()
    return int.from_bytes(digest[:4], "big") % one_in == 0


@lru_cache(maxsize=8)
def _entities_of_rows(environment: Same[Environment]) -> FrozenDict[str, str]:
    """Return `service/table/id` of every seed row -> the entity that it belongs to."""
    holders = _holders(environment.value)
    found: dict[str, str] = {}
    for service, blueprint in environment.value.blueprints.items():
        for table, rows in environment.value.seeds[service].tables.items():
            entity = blueprint.entities[table]
            link = entity.fields[entity.key].link if entity.key in entity.fields else None
            for row_id in rows:
                row = f"{service}/{table}/{row_id}"
                found[row] = holders.get((link, row_id), row) if link else row
    return FrozenDict({row: _root(found, row) for row in found})


def _root(parents: Mapping[str, str], row: str) -> str:
    seen: list[str] = []
    while row not in seen:
        seen.append(row)
        row = parents[row]
    return min(seen[seen.index(row) :])  # a ring of rows is one entity


def _holders(environment: Environment) -> dict[tuple[str | None, str], str]:
    """Return (link target, value) -> the row that has this value there."""
    found: dict[tuple[str | None, str], str] = {}
    for service, blueprint in environment.blueprints.items():
        for table, rows in environment.seeds[service].tables.items():
            entity = blueprint.entities[table]
            for row_id, row in rows.items():
                name = f"{service}/{table}/{row_id}"
                found[f"{service}.{table}", row_id] = name
                for field in entity.fields:
                    value = row.get(field)
                    if isinstance(value, str):
                        found.setdefault((f"{service}.{table}.{field}", value), name)
    return found


@lru_cache(maxsize=8)
def _names_of(environment: Same[Environment]) -> Names:
    """Return every name that belongs to exactly one entity."""
    blueprints, seeds = environment.value.blueprints, environment.value.seeds
    rows = _entities_of_rows(environment)
    targets = {
        field.link
        for blueprint in blueprints.values()
        for entity in blueprint.entities.values()
        for field in entity.fields.values()
        if field.link is not None
    }
    owners: dict[str, set[str]] = {}
    for service, blueprint in blueprints.items():
        for table, entity in blueprint.entities.items():
            naming = {
                name
                for name, field in entity.fields.items()
                if (name == entity.title_field or f"{service}.{table}.{name}" in targets)
                and field.enum is None
                and field.type is FieldType.STRING
                and field.link is None
            }
            for row_id, row in seeds[service].tables.get(table, FrozenDict()).items():
                owner = rows[f"{service}/{table}/{row_id}"]
                for value in (row_id, *(row.get(name) for name in sorted(naming))):
                    if isinstance(value, str) and len(value) >= _MIN_NAME:
                        owners.setdefault(value, set()).add(owner)
    return Names({name: next(iter(owner)) for name, owner in owners.items() if len(owner) == 1})
