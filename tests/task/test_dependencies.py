"""The dependency graph: what walks use is in it, with every kind of edge; chains are shortest."""

from __future__ import annotations

from components.records.base import to_json
from components.records.frozen import FrozenDict, freeze
from components.records.graph import DependencyEdge, DependencyGraph, EdgeKind, ToolNode
from components.records.task import FromObservation
from components.task.dependencies import chain, dependency_graph
from components.task.gates import parameter_of
from components.task.graph import tool_graph
from tests.task.builders import SMALL, builtin_system, composed

GRAPH = dependency_graph(builtin_system(), SMALL)


def edge(source: str, target: str, kind: EdgeKind = EdgeKind.VALUE) -> DependencyEdge:
    return DependencyEdge(
        source=source, target=target, kind=kind, field="/x", argument="/x", role="", entity="a.b"
    )


def graph_of(*edges: DependencyEdge) -> DependencyGraph:
    node = ToolNode(service="a", functional="read", operation="get", entity="b", difficulty=1)
    names = {name for item in edges for name in (item.source, item.target)}
    return DependencyGraph(tools=FrozenDict(dict.fromkeys(names, node)), edges=edges)


def test_edges_say_which_field_feeds_which_argument_and_what_both_mean() -> None:
    wanted = DependencyEdge(
        source="helpdesk.get_ticket",
        target="directory.get_employee",
        kind=EdgeKind.VALUE,
        field="/ticket/assignee_id",
        argument="/employee_id",
        role="selects",
        entity="directory.employee",
    )

    assert wanted in GRAPH.edges
    assert any(
        item.field == "/tickets/*/id" and item.target == "helpdesk.get_ticket"
        for item in GRAPH.edges
    )


def test_a_rule_is_joined_with_what_meets_it_and_with_nothing_else() -> None:
    """A ticket is closed only when it is resolved: assigning it does not prepare that."""
    found = {
        (item.source, item.field)
        for item in GRAPH.edges
        if item.kind is EdgeKind.STATE and item.target == "helpdesk.close_ticket"
    }

    assert found == {("helpdesk.resolve_ticket", "status")}


def test_every_value_and_reaction_that_walks_use_is_an_edge() -> None:
    values = {(item.source, item.target, item.argument) for item in GRAPH.edges}
    changed = {
        (item.source, item.entity, item.role)
        for item in GRAPH.edges
        if item.kind is EdgeKind.REACTION
    }
    shapes = tool_graph(builtin_system(), SMALL).tools
    seen = fired = 0

    for item in composed(3, 7, 6):
        gold = item.task.gold
        for name, step in gold.items():
            target = f"{step.service}.{step.tool}"
            for pointer, source in step.arguments.items():
                parameter = parameter_of(shapes[step.service, step.tool], pointer)
                if not isinstance(source, FromObservation) or not parameter or not parameter.means:
                    continue
                giver = gold[source.step]
                seen += 1
                known = (f"{giver.service}.{giver.tool}", target, parameter.pointer)
                assert known in values or known[0] == target
            for again in (one for one in gold.values() if one.revisit_of is not None):
                shown = {rows.table for rows in shapes[again.service, again.tool].shown}
                for change in item.certificate.gold_run[name].changes:
                    is_there = change.service == again.service and change.table in shown
                    if is_there and change.cause.startswith("reaction:"):
                        fired += 1
                        reaction = change.cause.removeprefix("reaction:")
                        # A reaction to a reaction is found too.
                        assert (target, f"{change.service}.{change.table}", reaction) in changed

    assert seen > 20
    assert fired >= 6


def test_the_shortest_chain_is_made_of_values_where_it_can_be() -> None:
    graph = graph_of(
        edge("a.one", "a.four", EdgeKind.REACTION),
        edge("a.one", "a.two"),
        edge("a.two", "a.three"),
        edge("a.three", "a.four"),
        edge("a.two", "a.four"),
        edge("a.four", "a.five", EdgeKind.STATE),
    )

    def targets(source: str, target: str) -> list[str] | None:
        found = chain(graph, source, target)
        return None if found is None else [item.target for item in found]

    assert targets("a.one", "a.four") == ["a.two", "a.four"]
    assert targets("a.one", "a.five") == ["a.four", "a.five"]
    assert targets("a.five", "a.one") is None


def test_a_graph_is_read_back_as_it_was_written() -> None:
    assert DependencyGraph.model_validate(freeze(to_json(GRAPH))) == GRAPH
    assert dependency_graph(builtin_system(), SMALL) == GRAPH
