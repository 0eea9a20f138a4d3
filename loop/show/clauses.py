"""What a task's request says beyond its steps: what is forbidden, what depends, what is done for
every row."""

from __future__ import annotations

from components.records.task import Clause, Condition, Every, Restraint, Ruled, Task
from loop.plain_page import Page
from loop.report.changes import value_text
from loop.show.sources import source_text


def show_clauses(page: Page, task: Task) -> None:
    """Write a task's clauses, with their words and their checkable form."""
    if not task.clauses:
        return
    page.heading("Clauses: what the request says beyond its steps")
    for name, clause in sorted(task.clauses.items()):
        words = task.instruction[clause.start : clause.end]
        page.line(f'{name} {clause.kind}: "{words.strip()}"')
        page.table(_form(task, clause), 6)


def _form(task: Task, clause: Clause) -> list[tuple[str, str]]:
    match clause:
        case Restraint():
            return [
                ("must not be called", f"{clause.service}.{clause.tool}"),
                *(
                    (place, f"from {source_text(source, task.instruction)}")
                    for place, source in sorted(clause.arguments.items())
                ),
            ]
        case Condition():
            limit = task.instruction[clause.value.start : clause.value.end]
            return [
                ("looks at", source_text(clause.source, task.instruction)),
                ("whether it is", f"{clause.relation.removeprefix('is')} {limit}".strip()),
                ("which is", "so" if clause.holds else "not so"),
                ("so gold does", clause.step or "nothing for it"),
                ("and must not do", clause.otherwise or "nothing else"),
            ]
        case Ruled():
            limit = source_text(clause.source, task.instruction)
            done = [task.gold[name] for name in (clause.place, clause.then) if name in task.gold]
            return [
                ("rule", f"{clause.rule}: {clause.text}"),
                ("asked for", f"{clause.asked.service}.{clause.asked.tool} at {clause.place}"),
                ("looks at", limit),
                ("which the rule", "allows" if clause.allows else "does not allow"),
                (
                    "so gold does",
                    ", then ".join(f"{i.service}.{i.tool}" for i in done) or "nothing for it",
                ),
                ("for", ", ".join(clause.asker) or "nobody in particular"),
            ]
        case Every():
            where = "".join(f", {name} is {value_text(v)}" for name, v in clause.where.items())
            end = "most" if clause.most else "least"
            order = f", the {len(clause.steps)} with the {end} {clause.by}" if clause.by else ""
            path = ".".join(map(str, clause.rows_path))
            return [
                ("rows", f"{path} in the answer of {clause.step}{where}{order}"),
                ("one write each", ", ".join(clause.steps)),
            ]
