"""From a name to the page about it: which run, which round, and whether there is such a thing.

Reads only. A round that is under way can be looked into when it is named; otherwise the last one
that is finished counts.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection
from pathlib import Path

from components.errors import ConfigError, LedgerError
from loop.config import STORE_FOLDER, SUBJECTS, ShowConfig
from loop.ledger import Ledger
from loop.plain_page import Page
from loop.show.patch import show_patch
from loop.show.rollout import show_rollout
from loop.show.seen import Seen
from loop.show.service import show_service
from loop.show.task import show_task, show_task_of_set
from loop.show.viewed import of_folder, of_round
from loop.tasks.folder import read_set


def look(config: ShowConfig) -> Page:
    """Return the page about what the configuration names.

    Raises:
        ConfigError: there is no such run, round or name; the line names the nearest.
        LedgerError: what is recorded cannot be read.
    """
    (subject,) = [name for name in SUBJECTS if getattr(config, name) is not None]
    name = getattr(config, subject)
    if subject == "service" and (os.sep in name or "/" in name):
        return show_service(of_folder(Path(name), Path(config.runs_dir)))
    if subject == "task" and (os.sep in name or "/" in name):
        return _task_of_set(Path(name))
    ledger = Ledger(Path(config.runs_dir), config.run)
    number = _round_of(ledger, config)
    with ledger.read_round(number) as folder:
        seen = Seen(run=config.run, number=number, folder=folder)
        _refuse_unknown(ledger, seen, subject, name)
        match subject:
            case "rollout":
                return show_rollout(seen, name, config.stage)
            case "task":
                return show_task(seen, name)
            case "service":
                return show_service(of_round(seen, name))
            case _:
                return show_patch(seen, name)


def _task_of_set(place: Path) -> Page:
    """Return the page of `FOLDER/ID`."""
    system = read_set(place.parent)
    if place.name not in system.tasks:
        raise ConfigError(
            f"there is no task '{place.name}' in {place.parent}; "
            f"{_nearest(place.name, system.tasks)}"
        )
    return show_task_of_set(system, place.name, f"set {place.parent}")


def _round_of(ledger: Ledger, config: ShowConfig) -> int:
    rounds = _rounds(ledger)
    if not rounds:
        runs = Path(config.runs_dir)
        names = [path.name for path in runs.iterdir()] if runs.is_dir() else []
        there = [name for name in sorted(names) if _rounds(Ledger(runs, name))]
        raise ConfigError(
            f"there is no run '{config.run}' in {config.runs_dir}; {_nearest(config.run, there)}"
        )
    if config.round is not None:
        if config.round not in rounds:
            raise ConfigError(
                f"run '{config.run}' has no round {config.round}; set round to one of "
                f"{', '.join(map(str, rounds))}"
            )
        return config.round
    finished = [number for number in rounds if ledger.is_finished(number)]
    if not finished:
        raise LedgerError(
            f"run '{config.run}' has no finished round; add round={rounds[-1]} to look into the "
            "one that is under way"
        )
    return finished[-1]


def _rounds(ledger: Ledger) -> list[int]:
    if ledger.run == STORE_FOLDER:
        return []
    found = ledger.folder.glob("round-[0-9][0-9][0-9][0-9]/manifest.json")
    return sorted(int(path.parent.name.removeprefix("round-")) for path in found)


def _refuse_unknown(ledger: Ledger, seen: Seen, subject: str, name: str) -> None:
    known = seen.known(subject)
    if name in known:
        return
    for number in reversed(_rounds(ledger)):
        if number == seen.number:
            continue
        with ledger.read_round(number) as folder:
            if name in Seen(run=seen.run, number=number, folder=folder).known(subject):
                raise ConfigError(
                    f"{subject} '{name}' is not of round {seen.number}, but of round {number}; "
                    f"add round={number}"
                )
    raise ConfigError(f"there is no {subject} '{name}' in {seen.where}; {_nearest(name, known)}")


def _nearest(name: str, known: Collection[str]) -> str:
    if not known:
        return "there is none at all"
    near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.4)
    words = "the nearest are" if len(near) > 1 else "the nearest is" if near else "there are"
    shown = near or sorted(known)[:3]
    rest = len(known) - len(shown)
    return f"{words} {', '.join(shown)}" + (f" and {rest} more" if rest and not near else "")
