"""A curve of training: one figure at each step, drawn by itself on its own scale."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from loop.report.drawing import Drawing

WIDTH, HEIGHT = 330.0, 130.0


def draw_curve(name: str, values: Sequence[float]) -> Markup:
    """Return the curve of the finite values; steps without one are left out."""
    points = [(step, value) for step, value in enumerate(values, start=1) if math.isfinite(value)]
    drawing = Drawing(WIDTH)
    drawing.text(0, 14, name, "ink strong")
    if not points:
        drawing.text(0, 40, "no finite value", "soft")
        return drawing.markup(HEIGHT, f"{name}: no finite value", "curve")
    low, high = min(value for _, value in points), max(value for _, value in points)
    steps = max(points[-1][0] - 1, 1)
    top, bottom, left = 30.0, HEIGHT - 26, 76.0
    span = (high - low) or 1.0
    line = [
        (
            left + (WIDTH - left - 8) * (step - 1) / steps,
            bottom - (bottom - top) * (value - low) / span,
        )
        for step, value in points
    ]
    drawing.text(left - 8, top + 5, f"{high:.3g}", "soft", "end")
    drawing.text(left - 8, bottom + 5, f"{low:.3g}", "soft", "end")
    drawing.text(left, HEIGHT - 4, "step 1", "soft")
    drawing.text(WIDTH - 8, HEIGHT - 4, str(points[-1][0]), "soft", "end")
    drawing.line(((left, top - 6), (left, bottom + 4), (WIDTH, bottom + 4)), "axis")
    drawing.line(line, "curve-line")
    drawing.circle(*line[-1], 3.5, "fill-blue")
    first, last = points[0][1], points[-1][1]
    return drawing.markup(HEIGHT, f"{name}: {first:.3g} at first, {last:.3g} at last", "curve")
