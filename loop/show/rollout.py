"""A rollout turn by turn: what the policy wrote, what was called, shown and changed, and what came
of it."""

from __future__ import annotations

from attribution.records import Attribution, Decision, Evidence, FailureMode
from components.errors import ConfigError
from components.records.calls import CallRecord
from components.records.system import System
from components.records.trajectory import ScoredTrajectory, Trajectory, Turn
from loop.plain_page import Page
from loop.report.changes import FieldChange, StateChange, call_changes, value_text
from loop.show.seen import Seen

PASSES = {"rollout": "before the patches", "reeval": "after the patches"}
DECISIONS = {
    Decision.BLAMED: "blamed",
    Decision.CLEARED: "a success that every reference confirms",
    Decision.UNDECIDED: "undecided",
    Decision.NOT_JUDGED: "not judged: the infrastructure broke",
}


def show_rollout(seen: Seen, name: str, stage: str) -> Page:
    """Return the page of one rollout.

    Args:
        seen: the round.
        name: id of the rollout.
        stage: `rollout` or `reeval`: which pass.

    Raises:
        ConfigError: this pass has no such rollout.
    """
    units = seen.folder.units
    trajectory, scored = rollout_of(seen, stage, name)
    system = seen.before if stage == "rollout" else seen.after
    page = Page()
    page.heading(f"Rollout {name} ({seen.where}, {PASSES[stage]})")
    page.table(_facts(seen, stage, trajectory, scored))
    page.heading("Task")
    page.verbatim(trajectory.user_text)
    for turn in trajectory.turns:
        _show_turn(page, turn)
    if trajectory.answer is not None:
        page.heading("Answer")
        page.line(value_text(trajectory.answer))
    if scored is not None:
        _show_criteria(page, system, scored)
    if stage == "rollout":
        _show_verdict(page, seen, units.records("attribute", Attribution, name).get(name))
    return page


def rollout_of(seen: Seen, stage: str, name: str) -> tuple[Trajectory, ScoredTrajectory | None]:
    """Return a recorded rollout with its result, where it has one.

    Args:
        seen: the round.
        stage: `rollout` or `reeval`: which pass.
        name: id of the rollout.

    Raises:
        ConfigError: this pass has no such rollout.
    """
    trajectory = seen.folder.units.records(stage, Trajectory, name).get(name)
    if trajectory is None:
        raise ConfigError(
            f"{seen.where} has no rollout '{name}' {PASSES[stage]}: its task was retired, or the "
            "pass is not done; drop stage=reeval"
        )
    return trajectory, _score(seen, stage, trajectory)


def _score(seen: Seen, stage: str, trajectory: Trajectory) -> ScoredTrajectory | None:
    task_id = trajectory.task_id
    groups = seen.folder.units.record_lists(f"{stage}.score", ScoredTrajectory, task_id)
    scored = groups.get(task_id, [])
    return next((item for item in scored if item.rollout_id == trajectory.rollout_id), None)


def _facts(
    seen: Seen, stage: str, trajectory: Trajectory, scored: ScoredTrajectory | None
) -> list[tuple[str, str]]:
    versions = sorted({turn.policy_version for turn in trajectory.turns})
    policy = ", ".join(versions) + (" (a simulation, no model)" if trajectory.simulated else "")
    stop = trajectory.stop_reason.value
    if trajectory.failure is not None:
        stop = f"{stop}: {trajectory.failure.boundary}: {trajectory.failure.message}"
    other = "reeval" if stage == "rollout" else "rollout"
    sampled = sum(len(turn.token_ids or ()) for turn in trajectory.turns)
    facts = [
        ("outcome", outcome_of(scored)),
        ("stopped", f"{stop}, after {len(trajectory.turns)} turns"),
        ("task", trajectory.task_id),
        ("policy", policy or "none: it was never asked"),
        ("seed", str(trajectory.seed)),
        ("system text", f"{len(trajectory.system_text)} characters"),
    ]
    if sampled:
        facts.append(("sampled", f"{sampled} tokens"))
    rollout_id = trajectory.rollout_id
    twin = seen.folder.units.records(other, Trajectory, rollout_id).get(rollout_id)
    if twin is not None:
        told = outcome_of(_score(seen, other, twin))
        facts.append((PASSES[other], f"{told} (add stage={other})"))
    return facts


