"""Plain text for a terminal or a file: at most 100 columns, headings bold where that can be seen.

What a model or a server wrote is text here: control characters are spelled out, so that nothing in
it can move the cursor, and what the terminal's encoding lacks is escaped.
"""

from __future__ import annotations

import itertools
import os
import sys
import textwrap
from collections.abc import Sequence
from typing import TextIO

WIDTH = 100
CELL = 36
"""A cell is at most this wide, the last of a row apart; what is longer goes on below."""
ROOM = 24
"""The last cell of a row is at least this wide."""
_BOLD, _PLAIN = "\033[1m", "\033[0m"


class Page:
    """Lines that are collected, and shown at the end."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, bool]] = []
        """Text, and whether it is a heading."""

    def heading(self, text: str) -> None:
        """Begin a section."""
        if self._lines:
            self._lines.append(("", False))
        self._lines += [(line, True) for line in _wrapped(visible(text), 0, 2)]

    def line(self, text: str, indent: int = 2) -> None:
        """Add a paragraph."""
        self._lines += [(line, False) for line in _wrapped(visible(text), indent, indent + 2)]

    def verbatim(self, text: str, indent: int = 4) -> None:
        """Add text that keeps its own lines, behind a bar."""
        for line in visible(text, keep_lines=True).split("\n") if text else ["(nothing)"]:
            bar = " " * indent + "| "
            self._lines += [(bar + part, False) for part in _cut(line, WIDTH - len(bar))]

    def raw(self, text: str) -> None:
        """Add text for a program to take: lines are not cut, tabs stay; what could move the cursor
        is spelled out."""
        for line in text.removesuffix("\n").split("\n"):
            parts = [visible(part) for part in line.split("\t")]
            self._lines.append(("\t".join(parts), False))

    def table(self, rows: Sequence[Sequence[str]], indent: int = 2) -> None:
        """Add rows whose cells stand under each other; the last column takes what is left."""
        cells = [[visible(cell) for cell in row] for row in rows]
        if not cells:
            return
        columns = list(zip(*cells, strict=True))
        widths = [min(CELL, max(map(len, column))) for column in columns[:-1]]
        room = WIDTH - indent - 2 * len(widths)
        while widths and room - sum(widths) < ROOM:
            widths[widths.index(max(widths))] -= 1
        widths.append(room - sum(widths))
        for row in cells:
            wrapped = [textwrap.wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
            for parts in itertools.zip_longest(*wrapped, fillvalue=""):
                padded = [part.ljust(width) for part, width in zip(parts, widths, strict=True)]
                self._lines.append(((" " * indent + "  ".join(padded)).rstrip(), False))

    def text(self, *, bold: bool = False) -> str:
        """Return everything, each line ended."""
        return "".join(
            (f"{_BOLD}{line}{_PLAIN}" if bold and is_heading else line) + "\n"
            for line, is_heading in self._lines
        )

    def show(self, stream: TextIO | None = None) -> None:
        """Write everything to the stream; None: to stdout, where there is one."""
        target = stream or sys.stdout
        if target is None:
            return
        has_colours = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        text = self.text(bold=target.isatty() and has_colours)
        encoding = target.encoding or "utf-8"
        target.write(text.encode(encoding, "backslashreplace").decode(encoding))


def visible(text: str, *, keep_lines: bool = False) -> str:
    """Return the text with every control character spelled out; a tab becomes four spaces."""
    text = text.replace("\t", "    ")
    return "".join(
        char
        if char.isprintable() or (keep_lines and char == "\n")
        else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def _wrapped(text: str, indent: int, further: int) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * further
    ) or [""]


def _cut(line: str, width: int) -> list[str]:
    """Return a line in parts, cut at spaces where there are some; no character is lost."""
    return textwrap.wrap(line, width, drop_whitespace=False, replace_whitespace=False) or [""]
