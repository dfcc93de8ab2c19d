"""How the presets of an experiment are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.simulation import Simulation
from lemmata.lab.theory import Experiment, Preset
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
    """`smoke` and `paper` change `quick`: what is the name of an axis replaces it, anything else is a field."""

    def preset(base: Mapping[str, Any], changes: Mapping[str, Any], seeds: int) -> Preset:
        fields = {name: value for name, value in changes.items() if name not in axes}
        return Preset(Setting(**{**base, **fields}), {name: changes.get(name, axes[name]) for name in axes}, seeds)

    presets = {
        "smoke": preset({**setting, **TINY}, smoke or {}, 2),
        "quick": preset(setting, {}, seeds),
        "paper": preset(setting, paper or {}, max(seeds, paper_seeds)),
    }
    return Experiment(name, question, reference, simulation, presets, plot)