def outcome_of(scored: ScoredTrajectory | None) -> str:
    """Return what came of a rollout, in words."""
    if scored is None:
        return "not scored yet"
    if scored.passed is None:
        return f"unscored: {scored.reason}"
    reward = "" if scored.reward is None else f", reward {scored.reward:.3f}"
    return f"{'passed' if scored.passed else 'failed'}{reward}"


def _show_turn(page: Page, turn: Turn) -> None:
    page.heading(f"Turn {turn.index}")
    page.line("wrote")
    page.verbatim(turn.raw_text)
    observations = {item.call_id: item for item in turn.observations}
    for call in turn.calls:
        page.line(f"call {call.name} {value_text(call.arguments)} (read by {call.parser})")
        observation = observations.get(call.call_id)
        if observation is None:
            page.line("no answer: the rollout broke here", 4)
            continue
        page.line("shown" + (", one page of more" if observation.truncated else ""))
        page.verbatim(observation.shown)
        show_changes(page, observation.call)
    if turn.problem:
        page.line(f"could not be read: {turn.problem}")
        page.line("shown")
        page.verbatim(turn.feedback)


def show_changes(page: Page, call: CallRecord | None, indent: int = 2) -> None:
    """Add what a call changed, field by field, with who did it."""
    for change in call_changes(call):
        page.line(f"{change.kind} {change.place} by {change.by} {change.cause}", indent)
        page.table(
            [(field.name, _field_text(change, field)) for field in change.fields], indent + 2
        )


def _field_text(change: StateChange, field: FieldChange) -> str:
    match change.kind:
        case "created":
            return value_text(field.after)
        case "deleted":
            return f"was {value_text(field.before)}"
        case _:
            return f"{value_text(field.before)} -> {value_text(field.after)}"


def _show_criteria(page: Page, system: System, scored: ScoredTrajectory) -> None:
    page.heading("Criteria")
    rubric = system.evaluator.rubrics.get(scored.task_id)
    marks = {None: "unscored", 1.0: "met", 0.0: "not met"}
    rows = []
    for name, score in sorted(scored.criteria.items()):
        criterion = None if rubric is None else rubric.criteria.get(name)
        text = "" if criterion is None else criterion.text
        detail = f" [{score.detail}]" if score.detail else ""
        rows.append((marks.get(score.value, str(score.value)), name, f"{text}{detail}"))
    page.table(rows)


def _show_verdict(page: Page, seen: Seen, found: Attribution | None) -> None:
    page.heading("Verdict")
    if found is None:
        page.line("none: not attributed yet, or a success that was not drawn for the audit")
        return
    verdict = found.verdict
    page.line(DECISIONS[verdict.decision] + (", and a false pass" if verdict.is_false_pass else ""))
    page.table(
        [(blame.party.value, f"{blame.confidence:.2f}", blame.place) for blame in verdict.blamed], 4
    )
    if verdict.would_decide:
        page.line(f"what would decide: {verdict.would_decide}")
    page.heading("Evidence")
    page.table([evidence_row(item) for item in found.evidence])
    if not found.evidence:
        page.line("none")
    _show_repairs(page, seen, verdict.rollout_id)


def evidence_row(item: Evidence) -> tuple[str, str, str]:
    """Return whom a fact speaks for or against, how it was found, and what it says and where."""
    side = "against" if item.against else "for"
    return f"{side} {item.party.value}", item.kind.value, f"{item.statement} ({item.place})"


def _show_repairs(page: Page, seen: Seen, rollout_id: str) -> None:
    """Say which failure modes the rollout is counted to, and what was tried for them."""
    result = seen.folder.stage_result("attribute")
    modes = [] if result is None else [FailureMode.model_validate(m) for m in result["modes"]]
    mine = [mode for mode in modes if rollout_id in mode.rollouts]
    if not mine:
        return
    page.heading("Failure modes it is counted to")
    for mode in mine:
        page.line(f"{mode.party.value} {mode.place}: {mode.statement}")
        tried = [item for item in seen.decisions if item.mode_id == mode.mode_id]
        for item in tried:
            page.line(f"patch {item.patch.patch_id}, {item.fate.value}: {item.patch.reason}", 4)
