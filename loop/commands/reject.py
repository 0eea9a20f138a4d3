"""Reject a patch that waits: it is recorded, and the same change is not held again.

    python -m loop reject run=default patch=p_3f9a2c reason='the limit is ours to choose'

The reason stands in the report of every round that would have proposed the change again.
"""

from __future__ import annotations

from loop.reviewing import review_patch
from loop.reviews import Judgement
from loop.verb_configs import ReviewConfig


def main(config: ReviewConfig) -> None:
    """Reject the patch, and say so."""
    review = review_patch(config, Judgement.REJECTED)
    print(f"patch {review.decided.patch.patch_id} is rejected; it is not held again")
