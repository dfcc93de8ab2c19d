"""How the presets of an experiment are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.simulation import Simulation
from lemmata.lab.theory import Experiment, make_presets
from lemmata.theories.exp_regression.setting import Setting
from lemmata.theories.exp_regression.training import simulate

SCALES = {"1": {"scale": "one"}, "1/√m": {"scale": "inv_sqrt_m"}}
TINY = {
    "samples": 3, "dimension": 4, "neurons": 64, "room": 64, "steps": 30, "least_steps": 0, "records": 8,
    "weight_samples": 10**4,
}  # fmt: skip
"""The sizes of every smoke preset, so that they share their programs."""


def experiment(
    name: str,
    reference: str,
    question: str,
    plot: Callable[[xr.Dataset], Figure],
    setting: Mapping[str, Any],
    axes: Mapping[str, Any],
    seeds: int,
    *,
    smoke: Mapping[str, Any] | None = None,
    paper: Mapping[str, Any] | None = None,
    paper_seeds: int = 20,
    simulation: Simulation = simulate,
) -> Experiment:
    """An experiment of this theory; see `make_presets`."""
    presets = make_presets(Setting, setting, axes, seeds, tiny=TINY, smoke=smoke, paper=paper, paper_seeds=paper_seeds)
    return Experiment(name, question, reference, simulation, presets, plot)
