"""What the world contract promises of the rows of a world at its start."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from components.environment.expressions import (
    ExpressionError,
    Scope,
    compile_expression,
    tables_named,
)
from components.environment.reactions import WorldTables
from components.environment.world import World, world_vocabulary
from components.records.frozen import thaw
from components.records.world import Invariant, WorldContract


def broken_invariants(
    world: World, contract: WorldContract, only: Collection[str] | None = None
) -> Iterator[tuple[str, Invariant, str]]:
    """Yield name, invariant and row id of every row that breaks an invariant.

    Args:
        world: as it starts.
        contract: invariants that speak of a service which is not there are passed over.
        only: rows to look at, as `service/table/id`; None: all.
    """
    vocabulary = world_vocabulary(world.services).with_names("item")
    tables = WorldTables(world.initial)
    for name, invariant in sorted(contract.invariants.items()):
        read = {table.partition(".")[0] for table in tables_named(thaw(invariant.holds))}
        if not {invariant.service, *read} <= set(world.services):
            continue
        holds = compile_expression(invariant.holds, vocabulary)
        table = world.initial.table(invariant.service, invariant.table)
        scope = Scope({}, tables, world.initial.now)
        for row_id in table.ids:
            if only is not None and f"{invariant.service}/{invariant.table}/{row_id}" not in only:
                continue
            scope.names["item"] = table.rows[row_id].values
            try:
                is_kept = bool(holds(scope))
            except ExpressionError:
                is_kept = False
            if not is_kept:
                yield name, invariant, row_id
