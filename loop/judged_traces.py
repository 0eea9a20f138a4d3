"""Traces that were made elsewhere: read, judged, told, and drafted as tasks."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attribution.foreign.drafts import draft_task
from attribution.foreign.judge import judge_trace, scored_of
from attribution.foreign.read import carried_tasks, read_traces
from attribution.foreign.records import ForeignTrace, Outcome
from attribution.foreign.replay_judge import judge_with_tasks
from attribution.modes import failure_modes
from attribution.records import Attribution, Decision, EvidenceKind, FailureMode, Party
from components.errors import ConfigError
from components.records.base import to_json
from components.records.frozen import content_hash
from components.task.foreign.gates import pooled
from loop.console import Console
from loop.ledger_files import pretty_json, why_unwritable, write_file
from loop.plain_page import Page
from loop.show.rollout import DECISIONS, evidence_row
from loop.tasks.foreign import open_foreign
from loop.verb_configs import AttributeConfig

VERDICTS = "verdicts.json"
TASKS = "tasks"
"""Folder of the drafts."""
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_SHOWN = 40
"""Rows of one kind that the page shows; `out` gets all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Traces with their verdicts, in the order of the file."""

    traces: tuple[ForeignTrace, ...]
    attributions: tuple[Attribution, ...]
    modes: tuple[FailureMode, ...]
    """Places of components, those first that the most failures name."""
    num_played: int
    """How many were played again in their benchmark, with what came of it as evidence."""

    @property
    def failures(self) -> list[tuple[ForeignTrace, Attribution]]:
        """Traces that say that they failed, with their verdicts."""
        pairs = zip(self.traces, self.attributions, strict=True)
        return [pair for pair in pairs if pair[0].outcome is Outcome.FAILED]


def judge_file(config: AttributeConfig, console: Console) -> Judged:
    """Read and judge the traces that a configuration names.

    Raises:
        ConfigError: the file, or a line of it, cannot be read as such traces.
    """
    assert config.traces is not None
    path = Path(config.traces)
    traces = read_traces(path, config.format)
    if config.tasks is None:
        found = []
        for number, trace in enumerate(traces, start=1):
            found.append(judge_trace(trace))
            console.progress("attribute", number, len(traces))
    else:
        with open_foreign(config.tasks, config.path, config.python) as foreign:
            carried = carried_tasks(path, config.format)
            if carried and config.tasks.startswith("tau2:"):
                foreign.use(carried)
            pool = pooled([foreign.task(name) for name in foreign.names])
            pairs = judge_with_tasks(
                foreign, traces, pool, lambda done, of: console.progress("attribute", done, of)
            )
        traces, found = tuple(trace for trace, _ in pairs), [item for _, item in pairs]
    modes = failure_modes(found, [scored_of(trace) for trace in traces])
    lengths = {trace.trace_id: (len(trace.messages), trace.trace_id) for trace in traces}
    shortest = tuple(
        mode.model_copy(update={"example": min(mode.rollouts, key=lengths.__getitem__, default="")})
        for mode in modes
    )
    return Judged(
        traces=traces,
        attributions=tuple(found),
        modes=shortest,
        num_played=sum(any(fact.kind is EvidenceKind.PLAYED for fact in i.evidence) for i in found),
    )


def check_result_folder(out: str | None) -> None:
    """Refuse a folder that could not be written once the work is done.

    Raises:
        ConfigError: it is a file, or may not be written.
    """
    if out is None:
        return
    if os.path.isfile(out):
        raise ConfigError(
            f"out must name a folder with traces (got the file '{out}'); set out=judged"
        )
    why = why_unwritable(Path(out))
    if why:
        raise ConfigError(f"out cannot be written (got '{out}': {why}); set out to another folder")


def write_judged(out: Path, judged: Judged) -> int:
    """Write verdicts and drafts, and return how many drafts there are.

    Raises:
        LedgerError: a file cannot be written.
    """
    written = 0
    for trace, found in judged.failures:
        path = out / TASKS / f"{_file_name(trace.trace_id)}.json"
        write_file(path, pretty_json(draft_task(trace, found)), point="draft")
        written += 1
    write_file(out / VERDICTS, pretty_json(judged_json(judged)), point="out")
    return written


def judged_json(judged: Judged) -> dict[str, Any]:
    """Return the verdicts as JSON."""
    return {
        "schema_version": 1,
        "outcomes": dict(Counter(trace.outcome.value for trace in judged.traces)),
        "decisions": dict(Counter(i.verdict.decision.value for i in judged.attributions)),
        "modes": [to_json(mode) for mode in judged.modes],
        "attributions": [
            {**to_json(found), "source": trace.source, "outcome": trace.outcome.value}
            for trace, found in zip(judged.traces, judged.attributions, strict=True)
        ],
    }


def judged_page(source: str, judged: Judged) -> Page:
    """Return the page: what was read, places of components, the agent's own, what is open."""
    page = Page()
    outcomes = Counter(trace.outcome for trace in judged.traces)
    told = ", ".join(f"{outcomes[kind]} {kind.value}" for kind in Outcome)
    page.heading(f"{len(judged.traces)} traces of {source}: {told}")
    if judged.num_played:
        page.line(f"{judged.num_played} verdicts rest on calls played again in the benchmark")
    else:
        page.line("nothing was replayed: each verdict rests on what the trace itself shows")
    by_id = {item.verdict.rollout_id: item for item in judged.attributions}
    for number, mode in enumerate(judged.modes[:_SHOWN], start=1):
        _show_mode(page, number, mode, by_id, judged.attributions)
    if len(judged.modes) > _SHOWN:
        page.line(f"and {len(judged.modes) - _SHOWN} more places; out=FOLDER gets all")
    _show_policy(page, judged.attributions)
    for decision in (Decision.UNDECIDED, Decision.NOT_JUDGED):
        _show_open(page, decision, judged.attributions)
    return page


