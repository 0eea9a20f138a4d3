"""Progress: live on a terminal, sparse in a log."""

from __future__ import annotations

import io

import pytest

from loop.console import Console


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_log_gets_the_first_line_the_last_and_one_now_and_then() -> None:
    stream, clock = io.StringIO(), Clock()
    console = Console(stream, clock)

    for done in range(41):
        console.progress("rollout", done, 40, passed=done // 2)
        clock.now += 1.0

    assert stream.getvalue().splitlines() == [
        "rollout    0/40  passed 0  0.0 s",
        "rollout    10/40  passed 5  10.0 s",
        "rollout    20/40  passed 10  20.0 s",
        "rollout    30/40  passed 15  30.0 s",
        "rollout    40/40  passed 20  40.0 s",
    ]


def test_a_note_stands_at_the_end_of_the_line() -> None:
    stream = io.StringIO()
    Console(stream, Clock()).progress("rollout", 4, 4, note="212 tokens/s")

    assert stream.getvalue() == "rollout    4/4  0.0 s  212 tokens/s\n"


def test_a_terminal_gets_one_line_that_is_drawn_over() -> None:
    stream, clock = Terminal(), Clock()
    console = Console(stream, clock)

    console.progress("score", 0, 2)
    clock.now = 0.01
    console.progress("score", 1, 2)
    clock.now = 1.0
    console.progress("score", 2, 2)

    assert stream.getvalue() == "\rscore      0/2  0.0 s\rscore      2/2  1.0 s\n"


def test_a_shorter_line_leaves_nothing_of_the_longer_one() -> None:
    stream, clock = Terminal(), Clock()
    console = Console(stream, clock)

    console.progress("score", 10, 100, passed=10)
    clock.now = 1.0
    console.progress("score", 11, 100)

    first, second = stream.getvalue().split("\r")[1:]
    assert len(second) == len(first)


def test_a_plain_line_does_not_run_into_the_live_one() -> None:
    stream = Terminal()
    console = Console(stream, Clock())

    console.progress("score", 1, 2)
    console.line("note")
    console.close()

    assert stream.getvalue().endswith("0.0 s\nnote\n")


def test_a_reader_that_has_gone_ends_the_lines_and_not_the_round() -> None:
    class Gone(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    console = Console(Gone())

    console.progress("rollout", 0, 2)
    console.line("more")
    console.close()


def test_without_a_stderr_nothing_is_shown_and_nothing_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stderr", None)

    Console().line("unheard")
