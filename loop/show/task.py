"""A task: what is asked, where, how gold solves it and whence it knows, what counts, and which
gates it passed."""

from __future__ import annotations

from collections import Counter

from components.environment.world import build_world
from components.errors import SynthesisError
from components.records.base import hash_record
from components.records.rubric import Rubric
from components.records.system import System
from components.records.task import (
    Certificate,
    Task,
)
from components.records.trajectory import ScoredTrajectory
from components.task.pair_gates import facts_between
from loop.plain_page import Page
from loop.report.changes import value_text
from loop.show.clauses import show_clauses
from loop.show.rollout import show_changes
from loop.show.seen import Seen
from loop.show.sources import needed_steps, source_text
from loop.train.split import kind_of


def show_task(seen: Seen, name: str) -> Page:
    """Return the page of one task, as the first pass of the round saw it."""
    system = seen.before if name in seen.before.tasks else seen.after
    return _page(system, name, seen.where, _facts(seen, system.tasks[name]))


def show_task_of_set(system: System, name: str, where: str) -> Page:
    """Return the page of one task of a set that `compose` wrote.

    Args:
        system: the set.
        name: id of the task.
        where: the set in words.
    """
    task = system.tasks[name]
    kind = kind_of(system.environment, task, system.reference.certificates[name])
    return _page(system, name, where, [*_made(task), ("split", kind.value)])


def _page(system: System, name: str, where: str, facts: list[tuple[str, str]]) -> Page:
    task = system.tasks[name]
    certificate = system.reference.certificates.get(name)
    page = Page()
    page.heading(f"Task {name} ({where})")
    page.table(facts)
    page.heading("Instruction")
    page.verbatim(task.instruction)
    _show_edits(page, task)
    for rule in task.policy_rules:
        page.line(f"rule: {rule}")
    _show_user(page, task)
    page.heading("Demands")
    page.table(
        [
            (step.step, task.instruction[step.start : step.end])
            for _name, step in sorted(task.demands.items())
        ]
    )
    page.table(
        [
            (f"{item.step} must find one", task.instruction[item.start : item.end])
            for _name, item in sorted(task.referents.items())
        ]
    )
    show_clauses(page, task)
    _show_twin(page, system, task, certificate)
    _show_world(page, task)
    _show_walk(page, task, certificate)
    _show_rubric(page, system.evaluator.rubrics.get(name))
    _show_certificate(page, task, system, certificate)
    return page


def _show_edits(page: Page, task: Task) -> None:
    """Show what the request was before it was calibrated, and how it was."""
    if not task.edits:
        return
    page.line("explicitly it would be:")
    page.verbatim(task.explicit)
    said = {
        "indirect": "{step} reads by what it is, not by {name}",
        "lookup": "{step} looks up {name}",
        "join": "the sentence of {step} joins the one before",
    }
    for edit in task.edits:
        page.line(said[edit.kind].format(step=edit.step, name=edit.name))


def _show_twin(page: Page, system: System, task: Task, certificate: Certificate | None) -> None:
    """Show the other half of a pair, and the one fact in which its world differs."""
    twin = None if certificate is None else system.tasks.get(certificate.twin)
    if twin is None:
        return
    page.heading(f"Pair {task.pair}: the same words, and one fact is otherwise")
    page.line(f"twin: {twin.task_id}")
    try:
        facts = facts_between(build_world(system, task.world), build_world(system, twin.world))
    except SynthesisError as error:
        page.line(f"its fact cannot be shown: {error}")
        return
    page.table(
        [
            (row, f"{field} is {value_text(own)} here", f"{value_text(other)} in the twin")
            for row, field, own, other in facts
        ]
    )


def _show_user(page: Page, task: Task) -> None:
    """Show who says the request bit by bit, message by message."""
    if task.user is None:
        return
    page.heading("User")
    rows = [("says first", "", task.instruction[: task.user.opening])]
    for name, move in sorted(task.user.moves.items()):
        after = f"after {', '.join(move.after)}" if move.after else "at any time"
        asked = f", first when asked about {', '.join(move.about)}" if move.about else ""
        kind = move.kind.value.replace("_", " ")
        rows.append((f"{name} {kind}", after + asked, task.instruction[move.start : move.end]))
    page.table([*rows, ("at the end", "", task.user.closing)])


