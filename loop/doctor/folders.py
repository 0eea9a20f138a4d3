"""The folder of runs: room, whether it can be written, whether SQLite works there, and whether the
rounds in it are whole.

The real write goes to a folder of its own, which is removed again; runs are only read.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from components.durable import open_database, transaction
from components.errors import LedgerError
from loop.config import STORE_FOLDER
from loop.doctor.check import Check, Level, graded
from loop.ledger import Ledger
from loop.ledger_files import why_unwritable

LEAST_BYTES = 200 * 2**20
"""Less would end a round of moderate size in its middle."""
WANTED_BYTES = 2 * 2**30
_GIB = 2**30


def check_folders(runs_dir: str) -> list[Check]:
    """Return the checks of a folder of runs, which need not be there yet."""
    place = Path(runs_dir)
    why = why_unwritable(place)
    if why:
        return [Check("runs_dir", Level.FAIL, why, "set runs_dir to a folder of your own")]
    while not place.exists():
        place = place.parent
    return [_check_room(place), _check_database(place), check_rounds(Path(runs_dir))]


def _check_room(place: Path) -> Check:
    free = shutil.disk_usage(place).free
    return graded(
        "disk",
        f"{free / _GIB:.1f} GiB free at {place.resolve()}",
        fails=free < LEAST_BYTES,
        warns=free < WANTED_BYTES,
        mend="make room, or set runs_dir to a disk with more",
    )


def _check_database(place: Path) -> Check:
    """Write a row durably and read it back, the way rounds do."""
    mend = "set runs_dir to a local disk: network file systems often cannot do this"
    try:
        with tempfile.TemporaryDirectory(prefix=".selvage-doctor-", dir=place) as folder:
            schema = "CREATE TABLE IF NOT EXISTS probe (value INTEGER)"
            with closing(open_database(Path(folder) / "probe.sqlite", schema)) as database:
                with transaction(database, point="doctor"):
                    database.execute("INSERT INTO probe VALUES (7)")
                (mode,) = database.execute("PRAGMA journal_mode").fetchone()
                (value,) = database.execute("SELECT value FROM probe").fetchone()
    except (OSError, sqlite3.Error) as error:
        return Check("sqlite", Level.FAIL, f"cannot write in {place} ({error})", mend)
    return graded(
        "sqlite",
        f"{sqlite3.sqlite_version}, a row was written and read in mode {mode}",
        fails=mode != "wal" or value != 7,
        mend=mend,
    )


def check_rounds(runs_dir: Path) -> Check:
    """Return whether manifests, configurations, units and the chain of rounds are as they were
    written."""
    problems: list[str] = []
    num_runs = num_rounds = num_open = num_new = 0
    for folder in sorted(runs_dir.iterdir()) if runs_dir.is_dir() else []:
        numbers = sorted(
            int(path.name.removeprefix("round-"))
            for path in folder.glob("round-[0-9][0-9][0-9][0-9]")
        )
        if not numbers or folder.name == STORE_FOLDER:
            continue
        num_runs += 1
        ledger = Ledger(runs_dir, folder.name)
        for number in numbers:
            num_rounds += 1
            try:
                num_open += not ledger.is_finished(number)
                if ledger.has_begun(number):
                    ledger.config_of(number)
                    ledger.refuse_lost_units(number)
                else:
                    num_new += 1
            except LedgerError as error:
                problems.append(str(error))
        try:
            ledger.refuse_broken_chain(numbers[-1])
        except LedgerError as error:
            problems.append(str(error))
    problems = list(dict.fromkeys(problems))
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return Check("runs", Level.FAIL, f"{problems[0]}{more}")
    unfinished = f", {num_open} not finished" if num_open else ""
    unfinished += f" ({num_new} of them not begun)" if num_new else ""
    return graded("runs", f"{num_rounds} rounds of {num_runs} runs are whole{unfinished}")
