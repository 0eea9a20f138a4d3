"""Services that a changed configuration names come into a later round, through the same gates.

A service that is there stays as it is, and one that is no longer named stays too: tasks are made of
it, and what was mended in it is kept.
"""

from __future__ import annotations

from typing import Any

from components.records.frozen import FrozenDict
from components.records.system import System
from loop.context import RoundContext
from loop.services import admit_candidates, builtin_candidate, compiled_candidates

STAGE = "services"
KEYS = (
    "environment.services",
    "environment.sources",
    "environment.mcp_config",
    "environment.recordings",
)
"""A change of one of them between two rounds has the sources read again."""


def take_in(context: RoundContext, system: System) -> System:
    """Return the system with the services that the configuration names since the round before.

    Raises:
        ConfigError: a built-in service is not known.
        SpecError: a source cannot be read.
    """
    changed = {change.key for change in context.folder.manifest.config_changes}
    if not any(key.startswith(KEYS) for key in changed):
        return system

    def compute() -> dict[str, Any]:
        refused: dict[str, str] = {}
        recorded: dict[str, Any] = {}
        there, config = system.reference.specs, context.config
        named = [name for name in config.environment.services if name not in there]
        candidates = [builtin_candidate(name) for name in named]
        candidates += compiled_candidates(config, context.console, refused, recorded, there)
        admitted = admit_candidates(config, context.console, candidates, refused)
        environment = system.environment.model_copy(
            update={
                "blueprints": _joined(system.environment.blueprints, admitted.blueprints),
                "seeds": _joined(system.environment.seeds, admitted.seeds),
                "code": _joined(system.environment.code, admitted.code),
            }
        )
        specs = _joined(system.reference.specs, admitted.specs)
        contract = system.reference.contract
        rules = _joined(contract.rules, admitted.rules)
        contract = contract.model_copy(update={"rules": rules})
        reference = system.reference.model_copy(update={"specs": specs, "contract": contract})
        grown = system.model_copy(update={"environment": environment, "reference": reference})
        return {
            "system": context.keep(grown),
            "came": sorted(admitted.specs),
            "refused": refused,
            "gate_tests": admitted.gate_tests,
            "recorded": recorded,
        }

    result = context.folder.run_stage(STAGE, compute)
    if not result["came"]:
        keys = ", ".join(sorted(key for key in changed if key.startswith(KEYS)))
        context.console.line(f"{keys} changed, and no service came in: those there stay")
    return context.load(result["system"])


def _joined(there: FrozenDict[str, Any], more: FrozenDict[str, Any]) -> FrozenDict[str, Any]:
    return FrozenDict({**there, **more})
