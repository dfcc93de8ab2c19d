"""The experiments (section 7, claims register) by topic, and what they share: variants, axes, sizes of the presets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.simulation import Simulation
from lemmata.lab.theory import Experiment, make_experiment
from lemmata.theories.vit.setting import Setting
from lemmata.theories.vit.training import simulate

ATTENTION = {"trained": {"train_attention": 1}, "frozen": {"train_attention": 0}}
VARIANTS = {
    "shared": {"output": "shared", "step_size": 0.1},
    "per_token": {"output": "per_token", "step_size": 1.0},
}
TINY = {"tokens": 10, "neurons": 16, "samples": 8, "test_samples": 16, "steps": 20, "records": 21}
"""The one set of sizes of every smoke preset."""


def samples_axis(values: tuple[int, ...]) -> dict[int, dict[str, Any]]:
    """N with its batch rule: full batch up to 64, else B = 64 with a record every 10 steps."""
    return {
        n: {"samples": n, "batch": 0, "record_every": 1} if n <= 64 else {"samples": n, "batch": 64, "record_every": 10}
        for n in values
    }


def fraction_axis(values: tuple[float, ...], neutral: float = 0.5) -> dict[float, dict[str, Any]]:
    """α_* with α_nd fixed, so that α_# = 1 - α_nd - α_*."""
    return {a: {"relevant_fraction": a, "confusion_fraction": round(1 - neutral - a, 9)} for a in values}


def experiment(
    name: str,
    reference: str,
    question: str,
    plot: Callable[[xr.Dataset], Figure],
    setting: Mapping[str, Any],
    axes: Mapping[str, Any],
    seeds: int,
    paper: Mapping[str, Any] | None = None,
    paper_axes: Mapping[str, Any] | None = None,
    paper_seeds: int = 20,
    smoke_axes: Mapping[str, Any] | None = None,
    simulation: Simulation = simulate,
) -> Experiment:
    """An experiment whose `smoke` preset has the tiny sizes and whose `paper` preset those of the paper."""
    tiny = {**TINY, "batch": 4 if setting.get("batch") else 0}
    return make_experiment(
        name, reference, question, plot, setting, axes, seeds, kind=Setting, simulation=simulation, tiny=tiny,
        smoke=smoke_axes, paper={**(paper or {}), **(paper_axes or {})}, paper_seeds=paper_seeds,
    )  # fmt: skip


from lemmata.theories.vit.experiments import (  # noqa: E402 (topics are made of the above)
    attention,
    dynamics,
    iterations,
    neurons,
    samples,
    sparsification,
    variants,
)
from lemmata.theories.vit.images import experiments as images  # noqa: E402

EXPERIMENTS = (
    *samples.EXPERIMENTS,
    *iterations.EXPERIMENTS,
    *attention.EXPERIMENTS,
    *dynamics.EXPERIMENTS,
    *neurons.EXPERIMENTS,
    *sparsification.EXPERIMENTS,
    *variants.EXPERIMENTS,
    *images.EXPERIMENTS,
)
