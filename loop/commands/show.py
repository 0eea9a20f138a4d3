"""Show one rollout, task, service or patch of a round, in full, as plain text.

    python -m loop show task=t_4f21 run=mine round=2

Reads what the round has recorded and writes nothing. An unknown name is answered with those that
are most like it.
"""

from __future__ import annotations

from loop.config import ShowConfig
from loop.show.look import look


def main(config: ShowConfig) -> None:
    """Print what was asked for."""
    look(config).show()
