"""What a sandboxed call may use. Owns the numbers; the walls themselves are in walls.py."""

from __future__ import annotations

from pydantic import Field

from components.records.base import Record


class SandboxLimits(Record):
    """Limits of one worker and of each call in it; every one ends in an error, never in a wait."""

    deadline_seconds: float = Field(default=5.0, gt=0, allow_inf_nan=False)
    """Wall-clock time of one call; half a second later its worker is killed too."""
    start_seconds: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    """Wall-clock time that a new worker has until it is ready."""
    memory_bytes: int = Field(default=512 << 20, ge=64 << 20)
    """Address space of each process."""
    file_bytes: int = Field(default=4 << 20, ge=0)
    """Size of one file that a call may write."""
    tmp_bytes: int = Field(default=16 << 20, ge=1 << 16)
    """Size of the private /tmp, which is emptied after each call."""
    open_files: int = Field(default=32, ge=16)
    """File descriptors of each process."""
    processes: int = Field(default=8, ge=4)
    """Processes and threads of the whole worker; a call itself can start none."""
    answer_bytes: int = Field(default=8 << 20, ge=1024)
    """Size of what one call may answer."""
