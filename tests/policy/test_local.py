"""Claims about the local policy: real rollouts of a tiny model, in batches."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from components.errors import PolicyError
from components.harness.policy import PolicyReply, PolicyRequest, PrefixPolicy, trajectory_messages
from components.records.trajectory import StopReason, Trajectory
from loop.policy.config import LocalPolicyConfig
from loop.policy.effort import Rollout
from loop.policy.local import Local, open_local
from loop.policy.tokens import ChatTokens
from loop.policy.weights import load_model
from tests.harness.builders import Says, make_settings, play
from tests.policy.tiny import END, save_tiny_chat

LIMITS = {"max_turns": 4, "max_turn_tokens": 24, "max_invalid_turns": 9}
CALL = '<tool_call>{"name": "shop__get_order", "arguments": {"order_id": "ord_a1"}}</tool_call>'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_chat(tmp_path_factory.mktemp("tiny"))


def settings(folder: Path, **changes: Any) -> LocalPolicyConfig:
    values = {
        "kind": "local",
        "model": str(folder),
        "adapter": None,
        "temperature": 1.0,
        "batch_size": 8,
        "device": "cpu",
        "dtype": "float32",
    }
    return LocalPolicyConfig.model_validate({**values, **changes})


def rollouts(local: Local, seeds: range, first: str = "") -> list[Rollout]:
    """Return rollouts of the policy; with `first`, each says that before it begins."""
    harness = make_settings(limits=LIMITS)
    policy = PrefixPolicy(texts=(first,), then=local.policy) if first else local.policy
    return [play(policy, settings=harness, seed=seed) for seed in seeds]


def played(local: Local, seeds: range, first: str = "") -> list[Trajectory]:
    return asyncio.run(local.play(rollouts(local, seeds, first))).trajectories


def test_a_turn_has_the_ids_that_were_sampled_and_their_logprobs_under_the_model(
    folder: Path,
) -> None:
    with open_local(settings(folder)) as local:
        trajectories = played(local, range(4))

    loaded = load_model(str(folder), None)
    tokens = ChatTokens(loaded.tokenizer)
    for trajectory in trajectories:
        assert not trajectory.simulated
        assert len(trajectory.turns) == LIMITS["max_turns"]
        conversation = tokens.encode(
            trajectory_messages(trajectory, len(trajectory.turns)), reply_next=False
        )
        with torch.inference_mode():
            logits = loaded.model(input_ids=torch.tensor([conversation.ids])).logits[0]
        logprobs = logits.log_softmax(-1)
        places = [at for at, is_reply in enumerate(conversation.is_reply) if is_reply]
        ids = [token for turn in trajectory.turns for token in turn.token_ids or ()]
        said = [logprob for turn in trajectory.turns for logprob in turn.logprobs or ()]
        assert [conversation.ids[place] for place in places] == ids
        assert said == pytest.approx(
            [float(logprobs[place - 1, conversation.ids[place]]) for place in places], abs=1e-3
        )
        for turn in trajectory.turns:
            assert turn.token_ids
            assert turn.raw_text == tokens.text_of(turn.token_ids)
            assert turn.token_ids[-1] == END or len(turn.token_ids) == LIMITS["max_turn_tokens"]
            assert turn.policy_version.startswith(f"local-v1:{loaded.version[:12]}:")


def test_the_same_batch_gives_the_same_bytes_whatever_runs_beside_it(folder: Path) -> None:
    with open_local(settings(folder)) as local:
        alone = played(local, range(6))

        async def beside() -> list[Trajectory]:
            ours, *_ = await asyncio.gather(
                local.play(rollouts(local, range(6))),
                local.play(rollouts(local, range(6, 12))),
                local.play(rollouts(local, range(12, 15))),
            )
            return ours.trajectories

        again = asyncio.run(beside())

    assert [item.model_dump_json() for item in again] == [item.model_dump_json() for item in alone]
    assert len({item.turns[0].raw_text for item in alone}) > 1


def test_a_rollout_says_the_same_beside_others_as_alone(folder: Path) -> None:
    with open_local(settings(folder)) as local:
        together = played(local, range(6))
        alone = [played(local, range(seed, seed + 1))[0] for seed in range(6)]

    assert [[turn.token_ids for turn in item.turns] for item in together] == [
        [turn.token_ids for turn in item.turns] for item in alone
    ]


def test_each_turn_has_its_own_draws(folder: Path) -> None:
    """Another first turn shifts nothing: a turn's draws come from rollout seed and index alone."""
    requests = Says("x")
    asyncio.run(play(requests, settings=make_settings(limits=LIMITS), seed=3))
    (first, second, *_) = requests.requests

    async def ask(local: Local, *asked: PolicyRequest) -> list[PolicyReply]:
        replies: list[PolicyReply] = []

        async def rollout() -> Any:
            replies.extend([await local.policy.act(request) for request in asked])

        await local.play([rollout()])
        return replies

    with open_local(settings(folder)) as local:
        both = asyncio.run(ask(local, first, second))
        only = asyncio.run(ask(local, second))

    assert both[1].token_ids == only[0].token_ids
    assert both[1].logprobs == pytest.approx(only[0].logprobs, abs=1e-5)
    assert both[0] != both[1]


