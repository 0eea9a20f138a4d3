"""Let a policy play somebody else's tasks, and keep what it did.

    python -m loop rollout tasks=tau2:retail policy=local count=16 out=played.jsonl
    python -m loop attribute traces=played.jsonl tasks=tau2:retail

Each task is played once with the benchmark's own tools, database and policy text, and judged by the
benchmark's own evaluation of the end. The user is by rule: it says the task's text and confirms
when it is asked, so that the figure is not the benchmark's own, whose user is a model. The file
holds a line of chat messages a rollout, which `attribute traces=` judges.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

from loop.console import Console
from loop.foreign_rollouts import play_tasks
from loop.ledger_files import write_file
from loop.plain_page import Page
from loop.result_file import check_result_file
from loop.tasks.foreign import open_foreign
from loop.verb_configs import RolloutVerbConfig


def main(config: RolloutVerbConfig) -> None:
    """Play, write the lines, and print what came of them."""
    check_result_file(config.out)
    console = Console()
    with open_foreign(config.tasks, config.path, config.python) as foreign:
        names = list(foreign.names)
        if config.count is not None and config.count < len(names):
            chosen = set(random.Random(config.seed).sample(names, config.count))
            names = [name for name in names if name in chosen]
        tasks = [foreign.task(name) for name in names]
        played = play_tasks(
            foreign, tasks, config, lambda done, of: console.progress("rollout", done, of)
        )
    console.close()
    lines = "".join(json.dumps(item.line, ensure_ascii=False) + "\n" for item in played)
    write_file(Path(config.out), lines.encode(), point="out")
    passed = sum(item.reward == 1.0 for item in played)
    judged = sum(item.reward is not None for item in played)
    page = Page()
    page.heading(f"{passed} of {judged} pass; the user is by rule, not the benchmark's own")
    ends = Counter(item.stop.value for item in played)
    page.table([(str(count), f"ended with {stop}") for stop, count in ends.most_common()])
    if judged < len(played):
        page.line(f"{len(played) - judged} have no verdict: they broke, or only a model can judge")
    page.show()
    print(config.out)
