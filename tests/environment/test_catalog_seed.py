"""The built-in services load, are consistent at the start, and offer what tasks need."""

from __future__ import annotations

from importlib import resources

import pytest

from components.environment.catalog_loader import builtin_services, load_contract, load_service
from components.environment.state import rows_of
from components.errors import SpecError
from components.records.blueprint import FieldType, FunctionalClass
from tests.environment.catalog_world import NOW, broken_invariants, catalog_world


def test_twelve_services_in_twelve_domains() -> None:
    domains = {name: load_service(name).spec.domain for name in builtin_services()}

    assert domains == {
        "calendar": "planning",
        "chat": "collaboration",
        "codehost": "engineering",
        "crm": "sales",
        "directory": "people",
        "documents": "knowledge",
        "helpdesk": "support",
        "incidents": "operations",
        "inventory": "logistics",
        "mail": "communication",
        "payments": "finance",
        "travel": "travel",
    }


def test_the_tools_are_many_and_a_third_of_them_write() -> None:
    tools = [
        tool for name in builtin_services() for tool in load_service(name).blueprint.tools.values()
    ]
    writes = [tool for tool in tools if tool.functional is FunctionalClass.WRITE]

    assert len(tools) >= 90
    assert 3 * len(writes) >= len(tools)


def test_unknown_service_is_refused_with_the_known_names() -> None:
    with pytest.raises(SpecError, match="directory, documents, helpdesk"):
        load_service("parking")


def test_loading_twice_gives_the_same_records() -> None:
    assert load_service("mail") is load_service("mail")
    assert load_contract() is load_contract()


def test_every_promised_invariant_holds_on_the_seed_data() -> None:
    assert list(broken_invariants(catalog_world().initial)) == []


def test_blueprints_offer_exactly_the_tools_of_their_specs() -> None:
    for name in builtin_services():
        loaded = load_service(name)
        assert set(loaded.blueprint.tools) == set(loaded.spec.tools)
        assert all(tool.complete for tool in loaded.spec.tools.values())
        assert not loaded.blueprint.quarantined


def test_each_service_mixes_reads_and_writes_and_has_difficult_tools() -> None:
    for name in builtin_services():
        tools = load_service(name).blueprint.tools.values()
        writes = [tool for tool in tools if tool.functional is FunctionalClass.WRITE]
        assert 3 * len(writes) >= len(tools) >= 7
        assert max(tool.difficulty for tool in tools) >= 4
        assert all(bool(tool.effects) == (tool in writes) for tool in tools)


def test_links_lead_to_rows_of_the_named_tables() -> None:
    state = catalog_world().initial
    dangling = []
    for name in builtin_services():
        for table, entity in load_service(name).blueprint.entities.items():
            for field, blueprint in entity.fields.items():
                if blueprint.link is None:
                    continue
                service, target, *rest = blueprint.link.split(".")
                key = load_service(service).blueprint.entities[target].key
                column = rest[0] if rest else key
                known = {row[column] for row in rows_of(state, service, target).values()}
                for row in rows_of(state, name, table).values():
                    if row[field] is not None and row[field] not in known:
                        dangling.append(f"{name}.{table}.{field}: {row[field]}")

    assert dangling == []


@pytest.mark.parametrize(
    ("service", "table", "field"),
    [
        ("directory", "employee", "name"),
        ("directory", "employee", "email"),
        ("directory", "employee", "pager_code"),
        ("directory", "team", "name"),
        ("helpdesk", "ticket", "subject"),
        ("helpdesk", "ticket", "number"),
        ("mail", "thread", "subject"),
        ("mail", "ticket_label", "archive_box"),
        ("incidents", "incident", "number"),
        ("incidents", "responder", "email"),
        ("incidents", "runbook", "bridge_code"),
        ("codehost", "pull_request", "number"),
        ("codehost", "member", "handle"),
        ("travel", "trip", "code"),
        ("travel", "hub", "crew_locator"),
        ("crm", "account", "name"),
        ("payments", "invoice", "number"),
        ("inventory", "shipment", "number"),
        ("calendar", "event", "subject"),
        ("chat", "channel", "name"),
        ("documents", "document", "title"),
    ],
)
def test_names_and_codes_are_unique(service: str, table: str, field: str) -> None:
    values = [row[field] for row in rows_of(catalog_world().initial, service, table).values()]

    assert len(set(values)) == len(values)


def test_what_has_happened_lies_before_the_clock_and_in_order() -> None:
    state = catalog_world().initial
    made = {key: row["created_at"] for key, row in rows_of(state, "helpdesk", "ticket").items()}

    for row in rows_of(state, "helpdesk", "ticket").values():
        assert row["created_at"] <= row["updated_at"] < NOW
    for row in rows_of(state, "mail", "message").values():
        assert row["sent_at"] is None or row["sent_at"] < NOW
        assert row["ticket_id"] is None or row["sent_at"] > made[row["ticket_id"]]
    for row in rows_of(state, "mail", "thread").values():
        sent = [
            m["sent_at"]
            for m in rows_of(state, "mail", "message").values()
            if m["thread_id"] == row["id"]
        ]
        assert max(sent) == row["updated_at"]


def test_nothing_made_by_a_service_lies_after_the_clock() -> None:
    state = catalog_world().initial
    made = [
        (name, table, field)
        for name in builtin_services()
        for table, entity in load_service(name).blueprint.entities.items()
        for field, blueprint in entity.fields.items()
        if blueprint.generated and blueprint.type is FieldType.TIMESTAMP
    ]

    for service, table, field in made:
        for row in rows_of(state, service, table).values():
            assert row[field] is None or row[field] < NOW, (service, table, row)


def test_files_are_plain_ascii() -> None:
    catalog = resources.files("components.environment.catalog")
    for name in builtin_services():
        for file in catalog.joinpath(name).iterdir():
            assert not file.name.endswith(".json") or file.read_bytes().isascii()
