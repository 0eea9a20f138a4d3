"""The page of a round: whole, readable by anyone, closed to what it tells of."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from attribution.evidence import evidence
from attribution.records import Evidence, EvidenceKind, Party
from components.records.blueprint import Blueprint
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec
from components.records.system import Environment, Reference
from components.records.trajectory import Trajectory
from components.records.world import Reaction, ReactionWrite, Trigger
from loop.blame import Blamed, attribute
from loop.commands.evolve import outcome
from loop.compute.pool import open_pool
from loop.config import RunConfig
from loop.console import Console
from loop.context import RoundContext
from loop.fault_score import FaultScore
from loop.grow import grow
from loop.ledger import Ledger, load_system
from loop.repair import repair
from loop.report.changes import turn_changes, value_text
from loop.report.page import render_round
from loop.report.round_picture import RoundFigures, draw_round
from loop.report.world_picture import arrows_of, draw_world
from loop.rollouts import roll_out
from loop.round import evolve
from loop.summary import Reevaluation, RoundSummary, TrainingSummary
from loop.units import UnitLog
from tests.loop.configs import run_config
from tests.loop.conftest import TrackedRun
from tests.loop.endpoint import ANSWER, HOSTILE, reply, serve
from tests.loop.toy_round import toy_system

VOID = {"meta", "br", "wbr", "link", "img"}
SHAPES = {"rect", "circle", "path", "polyline", "polygon"}


class Page(HTMLParser):
    """What a reader, a browser and a screen reader find in a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.levels: list[int] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.boxes: list[dict[str, str | None]] = []
        """For each table, the element right around it."""
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        assert self._open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if tag == "table":
            self.boxes.append(self._open[-1][1])
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if tag == "a":
            self.links.append(str(found["href"]))
        if tag not in VOID:
            self._open.append((tag, found))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in SHAPES
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def html(tracked_run: TrackedRun) -> str:
    return (tracked_run.folder(1) / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def told(tracked_run: TrackedRun) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((tracked_run.folder(1) / "summary.json").read_bytes())
    return body


def trajectories(folder: Path, stage: str) -> list[Trajectory]:
    with UnitLog(folder / "units.sqlite") as units:
        return [Trajectory.model_validate(body) for body in units.done(stage).values()]


@contextmanager
def rendering(config: RunConfig, *facts: Evidence) -> Iterator[Any]:
    """Yield what renders the page of a finished round again, from what it has recorded; each
    verdict has the facts besides."""
    ledger = Ledger(Path(config.runs_dir), config.run)
    console = Console(io.StringIO())
    with (
        ledger.open_round(1, config) as folder,
        open_pool(config.compute, console.line) as pool,
    ):
        context = RoundContext(1, config, folder, console, pool)
        system = grow(context, load_system(folder.store, folder.system_version()))
        before = roll_out(context, "rollout", system)
        found = attribute(context, system, before)
        attributions = {
            key: item.model_copy(update={"evidence": (*item.evidence, *facts)})
            for key, item in found.attributions.items()
        }
        blamed = Blamed(attributions, found.modes)
        repaired = repair(context, system, before, blamed)
        after = roll_out(context, "reeval", repaired.system)
        summary = RoundSummary.model_validate_json((folder.path / "summary.json").read_bytes())

        def render(max_plain_bytes: int = 10**9, **changes: Any) -> str:
            told = summary.model_copy(update=changes)
            score = FaultScore((), ())
            return render_round(
                told, system, before, blamed, repaired, after, score, max_plain_bytes
            )

        yield render


def unpacked(html: str) -> list[str]:
    found = re.findall(r'data-packed="([^"]+)"', html)
    return [gzip.decompress(base64.b64decode(item)).decode() for item in found]


def test_every_rollout_is_told_turn_by_turn(tracked_run: TrackedRun, page: Page) -> None:
    folder = tracked_run.folder(1)
    seen = {"effect": 0, "reaction": 0}

    for stage in ("rollout", "reeval"):
        for trajectory in trajectories(folder, stage):
            for turn in trajectory.turns:
                assert turn.raw_text in page.text
                assert all(item.shown in page.text for item in turn.observations)
                assert turn.problem in page.text
                assert turn.feedback in page.text
                for change in (item for found in turn_changes(turn).values() for item in found):
                    seen[change.by] += 1
                    assert change.row_id in page.text
                    assert all(value_text(item.after) in page.text for item in change.fields)
    assert min(seen.values()) > 0, "the rounds show changes of both kinds"
    assert {f"r-{item.rollout_id}" for item in trajectories(folder, "rollout")} <= {*page.ids}


def test_a_reaction_is_told_as_a_sentence_beside_its_change(page: Page, html: str) -> None:
    rows = re.findall(r'<span class="tag maybe">reaction</span>.*?</td>', html, re.DOTALL)

    assert rows
    assert all(re.search(r'<span class="soft">When |<span class="soft">A ', row) for row in rows)


def test_the_picture_tells_the_figures_of_the_summary(tracked_run: TrackedRun, page: Page) -> None:
    summary = told(tracked_run)
    labels = [str(found["aria-label"]) for tag, found in page.tags if tag == "svg"]

    wide, narrow = labels[:2]

    assert wide == narrow, "one picture, drawn for a desk and for a phone"
    rollouts, verdicts = summary["rollouts"], summary["verdicts"]
    assert f"{rollouts['total']} rollouts of {summary['tasks']['certified']} tasks" in wide
    assert f"{rollouts['passed']} passed" in wide
    assert f"{rollouts['failed']} failed" in wide
    for party in ("environment", "task", "harness", "evaluator", "policy"):
        assert f"{party} {verdicts[party]}" in wide or verdicts[party] == 0
    assert f"{summary['patches']['accepted']} kept" in wide
    assert f"{summary['reeval']['before']['rate']:.0%} before" in wide
    assert f"{summary['reeval']['after']['rate']:.0%} after" in wide


def test_both_pass_rates_stand_with_their_intervals(tracked_run: TrackedRun, page: Page) -> None:
    text = " ".join(page.text.split())

    for rate in told(tracked_run)["reeval"].values():
        assert (
            f"{rate['passed']} of {rate['scored']} ({rate['rate']:.0%}; 95 % interval "
            f"{rate['low']:.0%} to {rate['high']:.0%})" in text
        )


def test_patches_stand_with_their_difference_and_figures(html: str) -> None:
    (section,) = re.findall(r'<h2 id="patches">(.*?)<h2 id="rollouts">', html, re.DOTALL)

    assert section.count("<details") == section.count('<div class="diff">') > 3
    assert '<span class="plus">+' in section
    assert '<span class="minus">-' in section
    assert "failing rollouts that can be won with this patch alone" in section


def test_headings_are_in_order_and_links_lead_somewhere(page: Page) -> None:
    assert page.levels[0] == 1
    assert page.levels.count(1) == 1
    steps = zip(page.levels, page.levels[1:], strict=False)
    assert all(later - earlier <= 1 for earlier, later in steps)
    assert len(page.ids) == len({*page.ids})
    assert page.links
    assert {link for link in page.links if link[1:] not in page.ids or link[0] != "#"} == set()


def test_a_wide_table_scrolls_in_a_box_that_the_keyboard_reaches(page: Page) -> None:
    assert len(page.boxes) > 10
    for box in page.boxes:
        assert (box["class"], box["tabindex"], box["role"]) == ("scroll", "0", "region")
        assert box["aria-label"]


def test_nothing_is_loaded_and_nothing_runs(page: Page, html: str) -> None:
    policy = [found for tag, found in page.tags if tag == "meta" and "http-equiv" in found]

    assert [item["content"] for item in policy] == [
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    ]
    for tag, found in page.tags:
        assert tag not in ("script", "link", "img", "iframe", "object", "base", "form")
        assert not [name for name in found if name in ("src", "srcset") or name.startswith("on")]
    assert "@import" not in html
    assert "url(" not in html


def test_a_large_page_holds_the_same_rollouts_compressed(tracked_run: TrackedRun) -> None:
    with rendering(tracked_run.config) as render:
        plain, packed = render(), render(max_plain_bytes=1000)

    bodies = unpacked(packed)
    assert len(bodies) == told(tracked_run)["rollouts"]["total"]
    assert all(body in plain for body in bodies)
    assert len(packed) < len(plain) - sum(map(len, bodies)) / 2
    (script,) = re.findall(r"<script>(.*?)</script>", packed, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in packed


def test_each_reference_in_doubt_is_told_once_with_what_contradicts_it(
    tracked_run: TrackedRun, page: Page
) -> None:
    doubt = evidence(
        EvidenceKind.REFERENCE,
        Party.ENVIRONMENT,
        "spec/directory#/tools/set_leave/rules/future",
        "doubtful: all of it",
        against=False,
        says="the call breaks <the rule>",
        contradicted_by="the certified run of t_1",
        unused="the sentence speaks against nothing",
    )

    with rendering(tracked_run.config, doubt) as render:
        html = render()

    (section,) = re.findall(r'<h3 id="doubts">(.*?)</table>', html, re.DOTALL)
    met = told(tracked_run)["verdicts"]["attributed"]
    (row,) = [item for item in section.split("<tr>") if "set_" in item]
    for words in (
        "the call breaks &lt;the rule&gt;",
        f"met by {met} rollouts",
        "the certified run of t_1",
        "the sentence speaks against nothing",
        f"python -m loop attribute run={tracked_run.config.run} +round=1 rollout=",
    ):
        assert words in row
    assert 'href="#doubts"' in html
    assert "doubts" not in page.ids
    quiet = RoundSummary.model_validate(told(tracked_run))
    (line,) = set(outcome(quiet.model_copy(update={"doubts": ("a", "b")}))) - set(outcome(quiet))
    assert line.startswith("2 references are in doubt")


def test_learning_is_shown_when_there_was_any(tracked_run: TrackedRun, page: Page) -> None:
    training = TrainingSummary(
        method="sft+grpo",
        samples=40,
        left_out=FrozenDict({"unscored": 3}),
        figures=FrozenDict({"tokens trained on": 12345.0}),
        curves=FrozenDict({"loss <b>": (2.0, 1.5, float("nan"), 1.25)}),
        checkpoint="checkpoint",
    )

    with rendering(tracked_run.config) as render:
        html = render(training=training)

    assert "Nothing was trained in this round." in page.text
    assert "sft+grpo on 40 samples. Left out: unscored 3." in html
    assert "12345" in html
    assert 'aria-label="loss &lt;b&gt;: 2 at first, 1.25 at last"' in html
    assert "loss <b>" not in html


@pytest.mark.parametrize(
    ("trained_on", "said"), [(40, "trained on 40 samples"), (None, "its own slips: not patched")]
)
def test_the_picture_tells_what_became_of_the_policys_failures(
    trained_on: int | None, said: str, tracked_run: TrackedRun
) -> None:
    figures = RoundFigures(
        tasks=4,
        verdicts=Counter({("failed", "policy"): 3, ("passed", "clean"): 5}),
        kept=Counter(),
        rolled_back=Counter(),
        trained_on=trained_on,
        reeval=Reevaluation.model_validate(told(tracked_run)["reeval"]),
    )

    assert said in draw_round(figures)


def test_speed_is_shown_where_the_policy_gives_its_tokens(
    tracked_run: TrackedRun, page: Page
) -> None:
    with rendering(tracked_run.config) as render:
        html = render(sampled_tokens=9000, seconds=FrozenDict({"rollout": 4.5}))

    assert "sampled 9000 tokens in the first pass: 2000 tokens a second" in html
    assert "tokens a second" not in page.text


def test_a_world_of_many_services_is_drawn_with_all_its_arrows() -> None:
    names = [f"service_{letter}" for letter in "abcdefghijkl"]
    links = [(names[at], names[(at * 5 + 3) % 12]) for at in range(12)] + [(names[0], names[11])]
    system = toy_system("p").model_copy(
        update={
            "environment": Environment(
                blueprints=FrozenDict({name: blueprint(name) for name in names}),
                seeds=FrozenDict(),
                reactions=FrozenDict({f"r{at}": reaction(*link) for at, link in enumerate(links)}),
            ),
            "reference": Reference(
                specs=FrozenDict(
                    {name: ServiceSpec(service=name, tools=FrozenDict()) for name in names}
                )
            ),
        }
    )

    pictures = str(draw_world(system))

    assert len(arrows_of(system)) == 13
    for half in pictures.split("<svg")[1:]:
        assert all(half.count(f">{name}</text>") == 1 for name in names)
        curves = re.findall(r'<path d="([^"]+)" stroke-width="[\d.]+" class="arrow"/>', half)
        assert len({*curves}) == 13
        width, height = map(float, re.findall(r'viewBox="0 0 (\d+) (\d+)"', half)[0])
        for curve in curves:
            numbers = [float(number) for number in re.findall(r"-?[\d.]+", curve)]
            assert all(0 <= x <= width for x in numbers[::2])
            assert all(0 <= y <= height for y in numbers[1::2])


def blueprint(name: str) -> Blueprint:
    return Blueprint(service=name, entities=FrozenDict(), tools=FrozenDict())


def reaction(source: str, target: str) -> Reaction:
    write = ReactionWrite(service=target, table="row", action="update", fields=FrozenDict())
    return Reaction(
        text=f"When {source} changes, {target} follows.",
        on=Trigger(service=source, table="row", event="update"),
        writes=FrozenDict({"row": write}),
    )


def test_what_a_model_writes_stays_text_when_it_is_unpacked(tmp_path: Path) -> None:
    config = run_config(
        *("+round=1", f"runs_dir='{tmp_path}'", "scale=smoke", "task.count=1", "tracking=none"),
        *("policy=openai", "policy.model='<script>alert(3)</script>'", "policy.base_url=http://x"),
    )
    breakout = ' <b onclick=alert(4)> </pre></details> " onload="alert(5)" \u202e'
    with serve(reply(ANSWER + HOSTILE + breakout)) as base_url, open(os.devnull, "w") as silence:
        served = config.policy.model_copy(update={"base_url": base_url})
        config = config.model_copy(update={"policy": served})
        evolve(config, Console(silence))

    with rendering(config) as render:
        pages = [render(), render(max_plain_bytes=0)]

    for html in (*pages, *unpacked(pages[1])):
        found = Page(html)
        assert [tag for tag, _ in found.tags if tag == "img"] == []
        assert [name for _, names in found.tags for name in names if name.startswith("on")] == []
        assert "<script>alert" not in html
    assert [tag for tag, _ in Page(pages[0]).tags if tag == "script"] == []
    assert [tag for tag, _ in Page(pages[1]).tags if tag == "script"] == ["script"]
    assert all(breakout in Page(body).text for body in unpacked(pages[1]))


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_text_can_be_read_on_every_ground_by_day_and_by_night(html: str) -> None:
    light, dark = re.findall(r":root \{(.*?)\}", html, re.DOTALL)[:2]

    for scheme in (light, dark):
        colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", scheme))
        grounds = ("paper", "ground", "sunk", "chip", "warm")
        pairs = [("ink", ground) for ground in grounds]
        pairs += [(name, "paper") for name in ("soft", "blue", "good", "bad")]
        pairs += [("soft", "ground"), ("blue", "ground"), ("good", "sunk"), ("bad", "sunk")]
        pairs += [(name, f"{name}-chip") for name in ("good", "bad", "warn")]
        for text, ground in pairs:
            high, low = sorted((luminance(colours[text]), luminance(colours[ground])))[::-1]
            assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)