def test_calls_are_answered_and_the_recorded_prefix_is_part_of_the_context(folder: Path) -> None:
    with open_local(settings(folder)) as local:
        (trajectory,) = played(local, range(1), first=CALL)

    assert trajectory.turns[0].observations[0].call
    assert trajectory.turns[0].token_ids is None
    assert all(turn.token_ids for turn in trajectory.turns[1:])
    assert trajectory.stop_reason is StopReason.MAX_TURNS


def test_a_context_that_outgrows_the_window_ends_its_rollout_and_no_other(tmp_path: Path) -> None:
    model = save_tiny_chat(tmp_path, window=2200)
    with open_local(settings(model)) as local:
        short, long = rollouts(local, range(1)), rollouts(local, range(1), first="x" * 2200)
        together = asyncio.run(local.play([*short, *long])).trajectories

    assert together[0].stop_reason is StopReason.MAX_TURNS
    assert together[1].stop_reason is StopReason.FAILURE
    failure = together[1].failure
    assert failure
    assert failure.boundary == "provider"
    assert "leaves no room in the model's window of 2200" in failure.message


def test_a_turn_ends_where_the_window_does(tmp_path: Path) -> None:
    with open_local(settings(save_tiny_chat(tmp_path))) as wide:
        effort = asyncio.run(wide.play(rollouts(wide, range(1)))).effort
    assert effort
    prompt = effort.prompt_tokens  # of all turns: more than the first one's alone
    with open_local(settings(save_tiny_chat(tmp_path / "narrow", window=prompt))) as narrow:
        (trajectory,) = asyncio.run(narrow.play(rollouts(narrow, range(1)))).trajectories

    tokens = ChatTokens(load_model(str(tmp_path), None).tokenizer)
    for number, turn in enumerate(trajectory.turns):
        before = tokens.encode(trajectory_messages(trajectory, number), reply_next=True)
        assert len(before.ids) + len(turn.token_ids or ()) <= prompt


def test_the_effort_counts_what_was_done(folder: Path) -> None:
    with open_local(settings(folder)) as local:
        done = asyncio.run(local.play(rollouts(local, range(5))))

    effort = done.effort
    assert effort
    turns = [turn for item in done.trajectories for turn in item.turns]
    assert effort.rollouts == 5
    assert effort.sampled_tokens == sum(len(turn.token_ids or ()) for turn in turns)
    assert effort.accepted_tokens <= effort.guessed_tokens
    refused = effort.guessed_tokens - effort.accepted_tokens
    assert effort.decoded_tokens - refused <= effort.sampled_tokens
    assert 0 < effort.prefilled_tokens < effort.prompt_tokens
    assert 0 < effort.prefill_seconds + effort.decode_seconds < effort.seconds
    assert 0 < effort.model_share < 1


def test_a_mistake_in_one_rollout_ends_the_batch_and_closes_the_others(folder: Path) -> None:
    closed: list[str] = []

    async def good(local: Local) -> Any:
        try:
            for _ in range(50):
                await local.policy.act(requests.requests[0])
        finally:
            closed.append("good")

    async def bad() -> Any:
        raise KeyError("a mistake")

    requests = Says("x")
    asyncio.run(play(requests, settings=make_settings(limits=LIMITS)))
    with open_local(settings(folder)) as local, pytest.raises(KeyError, match="a mistake"):
        asyncio.run(local.play([good(local), bad()]))

    assert closed == ["good"]


def test_closing_ends_a_batch_that_is_under_way(folder: Path) -> None:
    requests = Says("x")
    asyncio.run(play(requests, settings=make_settings(limits=LIMITS)))
    has_begun = threading.Event()

    async def endless(local: Local) -> Any:
        while True:
            await local.policy.act(requests.requests[0])
            has_begun.set()

    async def close_soon(local: Local) -> None:
        task = asyncio.create_task(local.play([endless(local)]))
        await asyncio.to_thread(has_begun.wait)
        local.close()
        await task

    with open_local(settings(folder)) as local, pytest.raises(PolicyError, match="was closed"):
        asyncio.run(close_soon(local))


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def test_the_number_of_threads_is_as_before_once_it_is_closed(folder: Path) -> None:
    with threads(2):
        with open_local(settings(folder)) as local:
            played(local, range(1))
        assert torch.get_num_threads() == 2


def test_the_version_depends_on_weights_and_sampling_and_not_on_the_place(
    folder: Path, tmp_path: Path
) -> None:
    def version(**changes: Any) -> str:
        with open_local(settings(folder, **changes)) as local:
            return local.policy.version

    assert version() == version(model=str(save_tiny_chat(tmp_path / "copy")))
    assert version() != version(temperature=0.5)
    assert version() != version(model=str(save_tiny_chat(tmp_path / "other", window=999)))


def test_a_model_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    for changes, words in (
        ({"model": str(tmp_path / "none")}, "there is no such folder"),
        ({"model": str(tmp_path)}, "cannot be loaded"),
        ({"adapter": "nowhere"}, "there is no file nowhere"),
    ):
        given = settings(save_tiny_chat(tmp_path / "tiny"), **changes)
        with pytest.raises(PolicyError, match=words) as caught, open_local(given):
            pass
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_gpu_that_is_not_there_is_one_line(folder: Path) -> None:
    with (
        pytest.raises(PolicyError, match="no GPU is found"),
        open_local(settings(folder, device="cuda")),
    ):
        pass
