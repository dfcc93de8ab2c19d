"""What the experiments share: variants, axes, the sizes of `smoke`, and how one is made."""

from __future__ import annotations

from functools import partial
from typing import Any

import lemmata as lm
from lemmata.theories.vit.setting import Setting
from lemmata.theories.vit.training import simulate

ATTENTION = {"trained": {"train_attention": 1}, "frozen": {"train_attention": 0}}
VARIANTS = {
    "shared": {"output": "shared", "step_size": 0.1},
    "per_token": {"output": "per_token", "step_size": 1.0},
}
"""The two readings of the output signs, each with its step size."""
TINY = {
    **{"tokens": 10, "neurons": 16, "samples": 16, "test_samples": 16, "batch": 0},
    **{"steps": 20, "records": 21, "record_every": 1, "track": "neurons"},
}
"""The one set of sizes of every smoke preset; from 14 to 16 samples share their programs."""
WIDE = {"neurons": 1000, "test_samples": 1000}
"""The width of the paper, and a finer estimate of the risk."""


def samples_axis(*counts: int) -> dict[int, dict[str, Any]]:
    """N with its batch rule: full batch up to 64, else B = 64 with a record every 10 steps."""
    full, small = {"batch": 0, "record_every": 1}, {"batch": 64, "record_every": 10}
    return {n: {"samples": n, **(full if n <= 64 else small)} for n in counts}


def fraction_axis(*fractions: float, neutral: float = 0.5) -> dict[float, dict[str, Any]]:
    """α_* with α_nd fixed, so that α_# = 1 - α_nd - α_*."""
    return {a: {"relevant_fraction": a, "confusion_fraction": round(1 - neutral - a, 9)} for a in fractions}


experiment = partial(lm.experiment, kind=Setting, simulation=simulate, tiny=TINY)
