"""Where the values of gold come from, in words."""

from __future__ import annotations

from components.records.task import (
    FromDefault,
    FromExpression,
    FromInstruction,
    FromObservation,
    FromRows,
    FromRule,
    GoldStep,
    Provenance,
)
from components.task.provenance import observations_of
from loop.report.changes import value_text


def needed_steps(step: GoldStep) -> list[str]:
    """Return the earlier steps that a step takes values from."""
    return sorted({place.step for s in step.arguments.values() for place in observations_of(s)})


def source_text(source: Provenance, instruction: str) -> str:
    """Return where a value comes from, in words."""
    match source:
        case FromInstruction():
            words = f'the instruction: "{instruction[source.start : source.end]}"'
            return f"{words}, from the clock" if source.cast == "moment" else words
        case FromObservation():
            path = ".".join(map(str, source.path)) or "all of it"
            if source.pick is None:
                return f"the answer of {source.step}: {path}"
            end = "most" if source.pick.most else "least"
            row = f"the one of {path} with the {end} {source.pick.by}"
            return f"the answer of {source.step}: {source.field} of {row}"
        case FromRows():
            where = "".join(f" whose {name} is {value}" for name, value in source.where.items())
            path = ".".join(map(str, source.path))
            what = f"the sum of {source.field}" if source.field else "the number"
            return f"the answer of {source.step}: {what} of {path}{where}"
        case FromDefault():
            return f"the default {value_text(source.value)}"
        case FromExpression():
            parts = [
                f"{name} = {source_text(part, instruction)}"
                for name, part in sorted(source.inputs.items())
            ]
            template = f' "{source.template}"' if source.template else ""
            return f"{source.operation}{template} of {'; '.join(parts)}"
        case FromRule():
            limit = source.value
            told = ", ".join(map(str, limit)) if isinstance(limit, tuple) else value_text(limit)
            test = f"{source_text(source.source, instruction)} {source.relation.value} {told}"
            return f"a rule: {source.allowed} if {test}, else {source.otherwise}"
