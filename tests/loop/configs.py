"""Configurations for tests, composed from `conf/` as the command line does it."""

from __future__ import annotations

from typing import Any

from loop.config import RunConfig
from loop.hydra_entry import run_verb
from loop.verbs import find_verb


def run_config(*overrides: str) -> RunConfig:
    """Return what `python -m loop evolve` with these overrides would run with."""
    seen: list[Any] = []
    verb = find_verb("evolve")
    assert verb is not None
    run_verb(verb, list(overrides), seen.append)
    (config,) = seen
    assert isinstance(config, RunConfig)
    return config
