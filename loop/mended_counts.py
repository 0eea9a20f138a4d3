"""What became of a round's patches, in counts: gates, guard, regression set, and what is left.

Counts what other stages recorded, and decides nothing.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from attribution.records import Decision, GuardVerdict, Party
from loop.blame import Blamed
from loop.context import RoundContext
from loop.decided import Fate
from loop.grow import reviewed_in
from loop.guard_records import GuardRound, Undone
from loop.ledger import Ledger
from loop.repair import Repaired
from loop.reviews import held_patches, read_reviews
from loop.rollouts import Rolled
from loop.summary import GuardCounts, PatchCounts, RegressionCounts


def patch_counts(
    context: RoundContext, blamed: Blamed, repaired: Repaired, record: GuardRound
) -> PatchCounts:
    """Return what became of the candidate patches."""
    decisions = repaired.decisions
    fates = Counter(item.fate for item in decisions)
    gone = {item.patch_id for item in record.rollbacks if item.how is not Undone.STANDS}
    mended = {
        item.mode_id
        for item in decisions
        if item.acceptance.accepted and item.patch.patch_id not in gone
    }
    modes = [mode for mode in blamed.modes if mode.party is not Party.POLICY]
    num_open = sum(mode.mode_id not in mended for mode in modes)
    most = context.config.attribution.max_patches
    reviewed = reviewed_in(context.folder.stage_result("grow"))
    return PatchCounts(
        proposed=len(decisions),
        accepted=fates[Fate.KEPT],
        rolled_back=fates[Fate.ROLLED_BACK],
        held=tuple(item.patch.patch_id for item in decisions if item.fate is Fate.HELD),
        reviewed=tuple(review.decided.patch.patch_id for review in reviewed),
        taken_back=tuple(it.patch_id for it in record.rollbacks if it.patch_id in gone),
        left_harmful=tuple(it.patch_id for it in record.rollbacks if it.how is Undone.STANDS),
        is_spent=bool(num_open) and most is not None and len(decisions) >= most,
        open_modes=num_open,
    )


def guard_counts(record: GuardRound) -> GuardCounts:
    """Return the patches that the guard looked at, by what it says of them."""
    found = Counter(item.verdict for item in (*record.guards, *record.earlier))
    whole = record.whole
    return GuardCounts(
        kept=found[GuardVerdict.KEPT],
        harmful=found[GuardVerdict.HARMFUL],
        too_few=found[GuardVerdict.TOO_FEW],
        is_whole_harmful=whole is not None and whole.verdict is GuardVerdict.HARMFUL,
    )


def regression_counts(record: GuardRound) -> RegressionCounts:
    """Return what binds, what came and what went."""
    return RegressionCounts(
        live=record.live, pinned=len(record.pinned), retired=len(record.retirements)
    )


def nothing_left(context: RoundContext, before: Rolled, blamed: Blamed, record: GuardRound) -> str:
    """Return why there is nothing left to mend; empty where something is found or open.

    Open is what a verdict leaves undecided or unjudged, what waits for a person, and what the guard
    took back or finds harmful.
    """
    verdicts = [item.verdict for item in blamed.attributions.values()]
    unclear = (Decision.UNDECIDED, Decision.NOT_JUDGED)
    if any(mode.party is not Party.POLICY for mode in blamed.modes) or record.rollbacks:
        return ""
    if any(verdict.decision in unclear for verdict in verdicts) or _waits(context):
        return ""
    failed = sum(item.passed is not True for item in before.scored.values())
    audited = len(verdicts) - failed
    return (
        f"{failed} of {len(before.scored)} rollouts failed, each by the policy's own fault, and "
        f"nothing speaks against the {audited} audited successes"
    )


def _waits(context: RoundContext) -> bool:
    """Return whether a patch of an earlier round waits for a person, as this round began."""
    run: Path = context.folder.path.parent
    last = context.number - 1
    known = {it.decided.patch.patch_id for it in read_reviews(run) if it.round <= last}
    return bool(held_patches(Ledger(run.parent, run.name), last).keys() - known)
