"""The payments in the tests of the catalog: calls, ripples of reactions, their reach."""

from __future__ import annotations

from tests.environment.catalog_cases import Case, case
from tests.environment.catalog_crm import (
    LEAVE,
    account,
    get_account,
    get_employee,
    get_invoice,
    get_shipment,
    invoice,
    leave_of,
)
from tests.environment.catalog_ripples import Ripple, Step, Touched
from tests.environment.catalog_world import person, row_id

TABLES = {"inv": ("payments", "invoice"), "pay": ("payments", "payment")}
"""Prefix of ids -> table, for drawn arguments."""
CODES = {"^IN": "IN-2040", "^GW": "GW-2203", "^WB": "WB-5394-523"}
"""Start of a pattern -> a value that fits it, for drawn arguments."""
BANNED = ("shipment", "dock", "director", "desk")
"""Words that would disclose a reaction in the sentences of a tool."""
OTHERS: set[str] = set()
"""Reactions of this folder that no ripple shows."""


def payment(number: int) -> str:
    """Return a payment's id."""
    return row_id("payments", "payment", "number", f"PM-{number}")


def _dispute(number: int) -> Step:
    return "payments.dispute_invoice", {"invoice_id": invoice(number)}


def cases() -> list[Case]:
    """Return a normal call of every tool, and for each written rule a call that breaks it."""
    opened, disputed, paid, nothing = invoice(2031), invoice(2034), invoice(2043), "inv_000000"
    plain, credited, no_payment = payment(3101), payment(3103), "pay_000000"
    april, february = "2026-04-20T08:00:00Z", "2026-02-01T08:00:00Z"
    code, bill = {"goodwill_code": "GW-2203"}, {"waybill": "WB-5394-523"}
    return [
        case("payments.get_invoice", invoice_id=paid),
        case("payments.get_invoice", "exists", invoice_id=nothing),
        case("payments.get_invoice_by_number", number="IN-2040"),
        case("payments.get_invoice_by_number", "exists", number="IN-9999"),
        case("payments.list_invoices", account_id=account("Loire Barges")),
        case("payments.list_invoices", account_id=account("Loire Barges"), status="paid", limit=1),
        case("payments.settle_invoice", invoice_id=opened, method="card"),
        case("payments.settle_invoice", "exists", invoice_id=nothing, method="card"),
        case("payments.settle_invoice", "open", invoice_id=disputed, method="card"),
        case("payments.refund_payment", payment_id=plain, amount=100),
        case("payments.refund_payment", payment_id=credited, amount=1000),
        case("payments.refund_payment", "exists", payment_id=no_payment, amount=100),
        case("payments.refund_payment", "left", payment_id=credited, amount=1001),
        case("payments.dispute_invoice", invoice_id=opened),
        case("payments.dispute_invoice", "exists", invoice_id=nothing),
        case("payments.dispute_invoice", "open", invoice_id=paid),
        case("payments.extend_invoice", invoice_id=disputed, until=april),
        case("payments.extend_invoice", "exists", invoice_id=nothing, until=april),
        case("payments.extend_invoice", "later", invoice_id=opened, until=february),
        case("payments.extend_invoice", "unpaid", invoice_id=paid, until=april),
        case("payments.credit_payment", payment_id=payment(3105), **code),
        case("payments.credit_payment", "exists", payment_id=no_payment, **code),
        case("payments.credit_payment", "once", payment_id=credited, **code),
        case("payments.credit_payment", "refunded", payment_id=plain, **code),
        case("payments.set_waybill", invoice_id=paid, **bill),
        case("payments.set_waybill", "exists", invoice_id=nothing, **bill),
        case("payments.set_waybill", "once", invoice_id=invoice(2044), **bill),
        case("payments.set_waybill", "paid", invoice_id=opened, **bill),
    ]


def ripples() -> dict[str, Ripple]:
    """Return one case for each reaction of this folder."""
    return {
        "dispute_sets_review": Ripple(
            trigger=_dispute(2031),
            read=get_account("Brattholm Ferries"),
            expected={"review_at": "2026-04-09T08:30:00Z"},
        ),
        "dispute_books_time": Ripple(
            trigger=_dispute(2031),
            read=get_employee("Helene Dubois"),
            expected={"time_code": "TC-1628"},
        ),
        "dispute_delays_pick": Ripple(
            trigger=_dispute(2036),
            read=get_shipment(516),
            expected={"pick_at": "2026-04-13T10:05:00Z"},
        ),
        "refund_grants_goodwill": Ripple(
            trigger=("payments.refund_payment", {"payment_id": payment(3101), "amount": 100}),
            read=get_account("Brattholm Ferries"),
            expected={"goodwill_code": "GW-6614"},
        ),
        "settlement_issues_waybill": Ripple(
            trigger=("payments.settle_invoice", {"invoice_id": invoice(2035), "method": "card"}),
            read=get_shipment(515),
            expected={"waybill": "WB-6427-515"},
        ),
        "leave_moves_approvals": Ripple(
            trigger=leave_of("Nadia Haddad"),
            read=get_invoice(2037),
            expected={"approver_id": person("Dmitri Sokolov"), "approval_code": "AP-2492"},
        ),
    }


_BRATTHOLM: tuple[Touched, ...] = (
    ("dispute_books_time", "directory.employee", "Helene Dubois", "time_code"),
    ("dispute_delays_pick", "inventory.shipment", "SH-511", "pick_at"),
    ("dispute_sets_review", "crm.account", "Brattholm Ferries", "review_at"),
)
REACH: dict[str, tuple[Touched, ...]] = {
    "dispute_sets_review": _BRATTHOLM,
    "dispute_books_time": _BRATTHOLM,
    "dispute_delays_pick": (
        ("dispute_books_time", "directory.employee", "Anika Joshi", "time_code"),
        ("dispute_delays_pick", "inventory.shipment", "SH-516", "pick_at"),
        ("dispute_sets_review", "crm.account", "Dunbar Dredging", "review_at"),
    ),
    "refund_grants_goodwill": (
        ("refund_grants_goodwill", "crm.account", "Brattholm Ferries", "goodwill_code"),
    ),
    "settlement_issues_waybill": (
        ("settlement_issues_waybill", "inventory.shipment", "SH-515", "waybill"),
    ),
    "leave_moves_approvals": LEAVE,
}
"""Ripple -> what its trigger makes reactions change, in any order."""


def quiet_calls() -> list[Step]:
    """Return writes that no reaction listens to."""
    april = {"invoice_id": invoice(2034), "until": "2026-04-20T08:00:00Z"}
    return [
        ("payments.extend_invoice", april),
        ("payments.credit_payment", {"payment_id": payment(3105), "goodwill_code": "GW-2203"}),
        ("payments.set_waybill", {"invoice_id": invoice(2043), "waybill": "WB-5394-523"}),
    ]
