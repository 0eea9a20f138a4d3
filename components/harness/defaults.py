"""The seed harness: the settings that round 0 starts from."""

from __future__ import annotations

from importlib.resources import files

from components.records.frozen import FrozenDict
from components.records.harness import HarnessSettings, ParserSettings


def default_harness() -> HarnessSettings:
    """Return the seed harness: ChatML-style tool calls in tags, and every parser as a fall-back."""
    ranks = {"hermes": 0, "json_block": 1, "openai": 2, "bare_json": 3}
    return HarnessSettings(
        system_prompt=_prompt("system"),
        user_prompt=_prompt("user"),
        observation=_prompt("observation"),
        invalid_call_feedback=_prompt("feedback"),
        parsers=FrozenDict({name: ParserSettings(rank=rank) for name, rank in ranks.items()}),
    )


def _prompt(name: str) -> str:
    return files("components.harness").joinpath(f"{name}.j2").read_text("utf-8")
