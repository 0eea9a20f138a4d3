"""Progress for the person who waits: one live line on a terminal, sparse plain lines in a log.

Writes to stderr only; results go to stdout, where the last line of a verb can be read by a script.
Never part of what is recorded.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from typing import TextIO

LIVE_SECONDS = 0.1
"""On a terminal the line is drawn at most this often."""
PLAIN_SECONDS = 10.0
"""Elsewhere a line is written at most this often, besides the first and the last of a stage."""


class Console:
    """Shows one stage at a time; `progress` begins the next stage by naming it."""

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        # Without a stderr (`2>&-`, some services) there is nobody to tell, and nothing to fail.
        self._stream = stream or sys.stderr or io.StringIO()
        self._clock = clock
        self._is_live = self._stream.isatty()
        self._stage = ""
        self._started = 0.0
        self._shown_at = 0.0
        self._width = 0
        """Characters of the live line that is on the screen; 0 when there is none."""

    def progress(
        self, stage: str, done: int, total: int, passed: int | None = None, note: str = ""
    ) -> None:
        """Show how far a stage is.

        Args:
            stage: its name.
            done: units that are done.
            total: units that there are.
            passed: units that passed; None where passing means nothing.
            note: what else there is to say of it, in a few words.
        """
        now = self._clock()
        is_new = stage != self._stage
        if is_new:
            self._end_line()
            self._stage, self._started = stage, now
        is_last = done >= total
        pause = LIVE_SECONDS if self._is_live else PLAIN_SECONDS
        if not (is_new or is_last or now - self._shown_at >= pause):
            return
        self._shown_at = now
        seconds = now - self._started
        text = f"{stage:<10} {done}/{total}"
        text += "" if passed is None else f"  passed {passed}"
        text += f"  {seconds:.1f} s"
        self._show(f"{text}  {note}" if note else text, is_last=is_last)

    def line(self, text: str) -> None:
        """Write one whole line, above the live line's place."""
        self._end_line()
        self._write(text + "\n")

    def close(self) -> None:
        """End the live line, so that what follows starts on a line of its own."""
        self._end_line()
        self._stage = ""

    def _show(self, text: str, *, is_last: bool) -> None:
        if not self._is_live:
            self._write(text + "\n")
            return
        self._write("\r" + text.ljust(self._width))
        self._width = len(text)
        if is_last:
            self._end_line()

    def _end_line(self) -> None:
        if self._width:
            self._write("\n")
            self._width = 0

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # the reader has gone (`| head -1`): the round goes on without it
            self._stream = io.StringIO()
            self._is_live = False
