"""How much memory many live rollouts take: run as a process of its own, prints one line of JSON.

Usage: python -m loop.bench_rollouts NUM_ROLLOUTS NUM_USERS SEED
"""

from __future__ import annotations

import json
import resource
import sys

from components.environment.state import state_hash
from components.megamcp.session import open_session
from loop.bench_retail import SERVICE, build_shop, episode_calls


def main(num_rollouts: int, num_users: int, seed: int) -> None:
    """Open the rollouts, play one episode in each, keep them all, print what the process takes."""
    world = build_shop(num_users, seed)
    before = _peak_mb()
    sessions = []
    for number in range(num_rollouts):
        session = open_session(world)
        for call in episode_calls(num_users, number):
            session.call(SERVICE, call.tool, call.arguments)
        sessions.append(session)
    num_states = len({state_hash(session.state) for session in sessions})
    print(
        json.dumps(
            {
                "rollouts": len(sessions),
                "different_states": num_states,
                "before_mb": before,
                "peak_mb": _peak_mb(),
            }
        )
    )


def _peak_mb() -> float:
    # Linux counts in KiB.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:4]))
