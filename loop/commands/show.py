"""Show one thing of a round in full, or what joins the tools of a task set, as plain text.

    python -m loop show task=t_4f21 run=mine round=2
    python -m loop show graph=tasks from=mail.search_messages to=travel.cancel_trip

Reads what is recorded and writes nothing but the picture that `out` asks for. An unknown name is
answered with those that are most like it.
"""

from __future__ import annotations

from pathlib import Path

from loop.ledger_files import write_file
from loop.result_file import check_result_file
from loop.show.look import look
from loop.show.pictures import picture_of
from loop.verb_configs import ShowConfig


def main(config: ShowConfig) -> None:
    """Print what was asked for, and write its picture to `out` where one is named."""
    check_result_file(config.out)
    look(config).show()
    if config.out is not None:
        write_file(Path(config.out), picture_of(config).encode(), point="picture")
        print(config.out)
