"""Overrides of the harness artifact: for trying a limit out, not for keeping it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from components.records.config import Config


class HarnessConfig(Config):
    """Keys under `harness`. Each of them null leaves the seed harness as it is."""

    max_turns: int | None = Field(ge=1)
    """Policy messages in one episode; null: three for each call of a solution, `finish` included.
    Less than twice is itself a defect, which the loop finds and raises."""
    max_observation_chars: int | None = Field(ge=50)
    """Characters of one observation as shown; null: the harness's own limit."""
    tool_style: Literal["json_schema", "signature", "compact"] | None
    """How tools are shown: as whole JSON Schema, as a signature with the description, or as names
    of tools and arguments alone; null: the harness's own style, which is the last."""
