"""From paths to the rounds that can be compared, and a line on each that cannot.

A path is a round's folder, or a run's: then its last finished round counts. A round is read with
the same care as when it is resumed: what is damaged is left out, never counted. Nothing is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from components.errors import ConfigError, LedgerError
from components.records.frozen import thaw
from components.records.trajectory import ScoredTrajectory
from loop.compare.intervals import Outcomes
from loop.config import STORE_FOLDER
from loop.ledger import Ledger, RoundFolder
from loop.ledger_files import damaged, flat_keys, read_object
from loop.summary import RoundSummary, pass_rate
from loop.verbs import nearest

_ROUND = re.compile(r"round-(\d{4})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRound:
    """One finished round."""

    label: str
    """A letter, or AA and so on."""
    path: str
    """As it was given, down to the round."""
    settings: dict[str, Any]
    """Dotted key -> value."""
    summary: RoundSummary
    before: Outcomes
    """First pass, of the tasks that are still live after the patches."""
    after: Outcomes
    """Second pass."""
    stages: tuple[str, ...]
    """Names of its stages, in order."""

    def has_seeds_of(self, other: ComparedRound) -> bool:
        """Return whether a rollout of one task and index has the same seed in both rounds."""
        return (self.summary.seed, self.summary.round) == (other.summary.seed, other.summary.round)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The rounds that can be compared, in the order of the paths."""

    rounds: tuple[ComparedRound, ...]
    left_out: tuple[str, ...]
    """One line on each path that is left out."""


def find_rounds(paths: Sequence[str]) -> Found:
    """Read the rounds that the paths name; one that is named twice counts once.

    Raises:
        ConfigError: a path is not there, or none of them can be compared.
    """
    rounds: list[ComparedRound] = []
    left_out: list[str] = []
    seen: set[Path] = set()
    for text in paths:
        path = Path(os.path.abspath(text))
        if path.name == STORE_FOLDER and not list(path.glob("round-*")):
            continue
        _refuse_missing(text, path)
        try:
            ledger, number, note = _round_at(path)
            if note:
                left_out.append(f"{text}: {note}")
            place = ledger.round_path(number)
            if place not in seen:
                seen.add(place)
                shown = text if place == path else str(Path(text) / place.name)
                rounds.append(_read(ledger, number, _label(len(rounds)), shown))
        except LedgerError as error:
            left_out.append(f"{text}: {' '.join(str(error).split())}")
    if not rounds:
        reasons = "; ".join(left_out) or "no path names a run"
        raise ConfigError(f"there is nothing to compare ({reasons}); name finished rounds")
    return Found(rounds=tuple(rounds), left_out=tuple(left_out))


def _refuse_missing(text: str, path: Path) -> None:
    if path.exists():
        return
    if path.is_symlink():
        raise ConfigError(
            f"'{text}' is a link to {os.readlink(path)}, which is not there; mend the link, or "
            "name a folder under runs_dir"
        )
    there = [item.name for item in path.parent.iterdir()] if path.parent.is_dir() else []
    near = nearest(path.name, there)
    mend = f"did you mean {Path(text).parent / near}?" if near else "name a folder under runs_dir"
    raise ConfigError(f"there is no run or round '{text}'; {mend}")


def _round_at(path: Path) -> tuple[Ledger, int, str]:
    """Return a round's ledger and number, and what is to be said of rounds after it."""
    match = _ROUND.fullmatch(path.name)
    if match is not None:
        ledger, number = Ledger(path.parent.parent, path.parent.name), int(match[1])
        if ledger.manifest(number) is None:
            raise LedgerError("it holds no round")
        if not ledger.is_finished(number):
            raise LedgerError(f"round {number} is not finished")
        if number == 0:
            raise LedgerError("round 0 is the seed system and rolls nothing out")
        return ledger, number, ""
    ledger = Ledger(path.parent, path.name)
    numbers = sorted(
        int(found[1]) for item in path.glob("round-*") if (found := _ROUND.fullmatch(item.name))
    )
    if not numbers:
        raise LedgerError("it holds no round")
    finished = [number for number in numbers if number and ledger.is_finished(number)]
    if not finished:
        raise LedgerError("no round after the seed system is finished")
    last, newest = finished[-1], numbers[-1]
    note = "" if newest == last else f"round {newest} is not finished; round {last} counts"
    return ledger, last, note


def _read(ledger: Ledger, number: int, label: str, shown: str) -> ComparedRound:
    path = ledger.round_path(number) / "summary.json"
    mend = "give the command of that round again: it is written anew"
    with ledger.read_round(number) as folder:
        settings = dict(flat_keys(ledger.config_of(number)))
        try:
            summary = RoundSummary.model_validate_json(_text(path, mend))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise damaged(path, f"{place}: {first['msg']}", mend) from error
        after = _outcomes(folder, "reeval")
        live = {task for task, _index in after}
        stages = tuple(stage.name for stage in folder.manifest.stages)
        before = {
            key: value for key, value in _outcomes(folder, "rollout").items() if key[0] in live
        }
    told = summary.reeval
    rates = [pass_rate(list(side.values())) for side in (before, after)]
    if told is None or [told.before, told.after] != rates:
        raise damaged(path, "its pass rates are not those of the recorded scores", mend)
    return ComparedRound(
        label=label,
        path=shown,
        settings=settings,
        summary=summary,
        before=before,
        after=after,
        stages=stages,
    )


def _text(path: Path, mend: str) -> str:
    read_object(path, mend)
    return path.read_text(encoding="utf-8")


def _outcomes(folder: RoundFolder, stage: str) -> dict[tuple[str, int], bool | None]:
    result = folder.stage_result(stage)
    if result is None:
        raise damaged(folder.path / "manifest.json", f"there is no stage {stage}")
    folder.units.refuse_other_units(f"{stage}.score", thaw(result["scores"]))
    groups = folder.units.record_lists(f"{stage}.score", ScoredTrajectory).values()
    scored = [item for group in groups for item in group]
    return {(item.task_id, int(item.rollout_id.rpartition("-")[2])): item.passed for item in scored}


def _label(count: int) -> str:
    letters = ""
    count += 1
    while count:
        count, rest = divmod(count - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
