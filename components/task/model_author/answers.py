"""What can be used of the answers of a model that authors tasks. Untrusted text, only read.

One JSON object of a known form; whatever else comes is refused with a reason that the model can be
told.
"""

from __future__ import annotations

from typing import TypeVar

from pydantic import ValidationError

from components.environment.sources.documents import first_problem
from components.environment.values import settle
from components.model.answers import STRICT_JSON, Unusable, blocks_of, is_open
from components.model.records import Tried
from components.records.base import Record

R = TypeVar("R", bound=Record)
_MAX_CHARS = 60_000


def object_of(tried: Tried, kind: type[R]) -> R:
    """Return the last JSON object of an answer, in a block or bare, as a record.

    Args:
        tried: the answer.
        kind: what it must be.

    Raises:
        Unusable: there is none, it was cut off, or it is of another form.
    """
    text = tried.text or ""
    bodies = [body for name, body in blocks_of(text) if name in ("", "json")]
    body = bodies[-1] if bodies else text
    start = body.find("{")
    if start < 0 or len(body) > _MAX_CHARS:
        if start >= 0:
            raise Unusable(f"its object has more than {_MAX_CHARS} characters")
        if not tried.is_whole or is_open(text):
            raise Unusable("it was cut off before its block of JSON ended; write less")
        raise Unusable("it holds no JSON object (one block ```json {...} ```)")
    try:
        found = settle(STRICT_JSON.raw_decode(body, start)[0])
    except RecursionError as error:
        raise Unusable("its object is nested too deeply") from error
    except ValueError as error:
        cut = "" if tried.is_whole else " (it was cut off; write less)"
        raise Unusable(f"its object is no JSON: {error}{cut}") from error
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        where, problem = first_problem(error)
        raise Unusable(f"its object is not of the form asked for: {where}: {problem}") from error
