"""Restraints, conditions and relative dates of a walk.

None of them adds a call to gold. A forbidden call is one that the world would accept at the end of
the walk, and whose effect nothing else of the walk has: whoever makes it fails the criterion that
nothing else changed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from components.records.calls import RowChange
from components.records.frozen import FrozenDict
from components.task.clauses import Conditional, Forbidden, Names
from components.task.filling import Arguments, Filler, as_object
from components.task.graph import ToolShape
from components.task.ground import Ground
from components.task.known import Known, entity_of
from components.task.longer import longer, tool_name
from components.task.moments import (
    TIMES,
    date_words,
    known_days,
    moment_at,
    moment_on,
    words_for,
)
from components.task.phrases import phrases
from components.task.purposes import purposes
from components.task.sensible import gives_anew
from components.task.steps import Walk, WalkStep, found_out

_TRIES = 14
_BARE = 0.3
"""Share of conditions that do not hold and leave nothing to do."""
_FIRST = 0.5
"""Share of the others that hold."""


def with_restraint(
    ground: Ground, walk: Walk, names: Names, rng: random.Random, purpose: str = ""
) -> Walk | None:
    """Return the walk with a call that must not be made, or None when no words or call fit.

    Args:
        ground: all services, explored.
        walk: as found.
        names: for the clause.
        rng: every choice.
        purpose: not empty: only what may well be forbidden beside what the walk does to the row.
    """
    search = _Search(ground, walk, rng)
    for shape, fact in search.near():
        if purpose and not _may_be_forbidden(walk, shape, fact, purpose):
            continue
        pointers = [item.pointer for item in shape.parameters]
        if phrases().restraints(shape, pointers):
            forbidden = search.forbidden(shape, fact, names)
            if forbidden is not None and phrases().restraints(
                shape, [item.parameter.pointer for item in forbidden.arguments], forbidden.pointer
            ):
                clauses = replace(walk.clauses, restraints=(*walk.clauses.restraints, forbidden))
                return replace(walk, clauses=clauses)
    return None


def with_condition(
    ground: Ground, walk: Walk, names: Names, rng: random.Random, purpose: str = ""
) -> Walk | None:
    """Return the walk with one thing that depends on a value, or None.

    Args:
        ground: all services, explored.
        walk: as found.
        names: for the clauses.
        rng: every choice.
        purpose: not empty: the value has to be a reason for what depends on it.
    """
    if purpose:
        return _with_reason(ground, walk, names, rng, purpose)
    search = _Search(ground, walk, rng)
    deciding = list(_deciding(ground, walk))
    rng.shuffle(deciding)
    other = next(
        (
            found
            for shape, fact in search.near()
            if (found := search.forbidden(shape, fact, names)) is not None
        ),
        None,
    )
    for fact in deciding[:_TRIES]:
        test = _test(ground, fact, rng)
        if test is None or (other is not None and not _is_about(other, fact)):
            continue
        hosts = [step for step in walk.steps if _can_depend(walk, step, fact)]
        is_bare = other is not None and (not hosts or rng.random() < _BARE)
        if not hosts and other is None:
            return None
        holds = not is_bare and (other is None or rng.random() < _FIRST)
        condition = Conditional(
            name=names.next(),
            fact=fact,
            relation=test.relation,
            value=test.value(holds=holds),
            holds=holds,
            step="" if is_bare else rng.choice(hosts).name,
            otherwise=other,
        )
        clauses = replace(walk.clauses, conditions=(*walk.clauses.conditions, condition))
        return replace(walk, clauses=clauses)
    return None


def _with_reason(
    ground: Ground, walk: Walk, names: Names, rng: random.Random, purpose: str
) -> Walk | None:
    """Return the walk with one thing that a value is a reason for, or None.

    Mostly a write of the walk, under a condition that holds; now and then a write that is not made,
    since its condition does not hold. What is done otherwise has its own reason, or is left out.
    """
    search = _Search(ground, walk, rng, is_sensible=True)
    other_search = _Search(ground, walk, rng, is_sensible=True)
    others = {tool_name(step.shape) for step in walk.steps if step.shape.is_write}
    deciding = list(_deciding(ground, walk))
    rng.shuffle(deciding)
    near_any = [
        (shape, fact)
        for shape, fact in search.near()
        if not purposes().is_apart(shape, others)
        # In whose name something would be done has no words where it is not done.
        and not longer().actor(shape)
    ]
    near = [(shape, fact) for shape, fact in near_any if purposes().serves(shape, purpose)]
    found: list[Conditional] = []
    for fact in deciding[:_TRIES]:
        if _is_worked_on(walk, fact):
            continue
        tests = list(_tests(ground, fact, rng))
        hosts = [
            (test, step)
            for test in tests
            for step in walk.steps
            if _can_depend(walk, step, fact) and _bears(test, fact, step.shape, holds=True)
        ]
        for test, shape, named in [(t, s, n) for t in tests for s, n in near]:
            if named.row != fact.row or not _bears(test, fact, shape, holds=False):
                continue
            other = search.forbidden(shape, named, names)
            if other is None or not _is_about(other, fact):
                continue
            found.append(_conditional(names, fact, test, holds=False, otherwise=other))
            break
        for test, step in hosts[:1]:
            found.append(_conditional(names, fact, test, holds=True, step=step.name))
            for shape, named in near_any:
                is_near = named.row == fact.row or (
                    (named.means.service, named.means.table, named.value)
                    == (fact.row.service, fact.row.table, fact.row.row_id)
                )
                if not is_near or not purposes().is_otherwise(step.shape, shape):
                    continue
                other = other_search.forbidden(shape, named, names)
                if other is not None:
                    both = _conditional(
                        names, fact, test, holds=True, step=step.name, otherwise=other
                    )
                    found.append(both)
                    break
    if not found:
        return None
    condition = rng.choice([item for item in found if item.step and item.otherwise] or found)
    clauses = replace(walk.clauses, conditions=(*walk.clauses.conditions, condition))
    return replace(walk, clauses=clauses)


def _tests(ground: Ground, fact: Known, rng: random.Random) -> Iterator[_Test]:
    """Yield what a value can be compared with, each other choice once."""
    test = _test(ground, fact, rng)
    if test is None or test.relation != "is":
        yield from () if test is None else (test,)
        return
    choices = entity_of(ground.graph, fact.place).fields[fact.place.field].enum or ()
    for item in choices:
        if item != fact.value and isinstance(item, str) and item.isalpha():
            yield replace(test, false=item)


def _is_worked_on(walk: Walk, fact: Known) -> bool:
    """Return whether a write of the walk changes the row itself: then its state is a matter of what
    is asked for, and no reason.
    """
    return any(
        change.cause.startswith("effect:")
        and (change.service, change.table, change.row_id)
        == (fact.row.service, fact.row.table, fact.row.row_id)
        for step in walk.steps
        for change in step.changes
    )


def _conditional(
    names: Names,
    fact: Known,
    test: _Test,
    *,
    holds: bool,
    step: str = "",
    otherwise: Forbidden | None = None,
) -> Conditional:
    return Conditional(
        name=names.next(),
        fact=fact,
        relation=test.relation,
        value=test.value(holds=holds),
        holds=holds,
        step=step,
        otherwise=otherwise,
    )


def _bears(test: _Test, fact: Known, shape: ToolShape, *, holds: bool) -> bool:
    """Return whether what a condition says is a reason for a write."""
    said = test.value(holds=holds) if test.relation == "is" else test.relation
    return purposes().bears(fact.place, said, shape)


def _may_be_forbidden(walk: Walk, shape: ToolShape, fact: Known, purpose: str) -> bool:
    """Return whether a write to a row may well be forbidden beside what the walk does to it."""
    done = [
        step.shape
        for step in walk.steps
        if step.shape.is_write and any(item.source == fact for item in step.arguments)
    ]
    others = [tool_name(item) for item in done]
    return any(purposes().may_forbid(item, shape, purpose) for item in done) and not (
        purposes().is_apart(shape, others)
    )


def with_date(ground: Ground, walk: Walk, rng: random.Random) -> Walk | None:
    """Return the walk with one stated time said relative to the clock, or None.

    The time becomes one that people say so, soon after the clock; the walk is not executed again,
    since gold is.
    """
    found = [
        item
        for step in walk.steps
        for item in step.arguments
        if step.shape.is_write and item.source is None and TIMES.fullmatch(str(item.value))
    ]
    if not found:
        return None
    chosen = rng.choice(found)
    days = rng.choice(known_days())
    words = rng.choice(list(words_for(days, str(chosen.value))))
    moment = moment_at(words, ground.world.initial.now)
    steps = tuple(
        replace(
            step,
            arguments=tuple(
                replace(item, value=moment, words=words)
                if item.value == chosen.value and item.source is None
                else item
                for item in step.arguments
            ),
        )
        for step in walk.steps
    )
    return replace(walk, steps=steps, clauses=replace(walk.clauses, has_date=True))


def spoken(walk: Walk) -> Walk:
    """Return the walk with every time that its request states said by its date."""
    steps = tuple(replace(step, arguments=_spoken(step.arguments)) for step in walk.steps)
    return replace(walk, steps=steps, clauses=walk.clauses.with_calls(_spoken))


def _spoken(arguments: Arguments) -> Arguments:
    found = []
    for item in arguments:
        is_time = item.source is None and not item.words and TIMES.fullmatch(str(item.value))
        words = date_words(str(item.value)) if is_time else ""
        is_exact = bool(words) and moment_on(words) == item.value
        found.append(replace(item, words=words) if is_exact else item)
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    relation: Literal["is", "above", "below"]
    true: str | int
    false: str | int

    def value(self, *, holds: bool) -> str | int:
        return self.true if holds else self.false


def _test(ground: Ground, fact: Known, rng: random.Random) -> _Test | None:
    """Return what a value can be compared with, so that it holds, and so that it does not."""
    field = entity_of(ground.graph, fact.place).fields[fact.place.field]
    if field.enum:
        others = [
            item
            for item in field.enum
            if item != fact.value and isinstance(item, str) and item.isalpha()
        ]
        if not others or not str(fact.value).isalpha():
            return None
        return _Test(relation="is", true=str(fact.value), false=rng.choice(others))
    if type(fact.value) is not int or fact.value < 2 * _STEP:
        return None
    step = _STEP if fact.value < 20 * _STEP else 10 * _STEP
    low, high = (fact.value - 1) // step * step, (fact.value // step + 1) * step
    if rng.random() < 0.5:
        return _Test(relation="above", true=low, false=high)
    return _Test(relation="below", true=high, false=low)


_STEP = 10
"""Amounts are compared with a multiple of this."""


def _deciding(ground: Ground, walk: Walk) -> Iterator[Known]:
    """Yield choices and amounts that reads showed and that nothing in the walk changes."""
    touched = _touched(walk)
    seen = set()
    for step in walk.steps:
        for fact in step.known if not step.shape.is_write else ():
            if not step.names_by_itself(fact):
                continue
            key = (fact.row.service, fact.row.table, fact.row.row_id)
            if fact.place.field in touched.get(key, ()) or (key, fact.place.field) in seen:
                continue
            body = entity_of(ground.graph, fact.place).fields[fact.place.field]
            is_amount = fact.place.field in phrases().stock("summed")
            if body.enum or (is_amount and not body.link):
                seen.add((key, fact.place.field))
                yield fact


def _is_about(other: Forbidden, fact: Known) -> bool:
    """Return whether a call is about the row that a value decides by, and does not give it that
    value: nobody says `if it is closed, close it`.
    """
    return other.fact.row == fact.row and not _gives_it(other, fact)


def _gives_it(other: Forbidden, fact: Known) -> bool:
    """Return whether a call sets the field that a value is of."""
    return any(
        effect.table == fact.place.table and fact.place.field in effect.fields
        for effect in other.shape.blueprint.effects.values()
    )


def _can_depend(walk: Walk, step: WalkStep, fact: Known) -> bool:
    """Return whether a write can be made to depend on a value: it comes after, alone, and is free.

    What the turn needs stays: without it nothing that follows would be true.
    """
    group = walk.clauses.group
    in_group = group is not None and step.name in group.steps
    return (
        step.shape.is_write
        and step.name > fact.step
        and not in_group
        and walk.clauses.of_step(step.name) is None
        and all(fact.row != item.row for item in step.known)
        and any(item.source is not None and item.source.row == fact.row for item in step.arguments)
        and not any(change.cause.startswith("reaction:") for change in step.changes)
    )


class _Search:
    def __init__(
        self, ground: Ground, walk: Walk, rng: random.Random, *, is_sensible: bool = False
    ) -> None:
        self._is_sensible = is_sensible
        self._ground, self._walk, self._rng = ground, walk, rng
        self._filler = Filler(ground.world, ground.graph, rng)
        self._touched = _touched(walk)
        self._known = tuple(fact for fact in found_out(walk.steps) if self._is_settled(fact))
        self._left = _TRIES

    def near(self) -> Iterator[tuple[ToolShape, Known]]:
        """Yield writes that the walk does not make, with a row that it writes to or reads."""
        walk = self._walk
        used = {step.shape.name for step in walk.steps}
        used |= {item.shape.name for item in walk.clauses.forbidden()}
        services = set(walk.services)
        found: list[tuple[float, int, ToolShape, Known]] = []
        group = walk.clauses.group
        for step in walk.steps:
            for item in step.arguments:
                if item.source is None or item.template or not item.parameter.names_row:
                    continue
                if group is not None and item.source.step == group.part.step:
                    continue  # words for one of several rows there are none
                if not self._is_settled(item.source):
                    continue
                for shape in self._ground.takers.get(item.source.means, ()):
                    if shape.service in services and shape.name not in used:
                        rank = 0.0 if step.shape.is_write else 1.0
                        found.append((rank + self._rng.random(), len(found), shape, item.source))
        for _rank, _number, shape, fact in sorted(found, key=lambda item: item[:2]):
            yield shape, fact

    def _is_settled(self, fact: Known) -> bool:
        """Return whether the walk leaves a value as it is: `whoever owns it by then` is no words
        for somebody in a branch that is not taken.
        """
        key = (fact.row.service, fact.row.table, fact.row.row_id)
        return fact.place.field not in self._touched.get(key, ())

    def forbidden(self, shape: ToolShape, fact: Known, names: Names) -> Forbidden | None:
        """Return the call, or None when it is refused, or does what the walk does."""
        if self._left <= 0:
            return None
        self._left -= 1
        drawn = self._filler.drawn(shape, self._known, must=(fact,))
        if drawn is None or any(item.template for item in drawn):
            return None
        outcome, _known = self._ground.executed(self._walk.state, shape, as_object(drawn), "")
        if not outcome.envelope["ok"] or not self._is_new(outcome.changes):
            return None
        made = WalkStep(
            name="", shape=shape, arguments=drawn, data=None, changes=outcome.changes, known=()
        )
        if self._is_sensible and gives_anew(self._walk.steps, made):
            return None
        return Forbidden(name=names.next(), shape=shape, arguments=drawn, fact=fact)

    def _is_new(self, changes: tuple[RowChange, ...]) -> bool:
        """Return whether something changes that the walk leaves as it is."""
        for change in changes:
            if not change.cause.startswith("effect:"):
                continue
            key = (change.service, change.table, change.row_id)
            if change.before is None:
                return True
            entity = self._ground.world.services[change.service].blueprint.entities[change.table]
            fields = {name for name in changed_fields(change) if not entity.fields[name].generated}
            if fields and not fields & self._touched.get(key, set()):
                return True
        return False


def _touched(walk: Walk) -> dict[tuple[str, str, str], set[str]]:
    """Return the fields, by row, that the walk changes."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for step in walk.steps:
        for change in step.changes:
            key = (change.service, change.table, change.row_id)
            found.setdefault(key, set()).update(changed_fields(change))
    return found


def changed_fields(change: RowChange) -> set[str]:
    """Return the fields of a row that a change gives another value."""
    before = FrozenDict() if change.before is None else change.before
    after = FrozenDict() if change.after is None else change.after
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}
