"""Compile a task's rubric from what its gold solution leaves behind: mechanically, without an
opinion.

Owns what of a gold run becomes a criterion. Only effects that survive to the end count, the tools'
own and the reactions' alike. Generated ids and times are never compared: created rows are bound by
their content, rows of the seed by their id. Free text is constrained by its facts alone (see
facts.py); see constraints.py for what is not constrained.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from components.environment.state import net_changes
from components.environment.world import World
from components.errors import SynthesisError
from components.evaluator.created import (
    CreatedRows,
    Place,
    entity_of,
    links_in,
    replace_links,
)
from components.evaluator.criteria import ROW_OF
from components.evaluator.gold_facts import Fragment, facts_of_field, gold_fragments
from components.records.calls import CallRecord, RowChange
from components.records.frozen import FrozenDict, JsonObject, canonical_json, freeze
from components.records.rubric import (
    AnswerField,
    Criterion,
    RowAbsent,
    RowFields,
    Rubric,
    Untouched,
)
from components.records.task import Task

UNTOUCHED = "untouched"
"""Name of the one criterion that nothing else changed."""


def compile_rubric(
    task: Task, gold_run: Sequence[CallRecord], world: World, answer: JsonObject
) -> Rubric:
    """Return the rubric of a task.

    Args:
        task: the task; its provenance says which parts of a free text are facts.
        gold_run: the executed calls of gold, in step order (the sorted names of `task.gold`).
        world: the world that gold ran in, for its blueprints.
        answer: the answer that gold gives; empty when only state counts.

    Raises:
        SynthesisError: an answer has a generated id inside a longer text, so no other run can give
        it.
    """
    compiler = _Compiler(world, surviving_changes(gold_run), gold_fragments(task, gold_run, world))
    criteria = {
        **compiler.new_rows(),
        **compiler.seed_rows(),
        UNTOUCHED: compiler.untouched(),
        **compiler.answers(answer),
    }
    return Rubric(task_id=task.task_id, criteria=FrozenDict(sorted(criteria.items())))


def surviving_changes(gold_run: Sequence[CallRecord]) -> tuple[RowChange, ...]:
    """Return what a run leaves behind: one net change a row."""
    return net_changes(change for call in gold_run for change in call.changes)


def names_of_rows(gold_run: Sequence[CallRecord], world: World) -> dict[Place, str]:
    """Return the name that the criterion of each changed row has, or would have, in the rubric."""
    return _Compiler(world, surviving_changes(gold_run), ()).names()


class _Compiler:
    def __init__(
        self,
        world: World,
        changes: tuple[RowChange, ...],
        fragments: Sequence[Fragment],
    ) -> None:
        self._world, self._changes, self._fragments = world, changes, fragments
        self._rows = {
            _place(change): change.after
            for change in changes
            if change.before is None and change.after is not None
        }
        self._created = CreatedRows(world, self._rows)
        self._names = self._named()

    def names(self) -> dict[Place, str]:
        """Return the name of each changed row's criterion."""
        found = {}
        for change in self._changes:
            place = _place(change)
            kind = "gone" if change.after is None else "row"
            name = f"{kind}:{place.service}.{place.table}:{place.row_id}"
            found[place] = self._names.get(place, name)
        return found

    def _named(self) -> dict[Place, str]:
        """Name the created rows by table and in the order of contents; equal ones share a name."""
        labels: dict[tuple[str, str], dict[str, bytes]] = defaultdict(dict)
        for place in self._rows:
            body = replace_links(dict(self._created.compared(place)), self._created.label)
            labels[place.service, place.table][self._created.label(place)] = canonical_json(body)
        numbers = {
            label: number
            for found in labels.values()
            for number, label in enumerate(sorted(found, key=found.__getitem__), 1)
        }
        return {
            place: f"new:{place.service}.{place.table}:{numbers[self._created.label(place)]}"
            for place in self._rows
        }

    def new_rows(self) -> dict[str, Criterion]:
        """Return one criterion for each kind of created row."""
        groups: dict[str, list[Place]] = defaultdict(list)
        for place in sorted(self._rows):
            groups[self._names[place]].append(place)
        criteria: dict[str, Criterion] = {}
        for name, places in groups.items():
            first = places[0]
            where = {
                field: self._with_refs(value)
                for field, value in self._created.compared(first).items()
                if not any(self._created.is_reached(first, place) for place in links_in(value))
            }
            facts = self._shared_facts(places)
            criteria[name] = RowFields(
                text=_new_sentence(first, len(places), where, facts),
                service=first.service,
                table=first.table,
                where=freeze(where),
                facts=facts,
                count=len(places),
                new_only=True,
            )
        return criteria

    def seed_rows(self) -> dict[str, Criterion]:
        """Return one criterion for each row of the seed that gold changed or deleted."""
        criteria: dict[str, Criterion] = {}
        names = self.names()
        for change in self._changes:
            place = _place(change)
            entity = entity_of(self._world, place.service, place.table)
            if change.before is None:
                continue
            if change.after is None:
                criteria[names[place]] = RowAbsent(
                    text=f"The {_words(place)} {place.row_id!r} is gone.",
                    service=place.service,
                    table=place.table,
                    row_id=place.row_id,
                )
                continue
            changed = {field: change.after[field] for field in _changed_fields(change)}
            fields = {
                field: self._with_refs(value)
                for field, value in self._created.comparable(entity, changed).items()
            }
            facts = self._facts(change, changed)
            if not fields and not facts:
                continue
            criteria[names[place]] = RowFields(
                text=f"The {_words(place)} {place.row_id!r} has {_listed(fields, facts)}.",
                service=place.service,
                table=place.table,
                where=FrozenDict({entity.key: place.row_id}),
                fields=freeze(fields),
                facts=facts,
            )
        return criteria

    def untouched(self) -> Untouched:
        """Return the criterion that only what gold touched may change."""
        allowed: dict[str, tuple[str, ...]] = {}
        max_new: dict[str, int] = defaultdict(int)
        for change in self._changes:
            table = f"{change.service}/{change.table}"
            if change.before is None:
                max_new[table] += 1
            elif change.after is None:
                allowed[f"{table}/{change.row_id}"] = ("*",)
            else:
                entity = entity_of(self._world, change.service, change.table)
                generated = {name for name, field in entity.fields.items() if field.generated}
                fields = {*_changed_fields(change), *generated} - {entity.key}
                allowed[f"{table}/{change.row_id}"] = tuple(sorted(fields))
        return Untouched(
            text="Nothing else changed.",
            allowed=FrozenDict(sorted(allowed.items())),
            max_new=FrozenDict(sorted(max_new.items())),
        )

    def answers(self, answer: Mapping[str, Any]) -> dict[str, Criterion]:
        """Return one criterion for each field of the answer."""
        criteria: dict[str, Criterion] = {}
        for field, value in sorted(answer.items()):
            if not self._created.is_comparable(value):
                raise SynthesisError(f"answer.{field} has a generated id inside: {value!r}")
            expected = self._with_refs(self._created.linked(value))
            criteria[f"answer:{field}"] = AnswerField(
                text=f"The answer's {field} is {_shown(expected)}.",
                field=field,
                expected=freeze(expected),
            )
        return criteria

    def _with_refs(self, value: Any) -> Any:
        return replace_links(value, lambda place: {ROW_OF: self._names[place]})

    def _shared_facts(self, places: Sequence[Place]) -> FrozenDict[str, tuple[str, ...]]:
        """Return the facts that all rows of one kind hold: nothing else tells them apart."""
        found = []
        for change in self._changes:
            if _place(change) in places and change.after is not None:
                found.append(self._facts(change, change.after))
        shared = {
            field: tuple(fact for fact in facts if all(fact in row.get(field, ()) for row in found))
            for field, facts in found[0].items()
        }
        return FrozenDict({field: facts for field, facts in shared.items() if facts})

    def _facts(
        self, change: RowChange, values: Mapping[str, Any]
    ) -> FrozenDict[str, tuple[str, ...]]:
        entity = entity_of(self._world, change.service, change.table)
        found = {}
        for field, value in sorted(values.items()):
            if not entity.fields[field].free_text:
                continue
            before = None if change.before is None else change.before[field]
            facts = facts_of_field(_place(change), field, before, value, self._fragments)
            kept = tuple(fact for fact in facts if not self._created.mentions(fact))
            if kept:
                found[field] = kept
        return FrozenDict(found)


