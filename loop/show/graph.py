"""The dependency graph of a task set: what joins its tools, and the shortest chain between two."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence

from components.errors import ConfigError
from components.records.graph import DependencyEdge, DependencyGraph, EdgeKind
from components.task.dependencies import chain
from loop.plain_page import Page

_SHOWN = 40
"""Edges of one tool that are shown, each way."""
_PAIRS = 12


def show_graph(graph: DependencyGraph, where: str, start: str | None, end: str | None) -> Page:
    """Return the page.

    Args:
        graph: the graph.
        where: the set, in words.
        start: `service.tool` whose edges out are wanted, or where a chain begins; None: neither.
        end: `service.tool` whose edges in are wanted, or where a chain ends; None: neither.

    Raises:
        ConfigError: there is no such tool; the line names the nearest.
    """
    for key, name in (("from", start), ("to", end)):
        if name is not None and name not in graph.tools:
            raise ConfigError(_unknown(graph, key, name))
    page = Page()
    if start is not None and end is not None:
        _show_chain(page, graph, start, end)
    elif start is not None:
        page.heading(f"From {start}: what it can prepare")
        _show_edges(page, [edge for edge in graph.edges if edge.source == start], into=False)
    elif end is not None:
        page.heading(f"To {end}: what can prepare it")
        _show_edges(page, [edge for edge in graph.edges if edge.target == end], into=True)
    else:
        _show_whole(page, graph, where)
    return page


def _unknown(graph: DependencyGraph, key: str, name: str) -> str:
    near = difflib.get_close_matches(name, sorted(graph.tools), n=3, cutoff=0.4)
    shown = near or sorted(graph.tools)[:3]
    words = "the nearest are" if near else "there are"
    return f"{key}: there is no tool '{name}' in the graph; {words} {', '.join(shown)}"


def _show_whole(page: Page, graph: DependencyGraph, where: str) -> None:
    kinds = Counter(edge.kind for edge in graph.edges)
    crossing = Counter(edge.kind for edge in graph.edges if _is_crossing(edge))
    page.heading(f"Dependency graph of {where}")
    page.line(
        f"{len(graph.tools)} tools; an edge says that one call can prepare another. Add "
        "from=service.tool or to=service.tool for the edges of one, both for the shortest chain"
    )
    page.table(
        [
            (
                kind.value,
                f"{kinds[kind]} edges",
                f"{crossing[kind]} between services",
                _MEANING[kind],
            )
            for kind in EdgeKind
        ]
    )
    page.heading("Services: tools; edges within, out to others, in from others")
    services = sorted({node.service for node in graph.tools.values()})
    tools = Counter(node.service for node in graph.tools.values())
    pairs = Counter((_service(edge.source), _service(edge.target)) for edge in graph.edges)
    page.table(
        [
            (
                name,
                str(tools[name]),
                str(pairs[name, name]),
                str(sum(pairs[name, other] for other in services if other != name)),
                str(sum(pairs[other, name] for other in services if other != name)),
            )
            for name in services
        ]
    )
    page.heading("Services that are joined most")
    most = [item for item in pairs.most_common() if item[0][0] != item[0][1]][:_PAIRS]
    page.table([(f"{source} -> {target}", str(count)) for (source, target), count in most])


_MEANING = {
    EdgeKind.VALUE: "a field of an answer can be an argument",
    EdgeKind.STATE: "a row is brought into the state that a rule asks for",
    EdgeKind.REACTION: "a reaction changes, elsewhere, a field that is shown",
}


def _show_edges(page: Page, edges: Sequence[DependencyEdge], *, into: bool) -> None:
    if not edges:
        page.line("nothing")
    page.table([(edge.source if into else edge.target, how(edge)) for edge in edges[:_SHOWN]])
    if len(edges) > _SHOWN:
        page.line(f"and {len(edges) - _SHOWN} more; graph.json has them all")


def _show_chain(page: Page, graph: DependencyGraph, start: str, end: str) -> None:
    page.heading(f"From {start} to {end}")
    direct = [edge for edge in graph.edges if (edge.source, edge.target) == (start, end)]
    page.line(f"{len(direct)} edges join the two" + (":" if direct else ""))
    page.table([(edge.kind.value, how(edge)) for edge in direct])
    found = chain(graph, start, end)
    if found is None:
        page.line("no chain leads from one to the other")
        return
    page.heading(f"Shortest chain: {len(found) + 1} calls")
    page.table([(start, ""), *((edge.target, how(edge)) for edge in found)])


def how(edge: DependencyEdge) -> str:
    """Return what an edge is, in words."""
    match edge.kind:
        case EdgeKind.VALUE:
            return f"{edge.argument[1:]} <- {edge.field} ({edge.role} by {edge.entity})"
        case EdgeKind.STATE:
            return f"{edge.entity}.{edge.field} as a rule asks ({edge.role})"
        case _:
            return f"{edge.entity}.{edge.field} changes by the reaction {edge.role}"


def _service(tool: str) -> str:
    return tool.partition(".")[0]


def _is_crossing(edge: DependencyEdge) -> bool:
    return _service(edge.source) != _service(edge.target)