def _made(task: Task) -> list[tuple[str, str]]:
    author = "" if task.author == "grammar" else f", by a {task.author}"
    return [("kind", f"{task.kind}, drawn with seed {task.seed}{author}")]


def _facts(seen: Seen, task: Task) -> list[tuple[str, str]]:
    key = task.task_id
    facts = _made(task)
    for stage, label in (("rollout", "passed before"), ("reeval", "passed after")):
        groups = seen.folder.units.record_lists(f"{stage}.score", ScoredTrajectory, key).values()
        passed = [scored.passed for group in groups for scored in group]
        if passed:
            facts.append((label, f"{passed.count(True)} of {len(passed)} ({key}-00, ...)"))
    if key in seen.after.retired:
        facts.append(("retired", seen.after.retired[key]))
    for artifact in (f"task/{key}", f"rubric/{key}"):
        facts += [("patch", f"of {artifact}: {line}") for line in seen.patches_of(artifact)]
    return facts


def _show_world(page: Page, task: Task) -> None:
    page.heading("World")
    rows = [("services", ", ".join(task.world.services))]
    rows.append(("only in the way", ", ".join(task.world.distractors) or "none"))
    rows.append(("now", task.world.now))
    rows += [
        ("changed at start", f"{place}: {'removed' if row is None else value_text(row)}")
        for place, row in sorted(task.world.overrides.items())
    ]
    page.table(rows)


def _show_walk(page: Page, task: Task, certificate: Certificate | None) -> None:
    page.heading("Gold: the calls, and where each value comes from")
    for name, step in sorted(task.gold.items()):
        needs = ", ".join(needed_steps(step)) or "nothing"
        again = f"; reads {step.revisit_of} again" if step.revisit_of else ""
        page.line(f"{name} {step.service}.{step.tool} (needs {needs}{again})")
        record = None if certificate is None else certificate.gold_run.get(name)
        page.table(
            [
                (place, f"from {source_text(source, task.instruction)}")
                for place, source in sorted(step.arguments.items())
            ],
            6,
        )
        if record is not None:
            page.line(f"called with {value_text(record.arguments)}", 6)
            page.line(f"answered {value_text(record.envelope)}", 6)
            show_changes(page, record, 6)
    page.line("answer" if task.answer else "no answer counts, only state")
    for field, source in sorted(task.answer.items()):
        expected = None if certificate is None else certificate.gold_answer.get(field)
        origin = source_text(source, task.instruction)
        page.line(f"{field} = {value_text(expected)}, from {origin}", 6)


def _show_rubric(page: Page, rubric: Rubric | None) -> None:
    page.heading("Rubric")
    if rubric is None:
        page.line("none")
        return
    page.table(
        [
            (f"weight {criterion.weight:g}", name, criterion.text)
            for name, criterion in sorted(rubric.criteria.items())
        ]
    )


def _show_certificate(
    page: Page, task: Task, system: System, certificate: Certificate | None
) -> None:
    page.heading("Certificate")
    if certificate is None:
        page.line("none")
        return
    page.line(f"gates version {certificate.gates_version}; {len(certificate.probes)} probes")
    rubric = system.evaluator.rubrics.get(task.task_id)
    rubric_hash = None if rubric is None else hash_record(rubric)
    if certificate.task_hash != hash_record(task):
        page.line("the task is no longer the one that was certified")
    if certificate.evaluator_hashes.get(f"rubric/{task.task_id}") != rubric_hash:
        page.line("the rubric is no longer the one that was certified")
    kinds = Counter((probe.kind, probe.should_pass) for probe in certificate.probes.values())
    right = Counter(
        (probe.kind, probe.should_pass)
        for probe in certificate.probes.values()
        if probe.did_pass == probe.should_pass
    )
    page.table(
        [
            (kind, f"must {'pass' if must else 'fail'}", f"{right[kind, must]} of {count} do")
            for (kind, must), count in sorted(kinds.items())
        ]
    )
    page.table(
        [
            (probe.kind, probe.target, "passed" if probe.did_pass else "failed")
            for _name, probe in sorted(certificate.probes.items())
        ],
        4,
    )
    for line in certificate.unconstrained:
        page.line(f"not constrained: {line}")
