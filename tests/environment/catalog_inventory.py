"""The warehouse in the tests of the catalog: calls, ripples of reactions, their reach."""

from __future__ import annotations

from tests.environment.catalog_cases import Case, case
from tests.environment.catalog_crm import (
    LEAVE,
    account,
    get_account,
    get_employee,
    get_invoice,
    get_shipment,
    leave_of,
    shipment,
)
from tests.environment.catalog_ripples import Ripple, Step, Touched
from tests.environment.catalog_world import person, row_id

TABLES = {"shp": ("inventory", "shipment"), "itm": ("inventory", "item")}
"""Prefix of ids -> table, for drawn arguments."""
CODES = {
    "^SH": "SH-512",
    "^FR": "FR-1405",
    "^RC": "RC-7118",
    "^[A-Z]{2}-[0-9]$": "LE-2",
    "^[A-Z][A-Za-z0-9 ]": "Fender D200",
}
"""Start of a pattern -> a value that fits it, for drawn arguments."""
BANNED = ("director", "ledger", "goodwill", "waybill series")
"""Words that would disclose a reaction in the sentences of a tool."""
OTHERS: set[str] = set()
"""Reactions of this folder that no ripple shows."""


def item(name: str) -> str:
    """Return an item's id."""
    return row_id("inventory", "item", "name", name)


def _dispatch(number: int) -> Step:
    return "inventory.dispatch_shipment", {"shipment_id": shipment(number)}


def cases() -> list[Case]:
    """Return a normal call of every tool, and for each written rule a call that breaks it."""
    planned, sent, nothing = shipment(512), shipment(524), "shp_000000"
    freight, receipt = {"freight_code": "FR-1405"}, {"receipt_code": "RC-7118"}
    gangway, oysters = item("Gangway 6 m"), account("Cancale Oysters")
    return [
        case("inventory.get_shipment", shipment_id=sent),
        case("inventory.get_shipment", "exists", shipment_id=nothing),
        case("inventory.get_shipment_by_number", number="SH-520"),
        case("inventory.get_shipment_by_number", "exists", number="SH-999"),
        case("inventory.get_item_by_name", name="Towing hook"),
        case("inventory.get_item_by_name", "exists", name="Golden anchor"),
        case("inventory.list_shipments", account_id=oysters),
        case("inventory.list_shipments", account_id=oysters, status="planned", limit=1),
        case("inventory.reserve_item", item_id=gangway, quantity=38),
        case("inventory.reserve_item", "exists", item_id="itm_000000", quantity=5),
        case("inventory.reserve_item", "free", item_id=gangway, quantity=39),
        case("inventory.move_shipment", shipment_id=planned, dock_code="LE-2"),
        case("inventory.move_shipment", "exist", shipment_id=nothing, dock_code="LE-2"),
        case("inventory.move_shipment", "exist", shipment_id=planned, dock_code="XX-9"),
        case("inventory.move_shipment", "change", shipment_id=planned, dock_code="BG-2"),
        case("inventory.move_shipment", "planned", shipment_id=sent, dock_code="LE-2"),
        case("inventory.dispatch_shipment", shipment_id=planned),
        case("inventory.dispatch_shipment", "exists", shipment_id=nothing),
        case("inventory.dispatch_shipment", "pick_time", shipment_id=shipment(511)),
        case("inventory.dispatch_shipment", "planned", shipment_id=sent),
        case("inventory.record_receipt", shipment_id=sent, **receipt),
        case("inventory.record_receipt", "exists", shipment_id=nothing, **receipt),
        case("inventory.record_receipt", "dispatched", shipment_id=planned, **receipt),
        case("inventory.record_receipt", "once", shipment_id=shipment(523), **receipt),
        case("inventory.book_freight", shipment_id=planned, **freight),
        case("inventory.book_freight", "exists", shipment_id=nothing, **freight),
        case("inventory.book_freight", "once", shipment_id=shipment(518), **freight),
        case("inventory.book_freight", "planned", shipment_id=sent, **freight),
    ]


def ripples() -> dict[str, Ripple]:
    """Return one case for each reaction of this folder."""
    return {
        "dispatch_sets_receipt": Ripple(
            trigger=_dispatch(512),
            read=get_account("Skagen Pilots"),
            expected={"receipt_code": "RC-2049"},
        ),
        "dispatch_books_time": Ripple(
            trigger=_dispatch(516),
            read=get_employee("Yusuf Demir"),
            expected={"time_code": "TC-4683"},
        ),
        "move_sets_freight": Ripple(
            trigger=(
                "inventory.move_shipment",
                {"shipment_id": shipment(511), "dock_code": "NA-1"},
            ),
            read=get_invoice(2031),
            expected={"freight_code": "FR-7318"},
        ),
        "leave_moves_shipments": Ripple(
            trigger=leave_of("Nadia Haddad"),
            read=get_shipment(520),
            expected={
                "handler_id": person("Dmitri Sokolov"),
                "pick_at": "2026-03-13T10:56:00Z",
            },
        ),
    }


REACH: dict[str, tuple[Touched, ...]] = {
    "dispatch_sets_receipt": (
        ("dispatch_books_time", "directory.employee", "Anika Joshi", "time_code"),
        ("dispatch_sets_receipt", "crm.account", "Skagen Pilots", "receipt_code"),
    ),
    "dispatch_books_time": (
        ("dispatch_books_time", "directory.employee", "Yusuf Demir", "time_code"),
        ("dispatch_sets_receipt", "crm.account", "Dunbar Dredging", "receipt_code"),
    ),
    "move_sets_freight": (("move_sets_freight", "payments.invoice", "IN-2031", "freight_code"),),
    "leave_moves_shipments": LEAVE,
}
"""Ripple -> what its trigger makes reactions change, in any order."""


def quiet_calls() -> list[Step]:
    """Return writes that no reaction listens to."""
    return [
        ("inventory.reserve_item", {"item_id": item("Gangway 6 m"), "quantity": 5}),
        ("inventory.record_receipt", {"shipment_id": shipment(524), "receipt_code": "RC-7118"}),
        ("inventory.book_freight", {"shipment_id": shipment(512), "freight_code": "FR-1405"}),
    ]