def _show_mode(
    page: Page,
    number: int,
    mode: FailureMode,
    by_id: dict[str, Attribution],
    attributions: Sequence[Attribution],
) -> None:
    page.heading(f"{number}. {mode.party.value} {mode.place}")
    page.line(f"{_count(mode.rollouts)} blamed on it")
    if mode.example:
        verdict = by_id[mode.example].verdict
        page.line(
            f"smallest example: {mode.example}, confidence {verdict.blamed[0].confidence:.2f}"
        )
        facts = [item for item in by_id[mode.example].evidence if item.place == mode.place]
    else:
        facts = [
            item
            for found in attributions
            for item in found.evidence
            if item.evidence_id in mode.evidence_ids
        ][:3]
    page.table([evidence_row(item) for item in facts], 4)


def _show_policy(page: Page, attributions: Sequence[Attribution]) -> None:
    rows = []
    for found in attributions:
        verdict = found.verdict
        if verdict.blamed and verdict.blamed[0].party is Party.POLICY:
            blame = verdict.blamed[0]
            said = next(i.statement for i in found.evidence if i.place == blame.place)
            rows.append((verdict.rollout_id, blame.place, f"{blame.confidence:.2f}", said))
    if rows:
        page.heading("The agent's own failures")
        page.table(rows[:_SHOWN])
        _say_more(page, len(rows))


def _show_open(page: Page, decision: Decision, attributions: Sequence[Attribution]) -> None:
    """Add the traces of a decision, those for the same reason in one row."""
    reasons: dict[str, list[str]] = {}
    for item in attributions:
        if item.verdict.decision is decision:
            why = item.verdict.would_decide
            said = f"would decide: {why}" if why else item.evidence[0].statement
            reasons.setdefault(said, []).append(item.verdict.rollout_id)
    if not reasons:
        return
    page.heading(f"{DECISIONS[decision].capitalize()}: {sum(map(len, reasons.values()))}")
    rows = sorted(reasons.items(), key=lambda pair: -len(pair[1]))
    page.table([(_named(names), said) for said, names in rows[:_SHOWN]])
    _say_more(page, len(rows))


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}"


def _say_more(page: Page, count: int) -> None:
    if count > _SHOWN:
        page.line(f"and {count - _SHOWN} more; out=FOLDER gets all")


def _count(rollouts: Sequence[str]) -> str:
    return f"{len(rollouts)} failure{'' if len(rollouts) == 1 else 's'}"


def _file_name(trace_id: str) -> str:
    """Return a file name for a trace: its own where that is a plain word, else with a hash."""
    if _SAFE.fullmatch(trace_id):
        return trace_id
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", trace_id).strip("-")[:60]
    return f"{plain or 'trace'}-{content_hash(trace_id)[:8]}"
