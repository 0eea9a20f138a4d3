"""What a round would do, as text."""

from __future__ import annotations

from loop.dry_run.plan import Plan, PlannedStage
from loop.dry_run.seconds import Expected
from loop.plain_page import Page

RATIOS = "characters were counted, and divided by 3.0 (prompts) and 2.5 (replies, answers)"


def plan_page(plan: Plan) -> Page:
    """Return the page of a plan."""
    page = Page()
    page.heading(f"Round {plan.number} of run {plan.run} {plan.state} (nothing is run or written)")
    if plan.state == "is finished":
        page.line(f"there is nothing to do; see {plan.folder}")
        return page
    page.table(_facts(plan))
    if plan.number:
        page.heading("Tokens, about")
        _show_tokens(page, plan)
    page.heading("Stages")
    page.table(
        [
            ("round", "stage", "state", "seconds", "work"),
            *(_stage_row(item) for item in plan.stages),
        ]
    )
    _show_basis(page, plan)
    return page


def _facts(plan: Plan) -> list[tuple[str, str]]:
    facts = [
        ("folder", str(plan.folder)),
        ("policy", plan.policy + ("" if plan.samples else " (a simulation: no model is asked)")),
        ("services", f"{len(plan.services)}: {', '.join(plan.services)}"),
    ]
    if plan.servers:
        names = ", ".join(plan.servers)
        facts.append(
            ("MCP servers", f"{names}: started and listed then, their tools are unknown now")
        )
    missing = max(0, plan.sizes.num_tasks - plan.num_there)
    facts.append(("tasks", f"{plan.num_there} there, {missing} to be drawn"))
    if plan.number:
        tasks = max(plan.num_there, plan.sizes.num_tasks)
        facts += [
            (
                "rollouts",
                f"{plan.num_rollouts} a pass ({tasks} tasks x {plan.sizes.group_size})",
            ),
            ("passes", "2: before and after the patches"),
            (
                "verdicts",
                f"every failure, and {plan.audit_share:.0%} of the successes of the first pass",
            ),
        ]
    return facts


def _show_tokens(page: Page, plan: Plan) -> None:
    tokens = plan.tokens
    if tokens is None:
        page.line("unknown: there is no task to go by yet")
        return
    total = 2 * plan.num_rollouts
    page.table(
        [
            ("", "a rollout", f"{total} rollouts", ""),
            (
                "prompt",
                _count(tokens.sent),
                _count(tokens.sent * total),
                "the whole conversation, sent at each turn",
            ),
            (
                "new of it",
                _count(tokens.new),
                _count(tokens.new * total),
                "with a prefix cache only this is read",
            ),
            (
                "sampled",
                _count(tokens.sampled),
                _count(tokens.sampled * total),
                f"in {tokens.turns:.1f} turns",
            ),
        ]
    )
    page.line(f"from {tokens.basis}; {RATIOS}")
    if not plan.samples:
        page.line("so many a model would take; the scripted policy takes none")


def _stage_row(stage: PlannedStage) -> tuple[str, str, str, str, str]:
    state = "done" if stage.is_done else "to do"
    seconds = "-" if stage.is_done else _range(stage.seconds)
    return str(stage.round), stage.name, state, seconds, stage.work


def _range(seconds: Expected | None) -> str:
    if seconds is None:
        return "unknown"
    if len(seconds.rounds) == 1:
        return f"{seconds.middle:.1f}"
    return f"{seconds.middle:.1f} ({seconds.low:.1f} to {seconds.high:.1f})"


def _show_basis(page: Page, plan: Plan) -> None:
    """Say what the seconds rest on, and what they come to."""
    left = [item for item in plan.stages if not item.is_done]
    known = [item.seconds for item in left if item.seconds is not None]
    rounds = sorted({name for seconds in known for name in seconds.rounds})
    if not rounds:
        page.line(
            f"seconds are unknown: of {plan.num_past} finished rounds in this folder of runs none "
            "has this policy, this compute and this concurrency"
        )
        return
    total = sum(seconds.middle for seconds in known)
    missing = [item.name for item in left if item.seconds is None]
    more = f", without {', '.join(missing)}" if missing else ""
    page.line(f"in all about {total:.1f} s{more}")
    shown = ", ".join(rounds[:6]) + (f" and {len(rounds) - 6} more" if len(rounds) > 6 else "")
    page.line(
        f"seconds are the median of what finished rounds with this policy took ({len(rounds)}: "
        f"{shown}), by unit of work; of a stage that was interrupted only its last start is known"
    )


def _count(tokens: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if tokens >= size:
            return f"{tokens / size:.1f} {letter}"
    return f"{tokens:.0f}"
