"""Lines of play near gold: what must fail, what must pass. Drawn mechanically, in a fixed order.

Owns how each kind of mutant is made. It decides nothing: `certify` scores every line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from components.environment.state import WorldState, rows_of, state_hash
from components.environment.world import World
from components.evaluator.constraints import ArgumentConstraint, Constraint
from components.evaluator.equivalence import values_match
from components.records.frozen import FrozenDict, JsonObject
from components.records.rubric import Equivalence
from components.records.task import FromExpression, FromRule, Task
from components.task.clause_gates import broken_lines
from components.task.gates import known_of, parameter_of
from components.task.gold import Call, Gold, derived_line, play, tried
from components.task.graph import Parameter, Role, ToolGraph
from components.task.pair_gates import pair_lines
from components.task.provenance import at_path, concrete, leaves, observations_of, turned
from components.task.rules import OUTCOMES
from components.task.user_gates import user_lines
from components.task.wanderer import random_calls

_MAX_VALUES = 3
"""Other values tried for one argument."""
_MAX_ORDERS = 3
_TIMES = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One line of play, finished."""

    kind: str
    target: str
    should_pass: bool
    final: WorldState
    answer: JsonObject | None


class Mutants:
    """Makes the mutants of one task."""

    def __init__(
        self,
        world: World,
        task: Task,
        graph: ToolGraph,
        gold: Gold,
        constraints: Sequence[ArgumentConstraint],
        rules: Equivalence,
    ) -> None:
        """Args: as certified; constraints: what of gold's arguments counts; rules: equality."""
        self._world, self._task, self._graph, self._gold = world, task, graph, gold
        self._constraints, self._rules = constraints, rules

    def all(self) -> Iterator[Mutant]:
        """Yield every mutant and variant, in a fixed order."""
        yield self._mutant("gold", "", True, self._gold.final, self._gold.answer)
        yield self._mutant("null", "", False, self._gold.initial, None)
        yield self._mutant("null", "answer", False, self._gold.initial, self._gold.answer)
        yield from self._omitted()
        for constraint in self._constraints:
            yield from self._changed(constraint)
        yield from self._stale()
        yield from self._other_picks()
        for kind, target, final, answer in broken_lines(self._world, self._task, self._gold):
            yield self._mutant(kind, target, False, final, answer)
        for kind, target, final, said in pair_lines(self._world, self._task, self._gold):
            yield self._mutant(kind, target, False, final, said)
        for kind, target, final, said in user_lines(self._world, self._task, self._gold):
            yield self._mutant(kind, target, False, final, said)
        yield from self._collateral()
        yield from self._answers()
        yield from self._more_reads()
        yield from self._orders()
        yield self._random()

    def _mutant(
        self, kind: str, target: str, should_pass: bool, final: WorldState, answer: Any
    ) -> Mutant:
        return Mutant(kind=kind, target=target, should_pass=should_pass, final=final, answer=answer)

    def _failing(self, kind: str, target: str, final: WorldState) -> Mutant:
        return self._mutant(kind, target, False, final, self._gold.answer)

    def _omitted(self) -> Iterator[Mutant]:
        for number, name in enumerate(self._gold.names):
            if self._survives(number):
                calls = self._gold.calls(number + 1)
                final = play(self._world, self._gold.states[number], calls)
                yield self._failing("omit_write", name, final)

    def _survives(self, number: int) -> bool:
        """Return whether something that a step itself changed is still there at the end."""
        for change in self._gold.records[self._gold.names[number]].changes:
            if not change.cause.startswith("effect:"):
                continue
            end = self._gold.final.table(change.service, change.table).values_of(change.row_id)
            if change.after is None or end is None:
                if change.after is end is None:
                    return True
                continue
            entity = self._world.services[change.service].blueprint.entities[change.table]
            before = FrozenDict[str, Any]() if change.before is None else change.before
            for field, value in change.after.items():
                is_new = change.before is None or before.get(field) != value
                if is_new and end[field] == value and not entity.fields[field].generated:
                    return True
        return False

    def _changed(self, constraint: ArgumentConstraint) -> Iterator[Mutant]:
        step, pointer = constraint.step, constraint.pointer
        record = self._gold.records[step]
        shape = self._graph.tools[record.service, record.tool]
        parameter = parameter_of(shape, pointer)
        if not shape.is_write or parameter is None:
            return
        target = f"{step}{pointer}"
        value = _at(record.arguments, pointer)
        if constraint.constraint is Constraint.FACTS:
            yield from self._texts(step, pointer, target, str(value), constraint.facts)
            return
        if constraint.constraint is Constraint.NONE:
            for other in self._others(parameter, value):
                final = self._with(step, pointer, other)
                if final is not None:
                    yield self._mutant("free_value", target, True, final, self._gold.answer)
                    return
            return
        kind = "wrong_record" if parameter.role is Role.SELECTS else "change_value"
        refused: WorldState | None = None
        made = 0
        for other in self._others(parameter, value):
            final = self._with(step, pointer, other)
            if final is not None:
                made += 1
                yield self._failing(kind, f"{target} = {other}", final)
                if made == _MAX_VALUES:
                    return
            elif refused is None:
                refused = self._with(step, pointer, other, must_be_accepted=False)
        if not made and refused is not None:
            yield self._failing(f"{kind}_refused", target, refused)

    def _texts(
        self, step: str, pointer: str, target: str, text: str, facts: Sequence[str]
    ) -> Iterator[Mutant]:
        for fact in facts:
            final = self._with(step, pointer, text.replace(fact, _altered(fact)))
            if final is not None:
                yield self._failing("change_fact", f"{target} without {fact!r}", final)
        source = self._task.gold[step].arguments[pointer]
        wordings = [f"Hello. {text} Kind regards", f"{text} Thank you"]
        if isinstance(source, FromExpression):
            wordings = [" and ".join(facts), *wordings]
        for wording in wordings:
            final = self._with(step, pointer, wording)
            if final is not None:
                yield self._mutant("free_text", target, True, final, self._gold.answer)
                return

    def _with(
        self, step: str, pointer: str, value: Any, *, must_be_accepted: bool = True
    ) -> WorldState | None:
        """Return the final state with one argument changed; None for a call refused."""
        number = self._gold.names.index(step)
        record = self._gold.records[step]
        changed = _put(record.arguments, pointer, value)
        call = Call(record.service, record.tool, changed)
        done = tried(self._world, self._gold.states[number], call)
        if done is None and must_be_accepted:
            return None
        state = self._gold.states[number] if done is None else done[0]
        return play(self._world, state, self._gold.calls(number + 1))

    def _others(self, parameter: Parameter, value: Any) -> Iterator[Any]:
        """Yield values outside the equivalence class of `value`, the likeliest first."""
        yield from (
            other
            for other in self._candidates(parameter, value)
            if not values_match(value, other, self._rules, str(parameter.place or ""))
        )

    def _candidates(self, parameter: Parameter, value: Any) -> Iterator[Any]:
        choices = parameter.schema.get("enum")
        if choices:
            yield from choices
            return
        if isinstance(value, bool):
            yield not value
        elif isinstance(value, (int, float)):
            yield from (value + 1, value * 2, value - 1)
        elif isinstance(value, str) and _TIMES.fullmatch(value):
            moment = datetime.strptime(value, _TIME_FORMAT)
            for days in (1, 2, -1):
                yield (moment + timedelta(days=days)).strftime(_TIME_FORMAT)
        elif isinstance(value, str):
            place = parameter.place
            if place is not None and parameter.names_row and place.service in self._world.services:
                rows = rows_of(self._gold.initial, place.service, place.table)
                for row in rows.values():
                    if isinstance(row.get(place.field), str):
                        yield row[place.field]
            yield _altered(value)

    def _stale(self) -> Iterator[Mutant]:
        """Yield gold played with the first reading in the place of the second."""
        for name in self._gold.names:
            earlier = self._task.gold[name].revisit_of
            if earlier is None:
                continue
            first = {
                (fact.row, fact.place.field): fact
                for fact in known_of(self._task, self._graph, self._gold, earlier)
            }
            data = self._gold.observed[name]
            for fact in known_of(self._task, self._graph, self._gold, name):
                old = first.get((fact.row, fact.place.field))
                if old is not None and old.value != fact.value:
                    data = _put_at(data, fact.path, old.value)
            line = derived_line(self._world, self._task, self._gold.names, {name: data})
            yield self._mutant("stale_value", name, False, line.final, line.answer)

    def _other_picks(self) -> Iterator[Mutant]:
        """Yield gold played with the row at the other end for each row that is picked of a list."""
        for label, referent in sorted(self._task.referents.items()):
            if referent.pick is None:
                continue
            line = derived_line(self._world, turned(self._task, referent.step), self._gold.names)
            if line.answer is not None:
                yield self._mutant("wrong_pick", label, False, line.final, line.answer)

    def _collateral(self) -> Iterator[Mutant]:
        """Yield gold with one of its writes made on another record as well."""
        for name in self._gold.names:
            record = self._gold.records[name]
            shape = self._graph.tools[record.service, record.tool]
            if not shape.is_write:
                continue
            extra = self._extra_write(shape.parameters, record.service, record.tool, name)
            if extra is not None:
                yield self._failing("collateral", name, extra)

    def _extra_write(
        self, parameters: Sequence[Parameter], service: str, tool: str, name: str
    ) -> WorldState | None:
        arguments = self._gold.records[name].arguments
        for parameter in parameters:
            found, value = at_path(arguments, _path(parameter.pointer))
            if not found:
                continue
            for other in self._others(parameter, value):
                call = Call(service, tool, _put(arguments, parameter.pointer, other))
                done = tried(self._world, self._gold.final, call)
                if done is not None and done[1]:
                    return done[0]
        return None

    def _answers(self) -> Iterator[Mutant]:
        gold = self._gold.answer
        if not gold:
            return
        yield self._mutant("no_answer", "answer", False, self._gold.final, None)
        for field, value in sorted(gold.items()):
            others = list(self._seen_like(field, value))[:_MAX_VALUES]
            wrong: list[tuple[str, Any]] = [("wrong_answer", other) for other in others]
            wrong.append(("shotgun_answer", (value, *others)))
            wrong.append(("shotgun_answer", ", ".join(map(str, [value, *others]))))
            for kind, other in wrong:
                answer = FrozenDict({**gold, field: other})
                yield self._mutant(kind, f"{field} = {other}", False, self._gold.final, answer)
            rest = FrozenDict({key: item for key, item in gold.items() if key != field})
            yield self._mutant("missing_answer", field, False, self._gold.final, rest)
            both = FrozenDict({**gold, f"{field}_or": others[0]})
            yield self._mutant("contradicting_answer", field, False, self._gold.final, both)

    def _seen_like(self, field: str, value: Any) -> Iterator[Any]:
        """Yield other values of the answer's type: such as gold saw, then made up."""
        source = self._task.answer[field]
        if isinstance(source, FromRule):
            yield from (other for other in OUTCOMES if other != value)
            return
        for rows in observations_of(source):
            place = concrete(rows, self._gold.observed[rows.step])
            for step in self._gold.names:
                for path, leaf in leaves(self._gold.observed[step]):
                    is_like = path[-1:] == place.path[-1:] and type(leaf) is type(value)
                    if is_like and not values_match(value, leaf, self._rules, f"answer.{field}"):
                        yield leaf
        yield value + 1 if isinstance(value, (int, float)) else _altered(str(value))

    def _more_reads(self) -> Iterator[Mutant]:
        calls: list[Call] = []
        for name, call in zip(self._gold.names, self._gold.calls(), strict=True):
            calls.append(call)
            if not self._graph.tools[call.service, call.tool].is_write:
                calls += [call] * (1 + (name == self._gold.names[0]))
        final = play(self._world, self._gold.initial, calls)
        yield self._mutant("more_reads", "", True, final, self._gold.answer)

    def _random(self) -> Mutant:
        """Return what a random agent leaves, with the right answer, by luck as it were."""
        calls = list(random_calls(self._world, self._graph, f"{self._task.seed}:random"))
        final = play(self._world, self._gold.initial, calls)
        return self._failing("random", f"{len(calls)} calls", final)

    def _orders(self) -> Iterator[Mutant]:
        """Yield orders with two neighbours swapped, where calls and answer stay the same."""
        made = 0
        names = self._gold.names
        expected = {name: self._gold.records[name].arguments for name in names}
        for number in range(len(names) - 1):
            order = [*names[:number], names[number + 1], names[number], *names[number + 2 :]]
            line = derived_line(self._world, self._task, order)
            if line.answer != self._gold.answer or dict(line.arguments) != expected:
                continue
            if state_hash(line.final) != state_hash(self._gold.final):
                continue  # The two act on one another: the request's order counts.
            yield self._mutant(
                "other_order", f"{order[number]} first", True, line.final, line.answer
            )
            made += 1
            if made == _MAX_ORDERS:
                return


