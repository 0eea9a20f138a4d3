"""Text pages: width, bold, and that nothing in a text can move the cursor."""

from __future__ import annotations

import io
import sys

import pytest

from loop.plain_page import WIDTH, Page, visible


class Terminal(io.StringIO):
    """A stream that says it is a terminal of this encoding."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__()
        self._encoding = encoding

    def isatty(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


def page() -> Page:
    made = Page()
    made.heading("Title")
    made.line("word " * 60)
    made.verbatim("x" * 250 + "\n  two")
    made.table([("a" * 50, "b", "c " * 90), ("short", "b" * 80, "c" * 300)])
    made.table([tuple("column" + "n" * 30 for _ in range(6))])
    return made


def test_no_line_is_wider_than_100_columns_and_no_character_is_lost() -> None:
    text = page().text()

    assert max(map(len, text.splitlines())) <= WIDTH == 100
    assert text.count("x") == 250
    assert text.count("c") - text.count("column") == 90 + 300
    assert "|   two" in text


def test_verbatim_text_keeps_its_spaces_where_it_is_cut() -> None:
    made = Page()
    written = "if a:\n        return  " + "long " * 40 + "end"
    made.verbatim(written, indent=0)

    lines = [line.removeprefix("| ") for line in made.text().splitlines()]
    assert "".join(lines) == written.replace("\n", "")
    assert lines[1].startswith("        return  long")


@pytest.mark.parametrize(
    ("environment", "is_bold"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_headings_are_bold_on_a_terminal_that_may(
    environment: dict[str, str], is_bold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    stream = Terminal()

    page().show(stream)

    assert ("\033[1mTitle\033[0m" in stream.getvalue()) is is_bold


def test_a_file_gets_no_bold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = io.StringIO()

    page().show(stream)

    assert "\033" not in stream.getvalue()


def test_without_a_stdout_a_page_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)

    page_of_everything = Page()
    page_of_everything.line("text")
    page_of_everything.show()


def test_control_characters_are_spelled_out() -> None:
    assert visible("a\033[2Jb\rc\n\x9b\u202e\td") == "a\\x1b[2Jb\\rc\\n\\x9b\\u202e    d"
    assert visible("a\nb\x07", keep_lines=True) == "a\nb\\x07"


def test_what_an_encoding_lacks_is_escaped() -> None:
    stream, made = Terminal("ascii"), Page()
    made.line("caf\u00e9 \ud83d")

    made.show(stream)

    assert stream.getvalue() == "  caf\\xe9 \\ud83d\n"
