"""The only door to Weights & Biases: one run a round, grouped by run; written to, never read back.

A W&B error never fails a round: it becomes one warning line, and the round goes on without it.
"""

from __future__ import annotations

import logging
import netrc
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.records.base import to_json
from loop.config import NoTracking, RunConfig, WandbTracking
from loop.summary import RoundSummary

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedTable:
    """One table as W&B shows it: every cell a text or a number."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


def track_round(
    config: RunConfig, summary: RoundSummary, tables: Sequence[TrackedTable], folder: Path
) -> str | None:
    """Log one finished round: configuration, metrics, tables, and the round as an artifact.

    Args:
        config: the round's configuration; holds no secret by construction.
        summary: figures of the round.
        tables: tables of tasks, verdicts and patches.
        folder: the round's folder; offline files go to `wandb/` under it.

    Returns:
        One line that says where it went, or None when tracking is off or failed.
    """
    match config.tracking:
        case NoTracking():
            return None
        case WandbTracking() as tracking:
            try:
                return _log_to_wandb(tracking, config, summary, tables, folder)
            except Exception as error:  # noqa: BLE001 - tracking is a courtesy: it must not end a round
                logger.warning("tracking failed, the round is not affected: %s", _one_line(error))
                return None


def _log_to_wandb(
    tracking: WandbTracking,
    config: RunConfig,
    summary: RoundSummary,
    tables: Sequence[TrackedTable],
    folder: Path,
) -> str:
    import wandb  # costs half a second: only a round that is tracked pays for it

    os.environ.setdefault("WANDB_DISABLE_WEAVE", "true")  # it would advertise itself on stderr
    mode = _mode(tracking)
    run = wandb.init(
        project=tracking.project,
        group=config.run,
        name=f"{config.run}-round-{summary.round:04d}",
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
            init_timeout=20,
        ),
    )
    try:
        payload: dict[str, Any] = dict(flat_metrics(to_json(summary)))
        for table in tables:
            payload[table.name] = wandb.Table(
                columns=list(table.columns), data=[list(row) for row in table.rows]
            )
        run.log(payload)  # one call a round
        artifact = wandb.Artifact(f"{config.run}-round-{summary.round:04d}", type="round")
        for name in ("summary.json", "manifest.json", "config.json"):
            artifact.add_file(str(folder / name))
        run.log_artifact(artifact)
    finally:
        run.finish()
    return f"W&B ({mode}): project {tracking.project}, group {config.run}"


def _mode(tracking: WandbTracking) -> Any:
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
