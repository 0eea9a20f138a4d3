"""Walks: chains of calls through K services that turn on a reaction, found by executing.

Owns the search. Which services a walk visits is not drawn before it: it goes where its values lead,
until it has been in K of them, and from then on stays among these. First a row is read, then a
write in another service makes a reaction change it, then it is read again, and the new value is
used. A walk never calls the same service twice in a row, every call after the first needs something
that only an earlier answer gave, and every read gives something that a later call needs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from components.records.blueprint import FieldType, Operation
from components.task.anchors import Anchor
from components.task.beginnings import ways_to
from components.task.clauses import LEAST_LENGTH
from components.task.filling import Arguments, Filler, is_grounded
from components.task.foreseen import is_outdated, is_told
from components.task.graph import ToolShape, is_internal
from components.task.ground import Ground
from components.task.known import Known, RowKey, other_names
from components.task.provenance import shows
from components.task.purposes import purposes
from components.task.reads import ReadCall
from components.task.sensible import MOST_HOPS, Sense, hops_of, hops_to
from components.task.steps import Node, Phase, Walk, WalkStep, can_be_had, executed_step

_BUDGET = 140
"""Calls executed for one walk before it is given up."""
_BUDGET_OF_PURPOSE = 30
"""The same where all has to serve one purpose: another anchor helps more than another way."""
LONGEST = 8
"""Calls from which a walk may go one link further."""
_BREADTH = 10
"""Calls tried at one place of a walk, of each sort."""
_NEW = 0.7
"""How much a service that was not visited yet is wanted, the more the fewer calls are left."""
_FITTING = 3
"""Writes, and reads beside the turn, tried at one place where all has to serve one purpose."""
_PICKS = 0.35
"""Share of searches that look for rows to be picked of a list, before others."""
_PICKS_OF_PURPOSE = 0.6
"""The same where all has to serve one purpose."""
_PICKED = 0.8
"""How much they are wanted then, and unwanted by the other searches."""
_WANTED = 3.0
"""How much they are wanted where a draft looks for them."""
_TELLERS = 8
"""Writes tried at one place of a walk that could state a value in a text."""


_BESIDE = (Phase.CHANGED, Phase.USED)
"""When a walk may read what its turn does not need."""
_ENDING = (Operation.DELETE, Operation.TRANSITION)
_Move = tuple[ToolShape, Arguments, ReadCall | None, Phase]
"""Call, its arguments, the read that it is, and the phase that it leads to."""


class WalkSearch:
    """Searches for one walk through one anchor."""

    def __init__(
        self, ground: Ground, k: int, length: int, rng: random.Random, purpose: str = ""
    ) -> None:
        """Args:
        ground: all services, explored.
        k: K.
        length: L.
        rng: every choice.
        purpose: what all writes must serve; empty: they need have nothing in common.
        """
        self._purpose = purpose
        self._hops = MOST_HOPS + (length >= LONGEST)
        self._sense = Sense(ground, purpose)
        self._ground, self._graph = ground, ground.graph
        self._k, self._length, self._rng = k, length, rng
        self.executed = 0
        self._filler = Filler(ground.world, ground.graph, rng)
        self._wanted = _PICKED
        self._picks = rng.random() < (_PICKS_OF_PURPOSE if purpose else _PICKS)

    def find(self, anchor: Anchor) -> Walk | None:
        """Return a walk through the anchor, or None when the budget is spent or there is none."""
        self._anchor = anchor
        self._left = _BUDGET_OF_PURPOSE if self._purpose else _BUDGET
        self._begin, self._relevant = ways_to(self._ground, anchor)
        if not self._begin:
            return None
        return self._extend(Node(steps=(), state=self._ground.world.initial, phase=Phase.START))

    def _extend(self, node: Node) -> Walk | None:
        left = self._length - len(node.steps) - bool(node.due)
        due = self._due(node)
        if len(node.services | due) > self._k:
            return None
        if left < max(self._k - len(node.services), Phase.READ_AGAIN - node.phase):
            return None
        if left <= 0 and not node.due:
            return self._finished(node) if left == 0 else None
        for shape, arguments, call, phase in self._moves(node, due, left):
            if self._left <= 0:
                return None
            self._left -= 1
            self.executed += 1
            after = self._stepped(node, shape, arguments, call, phase)
            found = None if after is None else self._extend(after)
            if found is not None:
                return found
        return None

    def _due(self, node: Node) -> frozenset[str]:
        """Return the services that the turn still has to visit."""
        turn = self._anchor.trigger.service, self._anchor.row.service
        return frozenset(turn) - node.services

    def _moves(self, node: Node, due: frozenset[str], left: int) -> Iterator[_Move]:
        """Yield the calls that could come next, the most wanted first.

        Args:
            node: where the walk is.
            due: services that it has to visit yet.
            left: calls that it has left.
        """
        last = node.steps[-1].shape.service if node.steps else ""
        known = node.known
        missing = self._k - len(node.services)
        has_room = missing > len(due)
        allowed = None if has_room else node.services | due
        for moves in (self._turning(node, known), self._filling(node, known, allowed, left)):
            ranked = []
            for number, (rank, move) in enumerate(moves):
                service = move[0].service
                is_new = service not in node.services
                if service == last or (allowed is not None and service not in allowed):
                    continue
                if (left == missing and not is_new) or (node.steps and not is_grounded(move[1])):
                    continue
                if self._purpose and hops_to(node.hops, move[1]) > self._hops:
                    continue
                wanted = _NEW * missing / left if is_new else 0.0
                ranked.append((rank - wanted + self._rng.random(), number, move))
            for _rank, _number, move in sorted(ranked, key=lambda item: item[:2])[:_BREADTH]:
                yield move

    def _turning(self, node: Node, known: Sequence[Known]) -> Iterator[tuple[float, _Move]]:
        anchor = self._anchor
        if node.phase in (Phase.START, Phase.READ):
            yield from self._leading_reads(node, known)
        if node.phase is Phase.READ:
            filled = self._filler.given(anchor.trigger, anchor.arguments, known)
            if filled is not None:
                yield 0.0, (anchor.trigger, filled, None, Phase.CHANGED)
        if node.phase is Phase.CHANGED:
            for call in anchor.again:
                filled = self._filler.given(call.shape, call.arguments, known)
                if filled is not None:
                    yield 0.0, (call.shape, filled, call, Phase.READ_AGAIN)
        if node.phase is Phase.READ_AGAIN:
            yield from self._uses(node, known)

    def _leading_reads(self, node: Node, known: Sequence[Known]) -> Iterator[tuple[float, _Move]]:
        last = node.steps[-1].shape.service if node.steps else ""
        have = node.have
        for distance, call in self._relevant if node.steps else self._begin:
            if node.steps and have.isdisjoint(call.takes):
                continue
            if call.shape.service == last or not call.needs <= have:
                continue
            if any(step.shape is call.shape and _same(step, call) for step in node.steps):
                continue
            filled = self._filler.given(call.shape, call.arguments, known)
            if filled is not None:
                is_first = node.phase is Phase.START and call in self._anchor.first_reads
                phase = Phase.READ if is_first else node.phase
                rank = 0.8 * distance + self._picked(call)
                yield rank, (call.shape, filled, call, phase)

    def wants_pick(self) -> None:
        """Want rows that are picked of a list before all others."""
        self._picks, self._wanted = True, _WANTED

    def _picked(self, call: ReadCall) -> float:
        """Return what a read's rank gains or loses for a row that is picked of a list."""
        if call.pick is None:
            return 0.0
        return -self._wanted if self._picks else _PICKED

    def _uses(self, node: Node, known: Sequence[Known]) -> Iterator[tuple[float, _Move]]:
        assert node.again is not None
        others = self._sense.others(node.steps, self._anchor)
        for shape in self._writes(node.focus):
            if shape.service != node.again.place.service and self._sense.makes_sense(shape, others):
                filled = self._filler.drawn(shape, known, must=node.focus)
                if filled is not None and self._sense.is_fit(node, shape, filled):
                    is_typed = all(not item.template for item in filled)
                    yield (-1.0 if is_typed else 0.3), (shape, filled, None, Phase.USED)
        if node.focus == (node.again,):
            for call in self._takers(node.again):
                filled = self._filler.given(call.shape, call.arguments, known)
                if filled is not None and any(item.source == node.again for item in filled):
                    yield -0.5, (call.shape, filled, call, Phase.READ_AGAIN)

    def _takers(self, fact: Known) -> Iterator[ReadCall]:
        yield from self._ground.index.get((fact.means, fact.value), ())

    def _writes(self, facts: Sequence[Known]) -> Iterator[ToolShape]:
        """Yield the writes that can use one of these values, those that tell it last."""
        found: dict[int, ToolShape] = {}
        for means in dict.fromkeys(fact.means for fact in facts):
            found.update({id(shape): shape for shape in self._ground.takers.get(means, ())})
        yield from found.values()
        tellers = [shape for shape in self._ground.tellers if id(shape) not in found]
        yield from self._rng.sample(tellers, min(_TELLERS, len(tellers)))

    def _filling(
        self, node: Node, known: Sequence[Known], allowed: frozenset[str] | None, left: int
    ) -> Iterator[tuple[float, _Move]]:
        """Yield writes that use what is known and that the turn could do without."""
        if not node.steps or node.phase is Phase.START:
            return
        last = node.steps[-1].shape.service
        used = {step.shape.name for step in node.steps} | {self._anchor.trigger.name}
        usable = [item for item in known if item not in node.focus]
        others = self._sense.others(node.steps, self._anchor)
        shapes = (
            shape
            for shape in self._writes(node.due or usable)
            if (allowed is None or shape.service in allowed)
            and shape.service != last
            and shape.name not in used
            and self._sense.makes_sense(shape, others)
        )
        num = 0
        for shape in self._some_first(node, shapes, left):
            filled = self._filler.drawn(shape, usable, must=node.due)
            if filled is not None and self._sense.is_fit(node, shape, filled):
                yield 0.0, (shape, filled, None, node.phase)
                num += 1
                if self._purpose and num == _FITTING:
                    break
        if not node.due and node.phase in _BESIDE:
            yield from self._side_reads(node, usable, allowed)

    def _some_first(self, node: Node, found: Iterator[ToolShape], left: int) -> Iterator[ToolShape]:
        """Yield writes in the order in which they are tried: those of services that are wanted tend
        to come first. Without a purpose all are tried, one by one.
        """
        if not self._purpose:
            yield from found
            return
        shapes = list(found)
        missing = self._k - len(node.services)
        ranks = [
            self._rng.random()
            - (_NEW * missing / left if shape.service not in node.services else 0)
            for shape in shapes
        ]
        order = sorted(range(len(shapes)), key=lambda number: ranks[number])
        yield from (
            shapes[number]
            for number in order
            if left > missing or shapes[number].service not in node.services
        )

    def _side_reads(
        self, node: Node, known: Sequence[Known], allowed: frozenset[str] | None
    ) -> Iterator[tuple[float, _Move]]:
        """Yield reads of rows that known values name; what they show has to be used then."""
        taken = {
            (item.parameter.means, item.value) for step in node.steps for item in step.arguments
        }
        num = 0
        for fact in self._rng.sample(known, len(known)) if self._purpose else known:
            if (fact.means, fact.value) in taken or (self._purpose and num >= _FITTING):
                continue
            for call in self._ground.index.get((fact.means, fact.value), ()):
                service = call.shape.service
                is_open = allowed is None or service in allowed
                if is_open and len(call.arguments) == 1 and service not in node.services:
                    filled = self._filler.given(call.shape, call.arguments, known)
                    if filled is not None:
                        num += 1
                        yield 0.6 + self._picked(call), (call.shape, filled, call, node.phase)

    def _stepped(
        self,
        node: Node,
        shape: ToolShape,
        arguments: Arguments,
        call: ReadCall | None,
        phase: Phase,
    ) -> Node | None:
        """Execute a move and return where it leads, or None when it leads nowhere."""
        name = f"s{len(node.steps) + 1:02d}"
        pick = None if call is None else call.pick
        made = executed_step(self._ground, node.state, shape, arguments, name, pick)
        if made is None or (call is None and not made[0].changes):
            return None
        step, state = made
        if node.undoes(step) or self._is_pointless(node, step) or self._is_refused(node, step):
            return None
        first, again, focus = node.first, node.again, node.focus
        seen = next(
            (
                fact
                for fact in step.known
                if (fact.row, fact.place.field) == (self._anchor.row, self._anchor.field)
            ),
            None,
        )
        if phase is Phase.READ and node.phase is Phase.START:
            first = seen
        if phase is Phase.READ_AGAIN and node.phase is Phase.CHANGED:
            again = seen
            if seen is None or not self._counts(node, step, seen):
                return None
            focus = (seen,)
        elif phase is Phase.READ_AGAIN and call is not None:
            focus = tuple(
                fact
                for fact in step.known
                if fact.value is not None and fact.means != arguments[0].parameter.means
            )
        if phase is not Phase.START and first is None:
            return None
        due = () if any(item.source in node.due for item in arguments) else node.due
        if call is not None and phase is node.phase and phase in _BESIDE:
            have = node.have
            due = tuple(
                fact
                for fact in step.known
                if fact.value is not None and (fact.means, fact.value) not in have
            )
            if not due:
                return None
        return Node(
            steps=(*node.steps, step),
            state=state,
            phase=phase,
            first=first,
            again=again,
            focus=focus,
            due=due,
            hops={**node.hops, step.name: hops_of(node.hops, step)} if self._purpose else {},
        )

    def _is_pointless(self, node: Node, step: WalkStep) -> bool:
        """Return whether nobody would ask for a write after those before: it takes away what a
        compiled service has just made, or, in a longer walk, goes on with what is done with.
        """
        operation, service = step.shape.blueprint.operation, step.shape.service
        made = {
            (change.service, change.row_id)
            for earlier in node.steps
            for change in earlier.changes
            if change.before is None
        }
        if (
            self._graph.is_compiled(service)
            and operation in _ENDING
            and any((change.service, change.row_id) in made for change in step.changes)
        ):
            return True
        done = {
            row
            for earlier in node.steps
            if earlier.shape.blueprint.operation in _ENDING
            for row in _own_rows(earlier)
        }
        named = {
            item.source.row
            for item in step.arguments
            if item.source is not None and item.source.place == item.source.means
        }
        if step.shape.is_write and self._sense.is_senseless(node.steps, step):
            return True
        is_about_done = bool(done & (named | _own_rows(step)))
        return self._length >= LEAST_LENGTH and step.shape.is_write and is_about_done

    def _is_refused(self, node: Node, step: WalkStep) -> bool:
        """Return whether a longer walk with this step would be refused by the gates."""
        if not self._purpose and self._length < LEAST_LENGTH:
            return False
        sources = (item.source for item in step.arguments if item.source is not None)
        return is_told(self._graph, node.steps, step) or (
            step.shape.is_write and is_outdated(node.steps, sources)
        )

    def _counts(self, node: Node, step: WalkStep, again: Known) -> bool:
        """Return whether the value is new and can be had in no other way."""
        assert node.first is not None
        if again.value is None or again.value == node.first.value:
            return False
        names = other_names(self._graph, self._ground.world.initial, again)
        answers = [item.data for item in node.steps]
        return not can_be_had(again.value, node.first.value, answers, names) and not any(
            shows(item.value, text)
            for earlier in (*node.steps, step)
            for item in earlier.arguments
            for text in (again.value, *names)
            if item.source is None and isinstance(item.value, str)
        )

    def _finished(self, node: Node) -> Walk | None:
        if node.phase < Phase.READ_AGAIN or node.first is None or node.again is None:
            return None
        if node.phase is Phase.USED and not self._is_used_alone(node):
            return None
        answer: dict[str, Known] = {}
        if node.phase is Phase.READ_AGAIN:
            stated = {
                str(item.value).lower()
                for step in node.steps
                for item in step.arguments
                if item.source is None
            }
            facts = [
                item
                for item in node.focus
                if self._is_answerable(item)
                # One of few values could be guessed.
                and not self._is_choice(item)
                and str(item.value).lower() not in stated
            ]
            if self._purpose:
                facts = [item for item in facts if not is_outdated(node.steps, [item])]
            if not facts:
                return None
            # A name is what people ask for.
            fact = min(facts, key=lambda item: item.path[-1] != "name")
            answer[fact.place.field] = fact
        used = {item.source.step for step in node.steps for item in step.arguments if item.source}
        used |= {fact.step for fact in answer.values()}
        if node.first.step not in used and self._is_answerable(node.first):
            if self._purpose and not purposes().tells_old(node.first.place):
                return None
            answer[f"{node.first.place.field}_before"] = node.first
            # Nobody asks for the old value alone.
            if self._purpose and len(answer) == 1 and self._is_answerable(node.again):
                answer[node.again.place.field] = node.again
            used.add(node.first.step)
        idle = [
            step.name
            for step in node.steps
            if not step.shape.is_write and step.name not in used and step.name != node.first.step
        ]
        if idle:
            return None
        return Walk(
            anchor=self._anchor,
            steps=node.steps,
            first=node.first,
            again=node.again,
            answer=answer,
            state=node.state,
            purpose=self._purpose,
        )

    def _is_used_alone(self, node: Node) -> bool:
        """Return whether a value in focus fills an argument by itself; a text could hold more."""
        return any(
            item.source in node.focus and not item.template
            for step in node.steps
            for item in step.arguments
        )

    def _is_choice(self, fact: Known) -> bool:
        entity = self._graph.blueprints[fact.place.service].entities[fact.place.table]
        return entity.fields[fact.place.field].enum is not None

    def _is_answerable(self, fact: Known) -> bool:
        entity = self._graph.blueprints[fact.place.service].entities[fact.place.table]
        field = entity.fields[fact.place.field]
        return (
            fact.value is not None
            and isinstance(fact.value, (str, int, float))
            and not (field.generated and field.type is not FieldType.STRING)
            and not (field.free_text and fact.place.field != entity.title_field)
            and not is_internal(self._graph.blueprints, fact.place)
        )


def _same(step: WalkStep, call: ReadCall) -> bool:
    return {item.parameter.pointer: item.value for item in step.arguments} == dict(call.arguments)


def _own_rows(step: WalkStep) -> set[RowKey]:
    """Return the rows that a step changes itself."""
    return {
        RowKey(change.service, change.table, change.row_id)
        for change in step.changes
        if change.cause.startswith("effect:")
    }
