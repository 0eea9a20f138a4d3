"""Edges come from links and keys; what a tool shows comes from its blueprint."""

from __future__ import annotations

from components.environment.compiler.compile import compile_spec
from components.records.frozen import FrozenDict
from components.task.graph import Edge, Place, Role, edges_of, tool_graph
from tests.environment.test_wrapped import wrapped
from tests.task.builders import builtin_system

GRAPH = tool_graph(builtin_system(), ("directory", "helpdesk", "mail"))


def test_a_link_joins_tools_whose_fields_have_other_names() -> None:
    edges = edges_of(GRAPH)

    assert (
        Edge(
            ("helpdesk", "get_ticket"),
            ("directory", "get_employee"),
            "/employee_id",
            Place("directory", "employee", "id"),
        )
        in edges
    )
    assert (
        Edge(
            ("directory", "get_employee"),
            ("helpdesk", "log_work"),
            "/time_code",
            Place("directory", "employee", "time_code"),
        )
        in edges
    )


def test_no_edge_joins_fields_that_mean_different_things() -> None:
    # A queue and a team both have a name; only the meaning counts.
    assert not [
        edge
        for edge in edges_of(GRAPH)
        if edge.source == ("helpdesk", "get_queue")
        and edge.target == ("directory", "find_employees")
        and edge.pointer == "/name"
    ]


def test_a_tool_shows_the_rows_and_fields_of_its_result() -> None:
    search = GRAPH.tools["helpdesk", "search_tickets"]
    create = GRAPH.tools["helpdesk", "create_ticket"]

    assert [
        (rows.path, rows.table, rows.is_list, sorted(rows.fields)) for rows in search.shown
    ] == [(("tickets",), "ticket", True, ["created_at", "id", "number", "status", "subject"])]
    assert [(rows.path, sorted(rows.fields), rows.is_list) for rows in create.shown] == [
        (("ticket",), ["id", "number", "status"], False)
    ]


def test_parameters_have_roles_and_meanings() -> None:
    roles = {
        (shape.name, item.pointer): (item.role, str(item.means), item.names_row, item.is_natural)
        for shape in GRAPH.tools.values()
        for item in shape.parameters
    }

    assert roles["get_ticket", "/ticket_id"] == (
        Role.SELECTS, "helpdesk.ticket.id", True, False,
    )  # fmt: skip
    assert roles["search_tickets", "/requester_email"] == (
        Role.FILTERS, "directory.employee.email", True, True,
    )  # fmt: skip
    assert roles["log_work", "/minutes"][0] is Role.SETS
    assert roles["set_records_reference", "/records_reference"][1:] == (
        "mail.thread.archive_reference", True, False,
    )  # fmt: skip


def test_quarantined_tools_are_not_in_the_graph() -> None:
    system = builtin_system()
    blueprint = system.environment.blueprints["mail"]
    hidden = blueprint.model_validate(
        {**blueprint.model_dump(), "quarantined": {"reply": {"reason": "unclear", "detail": "-"}}}
    )
    blueprints = type(system.environment.blueprints)(
        {**system.environment.blueprints, "mail": hidden}
    )
    environment = system.environment.model_copy(update={"blueprints": blueprints})
    graph = tool_graph(system.model_copy(update={"environment": environment}), ("mail",))

    assert ("mail", "reply") not in graph.tools
    assert ("mail", "send_message") in graph.tools


def test_arguments_that_lie_in_one_object_are_found_there() -> None:
    spec = wrapped()
    blueprint, _, _ = compile_spec(spec)
    system = builtin_system()
    environment = system.environment.model_copy(
        update={"blueprints": FrozenDict({spec.service: blueprint})}
    )
    reference = system.reference.model_copy(update={"specs": FrozenDict({spec.service: spec})})
    graph = tool_graph(
        system.model_copy(update={"environment": environment, "reference": reference}),
        (spec.service,),
    )

    shape = graph.tools[spec.service, "get_ticket"]

    assert [(item.pointer, item.role, item.required) for item in shape.parameters] == [
        ("/request/ticket_id", Role.SELECTS, True)
    ]
