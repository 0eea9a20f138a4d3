"""What became of a row that was there already, where a recording shows a second write of its name.

Owns the comparison of two calls of one tool that share a value: whether the second was refused, or
done, and which of their other values later answers showed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from components.environment.recorded.heard import Heard
from components.environment.recorded.values import Shown, named_values

_KEEP, _REPLACE, _REFUSE = "keep", "replace", "refuse"


def again_of(
    tool: str,
    sequences: Sequence[Sequence[Heard]],
    writers: frozenset[str],
    takers: frozenset[str],
) -> dict[str, str]:
    """Return argument -> what a second call with the same value of it did to the row: `keep`,
    `replace` or `refuse`; nothing of what two recordings contradict each other in.

    Args:
        tool: a write.
        sequences: what the server was asked, and answered.
        writers: tools that change state.
        takers: those of them that may take a row away, or its name.
    """
    found: dict[str, set[str]] = {}
    for calls in sequences:
        for shared, verdict in _seen_twice(tool, calls, writers, takers):
            for at in shared:
                found.setdefault(at.rpartition(".")[2], set()).add(verdict)
    return {name: min(verdicts) for name, verdicts in sorted(found.items()) if len(verdicts) == 1}


def _seen_twice(
    tool: str, calls: Sequence[Heard], writers: frozenset[str], takers: frozenset[str]
) -> Iterator[tuple[set[str], str]]:
    """Yield where two calls of a tool share values, with nothing between them that may take the row
    away, and what the second did.
    """
    for first, call in enumerate(calls):
        second = next((n for n in range(first + 1, len(calls)) if calls[n].tool == tool), None)
        if call.tool != tool or not call.is_ok or second is None:
            continue
        old, new = _values(call), _values(calls[second])
        shared = {at for at, values in new.items() if values <= old.get(at, frozenset())}
        between = [other for other in calls[first + 1 : second] if other.tool in takers]
        touched = {value for other in between for _, value in named_values(other.arguments)}
        if not shared or any(new[at] & touched for at in shared):
            continue
        others = {at for at in new if at in old and at not in shared}
        verdict = _verdict(calls[second:], old, new, others, writers)
        if verdict:
            yield shared, verdict


def _verdict(
    calls: Sequence[Heard],
    old: Mapping[str, frozenset[str]],
    new: Mapping[str, frozenset[str]],
    others: set[str],
    writers: frozenset[str],
) -> str:
    """Return what the first of these calls did to a row that was there; empty: nothing says it."""
    if not calls[0].is_ok:
        return _REFUSE if calls[0].is_conflict else ""
    if not others:
        return _KEEP
    for call in calls[1:]:
        if call.tool in writers:
            return ""
        if call.is_ok:
            shown = Shown(call.body)
            was, has = (
                any(value in shown for at in others for value in values[at])
                for values in (old, new)
            )
            if was is not has:
                return _KEEP if was else _REPLACE
    return ""


def _values(call: Heard) -> dict[str, frozenset[str]]:
    """Return the values of a call by their places; in a list of records a place has several."""
    found: dict[str, set[str]] = {}
    for at, value in named_values(call.arguments):
        found.setdefault(at, set()).add(value)
    return {at: frozenset(values) for at, values in found.items()}
