"""Which services there are, and what may be called to learn about real ones."""

from __future__ import annotations

from pydantic import Field

from components.records.config import Config


class EnvironmentConfig(Config):
    """Keys under `environment`."""

    services: tuple[str, ...]
    """Built-in services of the system, by name."""
    mcp_config: str | None
    """File with `mcpServers`, or a `tools/list` JSON file, whose services are added; null: none."""
    allow_calls: tuple[str, ...]
    """Tools of real servers that are called once without arguments, as `server.tool`, their answers
    kept in the ledger; empty: tools are listed, never called."""
    timeout_seconds: float = Field(gt=0, allow_inf_nan=False)
    """Seconds that a real server has to start and list its tools."""
