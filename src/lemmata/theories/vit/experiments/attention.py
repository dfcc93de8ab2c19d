"""Attention: Figure 2.4, other losses (V8), and its bounds before training (V24)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lemmata.theories.vit.experiments.presets import ATTENTION, VARIANTS, WIDE, experiment
from lemmata.theories.vit.figures import attention as figures
from lemmata.theories.vit.studies.initial import measure_initial

_RECORDS = {"record_every": 4, "records": 101, "stop": "never", "track": "attention"}
_TRAINING = {"neurons": 1000, "batch": 20, "steps": 400, **_RECORDS}
_F4 = {"relevant_fraction": 0.5, "confusion_fraction": 0.05, "samples": 200, **_TRAINING}


def _counter_example(delta: float = 0.4) -> dict[str, Any]:
    """W_Q μ_1 = q_1 + δ q_3, W_K μ_3 = q_3 + δ q_1, only μ_1 and μ_3 present, no noise: the logit gap of a μ_1 query is
    1 - 2δ, less than the 1 - δ that p_n supposes (V24)."""
    identity = np.eye(10)
    query, key = identity.copy(), identity.copy()
    query[2, 0] = key[0, 2] = delta
    data = {"patterns": 3, "pattern_basis": "canonical", "relevant_fraction": 0.5, "confusion_fraction": 0.0}
    maps = {"init": "given", "value_map": identity, "key_map": key, "query_map": query}
    return {**data, **maps, "attention_error": delta, "noise_radius": 0.0}


_DIRECTIONS = {
    f"{law} {delta:g}": {
        "attention_error_law": law,
        "attention_error": delta,
        "noise_radius": 0.05 if delta else 0.0,
    }
    for law in ("random", "confuse")
    for delta in (0.0, 0.2, 0.4)
}

EXPERIMENTS = (
    experiment(
        "f4-attention",
        reference="Figure 2.4",
        question="How far does attention concentrate on the label-relevant tokens?",
        plot=figures.concentration,
        setting=_F4,
        axes={"variant": VARIANTS, "attention": ATTENTION},
        seeds=3,
        paper={"test_samples": 1000},
    ),
    experiment(
        "v8-losses",
        reference="Proposition 2, errata E6",
        question="Does attention go on concentrating when the loss does not saturate?",
        plot=figures.losses,
        setting={**_F4, "neurons": 200, "steps": 1000, "record_every": 10},
        axes={
            "loss": {
                "hinge margin 1": {"loss": "hinge", "margin": 1.0},
                "hinge margin 10": {"loss": "hinge", "margin": 10.0},
                "logistic": {"loss": "logistic", "margin": 1.0},
            },
            "attention": ATTENTION,
        },
        seeds=3,
        paper=WIDE,
    ),
    experiment(
        "v24-initial-attention",
        reference="Definition A.2.2, (A.15), (A.175)",
        question="Does the initial attention respect its lower bounds, the paper's and the one that is a theorem?",
        simulation=measure_initial,
        plot=figures.initial_bounds,
        setting={"samples": 20, "noise_law": "ball", "normalise": "yes", "neurons": 50},
        axes={"variant": {**_DIRECTIONS, "counter-example": _counter_example()}},
        seeds=20,
    ),
)
