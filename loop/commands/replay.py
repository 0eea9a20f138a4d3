"""Play a recorded rollout again with one component swapped for another version, and say what
changes.

    python -m loop replay rollout=t_4f21-00 run=default +round=3 from_call=4 swap.harness=2

The recorded texts are said again up to the turn of call `from_call` (all of them where it is null);
from there the oracle goes on, which plays gold by what the harness shows. The same is done with
nothing swapped, so that the difference is the swap's. A version is the number of the round that
left it, or the first digits of its hash. Nothing is sampled and nothing is written.
"""

from __future__ import annotations

from loop.looking import played_round_of, refuse_unknown
from loop.replaying import replay_page, replay_rollout
from loop.show.seen import Seen
from loop.verb_configs import ReplayConfig


def main(config: ReplayConfig) -> None:
    """Print the replay turn by turn, its outcome, and why."""
    ledger, number = played_round_of(config.runs_dir, config.run, config.round)
    with ledger.read_round(number) as folder:
        seen = Seen(run=config.run, number=number, folder=folder)
        refuse_unknown(ledger, seen, "rollout", config.rollout)
        replay_page(seen, replay_rollout(ledger, seen, config)).show()
