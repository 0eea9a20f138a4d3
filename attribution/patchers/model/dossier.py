"""What a model is told of a failure mode: the artifact, what was observed, and the reference.

Owns the choice and the cutting; the words are in the prompts and in `forms.json`. What the rules
already worked out as a repair is left out: it did not help.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attribution.evidence import split_place
from attribution.ownership import referenced_paths
from attribution.patchers.model.excerpt import excerpt_of
from attribution.records import Evidence, EvidenceKind, FailureMode
from attribution.swap import body_of, owner_of
from components.errors import SynthesisError
from components.records.base import to_json
from components.records.calls import CallRecord
from components.records.patch import Patch
from components.records.system import System

_WORDS = json.loads((Path(__file__).resolve().parent / "forms.json").read_text())
_MAX_ARTIFACT = 14_000
_MAX_REFERENCE = 6_000
_MAX_CALL = 900
_MAX_DATA = 1_200
_MAX_FACTS = 6
_MAX_CALLS = 3
_MAX_REFUSED = 3


def dossier_of(
    system: System,
    mode: FailureMode,
    facts: Sequence[Evidence],
    refused: Sequence[tuple[Patch, str]],
) -> dict[str, Any] | None:
    """Return the values of the prompt; None where no patch may touch the place.

    Args:
        system: the system as it is.
        mode: what is to be mended.
        facts: what speaks against the place.
        refused: patches that were rolled back, each with the reason.
    """
    artifact, keys = split_place(mode.place)
    family = artifact.partition("/")[0]
    paths = referenced_paths(artifact)
    if not paths or family == "retired":
        return None
    try:
        body, component = body_of(system, artifact), owner_of(artifact)
    except SynthesisError:
        return None
    excerpt = excerpt_of(body, keys, _MAX_ARTIFACT)
    found = [item for item in facts if item.kind is not EvidenceKind.CONTINUATION] or list(facts)
    return {
        "artifact": artifact,
        "component": component.value,
        "place": mode.place,
        "statement": mode.statement,
        "facts": [
            {"statement": item.statement, "data": _line(to_json(item)["data"], _MAX_DATA)}
            for item in found[:_MAX_FACTS]
        ],
        "references": [
            {"title": _WORDS["references"][title], "text": text[:_MAX_REFERENCE]}
            for title, text in _references(system, artifact, keys, found)
        ],
        "form": _WORDS["families"][family],
        "parts": excerpt.parts,
        "left_out": excerpt.left_out,
        "paths": paths,
        "refused": [
            {"operations": _line(_operations(patch), _MAX_DATA), "reason": reason}
            for patch, reason in refused[:_MAX_REFUSED]
        ],
    }


def _references(
    system: System, artifact: str, keys: Sequence[str], facts: Sequence[Evidence]
) -> Iterator[tuple[str, str]]:
    """Yield what the artifact is held against: which kind of reference, and its text."""
    family, _, name = artifact.partition("/")
    reference = system.reference
    match family:
        case "blueprint":
            tools = {str(item.data["tool"]) for item in facts if "tool" in item.data}
            if len(keys) > 1 and keys[0] in ("tools", "quarantined"):
                tools.add(keys[1])
            for tool in sorted(tools & set(reference.specs[name].tools)):
                yield "spec", _page(to_json(reference.specs[name].tools[tool]))
                calls = [
                    _call(call)
                    for _key, certificate in sorted(reference.certificates.items())
                    for _step, call in sorted(certificate.gold_run.items())
                    if (call.service, call.tool) == (name, tool)
                ]
                if calls:
                    yield "certified", "\n".join(calls[:_MAX_CALLS])
        case "seed":
            held = reference.contract.invariants.items()
            promised = {key: to_json(item) for key, item in held if item.service == name}
            yield "contract", _page(promised)
        case "reactions":
            contract = reference.contract.reactions
            named = {key for key in contract if key in keys} or set(contract)
            yield "contract", _page({key: to_json(contract[key]) for key in sorted(named)})
        case "task" | "rubric" if name in reference.certificates:
            certificate = reference.certificates[name]
            run = sorted(certificate.gold_run.items())
            yield "run", "\n".join(f"{step}: {_call(call)}" for step, call in run)
            yield "answer", _page(to_json(certificate)["gold_answer"])
        case "settings" | "harness":
            yield family, _page([item.statement for item in facts[:_MAX_FACTS]])


def _call(call: CallRecord) -> str:
    body = to_json(call)
    kept = ("service", "tool", "arguments", "envelope", "changes")
    return _line({key: body[key] for key in kept}, _MAX_CALL)


def _operations(patch: Patch) -> list[Any]:
    return [to_json(step) for step in patch.operations if step.op != "test"]


def _page(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)


def _line(value: Any, most: int) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True) if value else ""
    return text if len(text) <= most else text[:most] + " ..."
