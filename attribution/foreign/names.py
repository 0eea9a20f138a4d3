"""A call of somebody else's tool on one line."""

from __future__ import annotations

import json

from attribution.foreign.answers import short
from components.task.foreign.worker import Call


def written_call(call: Call) -> str:
    """Return a call as it is told, cut where it is long."""
    given = ", ".join(f"{key}={json.dumps(value)}" for key, value in call["arguments"].items())
    return short(f"{call['tool']}({given})")
