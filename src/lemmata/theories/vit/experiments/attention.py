"""Attention: Figure 2.4, other losses (V8), and its bounds before training (V24)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lemmata.theories.vit.experiments import ATTENTION, VARIANTS, experiment
from lemmata.theories.vit.figures import attention as figures
from lemmata.theories.vit.studies.initial import measure_initial

_F4 = {
    "relevant_fraction": 0.5, "confusion_fraction": 0.05, "samples": 200, "neurons": 1000, "batch": 20, "steps": 400,
    "record_every": 4, "records": 101, "stop": "never", "track": "attention",
}  # fmt: skip


def _counter_example(delta: float = 0.4) -> dict[str, Any]:
    """W_Q μ_1 = q_1 + δ q_3, W_K μ_3 = q_3 + δ q_1, only μ_1 and μ_3 present, no noise: the logit gap of a
    μ_1 query is 1 - 2 δ, less than the 1 - δ that p_n supposes (V24)."""
    identity = np.eye(10)
    query, key = identity.copy(), identity.copy()
    query[2, 0] = key[0, 2] = delta
    return {
        "patterns": 3, "pattern_basis": "canonical", "relevant_fraction": 0.5, "confusion_fraction": 0.0,
        "attention_error": delta, "noise_radius": 0.0, "init": "given", "value_map": identity, "key_map": key,
        "query_map": query,
    }  # fmt: skip


_V24 = {"samples": 20, "noise_law": "ball", "normalise": "yes", "neurons": 50}
_V24_CASES = {
    f"{directions} {delta:g}": {
        "attention_error_law": directions, "attention_error": delta, "noise_radius": 0.05 if delta else 0.0,
    }
    for directions in ("random", "confuse")
    for delta in (0.0, 0.2, 0.4)
} | {"counter-example": _counter_example()}  # fmt: skip

EXPERIMENTS = (
    experiment(
        "f4-attention",
        "Figure 2.4",
        "How far does attention concentrate on the label-relevant tokens?",
        figures.attention_curves,
        _F4,
        {"variant": VARIANTS, "attention": ATTENTION},
        3,
        {"test_samples": 1000},
    ),
    experiment(
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
    experiment(
        "v24-initial-attention",
        "Definition A.2.2, (A.15), (A.175)",
        "Does the initial attention respect its lower bounds, the paper's and the one that is a theorem?",
        figures.initial_attention,
        _V24,
        {"variant": _V24_CASES},
        20,
        simulation=measure_initial,
    ),
)
