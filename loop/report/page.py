"""The page that a person reads: one HTML file that needs nothing beside it and asks for nothing.

Owns how the page is put together. Text of models, tools and servers is escaped, and the page's own
policy lets a browser neither load nor run anything, our few lines for large pages apart: where the
rollouts take more than `MAX_PLAIN_BYTES`, each is kept compressed and unpacked when it is opened.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup, escape

from components.records.system import System
from loop.blame import Blamed
from loop.doubted import references_in_doubt
from loop.fault_score import FaultScore
from loop.guard_records import GuardRound
from loop.repair import Repaired
from loop.report.changes import value_text
from loop.report.curves import draw_curve
from loop.report.guard_view import guard_view
from loop.report.round_picture import draw_round, name_of, percent
from loop.report.sections import (
    CHECKS,
    figures_of,
    patch_views,
    service_views,
    sureness,
    task_views,
    wrong_modes,
)
from loop.report.transcript import RolloutView, prompts_of, rollout_views
from loop.report.world_picture import arrows_of, draw_world
from loop.reviews import Review
from loop.rollouts import Rolled
from loop.summary import RoundSummary

MAX_PLAIN_BYTES = 4_000_000
"""Size of all rollouts' HTML above which each is compressed."""
_FILES = resources.files("loop.report")


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """One rollout as the page holds it: one of the two is empty."""

    html: Markup
    packed: str
    """Base64 of the HTML, compressed by gzip."""


def render_seed(summary: RoundSummary, system: System) -> str:
    """Return the page of round 0: services, tools, tasks."""
    return (
        _environment()
        .get_template("seed.html.j2")
        .render(
            script="",
            summary=summary,
            services=service_views(system),
            tasks=task_views(system),
            world=draw_world(system),
            arrows=arrows_of(system),
        )
    )


def render_round(
    summary: RoundSummary,
    system: System,
    before: Rolled,
    blamed: Blamed,
    repaired: Repaired,
    after: Rolled,
    score: FaultScore,
    max_plain_bytes: int = MAX_PLAIN_BYTES,
    reviewed: Sequence[Review] = (),
    guarded: GuardRound | None = None,
) -> str:
    """Return the page of a round.

    Args:
        summary: the figures.
        system: the system that the first pass ran on.
        before: the first pass.
        blamed: its verdicts and failure modes.
        repaired: every patch with its decision.
        after: the second pass.
        score: how the round did against planted faults; the page opens with it.
        max_plain_bytes: size of all rollouts' HTML above which each is compressed.
        reviewed: patches of earlier rounds that a person accepted, and that this round began with.
        guarded: what the guard found; None: it has not looked.
    """
    environment = _environment()
    groups = rollout_views(system, before, blamed, after)
    bodies, script = _bodies(environment, system, groups.values(), max_plain_bytes)
    figures = figures_of(summary, before, blamed, repaired)
    return environment.get_template("round.html.j2").render(
        summary=summary,
        figures=figures,
        picture=draw_round(figures),
        score=score,
        checks=CHECKS,
        modes=blamed.modes,
        wrong=wrong_modes(score),
        doubts=references_in_doubt(
            summary.run, summary.round, blamed.attributions, repaired.decisions
        ),
        patches=patch_views(repaired),
        reviewed=reviewed,
        guard=guard_view(guarded or GuardRound()),
        groups=groups,
        bodies=bodies,
        prompts=prompts_of(before),
        services=service_views(system),
        world=draw_world(system),
        arrows=arrows_of(system),
        tasks=task_views(system, before, after),
        script=script,
    )


def render_picture(
    title: str,
    texts: Sequence[str],
    picture: Markup,
    rules: Markup,
    tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[str]]]],
) -> str:
    """Return a page of one picture.

    Args:
        title: its heading.
        texts: paragraphs above the picture.
        picture: SVG.
        rules: style rules of its own.
        tables: heading, names of the columns and rows of each table below it.
    """
    template = _environment().get_template("picture.html.j2")
    return template.render(title=title, texts=texts, picture=picture, rules=rules, tables=tables)


def _bodies(
    environment: Environment,
    system: System,
    groups: Iterable[list[RolloutView]],
    max_plain_bytes: int,
) -> tuple[dict[str, Body], str]:
    """Return each rollout's body by id, and the script that unpacks them; empty: not needed."""
    template = environment.get_template("rollout.html.j2")
    reactions = system.environment.reactions
    whole = {
        view.rollout_id: template.render(view=view, reactions=reactions)
        for views in groups
        for view in views
    }
    if sum(map(len, whole.values())) <= max_plain_bytes:
        return {key: Body(html=Markup(text), packed="") for key, text in whole.items()}, ""
    return {key: Body(html=Markup(), packed=_packed(text)) for key, text in whole.items()}, _read(
        "unpack.js"
    ).strip()


def _packed(html: str) -> str:
    data = gzip.compress(html.encode("utf-8", "backslashreplace"), mtime=0)
    return base64.b64encode(data).decode("ascii")


def _environment() -> Environment:
    environment = ImmutableSandboxedEnvironment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_read),
    )
    environment.globals["style"] = Markup(_read("style.css"))
    environment.globals["draw_curve"] = draw_curve
    environment.filters["soft"] = _breakable
    environment.filters["sureness"] = sureness
    environment.filters["party"] = name_of
    environment.filters["json"] = value_text
    environment.filters["percent"] = percent
    environment.filters["script_hash"] = _script_hash
    return environment


def _breakable(text: str) -> Markup:
    """Return the text with places where a narrow column may break it, all else escaped."""
    return Markup(re.sub(r"(?<=[_./#])(?=\w)", "<wbr>", str(escape(text))))


def _script_hash(script: str) -> str:
    """Return what a content security policy calls this one script."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _read(name: str) -> str:
    return _FILES.joinpath(name).read_text(encoding="utf-8")
