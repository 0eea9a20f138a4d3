"""Many specs compiled, each once: from the cache where it is known, by the pool where it is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from components.records.spec import ServiceSpec
from loop.compute.pool import Pool
from loop.synthesis.cache import Kept
from loop.synthesis.compiled import COMPILE, CompiledSpec, NoShared, compilation_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesized:
    """What came of a list of specs."""

    services: tuple[CompiledSpec, ...]
    """In the order of the specs."""
    cached: int
    """How many of them were compiled before."""


def synthesize(
    specs: Sequence[ServiceSpec],
    cache: Kept[CompiledSpec],
    pool: Pool,
    progress: Callable[[int, int], None],
) -> Synthesized:
    """Return the compilation of each spec.

    Args:
        specs: any number, with names of their own.
        cache: what is compiled here is kept there.
        pool: where the others are compiled.
        progress: told how many of how many are there.
    """
    keys = [compilation_key(spec) for spec in specs]
    found: dict[str, CompiledSpec] = {}
    for key in keys:
        if key not in found and (known := cache.get(key)) is not None:
            found[key] = known
    cached = len(found)
    progress(len(found), len(specs))
    missing = {key: spec for key, spec in zip(keys, specs, strict=True) if key not in found}
    for key, body in pool.as_done(COMPILE, NoShared(), missing.items()):
        found[key] = cache.put(key, body)
        own = compilation_key(found[key].spec)
        if own != key:  # some of what recordings taught was dropped
            cache.put(own, body)
        progress(len(found), len(specs))
    return Synthesized(services=tuple(found[key] for key in keys), cached=cached)
