"""What a server's texts are made of: the sentence of an acknowledgement, the field that a text is.

Owns the finding of a call's own values in the text that answers it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from components.environment.params import is_storable
from components.environment.recorded.heard import Heard
from components.environment.recorded.values import named_values
from components.records.spec import Expr

_LONGEST = 300
_SHORTEST_VALUE = 2


def sentence_of(calls: Sequence[Heard], always_given: Iterable[str]) -> Expr:
    """Return the text that answers calls of one tool, over `$args`; null where it has other parts
    than their arguments, or where it may have.

    Args:
        calls: with success, each answered by one text.
        always_given: arguments that every call has.

    Example:
        of `Created branch 'weaving'` to `{"name": "weaving"}`:
        `{"@concat": ["Created branch '", "$args.name", "'"]}`
    """
    names = [name for name in sorted(always_given) if is_storable(name)]
    forms = {_form(call.text or "", call.arguments, names) for call in calls}
    if len(forms) != 1:
        return None
    (form,) = forms
    words = "".join(part for part, is_argument in form if not is_argument)
    is_known_once = len({call.arguments for call in calls}) == 1
    if len(words) > _LONGEST or (is_known_once and re.search(r"\d", words)):
        return None  # a number that is seen once may be another the next time
    return {
        "@concat": [
            f"$args.{part}" if is_argument else {"@lit": part} for part, is_argument in form
        ]
    }


def _form(
    text: str, arguments: Mapping[str, Any], names: list[str]
) -> tuple[tuple[str, bool], ...]:
    """Return the parts of a text: (words, False) or (an argument's name, True)."""
    values = {
        arguments[name]: name
        for name in reversed(names)
        if isinstance(arguments.get(name), str) and len(arguments[name]) >= _SHORTEST_VALUE
    }
    if not values:
        return ((text, False),)
    longest_first = sorted(values, key=lambda value: (-len(value), value))
    pattern = "|".join(re.escape(value) for value in longest_first)
    parts = re.split(rf"(?<!\w)({pattern})(?!\w)", text)
    return tuple(
        (values[part], True) if at % 2 else (part, False) for at, part in enumerate(parts) if part
    )


def field_of_texts(sequences: Sequence[Sequence[Heard]], tool: str) -> str:
    """Return the argument of earlier calls whose whole value most of a tool's texts are; empty
    where there is none.
    """
    counts: dict[str, int] = {}
    num_texts = 0
    for calls in sequences:
        written: dict[str, set[str]] = {}
        for call in calls:
            if call.is_ok and call.tool == tool and call.text is not None:
                num_texts += 1
                for name in written.get(call.text.strip(), ()):
                    counts[name] = counts.get(name, 0) + 1
            elif call.is_ok:
                for place, value in named_values(call.arguments):
                    written.setdefault(value, set()).add(place.rpartition(".")[2])
    best = max(sorted(counts), key=lambda name: counts[name], default="")
    return best if best and counts[best] * 2 > num_texts else ""
