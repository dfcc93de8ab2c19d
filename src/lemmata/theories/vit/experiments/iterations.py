"""Steps to small loss: Figure 2.2, the step-size sweep (V3, V4) and the initial model (V7)."""

from __future__ import annotations

from lemmata.theories.vit.experiments.presets import ATTENTION, VARIANTS, WIDE, experiment
from lemmata.theories.vit.figures import iterations as figures

_TRAINING = {"neurons": 100, "steps": 1500, "records": 1501, "stop": "small_loss"}
_F2 = {**_TRAINING, "value_error": 0.1, "attention_error": 0.4, "confusion_fraction": 0.05, "tokens": 20, "samples": 40}
_STEP_SIZES = {"shared": (0.02, 0.05, 0.1, 0.2, 0.5), "per_token": (0.25, 0.5, 1.0, 2.0)}

EXPERIMENTS = (
    experiment(
        "f2-iterations",
        reference="Figure 2.2",
        question="How does the number of steps grow as the relevant fraction falls, attention trained or frozen?",
        plot=figures.iterations,
        setting=_F2,
        axes={
            "relevant_fraction": [0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8],
            "variant": VARIANTS,
            "attention": ATTENTION,
        },
        seeds=5,
        smoke={"relevant_fraction": [0.15, 0.4, 0.8]},
        paper={**WIDE, "tokens": 100, "samples": 100},
    ),
    experiment(
        "f2-step-size",
        reference="(2.10)",
        question="How does the number of steps depend on the step size?",
        plot=figures.step_size,
        setting={**_F2, "relevant_fraction": 0.4, "confusion_fraction": 0.1, "samples": 20},
        axes={
            "variant": {
                f"{output} {eta:g}": {"output": output, "step_size": eta}
                for output, sizes in _STEP_SIZES.items()
                for eta in sizes
            }
        },
        seeds=5,
        paper={**WIDE, "tokens": 100},
    ),
    experiment(
        "v7-initial-model",
        reference="Remark 3",
        question="Does a worse initial model slow training down?",
        plot=figures.initial_model,
        setting={"relevant_fraction": 0.36, "confusion_fraction": 0.14, "samples": 24, "neurons": 100},
        axes={
            "value_error": [0.0, 0.2, 0.4, 0.6],
            "value_error_law": ["confuse", "random"],
            "attention_error": [0.2, 0.0, 0.4],
        },
        seeds=5,
        paper=WIDE,
    ),
)
