"""Repairs of the harness: a parser that reads the text, a limit at the norm, a template that
shows what it must.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attribution.change import Change, Operation, put
from attribution.evidence import pointer_of, split_place
from attribution.records import Evidence
from attribution.swap import body_of
from components.records.system import System

_CUT_BODY = re.compile(r"\{\{\s*body\b[^}]*\}\}")
_MUST_SHOW = {
    "observation": "\n{{ body }}",
    "invalid_call_feedback": "\nProblem: {{ problem }}",
    "user_prompt": "\n{{ instruction }}\n\nAnswer schema: {{ answer_schema | tojson }}",
    "system_prompt": "\nThe time is {{ now }}.\n"
    "{% for rule in rules %}\n- {{ rule }}\n{% endfor %}\n"
    "{% for tool in tools %}\n{{ tool.text }}\n{% endfor %}",
}
"""What a template gets when it does not show what it must."""


def harness_changes(system: System, place: str, evidence: Sequence[Evidence]) -> Iterator[Change]:
    """Yield candidate repairs of one setting of the harness, smallest first.

    Args:
        system: the system with the defect.
        place: where it is.
        evidence: what speaks against that place.
    """
    _artifact, parts = split_place(place)
    body = body_of(system, "harness")
    settings = system.harness
    if not parts:
        return

    def change(operations: Sequence[Operation], reason: str) -> Change:
        return Change(artifact="harness", operations=tuple(operations), reason=reason, place=place)

    if parts[0] == "parsers" and len(parts) >= 2:
        name = parts[1]
        at = pointer_of("parsers", name)
        ranks = [item.rank for item in settings.parsers.values()]
        if name in settings.parsers:
            if not settings.parsers[name].enabled:
                yield change(
                    [("replace", f"{at}/enabled", True)], f"the parser {name} reads valid calls"
                )
            first = [("replace", f"{at}/enabled", True), ("replace", f"{at}/rank", 0)]
            others = [
                ("replace", pointer_of("parsers", other, "rank"), item.rank + 1)
                for other, item in sorted(settings.parsers.items())
                if other != name
            ]
            yield change(
                [*first, *others], f"the parser {name} must come before those that misread"
            )
        else:
            value = {"enabled": True, "rank": max(ranks, default=-1) + 1}
            yield change([("add", at, value)], f"the parser {name} reads valid calls")
    elif parts[0] == "limits" and len(parts) == 2:
        needed = [item.data["needed"] for item in evidence if "needed" in item.data]
        if needed:
            yield change(
                [put(body, pointer_of(*parts), max(needed))],
                f"the norm for {parts[1]} is {max(needed)}",
            )
    elif parts[0] == "hidden_tools":
        hidden = {tool for item in evidence for tool in item.data.get("tools", ())}
        kept = [tool for tool in settings.hidden_tools if tool not in hidden]
        yield change([("replace", "/hidden_tools", kept)], "tools that tasks need are shown")
    elif parts[0] in _MUST_SHOW:
        old = body[parts[0]]
        if parts[0] == "observation":
            whole = _CUT_BODY.sub("{{ body }}", old)
            yield change([("replace", "/observation", whole)], "an answer is shown whole")
        yield change(
            [("replace", pointer_of(parts[0]), old.rstrip("\n") + _MUST_SHOW[parts[0]])],
            f"{parts[0]} must show what it is for",
        )
        yield change(
            [("replace", pointer_of(parts[0]), _MUST_SHOW[parts[0]].strip("\n"))],
            f"{parts[0]} must show what it is for",
        )
