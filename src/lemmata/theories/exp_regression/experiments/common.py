"""How the presets of an experiment are made."""

from __future__ import annotations

from functools import partial

from lemmata.lab.theory import make_experiment
from lemmata.theories.exp_regression.setting import Setting
from lemmata.theories.exp_regression.training import simulate

TINY = {
    "samples": 3, "dimension": 4, "neurons": 64, "neuron_room": 64, "steps": 30, "least_steps": 0, "records": 8,
    "weight_samples": 10**4,
}  # fmt: skip
"""The sizes of every smoke preset, so that they share their programs."""

experiment = partial(make_experiment, kind=Setting, simulation=simulate, tiny=TINY)
