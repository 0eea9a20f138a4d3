"""Pools of proper names, drawn once from Faker: its one door.

Faker is imported when the first pool is asked for (it costs 0.2 s); nothing else of this package
depends on its version. Names hold ASCII letters only, so that they make mail addresses.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

LOCALES = ("en_US", "en_GB", "en_IN", "es_ES", "pl_PL", "fr_FR")
_FIRST, _LAST, _COMPANIES, _STREETS = 120, 160, 60, 120
_MAX_TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePools:
    """Distinct names, in the order in which they were drawn."""

    first: tuple[str, ...]
    last: tuple[str, ...]
    companies: tuple[str, ...]
    streets: tuple[str, ...]


@lru_cache(maxsize=4)
def name_pools(seed: str) -> NamePools:
    """Return the pools of a seed: the same in every process, for one version of Faker."""
    from faker import Faker

    makers = [Faker(locale) for locale in LOCALES]
    for maker, locale in zip(makers, LOCALES, strict=True):
        maker.seed_instance(random.Random(f"{seed}:{locale}").getrandbits(63))
    english = makers[0]
    return NamePools(
        first=_drawn([maker.first_name for maker in makers], _FIRST),
        last=_drawn([maker.last_name for maker in makers], _LAST),
        companies=_drawn([english.company], _COMPANIES),
        streets=_drawn([english.street_address], _STREETS),
    )


def _drawn(makers: list[Callable[[], str]], count: int) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for turn in range(count * _MAX_TRIES):
        name = _plain(makers[turn % len(makers)]())
        if name:
            found[name] = None
        if len(found) == count:
            break
    return tuple(found)


def _plain(name: str) -> str:
    """Return a name without accents; empty when that leaves no ASCII text."""
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    return " ".join(plain.split()) if plain.isascii() else ""