def _place(change: RowChange) -> Place:
    return Place(change.service, change.table, change.row_id)


def _changed_fields(change: RowChange) -> list[str]:
    assert change.before is not None
    assert change.after is not None
    return [
        field for field in sorted(change.after) if change.before.get(field) != change.after[field]
    ]


def _words(place: Place) -> str:
    return f"{place.service} {place.table}".replace("_", " ")


def _new_sentence(
    place: Place, count: int, where: Mapping[str, Any], facts: Mapping[str, tuple[str, ...]]
) -> str:
    given = {field: value for field, value in where.items() if value is not None}
    having = f" with {_listed(given, facts)}" if given or facts else ""
    if count == 1:
        return f"There is one new {_words(place)}{having}."
    return f"There are {count} new rows of {_words(place)}, each{having}."


def _listed(fields: Mapping[str, Any], facts: Mapping[str, tuple[str, ...]]) -> str:
    parts = [f"{field} {_shown(value)}" for field, value in fields.items()]
    parts += [
        f"a {field} that holds {', '.join(map(repr, found))}" for field, found in facts.items()
    ]
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def _shown(value: Any) -> str:
    if isinstance(value, Mapping) and set(value) == {ROW_OF}:
        return f"the id of {value[ROW_OF]}"
    return canonical_json(value).decode() if not isinstance(value, str) else repr(value)
