"""What a model was asked to mend, what it answered, and what ended it. Data only."""

from __future__ import annotations

from enum import StrEnum

from components.records.base import Record


class Stage(StrEnum):
    """What a request is for; costs are counted by it."""

    PROPOSE = "propose"
    REVISE = "revise"


class Ended(StrEnum):
    """What ended the work on one failure mode."""

    ACCEPTED = "accepted"
    """A patch passes every gate."""
    NO_MORE = "no_more"
    """No patch came of as many answers as `revisions` allows, or it was rolled back."""
    DECLINED = "declined"
    """The model says that it has no patch."""
    MENDED = "mended"
    """An earlier patch had mended it; nothing was asked."""
    NOT_PATCHABLE = "not_patchable"
    """No patch may touch the place; nothing was asked."""
    BUDGET = "budget"
    WINDOW = "window"
    """The prompt, with the answer that it allows, is longer than the model can read."""
    ENDPOINT = "endpoint"
    NOT_ASKED = "not_asked"
    """The endpoint had failed too often before; nothing was asked."""


class Answer(Record):
    """One answer of the model."""

    stage: Stage
    patch_id: str = ""
    """The patch that came of it; empty where none did."""
    problem: str = ""
    """Why no patch came of it, or why it was rolled back; empty where it was accepted."""


class Attempt(Record):
    """What a model made of one failure mode."""

    schema_version: int = 1
    mode_id: str
    answers: tuple[Answer, ...] = ()
    ended: Ended
    problem: str = ""
    """What the endpoint or the budget said, where that ended it."""
