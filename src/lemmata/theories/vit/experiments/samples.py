"""Samples and risk: zero risk (V1), Figures 2.1 and 2.3, token noise and sparsification (V6, Figure 2.5)."""

from __future__ import annotations

from functools import partial

from lemmata.theories.vit.experiments.presets import ATTENTION, WIDE, experiment, fraction_axis, samples_axis
from lemmata.theories.vit.figures import samples as figures
from lemmata.theories.vit.setting import STRATEGIES

_DATA = {"relevant_fraction": 0.36, "confusion_fraction": 0.14, "samples": 64}
_F1 = {**_DATA, "output": "per_token", "step_size": 2.0, "neurons": 100}
_GRID = {
    "relevant_fraction": fraction_axis(0.30, 0.32, 0.34, 0.36, 0.40, 0.48),
    "samples": samples_axis(2, 4, 8, 16, 32, 64, 128),
}
_SMOKE_GRID = {"relevant_fraction": fraction_axis(0.30, 0.40), "samples": samples_axis(14, 16)}
_PAPER_GRID = {
    **WIDE,
    "tokens": 100,
    "relevant_fraction": fraction_axis(0.30, 0.32, 0.34, 0.36, 0.38, 0.40, 0.44, 0.48),
    "samples": samples_axis(2, 4, 8, 16, 32, 64, 128, 256),
}
_F5 = {
    **{"samples": 80, "relevant_fraction": 0.6, "confusion_fraction": 0.05, "noisy_fraction": 0.3, "noisy_level": 0.3},
    **{"step_size": 1.0, "steps": 75, "records": 2, "record_every": 75, "stop": "never"},
}

EXPERIMENTS = (
    experiment(
        "v1-zero-risk",
        reference="Theorem 1",
        question="Does SGD reach zero population risk well above the sample threshold?",
        plot=figures.zero_risk,
        setting={"neurons": 200, "test_samples": 1000},
        axes={
            "variant": {
                "shared": {"output": "shared", "samples": 16, "batch": 0, "step_size": 0.3, "record_every": 1},
                "per_token": {"output": "per_token", "samples": 256, "batch": 64, "step_size": 2.0, "record_every": 10},
            },
            "label_order": ["true", "shuffled"],
        },
        seeds=20,
        smoke={
            "variant": {
                "shared": {"output": "shared", "step_size": 0.3},
                "per_token": {"output": "per_token", "step_size": 2.0},
            }
        },
        paper={"neurons": 1000},
    ),
    experiment(
        "f1a-samples",
        reference="Figure 2.1 (a)",
        question="How many samples does the transformer need as the relevant fraction falls?",
        plot=partial(figures.sample_map, power=2, who="attention trained"),
        setting=_F1,
        axes=_GRID,
        seeds=5,
        smoke=_SMOKE_GRID,
        paper=_PAPER_GRID,
    ),
    experiment(
        "f3-samples-frozen",
        reference="Figure 2.3",
        question="How many samples are needed when attention stays frozen (the CNN baseline)?",
        plot=partial(figures.sample_map, power=4, who="attention frozen"),
        setting={**_F1, "train_attention": 0},
        axes=_GRID,
        seeds=5,
        smoke=_SMOKE_GRID,
        paper=_PAPER_GRID,
    ),
    experiment(
        "f1a-samples-shared",
        reference="Figure 2.1 (a), errata E4",
        question="Is there a sample threshold at all when the output signs are shared?",
        plot=figures.shared,
        setting={**_F1, "output": "shared", "step_size": 0.3},
        axes={
            "relevant_fraction": fraction_axis(0.32, 0.36, 0.48),
            "samples": samples_axis(2, 8, 32),
            "attention": ATTENTION,
        },
        seeds=5,
        smoke={"relevant_fraction": fraction_axis(0.30, 0.40), "samples": samples_axis(14, 16)},
        paper={**WIDE, "tokens": 100},
    ),
    experiment(
        "f1b-sigma",
        reference="Figure 2.1 (b)",
        question="How many samples are needed as the initial value error grows?",
        plot=figures.sigma,
        setting={**_F1, "relevant_fraction": 0.3, "confusion_fraction": 0.2},
        axes={
            "value_error": [0.0, 0.2, 0.6],
            "value_error_law": ["random", "confuse"],
            "samples": samples_axis(32, 64, 128, 256),
        },
        seeds=3,
        smoke={"value_error": [0.0, 0.6], "samples": samples_axis(14, 16)},
        paper={
            **WIDE,
            "value_error": [0.0, 0.1, 0.2, 0.4, 0.6, 0.8],
            "samples": samples_axis(8, 16, 32, 64, 128, 256),
        },
    ),
    experiment(
        "v7-samples",
        reference="Remark 3",
        question="How many samples are needed as the initial error of keys and queries grows?",
        plot=figures.delta,
        setting=_F1,
        axes={"attention_error": [0.0, 0.2, 0.4], "samples": samples_axis(8, 16, 32, 64, 128)},
        seeds=3,
        smoke={"samples": samples_axis(14, 16)},
        paper={**WIDE, "samples": samples_axis(4, 8, 16, 32, 64, 128, 256)},
    ),
    experiment(
        "v6-token-noise",
        reference="Remark 2, Figure 2.1 (b)",
        question="Does token noise raise the test loss at a fixed number of samples?",
        plot=figures.token_noise,
        setting={**_F1, "step_size": 1.0, "normalise": "yes"},
        axes={"token_noise": [0.01, 0.1, 0.2, 0.3]},
        seeds=7,
        paper={"test_samples": 1000},
    ),
    experiment(
        "f5-sparsification",
        reference="Figure 2.5",
        question="Which tokens can be removed without loss, and which removals help?",
        plot=figures.sparsification,
        setting={**_F5, "output": "per_token", "attention_error": 0.5, "normalise": "yes"},
        axes={"keep": [1.0, 0.8, 0.7], "strategy": ["random", "irrelevant", "noisy", "attention", "relevant"]},
        seeds=8,
        paper={"test_samples": 1000, "keep": [1.0, 0.9, 0.8, 0.7, 0.65], "strategy": list(STRATEGIES)},
    ),
)
