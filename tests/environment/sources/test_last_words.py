"""Claims about what is told of a program that ended: the line that says why, not the last one."""

from __future__ import annotations

import pytest

from components.environment.sources.last_words import last_words, told_noise

JAVASCRIPT = """file:///srv/build/index.js:4858
      throw new Error("API_KEY is required");
            ^

Error: API_KEY is required
    at new Server (file:///srv/build/index.js:4858:13)
    at async asyncRunEntryPointWithESMLoader (node:internal/modules/run_main:117:5) {
  code: 'E_SETTING'
}

Node.js v20.20.2
"""
GROUPED = """  + Exception Group Traceback (most recent call last):
  |   File "/srv/main.py", line 3, in main
  |     run()
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/main.py", line 9, in run
    |     raise ValueError("no folder")
    | ValueError: no folder
    +------------------------------------
"""
VALIDATION = """Traceback (most recent call last):
  File "/srv/main.py", line 3, in <module>
pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings
api_key
  Field required [type=missing, input_value={}, input_type=dict]
    For further information visit https://errors.example/missing
"""


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (JAVASCRIPT, "Error: API_KEY is required code: 'E_SETTING' }"),
        (GROUPED, "ValueError: no folder"),
        (
            VALIDATION,
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings api_key "
            "Field required [type=missing, input_value={}, input_type=dict]",
        ),
        ("usage: serve --db X\nserve: error: it wants --db\n", "serve: error: it wants --db"),
        ("INFO starting\nError: first\nTypeError: second\n", "TypeError: second"),
        ("INFO starting\nstopped by a signal\n\n", "stopped by a signal"),
        ("\n----\n", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_the_line_that_says_why_is_told(written: str, told: str) -> None:
    assert last_words(written) == told


def test_lines_among_the_messages_are_counted_and_the_last_is_quoted() -> None:
    assert told_noise(0, "") == ""
    assert told_noise(1, "listening on\n:3001") == (
        '; a line on its stdout was no protocol message: "listening on :3001"'
    )
    assert told_noise(3, "x" * 5000).endswith('the last: "' + "x" * 197 + '..."')
