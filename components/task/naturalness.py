"""How unnatural a longer request is, as marks that a machine can see: the fewer the better.

Owns the marks and their weights. It looks at what is asked for (writes without a purpose in common,
writes that undo each other, somebody else's name, a condition without bearing) and at the words
(chains of names, a name said too often, a change that nobody told). Other ways to say it, and other
walks, are tried before a draft is refused for them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from components.task.filling import Argument
from components.task.ground import Ground
from components.task.known import Known, address_of
from components.task.longer import tool_name
from components.task.phrases import phrases
from components.task.purposes import purposes
from components.task.sensible import gives_anew, is_clumsy
from components.task.speaking import acting, speaker_of
from components.task.steps import Walk

LIMIT = 3
"""Marks, by weight, with which a short draft is refused."""
_WRITES = 4
"""Writes of such a draft, at most."""
_OFTEN = 4
"""How often one name may be said."""
_PLACED = r"(?:the|its|their|my|that|every|each|all) (?:[\w'-]+ ){1,4}?"
_JOINT = r"(?:(?:\w+ed )?(?:by|in)|of|for|linked to|about|on|with|that fixes|whom|among the) "
_CHAIN = re.compile(rf"(?:{_PLACED}{_JOINT}){{3,}}")
_PAIR = re.compile(rf"(?:{_PLACED}{_JOINT}){{2}}")
_MOST_PAIRS = 2
_CODE = re.compile(r"\b[A-Z]{2,4}-\d+\b|[\w.]+@[\w.]+|(?<=channel )[a-z]+-[a-z]+")
_QUOTED_WORD = re.compile(r'(?:about|with) "[a-z]+"')
_ODD = re.compile(
    r"trips? with .* as approver|\b(?:sender|receiver) of|tickets? in the queue of"
    r"|author of the (?:comment|post)|person asked in the review"
)
_NEW_SPEAKER = re.compile(r"I am [^.]*\bnew ")
_TWICE = re.compile(r"giving [^.]* and giving ")
_STIFF = re.compile(r"the person (?:whom|of|who|named|asked)|the colleague named")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One thing that reads badly."""

    name: str
    weight: int


def marks_of(ground: Ground, walk: Walk, text: str) -> tuple[Mark, ...]:
    """Return what reads badly.

    Args:
        ground: where the walk was found.
        walk: with its clauses.
        text: the request.
    """
    return tuple(Mark(name=name, weight=weight) for name, weight in _marks(ground, walk, text))


def limit_of(walk: Walk) -> int:
    """Return the weight of marks with which a draft is refused: the more is asked for, the more."""
    writes = sum(step.shape.is_write for step in walk.steps)
    return LIMIT + max(0, writes - _WRITES)


def weight_of(marks: tuple[Mark, ...]) -> int:
    """Return the sum of the weights."""
    return sum(mark.weight for mark in marks)


def _marks(ground: Ground, walk: Walk, text: str) -> Iterator[tuple[str, int]]:
    yield from _of_sense(ground, walk)
    chains = len(_CHAIN.findall(text))
    if chains:
        yield "chain", 3 * chains
    pairs = len(_PAIR.findall(text)) - chains
    if pairs > _MOST_PAIRS:
        yield "names by names", pairs - _MOST_PAIRS
    said = Counter(_CODE.findall(text))
    if said and max(said.values()) > _OFTEN:
        yield "said often", max(said.values()) - _OFTEN
    if _QUOTED_WORD.search(text):
        yield "quoted word", 2
    roles = "|".join(phrases().stock("roles"))
    through = len(
        re.findall(rf"\b(?:{roles}) (?:of|for) (?:the|its|that) (?:new )?(?:{roles})\b", text)
    )
    if through:
        yield "person by person", 2 * through
    if "earliest created at" in text or "latest created at" in text or _TWICE.search(text):
        yield "clumsy", 3
    if _ODD.search(text):
        yield "odd row", 3
    if _NEW_SPEAKER.match(text):
        yield "speaker whom the request puts there", 5
    stiff = len(_STIFF.findall(text))
    if stiff:
        yield "stiff name", 2 * stiff


def _of_sense(ground: Ground, walk: Walk) -> Iterator[tuple[str, int]]:
    tools = [tool_name(step.shape) for step in walk.steps if step.shape.is_write]
    strangers = purposes().strangers([step.shape for step in walk.steps if step.shape.is_write])
    if strangers:
        yield "no purpose", 2 * strangers
    for left, right in purposes().pairs_apart(tools):
        yield f"{left} and {right}", 4
    speaker = speaker_of(walk, partial(address_of, ground.graph, ground.world.initial))
    if acting(walk) and speaker is None:
        yield "somebody's name", 5
    if speaker is not None and speaker[1].source is None:
        yield "speaker by address", 1
    if _is_sent_from_afar(walk):
        yield "somebody away whom the change does not name", 3
    if speaker is not None and _is_given_to(ground, walk, speaker[1]):
        yield "asked of who speaks", 5
    turned = walk.again.row
    if any(
        purposes().ends(step.shape)
        and change.cause.startswith("effect:")
        and (change.service, change.table, change.row_id)
        == (turned.service, turned.table, turned.row_id)
        for step in walk.steps
        for change in step.changes
    ):
        yield "what is done with", 3
    if list(walk.answer.values()) == [walk.first]:
        yield "old value alone", 2
    facts = [fact for fact in walk.answer.values() if fact not in (walk.first, walk.again)]
    if not all(map(_is_of_somebody, facts)):
        yield "far answer", 3
    if any(is_clumsy(step.shape, step.arguments) for step in walk.steps if step.shape.is_write):
        yield "value in a text", 3
    concerned = sum(gives_anew(walk.steps, step) for step in walk.steps if step.shape.is_write)
    if concerned:
        yield "somebody who has it anyway", 3 * concerned


def _is_sent_from_afar(walk: Walk) -> bool:
    """Return whether somebody is sent away and nothing says what the changed row has to do with
    them: neither are they named by it, nor was it found by them.
    """
    pointer = purposes().sends_away(walk.turn.shape)
    if not pointer:
        return False
    (person,) = [item for item in walk.turn.arguments if item.parameter.pointer == pointer]
    found = walk.step(walk.first.step)
    return not (person.source is not None and person.source.row == walk.again.row) and all(
        item.value != person.value for item in found.arguments
    )


def _is_given_to(ground: Ground, walk: Walk, speaker: Argument) -> bool:
    """Return whether something is asked of the one who speaks that one asks of others."""
    who = _address(ground, speaker)
    return any(
        who and _address(ground, item) == who
        for step in walk.steps
        for item in step.arguments
        if step.shape.is_write and purposes().asks_another(step.shape)
    )


def _address(ground: Ground, item: Argument) -> str:
    means = item.parameter.means
    return (
        "" if means is None else address_of(ground.graph, ground.world.initial, means, item.value)
    )


def _is_of_somebody(fact: Known) -> bool:
    """Return whether a value is what people ask of somebody: a name, an address."""
    is_person = phrases().table_noun(fact.row.service, fact.row.table) in phrases().stock("people")
    return is_person and fact.place.field in phrases().stock("asked_of_people")
