"""The guard of a round: what pairs speak against is taken back, and stays out of later rounds."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from attribution.interventions.runs import arm_of, replay, texts_of
from attribution.records import Attribution, Decision, GuardVerdict, Verdict
from attribution.regressions import holds
from attribution.swap import body_of
from components.records.system import System
from components.records.trajectory import ScoredTrajectory
from loop.blame import Blamed, attribute
from loop.commands.evolve import outcome
from loop.compute.pool import open_pool
from loop.console import Console
from loop.context import RoundContext, live_tasks
from loop.grow import grow
from loop.guard_pairs import paired
from loop.guard_records import Undone, live_entries
from loop.guarding import Guarded, guard
from loop.ledger import Ledger, load_system
from loop.repair import Repaired, repair
from loop.report.guard_view import rollback_line
from loop.rollouts import Rolled, roll_out
from loop.round import evolve
from loop.show.patch import show_patch
from loop.show.seen import Seen
from loop.summary import RoundSummary
from tests.loop.played import config_of

RUN = "default"
SMALL = ("task.count=3", "rollout.group_size=4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A round up to its second pass."""

    context: RoundContext
    system: System
    before: Rolled
    blamed: Blamed
    repaired: Repaired
    after: Rolled

    def guarded(self) -> Guarded:
        """Return what the guard makes of what was played."""
        arguments = self.context, self.system, self.before, self.blamed, self.repaired, self.after
        return guard(*arguments)

    def guarded_as(self, before: Rolled, after: Rolled) -> Guarded:
        """Return what it makes of other outcomes, each rightly scored."""
        blamed = Blamed({key: cleared(item) for key, item in before.scored.items()}, ())
        return guard(self.context, self.system, before, blamed, self.repaired, after)


def cleared(scored: ScoredTrajectory) -> Attribution:
    verdict = Verdict(
        rollout_id=scored.rollout_id, task_id=scored.task_id, decision=Decision.CLEARED
    )
    return Attribution(verdict=verdict, evidence=())


@contextmanager
def played(runs_dir: Path, number: int = 1, on_clean: bool = False) -> Iterator[Played]:
    """Yield a round as far as it has to be for its guard; it stays unfinished.

    Args:
        runs_dir: folder of all runs.
        number: the round.
        on_clean: whether its first pass is played before the faults, so that most of it passes.
    """
    config = config_of(runs_dir, f"+round={number}", *SMALL)
    ledger, console = Ledger(runs_dir, RUN), Console(io.StringIO())
    with (
        ledger.open_round(number, config) as folder,
        open_pool(config.compute, console.line) as pool,
    ):
        context = RoundContext(number, config, folder, console, pool)
        system = grow(context, load_system(folder.store, folder.system_version()))
        clean = folder.earlier_result(0, "tasks")["system"]
        before = roll_out(context, "rollout", context.load(clean) if on_clean else system)
        blamed = attribute(context, system, before)
        repaired = repair(context, system, before, blamed)
        after = roll_out(context, "reeval", repaired.system)
        yield Played(
            context=context,
            system=system,
            before=before,
            blamed=blamed,
            repaired=repaired,
            after=after,
        )


