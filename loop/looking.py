"""From the words of a command to a round that is there, with the nearest names where there is none.

Reads only. A round that is under way can be looked into when it is named; otherwise the last one
that is finished counts.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path

from components.errors import ConfigError, LedgerError
from loop.config import STORE_FOLDER
from loop.ledger import Ledger
from loop.show.seen import Seen


def round_of(runs_dir: str, run: str, number: int | None) -> tuple[Ledger, int]:
    """Return a run's ledger and the round that is meant.

    Args:
        runs_dir: folder of all runs.
        run: name of the run.
        number: the round; None: the last that is finished.

    Raises:
        ConfigError: there is no such run or round.
        LedgerError: no round is named, and none is finished.
    """
    ledger = Ledger(Path(runs_dir), run)
    there = rounds_of(ledger)
    if not there:
        runs = Path(runs_dir)
        names = [path.name for path in runs.iterdir()] if runs.is_dir() else []
        others = [name for name in sorted(names) if rounds_of(Ledger(runs, name))]
        raise ConfigError(f"there is no run '{run}' in {runs_dir}; {nearest_names(run, others)}")
    if number is not None:
        if number not in there:
            raise ConfigError(
                f"run '{run}' has no round {number}; set round to one of "
                f"{', '.join(map(str, there))}"
            )
        return ledger, number
    finished = [earlier for earlier in there if ledger.is_finished(earlier)]
    if not finished:
        raise LedgerError(
            f"run '{run}' has no finished round; add round={there[-1]} to look into the "
            "one that is under way"
        )
    return ledger, finished[-1]


def played_round_of(runs_dir: str, run: str, number: int | None) -> tuple[Ledger, int]:
    """Return a run's ledger and a round that is finished and in which something was played.

    Raises:
        ConfigError: there is no such run or round, or nothing was played in it.
        LedgerError: it is not finished.
    """
    ledger, found = round_of(runs_dir, run, number)
    if not ledger.is_finished(found):
        raise LedgerError(
            f"round {found} of run '{run}' is not finished; run python -m loop evolve "
            f"run={run} +round={found} first"
        )
    if found == 0:
        raise ConfigError(f"nothing is played in round 0 of run '{run}'; set +round=1 or later")
    return ledger, found


def rounds_of(ledger: Ledger) -> list[int]:
    """Return the numbers of the rounds that there are of a run, rising."""
    if ledger.run == STORE_FOLDER:
        return []
    found = ledger.folder.glob("round-[0-9][0-9][0-9][0-9]/manifest.json")
    return sorted(int(path.parent.name.removeprefix("round-")) for path in found)


def refuse_unknown(ledger: Ledger, seen: Seen, subject: str, name: str) -> None:
    """Raise unless a round knows a name.

    Args:
        ledger: of the run.
        seen: the round.
        subject: kind of thing (`rollout`, `task`, `service`, `patch`).
        name: its name.

    Raises:
        ConfigError: names the round that knows it, or the nearest names.
    """
    known = seen.known(subject)
    if name in known:
        return
    for number in reversed(rounds_of(ledger)):
        if number == seen.number:
            continue
        with ledger.read_round(number) as folder:
            if name in Seen(run=seen.run, number=number, folder=folder).known(subject):
                raise ConfigError(
                    f"{subject} '{name}' is not of round {seen.number}, but of round {number}; "
                    f"add round={number}"
                )
    raise ConfigError(
        f"there is no {subject} '{name}' in {seen.where}; {nearest_names(name, known)}"
    )


def nearest_names(name: str, known: Collection[str]) -> str:
    """Return in words which names are most like one, or which there are."""
    if not known:
        return "there is none at all"
    near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.4)
    words = "the nearest are" if len(near) > 1 else "the nearest is" if near else "there are"
    shown = near or sorted(known)[:3]
    rest = len(known) - len(shown)
    return f"{words} {', '.join(shown)}" + (f" and {rest} more" if rest and not near else "")
