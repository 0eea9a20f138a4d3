"""Sentences and promises that a recorded run contradicts: they blame nobody, and a user is told.

Documentation says that a certified call should have come out otherwise than it did, and it comes
out today as it was recorded. One of the two is wrong, and which of them nobody can tell: the
sentence may be false, or the service may have been so from the start. So the sentence speaks
against nothing, here and wherever else the same sentence is broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from attribution.admitted import fails_gate, is_as_certified
from attribution.evidence import evidence, place_of
from attribution.interventions.gold import GoldReplay, replay_gold
from attribution.interventions.promises import check_step, promised_reactions
from attribution.interventions.recorded import Standing, trusted
from attribution.interventions.runs import Arm, arm_of
from attribution.kept import kept
from attribution.records import Evidence, EvidenceKind, Party
from components.errors import SynthesisError
from components.records.system import System

_MOST_WITNESSES = 4
_SECTIONS = {
    "lookups": "rules",
    "checks": "rules",
    "schema": "input_schema",
    "effects": "effects",
    "query": "returns",
    "result": "returns",
}
Sentence = tuple[str, str]
"""Place of a sentence in a specification or in the contract, and what it speaks of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented:
    """Gold's certified calls, held against what is written of them."""

    against: tuple[Evidence, ...]
    """What speaks against the environment."""
    doubted: tuple[Evidence, ...]
    """What would, were the call not as it was recorded."""


def documented(arm: Arm, replay: GoldReplay, is_recorded: bool) -> Documented:
    """Hold the certified calls of a task against their documentation and the promised reactions.

    Args:
        arm: the task in the system as it is.
        replay: its certified calls, executed again.
        is_recorded: False where the calls come of the world as it is, and confirm nothing.
    """
    task, reference = arm.task, arm.system.reference
    certificate = reference.certificates[task.task_id]

    def checked() -> Documented:
        promised = promised_reactions(arm.world, reference.contract)
        against: list[Evidence] = []
        doubted: list[Evidence] = []
        confirmed = len(replay.steps) if replay.differs_at is None else replay.differs_at
        for index, step in enumerate(replay.steps):
            found = check_step(arm.world, promised, step, task_id=task.task_id, call_index=index)
            (doubted if is_recorded and index < confirmed else against).extend(found)
        return Documented(against=tuple(against), doubted=tuple(doubted))

    inputs = (arm.world, certificate, reference.contract)
    return kept(f"documented:{task.task_id}:{is_recorded}", inputs, checked)


def believed(system: System, task_id: str, found: Iterable[Evidence]) -> Iterator[Evidence]:
    """Yield the facts whose sentence nothing contradicts."""
    return (item for item in found if not _against_sentence(system, task_id, item))


def doubted_sentences(
    system: System, task_id: str, found: Iterable[Evidence] = ()
) -> tuple[Evidence, ...]:
    """Return what a user should know of sentences that cannot be held against a component.

    Args:
        system: the system.
        task_id: a task; what its own recorded run contradicts is named in any case.
        found: what calls of a rollout break of their documentation and of the promised reactions.
    """
    said: dict[Sentence, tuple[Evidence, str]] = {}
    for item in (*_doubted(system, task_id), *found):
        if reason := _against_sentence(system, task_id, item):
            said.setdefault(_sentence(item), (item, reason))
    return tuple(
        evidence(
            EvidenceKind.REFERENCE,
            Party.ENVIRONMENT,
            place,
            f"doubtful: {item.statement}; contradicted by {reason}: correct the sentence, or the "
            "service and its certificates",
            against=False,
            task_id=task_id,
            says=item.statement,
            contradicted_by=reason,
            unused="the sentence speaks against nothing",
        )
        for (place, _subject), (item, reason) in sorted(said.items(), key=lambda entry: entry[0])
    )


def _against_sentence(system: System, task_id: str, item: Evidence) -> str:
    """Return what contradicts the sentence that a fact rests on; empty where nothing does."""
    if item.kind not in (EvidenceKind.SPEC, EvidenceKind.CONTRACT):
        return ""
    sentence = _sentence(item)
    for name in dict.fromkeys([task_id, *_witnesses(system, item)]):
        if any(sentence == _sentence(other) for other in _doubted(system, name)):
            return f"the certified run of {name}, which comes out as it was recorded"
    gate = _gate_of(item)
    if gate is None:
        return ""
    service, tool, rule = gate
    if is_as_certified(system, service) and fails_gate(system, service, tool, rule):
        return f"the gates: {service} is as it was certified, and fails them with this sentence"
    return ""


def _gate_of(item: Evidence) -> tuple[str, str, str] | None:
    """Return service, tool and the name that the gates give to a sentence of a specification."""
    section = _SECTIONS.get(str(item.data.get("part")))
    word = {"rules": "rule", "effects": "effect", "returns": "return"}.get(section or "")
    if item.kind is not EvidenceKind.SPEC or word is None or not item.data["rule"]:
        return None
    return str(item.data["service"]), str(item.data["tool"]), f"{word} {item.data['rule']}"


def _witnesses(system: System, item: Evidence) -> list[str]:
    """Return certified tasks whose recorded run has something to say of the sentence."""
    cause = f"reaction:{item.data['reaction']}" if "reaction" in item.data else ""
    tool = (item.data.get("service"), item.data.get("tool"))
    names = [
        name
        for name, certificate in sorted(system.reference.certificates.items())
        if name in system.tasks
        and any(
            any(change.cause == cause for change in call.changes)
            if cause
            else (call.service, call.tool) == tool
            for call in certificate.gold_run.values()
        )
    ]
    return names[:_MOST_WITNESSES]


def _doubted(system: System, task_id: str) -> tuple[Evidence, ...]:
    try:
        if trusted(system, task_id).standing is not Standing.RECORDED:
            return ()
        arm = arm_of(system, task_id)
    except SynthesisError:
        return ()
    replay = replay_gold(arm.world, system.reference.certificates[task_id])
    return documented(arm, replay, is_recorded=True).doubted


def _sentence(item: Evidence) -> Sentence:
    if "reaction" in item.data:
        return place_of("contract", "reactions", str(item.data["reaction"])), ""
    if "part" not in item.data:  # an invariant: rows, no calls, and no run speaks of it
        return "", item.evidence_id
    section = _SECTIONS[str(item.data["part"])]
    rule = str(item.data["rule"])
    keys = ("tools", str(item.data["tool"]), section, *([rule] if rule else []))
    subject = "" if rule else str(item.data["part"])
    return place_of(f"spec/{item.data['service']}", *keys), subject
