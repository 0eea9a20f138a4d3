"""The replay of one recorded rollout with one component swapped, and what it says.

Reads what a round has recorded and writes nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from attribution.interventions.exchange import (
    Decisive,
    Exchanged,
    decisive,
    replay_exchanged,
    turn_of_call,
    with_component,
)
from attribution.interventions.runs import what_was_read, what_was_shown
from components.artifacts import component_versions
from components.errors import BoundaryError, ConfigError
from components.records.patch import Component
from components.records.trajectory import ScoredTrajectory, Trajectory, Turn
from loop.ledger import Ledger
from loop.plain_page import Page
from loop.report.changes import value_text
from loop.show.rollout import outcome_of, rollout_of
from loop.show.seen import Seen
from loop.verb_configs import ReplayConfig
from loop.versions import Version, find_version


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A replay, and what it is held against."""

    exchanged: Exchanged
    scored: ScoredTrajectory | None
    """The recorded result."""
    before: str
    """Hash of the component that was swapped out; empty where none was."""
    version: Version | None
    """What was swapped in; None: nothing was."""


def replay_rollout(ledger: Ledger, seen: Seen, config: ReplayConfig) -> Replayed:
    """Replay the rollout that the configuration names.

    Raises:
        ConfigError: an unknown version or call, or a version that the rollout cannot be played on.
        LedgerError: what is recorded cannot be read.
    """
    trajectory, scored = rollout_of(seen, config.stage, config.rollout)
    said = _said(trajectory, config.from_call)
    system = seen.before if config.stage == "rollout" else seen.after
    version, other, before = None, system, ""
    for component in Component:
        named = getattr(config.swap, component.value)
        if named is not None:
            version = find_version(ledger, component, named)
            other = with_component(system, component, version.system)
            before = component_versions(system)[component.value]
    try:
        exchanged = replay_exchanged(system, other, trajectory, said)
    except BoundaryError as error:
        told = "" if version is None else f" with {version.component.value} {version.digest[:12]}"
        raise ConfigError(
            f"rollout {config.rollout} cannot be played{told} ({error}); swap in another version"
        ) from error
    return Replayed(exchanged=exchanged, scored=scored, before=before, version=version)


def _said(trajectory: Trajectory, from_call: int | None) -> int | None:
    if from_call is None:
        return None
    turn = turn_of_call(trajectory, from_call)
    if turn is None:
        count = sum(len(turn.calls) for turn in trajectory.turns)
        raise ConfigError(
            f"from_call must be 0 to {count} (got {from_call}): rollout {trajectory.rollout_id} "
            f"makes {count} calls; set from_call={count} or drop it"
        )
    return turn


def replay_page(seen: Seen, replayed: Replayed) -> Page:
    """Return the page: turn by turn, the first difference, the outcome and why."""
    exchanged, version = replayed.exchanged, replayed.version
    recorded = exchanged.recorded
    page = Page()
    page.heading(f"Replay of rollout {recorded.rollout_id} ({seen.where})")
    swapped = "nothing: the system as it was"
    if version is not None:
        swapped = (
            f"{version.component.value} {replayed.before[:12]} -> {version.digest[:12]} "
            f"(round {version.round})"
        )
        swapped += ", which is the same" if version.digest == replayed.before else ""
    num_oracle = len(exchanged.other.trajectory.turns) - exchanged.said
    page.table(
        [
            ("swapped", swapped),
            ("said again", f"{exchanged.said} of {len(recorded.turns)} recorded turns"),
            ("then", f"the oracle, {num_oracle} turns" if num_oracle > 0 else "nothing more"),
        ]
    )
    if exchanged.unlike_record_at is not None:
        page.line(
            f"turn {exchanged.unlike_record_at} comes out otherwise than recorded although nothing "
            "is swapped: the program is not the one that played it"
        )
    page.heading("Turn by turn, against the same replay with nothing swapped")
    page.table([("turn", "who", "calls", "what was shown"), *_rows(exchanged)])
    _show_difference(page, exchanged)
    _show_outcome(page, replayed)
    return page


