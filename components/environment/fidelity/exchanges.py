"""The same calls on both sides, and how far they can be held against each other.

Owns the playing. Each side resolves references by its own answers. A comparison ends where the two
states part: from there on it would say nothing about the tools that are called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from components.environment.engine import execute
from components.environment.fidelity.document import TMP, replaced
from components.environment.recorded.answers import body_of, is_error
from components.environment.recorded.records import Answer, Call
from components.environment.recorded.references import Unresolved, resolved
from components.environment.sources.names import from_server, to_server
from components.environment.sources.records import ServiceCard
from components.environment.sources.servers import Ask
from components.environment.world import World
from components.errors import ToolError
from components.records.frozen import FrozenDict, JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One call and what both sides said to it."""

    sequence: int
    number: int
    """From 1, as references count."""
    tool: str
    """Name in the compiled service."""
    arguments: JsonObject
    """Before references are resolved."""
    real: Answer | None
    """None: not called, since a reference named nothing there."""
    compiled: JsonObject | None
    """Envelope; None: not called, since it is not offered or a reference named nothing there."""

    @property
    def is_made(self) -> bool:
        """True where both sides answered."""
        return self.real is not None and self.compiled is not None

    @property
    def real_ok(self) -> bool:
        """True where the real server did it."""
        return self.real is not None and not is_error(self.real)

    @property
    def compiled_ok(self) -> bool:
        """True where the compiled service did it."""
        return self.compiled is not None and self.compiled["ok"] is True

    @property
    def is_readable(self) -> bool:
        """True where both did it, and all of the real answer is text."""
        has_others = self.real is not None and self.real.num_other_parts > 0
        return self.real_ok and self.compiled_ok and not has_others

    @property
    def real_body(self) -> Any:
        """What the real server answered, as JSON or prose."""
        return None if self.real is None else body_of(self.real)

    @property
    def compiled_body(self) -> Any:
        """The compiled service's data."""
        return None if self.compiled is None else self.compiled.get("data")


async def play_real(
    ask: Ask, card: ServiceCard, calls: Sequence[Call], folder: str
) -> tuple[list[Answer | None], str]:
    """Make the calls of a sequence on a real server.

    Returns:
        An answer a call, as far as the server lived, and what it died of (empty: it did not).
        The folder stands in the answers as `{tmp}`.
    """
    answers: list[Answer | None] = []
    for call in calls:
        tool, arguments = from_server(card, call.tool, call.arguments)
        try:
            given = resolved(arguments, [_real_body(answer) for answer in answers])
        except Unresolved:
            answers.append(None)
            continue
        own, theirs = to_server(card, tool, replaced(given, TMP, folder))
        try:
            body = await ask(own, theirs)
        except ToolError as error:
            return answers, f"call {len(answers) + 1} ({call.tool}): {error}"
        answers.append(Answer.model_validate(replaced(body, folder, TMP)))
    return answers, ""


def _real_body(answer: Answer | None) -> Any:
    return None if answer is None or is_error(answer) else body_of(answer)


def exchanges_of(
    world: World,
    card: ServiceCard,
    offered: frozenset[str],
    number: int,
    calls: Sequence[Call],
    answers: Sequence[Answer | None],
) -> list[Exchange]:
    """Make the same calls on the compiled service and put both sides together.

    Args:
        offered: tools of the service that are compared; no other is called.
        number: of the sequence.
        answers: of the real server; where it died, fewer than calls, and no more are made here.
    """
    service, state = next(iter(world.services)), world.initial
    bodies: list[Any] = []
    found = []
    for at, (call, answer) in enumerate(zip(calls, answers, strict=False)):
        tool, arguments = from_server(card, call.tool, call.arguments)
        envelope = None
        if tool in offered:
            try:
                outcome = execute(world, state, service, tool, resolved(arguments, bodies))
                state, envelope = outcome.state, outcome.envelope
            except Unresolved:
                pass
        bodies.append(None if envelope is None else envelope.get("data"))
        found.append(
            Exchange(
                sequence=number,
                number=at + 1,
                tool=tool,
                arguments=FrozenDict(arguments),
                real=answer,
                compiled=envelope,
            )
        )
    return found


def comparable(
    exchanges: Sequence[Exchange], writers: frozenset[str], offered: frozenset[str]
) -> tuple[list[Exchange], str]:
    """Return the exchanges up to the call at which the two states part, and why they do.

    Args:
        writers: tools that change state, those that are not offered included.
    """
    kept: list[Exchange] = []
    for exchange in exchanges:
        place = f"sequence {exchange.sequence}, call {exchange.number} ({exchange.tool})"
        if exchange.is_made:
            kept.append(exchange)
            if exchange.tool in writers and exchange.real_ok is not exchange.compiled_ok:
                one = "real" if exchange.real_ok else "compiled"
                return kept, f"{place}: only the {one} one did it"
        elif exchange.tool in writers and (exchange.real_ok or exchange.compiled_ok):
            reason = (
                "the compiled service does not offer it"
                if exchange.tool not in offered
                else "a reference names nothing on one side"
            )
            return kept, f"{place}: {reason}"
    return kept, ""
