"""The MCP SDK's log records, kept from every handler: they hold raw lines of foreign servers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_sdk() -> Iterator[None]:
    """Keep them while the block runs."""
    loggers = [logging.getLogger(name) for name in ("mcp", "client", "httpx2", "httpcore2")]
    before = [(logger, logger.propagate) for logger in loggers]
    sink = logging.NullHandler()
    for logger in loggers:
        logger.propagate = False
        logger.addHandler(sink)
    try:
        yield
    finally:
        for logger, propagate in before:
            logger.removeHandler(sink)
            logger.propagate = propagate