def _rows(exchanged: Exchanged) -> list[tuple[str, str, str, str]]:
    same, other = exchanged.same.trajectory, exchanged.other.trajectory
    is_same = (same.system_text, same.user_text) == (other.system_text, other.user_text)
    rows = [("start", "", "", "the same" if is_same else "differs")]
    number = 0
    for index in range(max(len(same.turns), len(other.turns))):
        left, right = _at(same.turns, index), _at(other.turns, index)
        turn = right or left
        assert turn is not None
        calls = [f"{number + count} {call.name}" for count, call in enumerate(turn.calls)]
        number += len(turn.calls)
        who = "recorded" if index < exchanged.said else "oracle"
        rows.append((str(index), who, "; ".join(calls) or "none", _compared(left, right)))
    return rows


def _compared(left: Turn | None, right: Turn | None) -> str:
    if left is None:
        return "only with the swap"
    if right is None:
        return "only without the swap"
    if what_was_read(left) != what_was_read(right):
        return "differs: other calls"
    return "the same" if what_was_shown(left) == what_was_shown(right) else "differs"


def _show_difference(page: Page, exchanged: Exchanged) -> None:
    index = exchanged.differs_at
    if index is None:
        return
    same, other = exchanged.same.trajectory, exchanged.other.trajectory
    page.heading("First difference: " + ("the first messages" if index < 0 else f"turn {index}"))
    if index < 0:
        before = [*same.system_text.splitlines(), *same.user_text.splitlines()]
        after = [*other.system_text.splitlines(), *other.user_text.splitlines()]
    else:
        before, after = _said_and_shown(same, index), _said_and_shown(other, index)
    for line in list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:]:
        page.verbatim("..." if line.startswith("@@") else line)


def _said_and_shown(trajectory: Trajectory, index: int) -> list[str]:
    turn = _at(trajectory.turns, index)
    if turn is None:
        return [f"(the run has ended: {trajectory.stop_reason.value})"]
    calls = [f"{name}({value_text(arguments)})" for name, arguments in what_was_read(turn)]
    return [*calls, *(line for text in what_was_shown(turn) for line in text.splitlines())]


def _show_outcome(page: Page, replayed: Replayed) -> None:
    exchanged = replayed.exchanged
    words = {True: "passed", False: "failed", None: "unscored"}
    same, other = exchanged.same, exchanged.other
    page.heading("Outcome")
    page.line(
        f"{_recorded_outcome(replayed)} -> {words[other.passed]} "
        f"({other.trajectory.stop_reason.value})"
    )
    page.line(f"with nothing swapped: {words[same.passed]} ({same.trajectory.stop_reason.value})")
    page.line(_why(replayed))
    changed = [
        (name, _value(same.criteria.get(name)), _value(score), getattr(score, "detail", ""))
        for name, score in sorted(other.criteria.items())
        if _value(score) != _value(same.criteria.get(name))
    ]
    if changed:
        page.table([("criterion", "without", "with the swap", "detail"), *changed])
    if other.trajectory.failure is not None:
        failure = other.trajectory.failure
        page.line(f"the {failure.boundary} boundary broke: {failure.message}")


def _recorded_outcome(replayed: Replayed) -> str:
    return f"recorded: {outcome_of(replayed.scored)}"


def _why(replayed: Replayed) -> str:
    exchanged = replayed.exchanged
    place = (
        "nothing that was read or shown differs"
        if exchanged.differs_at is None
        else "the first messages differ already"
        if exchanged.differs_at < 0
        else f"the first difference is in turn {exchanged.differs_at}"
    )
    found = decisive(exchanged, replayed.scored)
    if replayed.version is None and found is Decisive.NOTHING:
        return "why: nothing is swapped, and the run ends as it was recorded"
    match found:
        case Decisive.EXCHANGE:
            return f"why: the swap makes the difference, all else alike; {place}"
        case Decisive.ORACLE:
            return (
                f"why: who acts makes the difference, not the swap: the oracle goes on from turn "
                f"{exchanged.said} in both; {place}"
            )
        case Decisive.NOTHING:
            return f"why: the swap does not decide the outcome; {place}"


def _value(score: object) -> str:
    value = getattr(score, "value", None)
    return {None: "unscored", 1.0: "met", 0.0: "not met"}.get(value, str(value))


def _at(turns: Sequence[Turn], index: int) -> Turn | None:
    return turns[index] if index < len(turns) else None
