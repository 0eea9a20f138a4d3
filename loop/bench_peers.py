"""What the same work costs elsewhere: a process of its own, one measurement for each line it reads.

Owns the calls into other people's programs, which are imported here and nowhere else, where they
are installed: the MCP Python SDK's in-memory client and server, and the retail domain of
tau2-bench. A line on stdin names a measurement and a count; the answer is one line of JSON with
CPU-us an operation, or why there is none.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

Measure = Callable[[int], float]
"""From a count to CPU-us an operation."""


def main() -> None:
    """Answer lines of `<measurement> <count>` until stdin ends."""
    measures: dict[str, Measure | str] = {}
    for line in sys.stdin:
        name, count = line.split()
        if name not in measures:
            try:
                measures[name] = _MAKERS[name]()
            except ImportError as error:
                measures[name] = f"not installed: {error}"
        measure = measures[name]
        answer = (
            {"missing": measure} if isinstance(measure, str) else {"cpu_us": measure(int(count))}
        )
        print(json.dumps(answer), flush=True)


def _sdk_call() -> Measure:
    """A call of a tool with one argument and a small answer, client and server in one process."""
    mcp: Any = importlib.import_module("mcp")
    server = importlib.import_module("mcp.server.mcpserver").MCPServer("desk")

    def get_ticket(ticket_id: str) -> dict[str, Any]:
        """Read a ticket."""
        return {"ticket": {"id": ticket_id, "subject": "hello", "status": "open"}}

    server.tool()(get_ticket)

    async def measure(count: int) -> float:
        async with mcp.Client(server) as client:
            arguments = {"ticket_id": "tkt_1"}
            await client.call_tool("get_ticket", arguments)
            started = time.process_time()
            for _ in range(count):
                await client.call_tool("get_ticket", arguments)
            return (time.process_time() - started) / count * 1e6

    return lambda count: asyncio.run(measure(count))


def _tau2_environment() -> Callable[[], Any]:
    importlib.import_module("loguru").logger.remove()
    make: Callable[[], Any] = importlib.import_module(
        "tau2.domains.retail.environment"
    ).get_environment
    return make


def _tau2_call() -> Measure:
    """The calls of `loop.bench_retail.episode_calls`, on its own database of the same size."""
    environment = _tau2_environment()()
    call_type = importlib.import_module("tau2.data_model.message").ToolCall
    database = environment.tools.db
    pending = [key for key, order in database.orders.items() if order.status == "pending"]
    address = ("address1", "address2", "city", "country", "state", "zip")

    def measure(count: int) -> float:
        calls = []
        for number in range(count):
            order = database.orders[pending[number // 5 % len(pending)]]
            user = database.users[order.user_id]
            order_id = {"order_id": order.order_id}
            moved = {**order_id, **{part: f"{part} {number}" for part in address}}
            calls.append(
                (
                    ("find_user_id_by_email", {"email": user.email}),
                    ("get_user_details", {"user_id": order.user_id}),
                    ("get_order_details", order_id),
                    ("modify_pending_order_address", moved),
                    ("get_order_details", order_id),
                )[number % 5]
            )
        started = time.process_time()
        for name, arguments in calls:
            answer = environment.get_response(call_type(id="1", name=name, arguments=arguments))
            assert not answer.error
        return (time.process_time() - started) / count * 1e6

    return measure


def _tau2_reset() -> Measure:
    """A fresh environment: what it does before every episode."""
    make = _tau2_environment()

    def measure(count: int) -> float:
        started = time.process_time()
        for _ in range(count):
            make()
        return (time.process_time() - started) / count * 1e6

    return measure


_MAKERS: dict[str, Callable[[], Measure]] = {
    "sdk_call": _sdk_call,
    "tau2_call": _tau2_call,
    "tau2_reset": _tau2_reset,
}

if __name__ == "__main__":
    main()
