"""The only door to Weights & Biases: one run a round, grouped by run; written to, never read back.

Lineage is by content. Each artifact is logged under an alias that is its digest, and a round's run
marks as its inputs what the round before logged, by the digests that this one wrote to
`tracking.json` in its folder. Without a network they stand in the artifacts' metadata alone. A W&B
error never fails a round: it becomes one warning line, and the same command tries again.
"""

from __future__ import annotations

import logging
import netrc
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from components.records.base import Record, to_json
from components.records.frozen import FrozenDict
from loop.config import NoTracking, RunConfig, WandbTracking
from loop.ledger_files import pretty_json, write_file
from loop.summary import RoundSummary

logger = logging.getLogger(__name__)

TRACKING = "tracking.json"
KINDS = {"data": "dataset", "round": "round", "checkpoint": "model"}
"""What a round logs as artifacts, and the type that W&B files each under."""
ROUND_FILES = ("summary.json", "config.json", "manifest.json", "report.html")
INIT_SECONDS, FINISH_SECONDS = 20, 120
"""Longest wait for W&B at the start, and for what is left to upload at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedTable:
    """One table as W&B shows it: every cell a text or a number."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedContent:
    """What is logged of a finished round."""

    summary: RoundSummary
    tables: tuple[TrackedTable, ...]
    data: Path
    """JSONL of its tasks and trajectories."""
    checkpoint: Path | None
    """Folder of the trained policy; None when none was kept."""


class TrackedRound(Record):
    """What a round has logged."""

    schema_version: int = Field(default=1, ge=1, le=1)
    artifacts: FrozenDict[str, str]
    """Kind -> digest of the artifact as W&B computes it."""


def is_to_be_tracked(config: RunConfig, folder: Path) -> bool:
    """Return whether a round of this configuration is to be logged, and has not been yet."""
    match config.tracking:
        case NoTracking():
            return False
        case WandbTracking() as tracking:
            return tracking_mode(tracking) != "disabled" and not (folder / TRACKING).exists()


def track_round(
    config: RunConfig, content: TrackedContent, folder: Path, parent: Path | None
) -> str | None:
    """Log one finished round: configuration, metrics, tables and artifacts.

    Args:
        config: the round's configuration; holds no secret by construction.
        content: figures, tables and files of the round.
        folder: the round's folder; offline files go to `wandb/` under it.
        parent: folder of the round before; None for round 0.

    Returns:
        One line that says where it went, or None when tracking is off or failed.
    """
    match config.tracking:
        case NoTracking():
            return None
        case WandbTracking() as tracking:
            try:
                return _log_to_wandb(tracking, config, content, folder, _logged_by(parent))
            except Exception as error:  # noqa: BLE001 - tracking is a courtesy: it must not end a round
                logger.warning("tracking failed, the round is not affected: %s", _one_line(error))
                return None


def _log_to_wandb(
    tracking: WandbTracking,
    config: RunConfig,
    content: TrackedContent,
    folder: Path,
    parents: Mapping[str, str],
) -> str:
    import wandb  # costs half a second: only a round that is tracked pays for it

    os.environ.setdefault("WANDB_DISABLE_WEAVE", "true")  # it would advertise itself on stderr
    mode = tracking_mode(tracking)
    number = content.summary.round
    with _staging_under(folder / "wandb"):
        run = wandb.init(
            project=tracking.project,
            group=config.run,
            name=f"{config.run}-round-{number:04d}",
            job_type="round",
            dir=str(folder),
            mode=mode,
            config=config.model_dump(mode="json"),
            settings=wandb.Settings(
                silent=True,
                console="off",
                disable_git=True,
                disable_code=True,
                x_disable_stats=True,
                x_disable_meta=True,
                init_timeout=INIT_SECONDS,
                finish_timeout=FINISH_SECONDS,
                finish_timeout_raises=True,
            ),
        )
        try:
            run.define_metric("*", step_metric="round")
            payload: dict[str, Any] = dict(flat_metrics(to_json(content.summary)))
            for table in content.tables:
                payload[f"tables/{table.name}"] = wandb.Table(
                    columns=list(table.columns), data=[list(row) for row in table.rows]
                )
            run.log(payload)  # one call a round
            logged = {}
            for kind, (root, files) in _files_of(content, folder).items():
                artifact = wandb.Artifact(
                    _artifact_name(config, kind),
                    type=KINDS[kind],
                    metadata=_metadata(content.summary, parents),
                )
                for file in files:
                    # A finished round's files change no more: they are uploaded from where they are
                    name = file.relative_to(root).as_posix()
                    artifact.add_file(str(file), name, policy="immutable", skip_cache=True)
                run.log_artifact(
                    artifact, aliases=["latest", f"round-{number:04d}", artifact.digest]
                )
                logged[kind] = artifact.digest
            if mode == "online":
                _mark_inputs(run, config, parents)
        finally:
            run.finish()
    body = to_json(TrackedRound(artifacts=FrozenDict(logged)))
    write_file(folder / TRACKING, pretty_json(body), point="tracking")
    return f"W&B ({mode}): project {tracking.project}, group {config.run}"


