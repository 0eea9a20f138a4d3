"""Recorded answers of real servers, so that a comparison needs no server.

A file of lines: for each server its listing (`{"server": ..., "tools": [...]}`), then its calls
(`RecordedCall`), sequence by sequence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from components.durable import write_atomic
from components.environment.recorded.records import Answer, Call, RecordedCall
from components.environment.sources.documents import first_problem, json_problem, read_lines
from components.errors import SpecError
from components.records.base import to_json
from components.records.frozen import canonical_json


@dataclass(slots=True)
class RecordedServer:
    """What a file holds of one server."""

    tools: Any
    """As it lists them."""
    sequences: dict[int, tuple[list[Call], list[Answer | None]]] = field(default_factory=dict)
    """Number -> calls and their answers."""


def read_recordings(path: Path) -> dict[str, RecordedServer]:
    """Return what a file holds, by server.

    Raises:
        SpecError: the file or a line of it is wrong.
    """
    found: dict[str, RecordedServer] = {}
    for at, line in enumerate(read_lines(path), start=1):
        try:
            body = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise SpecError(f"{path}: line {at}: {json_problem(error)}") from None
        if isinstance(body, dict) and "tools" in body and isinstance(body.get("server"), str):
            found[body["server"]] = RecordedServer(tools=body["tools"])
            continue
        try:
            call = RecordedCall.model_validate(body)
        except ValidationError as error:
            key, problem = first_problem(error)
            raise SpecError(
                f"{path}: line {at}: {key}: {problem}; a line is a server's listing (server, "
                "tools) or a call with its answer"
            ) from None
        if call.server not in found:
            raise SpecError(
                f"{path}: line {at}: the listing of server {call.server!r} must come first"
            )
        calls, answers = found[call.server].sequences.setdefault(call.sequence, ([], []))
        calls.append(Call(tool=call.tool, arguments=call.arguments))
        answers.append(call.answer)
    if not found:
        raise SpecError(f"{path}: holds no recording")
    return found


def recording_of(
    server: str,
    tools: Any,
    sequences: Sequence[tuple[Sequence[Call], Sequence[Answer | None]]],
) -> list[bytes]:
    """Return the lines of one server. A sequence ends where a call has no answer: what comes after
    it could refer to it.
    """
    lines = [canonical_json({"server": server, "tools": tools})]
    for number, (calls, answers) in enumerate(sequences, start=1):
        for call, answer in zip(calls, answers, strict=False):
            if answer is None:
                break
            record = RecordedCall(
                server=server,
                sequence=number,
                tool=call.tool,
                arguments=call.arguments,
                answer=answer,
            )
            lines.append(canonical_json(to_json(record)))
    return lines


def write_recordings(path: Path, lines: Mapping[str, Sequence[bytes]]) -> None:
    """Write the lines of all servers, whole or not at all.

    Raises:
        SpecError: the machine refuses.
    """
    body = b"".join(line + b"\n" for _, part in sorted(lines.items()) for line in part)
    try:
        write_atomic(path, body, point="recordings")
    except OSError as error:
        raise SpecError(f"{path}: cannot be written ({error.strerror or error})") from None
