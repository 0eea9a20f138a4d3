"""Known faults, the rules switched off: right patches by a model are kept, wrong ones are not."""

from __future__ import annotations

import pytest

from tests.attribution.patchers.measure import measure


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4])
def test_right_patches_are_kept_and_no_wrong_one_is(seed: int) -> None:
    told = measure(5, 8, seed)

    assert told["counts"] == {"faults": 20, "right kept": 20}
    assert sum(item["tried"] for item in told["wrong"].values()) > 200
    assert not any(item.get("kept") for item in told["wrong"].values())
