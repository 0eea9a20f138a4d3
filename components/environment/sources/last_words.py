"""What a program that ended had to say, out of what it wrote on stderr.

The last line is seldom it: a JavaScript runtime ends with its own version, a traceback of grouped
errors with a ruler, a failed validation with an address. The line that names an error is looked
for instead, and what follows it is kept.
"""

from __future__ import annotations

import json
import re

from components.environment.sources.text import clean_line

_RULERS = re.compile(r"^[\s|+^~-]+")
"""What stands before the lines of grouped errors, and lines that only underline."""
_ERROR = re.compile(r"(?:[A-Za-z_][\w.]*)?(?:Error|Exception|ExceptionGroup)\b[^:(]{0,40}: ?\S")
_STACK = re.compile(
    r"at .*[:/(<]|File \".*\", line \d+|Node\.js v\d|Bun v\d|Traceback \(most recent|"
    r"During handling of the above|The above exception was|For further information visit"
)


def last_words(text: str) -> str:
    """Return what a program said last of why it ended, in one line that may be long and is still
    to be redacted; empty where it said nothing.

    Example:
        >>> last_words("Error: KEY is not set\\n    at main (a.js:1)\\n\\nNode.js v20.20.2\\n")
        'Error: KEY is not set'
    """
    lines = [_RULERS.sub("", line).strip() for line in text.splitlines()]
    telling = [line for line in lines if line and not _STACK.match(line)]
    errors = [at for at, line in enumerate(telling) if _ERROR.match(line)]
    start = errors[-1] if errors else -1
    return " ".join(telling[start:])


def told_noise(count: int, last: str) -> str:
    """Return what is told of lines that a server wrote among its messages, the last one quoted."""
    if not count:
        return ""
    what = (
        "a line on its stdout was no protocol message"
        if count == 1
        else f"{count} lines on its stdout were no protocol messages, the last"
    )
    return f"; {what}: {quoted(last)}"


def quoted(text: str) -> str:
    """Return a foreign text as one quoted line of bounded length."""
    return json.dumps(clean_line(text), ensure_ascii=False)
