"""What people decided about patches that wait: a sealed file each, appended and never changed.

A review is made while no round of the run is under way, on the system that the last finished round
left; the next round starts from the system with what was accepted. So a round that was killed and
one that was not see the same reviews. Owns the files, and what waits; the gates are
`attribution.accept`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import Field

from attribution.accept import accepted_system
from components.errors import LedgerError, SynthesisError
from components.records.base import Record, to_json
from components.records.frozen import content_hash
from components.records.patch import Patch
from components.records.system import System
from loop.decided import Decided, Fate, decisions_of
from loop.ledger import Ledger
from loop.ledger_files import damaged, read_sealed, write_sealed

REVIEWS = "reviews"
"""Folder of a run that holds them."""


class Judgement(StrEnum):
    """What a person decided."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"


class Review(Record):
    """One patch that a person decided about."""

    schema_version: int = Field(default=1, ge=1, le=1)
    number: int = Field(ge=1)
    """From 1, in the order in which they were made in the run."""
    round: int = Field(ge=1)
    """Last round that was finished; the next one starts with what is accepted."""
    held_in: int = Field(ge=1)
    """Round that held the patch."""
    judgement: Judgement
    reason: str
    """What the person said; may be empty."""
    decided: Decided
    """The patch; where it is accepted, with the gates as they came out on the system of `round`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A patch that a finished round holds and nobody has decided about."""

    round: int
    """Last round that held it."""
    decided: Decided


def read_reviews(run_folder: Path) -> tuple[Review, ...]:
    """Return a run's reviews in order.

    Raises:
        LedgerError: one is damaged, or one is missing among them.
    """
    found = []
    for number, path in enumerate(sorted((run_folder / REVIEWS).glob("[0-9]*.json")), start=1):
        review = read_sealed(path, Review)
        if path != review_path(run_folder, number) or review.number != number:
            raise damaged(path, f"review {number} is missing before it")
        found.append(review)
    return tuple(found)


def review_path(run_folder: Path, number: int) -> Path:
    """Return the file of a review, whether it is there or not."""
    return run_folder / REVIEWS / f"{number:04d}.json"


def append_review(run_folder: Path, review: Review) -> None:
    """Write a review; it is on disk when this returns. Hold the run's lock around it.

    Raises:
        LedgerError: the file cannot be written, or is there already.
    """
    path = review_path(run_folder, review.number)
    if path.exists():
        raise damaged(path, "another review has this number")
    for leftover in path.parent.glob(".*.tmp"):  # of a process that was killed while it wrote
        leftover.unlink(missing_ok=True)
    write_sealed(path, review, point="review")


def held_patches(ledger: Ledger, last: int) -> dict[str, Waiting]:
    """Return every patch that the finished rounds up to `last` hold, by id, reviewed or not."""
    found: dict[str, Waiting] = {}
    for number in range(1, last + 1):
        with ledger.read_round(number) as folder:
            for item in decisions_of(folder.units):
                if item.fate is Fate.HELD:
                    found[item.patch.patch_id] = Waiting(round=number, decided=item)
    return found


def waiting_patches(ledger: Ledger, last: int) -> dict[str, Waiting]:
    """Return the patches that nobody has decided about, by id, those held first before others."""
    known = {review.decided.patch.patch_id for review in read_reviews(ledger.folder)}
    return {key: item for key, item in held_patches(ledger, last).items() if key not in known}


def review_of(run_folder: Path, patch_id: str) -> Review | None:
    """Return what was decided about a patch; None: nothing yet."""
    reviews = read_reviews(run_folder)
    return next((item for item in reviews if item.decided.patch.patch_id == patch_id), None)


def rejected_changes(run_folder: Path, number: int) -> dict[str, str]:
    """Return the changes that were rejected before a round, by `change_key`, with the reason."""
    return {
        change_key(review.decided.patch): (
            f"a review rejected it: {review.reason}" if review.reason else "a review rejected it"
        )
        for review in read_reviews(run_folder)
        if review.round < number and review.judgement is Judgement.REJECTED
    }


def change_key(patch: Patch) -> str:
    """Return what says that two patches make the same change, whatever their bases."""
    steps = [to_json(step) for step in patch.operations if step.op != "test"]
    return content_hash([patch.artifact, steps])


def accepted_before(run_folder: Path, number: int) -> tuple[Review, ...]:
    """Return the accepted reviews that a round starts with, in order."""
    return tuple(
        review
        for review in read_reviews(run_folder)
        if review.round == number - 1 and review.judgement is Judgement.ACCEPTED
    )


def with_accepted(run_folder: Path, system: System, number: int) -> System:
    """Return the system that a round starts from: with the patches that were accepted before it.

    Args:
        run_folder: folder of the run.
        system: as the round before left it.
        number: the round.

    Raises:
        LedgerError: a review is damaged, or does not fit the system.
    """
    for review in accepted_before(run_folder, number):
        try:
            system = accepted_system(system, review.decided.patch, review.decided.acceptance)
        except SynthesisError as error:
            path = review_path(run_folder, review.number)
            raise LedgerError(
                f"{path} does not fit the system that round {number - 1} left ({error}); restore "
                "the run from a copy, or give run= another name"
            ) from error
    return system
