"""Scrambled readings are rejected, sound ones are not."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from tests.environment.gates.handmade import SERVERS, subject
from tests.environment.gates.sabotage import KINDS, measure, spec_subjects

SPECS = Path("../shared/data/mcp_specs.jsonl.gz")


def test_most_scrambled_readings_are_rejected_and_no_sound_one() -> None:
    subjects = [subject(name) for name in sorted(SERVERS)]
    live = caught = 0
    for seed in range(3):
        tallies, sound = measure(subjects, every=1, seed=seed)
        assert sound.num_caught == 0
        assert sound.num_live == sum(len(rows) for rows in SERVERS.values())
        live += sum(tally.num_live for tally in tallies.values())
        caught += sum(tally.num_caught for tally in tallies.values())

    assert live > 60
    assert caught >= 0.8 * live


@pytest.mark.slow
@pytest.mark.skipif(not SPECS.exists(), reason="the shared specs are not here")
def test_in_every_sixth_real_server_sixty_percent_are_rejected() -> None:
    tallies, sound = measure(islice(spec_subjects(SPECS), 180), every=6)

    live = sum(tally.num_live for tally in tallies.values())
    assert set(tallies) == set(KINDS)
    assert live > 100
    assert sum(tally.num_caught for tally in tallies.values()) >= 0.6 * live
    assert sound.num_caught <= 0.08 * sound.num_live
