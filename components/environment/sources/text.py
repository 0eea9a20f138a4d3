"""Text that strangers wrote, made harmless to show: nothing hidden, nothing that moves a cursor.

Owns the cleaning and the bounds of names, descriptions and titles. It refuses to judge what a text
says; braces, markup and orders stay as they are, since no text of a spec is ever a template.
"""

from __future__ import annotations

import re

MAX_LINE = 200
"""Characters of a title, a name or one line of an error."""

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor moves
    r"|\x1b[\]P_^X][^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)"  # titles, links, device strings
    r"|\x1b[ -/]*[0-~]"
)
_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029\x85]")
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, tab and line feed excepted
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # direction
    "\ud800-\udfff"  # surrogates: no text has bytes for them
    "\U000e0000-\U000e0fff]"  # tags and their like: letters that nobody sees
)


def clean_text(text: str, most: int) -> str:
    """Return a text without control, direction and invisible characters, at most `most` long.

    Line feeds and tabs stay. The joiners that scripts and emoji need (U+200C, U+200D) stay.

    Example:
        >>> clean_text("\\x1b[31mred\\x1b[0m\\r\\nabc\\u202e{{x}}", 10)
        'red\\nabc...'
    """
    if not text.isascii() or not text.isprintable():
        text = _LINE_ENDS.sub("\n", _ESCAPES.sub("", text))
        text = _HIDDEN.sub("", text)
    text = text.strip()
    return text if len(text) <= most else f"{text[: most - 3]}..."


def clean_line(text: str, most: int = MAX_LINE) -> str:
    """Return a text as one line, cleaned."""
    return clean_text(re.sub(r"\s+", " ", clean_text(text, most * 4)), most)
