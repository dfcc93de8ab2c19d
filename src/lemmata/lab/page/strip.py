"""The strip of a claim: the accepted range, the measured value with its interval, and the controls' values, in a line.

Positions are percentages, so that text keeps its size on every screen. A control far away becomes an arrow at the edge.
An identity has no strip: its two values agree to more digits than one could draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from lemmata.lab.page.numbers import measured, number
from lemmata.lab.rows import Row


@dataclass(frozen=True)
class Strip:
    """Where everything is drawn, in percent of the width, and the legend: marks with their words."""

    band: tuple[float, float]
    ticks: list[tuple[float, str]]
    predicted: float | None
    controls: list[tuple[float, str]]
    """places and shapes: a diamond, or an arrow to the left or right"""
    interval: tuple[float, float] | None
    measured: float
    legend: list[tuple[str, str]]


def make_strip(row: Row) -> Strip | None:
    """The strip of a row; None where there is nothing to draw."""
    if row.measured is None or row.relation == "==":
        return None
    low, high = accepted(row)
    core = [v for v in (row.measured, row.low, row.high, row.predicted, low, high) if v is not None]
    span = max(core) - min(core) or abs(row.measured) or 1.0
    if not (math.isfinite(4 * span) and span > 1e-300):
        return None
    controls = [c.measured for c in row.controls if c.measured is not None]
    near = [c for c in controls if min(core) - 1.5 * span <= c <= max(core) + 1.5 * span]
    least, most = min(core + near), max(core + near)
    pad = 0.1 * (most - least) or 0.1 * span
    least, most = least - pad, most + pad

    def x(value: float) -> float:
        return round(4 + 92 * (value - least) / (most - least), 2)

    start, end = (least if low is None else low), (most if high is None else high)
    predicted = row.predicted if row.relation == "in" else None
    legend = [("dot", f"measured {measured(row)}"), ("band", f"accepted {_words(low, high)}")]
    if predicted is not None:
        legend.append(("line", f"predicted {number(predicted)}"))
    marks = [(x(c), "diamond") for c in near]
    for c in dict.fromkeys(controls):
        beyond = ""
        if c not in near:
            side = "right" if c > most else "left"
            marks.append((98.0 if side == "right" else 2.0, side))
            beyond = f" (off the scale, {side})"
        legend.append(("diamond", f"control {number(c)}{beyond}"))
    return Strip(
        band=(x(start), round(x(end) - x(start), 2)),
        ticks=[(x(tick), label) for tick, label in _ticks(least, most)],
        predicted=None if predicted is None else x(predicted),
        controls=marks,
        interval=None if row.low is None or row.high is None else (x(row.low), x(row.high)),
        measured=x(row.measured),
        legend=legend,
    )


def accepted(row: Row) -> tuple[float | None, float | None]:
    """The accepted range; None: it has no end there."""
    if row.relation == "in":
        return row.accept_low, row.accept_high
    return (row.predicted, None) if row.relation in (">=", "increasing") else (None, row.predicted)


def _words(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f"≥ {number(low)}" if low is not None else f"≤ {number(high)}" if high is not None else "everywhere"
    return f"{number(low)} to {number(high)}"


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Two to five round numbers between the ends, with their labels."""
    raw = (high - low) / 5
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(s * scale for s in (1, 2, 5, 10) if s * scale >= raw * (1 - 1e-9))
    digits = max(0, -math.floor(math.log10(step)))
    plain = digits <= 5 and max(abs(low), abs(high)) < 1e6
    values = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return [(v, f"{v + 0.0:.{digits}f}".replace("-", "−") if plain else number(v)) for v in values]
