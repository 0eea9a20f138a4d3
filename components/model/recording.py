"""Every exchange with a model on disk, so that a run replays from it with no endpoint.

Two JSON lines an HTTP request, one before it and one after, keyed by the content hash of what was
asked. A run that was killed goes on where it stopped: what is recorded is not asked again, and what
was under way is counted as if it had been answered. A torn last line is dropped.
"""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from components.errors import ConfigError
from components.model.records import (
    AskedLine,
    Exchange,
    Request,
    Tried,
    TriedLine,
)
from components.records.base import hash_record

_LINE: TypeAdapter[AskedLine | TriedLine] = TypeAdapter(AskedLine | TriedLine)
_STOPPED = Tried(problem="the program was stopped while it waited", may_retry=True)


class Recording:
    """What has been asked and answered so far; appended to unless it is replayed."""

    def __init__(
        self,
        path: Path | None,
        *,
        key: str = "recording",
        is_replay: bool = False,
        mend: str = "name a file that was recorded, or one that does not exist yet",
    ) -> None:
        """Open a recording.

        Args:
            path: JSONL file, made when missing; None keeps nothing.
            key: the configuration key that messages name.
            is_replay: it is only read.
            mend: what to do where the file holds something else.

        Raises:
            ConfigError: the file cannot be read, or holds something else.
        """
        self.is_replay = is_replay
        self._path, self._key, self._mend = path, key, mend
        self._lines: dict[str, deque[Exchange]] = {}
        self.exchanges: list[Exchange] = []
        """All that the file held when it was opened, in order."""
        self.failed: list[Exchange] = []
        """Requests of an earlier, unfinished run that brought no text; they may have cost."""
        self._sort(self._read())

    def holds(self, request: Request) -> bool:
        """True when a line of this request is left."""
        return bool(self._lines.get(hash_record(request)))

    def take(self, request: Request) -> Exchange | None:
        """Return the next recorded line of a request, or None; each is taken once."""
        left = self._lines.get(hash_record(request))
        return left.popleft() if left else None

    def check_live(self, request: Request) -> None:
        """Make sure that the endpoint may be asked.

        Raises:
            ConfigError: this is a replay: whatever is asked must be recorded.
        """
        if self.is_replay:
            raise ConfigError(
                f"{self._key}: {self._path} holds no answer to a request of stage "
                f"{request.stage}; replay it with the configuration, specification and "
                "program that recorded it, or take the key out to ask the endpoint"
            )

    def ask(self, request: Request, max_tokens: int) -> None:
        """Say that a request is about to be made; it is on the disk when this returns."""
        key = hash_record(request)
        self._append(AskedLine(key=key, request=request, max_tokens=max_tokens))

    def answer(self, request: Request, tried: Tried) -> None:
        """Say what came of it; it is on the disk when this returns."""
        self._append(TriedLine(key=hash_record(request), tried=tried))

    def _append(self, line: AskedLine | TriedLine) -> None:
        if self._path is None:
            return
        try:
            with open(self._path, "ab") as file:
                file.write(line.model_dump_json().encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ConfigError(
                f"{self._key}: {self._path} cannot be written ({error.strerror}); mend that, then "
                "run the same command again"
            ) from error

    def _sort(self, lines: list[AskedLine | TriedLine]) -> None:
        under_way: dict[str, AskedLine] = {}
        for line in lines:
            if isinstance(line, AskedLine):
                before = under_way.get(line.key)
                if before is not None:
                    self._keep(before, _STOPPED)
                under_way[line.key] = line
            elif line.key in under_way:
                self._keep(under_way.pop(line.key), line.tried)
        for asked in under_way.values():
            self._keep(asked, _STOPPED)

    def _keep(self, asked: AskedLine, tried: Tried) -> None:
        exchange = Exchange(request=asked.request, max_tokens=asked.max_tokens, tried=tried)
        self.exchanges.append(exchange)
        if self.is_replay or tried.text is not None:
            self._lines.setdefault(asked.key, deque()).append(exchange)
        else:
            self.failed.append(exchange)

    def _read(self) -> list[AskedLine | TriedLine]:
        if self._path is None:
            return []
        try:
            if not self.is_replay:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.touch()
            body = self._path.read_bytes()
        except OSError as error:
            raise ConfigError(
                f"{self._key}: {self._path} cannot be used: {error.strerror}"
            ) from error
        whole, _, torn = body.rpartition(b"\n")
        if torn and not self.is_replay:
            os.truncate(self._path, len(body) - len(torn))
        lines: list[AskedLine | TriedLine] = []
        for number, text in enumerate(whole.split(b"\n") if whole else (), start=1):
            try:
                lines.append(_LINE.validate_json(text))
            except ValidationError as error:
                raise ConfigError(
                    f"{self._key}: line {number} of {self._path} is no exchange; {self._mend}"
                ) from error
        return lines
