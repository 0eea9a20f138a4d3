"""Making evidence: one constructor, so that every fact has an id that says the same thing
everywhere.
"""

from __future__ import annotations

from typing import Any

from attribution.records import Evidence, EvidenceKind, Party
from components.records.base import to_json
from components.records.frozen import FrozenDict, content_hash, freeze
from components.records.patch import Patch


def place_of(artifact: str, *parts: str) -> str:
    """Return `artifact#pointer` for keys inside an artifact, escaped as RFC 6901 wants."""
    return f"{artifact}#{pointer_of(*parts)}"


def pointer_of(*parts: str) -> str:
    """Return the JSON Pointer of keys."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def split_place(place: str) -> tuple[str, tuple[str, ...]]:
    """Return artifact and unescaped keys of a place."""
    artifact, _, pointer = place.partition("#")
    parts = pointer.split("/")[1:]
    return artifact, tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def touched_places(patch: Patch) -> list[str]:
    """Return every place that a patch adds, replaces or removes."""
    return [f"{patch.artifact}#{step.path}" for step in patch.operations if step.op != "test"]


def same_place(left: str, right: str) -> bool:
    """Return whether one place is the other, or lies inside it."""
    (one, here), (other, there) = split_place(left), split_place(right)
    shared = min(len(here), len(there))
    return one == other and here[:shared] == there[:shared]


def evidence(
    kind: EvidenceKind,
    party: Party,
    place: str,
    statement: str,
    *,
    against: bool = True,
    task_id: str | None = None,
    rollout_id: str | None = None,
    call_index: int | None = None,
    **data: Any,
) -> Evidence:
    """Return one fact.

    Args:
        kind: the intervention that found it.
        party: whom it speaks of.
        place: where in that party.
        statement: the fact in one sentence.
        against: False when it speaks for the party.
        task_id, rollout_id, call_index: what it was seen on.
        data: what a replay needs, as JSON values.
    """
    draft = Evidence(
        evidence_id="",
        kind=kind,
        party=party,
        against=against,
        place=place,
        statement=statement,
        task_id=task_id,
        rollout_id=rollout_id,
        call_index=call_index,
        data=FrozenDict({key: freeze(value) for key, value in data.items()}),
    )
    return draft.model_copy(update={"evidence_id": "e_" + content_hash(to_json(draft))[:12]})
