"""One session: a world, a state value and a journal. In process a call is a function call.

Owns the order of a call: execute, journal, answer. It refuses to share anything that changes: a snapshot is the
state itself, a fork is a new session on it, and neither costs more in a large world than in a small one.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any

from components.environment.engine import Outcome, execute, record_of, understood
from components.environment.state import WorldState, state_hash
from components.environment.values import same
from components.environment.world import World
from components.errors import EnvironmentFault, ToolError
from components.megamcp.journal import CommitMode, Entry, Journal, SessionStart
from components.records.calls import CallRecord


class Session:
    """The one way to act in a world. Made by `open_session`, `fork` or `recover`; ends with its last reference."""

    __slots__ = ("_answers", "_history", "_journal", "session_id", "world")

    def __init__(
        self, world: World, state: WorldState, journal: Journal | None, session_id: str
    ) -> None:
        """Args: state: where it begins; journal: None keeps nothing; session_id: unguessable unless it was given."""
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
        `journal.flush()` has returned, and the answer must not leave before that (`acall` sees to it).

        Args:
            service: name of the service.
            tool: name of the tool within the service.
            arguments: the arguments, not yet validated.
            key: idempotency key; a key that was used before gets the recorded answer, and nothing is done again.

        Raises:
            ToolError: the journal could not take it, or the key belongs to another call.
        """
        if key is not None and key in self._answers:
            return self._answer_again(key, service, tool, arguments)
        before = self._history[-1]
        outcome = execute(self.world, before, service, tool, arguments)
        record = record_of(before, service, tool, outcome)
        self._history.append(outcome.state)
        if key is not None:
            self._answers[key] = (self.position, record)
        if self._journal is not None:
            entry = Entry(
                position=self.position - 1,
                service=service,
                tool=tool,
                arguments=record.arguments,
                key=key,
                answer=_answer_hash(outcome),
                state=record.state_after,
            )
            self._journal.append(self.session_id, entry)
        return record

    async def acall(
        self, service: str, tool: str, arguments: Mapping[str, Any], key: str | None = None
    ) -> CallRecord:
        """Execute one call and wait until it is durable; many sessions share a commit. See `call`."""
        record = self.call(service, tool, arguments, key)
        if self._journal is not None:
            await self._journal.flushed()
        return record

    def snapshot(self) -> WorldState:
        """Return the present state, to be given to `restore` or `fork` later."""
        return self._history[-1]

    def restore(self, state: WorldState) -> None:
        """Return to a state of this session. Calls made since then have not happened, their keys neither.

        Raises:
            ToolError: the state is none of this session's, or the journal could not take it.
        """
        position = self._position_of(state)
        if self._journal is not None:
            entry = Entry(position=self.position, restored=position, state=state_hash(state))
            self._journal.append(self.session_id, entry)
        self._return_to(position)

    def fork(self, session_id: str | None = None, at: WorldState | None = None) -> Session:
        """Return a new session that begins at a state of this one, the present one if none is named.

        Args:
            session_id: id of the new session; None draws one.
            at: what `snapshot` returned.

        Raises:
            ToolError: the state is none of this session's, or the journal could not take it.
        """
        position = self.position if at is None else self._position_of(at)
        state = self._history[position]
        child = Session(self.world, state, self._journal, session_id or new_session_id())
        if self._journal is not None:
            self._journal.begin(
                SessionStart(
                    session_id=child.session_id,
                    parent_id=self.session_id,
                    parent_position=position,
                    start=state_hash(state),
                )
            )
        return child

    def repeat(self, entry: Entry) -> None:
        """Do a journaled step again; for `recover` alone.

        Raises:
            EnvironmentFault: the world no longer does what the journal says.
        """
        if entry.restored is not None:
            self._return_to(entry.restored)
        else:
            outcome = execute(
                self.world, self.state, entry.service, entry.tool, entry.arguments
            )
            if _answer_hash(outcome) != entry.answer:
                raise self._departs(entry, "the answer is another")
            if entry.key is not None:
                record = record_of(self.state, entry.service, entry.tool, outcome)
                self._answers[entry.key] = (self.position + 1, record)
            self._history.append(outcome.state)
        if state_hash(self.state) != entry.state:
            raise self._departs(entry, "the state after it is another")

    def _departs(self, entry: Entry, how: str) -> EnvironmentFault:
        return EnvironmentFault(
            f"step {entry.position} ({entry.service}.{entry.tool}) does not do what the journal says: {how}"
        )

    def _answer_again(
        self, key: str, service: str, tool: str, arguments: Mapping[str, Any]
    ) -> CallRecord:
        _position, record = self._answers[key]
        asked = understood(arguments)
        if (record.service, record.tool) != (service, tool) or not same(record.arguments, asked):
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
        session_id: its id, of which a journal can have only one; None draws one that cannot be guessed.
    """
    session = Session(world, world.initial, journal, session_id or new_session_id())
    if journal is not None:
        start = state_hash(world.initial)
        journal.begin(
            SessionStart(
                session_id=session.session_id, parent_id=None, parent_position=0, start=start
            )
        )
    return session


def recover(world: World, journal: Journal, session_id: str) -> Session:
    """Return a session as the journal has it: everything acknowledged is there, nothing happens twice.

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
    return _recover(world, journal, session_id, None)


def _recover(world: World, journal: Journal, session_id: str, num_steps: int | None) -> Session:
    start = journal.start_of(session_id)
    state = world.initial
    if start.parent_id is not None:
        state = _recover(world, journal, start.parent_id, start.parent_position).state
    if state_hash(state) != start.start:
        raise EnvironmentFault("the session began in another state than this world's")
    session = Session(world, state, journal, session_id)
    for entry in journal.entries_of(session_id)[:num_steps]:
        session.repeat(entry)
    return session


def _answer_hash(outcome: Outcome) -> str:
    return hashlib.blake2b(outcome.body, digest_size=16).hexdigest()
