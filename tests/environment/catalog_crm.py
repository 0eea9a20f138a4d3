"""The customer accounts in the tests of the catalog: calls, ripples of reactions, their reach."""

from __future__ import annotations

from typing import Any

from tests.environment.catalog_cases import Case, case
from tests.environment.catalog_ripples import Ripple, Step, Touched
from tests.environment.catalog_world import address, person, row_id

MARCH = "2026-03-20T08:00:00Z"
TABLES = {"acc": ("crm", "account"), "deal": ("crm", "deal"), "con": ("crm", "contact")}
"""Prefix of ids -> table, for drawn arguments."""
CODES = {"^DL": "DL-1043", "^LG": "LG-1226", "^[A-Z][A-Za-z ]": "Loire Barges"}
"""Start of a pattern -> a value that fits it, for drawn arguments."""
BANNED = ("invoice", "shipment", "director", "mailbox")
"""Words that would disclose a reaction in the sentences of a tool."""
OTHERS: set[str] = set()
"""Reactions of this folder that no ripple shows."""


def account(name: str) -> str:
    """Return an account's id."""
    return row_id("crm", "account", "name", name)


def deal(number: int) -> str:
    """Return a deal's id."""
    return row_id("crm", "deal", "number", f"DL-{number}")


def invoice(number: int) -> str:
    """Return an invoice's id."""
    return row_id("payments", "invoice", "number", f"IN-{number}")


def shipment(number: int) -> str:
    """Return a shipment's id."""
    return row_id("inventory", "shipment", "number", f"SH-{number}")


def get_account(name: str) -> Step:
    """Return the call that reads an account."""
    return "crm.get_account", {"account_id": account(name)}


def get_invoice(number: int) -> Step:
    """Return the call that reads an invoice."""
    return "payments.get_invoice", {"invoice_id": invoice(number)}


def get_shipment(number: int) -> Step:
    """Return the call that reads a shipment."""
    return "inventory.get_shipment", {"shipment_id": shipment(number)}


def get_employee(name: str) -> Step:
    """Return the call that reads an employee."""
    return "directory.get_employee", {"employee_id": person(name)}


def leave_of(name: str) -> Step:
    """Return the call that puts an employee on leave."""
    return "directory.set_leave", {"employee_id": person(name), "until": MARCH}


def _win(number: int) -> Step:
    return "crm.win_deal", {"deal_id": deal(number)}


def _hand_over(name: str, owner: str) -> Step:
    return "crm.set_owner", {"account_id": account(name), "owner_email": address(owner)}


def cases() -> list[Case]:
    """Return a normal call of every tool, and for each written rule a call that breaks it."""
    loire, whitby, nothing = account("Loire Barges"), account("Whitby Lifeboats"), "acc_000000"
    priya, nobody = address("Priya Raman"), address("No Body")
    opened, won, filed, no_deal = deal(1043), deal(1054), deal(1053), "deal_000000"
    code = {"ledger_code": "LG-1237"}
    visit: dict[str, Any] = {"time_code": "TC-9600", "minutes": 60}
    past = "2026-02-20T08:00:00Z"
    return [
        case("crm.get_account", account_id=loire),
        case("crm.get_account", "exists", account_id=nothing),
        case("crm.get_account_by_name", name="Tyne River Cargo"),
        case("crm.get_account_by_name", "exists", name="Nobody and Sons"),
        case("crm.get_deal_by_number", number="DL-1050"),
        case("crm.get_deal_by_number", "exists", number="DL-9999"),
        case("crm.list_deals", account_id=loire),
        case("crm.list_deals", account_id=loire, stage="won", limit=1),
        case("crm.list_deals", "exists", account_id=nothing),
        case("crm.set_owner", account_id=loire, owner_email=priya),
        case("crm.set_owner", "exist", account_id=nothing, owner_email=priya),
        case("crm.set_owner", "exist", account_id=loire, owner_email=nobody),
        case("crm.set_owner", "active", account_id=whitby, owner_email=priya),
        case("crm.set_owner", "change", account_id=loire, owner_email=address("Rosa Quintero")),
        case("crm.set_owner", "share", account_id=loire, owner_email=address("Helene Dubois")),
        case("crm.win_deal", deal_id=opened),
        case("crm.win_deal", "exists", deal_id=no_deal),
        case("crm.win_deal", "active", deal_id=deal(1060)),
        case("crm.win_deal", "open", deal_id=won),
        case("crm.file_deal", deal_id=won, **code),
        case("crm.file_deal", "exists", deal_id=no_deal, **code),
        case("crm.file_deal", "once", deal_id=filed, **code),
        case("crm.file_deal", "won", deal_id=opened, **code),
        case("crm.promise_delivery", deal_id=won, promised_at=MARCH),
        case("crm.promise_delivery", "exists", deal_id=no_deal, promised_at=MARCH),
        case("crm.promise_delivery", "future", deal_id=won, promised_at=past),
        case("crm.promise_delivery", "once", deal_id=filed, promised_at=MARCH),
        case("crm.promise_delivery", "won", deal_id=opened, promised_at=MARCH),
        case("crm.log_visit", account_id=loire, **visit),
        case("crm.log_visit", account_id=loire, minutes=45),
        case("crm.log_visit", "exists", account_id=nothing, **visit),
        case("crm.log_visit", "active", account_id=whitby, **visit),
    ]


