"""A real language model of 135 million parameters as the patcher: of no use, and harmless.

The model that comes with the program answers over HTTP. The claim is that nothing it writes is kept
or stops anything, and that the recording replays it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from attribution.patchers.model.patcher import ModelPatcher, Tried
from attribution.records import Party
from components.model.recording import Recording
from tests.attribution.patchers.cases import case, patcher_config
from tests.loop.test_author_small_model import small_model
from tests.model.served import serve
from tests.policy.models import needs_model

COMPONENTS = (Party.ENVIRONMENT, Party.TASK, Party.HARNESS, Party.EVALUATOR)


@needs_model
@pytest.mark.slow
def test_a_small_model_mends_nothing_and_spoils_nothing(tmp_path: Path) -> None:
    answer = small_model()
    path = tmp_path / "patcher.jsonl"

    with serve(answer) as served:
        live = [mend(served.base_url, path, party) for party in COMPONENTS]
    replayed = [mend(served.base_url, path, party) for party in COMPONENTS]

    assert replayed == live
    assert not any(record.accepted for tried in live for _patch, record in tried.decided)
    for party, tried in zip(COMPONENTS, live, strict=True):
        print(party.value, tried.attempt.ended.value, tried.attempt.problem)
        for item in tried.attempt.answers:
            print(f"    {item.stage.value}: {item.problem}")


def mend(base_url: str, path: Path, party: Party) -> Tried:
    found = case(party)
    config = patcher_config(base_url, max_answer_tokens=256, timeout_seconds=1200.0)
    patcher = ModelPatcher(config, Recording(path))
    return patcher.mend(found.system, found.mode, found.evidence, (), found.decide)
