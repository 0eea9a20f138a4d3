"""The pictures that `show ... out=FILE` writes: a pool's dependency graph, or one task's walk."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from components.records.graph import DependencyGraph
from components.records.system import System
from loop.report.graph_picture import draw_graph, highlighting, joined, services_of
from loop.report.page import render_picture
from loop.report.walk_picture import draw_walk
from loop.tasks.folder import read_graph, read_set
from loop.verb_configs import ShowConfig


def picture_of(config: ShowConfig) -> str:
    """Return the HTML of what a configuration names: `graph`, or `task` of a set.

    Raises:
        ConfigError: the set cannot be read.
    """
    if config.graph is not None:
        return graph_page(read_graph(Path(config.graph)), config.graph)
    place = Path(str(config.task))
    return task_page(read_set(place.parent), place.name)


def graph_page(graph: DependencyGraph, where: str) -> str:
    """Return the page of a pool.

    Args:
        graph: the graph.
        where: the set, in words.
    """
    services, pairs = services_of(graph), joined(graph)
    return render_picture(
        title=f"Tools of {where}",
        texts=[
            f"{len(graph.tools)} tools of {len(services)} services, {len(graph.edges)} edges. A "
            "line says that a call at its one end can prepare a call at the other: a field of its "
            "answer can be an argument, or (dashed) a reaction to it changes what the other "
            "shows. It has the colour of the service that it leaves. Point at a service or a tool "
            "to see what leaves that service."
        ],
        picture=draw_graph(graph),
        rules=highlighting(graph),
        tables=[
            (
                "Pairs of tools that are joined, from the service of the row to that of the column",
                ["", *services],
                [
                    [source, *(str(pairs[source, target] or "") for target in services)]
                    for source in services
                ],
            )
        ],
    )


def task_page(system: System, name: str) -> str:
    """Return the page of one task.

    Args:
        system: with the task and its certificate.
        name: its id.
    """
    task, certificate = system.tasks[name], system.reference.certificates[name]
    return render_picture(
        title=f"Task {name}",
        texts=[
            task.instruction,
            f"Services: {', '.join(task.world.services)}. Only in the way: "
            f"{', '.join(task.world.distractors) or 'none'}. A filled box changes something; an "
            "arrow leads from the answer that shows a value to the call that uses it.",
        ],
        picture=draw_walk(task, certificate),
        rules=Markup(),
        tables=[],
    )
