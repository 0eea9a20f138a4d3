"""The whole request for one walk: its sentences in order, and what it says beyond them.

Owns the order of sentences and how they are joined; `wording` finds the words for rows and values.
A restraint stands behind the sentence about its row where there is one. A condition stands before
the write that it decides.
"""

from __future__ import annotations

import random
import re

from components.errors import SynthesisError
from components.task.clauses import Conditional, Forbidden, Group, Part
from components.task.graph import Place
from components.task.ground import Ground
from components.task.known import Known, RowKey
from components.task.phrases import phrases, slot_name
from components.task.pronouns import ME, mine
from components.task.spans import Mark, Pieces, fill, flatten
from components.task.speaking import speaker_of
from components.task.steps import Walk, WalkStep
from components.task.wording import Wording

_CONNECTED = 0.75
_CONNECTED_LONG = 0.4
"""The same in a longer request, where the sentence before is joined to what it follows."""
_WITH_SENTENCE = 0.6
"""Share of restraints that go into the sentence about their row."""
VALUE = "/value"
"""Stands for a condition's value where a literal's pointer is expected."""


class Request(Wording):
    """Writes the request for one walk."""

    def __init__(
        self, ground: Ground, walk: Walk, rng: random.Random, *, speaks: bool = True
    ) -> None:
        """Args:
        ground: all services, explored.
        walk: as found.
        rng: chooses among the variants of every phrase.
        speaks: whether who acts in a longer request may be the one who says it.
        """
        super().__init__(ground, walk, rng)
        self._speaks = speaks and self._is_full
        self._clauses = walk.clauses
        self._open = list(walk.clauses.restraints)
        self._connector = ""
        """What joined the sentence before to those before it."""

    def request(self) -> Pieces:
        """Return the whole instruction."""
        opening = self._opening()
        pieces: list[str | Mark] = []
        group = self._clauses.group
        for step in self._walk.steps:
            if not step.shape.is_write or (group is not None and step.name in group.steps[1:]):
                continue
            condition = self._clauses.of_step(step.name)
            if self._walk.is_joined(step.name):
                pieces = self._with_joined(pieces, step)
            elif condition is not None:
                pieces += [" "] if pieces else []
                pieces += self._conditional(condition, step)
            else:
                pieces += self._plain(pieces, step)
        for condition in self._clauses.conditions:
            if not condition.step:
                pieces += [" ", *self._conditional(condition, None)]
        for forbidden in self._open:
            pieces += [" ", *self._alone(forbidden)]
        if self._walk.answer or self._clauses.counted:
            sentence = fill(self._choice("answers"), {"values": self._asked()})
            pieces += [" ", Mark(("demand", "answer"), sentence)]
        return mine([*opening, *pieces])

    def _opening(self) -> Pieces:
        """Return the sentence that says who is speaking, where something is done in a name."""
        found = speaker_of(self._walk, lambda *key: self._address_of(key)) if self._speaks else None
        if found is None:
            return []
        step, item = found
        means = item.parameter.means
        assert means is not None
        words = self._slot(step, item)
        self._speaker = (means, item.value)
        self._short.call((means, item.value), flatten(words)[0], ME)
        kind = "speaker_by_address" if item.source is None else "speaker"
        return [*fill(self._choice(kind), {"person": words}), " "]

    def _plain(self, before: Pieces, step: WalkStep) -> Pieces:
        """Return the sentence for a write, with a restraint on the same row where one fits."""
        group = self._clauses.group
        if group is not None and step.name == group.steps[0]:
            sentence = self._demanded(group.steps, self._sentence(step))
            return self._joined(before, sentence)
        words = self._sentence(step)
        leading = self._leading
        for forbidden in self._open:
            is_same = any(item.source == forbidden.fact for item in step.arguments)
            if is_same and words[-1] == "." and self._rng.random() < _WITH_SENTENCE:
                self._open.remove(forbidden)
                joined = self._joined(before, self._demanded((step.name,), words[:-1]))
                is_it = leading is not None and leading.source == forbidden.fact
                added = self._forbidding(forbidden, is_it=is_it)
                kind = "forbid_with_long" if _says_please(added) else "forbid_with"
                return [*joined, *fill(self._choice(kind), {"words": added})]
        return self._joined(before, self._demanded((step.name,), words))

    def _with_joined(self, before: list[str | Mark], step: WalkStep) -> list[str | Mark]:
        """Return what was said so far, with the sentence for a write as a part of the last one."""
        last = before[-1] if before else ""
        is_open = isinstance(last, Mark) and last.tag[0] == "demand"
        if not is_open or self._clauses.of_step(step.name) is not None:
            raise SynthesisError(f"{step.name}: its sentence cannot join another")
        assert isinstance(last, Mark)
        shared = {(item.parameter.means, item.value) for item in self._said}
        self._it = next(
            (
                item
                for item in step.arguments
                if item.parameter.names_row and (item.parameter.means, item.value) in shared
            ),
            None,
        )
        lowered = _lowered(self._sentence(step))
        self._it = None
        open_end = _without_stop(last)
        said = "" if lowered is None else flatten(lowered)[0]
        is_clumsy = " of it" in said or said.partition(" ")[0] in phrases().stock("not_joined")
        if lowered is None or open_end is None or is_clumsy:
            raise SynthesisError(f"{step.name}: its sentence cannot join another")
        joint = ", and " if " and " in flatten([open_end])[0] else " and "
        return [*before[:-1], open_end, joint, *self._demanded((step.name,), lowered)]

    def _demanded(self, steps: tuple[str, ...], sentence: Pieces) -> Pieces:
        for step in reversed(steps):
            sentence = [Mark(("demand", step), sentence)]
        return sentence

    def _joined(self, before: Pieces, sentence: Pieces) -> Pieces:
        """Return a sentence with what joins it to those before."""
        if not before:
            return sentence
        lowered = _lowered(sentence)
        if self._is_full:
            is_bare = lowered is None or (self._connector and self._rng.random() > _CONNECTED_LONG)
            others = [
                text for text in phrases().stock("connectors_long") if text != self._connector
            ]
            self._connector = "" if is_bare else self._rng.choice(others)
            if self._connector and lowered is not None:
                return [f" {self._connector} ", *lowered]
        elif lowered is not None and self._rng.random() < _CONNECTED:
            kind = "connectors_long" if self._is_long else "connectors"
            return [f" {self._choice(kind)} ", *lowered]
        return [" ", *sentence]

    def _asked(self) -> Pieces:
        """Return the words for what the answer holds."""
        walk, counted = self._walk, self._clauses.counted
        facts = list(walk.answer.values())
        listed: list[str | Mark] = []
        if walk.first in facts and walk.again in facts:
            noun = phrases().noun(walk.first.place)
            kind = "both_long" if self._is_long else "both"
            template = self._choice(kind).replace("{noun}", noun)
            listed += fill(template, {"row": self._row(walk.first.row)})
            facts = []
        for fact in facts:
            if listed:
                listed.append(" and ")
            listed += self._asked_for(fact)
        if counted is not None:
            listed += [", and "] if listed else []
            listed += self._number()
        return listed

    def _asked_for(self, fact: Known) -> Pieces:
        """Return the words for one value that the answer holds: a question, where there is one."""
        if fact == self._walk.first:
            return self._noun_phrase(fact, "before")
        asked = self._longer.asked(fact.place) if self._is_full and self._is_new(fact) else ()
        is_name = fact.place.field == "name" and (
            phrases().table_noun(fact.row.service, fact.row.table) in phrases().stock("people")
        )
        if self._is_full and is_name:
            asked = phrases().stock("asked_who")
        if not asked:
            return self._noun_phrase(fact)
        return fill(self._rng.choice(list(asked)), {"row": self._row(fact.row)})

    def _number(self) -> Pieces:
        """Return the words for the number that is asked for."""
        counted = self._clauses.counted
        assert counted is not None
        rows = self._rows(counted.part)
        if counted.part.where is not None:
            state = counted.part.where[1]
            template = self._choice("count_state").replace("{state}", state)
            return fill(template, {"rows": rows, "bare": _bare(rows, "")})
        noun = phrases().noun(self._place(counted.part, counted.field))
        template = self._choice("sum").replace("{noun}", noun)
        return fill(template, {"rows": rows, "bare": _bare(rows, "")})

    def _of_group(self, group: Group) -> Pieces:
        """Return the words for the rows that a write is made for one by one."""
        write = self._walk.step(group.steps[0])
        has_number = any(isinstance(item.value, int) for item in write.arguments)
        words = self._each(group.part, len(group.steps), may_be_all=not has_number)
        return [Mark(("clause", group.name), words)]

    def _each(self, part: Part, num: int, *, may_be_all: bool) -> Pieces:
        if part.by:
            kind = f"each_time_{'most' if part.most else 'least'}"
            template = self._choice(f"{kind}_long" if self._is_full else kind)
            noun = phrases().noun(self._place(part, part.by))
            template = template.replace("{num}", phrases().stock("numbers")[num])
            template = template.replace("{noun}", noun)
            return fill(template, {"rows": _bare(self._rows(part), "")})
        state = "" if part.where is None else f"{part.where[1]} "
        # `Book 90 minutes on all tickets` could mean 90 for all of them together.
        if may_be_all and self._rng.random() < 0.5:
            return fill(self._choice("all"), {"rows": _bare(self._rows(part), state)})
        row = self._rows(part, is_one=True)
        return fill(self._choice("each"), {"rows": _bare(row, state)})

    def _rows(self, part: Part, *, is_one: bool = False) -> Pieces:
        """Return the words for the whole list that a part is of, or for any one row of it."""
        step = self._walk.step(part.step)
        row = RowKey(step.shape.service, part.shown.table, "")
        words = self._described(row, step)
        return words if is_one else self._several(row, words)

    def _place(self, part: Part, name: str) -> Place:
        service = self._walk.step(part.step).shape.service
        return Place(service, part.shown.table, part.shown.fields[name])

    def _conditional(self, condition: Conditional, step: WalkStep | None) -> Pieces:
        """Return the sentence of a condition, with the write that is done because of it."""
        test = Mark(("clause", condition.name), self._test(condition))
        done: Pieces = []
        if condition.holds and step is not None:
            done = self._demanded((step.name,), branch(self._sentence(step)))
        other: Pieces = []
        if condition.otherwise is not None:
            forbidden = condition.otherwise
            words = branch(self._sentence(as_step(forbidden)))
            other = [Mark(("clause", forbidden.name), words)]
        if not condition.holds and step is not None:
            done = self._demanded((step.name,), branch(self._sentence(step)))
        first, second = (done, other) if condition.holds else (other, done)
        between = [self._choice("otherwise")] if second else []
        return [test, *first, *between, *second, "."]

    def _test(self, condition: Conditional) -> Pieces:
        fact = condition.fact
        value = Mark(("literal", condition.name, VALUE), [str(condition.value)])
        noun = phrases().noun(fact.place)
        kind = f"if_{condition.relation}"
        if condition.relation == "is":
            is_state = fact.place.field in phrases().stock("states_of_rows")
            is_said = phrases().is_adjective(fact.place, str(condition.value))
            kind = "if_state" if is_state and is_said else "if_field"
        told = self._longer.test(fact.place, str(condition.value)) if self._is_full else ""
        template = told or self._choice(kind).replace("{noun}", noun)
        return fill(template, {"row": self._row(fact.row), "value": [value]})

    def _alone(self, forbidden: Forbidden) -> Pieces:
        words = self._forbidding(forbidden, is_it=False)
        kind = "forbid_alone_long" if _says_please(words) else "forbid_alone"
        template = self._choice(kind)
        if "{Words}" in template:
            (mark,) = words
            assert isinstance(mark, Mark)
            first, *rest = mark.pieces
            assert isinstance(first, str)
            words = [Mark(mark.tag, [first[0].upper() + first[1:], *rest])]
        return fill(template.replace("{Words}", "{words}"), {"words": words})

    def _forbidding(self, forbidden: Forbidden, *, is_it: bool) -> Pieces:
        """Return the words that forbid a call; with `is_it`, its row was just named."""
        slot = slot_name(forbidden.pointer)
        pointers = [item.parameter.pointer for item in forbidden.arguments]
        fitting = phrases().restraints(forbidden.shape, pointers, forbidden.pointer)
        if self._is_full and f"{{{slot}}}" in "".join(self._longer.restraints(forbidden.shape)):
            fitting = self._longer.restraints(forbidden.shape)
        if not fitting:
            raise SynthesisError(f"no words that forbid {forbidden.shape.name}")
        template = self._rng.choice(list(fitting))
        if is_it and not self._is_person(forbidden.fact.means):
            template = re.sub(rf"the ([\w -]+) of \{{{slot}\}}", r"its \1", template)
            template = template.replace(f"{{{slot}}}", "it")
        step = as_step(forbidden)
        values = {
            slot_name(item.parameter.pointer): self._slot(step, item)
            for item in forbidden.arguments
            if f"{{{slot_name(item.parameter.pointer)}}}" in template
        }
        return [Mark(("clause", forbidden.name), fill(template, values))]


