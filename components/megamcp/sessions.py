"""The open sessions of one process, by id.

Owns nothing but the table: worlds are shared, states are values, and a session is reached only
through its id, which nobody can guess. Whoever asks for an unknown id learns nothing else.
"""

from __future__ import annotations

from components.environment.world import World
from components.errors import ToolError
from components.megamcp.journal import Journal
from components.megamcp.session import Session, open_session, recover


class Sessions:
    """Opens, finds and closes sessions on one journal."""

    def __init__(self, journal: Journal | None = None) -> None:
        """Args: journal: where all calls go; None: nowhere."""
        self._journal = journal
        self._open: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._open)

    def open(self, world: World, session_id: str | None = None) -> Session:
        """Begin a session at a world's initial state. See `open_session`."""
        if session_id is not None and session_id in self._open:
            raise ToolError("a session of this id is open")
        session = open_session(world, self._journal, session_id)
        self._open[session.session_id] = session
        return session

    def fork(self, session_id: str) -> Session:
        """Begin a session at the present state of another."""
        child = self.find(session_id).fork()
        self._open[child.session_id] = child
        return child

    def find(self, session_id: str) -> Session:
        """Return an open session.

        Raises:
            ToolError: no session of this id is open.
        """
        session = self._open.get(session_id)
        if session is None:
            raise ToolError("no such session")
        return session

    def resume(self, world: World, session_id: str) -> Session:
        """Return a session of this process, or one that an earlier process left in the journal."""
        if session_id in self._open:
            return self._open[session_id]
        if self._journal is None:
            raise ToolError("no such session")
        session = recover(world, self._journal, session_id)
        self._open[session_id] = session
        return session

    def close(self, session_id: str) -> None:
        """Forget a session; the journal keeps its calls."""
        self.find(session_id)
        del self._open[session_id]
