"""Teach a policy from gold solutions, and measure it on tasks that it was never trained on.

    python -m loop train +experiment=warmstart

Composes tasks, plays their gold solutions without a model (a share of them with slips and
recoveries), trains on those that may be trained on, and after each point of `curve` keeps the
policy as one small file and plays the held-out tasks. Issued again, it goes on from the last
checkpoint or rollout. The last line printed is the file of the result.
"""

from __future__ import annotations

from loop.config import TrainConfig
from loop.console import Console
from loop.ledger_files import read_object
from loop.result_file import check_result_file, write_result
from loop.train.warm_start import train

MEND = "remove it and run the same command again: it is written anew"


def main(config: TrainConfig) -> None:
    """Train; the last line printed is the path of the result."""
    check_result_file(config.out)
    console = Console()
    path = train(config, console)
    console.close()
    result = read_object(path, MEND)
    if config.out is not None:
        write_result(config.out, result)
    for point in result["curve"]:
        success = point["evaluation"]["success"]
        print(
            f"after {point['trajectories']} trajectories: loss on held-out gold "
            f"{point['kept_loss']:.4f}, success {success['passed']} of {success['scored']}"
        )
    print(path)
