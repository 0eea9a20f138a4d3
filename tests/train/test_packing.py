"""Claims about packs and the order of steps."""

from __future__ import annotations

from loop.train.packing import Batching, clusters_of, num_samples, pack_of, steps_of
from tests.train.builders import drawn_samples, sample

ONE = sample("a", [1, 2, 3, 4, 5, 6, 7], [5, 6])
OTHER = sample("b", [1, 2, 3, 4, 8, 9], [5])


def test_a_pack_shares_what_its_samples_begin_with() -> None:
    pack = pack_of([ONE, OTHER])

    assert pack.prefix == (1, 2, 3, 4)
    assert pack.rests == ((5, 6, 7), (8, 9))
    assert pack.is_trained == ((False, True, True), (False, True))
    assert pack.num_trained == 3


def test_the_token_before_a_trained_one_is_never_shared() -> None:
    early = sample("c", [1, 2, 3, 4, 5], [2, 4])

    pack = pack_of([early, sample("d", [1, 2, 3, 4, 6], [4])])

    assert pack.prefix == (1,)
    assert pack.rests[0] == (2, 3, 4, 5)


def test_a_sample_alone_is_a_prefix_and_its_rest() -> None:
    assert pack_of([ONE]).prefix == (1, 2, 3, 4)
    assert pack_of([ONE]).rests == ((5, 6, 7),)


def test_samples_of_one_system_prompt_are_one_cluster() -> None:
    clusters = clusters_of(drawn_samples(10))

    assert sorted(len(cluster) for cluster in clusters) == [5, 5]
    assert all(len({item.ids[:12] for item in cluster}) == 1 for cluster in clusters)


def test_every_epoch_sees_every_sample_once() -> None:
    samples = drawn_samples(11)
    batching = Batching(batch_size=4, max_pack=3)

    steps = list(steps_of(samples, batching, 7, 2))

    seen = sorted(pack.prefix + rest for step in steps for pack in step for rest in pack.rests)
    assert seen == sorted(2 * [item.ids for item in samples])
    assert all(len(pack.rests) <= 3 for step in steps for pack in step)
    half = len(steps) // 2
    assert all(num_samples(step) >= 4 for step in (*steps[: half - 1], *steps[half:-1]))


def test_the_order_depends_on_samples_and_seed_alone() -> None:
    samples, batching = drawn_samples(12), Batching(batch_size=2, max_pack=2)

    again = list(steps_of(samples[::-1], batching, 5, 2))

    assert list(steps_of(samples, batching, 5, 2)) == again
    assert list(steps_of(samples, batching, 6, 2)) != again
