"""How the presets of an experiment are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.simulation import Simulation
from lemmata.lab.theory import Experiment, make_presets
from lemmata.theories.icl.setting import PromptSetting, Setting
from lemmata.theories.icl.training import simulate

ATTENTION = {"trained": {"train_attention": 1}, "frozen": {"train_attention": 0}}
TINY = {
    "patterns": 6, "irrelevant": 6, "dimension": 12, "label_dimension": 2, "batch": 24, "contexts": 6, "steps": 12,
    "test_prompts": 48, "test_contexts": 6, "watch_prompts": 48, "watch_contexts": 6,
}  # fmt: skip
"""The prompts of every smoke preset, so that they share their programs."""
TINY_NETWORK = {"neurons": 16, "key_width": 14, "value_width": 14}


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
    kind: type[PromptSetting] = Setting,
    tiny: Mapping[str, Any] = TINY_NETWORK,
) -> Experiment:
    """An experiment of this theory; see `make_presets`."""
    presets = make_presets(
        kind, setting, axes, seeds, tiny={**TINY, **tiny}, smoke=smoke, paper=paper, paper_seeds=paper_seeds
    )
    return Experiment(name, question, reference, simulation, presets, plot)
