"""Token sparsification: Figure 2.5 (V6)."""

from __future__ import annotations

from lemmata.theories.vit.experiments.presets import experiment
from lemmata.theories.vit.figures import sparsification as figures
from lemmata.theories.vit.sparsification import STRATEGIES

_DATA = {"samples": 80, "relevant_fraction": 0.6, "confusion_fraction": 0.05, "noisy_fraction": 0.3, "noisy_level": 0.3}
_TRAINING = {"step_size": 1.0, "steps": 75, "records": 2, "record_every": 75, "stop": "never"}

EXPERIMENTS = (
    experiment(
        "f5-sparsification",
        reference="Figure 2.5",
        question="Which tokens can be removed without loss, and which removals help?",
        plot=figures.sparsification,
        setting={**_DATA, **_TRAINING, "output": "per_token", "attention_error": 0.5, "normalise": "yes"},
        axes={"keep": [1.0, 0.8, 0.7], "strategy": ["random", "irrelevant", "noisy", "relevant"]},
        seeds=8,
        paper={"test_samples": 1000, "keep": [1.0, 0.9, 0.8, 0.7, 0.65], "strategy": list(STRATEGIES)},
    ),
)
