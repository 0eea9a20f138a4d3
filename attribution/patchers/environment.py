"""Repairs of the environment, written from the documentation, the world contract and the certified
run.

Candidates come smallest first; quarantining a tool is the last. Nothing here decides:
`attribution.accept` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attribution.change import Change, put
from attribution.evidence import pointer_of, split_place
from attribution.patchers.documentation import Lookups, check_body, effect_body, result_value
from attribution.patchers.rows import certified_rows, mended_rows
from attribution.records import Evidence
from attribution.swap import body_of
from components.records.base import to_json
from components.records.blueprint import Blueprint, QuarantineReason, ToolBlueprint
from components.records.frozen import thaw
from components.records.spec import RowRef, ToolSpec, WrittenEffect
from components.records.system import System


def environment_changes(
    system: System, place: str, evidence: Sequence[Evidence]
) -> Iterator[Change]:
    """Yield candidate repairs of one place of the environment, smallest first.

    Args:
        system: the system with the defect.
        place: where it is.
        evidence: what speaks against that place.
    """
    artifact, parts = split_place(place)
    family, _, name = artifact.partition("/")
    if family == "reactions" and parts:
        yield from _reaction(system, parts[0], place)
    elif family == "seed" and len(parts) >= 3:
        yield from _seed_row(system, name, parts[1], parts[2], place)
    elif family == "blueprint" and len(parts) >= 2 and parts[0] in ("tools", "quarantined"):
        yield from _tool(system, name, parts[1], place, evidence)


def _reaction(system: System, name: str, place: str) -> Iterator[Change]:
    promised = system.reference.contract.reactions.get(name)
    pointer = pointer_of(name)
    if promised is None:
        operations: tuple[Any, ...] = (("remove", pointer, None),)
        reason = f"the reaction {name!r} is promised nowhere"
    else:
        operations = (put(body_of(system, "reactions"), pointer, to_json(promised)),)
        reason = f"the world contract promises: {promised.text}"
    yield Change(artifact="reactions", operations=operations, reason=reason, place=place)


def _seed_row(
    system: System, service: str, table: str, row_id: str, place: str
) -> Iterator[Change]:
    artifact = f"seed/{service}"
    body = body_of(system, artifact)
    pointer = pointer_of("tables", table, row_id)
    for row in certified_rows(system, service, table, row_id):
        yield Change(
            artifact=artifact,
            operations=(put(body, pointer, row),),
            reason=f"a certified run shows {table}/{row_id} as it was at the start",
            place=place,
        )
    for row in mended_rows(system, service, table, row_id):
        yield Change(
            artifact=artifact,
            operations=(put(body, pointer, row),),
            reason=f"with this value {table}/{row_id} is the row that was certified",
            place=place,
        )
    if body["tables"].get(table, {}).get(row_id) is not None:
        yield Change(
            artifact=artifact,
            operations=(("remove", pointer, None),),
            reason=f"{table}/{row_id} was not among the certified rows",
            place=place,
        )


def _tool(
    system: System, service: str, name: str, place: str, evidence: Sequence[Evidence]
) -> Iterator[Change]:
    blueprint = system.environment.blueprints.get(service)
    spec = system.reference.specs.get(service)
    if blueprint is None or spec is None or name not in spec.tools:
        return
    if name in blueprint.quarantined and name in blueprint.tools:
        yield Change(
            artifact=f"blueprint/{service}",
            operations=(("remove", pointer_of("quarantined", name), None),),
            reason=f"{name} was offered when the tasks were certified",
            place=place,
        )
    if name not in blueprint.tools:
        return
    writer = _Writer(blueprint, spec.tools[name], blueprint.tools[name], place)
    if service not in system.environment.code:  # what code does is written in no blueprint
        yield from writer.targeted(evidence)
        yield from writer.lookups()
        yield from writer.shown(system, evidence)
        yield from writer.whole()
    yield from writer.quarantine(evidence)


class _Writer:
    """Writes the changes of one tool."""

    def __init__(
        self, blueprint: Blueprint, spec: ToolSpec, tool: ToolBlueprint, place: str
    ) -> None:
        self._blueprint, self._spec, self._tool, self._place = blueprint, spec, tool, place
        self._body = to_json(blueprint)

    def targeted(self, evidence: Sequence[Evidence]) -> Iterator[Change]:
        """One part as the evidence names it."""
        for item in sorted(evidence, key=lambda item: item.evidence_id):
            part, rule = item.data.get("part"), str(item.data.get("rule", ""))
            if part == "effects":
                yield from self._effects([rule] if rule in self._spec.effects else [])
                yield from self._extra_effects(item.data.get("found"))
            elif part in ("lookups", "checks"):
                if part == "lookups":
                    yield from self.lookups()
                    yield from self.unwritten_lookups()
                yield from self._check(rule, item.data.get("found"))
            elif part in ("query", "result"):
                yield from self._returns([rule] if rule in self._spec.returns else [])
                yield from self.paging()
        yield from self._effects(sorted(self._spec.effects))
        yield from self._extra_effects(None)
        yield from self._returns(sorted(self._spec.returns))
        for rule in sorted(self._spec.rules):
            yield from self._check(rule, None)
        for name in sorted(set(self._tool.checks) - set(self._spec.rules)):
            yield self._change(
                [("remove", self._at("checks", name), None)], f"no rule {name!r} is written"
            )

    def _effects(self, names: Iterable[str]) -> Iterator[Change]:
        for name in names:
            written = self._spec.effects[name]
            lookups = Lookups(self._blueprint, self._tool)
            body = effect_body(written, lookups)
            twin = self._twin(name, written, body.get("target"))
            if twin is None:
                key = name if name not in self._tool.effects else f"{name}_written"
                steps = [put(self._body, self._at("effects", key), body)]
                yield self._change(
                    [*self._added(lookups), *steps], f"the spec writes: {written.text}"
                )
                continue
            steps = [
                put(self._body, self._at("effects", twin, "fields", field), value)
                for field, value in sorted(body["fields"].items())
            ]
            for step in steps:  # one field first: the smallest repair
                yield self._change(
                    [*self._added(lookups), step], f"the spec writes: {written.text}"
                )
            if "when" in body or self._tool.effects[twin].when is not True:
                when = put(self._body, self._at("effects", twin, "when"), body.get("when", True))
                yield self._change(
                    [*self._added(lookups), when], f"the spec writes: {written.text}"
                )
            whole = put(self._body, self._at("effects", twin), body)
            yield self._change([*self._added(lookups), *steps], f"the spec writes: {written.text}")
            yield self._change([*self._added(lookups), whole], f"the spec writes: {written.text}")

    def _twin(self, name: str, written: WrittenEffect, target: Any) -> str | None:
        """Return the blueprint's effect that stands for a written one."""
        same_kind = [
            key
            for key, effect in sorted(self._tool.effects.items())
            if (effect.action, effect.table) == (written.action, written.table)
        ]
        if name in self._tool.effects:
            return name
        exact = [key for key in same_kind if self._tool.effects[key].target == target]
        unclaimed = [key for key in exact or same_kind if key not in self._spec.effects]
        return unclaimed[0] if unclaimed else None

    def _extra_effects(self, found: Any) -> Iterator[Change]:
        """Fields and effects that are not written."""
        cause = found.get("cause", "") if isinstance(found, Mapping) else ""
        fields = found.get("fields", ()) if isinstance(found, Mapping) else ()
        name = str(cause).partition(":")[2]
        if name in self._tool.effects:
            steps = [
                ("remove", self._at("effects", name, "fields", field), None)
                for field in fields
                if field in self._tool.effects[name].fields
            ]
            if steps:
                yield self._change(steps, f"{name} writes what is not documented")
        lookups = Lookups(self._blueprint, self._tool)
        claimed = {
            self._twin(name, written, effect_body(written, lookups).get("target"))
            for name, written in self._spec.effects.items()
        }
        for key in sorted(set(self._tool.effects) - claimed):
            if self._spec.complete:
                yield self._change(
                    [("remove", self._at("effects", key), None)], f"no effect {key!r} is documented"
                )

    def _check(self, rule: str, found: Any) -> Iterator[Change]:
        details = found.get("details") if isinstance(found, Mapping) else None
        stop = details.get("rule") if isinstance(details, Mapping) else None
        if rule in self._spec.rules or stop in self._spec.rules:
            name = rule if rule in self._spec.rules else str(stop)
            written = self._spec.rules[name]
            lookups = Lookups(self._blueprint, self._tool)
            body = check_body(written, lookups)
            steps = self._added(lookups)
            if body is not None:
                steps.append(put(self._body, self._at("checks", name), body))
            yield self._change(steps, f"the spec writes: {written.text}")
        elif stop in self._tool.checks:
            yield self._change(
                [("remove", self._at("checks", str(stop)), None)], f"no rule {stop!r} is documented"
            )

    def _returns(self, names: Iterable[str]) -> Iterator[Change]:
        for name in names:
            written = self._spec.returns[name]
            text = f"the spec writes: {written.text}"
            query = self._tool.query
            if written.where and query is not None:
                for label, part in sorted(written.where.items()):
                    step = put(self._body, self._at("query", "where", label), thaw(part))
                    yield self._change([step], text)
                extra = sorted(set(query.where) - set(written.where))
                if extra and self._spec.complete:
                    steps = [("remove", self._at("query", "where", key), None) for key in extra]
                    yield self._change(steps, text)
                whole = put(self._body, self._at("query", "where"), thaw(written.where))
                yield self._change([whole], text)
            lookups = Lookups(self._blueprint, self._tool)
            old = (
                self._tool.result.get(written.key)
                if isinstance(self._tool.result, Mapping)
                else None
            )
            value = result_value(written, self._spec, self._tool, lookups, old)
            step = put(self._body, self._at("result", written.key), value)
            yield self._change([*self._added(lookups), step], text)

    def lookups(self) -> Iterator[Change]:
        """Lookups that look for another row than every documented one on their table."""
        for label, ref in self._written_rows():
            for name, lookup in sorted(self._tool.lookups.items()):
                if lookup.table != ref.table or (label != name and len(self._tool.lookups) > 1):
                    continue
                body: dict[str, Any] = {"table": ref.table, "equals": thaw(ref.equals)}
                if ref.field is not None:
                    body["field"] = ref.field
                if lookup.optional:
                    yield self._change(
                        [put(self._body, self._at("lookups", name, "optional"), False)],
                        f"the spec looks for {ref.table} so, and needs it",
                    )
                yield self._change(
                    [put(self._body, self._at("lookups", name), body)],
                    f"the spec looks for {ref.table} so",
                )

    def unwritten_lookups(self) -> Iterator[Change]:
        """Lookups that nothing writes: none of them may refuse a call."""
        written = {ref.table for _label, ref in self._written_rows()}
        for name, lookup in sorted(self._tool.lookups.items()):
            if self._spec.complete and not lookup.optional and lookup.table not in written:
                yield self._change(
                    [put(self._body, self._at("lookups", name, "optional"), True)],
                    f"no rule refuses a call for want of a {lookup.table}",
                )

    def paging(self) -> Iterator[Change]:
        """Limit, page and order of a query, as the tool's own parameters name them."""
        query = self._tool.query
        if query is None:
            return
        properties = self._spec.input_schema.get("properties") or {}
        sizes = {
            value
            for other in self._blueprint.tools.values()
            if other.query is not None and isinstance(other.query.limit, Mapping)
            for value in other.query.limit.get("@coalesce", ())
            if isinstance(value, int)
        }
        options: list[tuple[str, Any]] = []
        if "limit" in properties:
            default = properties["limit"].get("default")
            known = [default] if default is not None else sorted(sizes)
            options += [("limit", {"@coalesce": ["$args.limit", size]}) for size in known]
            options.append(("limit", "$args.limit"))
        options += [("limit", None), ("descending", not query.descending)]
        options.append(("cursor", "$args.cursor" if "cursor" in properties else None))
        for key, value in options:
            yield self._change(
                [put(self._body, self._at("query", key), value)], f"all that fits is shown: {key}"
            )

    def _written_rows(self) -> list[tuple[str, RowRef]]:
        rows = [pair for rule in self._spec.rules.values() for pair in sorted(rule.rows.items())]
        rows += [(e.table, e.row) for e in self._spec.effects.values() if e.row is not None]
        rows += [(r.table, r.row) for r in self._spec.returns.values() if r.row is not None]
        return rows

    def shown(self, system: System, evidence: Sequence[Evidence]) -> Iterator[Change]:
        """Values that a certified answer shows and the documentation does not describe."""
        yield from self._columns(system)
        yield from self.paging()
        keys = sorted({key for item in evidence for key in item.data.get("keys", ())})
        result = self._tool.result
        if not isinstance(result, Mapping):
            return
        names = [*sorted(self._tool.lookups), *sorted(self._tool.effects), "args"]
        properties = sorted(self._spec.input_schema.get("properties") or {})
        for key in keys:
            options = ["$rows", "$total", "$next_cursor"] if self._tool.query is not None else []
            for name in names:
                options += [f"${name}", f"${name}.{key}", f"${name}.id"]
            options += [f"$args.{item}" for item in properties]
            for option in options:
                step = put(self._body, self._at("result", key), option)
                yield self._change([step], f"certified answers show {key!r} so")

    def _columns(self, system: System) -> Iterator[Change]:
        """The columns of a query's rows that certified answers show."""
        if self._tool.query is not None and self._tool.query.fields is not None:
            columns = sorted(self._blueprint.entities[self._tool.query.table].fields)
            recorded = [
                step
                for certificate in system.reference.certificates.values()
                for step in certificate.gold_run.values()
                if (step.service, step.tool) == (self._blueprint.service, self._spec.name)
            ]
            fields = [
                column
                for column in columns
                if any(_shows_column(step.envelope.get("data"), column) for step in recorded)
            ]
            if fields:
                step = put(self._body, self._at("query", "fields"), fields)
                yield self._change([step], "certified answers show these fields")

    def whole(self) -> Iterator[Change]:
        """All that is written at once, when a tool is broken in more than one place."""
        lookups = Lookups(self._blueprint, self._tool)
        steps = []
        if self._spec.complete and self._spec.effects:
            effects = {}
            for name, written in sorted(self._spec.effects.items()):
                body = effect_body(written, lookups)
                twin = self._twin(name, written, body.get("target"))
                if twin is not None:
                    kept = thaw(to_json(self._tool.effects[twin])["fields"])
                    body["fields"] = {**kept, **body["fields"]}
                # Other effects and the answer know a row by its effect's name.
                effects[twin or name] = body
            steps.append(put(self._body, self._at("effects"), effects))
        checks = {
            name: check
            for name, rule in sorted(self._spec.rules.items())
            if (check := check_body(rule, lookups)) is not None
        }
        if self._spec.complete:
            steps.append(put(self._body, self._at("checks"), checks))
        if steps:
            yield self._change([*self._added(lookups), *steps], "the tool as its spec writes it")

    def quarantine(self, evidence: Sequence[Evidence]) -> Iterator[Change]:
        """The last resort: a tool that answers wrongly is not offered."""
        detail = evidence[0].statement if evidence else "it does not keep its documentation"
        body = {"reason": QuarantineReason.FAILED_STATE_LAW.value, "detail": detail}
        step = put(self._body, pointer_of("quarantined", self._spec.name), body)
        yield self._change([step], f"{self._spec.name} cannot be repaired: {detail}")

    def _added(self, lookups: Lookups) -> list[Any]:
        return [
            put(self._body, self._at("lookups", name), body)
            for name, body in sorted(lookups.added.items())
        ]

    def _at(self, *parts: str) -> str:
        return pointer_of("tools", self._spec.name, *parts)

    def _change(self, operations: Sequence[Any], reason: str) -> Change:
        return Change(
            artifact=f"blueprint/{self._blueprint.service}",
            operations=tuple(operations),
            reason=reason,
            place=self._place,
        )


def _shows_column(data: Any, column: str) -> bool:
    if isinstance(data, Mapping):
        return any(
            (isinstance(item, Mapping) and column in item) or _shows_column(item, column)
            for item in data.values()
        )
    if isinstance(data, (list, tuple)):
        return any(isinstance(item, Mapping) and column in item for item in data)
    return False
