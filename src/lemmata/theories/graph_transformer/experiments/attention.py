"""Attention on class-relevant nodes (Figure 3.5)."""

from __future__ import annotations

from lemmata.theories.graph_transformer import figures
from lemmata.theories.graph_transformer.experiments.presets import (
    SLOW,
    experiment,
)

EXPERIMENTS = (
    experiment(
        "f35-attention", "Figure 3.5", "How much attention ends on class-relevant nodes?", figures.attention,
        {"discriminative": 0.2, "confusion": 0.0, "on_infeasible": "cap", "steps": 800, "records": 81,
         "track": "masses"},
        {"margin": [1.0, 10.0], "intra_degree": [-1, 0]}, 3, paper={**SLOW, "steps": 8000}, paper_seeds=5,
    ),
)  # fmt: skip
