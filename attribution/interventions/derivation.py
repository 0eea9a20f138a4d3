"""Gold derived again from what is visible: the instruction as it is, and the answers that were
certified.

Owns the comparison of a task with the run that its certificate records. That a task's hash is not
the certified one proves nothing (a repair is legitimate); a value that comes out otherwise does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
from jsonpointer import resolve_pointer

from attribution.evidence import evidence, place_of
from attribution.interventions.clauses import broken_clauses, observed_by
from attribution.interventions.script import broken_script
from attribution.meter import Intervention, metered
from attribution.records import Evidence, EvidenceKind, Party
from components.environment.world import World
from components.records.blueprint import FunctionalClass
from components.records.frozen import thaw
from components.records.system import System
from components.records.task import Certificate, FromInstruction, GoldStep, Provenance, Task
from components.task.gold import rows_named
from components.task.moments import moment_at, moment_on, moments_said
from components.task.provenance import ProvenanceError, derive_value
from components.task.rules import certified_rules

_MISSING = object()


@metered(Intervention.DERIVATION)
def broken_task(system: System, task: Task, world: World) -> tuple[Evidence, ...]:
    """Return what of a task does not fit its certified run, or itself."""
    certificate = system.reference.certificates[task.task_id]
    return (
        *_services(task, certificate),
        *_steps(task, certificate),
        *_answer(task, certificate),
        *_referents(task, certificate),
        *_demands(task, world),
        *broken_clauses(task, certificate),
        *broken_script(task, certificate),
        *_rules(system, task, certificate),
    )


def _rules(system: System, task: Task, certificate: Certificate) -> Iterator[Evidence]:
    """Yield that a task tells other rules than those of the world contract, in its world."""
    blueprints = system.environment.blueprints
    told = certified_rules(system.reference.contract, blueprints, task, certificate)
    if task.policy_rules == told:
        return
    missing = [rule for rule in told if rule not in task.policy_rules]
    added = [rule for rule in task.policy_rules if rule not in told]
    what = f"does not tell {missing[0]!r}" if missing else f"tells {added[0]!r}" if added else ""
    yield _against(
        EvidenceKind.CONTRACT,
        task,
        ("policy_rules",),
        f"the task {what}, other than the world contract" if what else "its rules are in disorder",
        certified=list(told),
    )


def _against(
    kind: EvidenceKind, task: Task, parts: tuple[str, ...], statement: str, **data: Any
) -> Evidence:
    place = place_of(f"task/{task.task_id}", *parts)
    return evidence(kind, Party.TASK, place, statement, task_id=task.task_id, **data)


def _services(task: Task, certificate: Certificate) -> Iterator[Evidence]:
    certified = {key.partition("/")[0] for key in certificate.seed_rows}
    named = {*task.world.services, *task.world.distractors}
    if certified and named != certified:
        yield _against(
            EvidenceKind.DERIVATION,
            task,
            ("world", "services"),
            f"the world holds {', '.join(sorted(named))}; it was certified "
            f"with {', '.join(sorted(certified))}",
            certified=sorted(certified),
        )


def _steps(task: Task, certificate: Certificate) -> Iterator[Evidence]:
    observed = observed_by(task, certificate)
    for name in sorted(set(task.gold) | set(certificate.gold_run)):
        step, call = task.gold.get(name), certificate.gold_run.get(name)
        if step is None or call is None:
            what = "has no gold step" if step is None else "was never certified"
            yield _against(
                EvidenceKind.DEMAND, task, ("gold", name), f"the step {name} {what}", step=name
            )
            continue
        if (step.service, step.tool) != (call.service, call.tool):
            yield _against(
                EvidenceKind.DERIVATION,
                task,
                ("gold", name, "tool"),
                f"gold step {name} calls {step.service}.{step.tool}; certified was "
                f"{call.service}.{call.tool}",
                step=name,
            )
            continue
        earlier = {key: value for key, value in observed.items() if key < name}
        yield from _arguments(task, name, step, certificate, earlier)


def _arguments(
    task: Task, name: str, step: GoldStep, certificate: Certificate, observed: dict[str, Any]
) -> Iterator[Evidence]:
    certified = thaw(certificate.gold_run[name].arguments)
    for pointer, source in sorted(step.arguments.items()):
        wanted = resolve_pointer(certified, pointer, _MISSING)
        found, problem = _derived(source, task.instruction, observed, pointer)
        if wanted is _MISSING:
            statement = f"gold step {name} gives {pointer}, which the certified call does not"
        elif problem:
            statement = f"gold step {name}: {problem}"
        elif thaw(found) == wanted:
            continue
        else:
            statement = (
                f"gold step {name}: {pointer} comes out as {found!r}; certified was {wanted!r}"
            )
        is_text = _is_lost_from_text(task, source, wanted, certificate)
        parts = ("instruction",) if is_text else ("gold", name, "arguments", pointer)
        yield _against(
            EvidenceKind.DERIVATION,
            task,
            parts,
            statement,
            step=name,
            pointer=pointer,
            certified=None if wanted is _MISSING else wanted,
        )
    given = set(step.arguments)
    for key in sorted(certified):
        pointer = "/" + key.replace("~", "~0").replace("/", "~1")
        if not any(item == pointer or item.startswith(pointer + "/") for item in given):
            yield _against(
                EvidenceKind.DERIVATION,
                task,
                ("gold", name, "arguments", pointer),
                f"gold step {name} does not give {pointer}; certified was {certified[key]!r}",
                step=name,
                pointer=pointer,
                certified=certified[key],
            )


def _answer(task: Task, certificate: Certificate) -> Iterator[Evidence]:
    observed, certified = observed_by(task, certificate), thaw(certificate.gold_answer)
    for field in sorted(set(task.answer) | set(certified)):
        source, wanted = task.answer.get(field), certified.get(field, _MISSING)
        parts: tuple[str, ...] = ("answer", field)
        if source is None or wanted is _MISSING:
            statement = (
                f"the answer's {field} is {'not asked for' if source is None else 'not certified'}"
            )
        else:
            found, problem = _derived(source, task.instruction, observed, f"/{field}")
            if not problem and thaw(found) == wanted:
                continue
            statement = (
                problem or f"the answer's {field} comes out as {found!r}; certified was {wanted!r}"
            )
            if _is_lost_from_text(task, source, wanted, certificate):
                parts = ("instruction",)
        yield _against(
            EvidenceKind.DERIVATION,
            task,
            parts,
            statement,
            field=field,
            certified=None if wanted is _MISSING else wanted,
        )
    if not _fits(thaw(task.answer_schema), certified):
        yield _against(
            EvidenceKind.DERIVATION,
            task,
            ("answer_schema",),
            "the certified answer does not fit the answer's schema",
            certified=certified,
        )


def _fits(schema: Any, answer: Any) -> bool:
    """Whether an answer fits a schema; nothing fits one that is no schema."""
    try:
        return bool(jsonschema_rs.validator_for(schema).is_valid(answer))
    except ValueError:
        return False


def _derived(
    source: Provenance, instruction: str, observed: dict[str, Any], pointer: str
) -> tuple[Any, str]:
    try:
        return derive_value(source, instruction, observed, pointer), ""
    except ProvenanceError as error:
        return None, f"it cannot be derived: {error}"


def _is_lost_from_text(
    task: Task, source: Provenance, wanted: Any, certificate: Certificate
) -> bool:
    """Whether a value that gold takes from the instruction is no longer anywhere in it.

    Where the words that gold points to are another value of the certified run, the instruction says
    what it said, and gold points to the wrong place.
    """
    if not isinstance(source, FromInstruction) or wanted is _MISSING:
        return False
    given = [value for call in certificate.gold_run.values() for value in call.arguments.values()]
    known = {text_of(value) for value in (*given, *certificate.gold_answer.values())}
    words = task.instruction[source.start : source.end]
    if source.cast in ("date", "moment"):
        said = {item.moment for item in moments_said(task.instruction, task.world.now)}
        by_clock, by_date = moment_at(words, task.world.now), moment_on(words)
        if text_of(wanted) in said or by_date in known:
            return False
        return by_clock is None  # words that a clock reads say what they said; the clock may not
    return words not in known and text_of(wanted).casefold() not in task.instruction.casefold()


def text_of(value: Any) -> str:
    """Return a value as an instruction writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _referents(task: Task, certificate: Certificate) -> Iterator[Evidence]:
    observed = observed_by(task, certificate)
    for name, referent in sorted(task.referents.items()):
        count = rows_named(referent, observed.get(referent.step))
        if count != 1:
            yield _against(
                EvidenceKind.REFERENT,
                task,
                ("referents", name),
                f"referent {name} stands for {count} rows of the answer of {referent.step}",
                count=count,
            )
        elif not _is_span(task, referent.start, referent.end):
            yield _against(
                EvidenceKind.REFERENT,
                task,
                _lost_span(task, referent.end) or ("referents", name),
                f"referent {name} is no span of the instruction",
            )


