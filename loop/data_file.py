"""`data.jsonl`: a round's tasks and trajectories, one JSON object a line, for other programs.

    {"kind": "task", "pass": "rollout", "task": ..., "rubric": ..., "retired": ...}
    {"kind": "trajectory", "pass": "rollout", "trajectory": ..., "score": ..., "verdict": ...}

Made of what the round has recorded, and only where the round is tracked; nothing reads it back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from components.records.base import to_json
from components.records.frozen import canonical_json
from components.records.system import System
from loop.blame import STAGE as ATTRIBUTE
from loop.ledger import RoundFolder
from loop.ledger_files import write_file

DATA = "data.jsonl"


def write_data(folder: RoundFolder, passes: Mapping[str, System]) -> Path:
    """Write the file and return its path.

    Args:
        folder: the round.
        passes: stage that rolled out -> the system that it ran on, in order. In round 0, which
            rolls nothing out, the seed system.

    Raises:
        LedgerError: the file cannot be written.
    """
    lines = [
        canonical_json({"schema_version": 1, **body}) + b"\n" for body in _bodies(folder, passes)
    ]
    write_file(folder.path / DATA, b"".join(lines), point="data")
    return folder.path / DATA


def _bodies(folder: RoundFolder, passes: Mapping[str, System]) -> Iterator[dict[str, Any]]:
    for stage, system in passes.items():
        for key, task in sorted(system.tasks.items()):
            yield {
                "kind": "task",
                "pass": stage,
                "task": to_json(task),
                "rubric": to_json(system.evaluator.rubrics[key]),
                "retired": system.retired.get(key),
            }
        groups = folder.units.done(f"{stage}.score").values()
        scores = {score["rollout_id"]: score for group in groups for score in group}
        # Verdicts are on the first pass alone.
        verdicts = folder.units.done(ATTRIBUTE) if stage == "rollout" else {}
        for key, trajectory in folder.units.done(stage).items():
            yield {
                "kind": "trajectory",
                "pass": stage,
                "trajectory": trajectory,
                "score": scores.get(key),
                "verdict": verdicts.get(key),
            }
