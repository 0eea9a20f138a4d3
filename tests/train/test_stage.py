"""Claims about training inside a round: what is learned from, what is kept, who plays next."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from components.errors import LedgerError
from components.records.base import to_json
from components.records.system import System
from loop.compute.pool import open_pool
from loop.config import RunConfig
from loop.console import Console
from loop.context import RoundContext
from loop.dry_run.plan import plan_round
from loop.ledger import Ledger, save_system
from loop.policy.config import LocalPolicyConfig
from loop.policy.weights import load_model
from loop.rollouts import Rolled
from loop.seed_round import build_seed
from loop.summary import TrainingSummary
from loop.train.before_after import AFTER, BEFORE
from loop.train.gold import GoldDraft, with_tasks
from loop.train.split import Kind, kind_of
from loop.train.stage import train_policy, with_trained_policy
from tests.loop.configs import run_config
from tests.policy.models import needs_model
from tests.task.builders import builtin_system
from tests.train.gold_tasks import drafts, with_harness
from tests.train.tiny_folder import save_tiny

pytestmark = needs_model
DRAFTS = 12
LEARN = ("policy=local", "faults=none", "tracking=none")
SFT = (
    "train=sft",
    "train.weights=lora",
    "train.frozen_layers=0",
    "train.rank=4",
    "train.batch_size=2",
    "train.max_pack=2",
    "train.learning_rate=0.01",
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("tiny"))


def played(system: System, found: tuple[GoldDraft, ...], **scores: Any) -> Rolled:
    return Rolled(
        {item.trajectory.rollout_id: item.trajectory for item in found},
        {item.trajectory.rollout_id: item.scored.model_copy(update=scores) for item in found},
    )


def learning(runs_dir: Path, model: Path, train: tuple[str, ...] = SFT) -> RunConfig:
    return run_config(
        f"runs_dir='{runs_dir}'", f"policy.model='{model}'", "policy.adapter=null", *LEARN, *train
    )


@contextmanager
def opened(config: RunConfig, number: int, system: System) -> Iterator[RoundContext]:
    """Open a round whose system is there; the one before it is made where it is missing."""
    ledger = Ledger(Path(config.runs_dir), config.run)
    with open(os.devnull, "w") as silence, open_pool(config.compute, print) as pool:
        if number == 1:
            with ledger.open_round(0, config) as folder:
                kept = to_json(save_system(folder.store, system))
                folder.run_stage("tasks", lambda: {"system": kept})
                folder.finish()
        with ledger.open_round(number, config) as folder:
            yield RoundContext(number, config, folder, Console(silence), pool)


def test_a_round_trains_on_what_passed_and_the_next_plays_with_it(
    tmp_path: Path, model: Path
) -> None:
    found = drafts(DRAFTS)
    system = with_tasks(with_harness(builtin_system()), {d.task.task_id: d for d in found})
    config = learning(tmp_path, model)

    with opened(config, 1, system) as context:
        assert with_trained_policy(context) is context
        told = train_policy(context, system, played(system, found))
        again = train_policy(context, system, Rolled({}, {}))
        context.folder.finish()
        folder = context.folder.path
    with opened(config, 2, system) as context:
        policy = with_trained_policy(context).config.policy

    num_train = sum(draft.kind is Kind.TRAIN for draft in found)
    assert isinstance(told, TrainingSummary)
    assert told == again
    assert not (folder / "checkpoints").exists(), "what only a killed training needs is gone"
    assert told.samples == num_train
    assert told.left_out == {"held_out": len(found) - num_train}
    losses = told.curves["sft_loss"]
    assert losses[-1] < losses[0]
    assert told.figures["steps"] == len(losses)
    assert told.checkpoint == "policy"
    assert isinstance(policy, LocalPolicyConfig)
    assert policy.adapter == str(folder / "policy" / "delta.safetensors")
    plain, tuned = load_model(str(model), None), load_model(str(model), policy.adapter)
    assert plain.version != tuned.version
    name = "model.layers.0.self_attn.q_proj.weight"
    pair = [dict(item.model.named_parameters())[name] for item in (plain, tuned)]
    assert not torch.equal(*pair)


def test_what_a_group_always_passes_is_not_trained_on(tmp_path: Path, model: Path) -> None:
    found = [item for item in drafts(DRAFTS) if item.kind is Kind.TRAIN]
    tasks = {item.task.task_id: item for item in found}
    system = with_tasks(with_harness(builtin_system()), tasks)
    pairs, scored = {}, {}
    for number, item in enumerate(found):
        for place, passed in enumerate((True, number != 0)):
            name = f"{item.trajectory.rollout_id}-{place}"
            pairs[name] = item.trajectory.model_copy(update={"rollout_id": name})
            scored[name] = item.scored.model_copy(update={"rollout_id": name, "passed": passed})
    told = {}
    for rate in ("0.9", "1"):
        config = learning(tmp_path / rate, model, (*SFT, f"train.max_pass_rate={rate}"))
        with opened(config, 1, system) as context:
            told[rate] = train_policy(context, system, Rolled(pairs, scored))

    assert [item.samples for item in told.values() if item] == [1, 2 * len(found) - 1]
    assert [item.left_out for item in told.values() if item] == [
        {"mastered": 2 * len(found) - 2, "not_passed": 1},
        {"not_passed": 1},
    ]


def test_a_round_that_trains_draws_no_held_out_task(tmp_path: Path) -> None:
    kinds: dict[str, set[Kind]] = {}
    for train in ("sft", "none"):
        config = run_config(
            *LEARN, f"train={train}", f"run={train}", f"runs_dir='{tmp_path}'", "task.count=6"
        )
        with (
            open_pool(config.compute, print) as pool,
            Ledger(tmp_path, train).open_round(0, config) as folder,
            open(os.devnull, "w") as silence,
        ):
            made = build_seed(RoundContext(0, config, folder, Console(silence), pool))
        system, rejected = made.system, made.tasks["rejected"]
        kinds[train] = {
            kind_of(system.environment, task, system.reference.certificates[name])
            for name, task in system.tasks.items()
        }
        assert ("held_out" in rejected) is (train == "sft")

    assert kinds["sft"] == {Kind.TRAIN}
    assert len(kinds["none"]) > 1


def test_a_third_round_goes_on_where_the_first_ended(tmp_path: Path, model: Path) -> None:
    found = tuple(draft for draft in drafts(DRAFTS) if draft.kind is Kind.TRAIN)[:4]
    system = with_tasks(with_harness(builtin_system()), {d.task.task_id: d for d in found})
    config = learning(tmp_path, model)

    first: list[float] = []
    for number, items in ((1, found), (2, ()), (3, found)):
        with opened(config, number, system) as context:
            told = train_policy(with_trained_policy(context), system, played(system, items))
            context.folder.finish()
        assert told is not None
        if number == 2:
            assert told.samples == 0
            assert told.checkpoint is None
        else:
            first.append(told.curves["sft_loss"][0])

    assert first[1] < first[0] - 0.05


def test_held_out_tasks_are_played_before_and_after_the_training(
    tmp_path: Path, model: Path
) -> None:
    found = tuple(draft for draft in drafts(DRAFTS) if draft.kind is Kind.TRAIN)[:4]
    system = with_tasks(with_harness(builtin_system()), {d.task.task_id: d for d in found})
    more = ("train.held_out_tasks=4", "harness.max_turns=2", "task.walk_length=4")
    config = learning(tmp_path, model, (*SFT, *more))

    with opened(config, 1, system) as context:
        told = train_policy(context, system, played(system, found))
        again = train_policy(context, system, Rolled({}, {}))
        versions = {
            stage: {
                turn["policy_version"]
                for body in context.folder.units.done(stage).values()
                for turn in body["turns"]
            }
            for stage in (BEFORE, AFTER)
        }
        tasks = {
            stage: {body["task_id"] for body in context.folder.units.done(stage).values()}
            for stage in (BEFORE, AFTER)
        }

    assert told == again
    assert told is not None
    assert told.heldout is not None
    assert 1 <= told.heldout.before.rollouts == told.heldout.after.rollouts <= 4
    assert len(versions[BEFORE]) == len(versions[AFTER]) == 1
    assert versions[BEFORE] != versions[AFTER]
    assert tasks[BEFORE] == tasks[AFTER]
    assert not tasks[BEFORE] & set(system.tasks)


def test_what_failed_is_counted_and_not_learned(tmp_path: Path, model: Path) -> None:
    found = tuple(draft for draft in drafts(DRAFTS) if draft.kind is Kind.TRAIN)
    system = with_tasks(with_harness(builtin_system()), {d.task.task_id: d for d in found})

    with opened(learning(tmp_path, model), 1, system) as context:
        told = train_policy(context, system, played(system, found, passed=False, reward=0.2))

    assert told is not None
    assert told.samples == 0
    assert told.left_out == {"not_passed": len(found)}


def test_a_policy_that_is_not_what_was_kept_is_refused(tmp_path: Path, model: Path) -> None:
    found = tuple(draft for draft in drafts(DRAFTS) if draft.kind is Kind.TRAIN)[:2]
    system = with_tasks(with_harness(builtin_system()), {d.task.task_id: d for d in found})
    config = learning(tmp_path, model)
    with opened(config, 1, system) as context:
        train_policy(context, system, played(system, found))
        context.folder.finish()
        path = context.folder.path / "policy" / "delta.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\0\0")

    with opened(config, 2, system) as context, pytest.raises(LedgerError, match="was kept"):
        with_trained_policy(context)
    with pytest.raises(LedgerError, match="was kept"):
        plan_round(config.model_copy(update={"round": 2, "dry_run": True}))


def test_a_round_that_is_killed_while_it_trains_keeps_the_same_policy(
    tmp_path: Path, model: Path
) -> None:
    torch.set_num_threads(1)  # a forked child has none of its parent's threads
    found = tuple(draft for draft in drafts(DRAFTS) if draft.kind is Kind.TRAIN)[:4]
    system = with_tasks(with_harness(builtin_system()), {d.task.task_id: d for d in found})
    recipe = (*SFT, "train.checkpoint_every=1")

    def learned(runs_dir: Path) -> tuple[TrainingSummary | None, bytes]:
        with opened(learning(runs_dir, model, recipe), 1, system) as context:
            told = train_policy(context, system, played(system, found))
            return told, (context.folder.path / "policy" / "delta.safetensors").read_bytes()

    whole = learned(tmp_path / "whole")
    for point in ("checkpoint.after:1", "policy.after:1"):
        runs_dir = tmp_path / point
        process = os.fork()
        if process == 0:
            os.environ["SELVAGE_FAILPOINT"] = point
            learned(runs_dir)
            os._exit(0)
        _, status = os.waitpid(process, 0)

        assert os.WTERMSIG(status) == signal.SIGKILL
        assert learned(runs_dir) == whole


def test_a_round_without_training_has_no_such_stage(tmp_path: Path, model: Path) -> None:
    system = with_harness(builtin_system())
    config = learning(tmp_path, model, ("train=none",))

    with opened(config, 1, system) as context:
        assert train_policy(context, system, Rolled({}, {})) is None
        assert context.folder.stage_result("train") is None
