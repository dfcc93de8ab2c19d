"""Online SGD: which blocks train (E1), the six curves of figures 2 and 3 (E2, E3), and the floor of the noise."""

from __future__ import annotations

from typing import Any

from lemmata.theories.teacher_student.experiments import TINY_MATRICES, experiment
from lemmata.theories.teacher_student.figures import online as figures

RELU, LEAKY, IDENTITY = {"negative_slope": 0.0}, {"negative_slope": 0.1}, {"negative_slope": 1.0}
CNN = {"teacher": "cnn", "tokens": 36, "support": 4, "strength": 100.0}
GCN = {"teacher": "gcn", "tokens": 20, "support": 3, "strength": 100.0}
STS = {"teacher": "sts", "tokens": 20, "support": 4, "step_size": 0.02, **IDENTITY}
GSLP = {"teacher": "gslp", "tokens": 20, "support": 1, "outputs": 1, "strength": 10.0, "step_size": 0.02, **IDENTITY}
FROZEN: dict[str, Any] = {"train_attention": 0.0, "escapes": 1.2}
"""Attention frozen, up to 1.2 T* of the intact run."""
TEACHERS: dict[str, dict[str, Any]] = {
    "CNN ReLU": {**CNN, **RELU},
    "CNN leaky": {**CNN, **LEAKY},
    "GCN ReLU": {**GCN, **RELU, "steps": 20_000},
    "GCN leaky": {**GCN, **LEAKY},
    "STS": {**STS, "steps": 26_000},
    "GSLP": GSLP,
    "CNN ReLU, frozen": {**CNN, **RELU, **FROZEN},
    "STS, frozen": {**STS, **FROZEN},
    "GSLP, frozen": {**GSLP, **FROZEN},
}
"""The six runs of figure 2, and their controls. V* of STS is the identity; a small draw of the others is rescaled."""
LONG = {name: {**fields, "steps": 100_000} for name, fields in TEACHERS.items()}
FLAT = "ReLU, K = D"
BLOCKS: dict[str, dict[str, Any]] = {
    "identity": {**IDENTITY, "step_size": 0.004},
    "ReLU": {**RELU, "step_size": 0.02},
    "leaky": {**LEAKY, "step_size": 0.02},
    # uniform scores: attention has nothing to learn
    FLAT: {**RELU, "step_size": 0.02, "teacher": "cnn", "support": 20},
    "ReLU, standard": {**RELU, "step_size": 0.02, "student": "standard", "steps": 2000},
    "ReLU, factored": {**RELU, "step_size": 0.02, "student": "factored", "steps": 2000},
}
CURVES = {"dynamics": "online", "start": "slope", "track": "outputs", "spacing": "decades", "records": 30}
SHORT = {**TINY_MATRICES, "token_room": 12, "steps": 400}
BOTH = ["online", "recursion"]
QUIET = ("GCN ReLU", "GSLP")


def shortened(variants: dict[str, dict[str, Any]], *names: str, **sizes: int) -> dict[str, dict[str, Any]]:
    """These variants, or all, with smaller sizes where they set their own."""
    small = SHORT | sizes
    kept = {name: variants[name] for name in names or variants}
    return {name: {field: small.get(field, value) for field, value in kept[name].items()} for name in kept}


EXPERIMENTS = (
    experiment(
        "exp-e1-blocks",
        reference="Figure 1",
        question="Which blocks of the full transformer train?",
        plot=figures.blocks,
        setting=GCN
        | {"dynamics": "online", "student": "full", "track": "outputs", "spacing": "tenths", "records": 14}
        | {"initial_scale": 1e-3, "steps": 10_000},
        axes={"variant": BLOCKS},
        seeds=2,
        smoke={**TINY_MATRICES, "variant": shortened(BLOCKS, steps=40) | {FLAT: BLOCKS[FLAT] | {"support": 12}}},
        paper={"steps": 50_000},
        paper_seeds=5,
        precision="float32",
    ),
    experiment(
        "exp-e2-curves",
        reference="Figures 2 and 3",
        question="Does online SGD follow the exact dynamics, down to the floor of its noise?",
        plot=figures.curves,
        setting={**CURVES, "token_room": 36, "steps": 10_000},
        axes={"variant": TEACHERS, "dynamics": BOTH},
        seeds=2,
        smoke={**SHORT, "variant": shortened(TEACHERS, *list(TEACHERS)[:5], "CNN ReLU, frozen")},
        paper={"variant": LONG, "records": 40},
        paper_seeds=5,
        precision="float32",
    ),
    experiment(
        "exp-e2-quiet",
        reference="Figure 2, with a tenth of the noise",
        question="Is the slope -1 seen once the floor is a hundred times lower?",
        plot=figures.curves,
        setting={**CURVES, "token_room": 36, "steps": 20_000, "label_noise": 0.1},
        axes={"variant": {name: TEACHERS[name] for name in QUIET}, "dynamics": BOTH},
        seeds=2,
        smoke={**SHORT, "variant": shortened(TEACHERS, "GCN ReLU")},
        paper={"variant": LONG, "records": 40},
        paper_seeds=5,
        precision="float32",
    ),
    experiment(
        "exp-e2-floor",
        reference="extra: noise floor",
        question="Does the loss at which online SGD settles follow the linearised estimate?",
        plot=figures.floor,
        setting={**GCN, **RELU, **CURVES, "track": "scalars", "spacing": "even", "records": 41, "steps": 4000}
        | {"start_scale": 1.0, "start_gap": 9.0},
        axes={"batch": [25, 100], "step_size": [0.025, 0.05, 0.1]},
        seeds=2,
        smoke={**TINY_MATRICES, "track": "outputs", "batch": [5], "step_size": [0.05]},
        paper={"batch": [25, 100, 400], "steps": 40_000},
        paper_seeds=5,
        precision="float32",
    ),
)
