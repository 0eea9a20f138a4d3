"""Tasks by a model: drafts one after another until enough are certified, or nothing more is to be
had for the money.

Owns the order, what is kept for another start, and what ends it. Every exchange is in the set's
`author.jsonl`; a draft that the budget or the endpoint ended is not kept as done, so the same
command goes on with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.model.endpoint import Door, check_endpoint
from components.model.recording import Recording
from components.model.records import StageFigures
from components.records.base import to_json
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.task import RejectedDraft
from components.task.compose import ComposedTask
from components.task.config import TaskConfig
from components.task.duplicates import NearDuplicates
from components.task.model_author.author import ModelTaskAuthor
from components.task.model_author.config import ComposedTaskConfig, ModelTaskAuthorConfig
from components.task.model_author.records import Stage
from components.task.reasons import Reason
from loop.composing import DUPLICATE, Composed, draft_from_json, draft_to_json, with_tasks
from loop.console import Console
from loop.units import UnitLog

EXCHANGES = "author.jsonl"
"""File of a set that holds every exchange with the model."""
STAGE = "tasks"
"""Name under which drafts are recorded."""
_ENDS = frozenset({Reason.BUDGET.value, Reason.ENDPOINT.value})
"""Reasons of drafts that may come out otherwise the next time."""
_MOST_SILENCES = 2
"""Drafts in a row for which the endpoint failed, after which it is not asked any more."""
_NO_EFFECT = frozenset(
    {"base_url", "api_key_env", "timeout_seconds", "max_retries", "replay", "budget"}
)
"""Keys of a model that may differ when a set is gone on with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authored:
    """What came of a model's drafts."""

    composed: Composed
    stages: FrozenDict[str, StageFigures]
    """What the model was asked, by stage; over all starts, unless it was replayed."""
    ended: str
    """What the last draft that was given up said; empty where enough tasks were made."""


def settings_of(task: ComposedTaskConfig) -> dict[str, Any]:
    """Return the keys under `task` that decide what a set holds."""
    values = to_json(task)
    author = values.pop("author")
    if isinstance(task.author, ModelTaskAuthorConfig):
        kept = {key: value for key, value in author.items() if key not in _NO_EFFECT}
        values["author"] = kept
    return values


def author_tasks(
    config: ModelTaskAuthorConfig,
    settings: TaskConfig,
    system: System,
    wanted: int,
    base: int,
    units: UnitLog,
    folder: Path,
    console: Console,
    open_doors: Callable[[ModelTaskAuthorConfig], Door | None] = lambda _config: None,
) -> Authored:
    """Draft until `wanted` tasks are certified, no drafts are left, or the model is of no more use.

    Args:
        config: the model.
        settings: shape of the tasks.
        system: services, and no tasks.
        wanted: how many tasks are to be made.
        base: seed of the first draft; the next has the next number.
        units: drafts that are recorded here are not made again.
        folder: of the set.
        console: where progress is shown.
        open_doors: makes HTTP requests; None: the configured endpoint is asked.

    Raises:
        PolicyError: the endpoint is not there; nothing was asked.
        ConfigError: the recording cannot be used, or holds no answer to a request.
    """
    recording = _recording(config, folder)
    if not recording.is_replay:
        check_endpoint(config)
    author = ModelTaskAuthor(system, settings, config, recording, open_doors(config))
    done, near = units.done(STAGE), NearDuplicates()
    added: list[ComposedTask] = []
    rejected: Counter[str] = Counter()
    drafted = silences = 0
    ended = ""
    for number in range(wanted * settings.max_drafts_per_task):
        if len(added) >= wanted or silences >= _MOST_SILENCES:
            break
        key = f"{number:06d}"
        if key in done:
            with units.reading(STAGE, key):
                draft = draft_from_json(done[key])
        else:
            draft = author.compose(base + number)
            if not (isinstance(draft, RejectedDraft) and draft.reason in _ENDS):
                units.put(STAGE, key, draft_to_json(draft))
        drafted += 1
        if isinstance(draft, RejectedDraft):
            rejected[f"{draft.stage}: {draft.reason}"] += 1
            ended = f"{draft.stage}: {draft.reason}: {draft.detail}"
            silences = silences + 1 if draft.reason == Reason.ENDPOINT.value else 0
            if draft.reason == Reason.BUDGET.value:
                break
            continue
        assert isinstance(draft, ComposedTask)
        silences = 0
        if near.is_one(draft.task):
            rejected[f"{Stage.SUBMIT.value}: {DUPLICATE}"] += 1
            ended = f"{Stage.SUBMIT.value}: {DUPLICATE}: {draft.task.instruction}"
            continue
        near.add(draft.task)
        added.append(draft)
        console.progress(STAGE, len(added), wanted)
    composed = Composed(
        with_tasks(system, added),
        drafted,
        dict(sorted(rejected.items())),
        missing=wanted - len(added),
        added=tuple(item.task.task_id for item in added),
    )
    return Authored(
        composed=composed,
        stages=FrozenDict(dict(sorted(author.stages.items()))),
        ended=ended if composed.missing else "",
    )


def told_short(authored: Authored, wanted: int) -> str:
    """Return what to say where fewer tasks were made than wanted."""
    composed = authored.composed
    counted = Counter(composed.rejected).most_common(3)
    reasons = ", ".join(f"{reason} {count}" for reason, count in counted) or "no drafts"
    last = " ".join(authored.ended.split())[:300]
    may_go_on = authored.ended.split(": ")[1:2] in [[reason] for reason in _ENDS]
    mend = (
        "mend that (the endpoint, or task.author.budget) and run the same command again"
        if may_go_on
        else "name another model, raise task.author.revisions or task.max_drafts_per_task, and set "
        "out to another folder"
    )
    return (
        f"{wanted - composed.missing} of {wanted} tasks were made by the model in "
        f"{composed.drafted} drafts (refused: {reasons}); the last refusal: {last}; {mend}"
    )


def _recording(config: ModelTaskAuthorConfig, folder: Path) -> Recording:
    if config.replay is not None:
        return Recording(Path(config.replay), key="task.author.replay", is_replay=True)
    return Recording(
        folder / EXCHANGES, key="out", mend=f"remove {EXCHANGES}, or set out to another folder"
    )
