"""Steps to small loss: Figure 2.2, the step-size sweep (V3, V4) and the initial model (V7)."""

from __future__ import annotations

from lemmata.theories.vit.experiments import ATTENTION, VARIANTS, experiment
from lemmata.theories.vit.figures import iterations as figures

_F2 = {
    "value_error": 0.1, "attention_error": 0.4, "confusion_fraction": 0.05, "tokens": 20, "neurons": 100, "samples": 40,
    "steps": 1500, "records": 1501, "stop": "small_loss",
}  # fmt: skip
_F2_PAPER = {"tokens": 100, "neurons": 1000, "samples": 100, "test_samples": 1000}
_STEP_SIZES = {"shared": (0.02, 0.05, 0.1, 0.2, 0.5), "per_token": (0.25, 0.5, 1.0, 2.0)}

EXPERIMENTS = (
    experiment(
        "f2-iterations",
        "Figure 2.2",
        "How does the number of steps grow as the relevant fraction falls, with and without trained attention?",
        figures.iterations,
        _F2,
        {"relevant_fraction": [0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8], "variant": VARIANTS, "attention": ATTENTION},
        5,
        _F2_PAPER,
        smoke_axes={"relevant_fraction": [0.15, 0.4, 0.8]},
    ),
    experiment(
        "f2-step-size",
        "(2.10)",
        "How does the number of steps depend on the step size?",
        figures.step_size,
        {**_F2, "relevant_fraction": 0.4, "confusion_fraction": 0.1, "samples": 20},
        {
            "variant": {
                f"{variant} {eta:g}": {"output": variant, "step_size": eta}
                for variant, sizes in _STEP_SIZES.items()
                for eta in sizes
            }
        },
        5,
        {"tokens": 100, "neurons": 1000, "test_samples": 1000},
    ),
    experiment(
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
        {
            "value_error": [0.0, 0.2, 0.4, 0.6],
            "value_error_law": ["confuse", "random"],
            "attention_error": [0.2, 0.0, 0.4],
        },
        5,
        {"neurons": 1000, "test_samples": 1000},
    ),
)
