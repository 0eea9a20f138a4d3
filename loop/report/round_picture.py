"""The picture of a round: rollouts, their scores, who is blamed, what was patched, the pass rate.

The same figures are drawn twice, wide and for a phone; the page shows the one that fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from markupsafe import Markup

from loop.report.drawing import DOWN, RIGHT, Drawing
from loop.summary import PassRate, Reevaluation

OUTCOMES = ("failed", "unscored", "passed")
PARTIES = ("environment", "task", "harness", "evaluator", "policy", "undecided", "clean", "unseen")
"""Where a rollout's verdict can fall, in the order in which they are drawn."""
PARTY_NAMES = {"clean": "success confirmed", "unseen": "success not checked"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundFigures:
    """What the picture is drawn from."""

    tasks: int
    verdicts: Counter[tuple[str, str]]
    """(outcome, party) -> rollouts."""
    kept: Counter[str]
    """Component -> patches that were kept."""
    rolled_back: Counter[str]
    """Component -> patches that were rolled back."""
    held: Counter[str] = field(default_factory=Counter)
    """Component -> patches that wait for a person."""
    trained_on: int | None
    """Samples that the policy was trained on; None when nothing was trained."""
    reeval: Reevaluation

    def outcome(self, outcome: str) -> int:
        """Return how many rollouts ended so."""
        return sum(count for (found, _), count in self.verdicts.items() if found == outcome)

    def party(self, party: str) -> int:
        """Return how many rollouts' verdicts fall here."""
        return sum(count for (_, found), count in self.verdicts.items() if found == party)

    def patches(self, component: str) -> int:
        """Return how many patches of a component were decided."""
        return self.kept[component] + self.held[component] + self.rolled_back[component]

    @property
    def parties(self) -> list[str]:
        """Parties that are drawn: all with a rollout, and components that were patched."""
        return [name for name in PARTIES if self.party(name) or self.patches(name)]


def draw_round(figures: RoundFigures) -> Markup:
    """Return both drawings of the picture."""
    return _wide(figures) + _narrow(figures)


def describe(figures: RoundFigures) -> str:
    """Return the picture in one sentence."""
    total = sum(figures.verdicts.values())
    scores = ", ".join(f"{figures.outcome(name)} {name}" for name in reversed(OUTCOMES))
    blamed = ", ".join(f"{name_of(name)} {figures.party(name)}" for name in figures.parties)
    before, after = figures.reeval.before, figures.reeval.after
    held = f"{figures.held.total()} held, " if figures.held else ""
    return (
        f"{total} rollouts of {figures.tasks} tasks: {scores}. Verdicts: {blamed}. Patches: "
        f"{figures.kept.total()} kept, {held}{figures.rolled_back.total()} rolled back. Pass rate "
        f"{percent(before.rate)} before and {percent(after.rate)} after."
    )


def name_of(party: str) -> str:
    """Return a party as a reader sees it."""
    return PARTY_NAMES.get(party, party)


def percent(value: float | None) -> str:
    """Return a share as a percentage; `-` where there is none."""
    return "-" if value is None else f"{value:.0%}"


def _wide(figures: RoundFigures) -> Markup:
    """Left to right: bands as wide as there are rollouts."""
    drawing = Drawing(1040)
    total = max(sum(figures.verdicts.values()), 1)
    top, scale = 70.0, 260.0 / total
    spans = _stack(figures.parties, figures.party, top, scale, 40)
    height = max(max((end for _, end in spans.values()), default=top), top + 260) + 20
    middle = (top + height - 20) / 2
    for x, title in ((0, "played"), (206, "scored"), (420, "blamed"), (640, "patched")):
        drawing.text(x, 16, title, "head")
    drawing.text(832, 16, "played again", "head")

    shown = [name for name in OUTCOMES if figures.outcome(name)]
    free = 260 + 30 * (len(shown) - 1)
    scores = _stack(shown, figures.outcome, middle - free / 2, scale, 0, gap=30)
    drawing.text(0, middle - 156, f"{total} rollouts of {figures.tasks} tasks", "ink strong")
    drawing.rect(0, middle - 130, 16, 260, "fill-soft")
    used = middle - 130
    for name, (start, _) in scores.items():
        count = figures.outcome(name)
        drawing.ribbon((16, used), (206, start), count * scale, f"band {name}")
        used += count * scale
        drawing.rect(206, start, 16, count * scale, f"fill-{name}")
        drawing.text(206, start - 9, f"{count} {name}", "ink strong")

    leaving = {name: start for name, (start, _) in scores.items()}
    arriving = {name: start for name, (start, _) in spans.items()}
    for party in figures.parties:
        for outcome in shown:
            size = figures.verdicts[outcome, party] * scale
            if size:
                left, right = (222, leaving[outcome]), (420, arriving[party])
                drawing.ribbon(left, right, size, f"band {party}")
                leaving[outcome] += size
                arriving[party] += size

    for party, (start, _) in spans.items():
        size = figures.party(party) * scale
        drawing.rect(420, start, 16, max(size, 2), f"fill-{party}")
        line = start + max(size, 26) / 2
        drawing.text(444, line + 1, name_of(party), "ink strong")
        drawing.text(444, line + 16, _count(figures.party(party), "rollout"), "soft")
        _draw_fate(drawing, 640, line, party, figures)
        if figures.patches(party):
            drawing.line(((560, line), (622, line)), "stroke")
            drawing.arrow_head(629, line, RIGHT)
    drawing.line(((812, top), (818, top), (818, height - 26), (812, height - 26)), "stroke")
    _draw_rates(drawing, 834, middle - 62, 200, figures.reeval)
    return drawing.markup(height, describe(figures), "wide")


def _narrow(figures: RoundFigures) -> Markup:
    """Top to bottom: one bar of rollouts, one row for each party, the pass rate."""
    drawing = Drawing(344)
    total = max(sum(figures.verdicts.values()), 1)
    drawing.text(0, 16, f"{total} rollouts of {figures.tasks} tasks were played", "ink strong")
    x = 0.0
    for name in reversed(OUTCOMES):
        size = 344 * figures.outcome(name) / total
        if size:
            drawing.rect(x, 26, max(size - 2, 1), 22, f"fill-{name}")
            x += size
    scores = ", ".join(
        f"{figures.outcome(name)} {name}" for name in reversed(OUTCOMES) if figures.outcome(name)
    )
    drawing.text(0, 66, scores, "ink")
    _draw_step(drawing, 78, "who is to blame, and what was patched")
    y = 122.0
    most = max((figures.party(name) for name in figures.parties), default=1) or 1
    for party in figures.parties:
        count = figures.party(party)
        drawing.text(0, y + 14, f"{name_of(party)} {count}", "ink")
        drawing.rect(0, y + 20, max(150 * count / most, 2), 12, f"fill-{party}")
        _draw_fate(drawing, 166, y + 22, party, figures)
        y += 46
    _draw_step(drawing, y + 4, "played again: same tasks, same seeds")
    _draw_rates(drawing, 6, y + 54, 330, figures.reeval)
    return drawing.markup(y + 186, describe(figures), "narrow")


def _stack(
    names: Iterable[str],
    count: Callable[[str], int],
    top: float,
    scale: float,
    least: float,
    gap: float = 10,
) -> dict[str, tuple[float, float]]:
    """Return (top, bottom) of each name's place, one below the other."""
    spans = {}
    for name in names:
        size = max(count(name) * scale, least)
        spans[name] = (top, top + size)
        top += size + gap
    return spans


def _draw_fate(drawing: Drawing, x: float, y: float, party: str, figures: RoundFigures) -> None:
    """Tell what was done about a party: a square for each patch, and words."""
    if party in ("clean", "unseen"):
        return
    if party == "policy":
        trained = figures.trained_on
        text = "its own slips: not patched" if trained is None else f"trained on {trained} samples"
        drawing.text(x, y + 5, text, "soft")
        return
    kept, held, back = figures.kept[party], figures.held[party], figures.rolled_back[party]
    if not kept + held + back:
        drawing.text(x, y + 5, "no patch", "soft")
        return
    squares = ["fill-good"] * kept + ["fill-blue"] * held + ["hollow-bad"] * back
    for index, kind in enumerate(squares[:10]):
        drawing.rect(x + index * 15, y - 15, 11, 11, kind)
    words = [f"{kept} kept"] if kept else []
    words += [f"{held} held"] if held else []
    words += [f"{back} rolled back"] if back else []
    drawing.text(x, y + 12, ", ".join(words), "ink")


def _draw_step(drawing: Drawing, y: float, title: str) -> None:
    drawing.line(((6, y), (6, y + 17)), "stroke")
    drawing.arrow_head(6, y + 24, DOWN)
    drawing.text(22, y + 20, title, "head")


def _draw_rates(drawing: Drawing, x: float, y: float, width: float, reeval: Reevaluation) -> None:
    """Draw both pass rates with their intervals on one axis from 0 to 100 %."""
    drawing.text(x, y, "pass rate, with 95 % interval", "soft")
    for row, (name, rate, kind) in enumerate(
        (("before", reeval.before, "fill-failed"), ("after", reeval.after, "fill-good"))
    ):
        line = y + 38 + row * 48
        drawing.text(x, line - 14, f"{name} {percent(rate.rate)}", "ink strong")
        drawing.text(x + width, line - 14, f"{rate.passed} of {rate.scored}", "soft", "end")
        drawing.rect(x, line - 2, width, 4, "track")
        _draw_interval(drawing, x, line, width, rate, kind)
    drawing.text(x, y + 112, "0 %", "soft")
    drawing.text(x + width, y + 112, "100 %", "soft", "end")


def _draw_interval(
    drawing: Drawing, x: float, line: float, width: float, rate: PassRate, kind: str
) -> None:
    if rate.rate is None or rate.low is None or rate.high is None:
        return
    drawing.rect(x + width * rate.low, line - 5, width * (rate.high - rate.low), 10, f"{kind} pale")
    drawing.circle(x + width * rate.rate, line, 6, kind)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
