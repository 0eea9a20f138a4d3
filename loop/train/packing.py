"""Samples put together so that what they share is computed once.

Samples of one system prompt begin with the same tokens. A pack is that shared prefix and the rest
of each sample; a step is a few packs. Owns the order in which samples are trained: it depends on
the samples, the recipe and the seed alone, so that a resumed run goes on with the same step.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SHARED_SHARE = 0.8
"""Neighbours share a prefix when they have at least this much of a system message in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One conversation to learn from."""

    key: str
    """Rollout that it comes from."""
    ids: tuple[int, ...]
    """Tokens, up to the last that is trained."""
    is_trained: tuple[bool, ...]
    """[len(ids)] True on tokens that carry loss; the first never does."""
    num_system: int
    """Tokens of the system message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A prefix and its continuations. The token before a trained one is never in the prefix."""

    prefix: tuple[int, ...]
    """May be empty."""
    rests: tuple[tuple[int, ...], ...]
    is_trained: tuple[tuple[bool, ...], ...]
    """As long as `rests`, entry by entry."""

    @property
    def num_trained(self) -> int:
        """Tokens that carry loss."""
        return sum(map(sum, self.is_trained))


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """How samples become steps."""

    batch_size: int
    """Samples of one step."""
    max_pack: int
    """Samples of one pack at most: what must be in memory at once. 1 shares nothing."""
    is_shared: bool = True
    """False: packs of whole samples, without a prefix."""


def steps_of(
    samples: Sequence[Sample], batching: Batching, seed: int, num_epochs: int
) -> Iterator[tuple[Pack, ...]]:
    """Yield the packs of every step, epoch after epoch.

    Args:
        samples: in any order; sorted here by key.
        batching: sizes.
        seed: of the order.
        num_epochs: passes over the samples.
    """
    clusters = clusters_of(samples)
    for epoch in range(num_epochs):
        rng = random.Random(f"{seed}:order:{epoch}")
        chunks: list[list[Sample]] = []
        for cluster in clusters:
            drawn = rng.sample(cluster, len(cluster))
            # Alike in length, so that little of a pack is padding.
            drawn.sort(key=lambda item: len(item.ids))
            chunks += [
                drawn[start : start + batching.max_pack]
                for start in range(0, len(drawn), batching.max_pack)
            ]
        rng.shuffle(chunks)
        for step in _filled(chunks, batching.batch_size):
            yield tuple(pack_of(chunk, is_shared=batching.is_shared) for chunk in step)


def clusters_of(samples: Sequence[Sample]) -> list[list[Sample]]:
    """Return the samples in groups that begin alike; in a fixed order."""
    clusters: list[list[Sample]] = []
    before: Sample | None = None
    for sample in sorted(samples, key=lambda item: (item.ids, item.key)):
        is_alike = before is not None and (
            num_common([before.ids, sample.ids])
            >= SHARED_SHARE * min(before.num_system, sample.num_system)
        )
        if is_alike:
            clusters[-1].append(sample)
        else:
            clusters.append([sample])
        before = sample
    return clusters


def pack_of(samples: Sequence[Sample], *, is_shared: bool = True) -> Pack:
    """Return samples as one pack."""
    first_trained = min(item.is_trained.index(True) for item in samples)
    shared = min(num_common([item.ids for item in samples]), first_trained - 1)
    if not is_shared:
        shared = 0
    return Pack(
        prefix=samples[0].ids[:shared],
        rests=tuple(item.ids[shared:] for item in samples),
        is_trained=tuple(item.is_trained[shared:] for item in samples),
    )


def num_samples(step: Sequence[Pack]) -> int:
    """Return how many samples a step holds."""
    return sum(len(pack.rests) for pack in step)


def num_common(rows: Sequence[tuple[int, ...]]) -> int:
    """Return how many leading tokens all rows have in common."""
    low, high = min(rows), max(rows)
    for index, (one, other) in enumerate(zip(low, high, strict=False)):
        if one != other:
            return index
    return min(len(low), len(high))


def _filled(chunks: list[list[Sample]], batch_size: int) -> Iterator[list[list[Sample]]]:
    """Yield chunks until each step holds at least `batch_size` samples; the last may hold fewer."""
    step: list[list[Sample]] = []
    for chunk in chunks:
        step.append(chunk)
        if sum(map(len, step)) >= batch_size:
            yield step
            step = []
    if step:
        yield step
