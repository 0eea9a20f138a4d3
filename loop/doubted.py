"""References in doubt, as a person is told of them: one entry each.

Nobody owns a reference, so no patch may touch one. What contradicts it, what was therefore not
used, and how to look at it again is all that the loop can say; a person corrects one of the sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from attribution.records import Attribution, EvidenceKind
from loop.decided import Decided

AGREEMENT = "second_reference"
"""Check of a patch that fails where a certificate stands alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubted:
    """One reference that others contradict, or that stands alone."""

    place: str
    statement: str
    """What does not agree, in one sentence."""
    contradicted_by: str
    unused: str
    """What was therefore not done."""
    where: int
    """Rollouts that met it; 0 where it was found by looking at a patch."""
    command: str
    """Shows it again."""


def references_in_doubt(
    run: str,
    number: int,
    attributions: Mapping[str, Attribution],
    decisions: Iterable[Decided] = (),
) -> Sequence[Doubted]:
    """Return the references in doubt of a round, by their places.

    Args:
        run, number: the round, for the commands.
        attributions: its verdicts, by rollout.
        decisions: what became of its patches.
    """
    found: dict[str, Doubted] = {}
    met: dict[str, set[str]] = {}
    for key, judged in sorted(attributions.items()):
        for item in judged.evidence:
            if item.kind is not EvidenceKind.REFERENCE:
                continue
            met.setdefault(item.place, set()).add(key)
            found.setdefault(
                item.place,
                Doubted(
                    place=item.place,
                    statement=str(item.data.get("says", item.statement)),
                    contradicted_by=str(item.data.get("contradicted_by", "other references")),
                    unused=str(item.data.get("unused", "it speaks against nothing")),
                    where=0,
                    command=f"python -m loop attribute run={run} +round={number} rollout={key}",
                ),
            )
    rows = [
        Doubted(
            place=item.patch.place,
            statement=check.detail,
            contradicted_by="the row that is there, by which no run is lost; nothing but the "
            "certificate speaks against it",
            unused=f"the patch {item.patch.patch_id}, which would put the row back",
            where=0,
            command=f"python -m loop show run={run} round={number} patch={item.patch.patch_id}",
        )
        for item in decisions
        if (check := item.acceptance.checks.get(AGREEMENT)) is not None and not check.holds
    ]
    told = {
        **{row.place: row for row in rows},
        **{place: replace(item, where=len(met[place])) for place, item in found.items()},
    }
    return [told[place] for place in sorted(told)]
