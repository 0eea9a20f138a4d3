"""Blame as data: evidence that can be replayed, verdicts, failure modes, and what became of a
patch.

A place is `artifact#json-pointer` (`blueprint/helpdesk#/tools/assign_ticket`); for the policy it is
`turn/<index>`. Every verdict names the evidence that it rests on.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict, JsonObject
from components.records.task import Certificate


class Party(StrEnum):
    """Who can be to blame: the four components, and the policy."""

    ENVIRONMENT = "environment"
    TASK = "task"
    HARNESS = "harness"
    EVALUATOR = "evaluator"
    POLICY = "policy"


class EvidenceKind(StrEnum):
    """Which intervention found the fact."""

    GOLD_REPLAY = "gold_replay"
    """A certified gold call answers otherwise than recorded."""
    SPEC = "spec"
    """A call breaks what its documentation writes."""
    CONTRACT = "contract"
    """A reaction or a seed row breaks what is promised of the world."""
    SEED_ROW = "seed_row"
    """A row at the start is not the certified one."""
    RUBRIC = "rubric"
    """The stored rubric decides the certified run, nothing, or a mutant wrongly."""
    CANONICAL = "canonical"
    """Comparison with the certified final state disagrees with the score."""
    PARSER = "parser"
    """Another parser reads a valid call where the harness reads none, or another."""
    RENDERING = "rendering"
    """A template or a list of tools does not show what it must."""
    BUDGET = "budget"
    """A limit is below the norm."""
    DERIVATION = "derivation"
    """A gold value cannot be derived from what is visible, or is not the certified one."""
    REFERENT = "referent"
    """Words that stand for one row do not."""
    DEMAND = "demand"
    """A demand without a gold step, or a gold write without a demand."""
    ORACLE = "oracle"
    """A run without slips, limited to what the harness shows."""
    CONTINUATION = "continuation"
    """A recorded prefix, continued without slips under the references."""
    REFERENCE = "reference"
    """A reference that others contradict: a sentence, a promise or a record that is doubtful."""
    SIBLING = "sibling"
    """A rollout of the same task that went the same way, and passed."""
    BOUNDARY = "boundary"
    """A boundary that broke during the rollout."""
    TRACE = "trace"
    """Read off a trace that was made elsewhere; nothing was replayed."""
    PLAYED = "played"
    """A trace that was made elsewhere, played again in its benchmark with one thing otherwise."""


class Evidence(Record):
    """One observed fact that can be replayed."""

    evidence_id: str
    """Short hash of the rest."""
    kind: EvidenceKind
    party: Party
    """Whom it speaks of."""
    against: bool
    """True: it speaks against `party`; False: for it."""
    place: str
    statement: str
    """The fact in one plain sentence."""
    task_id: str | None = None
    rollout_id: str | None = None
    call_index: int | None = None
    """Which executed call of the rollout, or of gold, from 0."""
    data: JsonObject = FrozenDict()
    """What a replay needs: the call, the value expected and found, the setting that was swapped."""


class Decision(StrEnum):
    """What a verdict amounts to."""

    BLAMED = "blamed"
    CLEARED = "cleared"
    """A success that every reference confirms."""
    UNDECIDED = "undecided"
    """The evidence does not decide; `would_decide` says what would."""
    NOT_JUDGED = "not_judged"
    """The infrastructure broke (the policy's endpoint): nobody is blamed."""


class Blame(Record):
    """One party held to be at fault."""

    party: Party
    place: str
    confidence: float = Field(ge=0, le=1)


class Verdict(Record):
    """What is held of one rollout."""

    rollout_id: str
    task_id: str
    decision: Decision
    blamed: tuple[Blame, ...] = ()
    """First the one that is held to have decided the outcome."""
    is_false_pass: bool = False
    """True: the rollout was scored as a success, and should not have been."""
    would_decide: str = ""
    """For `undecided`: what evidence would decide."""
    evidence_ids: tuple[str, ...] = ()


class Attribution(Record):
    """A verdict with its evidence, those for and against."""

    schema_version: int = Field(default=1, ge=1, le=1)
    verdict: Verdict
    evidence: tuple[Evidence, ...]


class FailureMode(Record):
    """One defect of one component as the rollouts show it."""

    mode_id: str
    party: Party
    place: str
    rollouts: tuple[str, ...]
    lost_reward: float
    """Sum over the rollouts of 1 minus the reward; a false pass counts as 1."""
    example: str
    """Smallest rollout id of them; empty when the defect cost no rollout anything."""
    statement: str
    """What is wrong, in one sentence."""
    evidence_ids: tuple[str, ...]


class AcceptanceCheck(Record):
    """One deterministic check of a patch: how many cases hold before and after it."""

    before: int = Field(ge=0)
    after: int = Field(ge=0)
    total: int = Field(ge=0)
    holds: bool
    """Whether the check lets the patch through."""
    detail: str = ""
    """The first case that stands in the way."""


class Regression(Record):
    """A run that an accepted patch decided rightly, pinned: later patches must keep it."""

    schema_version: int = Field(default=1, ge=1, le=1)
    entry_id: str
    """Short hash of patch, rollout, seed and expectation."""
    patch_id: str
    """Patch that brought it."""
    task_id: str
    rollout_id: str
    seed: int
    texts: tuple[str, ...]
    """What the policy says again, turn by turn."""
    passes: bool
    """What is expected. True: the oracle goes on after the texts, and passes; False: the texts
    alone, a success that was none, fail."""
    versions: FrozenDict[str, str]
    """Component -> version of the system in which it came out so."""


class AcceptanceRecord(Record):
    """What became of a patch, accepted or rolled back."""

    schema_version: int = Field(default=1, ge=1, le=1)
    patch_id: str
    accepted: bool
    reason: str
    checks: FrozenDict[str, AcceptanceCheck]
    versions_before: FrozenDict[str, str]
    """Component -> version."""
    versions_after: FrozenDict[str, str]
    """Equal to `versions_before` when the patch was rolled back."""
    certificates: FrozenDict[str, Certificate] = FrozenDict()
    """New certificates of the tasks that the patch touches, made by probing again; apart from
    the patch.
    """
    regressions: tuple[Regression, ...] = ()
    """Examples that came out right, which later patches must keep."""


class GuardVerdict(StrEnum):
    """What pairs of outcomes say of a patch."""

    KEPT = "kept"
    """Shown to cost less than the margin."""
    HARMFUL = "harmful"
    """Shown to cost passes, and not shown to cost less than the margin."""
    TOO_FEW = "too_few"
    """The pairs show neither; the patch stands."""


class Guard(Record):
    """Outcomes of the tasks that a patch can touch, before and after, in pairs."""

    patch_id: str
    """`all`: every patch of the round together."""
    pairs: int = Field(ge=0)
    lost: int = Field(ge=0)
    """Pairs that passed before and fail after."""
    won: int = Field(ge=0)
    """Pairs that failed before and pass after."""
    p: float = Field(ge=0, le=1)
    """Of no harm: the smaller, the surer is harm."""
    margin_p: float = Field(ge=0, le=1)
    """Of a fall by the margin or more: the smaller, the surer is it that the patch may stay."""
    margin: float
    """Fall of the pass rate that is let pass, from 0 to 1."""
    alpha: float
    """What either p must not exceed to count: the configured alpha, divided."""
    power: float = Field(ge=0, le=1)
    """Chance that so many pairs show harm where the pass rate falls by exactly the margin."""
    verdict: GuardVerdict
