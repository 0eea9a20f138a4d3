"""Which part of the system is to blame for one rollout, decided in the open.

Order of the decision: a boundary that broke; what speaks against the components at all (review of
the task, checks of the rollout's own calls and texts); the clean arm, with every such defect
repaired; the first turn at which the clean arm answers otherwise. Then:

1. If the oracle cannot win from there in the clean arm, the policy had lost before anything
   differed, unless it did what the oracle would have done in the system as it is.
2. If it can win there and not in the system as it is, the defect that makes the difference is to
   blame.
3. Otherwise no defect stood in the way, and the policy lost it later.

A success is replayed in the clean arm: one that fails there is a false pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from attribution.broken import broken_boundary
from attribution.evidence import evidence
from attribution.interventions.calls import broken_calls
from attribution.interventions.copied import NEVER, num_looks
from attribution.interventions.doubts import believed, doubted_sentences
from attribution.interventions.reading import misread_turns, misshown_answers
from attribution.interventions.recorded import Standing, doubted_record, trusted
from attribution.interventions.runs import (
    Arm,
    Run,
    arm_of,
    first_difference,
    oracle_run,
    play_on,
    replay,
    texts_of,
    turns_before_difference,
)
from attribution.interventions.siblings import Sibling, nearest_sibling
from attribution.records import (
    Attribution,
    Blame,
    Decision,
    Evidence,
    EvidenceKind,
    Party,
    Verdict,
)
from attribution.remedies import Repaired, Suspect, repair_for_task, repaired_by
from components.errors import (
    BoundaryError,
    SelvageError,
    SynthesisError,
    VerifierError,
    boundary,
)
from components.records.system import System
from components.records.trajectory import (
    ScoredTrajectory,
    ScoreStatus,
    StopReason,
    Trajectory,
)

SURE, LIKELY, WEAK = 0.95, 0.75, 0.5
_STARVED = (
    StopReason.INVALID_TURNS,
    StopReason.GAVE_UP,
    StopReason.MAX_TURNS,
    StopReason.MAX_USER_TURNS,
    StopReason.CONTEXT_FULL,
)


class _How(Enum):
    """How several defects make the difference."""

    ALONE = "alone"
    """The repair of each of them alone does."""
    TOGETHER = "together"
    """Only the repair of all of them does."""
    OPEN = "open"
    """The repair of everything does, and of no one of them."""
    UNSCORED = "unscored"
    """They keep the run from being scored."""
    BEYOND_REPAIR = "beyond_repair"
    """A run without slips fails too, and nobody knows their repair."""


def attribute_trajectory(
    system: System,
    trajectory: Trajectory,
    scored: ScoredTrajectory,
    passed: Sequence[Trajectory] = (),
) -> Attribution:
    """Return the verdict on one rollout with its evidence.

    Args:
        system: the system that the rollout ran on.
        trajectory: the rollout.
        scored: its result under the system's own rubric.
        passed: siblings on the same system that were scored as successes; a verdict on the policy
            is surer where one of them went the same way up to the turn that lost.
    """
    try:
        with boundary(VerifierError, f"attribute {trajectory.rollout_id}"):
            return _attributed(system, trajectory, scored, passed)
    except BoundaryError as error:  # one rollout that cannot be judged must not end a round
        return _undecided(trajectory, (), f"a judgement that does not break: {error}")


def _attributed(
    system: System,
    trajectory: Trajectory,
    scored: ScoredTrajectory,
    passed: Sequence[Trajectory],
) -> Attribution:
    if trajectory.failure is not None:
        return broken_boundary(system, trajectory)
    if trajectory.task_id not in system.tasks or (
        trajectory.task_id not in system.reference.certificates
    ):
        return _undecided(trajectory, (), "the task has no certificate to hold anything against")
    try:
        case = _open_case(system, trajectory, scored, passed)
    except SynthesisError as error:
        return _undecided(trajectory, (), f"its world can be built: {error}")
    if scored.status is ScoreStatus.UNSCORED:
        return case.unscored()
    return case.audited() if scored.passed else case.failed()


def _open_case(
    system: System,
    trajectory: Trajectory,
    scored: ScoredTrajectory,
    passed: Sequence[Trajectory],
) -> _Case:
    arm = arm_of(system, trajectory.task_id)
    repaired = repair_for_task(system, trajectory.task_id)
    known = {suspect.place for suspect in repaired.suspects}
    broken = broken_calls(arm, trajectory)
    extra = tuple(
        item
        for item in (
            *believed(system, trajectory.task_id, broken),
            *misread_turns(arm, trajectory),
            *misshown_answers(arm, trajectory),
        )
        if item.place not in known
    )
    if extra:
        repaired = repair_for_task(system, trajectory.task_id, extra)
    return _Case(
        arm=arm,
        clean=arm_of(repaired.system, trajectory.task_id),
        repaired=repaired,
        trajectory=trajectory,
        scored=scored,
        texts=texts_of(trajectory),
        passed=tuple(passed),
        doubts=(
            *doubted_record(system, trajectory.task_id),
            *doubted_sentences(system, trajectory.task_id, broken),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One rollout with both of its arms."""

    arm: Arm
    """The system as it is."""
    clean: Arm
    """Every known defect repaired."""
    repaired: Repaired
    trajectory: Trajectory
    scored: ScoredTrajectory
    texts: tuple[str, ...]
    passed: tuple[Trajectory, ...]
    """Siblings that were scored as successes."""
    doubts: tuple[Evidence, ...]
    """References that others contradict; they speak against nobody."""

    def failed(self) -> Attribution:
        """Decide a failure."""
        if not self._wins(self.clean, 0):
            return self._hopeless()
        point = self._point_of_difference()
        if not self._wins(self.clean, point):
            lost = self._first_lost(self.clean, point)
            copied = self._copied_defects(lost)
            return self._blame(copied, lost) if copied else self._policy(lost)
        if self._wins(self.arm, point) and not self._starved_by_parser():
            lost = self._first_lost(self.arm, len(self.texts))
            return self._policy(lost)
        culprits, how = self._culprits(point)
        return self._blame(culprits, point, how=how)

    def audited(self) -> Attribution:
        """Look again at a success."""
        if not self.repaired.suspects or self._replayed(self.clean).passed is True:
            return self._verdict(Decision.CLEARED, (), self._facts(self.repaired.suspects))
        culprits = [
            suspect
            for suspect in self.repaired.suspects
            if (arm := self._swapped(suspect)) is not None and self._replayed(arm).passed is False
        ]
        how = _How.ALONE if culprits else _How.OPEN
        return self._blame(
            culprits or list(self.repaired.suspects), len(self.texts), False, how=how
        )

    def unscored(self) -> Attribution:
        """Say who kept a rollout from being scored."""
        culprits = self._those(lambda arm: self._replayed(arm).passed is not None)
        culprits = culprits or [
            item for item in self.repaired.suspects if item.party is Party.EVALUATOR
        ]
        if culprits:
            return self._blame(culprits, len(self.texts), how=_How.UNSCORED)
        return _undecided(
            self.trajectory,
            (*self._facts(self.repaired.suspects), *self.doubts),
            "a rubric that decides every criterion",
        )

    def _hopeless(self) -> Attribution:
        unrepaired = [item for item in self.repaired.suspects if item.change is None]
        if unrepaired and not self._wins(self.arm, 0):
            return self._blame(unrepaired, 0, confidence=WEAK, how=_How.BEYOND_REPAIR)
        sibling = self._sibling()
        if sibling is not None and not self.repaired.suspects:
            return self._otherwise_than(sibling)
        fact = self._fact(
            Party.TASK, f"task/{self.arm.task.task_id}#", 0, "the oracle fails from the start"
        )
        facts = (*self._facts(self.repaired.suspects), fact, *self.doubts)
        return _undecided(
            self.trajectory,
            facts,
            "a reference under which the oracle can do the task from its start",
        )

    def _point_of_difference(self) -> int:
        """Return how many turns the policy wrote before it could see anything of a defect."""
        if not self.repaired.suspects:
            return len(self.texts)
        return turns_before_difference(self.trajectory, self._replayed(self.clean).trajectory)

    def _first_lost(self, arm: Arm, most: int) -> int:
        """Return the fewest turns after which the oracle can no longer win; once lost is always
        lost.
        """
        low, high = 0, most
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._wins(arm, middle) else (low, middle)
        return low

    def _copied_defects(self, lost: int) -> list[Suspect]:
        """Return the defects without which the oracle would not have lost at the same turn in the
        same way.

        A script plays the task's gold: where gold leads nowhere, what it writes then is not its own
        choice. A model never sees gold, so for a model only the very same calls count.
        """
        if not self.repaired.suspects or lost == 0:
            return []
        own, is_script = self.trajectory.turns[lost - 1], self.trajectory.simulated

        def looks_before(arm: Arm) -> float:
            return num_looks(self._continued(arm, lost - 1).trajectory, lost - 1, own, is_script)

        copied = looks_before(self.arm)
        if copied == NEVER:
            return []
        return self._those(lambda arm: looks_before(arm) > copied)

    def _culprits(self, point: int) -> tuple[list[Suspect], _How]:
        """Return the defects that make the difference, and how they do.

        Those whose repair alone does; where none does, those that stand in the way even with all
        the others repaired, the one that the policy met first before the others.
        """
        alone = self._those(lambda arm: self._wins(arm, point))
        if alone:
            return alone, _How.ALONE
        needed = [
            suspect
            for suspect in self.repaired.suspects
            if (arm := self._all_but(suspect)) is not None and not self._wins(arm, point)
        ]
        met_first = self._those(
            lambda arm: (
                first_difference(self.trajectory, self._replayed(arm).trajectory) == point - 1
            )
        )
        culprits = needed or met_first or list(self.repaired.suspects)
        ordered = sorted(culprits, key=lambda suspect: suspect not in met_first)
        return ordered, _How.TOGETHER if needed else _How.OPEN

    def _those(self, holds: Callable[[Arm], bool]) -> list[Suspect]:
        return [
            suspect
            for suspect in self.repaired.suspects
            if (arm := self._swapped(suspect)) is not None and holds(arm)
        ]

    def _swapped(self, suspect: Suspect) -> Arm | None:
        """Return the system as it is with this one defect repaired."""
        if suspect.change is None:
            return None
        try:
            system = repaired_by(self.arm.system, suspect.change)
            return arm_of(system, self.arm.task.task_id)
        except SelvageError:
            return None

    def _all_but(self, left: Suspect) -> Arm | None:
        """Return the system with every defect repaired but this one."""
        system = self.arm.system
        try:
            for suspect in self.repaired.suspects:
                if suspect is not left and suspect.change is not None:
                    system = repaired_by(system, suspect.change)
            return arm_of(system, self.arm.task.task_id)
        except SelvageError:
            return None

    def _starved_by_parser(self) -> bool:
        """Whether calls went unread until the episode ended: the oracle would have found another
        format.
        """
        return self.trajectory.stop_reason in _STARVED and any(
            item.kind is EvidenceKind.PARSER
            for suspect in self.repaired.suspects
            for item in suspect.evidence
        )

    def _wins(self, arm: Arm, turns: int) -> bool:
        return self._continued(arm, turns).passed is True

    def _continued(self, arm: Arm, turns: int) -> Run:
        if turns == 0:
            return oracle_run(arm)
        return play_on(arm, self.texts[:turns], self.trajectory.seed)

    def _replayed(self, arm: Arm) -> Run:
        return replay(arm, self.texts, self.trajectory.seed)

    def _sibling(self) -> Sibling | None:
        return nearest_sibling(self.clean, self.trajectory, self.passed)

    def _policy(self, lost: int) -> Attribution:
        turn = max(lost - 1, 0)
        sibling = self._sibling()
        is_near = sibling is not None and sibling.shared >= turn
        if sibling is not None and is_near and sibling.shared > turn:
            return self._otherwise_than(sibling)  # no run without slips passes there, and it did
        words = f"before turn {turn} a run without slips still passes, after it none does"
        fact = self._fact(Party.POLICY, f"turn/{turn}", turn, words)
        facts = [fact] if sibling is None or not is_near else [fact, self._alike(sibling)]
        confidence = SURE if is_near or not self.repaired.suspects else LIKELY
        return self._policy_at(turn, confidence, facts)

    def _otherwise_than(self, sibling: Sibling) -> Attribution:
        """Blame the first turn in which the policy did otherwise than a sibling that passed."""
        turn = min(sibling.shared, max(len(self.texts) - 1, 0))
        return self._policy_at(turn, LIKELY, [self._alike(sibling)])

    def _alike(self, sibling: Sibling) -> Evidence:
        words = f"{sibling.rollout_id} did the same in the first {sibling.shared} turns, and passed"
        return evidence(
            EvidenceKind.SIBLING,
            Party.POLICY,
            f"turn/{sibling.shared}",
            words,
            task_id=self.trajectory.task_id,
            rollout_id=self.trajectory.rollout_id,
            sibling=sibling.rollout_id,
            shared=sibling.shared,
        )

    def _policy_at(self, turn: int, confidence: float, facts: Sequence[Evidence]) -> Attribution:
        blame = Blame(party=Party.POLICY, place=f"turn/{turn}", confidence=confidence)
        known = self._facts(self.repaired.suspects)
        return self._verdict(Decision.BLAMED, (blame,), (*known, *facts))

    def _blame(
        self,
        culprits: Sequence[Suspect],
        point: int,
        should_pass: bool = True,
        confidence: float | None = None,
        how: _How = _How.ALONE,
    ) -> Attribution:
        sure = confidence or (SURE if len(culprits) == 1 else LIKELY)
        if self._is_alone(culprits[0]):
            sure = min(sure, WEAK)
        blamed = tuple(
            Blame(party=item.party, place=item.place, confidence=sure if index == 0 else WEAK)
            for index, item in enumerate(culprits)
        )
        first = culprits[0]
        verb = "passes" if should_pass else "fails"
        places = ", ".join(item.place for item in culprits)
        words = {
            _How.ALONE: f"with any one of these repaired the run {verb} from turn {point} on: ",
            _How.TOGETHER: f"only with all of these repaired the run {verb} from turn {point} on: ",
            _How.OPEN: f"with all defects repaired the run {verb} from turn {point} on, and no "
            "one of these decides it: ",
            _How.UNSCORED: "no verdict on the run as long as these stand: ",
            _How.BEYOND_REPAIR: "a run without slips fails too, and no repair is known of these: ",
        }[how] + places
        if len(culprits) == 1 and how in (_How.ALONE, _How.TOGETHER):
            words = f"with {first.place} repaired the run {verb} from turn {point} on"
        fact = self._fact(
            first.party,
            first.place,
            point,
            words,
            operations=[]
            if first.change is None
            else [list(step) for step in first.change.operations],
        )
        return self._verdict(
            Decision.BLAMED,
            blamed,
            (*self._facts(self.repaired.suspects), fact),
            is_false_pass=not should_pass,
        )

    def _is_alone(self, suspect: Suspect) -> bool:
        """Whether one reference accuses, and there is no record that could agree with it."""
        kinds = {item.kind for item in suspect.evidence if item.rollout_id is None}
        standing = trusted(self.arm.system, self.arm.task.task_id).standing
        return standing is not Standing.RECORDED and bool(
            kinds & {EvidenceKind.SPEC, EvidenceKind.RUBRIC}
        )

    def _facts(self, suspects: Sequence[Suspect]) -> tuple[Evidence, ...]:
        return tuple(item for suspect in suspects for item in suspect.evidence)

    def _fact(self, party: Party, place: str, turn: int, words: str, **data: Any) -> Evidence:
        return evidence(
            EvidenceKind.CONTINUATION,
            party,
            place,
            words,
            task_id=self.trajectory.task_id,
            rollout_id=self.trajectory.rollout_id,
            turn=turn,
            **data,
        )

    def _verdict(
        self,
        decision: Decision,
        blamed: tuple[Blame, ...],
        facts: tuple[Evidence, ...],
        *,
        is_false_pass: bool = False,
    ) -> Attribution:
        facts = (*facts, *self.doubts)
        verdict = Verdict(
            rollout_id=self.trajectory.rollout_id,
            task_id=self.trajectory.task_id,
            decision=decision,
            blamed=blamed,
            is_false_pass=is_false_pass,
            evidence_ids=tuple(item.evidence_id for item in facts),
        )
        return Attribution(verdict=verdict, evidence=facts)


def _undecided(
    trajectory: Trajectory, facts: tuple[Evidence, ...], would_decide: str
) -> Attribution:
    verdict = Verdict(
        rollout_id=trajectory.rollout_id,
        task_id=trajectory.task_id,
        decision=Decision.UNDECIDED,
        would_decide=would_decide,
        evidence_ids=tuple(item.evidence_id for item in facts),
    )
    return Attribution(verdict=verdict, evidence=facts)
