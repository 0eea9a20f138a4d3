"""Make a set of tasks, each certified, and say how varied they are.

    python -m loop compose task.count=500 task.k=5 task.walk_length=9 task.distractors=5 out=tasks
    python -m loop compose -m task.k=3,5 task.walk_length=7,9

Writes a folder that is all there is to the set: services, tasks with rubrics and certificates, and
a card. Issued again, it goes on at the first draft that is missing; a complete set is shown. The
last line printed is the folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from components.errors import ConfigError
from components.harness.defaults import default_harness
from components.records.base import to_json
from components.records.system import System
from loop.composing import Drafting, draft_tasks, first_seed, too_few
from loop.compute.pool import open_pool
from loop.console import Console
from loop.ledger_files import locked, read_object
from loop.services import build_services
from loop.tasks.card import card_of, show_card
from loop.tasks.folder import CARD, DRAFTS, LOCK, claim, write_set
from loop.train.split import kind_of
from loop.units import UnitLog
from loop.verb_configs import ComposeConfig

COUNT = 100
"""Tasks of a set where `task.count` says nothing."""


def main(config: ComposeConfig) -> None:
    """Compose what is missing and print the card."""
    folder = Path(config.out or Path(config.runs_dir) / config.run)
    console = Console()
    values = to_json(config)
    settings = {key: values[key] for key in ("seed", "environment", "task")}
    with locked(folder / LOCK, str(folder)):
        claim(folder, settings)
        if not (folder / CARD).is_file():
            _compose(config, settings, folder, console)
    console.close()
    show_card(read_object(folder / CARD, "remove it and run the same command again")).show()
    print(folder)


def _compose(
    config: ComposeConfig, settings: Mapping[str, Any], folder: Path, console: Console
) -> None:
    services = build_services(config, console)
    system = System(
        environment=services.environment, harness=default_harness(), reference=services.reference
    )
    wanted = COUNT if config.task.count is None else config.task.count
    with (
        closing(UnitLog(folder / DRAFTS)) as units,
        open_pool(config.compute, console.line) as pool,
    ):
        drafting = Drafting(
            settings=config.task,
            base=first_seed(config.seed),
            units=units,
            stage="tasks",
            pool=pool,
            console=console,
        )
        composed = draft_tasks(drafting, system, wanted)
    if composed.missing:
        raise ConfigError(f"{too_few(composed, wanted)}, and set out to another folder")
    made = composed.system
    splits = {
        name: kind_of(made.environment, task, made.reference.certificates[name])
        for name, task in made.tasks.items()
    }
    write_set(folder, made, splits, card_of(settings, services, composed, splits))
