"""A model that proposes patches where no rule mends a failure mode.

Owns the order of the work on one mode: ask, read, bind, look whether the evidence is gone, have the
gates decide, tell the model what was said, ask again. It decides nothing: a patch by a model is a
patch like any other. Whatever else happens (a useless answer, a spent budget, an endpoint that is
gone) ends in no patch, with the reason on record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attribution.patchers.model.answers import operations_of
from attribution.patchers.model.binding import bound_patch
from attribution.patchers.model.clearing import check_cleared, speaks
from attribution.patchers.model.config import ModelPatcherConfig
from attribution.patchers.model.dossier import dossier_of
from attribution.patchers.model.records import Answer, Attempt, Ended, Stage
from attribution.patchers.propose import facts_against
from attribution.records import AcceptanceRecord, Evidence, EvidenceKind, FailureMode
from components.errors import BoundaryError, ProviderError
from components.model.answers import Unusable
from components.model.budget import Budget, BudgetSpent
from components.model.endpoint import Door, open_door
from components.model.prompts import Prompts
from components.model.recording import Recording
from components.model.session import PromptTooLong, Session
from components.records.patch import Patch
from components.records.system import System

Decide = Callable[[Patch], AcceptanceRecord]
"""Says what becomes of a patch of the system as it is."""
_PROMPTS = Prompts(Path(__file__).resolve().parent / "prompts")
_MOST_SILENCES = 2
"""Failure modes in a row for which the endpoint failed, after which it is not asked any more."""
_MAX_TOLD = 4_000
"""Characters of an earlier answer that the model is shown again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What a model made of one failure mode."""

    attempt: Attempt
    decided: tuple[tuple[Patch, AcceptanceRecord], ...]
    """Its patches in order; an accepted one is the last."""


class ModelPatcher:
    """Asks a model for patches, within one budget. Lives as long as a round's repair stage."""

    def __init__(
        self,
        config: ModelPatcherConfig,
        recording: Recording,
        door: Door | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Open a patcher.

        Args:
            config: endpoint, budget, revisions.
            recording: what was asked in this round before; the budget is charged with all of it.
            door: makes one HTTP request; None opens the configured endpoint.
            sleep: waits that many seconds between tries.
        """
        self._config = config
        door = door or open_door(config)
        self._session = Session(config, Budget(config), recording, door, sleep, is_whole=True)
        self._num_silences = 0

    def mend(
        self,
        system: System,
        mode: FailureMode,
        evidence: Sequence[Evidence],
        refused: Sequence[tuple[Patch, str]],
        decide: Decide,
        most: int | None = None,
    ) -> Tried:
        """Ask for a patch until one is accepted, or no more are wanted.

        Args:
            system: the system as it is.
            mode: what is to be mended.
            evidence: evidence of the round; what speaks against the place is shown.
            refused: patches for this mode that were rolled back before, each with the reason.
            decide: the gates.
            most: patches that may be tried; None: as many as the model gives.

        Raises:
            ConfigError: the recording cannot be written.
        """
        work = _Work(self._session, system, mode, decide, [patch.patch_id for patch, _ in refused])
        if self._num_silences >= _MOST_SILENCES:
            return work.tried(Ended.NOT_ASKED)
        try:
            facts = facts_against(system, mode, evidence)
            dossier = dossier_of(system, mode, facts, refused)
            if dossier is None:
                return work.tried(Ended.NOT_PATCHABLE)
            if _is_mended(system, mode, facts):
                return work.tried(Ended.MENDED)
            ended = work.run(dossier, facts, self._config.revisions, most)
        except BudgetSpent as error:
            return work.tried(Ended.BUDGET, str(error))
        except PromptTooLong as error:
            return work.tried(Ended.WINDOW, str(error))
        except ProviderError as error:
            self._num_silences += 1
            return work.tried(Ended.ENDPOINT, str(error))
        except BoundaryError as error:  # what cannot be shown is not asked, and ends no round
            return work.tried(Ended.NOT_PATCHABLE, str(error))
        self._num_silences = 0
        return work.tried(ended)


def _is_mended(system: System, mode: FailureMode, facts: Sequence[Evidence]) -> bool:
    """Whether an earlier patch did away with what was found by a reference."""
    found = [fact for fact in facts if fact.kind is not EvidenceKind.CONTINUATION]
    return bool(found) and not speaks(system, mode, found, [mode.place])


class _Work:
    """One failure mode while it lasts."""

    def __init__(
        self,
        session: Session,
        system: System,
        mode: FailureMode,
        decide: Decide,
        known: list[str],
    ) -> None:
        self._session, self._system, self._mode = session, system, mode
        self._decide, self._known = decide, known
        self._answers: list[Answer] = []
        self._decided: list[tuple[Patch, AcceptanceRecord]] = []

    def run(
        self, dossier: dict[str, Any], facts: list[Evidence], revisions: int, most: int | None
    ) -> Ended:
        """Ask, and ask again with what was said of the answers before."""
        system_prompt = _PROMPTS.render("system")
        earlier: list[dict[str, str]] = []
        for turn in range(revisions + 1):
            if most is not None and len(self._decided) >= most:
                break
            stage = Stage.REVISE if turn else Stage.PROPOSE
            prompt = _PROMPTS.render("propose", **dossier, earlier=earlier)
            said = self._session.ask(stage, system_prompt, prompt)
            patch_id, problem = "", ""
            try:
                operations = operations_of(said)
                if not operations:
                    self._answers.append(Answer(stage=stage))
                    return Ended.DECLINED
                reason = f"by a model: {self._mode.statement}"
                patch = bound_patch(self._system, self._mode.place, operations, reason, self._known)
                check_cleared(self._system, self._mode, facts, patch)
                record = self._decide(patch)
                self._decided.append((patch, record))
                self._known.append(patch.patch_id)
                patch_id, problem = patch.patch_id, "" if record.accepted else record.reason
            except Unusable as error:
                problem = str(error)
            self._answers.append(Answer(stage=stage, patch_id=patch_id, problem=problem))
            if not problem:
                return Ended.ACCEPTED
            earlier.append({"text": (said.text or "")[:_MAX_TOLD], "problem": problem})
        return Ended.NO_MORE

    def tried(self, ended: Ended, problem: str = "") -> Tried:
        """Return what came of it."""
        attempt = Attempt(
            mode_id=self._mode.mode_id, answers=tuple(self._answers), ended=ended, problem=problem
        )
        return Tried(attempt=attempt, decided=tuple(self._decided))
