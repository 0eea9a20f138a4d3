"""Reads the file that an offline W&B run leaves: `run-*.wandb`, records in a log of blocks.

The file begins with `:W&B`, a magic number and a version (7 bytes), then holds blocks of 32 KiB.
A block holds chunks, each with a checksum, a length and a type (whole, first, middle, last).
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wandb.proto import wandb_internal_pb2

RECORD: Any = vars(wandb_internal_pb2)["Record"]
"""Made when its module is imported: a type checker does not see it."""
BLOCK, HEADER, CHUNK_HEADER = 32768, 7, 7
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4


@dataclass
class LoggedRun:
    """What an offline run says."""

    group: str = ""
    name: str = ""
    project: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    artifacts: dict[str, Any] = field(default_factory=dict)
    """Artifact name -> its record."""
    used: list[str] = field(default_factory=list)
    """Artifacts that are marked as inputs."""
    exit_code: int | None = None


def read_run(folder: Path) -> LoggedRun:
    """Return the one offline run under a round's folder."""
    (path,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    run = LoggedRun()
    for data in records(path.read_bytes()):
        record = RECORD()
        record.ParseFromString(data)
        _read(record, run)
    return run


def records(data: bytes) -> list[bytes]:
    """Return the records of a log, each checked against its checksum."""
    assert data[:4] == b":W&B"
    at, parts, whole = HEADER, [], []
    while at < len(data):
        if BLOCK - at % BLOCK < CHUNK_HEADER:
            at += BLOCK - at % BLOCK
            continue
        checksum, length, kind = struct.unpack_from("<IHB", data, at)
        body = data[at + CHUNK_HEADER : at + CHUNK_HEADER + length]
        assert zlib.crc32(body, zlib.crc32(bytes([kind]))) == checksum
        at += CHUNK_HEADER + length
        parts.append(body)
        assert kind in (WHOLE, FIRST, MIDDLE, LAST)
        if kind in (WHOLE, LAST):
            whole.append(b"".join(parts))
            parts = []
    assert not parts, "the log ends within a record"
    return whole


def _read(record: Any, run: LoggedRun) -> None:
    match record.WhichOneof("record_type"):
        case "run":
            run.group, run.name = record.run.run_group, record.run.display_name
            run.project = record.run.project
            changed = record.run.config.update
            run.config |= {item.key: json.loads(item.value_json) for item in changed}
        case "history":
            row = {
                item.key or "/".join(item.nested_key): json.loads(item.value_json)
                for item in record.history.item
            }
            run.history.append(row)
        case "artifact":
            run.artifacts[record.artifact.name] = record.artifact
        case "use_artifact":
            run.used.append(record.use_artifact.name)
        case "exit":
            run.exit_code = record.exit.exit_code
        case _:
            pass
