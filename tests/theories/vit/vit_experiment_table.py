"""The experiments as the specification has them: their names, and the table of their presets at `quick`."""

import math
from typing import Any

from lemmata.lab.grid import Grid, make_grid
from lemmata.theories import vit

EXPERIMENTS = vit.theory.experiments
NAMES = [
    "v1-zero-risk", "f1a-samples", "f3-samples-frozen", "f1a-samples-shared", "f1b-sigma", "v6-token-noise",
    "f2-iterations", "f2-step-size", "f4-attention", "v7-initial-model", "dynamics", "v8-losses", "v10-lucky-sets",
    "v24-initial-attention", "v25-cross", "v7-samples", "f5-sparsification", "v19-multiclass", "v20-patterns",
    "v21-heads", "v22-skip",
]  # fmt: skip
MEASURED = ["v10-lucky-sets", "v24-initial-attention"]
"""Experiments on the initial network."""
TRAINED = [name for name in NAMES if name not in MEASURED]
IMAGES = ("f6a-", "f6c-")
"""Experiments on images have tests of their own."""
PRESETS = ("smoke", "quick", "paper")


CONSTANTS = {
    "dimension": 10, "patterns": 5, "value_width": 10, "key_width": 10, "token_noise": 0.01, "noise_law": "gaussian",
    "output_scale": 0.01, "output_rule": "given", "init": "assumption", "pattern_basis": "random",
    "label_balance": "exact", "shuffle": True, "fractions": "fixed", "noisy_fraction": 0.0, "value_error": 0.1,
    "attention_error": 0.2,
    "value_error_law": "random", "relevant_fraction": 0.4, "confusion_fraction": 0.1, "samples": 100, "tokens": 50,
    "neurons": 200, "output": "shared", "step_size": 0.1, "batch": 0, "batches": "epochs", "steps": 600,
    "stop": "zero_loss", "loss": "hinge", "margin": 1.0, "label_order": "true", "train_attention": 1,
    "test_samples": 200, "reduction": "none", "noise_radius": 0.0, "keep": 1.0, "classes": 2, "members": 1,
    "member_shares": None,
    "heads": 1, "skip": False, "attention_error_law": "random", "defect": "none", "balanced_signs": False,
    "free_queries": False, "clip_spectral": False, "uniform_attention": False,
}  # fmt: skip
"""The default setting of section 6, with m = 200."""

ATTENTION = {"trained": {"train_attention": 1}, "frozen": {"train_attention": 0}}
VARIANTS = {
    "shared": {"output": "shared", "step_size": 0.1},
    "per_token": {"output": "per_token", "step_size": 1.0},
}
F1 = {"neurons": 100, "output": "per_token", "step_size": 2.0}
F1_FRACTIONS = {
    0.30: {"relevant_fraction": 0.30, "confusion_fraction": 0.20},
    0.32: {"relevant_fraction": 0.32, "confusion_fraction": 0.18},
    0.34: {"relevant_fraction": 0.34, "confusion_fraction": 0.16},
    0.36: {"relevant_fraction": 0.36, "confusion_fraction": 0.14},
    0.40: {"relevant_fraction": 0.40, "confusion_fraction": 0.10},
    0.48: {"relevant_fraction": 0.48, "confusion_fraction": 0.02},
}
F2 = {
    "value_error": 0.1, "attention_error": 0.4, "confusion_fraction": 0.05, "tokens": 20, "neurons": 100, "samples": 40,
    "steps": 1500, "stop": "small_loss",
}  # fmt: skip
F4 = {
    "tokens": 50, "samples": 200, "relevant_fraction": 0.5, "confusion_fraction": 0.05, "neurons": 1000, "batch": 20,
    "steps": 400, "stop": "never",
}  # fmt: skip