def ripples() -> dict[str, Ripple]:
    """Return one case for each reaction of this folder."""
    mail: dict[str, Any] = {"address": address("Amara Diallo")}
    return {
        "win_books_ledger": Ripple(
            trigger=_win(1045), read=get_invoice(2035), expected={"ledger_code": "LG-5528"}
        ),
        "win_books_time": Ripple(
            trigger=_win(1041),
            read=get_employee("Rosa Quintero"),
            expected={"time_code": "TC-4412"},
        ),
        "win_sets_pick_time": Ripple(
            trigger=_win(1046),
            read=get_shipment(516),
            expected={"pick_at": "2026-03-23T10:20:00Z"},
        ),
        "owner_sets_approval": Ripple(
            trigger=_hand_over("Skagen Pilots", "Marcus Okafor"),
            read=get_invoice(2032),
            expected={"approval_code": "AP-2640"},
        ),
        "owner_sets_round": Ripple(
            trigger=_hand_over("Skagen Pilots", "Marcus Okafor"),
            read=get_shipment(512),
            expected={"pick_at": "2026-03-19T14:48:00Z"},
        ),
        "forwarding_moves_line": Ripple(
            trigger=("mail.set_forwarding", {**mail, "forward_to": address("Oleg Petrenko")}),
            read=get_account("Halden Towage"),
            expected={"owner_line": "LN-2688"},
        ),
        "leave_moves_accounts": Ripple(
            trigger=leave_of("Nadia Haddad"),
            read=get_account("Ostvik Salmon"),
            expected={
                "owner_id": person("Dmitri Sokolov"),
                "owner_email": address("Dmitri Sokolov"),
                "owner_line": "LN-3186",
            },
        ),
    }


LEAVE: tuple[Touched, ...] = (
    ("leave_forwards_mail", "mail.mailbox", "Nadia Haddad", "forward_reason forward_to"),
    ("leave_moves_accounts", "crm.account", "Ostvik Salmon", "owner_email owner_id owner_line"),
    ("leave_moves_approvals", "payments.invoice", "IN-2037", "approval_code approver_id"),
    ("leave_moves_shipments", "inventory.shipment", "SH-513", "handler_id pick_at"),
    ("leave_moves_shipments", "inventory.shipment", "SH-520", "handler_id pick_at"),
    (
        "leave_moves_tickets",
        "helpdesk.profile",
        "nadia.haddad@harborline.example",
        "availability",
    ),
    ("owner_sets_approval", "payments.invoice", "IN-2033", "approval_code"),
)
"""What the leave of Nadia Haddad makes reactions change."""
_OWNER: tuple[Touched, ...] = (
    ("owner_sets_approval", "payments.invoice", "IN-2032", "approval_code"),
    ("owner_sets_round", "inventory.shipment", "SH-512", "pick_at"),
)
REACH: dict[str, tuple[Touched, ...]] = {
    "win_books_ledger": (
        ("win_books_ledger", "payments.invoice", "IN-2035", "ledger_code"),
        ("win_books_time", "directory.employee", "Helene Dubois", "time_code"),
        ("win_sets_pick_time", "inventory.shipment", "SH-515", "pick_at"),
    ),
    "win_books_time": (
        ("win_books_ledger", "payments.invoice", "IN-2031", "ledger_code"),
        ("win_books_time", "directory.employee", "Rosa Quintero", "time_code"),
        ("win_sets_pick_time", "inventory.shipment", "SH-511", "pick_at"),
    ),
    "win_sets_pick_time": (
        ("win_books_ledger", "payments.invoice", "IN-2036", "ledger_code"),
        ("win_books_time", "directory.employee", "Amara Diallo", "time_code"),
        ("win_sets_pick_time", "inventory.shipment", "SH-516", "pick_at"),
    ),
    "owner_sets_approval": _OWNER,
    "owner_sets_round": _OWNER,
    "forwarding_moves_line": (
        ("forwarding_moves_line", "crm.account", "Halden Towage", "owner_line"),
        ("forwarding_moves_line", "crm.account", "Portelet Marina", "owner_line"),
        ("forwarding_names_contact", "directory.employee", "Amara Diallo", "contact_id"),
    ),
    "leave_moves_accounts": LEAVE,
}
"""Ripple -> what its trigger makes reactions change, in any order."""


def quiet_calls() -> list[Step]:
    """Return writes that no reaction listens to."""
    visit: dict[str, Any] = {"time_code": "TC-9600", "minutes": 60}
    return [
        ("crm.file_deal", {"deal_id": deal(1054), "ledger_code": "LG-1237"}),
        ("crm.promise_delivery", {"deal_id": deal(1054), "promised_at": MARCH}),
        ("crm.log_visit", {"account_id": account("Loire Barges"), **visit}),
    ]