def _demands(task: Task, world: World) -> Iterator[Evidence]:
    for name, demand in sorted(task.demands.items()):
        if demand.step not in task.gold and demand.step != "answer":
            yield _against(
                EvidenceKind.DEMAND,
                task,
                ("demands", name),
                f"demand {name} names the step {demand.step}, which gold does not have",
            )
        elif not _is_span(task, demand.start, demand.end):
            yield _against(
                EvidenceKind.DEMAND,
                task,
                _lost_span(task, demand.end) or ("demands", name),
                f"demand {name} is no span of the instruction",
            )
    asked = {demand.step for demand in task.demands.values()}
    for name, step in sorted(task.gold.items()):
        service = world.services.get(step.service)
        tool = None if service is None else service.blueprint.tools.get(step.tool)
        if tool is not None and tool.functional is FunctionalClass.WRITE and name not in asked:
            yield _against(
                EvidenceKind.DEMAND,
                task,
                ("demands",),
                f"nothing in the instruction asks for the write of gold step {name}",
                step=name,
            )


def _lost_span(task: Task, end: int) -> tuple[str, ...]:
    """Return the instruction as the place where it ends before one of its spans does."""
    return ("instruction",) if end > len(task.instruction) else ()


def _is_span(task: Task, start: int, end: int) -> bool:
    return 0 <= start < end <= len(task.instruction)
