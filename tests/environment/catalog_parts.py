"""What each newer service adds to the tests of the catalog, by service."""

from __future__ import annotations

from types import ModuleType

from tests.environment import (
    catalog_calendar,
    catalog_chat,
    catalog_codehost,
    catalog_crm,
    catalog_documents,
    catalog_incidents,
    catalog_inventory,
    catalog_payments,
    catalog_travel,
)

PARTS: tuple[ModuleType, ...] = (
    catalog_calendar,
    catalog_chat,
    catalog_codehost,
    catalog_crm,
    catalog_documents,
    catalog_incidents,
    catalog_inventory,
    catalog_payments,
    catalog_travel,
)
"""Each has `cases`, `ripples`, `quiet_calls`, `REACH`, `OTHERS`, `TABLES`, `CODES`, `BANNED`."""


def service_of(part: ModuleType) -> str:
    """Return the service that a part is about."""
    return part.__name__.rpartition("_")[2]
