"""Samples and risk: zero risk (V1), Figures 2.1 and 2.3, token noise (V6)."""

from __future__ import annotations

from lemmata.theories.vit.experiments import ATTENTION, experiment, fraction_axis, samples_axis
from lemmata.theories.vit.figures import samples as figures

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
_ZERO_RISK = {
    "shared": {"output": "shared", "samples": 16, "batch": 0, "step_size": 0.3, "record_every": 1},
    "per_token": {"output": "per_token", "samples": 256, "batch": 64, "step_size": 2.0, "record_every": 10},
}
_ZERO_RISK_SMOKE = {
    "shared": {"output": "shared", "step_size": 0.3},
    "per_token": {"output": "per_token", "batch": 4, "step_size": 2.0},
}

EXPERIMENTS = (
    experiment(
        "v1-zero-risk",
        "Theorem 1",
        "Does SGD reach zero population risk well above the sample threshold?",
        figures.zero_risk,
        {"neurons": 200, "test_samples": 1000},
        {"variant": _ZERO_RISK, "label_order": ["true", "shuffled"]},
        20,
        paper={"neurons": 1000},
        smoke_axes={"variant": _ZERO_RISK_SMOKE},
    ),
    experiment(
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
    experiment(
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
    experiment(
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
    experiment(
        "f1b-sigma",
        "Figure 2.1 (b)",
        "How many samples are needed as the initial value error grows?",
        figures.samples_sigma,
        {**_F1, "relevant_fraction": 0.3, "confusion_fraction": 0.2},
        {
            "value_error": [0.0, 0.2, 0.6],
            "value_error_law": ["random", "confuse"],
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
    experiment(
        "v6-token-noise",
        "Remark 2, Figure 2.1 (b)",
        "Does token noise raise the test loss at a fixed number of samples?",
        figures.token_noise,
        {**_F1, "step_size": 1.0, "normalise": "yes"},
        {"token_noise": [0.01, 0.1, 0.2, 0.3]},
        7,
        {"test_samples": 1000},
    ),
)