def with_outcomes(rolled: Rolled, passes: Callable[[str], bool]) -> Rolled:
    """Return a pass whose rollouts came out as a task's name says."""
    scored = {
        key: item.model_copy(update={"passed": passes(rolled.trajectories[key].task_id)})
        for key, item in rolled.scored.items()
    }
    return Rolled(rolled.trajectories, scored)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose first round has begun, up to its second pass."""
    runs_dir = tmp_path_factory.mktemp("guard") / "runs"
    with open(os.devnull, "w") as silence:
        evolve(config_of(runs_dir, "+round=0", *SMALL), Console(silence))
    with played(runs_dir):
        pass
    return runs_dir


@pytest.fixture
def runs(start: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(start, tmp_path / "runs"))


def test_patches_that_do_good_stay_and_their_examples_are_pinned(runs: Path) -> None:
    with played(runs) as round_1:
        guarded = round_1.guarded()

    kept = [item for item in round_1.repaired.decisions if item.acceptance.accepted]
    record = guarded.record
    assert len(record.guards) == len(kept) > 2
    assert not record.rollbacks
    assert not record.earlier
    assert {item.verdict for item in record.guards} <= {GuardVerdict.KEPT, GuardVerdict.TOO_FEW}
    assert guarded.system == round_1.repaired.system
    made = {entry for item in kept for entry in item.acceptance.regressions}
    assert made < {*record.pinned}, "more comes out right once all patches of the round are there"
    assert all(holds(guarded.system, entry) for entry in record.pinned)
    assert record.live == len(record.pinned)


def narrow_loss(round_1: Played) -> tuple[str, Rolled, Rolled]:
    """Return a patch that touches one task, and passes in which this task alone is lost."""
    whole = {
        item.patch.artifact.partition("/")[2]: item.patch.patch_id
        for item in round_1.repaired.decisions
        if item.acceptance.regressions and item.patch.artifact.startswith("task/")
    }
    task_id = next(name for name in whole if name in live_tasks(round_1.repaired.system))
    before = repeated(with_outcomes(round_1.before, lambda name: name == task_id))
    after = repeated(with_outcomes(round_1.after, lambda name: name != task_id))
    return task_id, before, after


def repeated(rolled: Rolled, times: int = 3) -> Rolled:
    """Return a pass with each rollout several times, as if the groups were larger."""
    return Rolled(
        {f"{key}.{n}": item for key, item in rolled.trajectories.items() for n in range(times)},
        {f"{key}.{n}": item for key, item in rolled.scored.items() for n in range(times)},
    )


def test_a_harmful_patch_is_taken_back_for_good_and_the_others_stay(runs: Path) -> None:
    with played(runs) as round_1:
        task_id, before, after = narrow_loss(round_1)
        guarded = round_1.guarded_as(before, after)
        round_1.context.folder.finish()
        pinned = live_entries(round_1.context.folder, 2)
    record = guarded.record

    (rollback,) = record.rollbacks
    assert rollback.artifact.partition("/")[2] == task_id
    assert rollback.how is Undone.BY_PATCH
    assert record.left_out == (task_id,)
    old, mended = round_1.system, round_1.repaired.system
    assert body_of(mended, rollback.artifact) != body_of(old, rollback.artifact)
    assert body_of(guarded.system, rollback.artifact) == body_of(old, rollback.artifact)
    assert guarded.system.environment == mended.environment
    assert guarded.system.harness == mended.harness
    assert {it.task_id for it in guarded.learned_from(after).trajectories.values()} == {
        *live_tasks(mended)
    } - {task_id}
    assert rollback.patch_id not in {entry.patch_id for entry in pinned}
    assert {it.evidence for it in record.retirements} >= {rollback.patch_id}

    with played(runs, 2) as round_2:
        again = [it for it in round_2.repaired.decisions if it.patch.operations]
        assert round_2.system.tasks[task_id] == guarded.system.tasks[task_id]
    refused = [it for it in again if it.acceptance.reason.startswith("the guard took it back")]
    assert refused
    assert {it.patch.artifact for it in refused} == {rollback.artifact}


def test_where_all_patches_together_cost_passes_the_next_round_starts_without_them(
    runs: Path,
) -> None:
    with played(runs) as round_1:
        before = with_outcomes(round_1.before, lambda _: True)
        after = with_outcomes(round_1.after, lambda _: False)
        guarded = round_1.guarded_as(before, after)
        left = load_system(round_1.context.folder.store, round_1.context.folder.system_version())

    kept = [it.patch.patch_id for it in round_1.repaired.decisions if it.acceptance.accepted]
    assert left == guarded.system == round_1.system
    assert [it.patch_id for it in guarded.record.rollbacks] == kept
    assert {it.how for it in guarded.record.rollbacks} == {Undone.WITH_ROUND}
    assert guarded.record.live == 0
    assert guarded.learned_from(after).trajectories == {}


def test_a_false_pass_that_no_longer_passes_is_held_against_nobody(runs: Path) -> None:
    with played(runs) as round_1:
        before = with_outcomes(round_1.before, lambda _: True)
        after = with_outcomes(round_1.after, lambda _: False)
        found = paired(round_1.system, before, {}, after)

    def passes_repaired(name: str) -> bool:
        run = round_1.before.trajectories[name]
        arm = arm_of(round_1.repaired.system, run.task_id)
        return replay(arm, texts_of(run), run.seed).passed is True

    rightly = [name for name in before.scored if passes_repaired(name)]
    assert 0 < len(rightly) < len(before.scored)
    assert {*found.void} == {*before.scored} - {*rightly}
    assert len(found.pairs) == len(rightly)


def test_a_guard_that_was_killed_comes_out_the_same_and_is_not_run_again(runs: Path) -> None:
    with played(runs) as round_1:
        _task, before, after = narrow_loss(round_1)
        whole = round_1.guarded_as(before, after)
        again = round_1.guarded()

    assert again == whole, "the recorded stage is read back"


def test_a_patch_that_shows_its_harm_in_the_next_round_is_taken_back_then(tmp_path: Path) -> None:
    with open(os.devnull, "w") as silence:
        evolve(config_of(tmp_path, "+round=0", *SMALL), Console(silence))
    with played(tmp_path, on_clean=True) as round_1:
        first = round_1.guarded()
        round_1.context.folder.finish()
    was = {key for key, item in round_1.before.scored.items() if item.passed}
    with played(tmp_path, 2) as round_2:
        guarded = round_2.guarded_as(with_outcomes(round_2.before, lambda _: False), round_2.after)

    assert not first.record.rollbacks
    assert {it.patch_id for it in guarded.record.earlier} == {
        it.patch_id for it in first.record.guards
    }
    assert max(it.lost for it in guarded.record.earlier) == len(was) > 8
    (rollback,) = guarded.record.rollbacks
    assert (rollback.accepted_in, rollback.how) == (1, Undone.BY_PATCH)
    with Ledger(tmp_path, RUN).read_round(1) as folder:
        seen = Seen(run=RUN, number=1, folder=folder)
        shown = " ".join(show_patch(seen, rollback.patch_id).text().split())
    assert f"guard in round 2: {rollback_line(rollback)}" in shown
    assert "too few pairs to tell" in shown
    old, now = round_1.system, guarded.system
    assert body_of(now, rollback.artifact) == body_of(old, rollback.artifact)
    assert body_of(round_2.system, rollback.artifact) != body_of(old, rollback.artifact)


def test_the_budget_of_patches_ends_the_search_and_is_said(tmp_path: Path) -> None:
    config = config_of(tmp_path, "+round=1", "attribution.max_patches=2", "task.count=3")
    with open(os.devnull, "w") as silence:
        result = evolve(config, Console(silence))

    summary = RoundSummary.model_validate_json(result.summary_path.read_bytes())
    assert summary.patches.proposed == 2
    assert summary.patches.is_spent
    assert summary.patches.open_modes > 0
    assert any(line.startswith("attribution.max_patches=2 is used up") for line in outcome(summary))


def test_a_round_that_finds_nothing_says_that_nothing_is_left(tmp_path: Path) -> None:
    config = config_of(tmp_path, "+round=1", "faults=none", "task.count=3")
    with open(os.devnull, "w") as silence:
        result = evolve(config, Console(silence))

    summary = RoundSummary.model_validate_json(result.summary_path.read_bytes())
    assert outcome(summary)[-1] == f"nothing left to mend: {summary.nothing_left}"
    assert f"{summary.rollouts.failed} of {summary.rollouts.total} rollouts failed" in (
        summary.nothing_left
    )
    assert "Nothing left to mend." in result.report_path.read_text()