def _altered(text: str) -> str:
    """Return another text of the same shape: its last letter or digit is changed."""
    for place in range(len(text) - 1, -1, -1):
        letter = text[place]
        if letter.isdigit():
            return f"{text[:place]}{(int(letter) + 1) % 10}{text[place + 1 :]}"
        if letter.isalpha():
            other = "x" if letter.lower() != "x" else "y"
            other = other.upper() if letter.isupper() else other
            return f"{text[:place]}{other}{text[place + 1 :]}"
    return f"{text}x"


def _path(pointer: str) -> tuple[str | int, ...]:
    parts = (part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/"))
    return tuple(int(part) if part.isdigit() else part for part in parts)


def _at(arguments: JsonObject, pointer: str) -> Any:
    return at_path(arguments, _path(pointer))[1]


def _put(arguments: JsonObject, pointer: str, value: Any) -> JsonObject:
    changed: JsonObject = _put_at(arguments, _path(pointer), value)
    return changed


def _put_at(data: Any, path: tuple[str | int, ...], value: Any) -> Any:
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(data, (list, tuple)):
        return tuple(
            _put_at(item, rest, value) if index == head else item for index, item in enumerate(data)
        )
    return FrozenDict({**data, str(head): _put_at(data.get(str(head)), rest, value)})