F5 = {
    "samples": 80, "tokens": 50, "value_error": 0.1, "attention_error": 0.5, "relevant_fraction": 0.6,
    "confusion_fraction": 0.05, "noisy_fraction": 0.3, "noisy_level": 0.3, "normalise": "yes", "output": "per_token",
    "neurons": 200, "step_size": 1.0, "batch": 0, "steps": 75, "stop": "never",
}  # fmt: skip
VARIANT = {"tokens": 40, "samples": 60, "neurons": 200, "step_size": 0.1}


def counts(*values: int) -> dict[float, dict[str, int]]:
    """Full batch up to N = 64, else B = 64."""
    return {n: {"samples": n, "batch": 0 if n <= 64 else 64} for n in values}


def values(field: str, *allowed: Any) -> dict[Any, dict[str, Any]]:
    return {value: {field: value} for value in allowed}


QUICK: dict[str, tuple[int, dict[str, Any], dict[str, dict[Any, dict[str, Any]]]]] = {
    "v1-zero-risk": (
        20,
        {"test_samples": 1000},
        {
            "variant": {
                "shared": {"output": "shared", "samples": 16, "step_size": 0.3, "batch": 0},
                "per_token": {"output": "per_token", "samples": 256, "step_size": 2.0, "batch": 64},
            },
            "label_order": values("label_order", "true", "shuffled"),
        },
    ),
    "f1a-samples": (10, F1, {"relevant_fraction": F1_FRACTIONS, "samples": counts(2, 4, 8, 16, 32, 64, 128)}),
    "f3-samples-frozen": (
        10,
        {**F1, "train_attention": 0},
        {"relevant_fraction": F1_FRACTIONS, "samples": counts(2, 4, 8, 16, 32, 64, 128)},
    ),
    "f1a-samples-shared": (
        5,
        {**F1, "output": "shared", "step_size": 0.3},
        {
            "relevant_fraction": {alpha: F1_FRACTIONS[alpha] for alpha in (0.32, 0.36, 0.48)},
            "samples": counts(2, 8, 32),
            "attention": ATTENTION,
        },
    ),
    "f1b-sigma": (
        3,
        {**F1, "relevant_fraction": 0.3, "confusion_fraction": 0.2},
        {
            "value_error": values("value_error", 0.0, 0.2, 0.6),
            "value_error_law": values("value_error_law", "random", "confuse"),
            "samples": counts(32, 64, 128, 256),
        },
    ),
    "v6-token-noise": (
        7,
        {**F1, "step_size": 1.0, "samples": 64, "normalise": "yes", "relevant_fraction": 0.36}
        | {"confusion_fraction": 0.14},
        {"token_noise": values("token_noise", 0.01, 0.1, 0.2, 0.3)},
    ),
    "f2-iterations": (
        5,
        F2,
        {
            "relevant_fraction": values("relevant_fraction", 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8),
            "variant": VARIANTS,
            "attention": ATTENTION,
        },
    ),
    "f2-step-size": (
        5,
        {**F2, "relevant_fraction": 0.4, "confusion_fraction": 0.1, "samples": 20},
        {
            "variant": {
                "shared 0.02": {"output": "shared", "step_size": 0.02},
                "shared 0.05": {"output": "shared", "step_size": 0.05},
                "shared 0.1": {"output": "shared", "step_size": 0.1},
                "shared 0.2": {"output": "shared", "step_size": 0.2},
                "shared 0.5": {"output": "shared", "step_size": 0.5},
                "per_token 0.25": {"output": "per_token", "step_size": 0.25},
                "per_token 0.5": {"output": "per_token", "step_size": 0.5},
                "per_token 1": {"output": "per_token", "step_size": 1.0},
                "per_token 2": {"output": "per_token", "step_size": 2.0},
            }
        },
    ),
    "f4-attention": (3, {**F4, "record_every": 4}, {"variant": VARIANTS, "attention": ATTENTION}),
    "v7-initial-model": (
        5,
        {"relevant_fraction": 0.36, "confusion_fraction": 0.14, "samples": 24, "neurons": 100},
        {
            "value_error": values("value_error", 0.0, 0.2, 0.4, 0.6),
            "value_error_law": values("value_error_law", "confuse", "random"),
            "attention_error": values("attention_error", 0.2, 0.0, 0.4),
        },
    ),
    "dynamics": (
        3,
        {},
        {
            "variant": {
                "shared": {**VARIANTS["shared"], "batch": 0},
                "per_token": {**VARIANTS["per_token"], "batch": 0},
                "shared-b20": {**VARIANTS["shared"], "batch": 20},
            },
            "attention": ATTENTION,
        },
    ),
    "v25-cross": (20, {}, {"variant": {"shared": {**VARIANTS["shared"], "batch": 0}}, "attention": ATTENTION}),
    "v7-samples": (
        3,
        {**F1, "relevant_fraction": 0.36, "confusion_fraction": 0.14},
        {"attention_error": values("attention_error", 0.0, 0.2, 0.4), "samples": counts(8, 16, 32, 64, 128)},
    ),
    "v8-losses": (
        3,
        {**F4, "neurons": 200, "steps": 1000},
        {
            "loss": {
                "hinge margin 1": {"loss": "hinge", "margin": 1.0},
                "hinge margin 10": {"loss": "hinge", "margin": 10.0},
                "logistic": {"loss": "logistic"},
            },
            "attention": ATTENTION,
        },
    ),
    "v10-lucky-sets": (3, {"neurons": 1000}, {"defect": values("defect", "none", "shifted")}),
    "v24-initial-attention": (
        20,
        {"samples": 20, "tokens": 50, "noise_law": "ball", "normalise": "yes", "neurons": 50},
        {
            "variant": {
                "random 0": {"attention_error_law": "random", "attention_error": 0.0, "noise_radius": 0.0},
                "random 0.2": {"attention_error_law": "random", "attention_error": 0.2, "noise_radius": 0.05},
                "random 0.4": {"attention_error_law": "random", "attention_error": 0.4, "noise_radius": 0.05},
                "confuse 0": {"attention_error_law": "confuse", "attention_error": 0.0, "noise_radius": 0.0},
                "confuse 0.2": {"attention_error_law": "confuse", "attention_error": 0.2, "noise_radius": 0.05},
                "confuse 0.4": {"attention_error_law": "confuse", "attention_error": 0.4, "noise_radius": 0.05},
                "counter-example": {
                    "patterns": 3,
                    "pattern_basis": "canonical",
                    "attention_error": 0.4,
                    "relevant_fraction": 0.5,
                    "confusion_fraction": 0.0,
                    "init": "given",
                },
            }
        },
    ),
    "f5-sparsification": (
        8,
        F5,
        {
            "keep": values("keep", 1.0, 0.8, 0.7),
            "strategy": values("strategy", "random", "irrelevant", "noisy", "attention", "relevant"),
        },
    ),
    "v19-multiclass": (
        3,
        {
            "dimension": 12,
            "value_width": 12,
            "key_width": 12,
            "patterns": 7,
            "classes": 4,
            "tokens": 40,
            "samples": 80,
            "neurons": 400,
            "steps": 400,
        },
        {},
    ),
    "v20-patterns": (
        3,
        {
            **VARIANT,
            "dimension": 20,
            "value_width": 20,
            "key_width": 20,
            "members": 2,
            "member_spread": 0.3,
            "member_shares": [[0.7, 0.3]] * 5,
        },
        {"attention": ATTENTION},
    ),
    "v21-heads": (3, VARIANT, {"heads": values("heads", 1, 2, 4)}),
    "v22-skip": (3, {**VARIANT, "skip": True}, {"attention": ATTENTION}),
}


def grid(name: str, preset: str) -> Grid:
    chosen = EXPERIMENTS[name].preset(preset)
    return make_grid(chosen.setting, chosen.axes)


def stride(setting: Any) -> int:
    """Steps between two records: more than `record_every` where the records would not reach the last step."""
    return max(setting.record_every, math.ceil(setting.steps / (setting.records - 1)))
