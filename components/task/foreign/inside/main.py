"""A foreign benchmark behind a pipe: one JSON object a line in, one a line out.

Runs in the interpreter that has the benchmark, by its path, so nothing here imports ours and only
the standard library is needed. What the benchmark prints goes to stderr.

    {"op": "open"}                    -> {"tasks": [ids], "about": {...}, "rules": TEXT}
    {"op": "use", "tasks": [ROW, ...]}
                                      -> the tasks, now those of these rows
    {"op": "task", "id": ID}          -> the task: texts, gold, tools, what is checked
    {"op": "run", "id": ID, "turns": [[call, ...], ...], "message": TEXT}
                                      -> answers, state, and the benchmark's own verdict
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any


def opened(kind: str, path: str | None) -> Any:
    """Return the adapter of a kind."""
    if kind.startswith("tau2:"):
        from of_tau2 import open_tau2  # type: ignore[import-not-found, unused-ignore]

        return open_tau2(kind.removeprefix("tau2:"), path)
    if kind.startswith("bfcl:"):
        from of_bfcl import Bfcl  # type: ignore[import-not-found, unused-ignore]

        return Bfcl(kind.removeprefix("bfcl:"), path)
    from of_lines import Lines  # type: ignore[import-not-found, unused-ignore]

    return Lines(path)


def served(adapter: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Return what one request gives."""
    match request["op"]:
        case "open":
            rules = getattr(adapter, "policy", "")
            return {"tasks": adapter.names(), "about": adapter.about(), "rules": rules}
        case "use":
            adapter.use(request["tasks"])
            return {"tasks": adapter.names()}
        case "task":
            return dict(adapter.task(request["id"]))
        case "run":
            return dict(adapter.run(request["id"], request["turns"], request["message"]))
    raise ValueError(f"no such op: {request['op']}")


def main() -> int:
    """Answer requests until stdin ends."""
    kind, path = sys.argv[1], sys.argv[2] or None
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    adapter: Any = None
    for line in sys.stdin:
        answer: dict[str, Any]
        try:
            with contextlib.redirect_stdout(sys.stderr):
                adapter = adapter or opened(kind, path)
                answer = {"ok": served(adapter, json.loads(line))}
        except ModuleNotFoundError as error:
            answer = {"missing": error.name or str(error)}
        except Exception as error:  # the whole of a foreign program is behind this
            answer = {"error": f"{type(error).__name__}: {error}"}
        out.write(json.dumps(answer, default=str) + "\n")
        out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
