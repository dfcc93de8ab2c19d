"""The figures, by topic."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

import lemmata as lm
from lemmata import figures as draw
from lemmata.lab.judges import level_of


def claimed_at(
    ax: Axes, claim: lm.Claim, places: Any, words: str, part: str = "", start: float = 0.0, **style: Any
) -> None:
    """The level of a claim at some places of an axis, named once, above a start where it is one of a rise."""
    low, high = level_of(claim.judge, part)
    level, relation = (low, "≥") if np.isfinite(low) else (high, "≤")
    for i, place in enumerate(np.atleast_1d(places)):
        label = None if i else f"{words}: {relation} {level:.2g}"
        draw.predicted(ax, start + level, label, at=place, **{**draw.CLAIMED, "linewidth": 2, **style})
