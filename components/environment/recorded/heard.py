"""A recording as the compiler's lessons read it: calls in the service's own names, answers as data.

References to earlier answers are resolved; a call whose reference names nothing is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.environment.recorded.answers import body_of, error_kinds, is_error
from components.environment.recorded.records import Answer, Call
from components.environment.recorded.references import Unresolved, resolved
from components.environment.sources.names import from_server
from components.environment.sources.records import ServiceCard
from components.environment.sources.redaction import Redactor
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, JsonObject

Sequences = Sequence[tuple[Sequence[Call], Sequence[Answer | None]]]
_WRAPPER = "result"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One call that the real server answered."""

    tool: str
    """Name in the service."""
    arguments: JsonObject
    body: Any
    """JSON, or prose as a text; null where the call failed."""
    is_ok: bool
    is_conflict: bool
    """It failed, and says that something is there already."""
    is_whole: bool
    """False where the answer holds images or files besides."""

    @property
    def data(self) -> Any:
        """The body as a compiled tool would answer it: what is no object is wrapped in one."""
        return self.body if isinstance(self.body, Mapping) else FrozenDict({_WRAPPER: self.body})

    @property
    def text(self) -> str | None:
        """The one text that the answer is; None where it is something else."""
        values = list(self.data.values())
        return values[0] if len(values) == 1 and isinstance(values[0], str) else None


def heard_sequences(
    sequences: Sequences, card: ServiceCard, redactor: Redactor
) -> list[list[Heard]]:
    """Return the calls of each sequence in order.

    Args:
        sequences: calls and answers as a file holds them.
        card: gives the service's own names.
        redactor: removes what no answer may hold.
    """
    return [list(_heard(calls, answers, card, redactor)) for calls, answers in sequences]


def _heard(
    calls: Sequence[Call], answers: Sequence[Answer | None], card: ServiceCard, redactor: Redactor
) -> list[Heard]:
    bodies: list[Any] = []
    found: list[Heard] = []
    for call, answer in zip(calls, answers, strict=False):
        is_ok = answer is not None and not is_error(answer)
        body = redactor.value(body_of(answer)) if answer is not None and is_ok else None
        tool, given = from_server(card, call.tool, call.arguments)
        try:
            arguments = resolved(redactor.value(given), bodies)
        except Unresolved:
            arguments = None
        bodies.append(body)
        if answer is not None and arguments is not None:
            found.append(
                Heard(
                    tool=tool,
                    arguments=FrozenDict(arguments),
                    body=body,
                    is_ok=is_ok,
                    is_conflict=not is_ok and ErrorCode.CONFLICT in error_kinds(answer),
                    is_whole=not answer.num_other_parts,
                )
            )
    return found
