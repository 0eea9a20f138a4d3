"""Known defects for a demonstration: two a component, planted after the tasks were composed and
certified.

A fault is a patch with the opposite sign. Each is chosen where certified runs pass, so that
rollouts meet it, and the eight keep out of each other's way where the tasks allow. `docs/faults.md`
describes them. Nothing that finds or
repairs may import this module: a lint keeps it so.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from attribution.change import Change, bind, changed
from attribution.evidence import place_of, pointer_of
from attribution.interventions.runs import arm_of, oracle_run
from attribution.patchers.task import respelled_steps
from attribution.swap import body_of, swap
from components.errors import SynthesisError
from components.harness.paging import observation_body
from components.records.base import to_json
from components.records.blueprint import FieldType
from components.records.frozen import thaw
from components.records.patch import Patch
from components.records.rubric import AnswerField, RowFields
from components.records.system import System
from components.records.task import FromInstruction, Task

VAGUE = "the one we talked about"


def demo_faults(system: System, seed: int) -> tuple[Patch, ...]:
    """Return the faults of the demonstration, fewer than eight only where the tasks give no place
    for one.

    Args:
        system: a clean system with certified tasks.
        seed: of the choice among equally good places.
    """
    planner = _Planner(system, random.Random(f"{seed}:faults"))
    faults = []
    for make in (  # what is hardest to place comes first
        planner.cut_answers,
        planner.dropped_effect,
        planner.wrong_reaction,
        planner.lost_value,
        planner.moved_row,
        planner.wrong_criterion,
        planner.missing_criterion,
        planner.no_second_try,
    ):
        change = make()
        if change is not None:
            faults.append(planner.take(change))
    return tuple(faults)


_BODY = re.compile(r"\{\{\s*body\s*\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """Rows of one kind: those that have one value in one field."""

    key: tuple[str, str, str]
    field: str
    value: Any
    tasks: frozenset[str]


class _Planner:
    """Chooses places; knows which tasks are spoken for."""

    def __init__(self, system: System, rng: random.Random) -> None:
        self._system, self._rng = system, rng
        self._taken: set[str] = set()
        """Tasks that a fault touches."""
        live = set(system.tasks) - set(system.retired)
        self._certificates = {
            name: item
            for name, item in sorted(system.reference.certificates.items())
            if name in live
        }
        self._wanted = max(1, len(self._certificates) // 6)
        """How many tasks a fault of what they share should touch."""

    def take(self, change: Change) -> Patch:
        """Bind a fault, and go on from the system that has it."""
        patch = bind(self._system, change)
        self._system = swap(self._system, patch)
        return patch

    def cut_answers(self) -> Change | None:
        """Answers are cut, without a word, at a length that some certified answers pass."""
        longest = {
            name: max(len(observation_body(call.envelope)) for call in item.gold_run.values())
            for name, item in self._certificates.items()
        }
        lengths = sorted(set(longest.values()), reverse=True)
        template = self._system.harness.observation
        if len(lengths) < 2 or not _BODY.search(template):
            return None
        most = lengths[1]
        for length in lengths[1:]:
            if sum(found > length for found in longest.values()) <= self._wanted:
                most = length
        self._taken |= {name for name, found in longest.items() if found > most}
        return self._change(
            "harness",
            [("replace", "/observation", _BODY.sub(f"{{{{ body[:{most}] }}}}", template))],
            ("observation",),
            f"answers are cut after {most} characters",
        )

    def dropped_effect(self) -> Change | None:
        """For rows of one kind a write answers as if it were done, and changes nothing."""
        rows: dict[tuple[str, str, str], dict[str, Any]] = defaultdict(dict)
        for name, certificate in self._certificates.items():
            for call in certificate.gold_run.values():
                for change in call.changes:
                    origin, _, effect = change.cause.partition(":")
                    is_code = call.service in self._system.environment.code
                    if origin == "effect" and change.before is not None and not is_code:
                        rows[call.service, call.tool, effect].setdefault(name, change.before)
        for kind in self._kinds(rows):
            service, tool, effect = kind.key
            body = self._system.environment.blueprints[service].tools[tool]
            target = body.effects[effect].target
            if target is None or f"${effect}" in str(to_json(body)["result"]):
                continue  # its row is the answer: dropping it would be no silence
            self._taken |= kind.tasks
            when = {"@ne": [f"${target}.{kind.field}", kind.value]}
            return self._change(
                f"blueprint/{service}",
                [("replace", pointer_of("tools", tool, "effects", effect, "when"), when)],
                ("tools", tool, "effects", effect),
                f"{service}.{tool} does nothing where {kind.field} is {kind.value}",
            )
        return None

    def wrong_reaction(self) -> Change | None:
        """For rows of one kind a reaction writes a fixed text where a value belongs."""
        rows: dict[tuple[str, str, str], dict[str, Any]] = defaultdict(dict)
        reactions = self._system.environment.reactions
        for name, certificate in self._certificates.items():
            for call in certificate.gold_run.values():
                for cause in sorted({change.cause for change in call.changes}):
                    reaction = cause.partition(":")[2]
                    if not cause.startswith("reaction:") or reaction not in reactions:
                        continue
                    on = reactions[reaction].on
                    for change in call.changes:
                        here = (change.service, change.table) == (on.service, on.table)
                        if here and change.after is not None:
                            rows[reaction, "", ""].setdefault(name, change.after)
        for kind in self._kinds(rows):
            reaction = kind.key[0]
            for label, write in sorted(reactions[reaction].writes.items()):
                entity = self._system.environment.blueprints[write.service].entities[write.table]
                for field, value in sorted(write.fields.items()):
                    known = entity.fields[field]
                    is_text = known.type is FieldType.STRING and not known.enum and not known.link
                    if not is_text or known.free_text:
                        continue
                    self._taken |= kind.tasks
                    wrong = {"@eq": [f"$after.{kind.field}", kind.value]}
                    at = pointer_of(reaction, "writes", label, "fields", field)
                    return self._change(
                        "reactions",
                        [("replace", at, {"@if": [wrong, "ZZ-0000", thaw(value)]})],
                        (reaction,),
                        f"{reaction} writes ZZ-0000 where {kind.field} is {kind.value}",
                    )
        return None

    def _kinds(self, rows: dict[tuple[str, str, str], dict[str, Any]]) -> list[_Kind]:
        """Return kinds of rows by which tasks can be told apart, the most fitting first."""
        kinds = []
        for key, by_task in sorted(rows.items()):
            values: dict[tuple[str, Any], set[str]] = defaultdict(set)
            for task_id, row in by_task.items():
                for field, value in row.items():
                    if isinstance(value, (str, bool)) and not str(value).endswith("Z"):
                        values[field, value].add(task_id)
            kinds += [
                _Kind(key=key, field=field, value=value, tasks=frozenset(tasks))
                for (field, value), tasks in sorted(values.items(), key=lambda item: str(item[0]))
            ]
        self._rng.shuffle(kinds)
        return sorted(
            kinds,
            key=lambda kind: (
                len(kind.tasks & self._taken),
                abs(len(kind.tasks) - self._wanted),
            ),
        )

    def lost_value(self) -> Change | None:
        """An instruction says `the one we talked about` wherever a value stood."""
        for task in self._tasks():
            for name, pointer, value in self._given(task):
                spans = [m.span() for m in re.finditer(re.escape(value), task.instruction)]
                body = body_of(self._system, f"task/{task.task_id}")
                change = self._change(
                    f"task/{task.task_id}",
                    respelled_steps(body, [(*span, VAGUE) for span in spans]),
                    ("instruction",),
                    f"the instruction does not say {pointer} of step {name}",
                )
                if self._is_live(change, task.task_id):
                    self._taken.add(task.task_id)
                    return change
        return None

    def moved_row(self) -> Change | None:
        """A row that the instruction names is another at the start, so that it is not found."""
        for task in self._tasks():
            for name, _pointer, value in self._given(task):
                for key, row, field in self._rows_with(task.gold[name].service, value):
                    if key in task.world.overrides:
                        continue
                    body = {**row, field: f"{value}-old"}
                    change = self._change(
                        f"task/{task.task_id}",
                        [("add", pointer_of("world", "overrides", key), body)],
                        ("world", "overrides", key),
                        f"{key} starts with another {field} than the one the instruction names",
                    )
                    if self._is_live(change, task.task_id):
                        self._taken.add(task.task_id)
                        return change
        return None

    def _given(self, task: Task) -> Iterator[tuple[str, str, str]]:
        """Yield step, pointer and text of the values that gold takes from the instruction."""
        for name, step in sorted(task.gold.items()):
            for pointer, source in sorted(step.arguments.items()):
                if isinstance(source, FromInstruction):
                    yield name, pointer, task.instruction[source.start : source.end]

    def _is_live(self, change: Change, task_id: str) -> bool:
        """Whether a run without slips, which passed, fails with the change."""
        try:
            system = changed(self._system, change)
            return oracle_run(arm_of(system, task_id)).passed is False
        except SynthesisError:
            return False

    def wrong_criterion(self) -> Change | None:
        """A criterion expects a value that the right solution does not give."""
        for task in self._tasks():
            criteria = self._system.evaluator.rubrics[task.task_id].criteria
            for name, criterion in sorted(criteria.items()):
                target: tuple[str, ...] | None = None
                if isinstance(criterion, AnswerField) and isinstance(criterion.expected, str):
                    target, value = ("expected",), f"{criterion.expected}0"
                if isinstance(criterion, RowFields):
                    texts = [f for f, v in sorted(criterion.fields.items()) if isinstance(v, str)]
                    if texts:
                        target, value = ("fields", texts[0]), f"{criterion.fields[texts[0]]}0"
                if target is not None:
                    self._taken.add(task.task_id)
                    return self._change(
                        f"rubric/{task.task_id}",
                        [("replace", pointer_of("criteria", name, *target), value)],
                        ("criteria", name),
                        f"the criterion {name} expects {value!r}",
                    )
        return None

    def missing_criterion(self) -> Change | None:
        """A rubric does not ask for a row, and lets anything happen to it."""
        for task in self._tasks():
            criteria = self._system.evaluator.rubrics[task.task_id].criteria
            rows = [
                name
                for name, item in sorted(criteria.items())
                if isinstance(item, RowFields) and not item.new_only
            ]
            others = [name for name in criteria if name not in (*rows[:1], "untouched")]
            if not rows or not others or "untouched" not in criteria:
                continue
            item = criteria[rows[0]]
            assert isinstance(item, RowFields)
            steps: list[Any] = [("remove", pointer_of("criteria", rows[0]), None)]
            for row_id in item.where.values():
                key = f"{item.service}/{item.table}/{row_id}"
                if key in getattr(criteria["untouched"], "allowed", {}):
                    at = pointer_of("criteria", "untouched", "allowed", key)
                    steps.append(("replace", at, ["*"]))
            self._taken.add(task.task_id)
            return self._change(
                f"rubric/{task.task_id}",
                steps,
                ("criteria", rows[0]),
                f"the criterion {rows[0]} is missing, and nothing watches that row",
            )
        return None

    def no_second_try(self) -> Change | None:
        """One message that cannot be read ends the episode."""
        return self._change(
            "harness",
            [("replace", "/limits/max_invalid_turns", 1)],
            ("limits", "max_invalid_turns"),
            "one message that cannot be read ends the episode",
        )

    def _tasks(self) -> list[Task]:
        """Return the tasks, those that no other fault touches first."""
        names = list(self._certificates)
        self._rng.shuffle(names)
        names.sort(key=lambda name: name in self._taken)
        return [self._system.tasks[name] for name in names]

    def _rows_with(self, service: str, value: str) -> Iterator[tuple[str, dict[str, Any], str]]:
        """Yield the rows with this value in a field of plain text, with that field."""
        blueprint = self._system.environment.blueprints[service]
        for table, rows in sorted(self._system.environment.seeds[service].tables.items()):
            entity = blueprint.entities[table]
            for row_id, row in sorted(rows.items()):
                for field, found in sorted(row.items()):
                    known = entity.fields[field]
                    is_plain = known.type is FieldType.STRING and not known.enum and not known.link
                    if found == value and is_plain and field != entity.key:
                        yield f"{service}/{table}/{row_id}", thaw(row), field

    def _change(
        self, artifact: str, operations: Iterable[Any], place: tuple[str, ...], reason: str
    ) -> Change:
        return Change(
            artifact=artifact,
            operations=tuple(operations),
            reason=reason,
            place=place_of(artifact, *place),
        )
