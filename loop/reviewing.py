"""A person's decision about a patch that waits: what is refused, the gates again, the record.

A review is one durable append. Whoever is killed before it has decided nothing, and whoever is
killed after it has decided: the same command then says that the patch is decided already.
"""

from __future__ import annotations

from attribution.accept import Example, decide
from attribution.records import FailureMode
from attribution.swap import body_of
from components.errors import ConfigError, LedgerError, SynthesisError
from components.records.frozen import content_hash
from components.records.system import System
from components.records.trajectory import ScoredTrajectory, Trajectory
from loop.decided import Decided, decisions_of
from loop.guard_records import live_entries
from loop.ledger import Ledger, RoundFolder, load_system
from loop.looking import nearest_names, round_of
from loop.reviews import (
    Judgement,
    Review,
    Waiting,
    append_review,
    read_reviews,
    review_of,
    waiting_patches,
    with_accepted,
)
from loop.verb_configs import ReviewConfig

_SHOWN = 3
"""Patches that one line lists."""


def review_patch(config: ReviewConfig, judgement: Judgement) -> Review:
    """Decide about a patch that waits, and record it.

    Args:
        config: which patch of which run, and why.
        judgement: what is decided.

    Raises:
        ConfigError: the patch is not there, does not wait, is decided already, no longer fits, or
            no longer passes its gates.
        LedgerError: a round is under way, or a file cannot be read or written.
    """
    ledger, _ = round_of(config.runs_dir, config.run, None)
    with ledger.locked():
        last = _last_finished(ledger)
        waiting = _waiting(ledger, last, config.patch, judgement)
        decided = waiting.decided.model_copy(update={"is_held": False})
        if judgement is Judgement.ACCEPTED:
            decided = _gated(ledger, last, waiting)
        review = Review(
            number=len(read_reviews(ledger.folder)) + 1,
            round=last,
            held_in=waiting.round,
            judgement=judgement,
            reason=config.reason or "",
            decided=decided,
        )
        append_review(ledger.folder, review)
    return review


def _last_finished(ledger: Ledger) -> int:
    """Return the last finished round, after refusing one that is under way."""
    number = ledger.next_round()
    if ledger.has_begun(number):
        raise LedgerError(
            f"round {number} of run '{ledger.run}' is under way; a patch is decided between "
            f"rounds: finish it first with python -m loop evolve run={ledger.run} +round={number}"
        )
    return number - 1


def _waiting(ledger: Ledger, last: int, name: str | None, judgement: Judgement) -> Waiting:
    """Return the patch that is meant, after refusing one that does not wait."""
    waiting = waiting_patches(ledger, last)
    if name is None:
        listed = ", ".join(waiting) or "none does"
        example = next(iter(waiting), "ID")
        verb = "accept" if judgement is Judgement.ACCEPTED else "reject"
        raise ConfigError(
            f"patch must name one that waits in run '{ledger.run}' ({listed}); write "
            f"python -m loop {verb} run={ledger.run} patch={example}"
        )
    if name in waiting:
        return waiting[name]
    review = review_of(ledger.folder, name)
    if review is not None:
        raise ConfigError(
            f"patch '{name}' is {review.judgement.value} already (review {review.number} of run "
            f"'{ledger.run}'); a review is not changed"
        )
    for number in range(last, 0, -1):
        with ledger.read_round(number) as folder:
            for item in decisions_of(folder.units):
                if item.patch.patch_id == name:
                    raise ConfigError(
                        f"patch '{name}' does not wait: round {number} has it as "
                        f"{item.fate.value}; see python -m loop show run={ledger.run} "
                        f"round={number} patch={name}"
                    )
    raise ConfigError(
        f"no patch '{name}' waits in run '{ledger.run}'; {nearest_names(name, waiting)}"
    )


def _gated(ledger: Ledger, last: int, waiting: Waiting) -> Decided:
    """Return the patch with its gates run again on the system as it is now.

    Raises:
        ConfigError: it does not fit, or a gate stands in its way.
    """
    system = current_system(ledger, last)
    patch = waiting.decided.patch
    try:
        base = content_hash(body_of(system, patch.artifact))
    except SynthesisError:
        base = ""
    if base != patch.base_hash:
        raise ConfigError(
            f"patch '{patch.patch_id}' no longer fits: it was made for {patch.artifact} "
            f"{patch.base_hash[:12]}, which is {base[:12] or 'gone'} now; "
            f"{_before(ledger, last, waiting)}"
        )
    with ledger.read_round(waiting.round) as folder:
        examples = _examples(folder, waiting.decided)
    with ledger.read_round(last) as folder:
        pinned = live_entries(folder, last + 1)
    acceptance = decide(system, patch, examples, pinned)
    if not acceptance.accepted:
        raise ConfigError(
            f"patch '{patch.patch_id}' does not pass its gates on the system as it is now "
            f"({acceptance.reason}); {_before(ledger, last, waiting)}"
        )
    return waiting.decided.model_copy(update={"acceptance": acceptance, "is_held": False})


def current_system(ledger: Ledger, last: int) -> System:
    """Return the system that the round after `last` starts from."""
    with ledger.read_round(last) as folder:
        system = load_system(folder.store, folder.system_version())
    return with_accepted(ledger.folder, system, last + 1)


def _before(ledger: Ledger, last: int, waiting: Waiting) -> str:
    """Return what to do: patches that were held before this one may have to be accepted first."""
    patch_id = waiting.decided.patch.patch_id
    earlier = []
    for key, item in waiting_patches(ledger, last).items():
        if key == patch_id:
            break
        if item.round == waiting.round:
            earlier.append(key)
    reject = f"reject it with python -m loop reject run={ledger.run} patch={patch_id}"
    if not earlier:
        return reject
    return (
        f"it was tried after {', '.join(earlier)}: accept what you want of these first, or {reject}"
    )


def _examples(folder: RoundFolder, decided: Decided) -> list[Example]:
    """Return the rollouts of the failure mode that a patch was made for."""
    result = folder.stage_result("attribute")
    modes = (FailureMode.model_validate(body) for body in result["modes"])
    names = next((mode.rollouts for mode in modes if mode.mode_id == decided.mode_id), ())
    groups = folder.units.record_lists("rollout.score", ScoredTrajectory).values()
    scored = {item.rollout_id: item for group in groups for item in group}
    trajectories = folder.units.records("rollout", Trajectory)
    return [Example(trajectory=trajectories[key], scored=scored[key]) for key in names]
