"""Services that are only in the way of a task: none that its request names."""

from __future__ import annotations

import random
import re

from components.records.system import System
from components.records.world import WorldSpec


def name_in(system: System, service: str, text: str) -> str:
    """Return the name or title of a service that a text says as a word; empty: it says neither."""
    for word in sorted({service, system.reference.specs[service].title} - {""}):
        if re.search(rf"(?<![\w-]){re.escape(word)}(?!\w)", text, re.IGNORECASE):
            return word
    return ""


def unnamed_instead(system: System, world: WorldSpec, text: str, rng: random.Random) -> WorldSpec:
    """Return the world with other services in the place of distractors that a request names, as far
    as there are others; the same where it names none.

    Args:
        system: services to choose from.
        world: of a task that is not certified.
        text: the request.
        rng: chooses among them; nothing is drawn where nothing is named.
    """
    quiet = [name for name in world.distractors if not name_in(system, name, text)]
    missing = len(world.distractors) - len(quiet)
    if not missing:
        return world
    taken = {*world.services, *world.distractors}
    others = [
        name
        for name in sorted(system.environment.blueprints)
        if name not in taken and not name_in(system, name, text)
    ]
    quiet += rng.sample(others, min(missing, len(others)))
    return world.model_copy(update={"distractors": tuple(sorted(quiet))})
