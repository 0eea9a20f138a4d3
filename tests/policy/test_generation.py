"""Claims about sampling for many rollouts at once, on tiny models and on the built-in one."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import pytest
import torch

from components.errors import PolicyError
from loop.policy import generation, segments
from loop.policy.generation import Generation, Turn
from loop.policy.segments import prepare
from tests.policy.models import builtin_model, needs_model
from tests.policy.tiny import ARCHITECTURES, END, tiny_model

SYSTEM = tuple(range(40, 52))
USERS = (tuple(range(60, 66)), tuple(range(60, 69)), tuple(range(80, 85)))
NUM_TURNS = 3
MOST = 9


@lru_cache(maxsize=8)
def models(architecture: str) -> tuple[Any, Any]:
    """Return a model as it is, and the same prepared for segments."""
    if architecture == "builtin":
        plain = builtin_model().model
        prepared = copy.deepcopy(plain)
    else:
        plain, prepared = tiny_model(architecture), tiny_model(architecture)
    prepare(prepared)
    return plain, prepared


def observation(seat: int, number: int) -> tuple[int, ...]:
    """Return what a seat is shown after a turn: its own, but for two seats that see the same."""
    return (END, 10, *range(100 + 7 * (seat // 2), 106 + 7 * (seat // 2) + number), 11)


def play(
    model: Any, seats: Iterable[int], temperature: float, end: int = END, shared: bool = True
) -> tuple[dict[tuple[int, int], Turn], Generation]:
    """Play a few turns for each seat and return them by seat and number."""
    sampling = Generation(model, end, temperature)
    done: dict[tuple[int, int], Turn] = {}

    def ask(seat: int, number: int, prompt: tuple[int, ...]) -> None:
        num_shared = len(SYSTEM) if shared else 0
        draw = random.Random(f"{seat}:{number}")
        sampling.ask(Turn(seat, prompt, num_shared, draw, MOST))

    for seat in seats:
        ask(seat, 0, SYSTEM + USERS[seat % 6 // 2])
    with torch.inference_mode():
        while sampling.is_busy:
            for turn in sampling.step():
                number = sum(key[0] == turn.seat for key in done)
                done[turn.seat, number] = turn
                if number + 1 < NUM_TURNS:
                    shown = observation(turn.seat, number)
                    ask(turn.seat, number + 1, (*turn.prompt_ids, *turn.ids, *shown))
                else:
                    sampling.leave(turn.seat)
    return done, sampling


def forced(model: Any, turn: Turn) -> Any:
    """Return [T, V] log-probabilities of a turn's places by a pass of the model as it is."""
    ids = [*turn.prompt_ids, *turn.ids]
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([ids])).logits[0]
    return logits.log_softmax(-1)[len(turn.prompt_ids) - 1 : -1]


def check(architecture: str, temperature: float, tolerance: float) -> Generation:
    plain, prepared = models(architecture)
    done, sampling = play(prepared, range(8), temperature)
    assert len(done) == 8 * NUM_TURNS
    for turn in done.values():
        logprobs = forced(plain, turn)
        chosen = logprobs[range(len(turn.ids)), turn.ids].tolist()
        assert turn.logprobs == pytest.approx(chosen, abs=tolerance)
        assert turn.ids[-1] == END or len(turn.ids) == MOST
        assert END not in turn.ids[:-1]
        if temperature == 0:
            assert turn.ids == logprobs.argmax(-1).tolist()
    return sampling


@pytest.mark.parametrize("architecture", sorted(ARCHITECTURES))
@pytest.mark.parametrize("temperature", [0.0, 1.0, 0.7])
def test_what_is_sampled_together_is_what_the_model_says_alone(
    architecture: str, temperature: float
) -> None:
    check(architecture, temperature, 1e-4)


@needs_model
def test_the_builtin_model_greedy_in_a_batch_is_greedy_alone() -> None:
    check("builtin", 0.0, 1e-3)


@needs_model
def test_logprobs_of_the_builtin_model_are_those_of_a_pass_over_the_recorded_ids() -> None:
    check("builtin", 1.0, 1e-3)


def test_the_same_turns_give_the_same_bytes() -> None:
    _, model = models("llama")
    first, again = (play(model, range(8), 1.0)[0] for _ in range(2))

    assert [(turn.ids, turn.logprobs) for turn in first.values()] == [
        (turn.ids, turn.logprobs) for turn in again.values()
    ]


def test_a_seat_draws_the_same_beside_others_as_alone() -> None:
    _, model = models("llama")
    together, _ = play(model, range(8), 1.0)

    for seat in range(8):
        alone, _ = play(model, [seat], 1.0, shared=False)
        for number in range(NUM_TURNS):
            assert alone[seat, number].ids == together[seat, number].ids
            assert alone[seat, number].logprobs == pytest.approx(
                together[seat, number].logprobs, abs=1e-4
            )


