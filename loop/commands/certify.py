"""Run every certificate of a task set again, or audit somebody else's benchmark.

    python -m loop certify tasks=tasks out=certified.json
    python -m loop certify tasks=tau2:retail

Each task passes every gate anew on the services that lie beside it, and what comes out is held
against the certificate that was written. Exit status 1 where one of them no longer holds, or where
a benchmark has a defective task.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from components.errors import ConfigError
from components.records.base import to_json
from loop.compute.pool import open_pool
from loop.console import Console
from loop.plain_page import Page
from loop.result_file import check_result_file, write_result
from loop.tasks.folder import read_set
from loop.tasks.foreign import audit_foreign, is_foreign
from loop.tasks.recertify import Lapsed, recertify_all
from loop.verb_configs import CertifyConfig


def main(config: CertifyConfig) -> int:
    """Certify again, print what no longer holds, and return the exit status."""
    check_result_file(config.out)
    if is_foreign(config.tasks):
        return audit_foreign(config)
    if config.replay is not None:
        raise ConfigError("replay is for findings in somebody else's tasks; drop it for a folder")
    console = Console()
    system = read_set(Path(config.tasks))
    with open_pool(config.compute, console.line) as pool:
        lapsed = recertify_all(system, pool, lambda done, of: console.progress("certify", done, of))
    console.close()
    result = {
        "tasks": len(system.tasks),
        "hold": len(system.tasks) - len(lapsed),
        "lapsed": {name: to_json(why) for name, why in sorted(lapsed.items())},
    }
    if config.out is not None:
        write_result(config.out, result)
    _page(result, lapsed).show()
    return 1 if lapsed else 0


def _page(result: dict[str, Any], lapsed: dict[str, Lapsed]) -> Page:
    page = Page()
    page.line(f"{result['hold']} of {result['tasks']} certificates hold", 0)
    page.table([(name, why.reason, why.detail) for name, why in sorted(lapsed.items())])
    return page
