"""One session: a world, a state value and a journal. In process a call is a function call.

Owns the order of a call: execute, journal, answer. It refuses to share anything that changes: a
snapshot is the state itself, a fork is a new session on it, and neither costs more in a large world
than in a small one.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Mapping
from typing import Any

from components.environment.engine import Outcome, execute, record_of, understood
from components.environment.state import WorldState, state_hash
from components.environment.values import same, valid_text
from components.environment.world import World
from components.errors import EnvironmentFault, ToolError
from components.megamcp.journal import CommitMode, Journal, Kept, Step, StepKind
from components.records.calls import CallRecord


class Session:
    """The one way to act in a world: made by `open_session`, `fork` or `recover`."""

    __slots__ = ("_answers", "_history", "_journal", "session_id", "world")

    def __init__(
        self, world: World, state: WorldState, journal: Journal | None, session_id: str
    ) -> None:
        """Args: state: where it begins; journal: None keeps nothing; session_id: its name there."""
        self.world = world
        self.session_id = session_id
        self._journal = journal
        self._history = [state]
        self._answers: dict[str, tuple[int, CallRecord]] = {}

    @property
    def state(self) -> WorldState:
        """The present state."""
        return self._history[-1]

    @property
    def position(self) -> int:
        """Number of steps so far: calls and restores."""
        return len(self._history) - 1

    def call(
        self, service: str, tool: str, arguments: Mapping[str, Any], key: str | None = None
    ) -> CallRecord:
        """Execute one call.

        On return it is durable when the journal commits each call; with group commit it is once
        `journal.flush()` has returned, and the answer must not leave earlier (`acall` sees to it).

        Args:
            service: name of the service.
            tool: name of the tool within the service.
            arguments: the arguments, not yet validated.
            key: idempotency key; one that was used before gets the recorded answer again.

        Raises:
            ToolError: the journal could not take it, or the key belongs to another call.
        """
        if key is not None:
            key = valid_text(key)
            if key in self._answers:
                return self._answer_again(key, service, tool, arguments)
        before = self._history[-1]
        outcome = execute(self.world, before, service, tool, arguments)
        record = record_of(before, service, tool, outcome)
        self._history.append(outcome.state)
        if key is not None:
            self._answers[key] = (self.position, record)
        if self._journal is not None:
            check = _check_of(outcome, record.state_after)
            step = Step(
                self.session_id,
                StepKind.CALL,
                check,
                record.service,
                record.tool,
                record.arguments,
                key,
            )
            self._journal.append(step)
        return record

    async def acall(
        self, service: str, tool: str, arguments: Mapping[str, Any], key: str | None = None
    ) -> CallRecord:
        """Execute one call, see `call`, and wait until it is durable; sessions share a commit."""
        record = self.call(service, tool, arguments, key)
        if self._journal is not None:
            await self._journal.flushed()
        return record

    def snapshot(self) -> WorldState:
        """Return the present state, to be given to `restore` or `fork` later."""
        return self._history[-1]

    def restore(self, state: WorldState) -> None:
        """Return to a state of this session. Calls and keys since then have not happened.

        Raises:
            ToolError: the state is none of this session's, or the journal could not take it.
        """
        position = self._position_of(state)
        if self._journal is not None:
            check = state_hash(state)
            self._journal.append(Step(self.session_id, StepKind.RESTORE, check, position=position))
        self._return_to(position)

    def fork(self, session_id: str | None = None, at: WorldState | None = None) -> Session:
        """Return a new session that begins at a state of this one.

        Args:
            session_id: id of the new session; None draws one.
            at: what `snapshot` returned; None: the present state.

        Raises:
            ToolError: the state is none of this session's, or the journal could not take it.
        """
        position = self.position if at is None else self._position_of(at)
        state = self._history[position]
        child = Session(self.world, state, self._journal, session_id or new_session_id())
        if self._journal is not None:
            self._journal.begin(
                Step(
                    child.session_id,
                    StepKind.BEGIN,
                    state_hash(state),
                    parent_id=self.session_id,
                    position=position,
                )
            )
        return child

    def repeat(self, step: Step) -> None:
        """Do a journaled step again; for `recover` alone.

        Raises:
            EnvironmentFault: the world no longer does what the journal says.
        """
        if step.kind is StepKind.RESTORE:
            self._return_to(step.position)
            check = state_hash(self.state)
        else:
            before = self.state
            outcome = execute(self.world, before, step.service, step.tool, step.arguments)
            self._history.append(outcome.state)
            if step.key is not None:
                record = record_of(before, step.service, step.tool, outcome)
                self._answers[step.key] = (self.position, record)
            check = _check_of(outcome, state_hash(outcome.state))
        if check != step.check:
            raise EnvironmentFault(
                f"step {self.position} of the session ({step.service}.{step.tool}) has another "
                "outcome than in the journal: the world is not the one that it was made in"
            )

    def _answer_again(
        self, key: str, service: str, tool: str, arguments: Mapping[str, Any]
    ) -> CallRecord:
        _position, record = self._answers[key]
        asked = understood(arguments)
        is_same_tool = (record.service, record.tool) == (valid_text(service), valid_text(tool))
        if not is_same_tool or not same(record.arguments, asked):
            raise ToolError(f"key {key[:80]!r} was used for another call")
        if self._journal is not None and self._journal.mode is CommitMode.EACH:
            self._journal.flush()  # the first commit may have failed
        return record

    def _position_of(self, state: WorldState) -> int:
        for position in range(self.position, -1, -1):
            if self._history[position] is state:
                return position
        raise ToolError("the state is none of this session's")

    def _return_to(self, position: int) -> None:
        self._history.append(self._history[position])
        self._answers = {
            key: answer for key, answer in self._answers.items() if answer[0] <= position
        }


def new_session_id() -> str:
    """Return an id that nobody can guess."""
    return "s_" + secrets.token_urlsafe(24)


def open_session(
    world: World, journal: Journal | None = None, session_id: str | None = None
) -> Session:
    """Begin a session at a world's initial state.

    Args:
        world: what it runs in.
        journal: where its calls go; None: nowhere.
        session_id: its id, of which a journal can have only one; None draws an unguessable one.
    """
    session = Session(world, world.initial, journal, session_id or new_session_id())
    if journal is not None:
        journal.begin(Step(session.session_id, StepKind.BEGIN, state_hash(world.initial)))
    return session


def recover(world: World, journal: Journal, session_id: str) -> Session:
    """Return a session as the journal has it: nothing acknowledged is lost, nothing is there twice.

    The session must not be open anywhere else.

    Args:
        world: the world that it ran in, built again.
        journal: the journal of the process that ended.
        session_id: id of the session.

    Raises:
        ToolError: the journal does not know the session.
        EnvironmentFault: the world is another, or no longer does what the journal says.
    """
    journal.flush()
    line: list[tuple[str, Kept, int | None]] = []
    ancestor: str | None = session_id
    num_steps: int | None = None
    while ancestor is not None:
        kept = journal.kept(ancestor)
        line.append((ancestor, kept, num_steps))
        ancestor, num_steps = kept.begin.parent_id, kept.begin.position
    state = world.initial
    for name, kept, num_steps in reversed(line):
        if state_hash(state) != kept.begin.check:
            raise EnvironmentFault("the session began in another state than this world's")
        session = Session(world, state, journal, name)
        for step in kept.steps[:num_steps]:
            session.repeat(step)
        state = session.state
    return session


def _check_of(outcome: Outcome, state_after: str) -> str:
    """Return the check value of a call: the hash of the state after it, a checksum of its answer.

    The answer follows from code and state; the checksum tells when one of them has changed.
    """
    return f"{state_after}-{zlib.crc32(outcome.body):08x}"
