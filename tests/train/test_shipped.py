"""The delta that comes with the program belongs to its harness and its model, and is small."""

from __future__ import annotations

from components.harness.defaults import default_harness
from components.harness.rendering import rendering_version
from loop.policy.check import adapter_file
from loop.train.delta import MAX_SHIPPED_BYTES, read_delta, weights_hash
from tests.policy.models import builtin_model, needs_model

SHIPPED = adapter_file("builtin")


def test_it_is_small_enough_to_ship() -> None:
    assert SHIPPED.stat().st_size <= MAX_SHIPPED_BYTES


@needs_model
def test_it_is_of_the_built_in_model_and_was_trained_under_what_the_harness_shows_now() -> None:
    _, meta = read_delta(SHIPPED, weights_hash(builtin_model().model))

    assert meta.harness == rendering_version(default_harness())