def _files_of(content: TrackedContent, folder: Path) -> dict[str, tuple[Path, list[Path]]]:
    """Return the files of each artifact with the folder that their names start from."""
    files = {
        "data": (content.data.resolve().parent, [content.data.resolve()]),
        "round": (folder, [folder / name for name in ROUND_FILES]),
    }
    if content.checkpoint is not None:
        root = content.checkpoint.resolve()
        files["checkpoint"] = (root, sorted(path for path in root.rglob("*") if path.is_file()))
    return files


def _artifact_name(config: RunConfig, kind: str) -> str:
    return f"{config.run}-{kind}"


def _metadata(summary: RoundSummary, parents: Mapping[str, str]) -> dict[str, Any]:
    return {
        "run": summary.run,
        "round": summary.round,
        "seed": summary.seed,
        "system_before": summary.system_before,
        "system_after": summary.system_after,
        "parents": dict(parents),
    }


def _mark_inputs(run: Any, config: RunConfig, parents: Mapping[str, str]) -> None:
    """Mark what the round before logged as inputs; what W&B has not got is left out."""
    for kind, digest in parents.items():
        name = f"{_artifact_name(config, kind)}:{digest}"
        try:
            run.use_artifact(name)
        except Exception as error:  # noqa: BLE001 - the rest of the round is logged all the same
            logger.warning("W&B has no %s to mark as an input: %s", name, _one_line(error))


def _logged_by(parent: Path | None) -> Mapping[str, str]:
    """Return what the round before logged; nothing when it was not tracked."""
    try:
        if parent is not None:
            return TrackedRound.model_validate_json((parent / TRACKING).read_bytes()).artifacts
    except (OSError, ValidationError):
        pass
    return {}


@contextmanager
def _staging_under(folder: Path) -> Iterator[None]:
    """Let W&B keep files that wait for their upload in the round's folder, not in the home."""
    key = "WANDB_DATA_DIR"
    if key in os.environ:
        yield
        return
    os.environ[key] = str(folder)
    try:
        yield
    finally:
        del os.environ[key]


def tracking_mode(tracking: WandbTracking) -> Any:
    """Return how W&B would be used now: `online`, `offline` or `disabled`."""
    if os.environ.get("WANDB_MODE") in ("offline", "disabled", "online"):
        return os.environ["WANDB_MODE"]
    if tracking.mode != "auto":
        return tracking.mode
    return "online" if _is_logged_in() else "offline"


def _is_logged_in() -> bool:
    if os.environ.get("WANDB_API_KEY"):
        return True
    try:
        host = os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai").split("//")[-1]
        return netrc.netrc().authenticators(host.split("/")[0]) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def flat_metrics(values: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Return the numbers of a nested mapping as `a/b/c` -> number; other values are left out."""
    flat: dict[str, float] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat.update(flat_metrics(value, f"{name}/"))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            flat[name] = value
    return flat


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
