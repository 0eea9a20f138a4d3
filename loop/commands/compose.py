"""Make a set of tasks, each certified, and say how varied they are.

    python -m loop compose task.count=500 task.k=5 task.walk_length=9 task.distractors=5 out=tasks
    python -m loop compose -m task.k=3,5 task.walk_length=7,9

Writes a folder that is all there is to the set: services, tasks with rubrics and certificates, and
a card. Issued again, it goes on at the first draft that is missing; a complete set is shown. The
last line printed is the folder.

    python -m loop compose task.author=model task.author.base_url=http://localhost:8000/v1 \
        task.author.model=NAME task.count=10 out=tasks

has a model explore, design and solve each task, under the same gates. Where it makes fewer than
asked for, the set holds those, the exit status is 1, and the same command goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from components.errors import ConfigError
from components.harness.defaults import default_harness
from components.model.records import StageFigures
from components.records.base import to_json
from components.records.system import System
from components.task.model_author.config import ModelTaskAuthorConfig
from loop.composing import Composed, Drafting, draft_tasks, first_seed, too_few
from loop.compute.pool import open_pool
from loop.console import Console
from loop.ledger_files import locked, read_object
from loop.services import build_services
from loop.tasks.authoring import STAGE, author_tasks, settings_of, told_short
from loop.tasks.card import card_of, show_card
from loop.tasks.folder import CARD, DRAFTS, LOCK, claim, write_set
from loop.train.split import kind_of
from loop.units import UnitLog
from loop.verb_configs import ComposeConfig

COUNT = 100
"""Tasks of a set where `task.count` says nothing."""


def main(config: ComposeConfig) -> int:
    """Compose what is missing, print the card, and return 1 where tasks are still missing."""
    folder = Path(config.out or Path(config.runs_dir) / config.run)
    console = Console()
    values = to_json(config)
    settings = {key: values[key] for key in ("seed", "environment")}
    settings["task"] = settings_of(config.task)
    with locked(folder / LOCK, str(folder)):
        claim(folder, settings)
        if not (folder / CARD).is_file() or _card(folder).get("missing"):
            _compose(config, settings, folder, console)
    console.close()
    card = _card(folder)
    show_card(card).show()
    print(folder)
    return 1 if card.get("missing") else 0


def _card(folder: Path) -> dict[str, Any]:
    return read_object(folder / CARD, "remove it and run the same command again")


def _compose(
    config: ComposeConfig, settings: Mapping[str, Any], folder: Path, console: Console
) -> None:
    services = build_services(config, console)
    system = System(
        environment=services.environment, harness=default_harness(), reference=services.reference
    )
    wanted = COUNT if config.task.count is None else config.task.count
    author, base = config.task.author, first_seed(config.seed)
    spent: Mapping[str, StageFigures] = {}
    with closing(UnitLog(folder / DRAFTS)) as units:
        if isinstance(author, ModelTaskAuthorConfig):
            shape = config.task.shape()
            authored = author_tasks(author, shape, system, wanted, base, units, folder, console)
            composed, spent = authored.composed, authored.stages
            if composed.missing == wanted:
                raise ConfigError(told_short(authored, wanted))
            if composed.missing:
                console.line(told_short(authored, wanted))
        else:
            composed = _by_grammar(config, system, wanted, units, console)
    made = composed.system
    splits = {
        name: kind_of(made.environment, task, made.reference.certificates[name])
        for name, task in made.tasks.items()
    }
    write_set(folder, made, splits, card_of(settings, services, composed, splits, spent))


def _by_grammar(
    config: ComposeConfig, system: System, wanted: int, units: UnitLog, console: Console
) -> Composed:
    with open_pool(config.compute, console.line) as pool:
        drafting = Drafting(
            settings=config.task.shape(),
            base=first_seed(config.seed),
            units=units,
            stage=STAGE,
            pool=pool,
            console=console,
        )
        composed = draft_tasks(drafting, system, wanted)
    if composed.missing:
        raise ConfigError(f"{too_few(composed, wanted)}, and set out to another folder")
    return composed
