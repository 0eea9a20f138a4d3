"""Read after write: of each value that a call writes, whether later reads show it.

Owns who is to blame. A value that one side shows and the other does not may be the writer's doing,
the reader's, or that of a write between them that should have replaced it. Writer and reader are
cleared by what they got right elsewhere. A value that the reading call itself names proves nothing
and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from components.environment.fidelity.exchanges import Exchange
from components.environment.recorded.values import Shown, named_values


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One written value and one later read."""

    writer: Exchange
    reader: Exchange
    between: Exchange | None
    """Last write after the writer and before the reader; None where there is none."""
    argument: str
    """Which of the writer's arguments held the value."""
    value: str
    real: bool
    """The real server's answer shows it."""
    compiled: bool
    """The compiled service's answer shows it."""

    @property
    def agrees(self) -> bool:
        """True where both show it or neither does."""
        return self.real is self.compiled

    def told(self) -> str:
        """Say in one line what was seen where."""
        one, other = ("real", "compiled") if self.real else ("compiled", "real")
        return (
            f"{self.value!r}, written by {self.writer.tool}, is shown by {self.reader.tool} of the "
            f"{one} one and not of the {other} one"
        )


def sightings_of(exchanges: Sequence[Exchange], writers: frozenset[str]) -> Iterator[Sighting]:
    """Yield what the reads of one sequence say of the values written before them.

    A value that neither side shows counts only where two calls wrote it: the later may have taken
    it away.

    Args:
        exchanges: of one sequence, in order.
        writers: tools that change state.
    """
    last: dict[str, tuple[str, Exchange]] = {}
    newest: Exchange | None = None
    known: set[str] = set()
    for exchange in exchanges:
        if not (exchange.real_ok and exchange.compiled_ok):
            continue
        if exchange.tool in writers:
            newest = exchange
            written = {value: at for at, value in named_values(exchange.arguments)}
            known |= written.keys() & last.keys()
            last |= {value: (at, exchange) for value, at in written.items()}
            continue
        if not exchange.is_readable:
            continue
        named = [value for _, value in named_values(exchange.arguments)]
        real, compiled = Shown(exchange.real_body), Shown(exchange.compiled_body)
        for value, (at, writer) in last.items():
            if any(value in text or text in value for text in named):
                continue
            seen = value in real, value in compiled
            if any(seen) or value in known:
                yield Sighting(
                    writer=writer,
                    reader=exchange,
                    between=None if newest is writer else newest,
                    argument=at,
                    value=value,
                    real=seen[0],
                    compiled=seen[1],
                )


def counted(sightings: Sequence[Sighting]) -> Iterator[tuple[str, Sighting, bool]]:
    """Yield (tool, sighting, whether it counts against that tool)."""
    clear_writes = {(item.writer.tool, item.argument) for item in sightings if item.agrees}
    clear_reads = {item.reader.tool for item in sightings if item.agrees and item.real}
    for item in sightings:
        is_write_clear = (item.writer.tool, item.argument) in clear_writes
        is_read_clear = item.reader.tool in clear_reads
        is_both_clear = is_write_clear and is_read_clear
        yield item.writer.tool, item, not item.agrees and not is_write_clear
        is_left = is_both_clear and item.between is None
        yield item.reader.tool, item, not item.agrees and (is_left or not is_read_clear)
        if item.between is not None and is_both_clear and not item.agrees:
            yield item.between.tool, item, True
