"""Claims about guessing the next tokens."""

from __future__ import annotations

from loop.policy.guesses import Guesses


def test_what_followed_before_is_guessed_to_follow_again() -> None:
    guesses = Guesses()
    guesses.learn([1, 2, 3, 4, 5], 0)

    assert guesses.after([9, 2, 3], 5) == [4, 5]
    assert guesses.after([9, 2, 3], 1) == [4]
    assert guesses.after([9], 3) == []
    assert guesses.after([2, 3], 0) == []


def test_the_longest_run_decides_and_the_last_time_among_equals() -> None:
    guesses = Guesses()
    guesses.learn([1, 2, 3, 7], 0)
    guesses.learn([8, 2, 3, 6], 0)

    assert guesses.after([1, 2, 3], 1) == [7]
    assert guesses.after([5, 2, 3], 1) == [6]


def test_only_what_is_new_is_learned() -> None:
    guesses = Guesses()
    guesses.learn([1, 2, 3, 4], 3)

    assert guesses.after([1], 2) == []
    assert guesses.after([3], 2) == [4]
