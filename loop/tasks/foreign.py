"""Somebody else's benchmark, audited: every task through every gate, and what was found shown."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from components.errors import ConfigError
from components.records.base import to_json
from components.task.foreign.findings import (
    MEANING,
    REMARKS,
    Finding,
    Kind,
    calls_of,
    replay,
    sorted_out,
)
from components.task.foreign.gates import audit, not_applied, pooled
from components.task.foreign.worker import Foreign, ForeignTask, opened
from loop.console import Console
from loop.plain_page import Page
from loop.result_file import write_result
from loop.verb_configs import CertifyConfig

SHOWN = 3
"""Calls of a counterexample that the page shows, the last ones; `replay` shows all."""


def is_foreign(tasks: str) -> bool:
    """Say whether `tasks` names somebody else's benchmark rather than a folder of ours."""
    return tasks.startswith(("tau2:", "bfcl:")) or tasks.endswith(".jsonl")


@contextlib.contextmanager
def open_foreign(tasks: str, path: str | None, python: str | None) -> Iterator[Foreign]:
    """Run the benchmark that `tasks` names while the block lasts.

    Args:
        tasks: as `is_foreign` takes it.
        path: a checkout; None: what the interpreter has installed.
        python: the interpreter; None: this one.

    Raises:
        ConfigError: it names none, or cannot be started.
    """
    if not is_foreign(tasks):
        raise ConfigError(
            f"tasks must name somebody else's benchmark here (got '{tasks}'); set "
            "tasks=tau2:retail, tasks=tau2:airline, tasks=bfcl:multi_turn or tasks=FILE.jsonl"
        )
    kind = "lines" if tasks.endswith(".jsonl") else tasks
    if kind == "lines":
        path = tasks
        if not Path(path).is_file():
            raise ConfigError(f"tasks: there is no file {path}")
    with opened(kind, path, python) as foreign:
        yield foreign


def audit_foreign(config: CertifyConfig) -> int:
    """Audit a benchmark, or play one finding again, and return the exit status."""
    with open_foreign(config.tasks, config.path, config.python) as foreign:
        tasks = [foreign.task(name) for name in foreign.names]
        if config.replay is not None:
            return _replayed(foreign, tasks, config.replay)
        console, pool = Console(), pooled(tasks)
        findings: list[Finding] = []
        for done, task in enumerate(tasks, start=1):
            findings += audit(foreign, task, pool)
            console.progress("audit", done, len(tasks), note=f"{len(findings)} findings")
        console.close()
        findings = sorted_out(findings)
        result = _result(config.tasks, foreign, tasks, findings)
    if config.out is not None:
        write_result(config.out, result)
    _page(result, findings).show()
    return 1 if result["defective"] else 0


def _result(
    name: str, foreign: Foreign, tasks: Sequence[ForeignTask], findings: Sequence[Finding]
) -> dict[str, Any]:
    counts = Counter(item.kind for item in findings)
    return {
        "schema_version": 1,
        "benchmark": name,
        "about": foreign.about,
        "tasks": len(tasks),
        "defective": len({item.task for item in findings if item.kind not in REMARKS}),
        "with_remarks": len({item.task for item in findings if item.kind in REMARKS}),
        "kinds": {
            kind.value: {
                "findings": counts[kind],
                "tasks": len({item.task for item in findings if item.kind is kind}),
                "meaning": MEANING[kind],
            }
            for kind in Kind
        },
        "ignored": dict(
            Counter(item.argument for item in findings if item.kind is Kind.ARGUMENT_IGNORED)
        ),
        "not_applied": not_applied(tasks),
        "findings": [to_json(item) for item in findings],
    }


def _page(result: dict[str, Any], findings: Sequence[Finding]) -> Page:
    page = Page()
    page.heading(f"{result['benchmark']}: {result['defective']} of {result['tasks']} are defective")
    for key, text in result["about"].items():
        page.line(f"{key}: {text}")
    page.heading("By kind: findings, tasks")
    page.table(_rows(result, remarks=False))
    page.heading(f"Remarks, on {result['with_remarks']} tasks; none is defective by them alone")
    page.table(_rows(result, remarks=True))
    page.table([(name, f"{count} tasks") for name, count in sorted(result["ignored"].items())], 4)
    if result["not_applied"]:
        page.heading("Gates that do not apply, or not to all")
        page.table(sorted(result["not_applied"].items()))
    if findings:
        page.heading("Findings; replay=NAME plays one again")
    for item in findings:
        page.line(f"{item.name}: {item.why}")
        calls = [_written(call) for turn in calls_of(item) for call in turn]
        more = [f"({len(calls) - SHOWN} calls before)"] if len(calls) > SHOWN else []
        says = [f"says {item.message[:120]!r}"] if item.message else []
        verdict = {True: "passes", False: "fails", None: "is not decided"}[item.passes]
        shown = [*more, *calls[-SHOWN:], *says] or ["no call"]
        page.line(f"{'; '.join(shown)}: {verdict}", 4)
    return page


def _rows(result: dict[str, Any], *, remarks: bool) -> list[tuple[str, str, str, str]]:
    return [
        (kind, str(row["findings"]), str(row["tasks"]), row["meaning"])
        for kind, row in result["kinds"].items()
        if (Kind(kind) in REMARKS) == remarks
    ]


def _replayed(foreign: Foreign, tasks: Sequence[ForeignTask], name: str) -> int:
    task = next((item for item in tasks if name.startswith(f"{item.name}/")), None)
    if task is None:
        raise ConfigError(f"replay: no task of the benchmark begins the name {name}")
    findings = audit(foreign, task, pooled(tasks))
    finding = next((item for item in findings if item.name == name), None)
    if finding is None:
        others = ", ".join(item.name for item in findings) or "none"
        raise ConfigError(f"replay: nothing called {name} is found (of this task: {others})")
    played, is_same = replay(foreign, finding)
    page = Page()
    page.heading(f"{name}: {MEANING[finding.kind]}")
    page.line(finding.why)
    for text in task.texts:
        page.verbatim(text)
    flat = [call for turn in calls_of(finding) for call in turn]
    for call, answer in zip(flat, played.flat, strict=True):
        page.line(f"{_written(call)}{' (refused)' if answer['error'] else ''}")
        page.verbatim(answer["text"][:400])
    if finding.message:
        page.line("says")
        page.verbatim(finding.message)
    page.line(f"verdict: {'passes' if played.passes else 'fails'} ({played.why})")
    page.line("the same as was found" if is_same else "NOT the same as was found", 0)
    page.show()
    return 1 if is_same else 0


def _written(call: dict[str, Any]) -> str:
    if call.get("text"):
        return str(call["text"])
    given = ", ".join(f"{key}={json.dumps(value)}" for key, value in call["arguments"].items())
    return f"{call['tool']}({given})"
