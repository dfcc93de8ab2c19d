"""Attention on class-relevant nodes (Figure 3.5)."""

from __future__ import annotations

from lemmata.theories.graph_transformer.experiments.presets import SLOW, experiment
from lemmata.theories.graph_transformer.figures import attention as figures

EXPERIMENTS = (
    experiment(
        "f35-attention",
        reference="Figure 3.5",
        question="How much attention ends on class-relevant nodes?",
        plot=figures.attention,
        setting={
            "discriminative": 0.2,
            "confusion": 0.0,
            "on_infeasible": "cap",
            "steps": 800,
            "records": 81,
            "track": "masses",
        },
        axes={"margin": [1.0, 10.0], "intra_degree": [-1, 0]},
        paper={**SLOW, "steps": 8000},
        paper_seeds=5,
    ),
)
