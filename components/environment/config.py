"""Which services there are, and what may be called to learn about real ones."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from components.environment.author.config import AuthorConfig
from components.environment.sources.config import Source
from components.records.config import Config, PathText


class EnvironmentConfig(Config):
    """Keys under `environment`."""

    services: tuple[str, ...]
    """Built-in services of the system, by name."""
    sources: tuple[Source, ...]
    """Where further services come from: saved listings, JSONL, OpenAPI documents, live MCP servers;
    a list of `{kind: ..., path: ...}`."""
    mcp_config: PathText | None = Field(min_length=1)
    """File with `mcpServers`, or a `tools/list` JSON file, whose services are added; null: none."""
    recordings: tuple[PathText, ...]
    """Files of recorded answers, as `bench fidelity` writes them: the services of servers of these
    names answer as the real ones were seen to; servers that nothing else lists are added."""
    allow_calls: tuple[str, ...]
    """Tools of real servers that are called once without arguments, as `server.tool`, their answers
    kept in the ledger; empty: tools are listed, never called."""
    timeout_seconds: float = Field(gt=0, allow_inf_nan=False)
    """Seconds that a real server has to start and list its tools."""
    admit: Literal["sound", "working"]
    """Which compiled services take part: all whose tools work, or only sound ones, in which nearly
    all writes are seen, ids found and reads telling; synthesize says which is which."""
    author: AuthorConfig
    """Who writes what the compiler could not: nobody, or a model."""

    @model_validator(mode="after")
    def _calls_a_server(self) -> EnvironmentConfig:
        if self.allow_calls and self.mcp_config is None:
            raise ValueError(
                f"environment.allow_calls names {self.allow_calls[0]!r}, and no server is listed; "
                "set environment.mcp_config to the file that lists it, or drop the override"
            )
        return self
