"""Features of a parameter that tell whether it picks an existing record.

Owns what is looked at when identifiers are told from values; the classifier weighs it.
"""

from __future__ import annotations

from components.environment.reading.features import ServerView, ToolView
from components.environment.reading.params import Param
from components.environment.reading.words import singular, text_words


def param_features(server: ServerView, view: ToolView, operation: str) -> list[dict[str, float]]:
    """Return the features of each parameter of a tool, given the operation it was read as."""
    uses: dict[str, int] = {}
    for other in server.tools:
        for param in other.params:
            uses[param.snake] = uses.get(param.snake, 0) + 1
    needed = [param for param in view.params if param.is_required]
    scalars = [
        place
        for place, (param, kind) in enumerate(zip(view.params, view.kinds, strict=True))
        if param.is_required and param.is_scalar and kind not in ("auth", "format", "limit")
    ]
    has_id = any(
        kind == "id" and param.is_required
        for param, kind in zip(view.params, view.kinds, strict=True)
    )
    nouns = {singular(word) for word in (*view.name.noun, *view.text.noun)}
    heads = {view.name.head, view.text.head} - {""}
    out = []
    for place, (param, kind) in enumerate(zip(view.params, view.kinds, strict=True)):
        out.append(
            _features(
                param,
                kind,
                operation,
                is_only=scalars == [place],
                num_needed=len(needed),
                is_first=bool(needed) and needed[0] is param,
                has_id=has_id,
                nouns=nouns,
                heads=heads,
                share=uses[param.snake] / len(server.tools) if len(server.tools) > 2 else -1.0,
                family=view.name.family or view.text.family,
            )
        )
    return out


def _features(
    param: Param,
    kind: str,
    operation: str,
    *,
    is_only: bool,
    num_needed: int,
    is_first: bool,
    has_id: bool,
    nouns: set[str],
    heads: set[str],
    share: float,
    family: str,
) -> dict[str, float]:
    need = "required" if param.is_required else "optional"
    stem = {singular(word) for word in param.words}
    out = {
        "bias": 1.0,
        need: 1.0,
        f"{need} in {operation}": 1.0,
        f"kind {kind}": 1.0,
        f"{need} kind {kind}": 1.0,
        f"{need} kind {kind} in {operation}": 1.0,
        f"name {param.snake}": 0.7,
        f"name {param.snake} in {operation}": 0.5,
        f"type {param.type}": 0.7,
        f"{need} type {param.type} in {operation}": 0.5,
        f"family {family} {need}": 0.5,
    }
    for word in stem:
        out[f"word {word}"] = 0.6
    if param.words:
        out[f"last {singular(param.words[-1])}"] = 0.8
        out[f"{need} last {singular(param.words[-1])} in {operation}"] = 0.5
    if is_only:
        out["only required scalar"] = 1.0
        out[f"only required scalar in {operation}"] = 1.0
        out[f"only required scalar, kind {kind}"] = 0.7
    if is_first:
        out[f"first required in {operation}"] = 0.8
    if has_id:
        out[f"another id, kind {kind}" if kind != "id" else f"id in {operation}"] = 1.0
    out[f"{need} of {min(num_needed, 4)} in {operation}"] = 0.5
    if stem & heads:
        out["names the object"] = 1.0
        out[f"names the object in {operation}"] = 1.0
        out[f"{need} names the object, kind {kind}"] = 0.7
    elif stem & nouns:
        out["names a noun of the tool"] = 1.0
    if param.enum:
        out["enum"] = 1.0
    if param.has_default:
        out["default"] = 1.0
    if share >= 0:
        out["share of tools with it"] = share
        if share > 0.5:
            out[f"in most tools, {need}"] = 1.0
    for word in text_words(param.description[:100])[:12]:
        out[f"text {singular(word)}"] = 0.3
    return out
