"""The table of verbs: the one place that names them.

A further verb is a line here, one file in `loop/commands/` with `main(config)`, and one
`conf/<verb>.yaml`. This module imports nothing heavy, so that `python -m loop --help` answers at
once.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One thing that the program can do."""

    name: str
    summary: str
    """One line of `--help`."""
    config: str = "RunConfig"
    """Name of its configuration's model in `loop.verb_configs`."""
    subject_key: str = ""
    """Key that the word after the verb sets (`bench world`: `benchmark`); empty: no such word."""
    subjects: tuple[str, ...] = ()
    """What that word may be."""
    words_key: str = ""
    """Key that takes all words after the verb (`compare runs/a runs/b`); empty: no such words."""


VERBS = (
    Verb(
        name="evolve",
        summary="run or resume one round: roll out, score, find what is to blame, repair, report",
    ),
    Verb(
        name="synthesize",
        summary="make services of MCP servers, saved listings or OpenAPI documents, and gate them",
        config="SynthesizeConfig",
    ),
    Verb(
        name="compose",
        summary="make a set of tasks, each with a certificate, and say how varied they are",
        config="ComposeConfig",
    ),
    Verb(
        name="certify",
        summary="run every certificate of a task set again, or audit somebody else's benchmark",
        config="CertifyConfig",
    ),
    Verb(
        name="rollout",
        summary="let a policy play somebody else's tasks, and keep what it did for attribute",
        config="RolloutVerbConfig",
    ),
    Verb(
        name="bench",
        summary="measure a part against its bar: bench attribution, world, specs, fidelity, tasks",
        config="BenchConfig",
        subject_key="benchmark",
        subjects=("world", "attribution", "specs", "fidelity", "tasks"),
    ),
    Verb(
        name="attribute",
        summary="judge a round's rollouts again, or traces made elsewhere: who is to blame",
        config="AttributeConfig",
    ),
    Verb(
        name="replay",
        summary="play a recorded rollout again with one component swapped, and see what changes",
        config="ReplayConfig",
    ),
    Verb(
        name="accept",
        summary="accept a patch that waits: its gates run again, and the next round starts with it",
        config="ReviewConfig",
    ),
    Verb(
        name="reject",
        summary="reject a patch that waits: it is not proposed again",
        config="ReviewConfig",
    ),
    Verb(
        name="train",
        summary="teach a local policy from gold solutions, and measure it on held-out tasks",
        config="TrainConfig",
    ),
    Verb(
        name="evaluate",
        summary="measure a policy on tasks that no policy is trained on",
        config="EvaluateConfig",
    ),
    Verb(
        name="compare",
        summary="runs side by side: what differs in settings and in outcome, with intervals",
        config="CompareConfig",
        words_key="paths",
    ),
    Verb(
        name="show",
        summary="one rollout, task, service or patch of a round, in full; what joins a set's tools",
        config="ShowConfig",
    ),
    Verb(
        name="doctor",
        summary="check the machine and the installation, and say how to mend what is wrong",
        config="DoctorConfig",
    ),
)

EXAMPLES = (
    ("python -m loop evolve +round=1", "the first round; the same line resumes it"),
    (
        "python -m loop evolve +round=1 run=mine scale=smoke",
        "under another name, small enough to try",
    ),
    (
        "python -m loop evolve -m +round=1 task.k=2,3 seed=0,1",
        "a sweep: every combination, a run folder each",
    ),
    ("python -m loop evolve +round=1 dry_run=true", "what the round would do, and run nothing"),
    ("python -m loop evolve --help", "a verb's keys, with defaults and meaning"),
    ("python -m loop train +experiment=warmstart", "teach the small model from nothing"),
    ("python -m loop evaluate run=measured", "a policy on held-out tasks"),
    ("python -m loop compare runs/mine runs/default", "what differs between runs, and how surely"),
    ("python -m loop show task=t_4f21 run=mine", "everything about one task"),
    ("python -m loop attribute run=mine +round=1", "who is to blame, judged again"),
    (
        "python -m loop replay rollout=t_4f21-00 +round=1 swap.harness=1",
        "a rollout again, on the harness that round 1 left",
    ),
    ("python -m loop accept run=mine patch=p_3f9a2c", "take a patch that waits"),
    ("python -m loop attribute traces=chats.jsonl", "the same of traces made elsewhere"),
    (
        "python -m loop rollout tasks=tau2:retail count=8 out=played.jsonl",
        "a policy on somebody else's tasks",
    ),
    ("python -m loop doctor", "is everything there that a round needs?"),
    ("python -m loop synthesize environment.mcp_config=mcp.json", "services of your MCP servers"),
    ("python -m loop compose task.count=100 out=tasks", "a set of certified tasks"),
    ("python -m loop bench world out=world.json", "a benchmark"),
)


def find_verb(name: str) -> Verb | None:
    """Return the verb of this name, or None."""
    return next((verb for verb in VERBS if verb.name == name), None)


def nearest(word: str, words: Iterable[str]) -> str:
    """Return the valid word that a mistyped one most likely meant; empty when none is near."""
    candidates = sorted(set(words))
    close = difflib.get_close_matches(word, candidates, n=1, cutoff=0.6)
    if close:
        return close[0]
    ends = {name.rpartition(".")[2]: name for name in candidates}
    close = difflib.get_close_matches(word.rpartition(".")[2], sorted(ends), n=1, cutoff=0.75)
    return ends[close[0]] if close else ""


def program_help() -> str:
    """Return the text of `python -m loop --help`."""
    width = max(len(verb.name) for verb in VERBS) + 2
    command_width = max(len(command) for command, _ in EXAMPLES) + 2
    lines = [
        "usage: python -m loop VERB [key=value ...]",
        "",
        "Selvage: one round rolls a policy out in tool environments, finds for every failure",
        "which part is to blame, repairs that part, and proves the repair by replay.",
        "",
        "verbs:",
        *(f"  {verb.name:<{width}}{verb.summary}" for verb in VERBS),
        "",
        "examples:",
        *(f"  {command:<{command_width}}{meaning}" for command, meaning in EXAMPLES),
    ]
    return "\n".join(lines)