def as_step(forbidden: Forbidden) -> WalkStep:
    """Return a forbidden call as the step that it would be."""
    return WalkStep(
        name=forbidden.name,
        shape=forbidden.shape,
        arguments=forbidden.arguments,
        data=None,
        changes=(),
        known=(),
    )


def _says_please(words: Pieces) -> bool:
    """Return whether words that forbid something are a plea with its reason."""
    return flatten(words)[0].startswith("please ")


def branch(sentence: Pieces) -> Pieces:
    """Return a sentence as a branch of another: without its full stop, its first letter small."""
    lowered = _lowered(sentence)
    pieces = list(sentence if lowered is None else lowered)
    if pieces and isinstance(pieces[-1], str) and pieces[-1].endswith("."):
        pieces[-1] = pieces[-1][:-1]
    return pieces


def _without_stop(mark: Mark) -> Mark | None:
    """Return a sentence without its full stop; None where it ends with something else."""
    *rest, last = mark.pieces
    if isinstance(last, Mark):
        inner = _without_stop(last)
        return None if inner is None else Mark(mark.tag, [*rest, inner])
    return Mark(mark.tag, [*rest, last[:-1]]) if last.endswith(".") else None


def _lowered(sentence: Pieces) -> Pieces | None:
    """Return a sentence with a small first letter; None where it begins with a name."""
    if not sentence:
        return None
    first, *rest = sentence
    if isinstance(first, str) and first.startswith("I "):
        return None
    # Only words of a template are lowered: a name keeps its letters.
    if isinstance(first, Mark):
        inner = _lowered(first.pieces) if first.tag[0] == "demand" else None
        return None if inner is None else [Mark(first.tag, inner), *rest]
    return [first[0].lower() + first[1:], *rest]


def _bare(words: Pieces, state: str) -> Pieces:
    """Return words for rows without their article, with a state before them."""
    first, *rest = words
    if not isinstance(first, str) or not first.startswith("the "):
        raise SynthesisError(f"no words for each of {first!r}")
    return [state + first.removeprefix("the "), *rest]
