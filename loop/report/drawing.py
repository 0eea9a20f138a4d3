"""A picture as inline SVG: shapes and texts in pixels, coloured by the page's style sheet.

Every text is escaped here. A picture is one image to a screen reader, told by its description.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

RIGHT, DOWN = 0.0, math.pi / 2
"""Angles of arrow heads."""
CHARACTER = 7.8
"""Pixels that one character of bold 13 px text takes."""


class Drawing:
    """An SVG that grows shape by shape; `markup` closes it. Classes are those of `style.css`."""

    def __init__(self, width: float) -> None:
        self.width = width
        self._parts: list[Markup] = []

    def rect(
        self, x: float, y: float, width: float, height: float, kind: str, radius: float = 2
    ) -> None:
        """Draw a filled rectangle."""
        self._add(
            '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="{:.1f}" class="{}"/>',
            *(x, y, max(width, 0.0), max(height, 0.0), radius, kind),
        )

    def circle(self, x: float, y: float, radius: float, kind: str) -> None:
        """Draw a filled circle."""
        self._add('<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" class="{}"/>', x, y, radius, kind)

    def text(self, x: float, y: float, text: str, kind: str = "ink", anchor: str = "start") -> None:
        """Write text whose base line is at `y`; `anchor` is start, middle or end."""
        self._add(
            '<text x="{:.1f}" y="{:.1f}" text-anchor="{}" class="{}">{}</text>',
            *(x, y, anchor, kind, text),
        )

    def line(self, points: Sequence[tuple[float, float]], kind: str = "stroke") -> None:
        """Draw straight lines from point to point."""
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._add('<polyline points="{}" class="{}"/>', joined, kind)

    def ribbon(
        self, left: tuple[float, float], right: tuple[float, float], height: float, kind: str
    ) -> None:
        """Draw a band of one height from (x, top) at its left end to (x, top) at its right."""
        (x0, y0), (x1, y1), middle = left, right, (left[0] + right[0]) / 2
        self._add(
            '<path d="M{0:.1f} {1:.1f}C{4:.1f} {1:.1f} {4:.1f} {3:.1f} {2:.1f} {3:.1f}'
            'L{2:.1f} {6:.1f}C{4:.1f} {6:.1f} {4:.1f} {5:.1f} {0:.1f} {5:.1f}Z" class="{7}"/>',
            *(x0, y0, x1, y1, middle, y0 + height, y1 + height, kind),
        )

    def arrow_head(self, x: float, y: float, angle: float, kind: str = "fill-soft") -> None:
        """Draw an arrow's head with its tip at (x, y), pointing along `angle` (0: to the right)."""
        spread, length = 0.5, 8.0
        corners = [(x, y)] + [
            (x - length * math.cos(angle + side), y - length * math.sin(angle + side))
            for side in (-spread, spread)
        ]
        points = " ".join(f"{at:.1f},{down:.1f}" for at, down in corners)
        self._add('<polygon points="{}" class="{}"/>', points, kind)

    def arrow(
        self,
        start: tuple[float, float],
        bend: tuple[float, float],
        tip: tuple[float, float],
        hue: int,
        width: float,
    ) -> None:
        """Draw a curved arrow that leaves towards `bend` and arrives from there.

        Args:
            start: where it leaves.
            bend: the point that pulls the curve.
            tip: where its head points.
            hue: its colour, in degrees.
            width: of the line, in pixels.
        """
        angle = math.atan2(tip[1] - bend[1], tip[0] - bend[0])
        end = (tip[0] - 6 * math.cos(angle), tip[1] - 6 * math.sin(angle))
        self._add(
            '<g style="--hue:{}"><path d="M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}" '
            'stroke-width="{:.1f}" class="arrow"/>',
            *(hue, *start, *bend, *end, width),
        )
        self.arrow_head(*tip, angle, "hued")
        self._add("</g>")

    def curve(
        self,
        start: tuple[float, float],
        bends: tuple[tuple[float, float], tuple[float, float]],
        end: tuple[float, float],
        hue: int,
        kind: str,
    ) -> None:
        """Draw a thin curve that two points pull."""
        (x1, y1), (x2, y2) = bends
        self._add(
            '<path d="M{:.0f} {:.0f}C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}" '
            'style="--hue:{}" class="{}"/>',
            *(*start, x1, y1, x2, y2, *end, hue, kind),
        )

    def turned_text(
        self, x: float, y: float, degrees: float, text: str, kind: str, anchor: str, hint: str
    ) -> None:
        """Write text turned about (x, y), its middle on the line; `hint` shows under a pointer."""
        self._add(
            '<text x="{0:.1f}" y="{1:.1f}" transform="rotate({2:.1f} {0:.1f} {1:.1f})" '
            'dominant-baseline="central" text-anchor="{3}" class="{4}">{5}'
            "<title>{6}</title></text>",
            *(x, y, degrees, anchor, kind, text, hint),
        )

    def hued_circle(self, x: float, y: float, radius: float, hue: int) -> None:
        """Draw a filled circle of a colour of its own."""
        self._add(
            '<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" style="--hue:{}" class="hued"/>',
            *(x, y, radius, hue),
        )

    def markup(self, height: float, description: str, kind: str = "") -> Markup:
        """Return the whole picture, `height` pixels high."""
        head = Markup(
            '<svg class="picture {}" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">'
        ).format(kind, self.width, height, description)
        return head + Markup("").join(self._parts) + Markup("</svg>")

    def _add(self, shape: str, *values: object) -> None:
        self._parts.append(Markup(shape).format(*values))


def fitted(text: str, width: float) -> str:
    """Return the text, cut where it would be wider than `width` pixels."""
    room = max(int(width / CHARACTER), 1)
    return text if len(text) <= room else text[: room - 1] + "\u2026"
