"""What an attribution that was run again says: to a person, and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

from attribution.records import Decision, FailureMode, Party
from components.records.base import to_json
from loop.doubted import references_in_doubt
from loop.plain_page import Page
from loop.reattribute import Again, Recorded
from loop.show.rollout import DECISIONS, evidence_row
from loop.show.seen import Seen


def again_page(seen: Seen, again: Again) -> Page:
    """Return the page: failure modes with an example each, then everything that is in none."""
    page = Page()
    equal = sum(state is Recorded.EQUAL for state in again.verdicts.values())
    page.heading(f"Attribution of {seen.where}")
    page.line(f"{len(again.verdicts)} rollouts judged again; {equal} verdicts as recorded")
    for key, state in again.verdicts.items():
        if state is not Recorded.EQUAL:
            page.line(f"{key}: {state.value}")
    for mode in again.lost_modes:
        page.line(f"{mode.party.value} {mode.place}: recorded, and NOT found again")
    for number, mode in enumerate(again.modes, start=1):
        _show_mode(page, again, number, mode)
    _show_doubts(page, seen, again)
    _show_others(page, again)
    return page


def _show_mode(page: Page, again: Again, number: int, mode: FailureMode) -> None:
    page.heading(f"{number}. {mode.party.value} {mode.place}")
    page.line(mode.statement)
    state = again.mode_states[mode.mode_id].value
    count = len(mode.rollouts)
    page.line(
        f"{count} rollout{'' if count == 1 else 's'}, lost reward {mode.lost_reward:.2f}; {state}"
    )
    if not mode.example:
        page.line("it cost no rollout anything")
        return
    verdict = again.attributions[mode.example].verdict
    sure = verdict.blamed[0].confidence
    false_pass = ", a false pass" if verdict.is_false_pass else ""
    page.line(f"smallest example: {mode.example}, confidence {sure:.2f}{false_pass}")
    facts = again.evidence_of(mode.example)
    own = [item for item in facts if item.place == mode.place]
    page.table([evidence_row(item) for item in own], 4)
    if len(facts) > len(own):
        page.line(f"and {len(facts) - len(own)} facts of other places: show rollout=ID has all", 4)


def _show_doubts(page: Page, seen: Seen, again: Again) -> None:
    """Add the references that others contradict: they blame nobody, and only a person can tell
    which side is wrong.
    """
    decisions = seen.decisions if len(again.attributions) > 1 else ()
    doubts = references_in_doubt(seen.run, seen.number, again.attributions, decisions)
    if doubts:
        page.heading("References in doubt")
    for item in doubts:
        page.line(item.place)
        page.line(item.statement, 4)
        page.line(f"contradicted by: {item.contradicted_by}", 4)
        page.line(f"so not used: {item.unused}", 4)
        page.line(f"look again: {item.command}", 4)


def _show_others(page: Page, again: Again) -> None:
    """Add the policy's own failures, what is undecided, and what was found sound."""
    rows: dict[Decision, list[tuple[str, ...]]] = {}
    for key, found in again.attributions.items():
        verdict, state = found.verdict, again.verdicts[key].value
        if verdict.decision is Decision.BLAMED and verdict.blamed[0].party is Party.POLICY:
            said = next((i.statement for i in found.evidence if i.party is Party.POLICY), "")
            rows.setdefault(Decision.BLAMED, []).append((key, verdict.blamed[0].place, state, said))
        elif verdict.decision in (Decision.UNDECIDED, Decision.NOT_JUDGED):
            said = f"would decide: {verdict.would_decide}" if verdict.would_decide else ""
            rows.setdefault(verdict.decision, []).append((key, state, said))
    if rows.get(Decision.BLAMED):
        page.heading("The policy's own failures")
        page.table(rows[Decision.BLAMED])
    for decision in (Decision.UNDECIDED, Decision.NOT_JUDGED):
        if rows.get(decision):
            page.heading(DECISIONS[decision].capitalize())
            page.table(rows[decision])
    sound = sum(i.verdict.decision is Decision.CLEARED for i in again.attributions.values())
    if sound:
        page.heading("Sound")
        page.line(f"{sound} successes that every reference confirms")


def again_json(seen: Seen, again: Again) -> dict[str, Any]:
    """Return the records, each with how it stands to what the round has recorded."""
    states = Counter(state.name.lower() for state in again.verdicts.values())
    return {
        "schema_version": 1,
        "run": seen.run,
        "round": seen.number,
        "counts": {state.name.lower(): states[state.name.lower()] for state in Recorded},
        "modes": [
            {**to_json(mode), "recorded": again.mode_states[mode.mode_id].name.lower()}
            for mode in again.modes
        ],
        "lost_modes": [to_json(mode) for mode in again.lost_modes],
        "attributions": [
            {**to_json(found), "recorded": again.verdicts[key].name.lower()}
            for key, found in again.attributions.items()
        ],
    }
