"""From a name to the page about it: which run, which round, and whether there is such a thing.

Reads only. A round that is under way can be looked into when it is named; otherwise the last one
that is finished counts.
"""

from __future__ import annotations

import os
from pathlib import Path

from components.errors import ConfigError
from loop.looking import nearest_names, refuse_unknown, round_of
from loop.plain_page import Page
from loop.show.graph import show_graph
from loop.show.patch import show_patch
from loop.show.rollout import show_rollout
from loop.show.seen import Seen
from loop.show.service import show_service
from loop.show.task import show_task, show_task_of_set
from loop.show.viewed import of_folder, of_round
from loop.tasks.folder import read_graph, read_set
from loop.verb_configs import SUBJECTS, ShowConfig


def look(config: ShowConfig) -> Page:
    """Return the page about what the configuration names.

    Raises:
        ConfigError: there is no such run, round or name; the line names the nearest.
        LedgerError: what is recorded cannot be read.
    """
    (subject,) = [name for name in SUBJECTS if getattr(config, name) is not None]
    name = getattr(config, subject)
    if subject == "graph":
        graph = read_graph(Path(name))
        return show_graph(graph, f"set {name}", config.start, config.to)
    if subject == "service" and (os.sep in name or "/" in name):
        return show_service(of_folder(Path(name), Path(config.runs_dir)))
    if subject == "task" and (os.sep in name or "/" in name):
        return _task_of_set(Path(name))
    ledger, number = round_of(config.runs_dir, config.run, config.round)
    with ledger.read_round(number) as folder:
        seen = Seen(run=config.run, number=number, folder=folder)
        refuse_unknown(ledger, seen, subject, name)
        match subject:
            case "rollout":
                return show_rollout(seen, name, config.stage)
            case "task":
                return show_task(seen, name)
            case "service":
                return show_service(of_round(seen, name))
            case _:
                return show_patch(seen, name)


def _task_of_set(place: Path) -> Page:
    """Return the page of `FOLDER/ID`."""
    system = read_set(place.parent)
    if place.name not in system.tasks:
        raise ConfigError(
            f"there is no task '{place.name}' in {place.parent}; "
            f"{nearest_names(place.name, system.tasks)}"
        )
    return show_task_of_set(system, place.name, f"set {place.parent}")
