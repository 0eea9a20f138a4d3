"""The model's turn in the repair stage: patches where no rule mended a failure mode.

Every exchange is in the round's folder, so that a round that was killed asks for nothing twice, and
one budget covers the round. The gates alone decide; whatever ends a model's work ends no round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from attribution.patchers.model.config import ModelPatcherConfig
from attribution.patchers.model.patcher import Decide, ModelPatcher
from attribution.patchers.model.records import Attempt, Ended
from attribution.records import Evidence, FailureMode
from components.model.budget import Budget
from components.model.recording import Recording
from components.records.frozen import FrozenDict
from components.records.system import System
from loop.context import RoundContext
from loop.decided import Decided, Fate
from loop.summary import PatcherCounts

ASKED = "repair.asked"
"""Units of the modes that a model was asked to mend, by the key of the attempt."""
_EXCHANGES = "patcher.jsonl"
_TOLD = frozenset({Ended.BUDGET, Ended.WINDOW, Ended.ENDPOINT})
"""Ends that the console tells, each once."""


class Asker:
    """The model behind `attribution.patcher` in one round; opened when it is first needed."""

    def __init__(self, context: RoundContext) -> None:
        """Args: context: the open round."""
        self._context = context
        self._patcher: ModelPatcher | None = None
        self._told: set[Ended] = set()

    def ask(
        self,
        system: System,
        mode: FailureMode,
        evidence: Sequence[Evidence],
        before: Sequence[Decided],
        decide: Decide,
        most: int | None,
    ) -> tuple[Attempt, list[Decided]]:
        """Return what the model made of one failure mode, and what became of its patches.

        Args:
            system: the system as it is.
            mode: what is to be mended.
            evidence: of all verdicts.
            before: decisions of the round so far; the model is told of those for this mode.
            decide: says what becomes of a patch.
            most: patches that may be tried; None: any number.

        Raises:
            ConfigError: the file of the exchanges cannot be used.
        """
        config = self._context.config.attribution.patcher
        assert config.kind == "model"
        if self._patcher is None:
            self._patcher = ModelPatcher(config, _recording(self._context))
        refused = [
            (item.patch, item.acceptance.reason)
            for item in before
            if item.mode_id == mode.mode_id and not item.acceptance.accepted
        ]
        tried = self._patcher.mend(system, mode, evidence, refused, decide, most)
        attempt = tried.attempt
        if attempt.ended in _TOLD - self._told:
            self._told.add(attempt.ended)
            self._context.console.line(f"no patch from the model: {attempt.problem}")
        return attempt, [
            Decided(mode_id=mode.mode_id, patch=patch, acceptance=record, is_from_model=True)
            for patch, record in tried.decided
        ]


def patcher_counts(context: RoundContext, decisions: Sequence[Decided]) -> PatcherCounts | None:
    """Return what a model was asked, what it cost and what came of it; None without a model.

    Args:
        context: the round, after its repair stage.
        decisions: every decision of it.
    """
    config = context.config.attribution.patcher
    if not isinstance(config, ModelPatcherConfig):
        return None
    attempts = context.folder.units.records(ASKED, Attempt).values()
    budget = Budget(config)
    if _exchanges(context).exists():
        for item in _recording(context, is_replay=True).exchanges:
            budget.charge(item.request.stage, item.request.messages, item.max_tokens, item.tried)
    fates = Counter(item.fate for item in decisions if item.is_from_model)
    return PatcherCounts(
        model=config.model,
        asked=sum(bool(item.answers) for item in attempts),
        unusable=sum(not it.patch_id and bool(it.problem) for a in attempts for it in a.answers),
        proposed=fates.total(),
        accepted=fates[Fate.KEPT],
        held=fates[Fate.HELD],
        tokens=budget.tokens,
        usd=round(budget.usd, 6),
        ended=FrozenDict(Counter(item.ended.value for item in attempts)),
        stages=FrozenDict(budget.stages),
    )


def _exchanges(context: RoundContext) -> Path:
    return context.folder.path / _EXCHANGES


def _recording(context: RoundContext, *, is_replay: bool = False) -> Recording:
    return Recording(
        _exchanges(context),
        key="attribution.patcher",
        is_replay=is_replay,
        mend="move it away, and what the round still needs of it is asked again",
    )
