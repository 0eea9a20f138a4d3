"""A walk in words: noun phrases for its rows and values, and a sentence for one of its writes.

Owns how rows and values are called. A row is named by what a person would call it, or by how it
hangs together with such a row; a value that has to be read is described and never stated.
"""

from __future__ import annotations

import random
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from components.environment.names import plural
from components.errors import SynthesisError
from components.task.clauses import LEAST_LENGTH, Group
from components.task.filling import Argument
from components.task.graph import Place, ToolGraph, is_natural
from components.task.ground import Ground
from components.task.known import Known, RowKey, address_of, entity_of
from components.task.phrases import OPTIONAL, phrases, slot_name
from components.task.pronouns import ME, owned
from components.task.purposes import words_of
from components.task.short_forms import FullerShortForms, ShortForms
from components.task.spans import Mark, Pieces, fill
from components.task.speaking import cause_of
from components.task.steps import Walk, WalkStep

_MAX_DEPTH = 6
_LONG_DEPTH = 1
"""Rows that a row is named by, one after another, in a longer request: nobody follows a chain."""
_HEAD = 3
"""Pieces of a row's words in which its noun stands: an article, a state, and the rest."""


class Wording:
    """Finds words for the rows, values and writes of one walk."""

    def __init__(self, ground: Ground, walk: Walk, rng: random.Random) -> None:
        """Args: ground and walk as found; rng chooses among the variants of every phrase."""
        self._graph: ToolGraph = ground.graph
        self._titles: Mapping[str, str] = ground.titles
        self._walk, self._rng = walk, rng
        self._shown_by: dict[RowKey, WalkStep] = {}
        self._longer = words_of(walk.purpose)
        self._depth = 0
        self._leading: Argument | None = None
        """What the last sentence names first."""
        self._said: list[Argument] = []
        """What the last sentence names."""
        self._it: Argument | None = None
        """What the sentence before has just named, and this one calls `it`."""
        for step in walk.steps:
            for fact in step.known:
                self._shown_by.setdefault(fact.row, step)
        self._is_long = len(walk.steps) >= LEAST_LENGTH
        looked_up = sum(edit.kind == "lookup" for edit in walk.edits)
        self._is_full = len(walk.steps) - looked_up >= LEAST_LENGTH
        """Whether it is long without what calibration looks up, and said in the longer words."""
        self._speaker: tuple[Place | None, Any] | None = None
        """Who says the request, as what a value means and the value; None: nobody in particular."""
        self._world = ground.world.initial
        self._short = (
            FullerShortForms(ground.graph, self._shown_by, self._address_of, is_full=self._is_full)
            if self._is_long
            else ShortForms(ground.graph, self._shown_by)
        )

    def _sentence(self, step: WalkStep) -> Pieces:
        pointers = [item.parameter.pointer for item in step.arguments]
        template = self._rng.choice(self._said_as(step, pointers))
        names = {slot_name(pointer) for pointer in pointers}
        template = OPTIONAL.sub(lambda found: found[1] if found[2] in names else "", template)
        # Words are made in the order in which they stand: the first mention is the full one.
        order = sorted(
            step.arguments,
            key=lambda item: template.find(f"{{{slot_name(item.parameter.pointer)}}}"),
        )
        self._leading = order[0] if order else None
        self._said = [item for item in order if item.parameter.names_row]
        values: dict[str, Pieces] = {}
        for item in order:
            words = self._slot(step, item)
            if self._is_full and values:
                words = self._of_leading(words)
            values[slot_name(item.parameter.pointer)] = words
        return fill(template, values)

    def _said_as(self, step: WalkStep, pointers: Sequence[str]) -> Sequence[str]:
        """Return sentence templates for a write; a form's words only where there are no others."""
        fitting = phrases().sentences(step.shape, pointers)
        if not self._is_long:
            return fitting
        actor = self._longer.actor(step.shape)
        is_speaking = not actor or any(
            slot_name(item.parameter.pointer) == actor and self._is_speaker(item)
            for item in step.arguments
        )
        words = words_of(self._walk.purpose_at(step.name))
        longest = words.sentences(step.shape, pointers) if is_speaking and self._is_full else ()
        stiff = tuple(phrases().stock("stiff"))
        return longest or [text for text in fitting if not text.startswith(stiff)] or fitting

    def _is_speaker(self, item: Argument) -> bool:
        key = (item.parameter.means, item.value)
        if self._speaker is None or not item.parameter.names_row:
            return False
        address = self._address_of(key)
        return self._speaker == key or (
            address != "" and address == self._address_of(self._speaker)
        )

    def _address_of(self, key: Hashable) -> str:
        """Return the address of the person whom a row or a value names; empty: it names nobody."""
        if isinstance(key, RowKey):
            if phrases().table_noun(key.service, key.table) not in phrases().stock("people"):
                return ""  # what belongs to somebody is not that somebody: a mailbox
            table = Place(key.service, key.table, "")
            means: Place | None = Place(key.service, key.table, entity_of(self._graph, table).key)
            value: Any = key.row_id
        elif isinstance(key, tuple):
            means, value = key
        else:
            return ""
        return "" if means is None else address_of(self._graph, self._world, means, value)

    def _of_leading(self, words: Pieces) -> Pieces:
        """Return words with a pronoun for what the sentence named first: `its channel`."""
        leading = self._leading
        if leading is None or not leading.parameter.names_row or leading.parameter.means is None:
            return words
        return owned(
            words,
            self._names_of(leading),
            "their" if self._is_person(leading.parameter.means) else "its",
        )

    def _names_of(self, item: Argument) -> set[str]:
        """Return what a row that an argument names is called by now."""
        keys: list[Hashable] = [(item.parameter.means, item.value)]
        names = {item.words or str(item.value)} if item.source is None else set()
        if item.source is not None:
            keys += [(item.source.means, item.value)]
            if item.source.place == item.source.means:
                keys += [item.source.row]
        return names.union(*(self._short.forms(key) for key in keys)) - {ME}

    def _slot(self, step: WalkStep, item: Argument) -> Pieces:
        pointer = item.parameter.pointer
        means = item.parameter.means
        if self._is_speaker(item):
            return [ME]
        if item is self._it and means is not None and not self._is_person(means):
            return ["it"]
        group = self._walk.clauses.group
        if group is not None and item.source is not None and item.source.step == group.part.step:
            return self._of_group(group)
        if item.template:
            assert item.source is not None
            words = phrases().slot(step.shape, pointer, is_fact=True, is_text=True)
            return fill(words, {"": self._noun_phrase(item.source)})
        if item.source is None and not item.parameter.names_row:
            is_text = item.parameter.schema.get("type") == "string" and not (
                item.words or "enum" in item.parameter.schema or "pattern" in item.parameter.schema
            )
            words = phrases().slot(step.shape, pointer, is_fact=False, is_text=is_text)
            return fill(words, {"": [self._literal(step, item)]})
        if item.source is None:
            assert item.parameter.means is not None
            return self._by_literal(step, item, item.parameter.means)
        if not item.parameter.names_row:
            return self._noun_phrase(item.source)
        return self._value(step, item)

    def _of_group(self, group: Group) -> Pieces:
        raise NotImplementedError

    def _is_person(self, means: Place) -> bool:
        return "email" in entity_of(self._graph, means).fields or "email" in means.field

    def _literal(self, step: WalkStep, item: Argument) -> Mark:
        return Mark(("literal", step.name, item.parameter.pointer), [item.words or str(item.value)])

    def _value(self, step: WalkStep, item: Argument) -> Pieces:
        """Return the words for an argument that names a row or takes an observed value."""
        place = item.parameter.place
        if item.source is not None:
            return self._reference(item.source, None if place is None else place.table)
        assert place is not None
        return self._by_literal(step, item, place)

    def _by_literal(self, step: WalkStep, item: Argument, place: Place) -> Pieces:
        if place.field != entity_of(self._graph, place).key:
            place = self._graph.means(place)
        if "email" in place.field:
            self._short.name_person()
        template = self._rng.choice(phrases().row_by(place, self._titles.get(place.service, "")))
        return fill(template, {"": [self._literal(step, item)]})

    def _reference(self, fact: Known, wanted_table: str | None) -> Pieces:
        """Return the words for what an observed value stands for."""
        entity = entity_of(self._graph, fact.place)
        is_own = fact.place == fact.means or (
            fact.place.field == entity.key and fact.place.table == wanted_table
        )
        if not self._names_row(fact):
            return self._noun_phrase(fact)
        if is_own:
            return self._row(fact.row)
        key = (fact.means, fact.value)
        short = self._short.get(key)
        if short is None:
            template = self._rng.choice(self._links(fact))
            words = fill(template, {"row": self._row(fact.row)})
            self._short.keep(key, words)
            return words
        return short

    def _links(self, fact: Known) -> Sequence[str]:
        """Return phrases for the row that a field of another names."""
        is_new = self._is_new(fact)
        own = self._longer.link(fact.place) if self._is_full and not is_new else ()
        return own or phrases().link(fact.place, is_then=is_new, is_long=self._is_long)

    def _names_row(self, fact: Known) -> bool:
        """Return whether the value's meaning is a key, or a name that rows are called by."""
        end = fact.means
        entity = entity_of(self._graph, end)
        return end.field == entity.key or is_natural(self._graph.blueprints, end)

    def _is_new(self, fact: Known) -> bool:
        """Return whether a reaction of the walk made the value before it was read."""
        return cause_of(self._walk, fact) is not None

    def _noun_phrase(self, fact: Known, time: str = "") -> Pieces:
        kind = time or ("then" if self._is_new(fact) else "plain")
        if self._is_long and kind in ("then", "before"):
            kind = f"{kind}_long"
        template = self._choice(kind).replace("{noun}", phrases().noun(fact.place))
        return fill(template, {"row": self._row(fact.row)})

    def _row(self, row: RowKey) -> Pieces:
        """Return the words for a row: whole at the first mention, short where that is clear."""
        short = self._short.get(row)
        if short is not None:
            return short
        step = self._shown_by.get(row)
        if step is None or self._depth > (_LONG_DEPTH if self._is_long else _MAX_DEPTH):
            raise SynthesisError(f"no words for {row.service}.{row.table} {row.row_id}")
        self._depth += 1
        words = self._described(row, step)
        self._depth -= 1
        is_list = any(shown.is_list and shown.table == row.table for shown in step.shape.shown)
        is_stated = any(item.source is None for item in step.arguments)
        if (is_list or is_stated) and not step.shape.is_write:
            words = [Mark(("referent", step.name), words)]
        self._short.keep(row, words)
        return words

    def _described(self, row: RowKey, step: WalkStep) -> Pieces:
        if step.shape.is_write:
            return [f"the new {phrases().table_noun(row.service, row.table)}"]
        arguments = [item for item in step.arguments if item.parameter.place is not None]
        naming = [item for item in arguments if item.parameter.names_row]
        titles = [
            item for item in arguments if not item.parameter.names_row and not _is_choice(item)
        ]
        states = [item for item in arguments if _is_choice(item)]
        if not naming:
            item = titles[0] if titles else states[0]
            assert item.parameter.place is not None
            return self._by_literal(step, item, item.parameter.place)
        main, place = naming[0], naming[0].parameter.place
        assert place is not None
        if place.table != row.table:
            place = self._linking(row, main) or place
        is_own = place.table == row.table and self._graph.means(place) == place
        is_key = place.field == entity_of(self._graph, place).key
        if not titles and not states and (is_own or (main.source is None and is_key)):
            return self._value(step, main)
        template = self._rng.choice(phrases().reverse(place))
        title: Pieces = ['"', self._literal(step, titles[0]), '"'] if titles else []
        values: dict[str, Pieces] = {"title": title, "state": []}
        values["row"] = self._person(step, main)
        for item in states:
            assert item.parameter.place is not None
            if not phrases().is_adjective(item.parameter.place, str(item.value)):
                raise SynthesisError(f"no words for {item.parameter.place} {item.value!r}")
            values["state"] = [self._literal(step, item)]
        names = {name for name, words in values.items() if words}
        if (titles and "{title}" not in template) or (states and "{state}" not in template):
            raise SynthesisError(f"no words for {place} with a title or a state")
        template = OPTIONAL.sub(lambda found: found[1] if found[2] in names else "", template)
        return self._picked(row, step, fill(template, values))

    def _picked(self, row: RowKey, step: WalkStep, words: Pieces) -> Pieces:
        """Return the words for a row that is picked of a list, from those for any of its rows."""
        facts = [fact for fact in step.known if fact.row == row and fact.pick is not None]
        pick = facts[0].pick if facts else None
        if pick is None:
            return words
        several = self._several(row, words)
        by = next(fact for fact in facts if fact.path[-1] == pick.by)
        kind = "time" if isinstance(by.value, str) else "number"
        template = self._choice(f"{'most' if pick.most else 'least'}_{kind}")
        before = template.replace("{noun}", phrases().noun(by.place))
        if self._is_full:
            # `the event organized by Rosa Quintero with the latest start time`
            return [*words, before.removeprefix("the one").removesuffix(" among")]
        return [f"{before} ", *several]

    def _several(self, row: RowKey, words: Pieces) -> Pieces:
        """Return words for a row in the plural."""
        noun = re.compile(rf"\b{re.escape(phrases().table_noun(row.service, row.table))}\b")
        several = list(words)
        for number, piece in enumerate(words[:_HEAD]):
            if isinstance(piece, str) and noun.search(piece):
                several[number] = noun.sub(lambda found: plural(found[0]), piece, count=1)
                return several
        raise SynthesisError(f"no words for several of {row.service}.{row.table}")

    def _person(self, step: WalkStep, item: Argument) -> Pieces:
        """Return the words for the row that links to the described one."""
        if item.source is not None:
            return self._reference(item.source, None)
        assert item.parameter.means is not None
        template = self._rng.choice(phrases().row_by(item.parameter.means, ""))
        return fill(template, {"": [self._literal(step, item)]})

    def _linking(self, row: RowKey, item: Argument) -> Place | None:
        """Return the field by which rows of this table link to what the argument names."""
        fields = entity_of(self._graph, Place(row.service, row.table, "")).fields
        for field in sorted(fields):
            place = Place(row.service, row.table, field)
            if self._graph.means(place) == item.parameter.means:
                return place
        return None

    def _choice(self, name: str) -> str:
        return self._rng.choice(list(phrases().stock(name)))


def _is_choice(item: Argument) -> bool:
    return "enum" in item.parameter.schema
