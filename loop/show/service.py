"""A service: its tables and tools in words, what is quarantined, and how it reacts to others."""

from __future__ import annotations

from collections.abc import Mapping

from components.records.blueprint import (
    Check,
    Effect,
    FieldBlueprint,
    Lookup,
    ToolBlueprint,
)
from components.records.spec import Observed, ToolSpec
from components.records.world import Reaction
from loop.plain_page import Page
from loop.show.readings import show_readings
from loop.show.viewed import Viewed
from loop.show.words import expression_text


def show_service(viewed: Viewed) -> Page:
    """Return the page of one service."""
    name, spec, blueprint, code = viewed.name, viewed.spec, viewed.blueprint, viewed.code
    page = Page()
    page.heading(f"Service {name}: {spec.title or name} ({viewed.where})")
    page.line(spec.description)
    rows = [
        ("domain", spec.domain),
        ("from", spec.source + (", inferred from names and schemas" if blueprint.inferred else "")),
        ("tools", f"{len(spec.tools)}, {len(blueprint.quarantined)} of them quarantined"),
    ]
    if code is not None:
        files = [
            f"{n} ({len(text.splitlines())} lines)" for n, text in sorted(code.sources.items())
        ]
        rows.append(("code", f"{', '.join(files)}; walls: {code.walls}"))
    rows += [("patch", line) for line in viewed.patches]
    page.table(rows)
    _show_tables(page, viewed)
    page.heading("Tools")
    rows4 = [("tool", "class", "operation", "difficulty", "table")]
    for tool, item in sorted(blueprint.tools.items()):
        table = item.entity or "-"
        if tool in blueprint.quarantined:
            table += " (quarantined)"
        rows4.append(
            (tool, item.functional.value, item.operation.value, f"{item.difficulty} of 5", table)
        )
    page.table(rows4)
    if blueprint.inferred:
        show_readings(page, spec, viewed.runs_dir, viewed.why)
    for tool, item in sorted(blueprint.tools.items()):
        if tool not in blueprint.quarantined:
            _show_tool(page, tool, item, spec.tools.get(tool), is_code=code is not None)
    page.heading("Quarantined")
    page.table(
        [
            (tool, item.reason.value, item.detail)
            for tool, item in sorted(blueprint.quarantined.items())
        ]
        or [("none",)]
    )
    _show_reactions(page, name, viewed.reactions)
    return page


def _show_tables(page: Page, viewed: Viewed) -> None:
    page.heading("Tables")
    rows = []
    for table, entity in sorted(viewed.blueprint.entities.items()):
        count = 0 if viewed.seed is None else len(viewed.seed.tables.get(table, {}))
        fields = ", ".join(
            f"{field} {_type_text(kind)}" for field, kind in sorted(entity.fields.items())
        )
        rows.append((table, f"{count} rows", f"key {entity.key}; {fields}"))
    page.table(rows or [("none",)])


def _type_text(field: FieldBlueprint) -> str:
    text = f"({'|'.join(field.enum)})" if field.enum else field.type.value
    text += "?" if field.nullable else ""
    return f"{text} -> {field.link}" if field.link else text


def _show_tool(
    page: Page, name: str, tool: ToolBlueprint, spec: ToolSpec | None, *, is_code: bool
) -> None:
    page.heading(name)
    if spec is not None and spec.description:
        page.line(spec.description)
    if spec is not None and spec.observed is not None:
        page.line(_observed_text(spec.observed))
    if spec is not None:
        required = set(spec.input_schema.get("required") or ())
        given = spec.input_schema.get("properties") or {}
        arguments = ", ".join(f"{key}{'' if key in required else '?'}" for key in given)
        page.line(f"takes {arguments or 'nothing'}")
    rows = [("finds", f"{key}: {_lookup_text(item)}") for key, item in sorted(tool.lookups.items())]
    rows += [("checks", _check_text(item)) for _key, item in sorted(tool.checks.items())]
    rows += [("changes", effect_text(item)) for _key, item in sorted(tool.effects.items())]
    if tool.query is not None:
        where = [expression_text(item) for _key, item in sorted(tool.query.where.items())]
        order = f", by {tool.query.sort_by}" if tool.query.sort_by else ""
        order += " descending" if tool.query.descending else ""
        rows.append(
            ("selects", f"{tool.query.table} rows where {' and '.join(where) or 'all'}{order}")
        )
    says = "what its code says" if is_code and not tool.simulated else expression_text(tool.result)
    rows.append(("answers", says))
    if spec is not None:
        rows += [("promised", rule.text) for _key, rule in sorted(spec.rules.items())]
        rows += [("promised", effect.text) for _key, effect in sorted(spec.effects.items())]
        rows += [("promised", item.text) for _key, item in sorted(spec.returns.items())]
    page.table(rows, 4)


def _observed_text(observed: Observed) -> str:
    whence = f"{observed.num_calls} recorded calls" if observed.num_calls else "its server's manner"
    shape = "; the shape of its answers is from there" if observed.has_schema else ""
    return f"outputs observed: {whence}{shape}"


def _lookup_text(lookup: Lookup) -> str:
    missing = "null when missing" if lookup.optional else "not_found when missing"
    return (
        f"the {lookup.table} whose {lookup.field or 'key'} is {expression_text(lookup.equals)}, "
        f"{missing}"
    )


def _check_text(check: Check) -> str:
    return f"{expression_text(check.holds)}, else {check.code.value}: {check.message}"


def effect_text(effect: Effect) -> str:
    """Return one effect in words."""
    fields = ", ".join(
        f"{field} = {expression_text(value)}" for field, value in sorted(effect.fields.items())
    )
    what = f"{effect.action}s {effect.table}"
    if effect.target is not None:
        what += f" ({effect.target})"
    if effect.where is not None:
        what += f" where {expression_text(effect.where)}"
    if effect.each is not None:
        what += f" for each of {expression_text(effect.each)}"
    if effect.on_conflict != "refuse":
        named = " and ".join(effect.names) or "key"
        becomes = effect.on_conflict
        becomes = becomes if isinstance(becomes, str) else expression_text(becomes)
        what += f", one of that {named} there already: {becomes}"
    if effect.when is not True:
        what += f" when {expression_text(effect.when)}"
    return f"{what}: {fields}" if fields else what


def _show_reactions(page: Page, name: str, reactions: Mapping[str, Reaction]) -> None:
    for title, chosen in (
        ("Reactions out: what happens here and writes elsewhere", _outgoing(name, reactions)),
        ("Reactions in: what happens elsewhere and writes here", _incoming(name, reactions)),
    ):
        page.heading(title)
        page.table(
            [(key, reactions[key].text) for key in chosen] or [("none",)],
        )


def _outgoing(name: str, reactions: Mapping[str, Reaction]) -> list[str]:
    return sorted(key for key, item in reactions.items() if item.on.service == name)


def _incoming(name: str, reactions: Mapping[str, Reaction]) -> list[str]:
    return sorted(
        key
        for key, item in reactions.items()
        if any(write.service == name for write in item.writes.values())
    )
