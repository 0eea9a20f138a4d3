"""An endpoint misbehaves: nothing hangs, nothing is asked in vain, the key stays here."""

from __future__ import annotations

import time

import pytest

from components.errors import ProviderError
from components.model.budget import Budget
from components.model.endpoint import open_door
from components.model.recording import Recording
from components.model.session import Session
from tests.model.served import Play, Served, desk_config, in_turn, serve


class Asked:
    """One session and how long it waited."""

    def __init__(self, served: Served, **changes: object) -> None:
        self.config = desk_config(served.base_url, **changes)
        self.budget = Budget(self.config)
        self.waits: list[float] = []
        self.session = Session(
            self.config, self.budget, Recording(None), open_door(self.config), self.waits.append
        )

    def text(self) -> str | None:
        return self.session.ask("write", "system", "prompt").text


def test_too_many_requests_wait_as_long_as_they_are_told() -> None:
    busy = Play(status=429, headers={"Retry-After": "7"})
    with serve(in_turn(busy, Play(status=500), Play("done"))) as served:
        asked = Asked(served, max_retries=2)

        assert asked.text() == "done"

    assert asked.waits == [7.0, 1.0]
    assert asked.budget.tokens == 150  # the two refusals cost nothing
    assert asked.budget.stages["write"].requests == 3


def test_a_wait_without_end_is_cut() -> None:
    with serve(in_turn(Play(status=429, headers={"Retry-After": "1e9"}), Play("x"))) as served:
        asked = Asked(served, max_retries=1)
        asked.text()

    assert asked.waits == [60.0]


@pytest.mark.parametrize(
    ("play", "problem", "is_counted"),
    [
        (Play(status=500), "HTTP 500", False),
        (Play(status=429), "HTTP 429", False),
        (Play("cut", is_truncated=True), "RemoteProtocolError", True),
        (Play(body=b"<html>"), "an answer without a message", True),
        (Play(body=b'{"choices": []}'), "an answer without a message", True),
        (Play(body=b"[" * 100_000), "an answer without a message", True),
        (Play(pad=6 << 20), "an answer of over 4194304 bytes", True),
        (Play(hang_seconds=20), "no answer within 0.5 s", True),
    ],
)
def test_broken_answers_are_tried_again_and_then_given_up(
    play: Play, problem: str, is_counted: bool
) -> None:
    with serve(in_turn(play)) as served:
        asked = Asked(served, max_retries=1, timeout_seconds=0.5 if play.hang_seconds else 5.0)
        start = time.perf_counter()

        with pytest.raises(ProviderError, match=f"model scripted: {problem}"):
            asked.text()

    assert time.perf_counter() - start < 10
    assert len(served.requests) == 2
    assert asked.budget.tokens == (2 * (4096 + len("systemprompt") + 32) if is_counted else 0)


@pytest.mark.parametrize("status", [400, 401, 404, 422, 302])
def test_refusals_are_final(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SELVAGE_TEST_KEY", "sk-very-secret")
    with serve(in_turn(Play(status=status, body=b"bad key sk-very-secret"))) as served:
        asked = Asked(served, max_retries=5)

        with pytest.raises(ProviderError) as caught:
            asked.text()

    assert len(served.requests) == 1
    assert "sk-very-secret" not in str(caught.value)
    assert f"HTTP {status}" in str(caught.value)


def test_no_endpoint_at_all_is_said_in_one_line() -> None:
    with serve(in_turn(Play())) as served:
        pass
    asked = Asked(served)

    with pytest.raises(ProviderError, match="model scripted: no connection"):
        asked.text()

    assert asked.budget.tokens == 0


def test_an_endpoint_that_does_not_count_is_counted_at_its_largest() -> None:
    with serve(in_turn(Play("x", prompt_tokens=None, answer_tokens=None))) as served:
        asked = Asked(served)
        asked.text()

    assert asked.budget.tokens == 4096 + len("systemprompt") + 32


def test_halves_of_surrogate_pairs_do_not_break_the_recording() -> None:
    body = b'{"choices": [{"message": {"content": "\\ud83d here"}}]}'
    with serve(in_turn(Play(body=body))) as served:
        assert Asked(served).text() == "? here"
