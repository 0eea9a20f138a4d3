"""Wrong solutions such as a model makes, drawn apart from those that admission draws.

Admission must not be its own judge: `certify` draws its mutants from what the rubric constrains,
these are drawn from what solvers do wrong, and know nothing of rubrics. A line is a mutant only if
it ends otherwise than gold: strictly compared, in a row, in a text that lost a value that had to be
looked up, or in the answer. Lines that end alike are drawn once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from components.environment.state import WorldState, state_hash
from components.environment.world import World
from components.evaluator.created import NORM
from components.evaluator.equivalence import values_match
from components.evaluator.strict import strict_difference
from components.records.frozen import FrozenDict, JsonObject, content_hash
from components.records.system import System
from components.records.task import Task
from components.task.gold import Gold
from components.task.graph import tool_graph
from components.task.lines import ANSWER, play_on
from components.task.other_values import ValueMistakes
from components.task.other_writes import WriteSlips
from components.task.provenance import at_path, leaves

_CODE_LENGTH = 3
"""Characters of an answer, at least, of which two can change places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherMutant:
    """One wrong line of play, finished."""

    kind: str
    target: str
    did: str
    """What the solver did, in words."""
    final: WorldState
    answer: JsonObject | None


class OtherMutants:
    """Makes the second generator's mutants of one task."""

    def __init__(self, system: System, world: World, task: Task, gold: Gold) -> None:
        """Args: system: for the tools; world: the task's; task: as certified; gold: its run."""
        self._world, self._task, self._gold = world, task, gold
        self._graph = tool_graph(system, task.world.services)
        self._wide = tool_graph(system, (*task.world.services, *task.world.distractors))
        self._seen: set[str] = set()

    def all(self) -> Iterator[OtherMutant]:
        """Yield every mutant, in a fixed order."""
        for slip in WriteSlips(self._world, self._task, self._wide, self._gold).all():
            line = play_on(self._world, self._task, slip.moves)
            is_whole = all(isinstance(move, str) for move in slip.moves)
            answer = line.answer if is_whole else self._gold.answer
            yield from self._ended(
                slip.kind, slip.target, slip.did, line.final, answer, in_words=slip.is_in_words
            )
        for mistake in ValueMistakes(self._world, self._task, self._graph, self._gold).all():
            line = play_on(self._world, mistake.task, self._gold.names)
            yield from self._ended(
                mistake.kind,
                f"{mistake.user}{mistake.pointer}",
                mistake.did,
                line.final,
                line.answer,
                in_words=True,
            )
        yield from self._answers()

    def _ended(
        self,
        kind: str,
        target: str,
        did: str,
        final: WorldState,
        answer: JsonObject | None,
        *,
        in_words: bool = False,
    ) -> Iterator[OtherMutant]:
        """Yield the mutant where the line ended otherwise than gold, and than those before it.

        Where the state is another one, gold's answer is granted: the state alone must tell.
        """
        is_other = self._is_other_state(final, in_words)
        if is_other:
            answer = self._gold.answer or None
        elif not self._is_other_answer(answer):
            return
        key = content_hash([state_hash(final), dict(answer or {})])
        if key not in self._seen:
            self._seen.add(key)
            yield OtherMutant(kind=kind, target=target, did=did, final=final, answer=answer)

    def _is_other_state(self, final: WorldState, in_words: bool) -> bool:
        return any(
            in_words or not item.is_free_text_only
            for item in strict_difference(self._world, self._gold.final, final)
        )

    def _is_other_answer(self, answer: JsonObject | None) -> bool:
        expected = self._gold.answer
        return bool(expected) and (
            answer is None
            or set(answer) != set(expected)
            or not all(
                values_match(expected[field], answer[field], NORM, f"answer.{field}")
                for field in expected
            )
        )

    def _answers(self) -> Iterator[OtherMutant]:
        """Yield gold's state with answers that were never looked up, or written down wrongly."""
        for field, value in sorted(self._gold.answer.items()):
            for kind, other, did in (
                *self._from_distractors(field, value),
                *_misspelt(value),
                *self._keys(value),
            ):
                answer = FrozenDict({**self._gold.answer, field: other})
                yield from self._ended(
                    kind, f"{ANSWER}/{field}", f"{field} {other!r}: {did}", self._gold.final, answer
                )

    def _from_distractors(self, field: str, value: Any) -> Iterator[tuple[str, Any, str]]:
        """Yield what services that are only in the way have under a name like the answer's."""
        words = set(field.split("_"))
        for service in self._task.world.distractors:
            found = [
                (len(words & set(name.split("_"))), table, name, other)
                for table, rows in sorted(self._gold.initial.services[service].items())
                for row_id in sorted(rows.ids)
                for name, other in sorted(rows.rows[row_id].values.items())
                if type(other) is type(value) and other != value
            ]
            best = max(found, key=lambda item: item[0], default=None)
            if best is not None and best[0]:
                yield "distractor_answer", best[3], f"{best[2]} of a {best[1]} of {service}"

    def _keys(self, value: Any) -> Iterator[tuple[str, Any, str]]:
        """Yield the id beside the value in the place of the value."""
        for step in self._gold.names:
            for path, leaf in leaves(self._gold.observed[step]):
                if leaf == value:
                    _found, row = at_path(self._gold.observed[step], path[:-1])
                    key = row.get("id") if isinstance(row, FrozenDict) else None
                    if isinstance(key, str) and key != value:
                        yield "key_answer", key, f"the id beside it in {step}"
                        return


def _misspelt(value: Any) -> Iterator[tuple[str, Any, str]]:
    """Yield a value that was written down wrongly."""
    if isinstance(value, bool):
        yield "misspelt_answer", not value, "the opposite"
    elif isinstance(value, (int, float)):
        yield "misspelt_answer", str(value), "a text for a number"
        yield "misspelt_answer", value * 100, "in another unit"
    elif isinstance(value, str):
        for at in range(len(value) - 2, -1, -1):
            left, right = value[at], value[at + 1]
            if left.isalnum() and right.isalnum() and left.lower() != right.lower():
                other = value[:at] + right + left + value[at + 2 :]
                yield "misspelt_answer", other, "two characters have changed places"
                break
        if len(value) > _CODE_LENGTH:
            yield "misspelt_answer", value[:-1], "the last character is lost"
        yield "misspelt_answer", "", "nothing"
