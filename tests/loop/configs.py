"""Configurations for tests, composed from `conf/` as the command line does it."""

from __future__ import annotations

import os
from typing import Any

from components.harness.defaults import default_harness
from components.records.system import System
from loop.config import RunConfig
from loop.console import Console
from loop.hydra_entry import run_verb
from loop.services import build_services
from loop.verbs import find_verb


def run_config(*overrides: str) -> RunConfig:
    """Return what `python -m loop evolve` with these overrides would run with.

    Who acts is a script unless the overrides choose a policy.
    """
    if not any(item.startswith("policy=") for item in overrides):
        overrides = ("policy=scripted", *overrides)
    seen: list[Any] = []
    verb = find_verb("evolve")
    assert verb is not None
    run_verb(verb, list(overrides), seen.append)
    (config,) = seen
    assert isinstance(config, RunConfig)
    return config


def bare_system(config: RunConfig) -> System:
    """Return the services that a configuration names, and no tasks."""
    with open(os.devnull, "w") as silence:
        built = build_services(config, Console(silence))
    return System(
        environment=built.environment, harness=default_harness(), reference=built.reference
    )