def test_seats_that_do_the_same_are_worked_out_once() -> None:
    _, model = models("llama")
    one, alone = play(model, [0], 0.0)
    both, together = play(model, [0, 1], 0.0)

    assert both[0, 2].ids == both[1, 2].ids == one[0, 2].ids
    counts, single = together.counts, alone.counts
    assert counts.sampled_tokens == 2 * single.sampled_tokens
    assert counts.prompt_tokens == 2 * single.prompt_tokens
    assert counts.decoded_tokens == single.decoded_tokens
    assert counts.prefilled_tokens == single.prefilled_tokens


def test_a_system_message_is_fed_once_for_all_and_a_context_never_again() -> None:
    _, model = models("llama")
    done, sampling = play(model, [0, 2, 4], 0.0)

    last = [done[seat, NUM_TURNS - 1] for seat in (0, 2, 4)]
    # Every token of the three conversations once, but for the last of each, and SYSTEM only once.
    fed = sum(len(turn.prompt_ids) + len(turn.ids) - 1 for turn in last) - 2 * len(SYSTEM)
    counts = sampling.counts
    refused = counts.guessed_tokens - counts.accepted_tokens
    assert counts.prefilled_tokens + counts.decoded_tokens - refused == fed


class Told:
    """Guesses that know what each turn will be, for `right` tokens, and are wrong then."""

    def __init__(self, done: dict[tuple[int, int], Turn], right: int) -> None:
        self.wholes = [[*turn.prompt_ids, *turn.ids] for turn in done.values()]
        self.right = right
        self.never = min(set(range(30)) - {token for whole in self.wholes for token in whole})

    def learn(self, ids: Iterable[int], first: int) -> None:
        pass

    def after(self, ids: list[int], most: int) -> list[int]:
        for whole in self.wholes:
            if whole[: len(ids)] == ids:
                coming = whole[len(ids) : len(ids) + self.right]
                return [*coming, *[self.never] * 3][:most]
        return [self.never][:most]


@pytest.mark.parametrize("right", [0, 1, 3, 9])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_guesses_change_how_much_is_fed_at_once_and_not_what_is_drawn(
    monkeypatch: pytest.MonkeyPatch, right: int, temperature: float
) -> None:
    _, model = models("llama")
    monkeypatch.setattr(generation, "_NUM_GUESSED", 0)
    without, plain = play(model, range(8), temperature)
    monkeypatch.setattr(generation, "_NUM_GUESSED", 5)
    monkeypatch.setattr(generation, "Guesses", lambda: Told(without, right))
    found, sampling = play(model, range(8), temperature)

    assert {key: turn.ids for key, turn in found.items()} == {
        key: turn.ids for key, turn in without.items()
    }
    for key, turn in found.items():
        assert turn.logprobs == pytest.approx(without[key].logprobs, abs=1e-4)
    counts, single = sampling.counts, plain.counts
    assert (counts.accepted_tokens > 0) == (right > 0)
    assert counts.accepted_tokens <= counts.guessed_tokens
    assert single.guessed_tokens == 0
    assert counts.sampled_tokens == single.sampled_tokens
    refused = counts.guessed_tokens - counts.accepted_tokens
    assert counts.decoded_tokens - refused == single.decoded_tokens


@pytest.mark.parametrize("most", [1, 4, 100])
def test_contexts_of_any_length_are_attended_to_alike(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    _, model = models("llama")
    wanted, _ = play(model, range(8), 1.0)
    monkeypatch.setattr(segments, "_SHORT", most)
    found, _ = play(model, range(8), 1.0)

    assert {key: turn.ids for key, turn in found.items()} == {
        key: turn.ids for key, turn in wanted.items()
    }
    for key, turn in found.items():
        assert turn.logprobs == pytest.approx(wanted[key].logprobs, abs=1e-4)


def test_long_prompts_are_fed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    _, model = models("llama")
    whole, _ = play(model, range(6), 1.0)
    monkeypatch.setattr(generation, "_STEP_TOKENS", 5)
    parts, _ = play(model, range(6), 1.0)

    assert {key: turn.ids for key, turn in parts.items()} == {
        key: turn.ids for key, turn in whole.items()
    }


def test_a_context_that_is_shown_otherwise_than_before_starts_anew() -> None:
    plain, model = models("llama")
    sampling = Generation(model, END, 0.0)
    first = Turn(0, (*SYSTEM, *USERS[0]), len(SYSTEM), random.Random(0), 4)
    other = Turn(0, (*SYSTEM, *USERS[2], 9), len(SYSTEM), random.Random(0), 4)
    with torch.inference_mode():
        for turn in (first, other):
            sampling.ask(turn)
            while sampling.is_busy:
                sampling.step()

    assert other.ids == forced(plain, other).argmax(-1).tolist()


def test_a_model_with_other_layers_than_attention_is_refused() -> None:
    model = tiny_model()
    prepare(model)
    model.config.num_hidden_layers = 3

    with pytest.raises(PolicyError, match="of the 3 layers of LlamaForCausalLM, only 2"):
        play(model, [0], 0.0)
