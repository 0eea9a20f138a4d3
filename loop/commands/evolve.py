"""Run or resume one round of the loop.

    python -m loop evolve +round=1

Builds the seed system when it is missing, rolls the policy out on every task, scores each
criterion, finds for every failure which component is to blame, repairs that component, proves each
repair by replay, and writes a report. Issued again, it resumes at the first unfinished rollout; a
finished round is not run again. `dry_run=true` runs and writes nothing, and says what it would do.
"""

from __future__ import annotations

from loop.config import RunConfig
from loop.console import Console
from loop.dry_run.page import plan_page
from loop.dry_run.plan import plan_round
from loop.ledger_files import read_object
from loop.result_file import check_result_file, write_result
from loop.round import evolve
from loop.summary import RoundSummary

MEND = "remove it and run the same command again: it is written anew"


def main(config: RunConfig) -> None:
    """Run the round; the last line printed is the path of its report."""
    check_result_file(config.out)
    if config.dry_run:
        plan_page(plan_round(config)).show()
        return
    console = Console()
    result = evolve(config, console)
    if result.was_finished:
        console.line(f"round {result.number} of run '{config.run}' is finished; nothing to do")
    console.close()
    if config.out is not None:
        write_result(config.out, read_object(result.summary_path, MEND))
    for line in outcome(RoundSummary.model_validate(read_object(result.summary_path, MEND))):
        print(line)
    print(result.report_path)


def outcome(summary: RoundSummary) -> list[str]:
    """Return what came of a round, in a line or two."""
    if summary.reeval is None:
        return [
            f"seed system: {summary.services.admitted} services, {summary.tasks.certified} tasks"
        ]
    before, after, faults = summary.reeval.before, summary.reeval.after, summary.faults
    lines = _grown(summary)
    if faults.planted:
        since = ", in all rounds so far" if summary.round > 1 else ""
        lines.append(
            f"planted faults{since}: {faults.found} of {faults.planted} found, {faults.repaired} "
            f"repaired, {faults.wrongly_blamed} places blamed wrongly"
        )
    told = (
        f"{before.passed} of {before.scored} before, {after.passed} of {after.scored} after"
        if summary.patches.accepted
        else f"{before.passed} of {before.scored}; no patch was kept, so nothing was played again"
    )
    lines.append(f"passed: {told}")
    asked = summary.patcher
    if asked is not None:
        lines.append(
            f"the model {asked.model}: asked about {asked.asked} failure modes, {asked.proposed} "
            f"patches proposed, {asked.accepted} kept; {asked.tokens} tokens, {asked.usd:.4f} usd"
        )
    lines += _doubted(summary)
    lines += _guarded(summary)
    held = summary.patches.held
    if held:
        waits = "1 patch waits" if len(held) == 1 else f"{len(held)} patches wait"
        lines.append(
            f"{waits}: python -m loop accept run={summary.run} patch={held[0]} (or reject; show "
            f"patch=ID shows one)" + (f"; the others: {', '.join(held[1:])}" if held[1:] else "")
        )
    return lines


def _grown(summary: RoundSummary) -> list[str]:
    """Return what was added by rule before the round played; nothing where nothing was."""
    growth = summary.growth
    parts = {
        "harder": growth.complexity,
        "of services that few needed": growth.breadth,
        "of another kind": growth.diversity,
    }
    total = sum(parts.values())
    if not total and not growth.services:
        return []
    told = [f"{count} {what}" for what, count in parts.items() if count]
    line = f"grown: {total} new task{'' if total == 1 else 's'} ({', '.join(told) or 'none'})"
    line += f", {growth.made_room} solved ones made room" if growth.made_room else ""
    line += f", {growth.services} new services" if growth.services else ""
    return [f"{line}; the report says why"]


def _doubted(summary: RoundSummary) -> list[str]:
    """Return which references a person has to look at; nothing where all agree."""
    if not summary.doubts:
        return []
    is_one = len(summary.doubts) == 1
    more = f" and {len(summary.doubts) - 1} more" if not is_one else ""
    count = "1 reference is" if is_one else f"{len(summary.doubts)} references are"
    return [
        f"{count} in doubt, and nothing was blamed or mended by {'it' if is_one else 'them'}: "
        f"{summary.doubts[0]}{more}; python -m loop attribute run={summary.run} "
        f"+round={summary.round} says what contradicts {'it' if is_one else 'each'}"
    ]


def _guarded(summary: RoundSummary) -> list[str]:
    """Return what the guard took back, and whether anything is left to mend."""
    patches, lines = summary.patches, []
    if patches.taken_back:
        why = ", since together they cost passes" if summary.guard.is_whole_harmful else ""
        lines.append(f"taken back by the guard{why}: {', '.join(patches.taken_back)}")
    if patches.left_harmful:
        lines.append(
            f"harmful, but a later patch changed the same place: {', '.join(patches.left_harmful)}"
        )
    if patches.is_spent:
        lines.append(
            f"attribution.max_patches={patches.proposed} is used up; open failure modes of "
            f"components: {patches.open_modes}"
        )
    if summary.nothing_left:
        lines.append(f"nothing left to mend: {summary.nothing_left}")
    return lines
