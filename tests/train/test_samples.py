"""Claims about samples, with every token written out by hand: one character is one token."""

from __future__ import annotations

from typing import Any

import pytest

from components.records.frozen import FrozenDict
from components.records.trajectory import (
    Failure,
    Observation,
    ParsedCall,
    ScoredTrajectory,
    ScoreStatus,
    StopReason,
    Trajectory,
    Turn,
)
from loop.policy.tokens import ChatTokens
from loop.train.samples import samples_of

START, END = 1, 2


class Letters:
    """A tokenizer of single characters, with the two special tokens of ChatML."""

    def get_added_vocab(self) -> dict[str, int]:
        return {"<|im_start|>": START, "<|im_end|>": END}

    def encode(self, text: str, **_flags: bool) -> list[int]:
        return [ord(letter) for letter in text]


TOKENS = ChatTokens(Letters())  # type: ignore[arg-type]


def turn(index: int, text: str, shown: str, **given: Any) -> Turn:
    call = ParsedCall(call_id=f"c{index}", name="a__b", arguments=FrozenDict(), parser="hermes")
    observation = Observation(call_id=f"c{index}", call=None, shown=shown)
    values = {"policy_version": "v", "calls": (call,), "observations": (observation,)}
    return Turn(index=index, raw_text=text, **{**values, **given})


def trajectory(*turns: Turn, **given: Any) -> Trajectory:
    values: dict[str, Any] = {
        "rollout_id": "r",
        "task_id": "t",
        "group_index": 0,
        "seed": 1,
        "simulated": True,
        "component_hashes": FrozenDict(),
        "system_text": "S",
        "user_text": "U",
        "turns": turns,
        "stop_reason": StopReason.FINISHED,
        "initial_state": "",
        "final_state": "",
    }
    return Trajectory(**{**values, **given})


def scored(**given: Any) -> ScoredTrajectory:
    values: dict[str, Any] = {
        "rollout_id": "r",
        "task_id": "t",
        "status": ScoreStatus.SCORED,
        "criteria": FrozenDict(),
        "passed": True,
        "reward": 1.0,
    }
    return ScoredTrajectory(**{**values, **given})


GOOD, BAD = '{"ok":true}', '{"ok":false}'


def taken(*turns: Turn, masks: bool = True, **given: Any) -> Any:
    return samples_of(
        [(trajectory(*turns), scored())], TOKENS, max_tokens=1000, masks_mistakes=masks, **given
    )


def learned(made: Any) -> str:
    """Return the trained tokens as text, `$` for the end of a turn."""
    (sample,) = made.samples
    return "".join(
        "$" if token == END else chr(token)
        for token, is_trained in zip(sample.ids, sample.is_trained, strict=True)
        if is_trained
    )


def test_ids_and_mask_are_those_of_the_conversation() -> None:
    (sample,) = taken(turn(0, "ab", GOOD), turn(1, "c", GOOD)).samples

    text = [*b"system\nS"], [*b"user\nU"], [*b"assistant\nab"], [*f"user\n{GOOD}".encode()]
    wanted = []
    for part in (*text, [*b"assistant\nc"]):
        wanted += [START, *part, END, ord("\n")]
    assert sample.ids == tuple(wanted[:-1])
    assert sample.num_system == len([START, *b"system\nS"])
    assert [index for index, is_trained in enumerate(sample.is_trained) if is_trained] == [
        31,
        32,
        33,
        len(wanted) - 3,
        len(wanted) - 2,
    ]


def test_sampled_ids_are_learned_as_they_were_sampled() -> None:
    first = turn(0, "ab", GOOD, token_ids=(ord("x"), ord("y"), END))

    assert learned(taken(first, turn(1, "c", GOOD))) == "xy$c$"


def test_a_failed_turn_is_context_and_its_recovery_is_learned() -> None:
    turns = turn(0, "wrong", BAD), turn(1, "right", GOOD)

    made = taken(*turns)

    assert learned(made) == "right$"
    assert made.num_masked_turns == 1
    assert bytes(made.samples[0].ids[20:]).find(b"wrong") > 0
    assert learned(taken(*turns, masks=False)) == "wrong$right$"


def test_an_unread_turn_and_a_known_slip_are_masked() -> None:
    unread = turn(0, "what", GOOD, calls=(), observations=(), problem="p", feedback="f")

    made = taken(unread, turn(1, "slip", GOOD), turn(2, "good", GOOD), slips={"r": (1,)})

    assert learned(made) == "good$"
    assert made.num_masked_turns == 2


def test_what_follows_the_last_learned_token_is_left_out() -> None:
    (sample,) = taken(turn(0, "ab", GOOD)).samples

    assert sample.ids[-1] == END
    assert sample.is_trained[-1]


@pytest.mark.parametrize(
    ("given", "outcome", "reason"),
    [
        ({"failure": Failure(boundary="provider", message="m")}, {}, "failure"),
        ({"stop_reason": StopReason.FAILURE}, {}, "failure"),
        ({}, {"status": ScoreStatus.UNSCORED, "passed": None, "reward": None}, "unscored"),
        ({}, {"passed": False, "reward": 0.9}, "not_passed"),
        ({"turns": (turn(0, "x", BAD),)}, {}, "nothing_to_learn"),
        ({"turns": (turn(0, "x" * 2000, GOOD),)}, {}, "too_long"),
    ],
)
def test_only_valid_trajectories_count(
    given: dict[str, Any], outcome: dict[str, Any], reason: str
) -> None:
    one = trajectory(**{"turns": (turn(0, "ab", GOOD),), **given})

    made = samples_of([(one, scored(**outcome))], TOKENS, max_tokens=1000, masks_mistakes=True)

    assert made.samples == ()
    assert made.left_out == {reason: 1}
    assert made.counts()[f"left_out.{reason}"] == 1
