"""The experiments (section 7, claims register): settings, axes and seeds at `smoke`, `quick` and `paper` size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.theory import Experiment, Preset
from lemmata.theories.vit import figures
from lemmata.theories.vit.setting import Setting
from lemmata.theories.vit.training import simulate

ATTENTION = {"trained": {"train_attention": 1}, "frozen": {"train_attention": 0}}
MODES = {
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


def _experiment(
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
) -> Experiment:
    base = Setting(**setting)
    tiny = base.replace(**TINY, batch=4 if base.batch else 0)
    presets = {
        "smoke": Preset(tiny, {**axes, **(smoke_axes or {})}, 2),
        "quick": Preset(base, axes, seeds),
        "paper": Preset(base.replace(**(paper or {})), {**axes, **(paper_axes or {})}, max(seeds, paper_seeds)),
    }
    return Experiment(name, question, reference, simulate, presets, plot)


_F1 = {
    "output": "per_token", "step_size": 2.0, "neurons": 100, "relevant_fraction": 0.36, "confusion_fraction": 0.14,
    "samples": 64,
}  # fmt: skip
_F1_AXES = {
    "relevant_fraction": fraction_axis((0.30, 0.32, 0.34, 0.36, 0.40, 0.48)),
    "samples": samples_axis((2, 4, 8, 16, 32, 64, 128)),
}
_F1_PAPER = {"tokens": 100, "neurons": 1000, "test_samples": 1000}
_F1_PAPER_AXES = {
    "relevant_fraction": fraction_axis((0.30, 0.32, 0.34, 0.36, 0.38, 0.40, 0.44, 0.48)),
    "samples": samples_axis((2, 4, 8, 16, 32, 64, 128, 256)),
}
_F1_SMOKE = {"relevant_fraction": fraction_axis((0.30, 0.40)), "samples": samples_axis((2, 4, 8))}

_F2 = {
    "value_error": 0.1, "attention_error": 0.4, "confusion_fraction": 0.05, "tokens": 20, "neurons": 100, "samples": 40,
    "steps": 1500, "records": 1501, "stop": "small_loss",
}  # fmt: skip
_F2_PAPER = {"tokens": 100, "neurons": 1000, "samples": 100, "test_samples": 1000}
_STEP_SIZES = {"shared": (0.02, 0.05, 0.1, 0.2, 0.5), "per_token": (0.25, 0.5, 1.0, 2.0)}

_F4 = {
    "relevant_fraction": 0.5, "confusion_fraction": 0.05, "samples": 200, "neurons": 1000, "batch": 20, "steps": 400,
    "record_every": 4, "records": 101, "stop": "never", "track": "attention",
}  # fmt: skip

_ZERO_RISK = {
    "shared": {"output": "shared", "samples": 16, "batch": 0, "step_size": 0.3, "record_every": 1},
    "per_token": {"output": "per_token", "samples": 256, "batch": 64, "step_size": 2.0, "record_every": 10},
}
_ZERO_RISK_SMOKE = {
    "shared": {"output": "shared", "step_size": 0.3},
    "per_token": {"output": "per_token", "batch": 4, "step_size": 2.0},
}
_DYNAMICS_MODES = {**{k: {**v, "batch": 0} for k, v in MODES.items()}, "shared-b20": {**MODES["shared"], "batch": 20}}
_DYNAMICS_SMOKE = {**_DYNAMICS_MODES, "shared-b20": {**MODES["shared"], "batch": 4}}

EXPERIMENTS = (
    _experiment(
        "v1-zero-risk",
        "Theorem 1",
        "Does SGD reach zero population risk well above the sample threshold?",
        figures.zero_risk,
        {"neurons": 200, "test_samples": 1000},
        {"mode": _ZERO_RISK, "labels": ["true", "shuffled"]},
        20,
        paper={"neurons": 1000},
        smoke_axes={"mode": _ZERO_RISK_SMOKE},
    ),
    _experiment(
        "f1a-samples",
        "Figure 2.1 (a)",
        "How many samples does the transformer need as the relevant fraction falls?",
        figures.samples_trained,
        _F1,
        _F1_AXES,
        5,
        _F1_PAPER,
        _F1_PAPER_AXES,
        smoke_axes=_F1_SMOKE,
    ),
    _experiment(
        "f3-samples-frozen",
        "Figure 2.3",
        "How many samples are needed when attention stays frozen (the CNN baseline)?",
        figures.samples_frozen,
        {**_F1, "train_attention": 0},
        _F1_AXES,
        5,
        _F1_PAPER,
        _F1_PAPER_AXES,
        smoke_axes=_F1_SMOKE,
    ),
    _experiment(
        "f1a-samples-shared",
        "Figure 2.1 (a), errata E4",
        "Is there a sample threshold at all when the output signs are shared?",
        figures.samples_shared,
        {**_F1, "output": "shared", "step_size": 0.3},
        {
            "relevant_fraction": fraction_axis((0.32, 0.36, 0.48)),
            "samples": samples_axis((2, 8, 32)),
            "attention": ATTENTION,
        },
        5,
        _F1_PAPER,
        smoke_axes={"relevant_fraction": fraction_axis((0.30, 0.40)), "samples": samples_axis((2, 8))},
    ),
    _experiment(
        "f1b-sigma",
        "Figure 2.1 (b)",
        "How many samples are needed as the initial value error grows?",
        figures.samples_sigma,
        {**_F1, "relevant_fraction": 0.3, "confusion_fraction": 0.2},
        {
            "value_error": [0.0, 0.2, 0.6],
            "error": ["random", "confuse"],
            "samples": samples_axis((32, 64, 128, 256)),
        },
        3,
        {"neurons": 1000, "test_samples": 1000},
        {
            "value_error": [0.0, 0.1, 0.2, 0.4, 0.6, 0.8],
            "samples": samples_axis((8, 16, 32, 64, 128, 256)),
        },
        smoke_axes={"value_error": [0.0, 0.6], "samples": samples_axis((4, 8))},
    ),
    _experiment(
        "v6-token-noise",
        "Remark 2, Figure 2.1 (b)",
        "Does token noise raise the test loss at a fixed number of samples?",
        figures.token_noise,
        {**_F1, "step_size": 1.0, "normalize": "yes"},
        {"token_noise": [0.01, 0.1, 0.2, 0.3]},
        7,
        {"test_samples": 1000},
    ),
    _experiment(
        "f2-iterations",
        "Figure 2.2",
        "How does the number of steps grow as the relevant fraction falls, with and without trained attention?",
        figures.iterations,
        _F2,
        {"relevant_fraction": [0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8], "mode": MODES, "attention": ATTENTION},
        5,
        _F2_PAPER,
        smoke_axes={"relevant_fraction": [0.15, 0.4, 0.8]},
    ),
    _experiment(
        "f2-step-size",
        "(2.10)",
        "How does the number of steps depend on the step size?",
        figures.step_size,
        {**_F2, "relevant_fraction": 0.4, "confusion_fraction": 0.1, "samples": 20},
        {
            "run": {
                f"{mode} {eta:g}": {"output": mode, "step_size": eta}
                for mode, sizes in _STEP_SIZES.items()
                for eta in sizes
            }
        },
        5,
        {"tokens": 100, "neurons": 1000, "test_samples": 1000},
    ),
    _experiment(
        "f4-attention",
        "Figure 2.4",
        "How far does attention concentrate on the label-relevant tokens?",
        figures.attention_curves,
        _F4,
        {"mode": MODES, "attention": ATTENTION},
        3,
        {"test_samples": 1000},
    ),
    _experiment(
        "v7-initial-model",
        "Remark 3",
        "Does a worse initial model slow training down?",
        figures.initial_model,
        {
            "relevant_fraction": 0.36,
            "confusion_fraction": 0.14,
            "samples": 24,
            "neurons": 100,
        },
        {"value_error": [0.0, 0.2, 0.4, 0.6], "error": ["confuse", "random"], "attention_error": [0.2, 0.0, 0.4]},
        5,
        {"neurons": 1000, "test_samples": 1000},
    ),
    _experiment(
        "dynamics",
        "Proposition 2, Lemma A.3.1",
        "What happens to loss and attention along training, step by step?",
        figures.dynamics,
        {"track": "attention"},
        {"mode": _DYNAMICS_MODES, "attention": ATTENTION},
        3,
        {"neurons": 1000, "test_samples": 1000},
        smoke_axes={"mode": _DYNAMICS_SMOKE},
    ),
    _experiment(
        "v8-losses",
        "Proposition 2, errata E6",
        "Does attention go on concentrating when the loss does not saturate?",
        figures.losses,
        {**_F4, "neurons": 200, "steps": 1000, "record_every": 10},
        {
            "loss": {
                "hinge margin 1": {"loss": "hinge", "margin": 1.0},
                "hinge margin 10": {"loss": "hinge", "margin": 10.0},
                "logistic": {"loss": "logistic", "margin": 1.0},
            },
            "attention": ATTENTION,
        },
        3,
        {"neurons": 1000, "test_samples": 1000},
    ),
)
