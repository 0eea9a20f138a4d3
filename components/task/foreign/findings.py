"""What an audit of a foreign benchmark finds, each with calls that can be played again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from components.records.base import Record
from components.task.foreign.worker import Foreign, ForeignTask, Played, Turns


class Kind(StrEnum):
    """What is wrong with a task."""

    GOLD_FAILS = "gold_fails"
    GOLD_RAISES = "gold_raises"
    GOLD_UNSTABLE = "gold_unstable"
    GOLD_UNFIT = "gold_unfit"
    GOLD_WITHHELD = "gold_withheld"
    WITHHELD_UNNEEDED = "withheld_unneeded"
    BREAKS_POLICY = "breaks_policy"
    NOTHING_PASSES = "nothing_passes"
    ECHO_PASSES = "echo_passes"
    WORDS_UNSCORED = "words_unscored"
    WORD_TOO_SHORT = "word_too_short"
    WRITE_UNNEEDED = "write_unneeded"
    VALUE_UNCHECKED = "value_unchecked"
    MORE_PASSES = "more_passes"
    ORDER_MATTERS = "order_matters"
    VALUE_UNSAID = "value_unsaid"
    WORDING_UNSAID = "wording_unsaid"
    REFUSAL_PASSES = "refusal_passes"
    ARGUMENT_IGNORED = "argument_ignored"


REMARKS = frozenset({Kind.REFUSAL_PASSES, Kind.ARGUMENT_IGNORED})
"""What is worth knowing of a benchmark, and makes no task defective by itself."""


MEANING = {
    Kind.GOLD_FAILS: "gold does not pass the benchmark's own evaluator",
    Kind.GOLD_RAISES: "a call of gold is refused, and nothing in the task says that it should be",
    Kind.GOLD_UNSTABLE: "gold played twice leaves two states",
    Kind.GOLD_UNFIT: "a call of gold does not fit the tool's own schema",
    Kind.GOLD_WITHHELD: "gold calls a tool that the agent is not given",
    Kind.WITHHELD_UNNEEDED: "a turn counts as impossible without tools that its gold never calls",
    Kind.BREAKS_POLICY: "gold breaks a sentence of the stated policy",
    Kind.NOTHING_PASSES: "doing nothing passes",
    Kind.ECHO_PASSES: "saying the user's own words back, and no call, passes",
    Kind.WORDS_UNSCORED: "the task lists what must be said, and nothing scores it",
    Kind.WORD_TOO_SHORT: "what must be said also stands in what says something else",
    Kind.WRITE_UNNEEDED: "a write that the task asks for is done at the start",
    Kind.VALUE_UNCHECKED: "gold with another value in a write passes",
    Kind.MORE_PASSES: "gold and one write more, of another record, passes",
    Kind.ORDER_MATTERS: "gold with two independent writes the other way round fails",
    Kind.VALUE_UNSAID: "gold uses a value that nothing says",
    Kind.WORDING_UNSAID: "a text must be worded exactly so, and nothing says these words",
    Kind.REFUSAL_PASSES: "all that is asked of the agent is to refuse, and a silent one passes too",
    Kind.ARGUMENT_IGNORED: "a tool takes any value of an argument, in several tasks",
}


class Step(Record):
    """One call of a counterexample."""

    tool: str
    arguments: dict[str, object]
    text: str | None = None
    """The call as the benchmark writes it, where it writes calls as text."""


class Finding(Record):
    """A defect, and what shows it."""

    name: str
    """`<task>/<kind>`, with a number where a task has several."""
    task: str
    kind: Kind
    why: str
    """What is wrong here, in one line."""
    turns: list[list[Step]]
    """The calls of the counterexample, turn by turn."""
    message: str
    """What the agent says at the end of it."""
    passes: bool | None
    """The benchmark's verdict on it."""
    refused: list[int]
    """Positions of its calls that are refused."""
    argument: str = ""
    """`tool.argument` that the finding is about, where it is about one."""


_SEVERAL = 3
"""Tasks in which a tool takes any value of an argument: it is the tool's way then."""


def sorted_out(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with those that are one tool's way, whatever the task, called so."""
    tasks = Counter({(item.argument, item.task) for item in findings if item.argument})
    often = Counter(argument for argument, _task in tasks)
    return [
        item.model_copy(update={"kind": Kind.ARGUMENT_IGNORED})
        if item.kind is Kind.VALUE_UNCHECKED and often[item.argument] >= _SEVERAL
        else item
        for item in findings
    ]


def steps(turns: Turns) -> list[list[Step]]:
    """Return calls as a finding holds them."""
    return [[Step.model_validate(call) for call in turn] for turn in turns]


def calls_of(finding: Finding) -> Turns:
    """Return a finding's calls as the benchmark takes them."""
    return [[step.model_dump(exclude_none=True) for step in turn] for turn in finding.turns]


def refused(played: Played) -> list[int]:
    """Return positions of refused calls."""
    return [at for at, answer in enumerate(played.flat) if answer["error"]]


class Found:
    """Collects a task's findings."""

    def __init__(self, task: ForeignTask) -> None:
        self._task = task
        self.items: list[Finding] = []

    def add(
        self, kind: Kind, why: str, turns: Turns, message: str, played: Played, argument: str = ""
    ) -> None:
        """Add a finding with what was played to show it."""
        same = sum(item.kind is kind for item in self.items)
        self.items.append(
            Finding(
                name=f"{self._task.name}/{kind.value}" + (f"/{same + 1}" if same else ""),
                task=self._task.name,
                kind=kind,
                why=why,
                turns=steps(turns),
                message=message,
                passes=played.passes,
                refused=refused(played),
                argument=argument,
            )
        )


def replay(foreign: Foreign, finding: Finding) -> tuple[Played, bool]:
    """Play a counterexample again; return what came of it, and whether it is what was found."""
    played = foreign.run(finding.task, calls_of(finding), finding.message)
    return played, (played.passes, refused(played)) == (finding.passes, finding.refused)
