"""What happens along training: Figure 2.4, the dynamics rows (V8-V15, V25), other losses; and at its start."""

from __future__ import annotations

from typing import Any

import numpy as np

from lemmata.theories.vit.experiments.common import ATTENTION, MODES, experiment
from lemmata.theories.vit.figures import attention as figures
from lemmata.theories.vit.figures import neurons as neuron_figures
from lemmata.theories.vit.initial import measure_initial

_F4 = {
    "relevant_fraction": 0.5, "confusion_fraction": 0.05, "samples": 200, "neurons": 1000, "batch": 20, "steps": 400,
    "record_every": 4, "records": 101, "stop": "never", "track": "attention",
}  # fmt: skip
_DYNAMICS_MODES = {**{k: {**v, "batch": 0} for k, v in MODES.items()}, "shared-b20": {**MODES["shared"], "batch": 20}}
_DYNAMICS_SMOKE = {**_DYNAMICS_MODES, "shared-b20": {**MODES["shared"], "batch": 4}}


def _counter_example(delta: float = 0.4) -> dict[str, Any]:
    """W_Q mu_1 = q_1 + delta q_3, W_K mu_3 = q_3 + delta q_1, only mu_1 and mu_3 present, no noise: the logit gap of a
    mu_1 query is 1 - 2 delta, less than the 1 - delta that p_n supposes (V24)."""
    identity = np.eye(10)
    query, key = identity.copy(), identity.copy()
    query[2, 0] = key[0, 2] = delta
    return {
        "patterns": 3, "pattern_basis": "canonical", "relevant_fraction": 0.5, "confusion_fraction": 0.0,
        "attention_error": delta, "noise_radius": 0.0, "init": "given", "value_map": identity, "key_map": key,
        "query_map": query,
    }  # fmt: skip


_V24 = {"samples": 20, "noise": "ball", "normalize": "yes", "neurons": 50}
_V24_CASES = {
    f"{directions} {delta:g}": {
        "error_qk": directions, "attention_error": delta, "noise_radius": 0.05 if delta else 0.0,
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
        {"mode": MODES, "attention": ATTENTION},
        3,
        {"test_samples": 1000},
    ),
    experiment(
        "dynamics",
        "Proposition 2, Lemma A.3.1",
        "What happens to loss, attention, features and neurons along training, step by step?",
        neuron_figures.dynamics,
        {"track": "neurons"},
        {"mode": _DYNAMICS_MODES, "attention": ATTENTION},
        3,
        {"neurons": 1000, "test_samples": 1000},
        smoke_axes={"mode": _DYNAMICS_SMOKE},
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
        "v10-lucky-sets",
        "Lemma A.5.1, Definition A.2.3",
        "How many neurons are lucky at initialisation, and how do they respond to token noise?",
        neuron_figures.lucky_sets,
        {"neurons": 1000},
        {"defect": ["none", "shifted"]},
        3,
        simulation=measure_initial,
    ),
    experiment(
        "v24-initial-attention",
        "Definition A.2.2, (A.15), (A.175)",
        "Does the initial attention respect its lower bounds, the document's and the one that is a theorem?",
        neuron_figures.initial_attention,
        _V24,
        {"case": _V24_CASES},
        20,
        simulation=measure_initial,
    ),
)
