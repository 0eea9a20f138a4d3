"""What can be used of a model's answer: a block of Python, a list of tests, a list of names.

Owns the reading of untrusted text. It executes nothing; what does not fit is left out or refused
with a reason that the model can be told.
"""

from __future__ import annotations

from collections.abc import Collection

from pydantic import ValidationError

from components.environment.author.records import WrittenTest
from components.environment.values import settle
from components.model.answers import Unusable, blocks_of, is_open, last_list
from components.model.records import Tried

MAX_CODE_BYTES = 200_000
MAX_TESTS = 40
_PYTHON = frozenset({"", "py", "python", "python3"})


def code_of(tried: Tried) -> str:
    """Return the Python file in an answer: its longest block of Python.

    Raises:
        Unusable: there is none, or it was cut off, or it is too long.
    """
    text = tried.text or ""
    found = [body for kind, body in blocks_of(text) if kind in _PYTHON and "tool" in body]
    if found:
        code = max(found, key=len)
        if len(code.encode()) > MAX_CODE_BYTES:
            raise Unusable(f"the file has more than {MAX_CODE_BYTES} bytes")
        return code
    if not tried.is_whole or is_open(text):
        raise Unusable("the answer was cut off before its block of Python ended; write less")
    raise Unusable("it holds no block of Python (```python ... ```) with tools in it")


def written_tests_of(tried: Tried, tools: Collection[str]) -> tuple[WrittenTest, ...]:
    """Return the tests in an answer that can be made; others are left out.

    Args:
        tried: the answer.
        tools: names of the tools that a test may call.
    """
    tests = []
    for item in last_list(tried.text or ""):
        try:
            test = WrittenTest.model_validate(item)
        except ValidationError:
            continue
        if all(step.tool in tools for step in test.steps) and _is_settled(test):
            tests.append(test)
    return tuple(tests[:MAX_TESTS])


def names_of(tried: Tried, known: Collection[str], most: int) -> tuple[str, ...]:
    """Return the names in an answer that are known, in its order."""
    wanted = [item for item in last_list(tried.text or "") if isinstance(item, str)]
    return tuple(dict.fromkeys(item for item in wanted if item in known))[:most]


def _is_settled(test: WrittenTest) -> bool:
    """True when every value of a test has a form in a world."""
    try:
        settle([[step.arguments, step.holds] for step in test.steps])
    except ValueError:
        return False
    return True
