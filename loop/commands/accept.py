"""Accept a patch that waits: the next round starts from the system with it.

    python -m loop accept run=default patch=p_3f9a2c

With attribution.accept=review a patch that passes every gate waits, and its round goes on without
it. Here its gates are run again on the system as it is now, and what is decided is on disk before
anything is printed. Refused are a patch that nobody holds, one that is decided already, one whose
base has changed, and one that a gate now stands in the way of. `show patch=ID` shows a patch in
full.
"""

from __future__ import annotations

from loop.reviewing import review_patch
from loop.reviews import Judgement
from loop.verb_configs import ReviewConfig


def main(config: ReviewConfig) -> None:
    """Accept the patch, and say what comes next."""
    review = review_patch(config, Judgement.ACCEPTED)
    patch, acceptance = review.decided.patch, review.decided.acceptance
    kind = patch.component.value
    before, after = acceptance.versions_before[kind][:12], acceptance.versions_after[kind][:12]
    print(
        f"patch {patch.patch_id} is accepted: {len(acceptance.checks)} gates hold, {kind} "
        f"{before} -> {after}"
    )
    print(f"python -m loop evolve run={config.run} +round={review.round + 1} starts with it")
