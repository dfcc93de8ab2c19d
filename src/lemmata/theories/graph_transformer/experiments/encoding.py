"""What the distance encoding learns (P9), and whether it is as good as knowing the core distance (P10)."""

from __future__ import annotations

from typing import Any

import lemmata as lm
from lemmata.theories.graph_transformer.experiments.presets import (
    BLOCKS,
    CYCLES,
    RECORDS,
    SLOW,
    SMALL,
    experiment,
    with_fields,
)
from lemmata.theories.graph_transformer.figures import encoding as figures

ON_CYCLES = {
    "GT+PE": {"model": "gt"},
    "no PE": {"model": "no_pe"},
    "z=1": {"model": "no_pe", "shells": "single", "distance": 1},
    "core": {"model": "no_pe", "shells": "core"},
    "permuted": {"model": "gt", "defect": "distances"},
}
PLANTED = {
    "G2": {**BLOCKS, "steps": 600},
    "G2, heterophilous": {**BLOCKS, "steps": 600, "heterophily": True, "degree": 8},
}
CORES = {
    **{
        f"{name} {model}": {**graph, "steps": 400, **fields}
        for name, graph in CYCLES.items()
        for model, fields in ON_CYCLES.items()
    },
    **{
        f"{name} {model}": {**graph, **ON_CYCLES[model]}
        for name, graph in PLANTED.items()
        for model in ("GT+PE", "permuted")
    },
}
"""All models on the three cycles; the encoding, intact and with distances permuted, on the planted graphs."""
MODELS = {
    "GT+PE": {"model": "gt"},
    "no PE": {"model": "no_pe"},
    "GT core": {"model": "no_pe", "shells": "core"},
    "GCN core": {"model": "gcn", "shells": "core"},
    "GCN": {"model": "gcn"},
    "permuted": {"model": "gt", "defect": "distances"},
}
CHOICES: dict[str, dict[str, Any]] = {
    "as usual": {},
    "whole graph": {"shells": "whole"},
    "all candidates": {"draw": "all"},
    "by strata": {"draw": "stratified", "per_shell": 25, "extra": 10},
    "by the encoding": {"draw": "encoding"},
    "GCN frozen at its start": {"model": "frozen_init", "shells": "core"},
    "exact initial weights": {"init": "identity"},
    "Gaussian initial weights": {"init": "gaussian"},
    "W_O scaled by rows": {"row_norm": True},
    "W_O trained first": {"pretraining": 100},
}
"""What the paper leaves open or mentions in passing: samplers (section 4), initial weights (3.2), (B.66), (9.8)."""

EXPERIMENTS = (
    experiment(
        "p9-core",
        reference="Lemma 3.4.7",
        question="Does the encoding become largest at the core distance?",
        plot=figures.cores,
        setting={"records": RECORDS},
        axes={"variant": CORES},
        smoke={"variant": with_fields(CORES, **SMALL)},
        paper={**SLOW, "variant": with_fields(CORES, steps=lambda steps: 10 * steps)},
        paper_seeds=5,
    ),
    experiment(
        "p10-known-core",
        reference="Theorem 3.4.8",
        question="Is training with the encoding as good as knowing the core distance?",
        plot=figures.known_core,
        setting={"steps": 400, "records": RECORDS},
        axes={"variant": MODELS},
        paper={**SLOW, "steps": 4000},
        paper_seeds=5,
    ),
    experiment(
        "p10-variants",
        reference="sections 3.2, 3.3, 4",
        question="What do other samplers, initial weights and models do?",
        plot=lm.show("reached_step", "final_loss"),
        setting={"steps": 400, "records": RECORDS},
        axes={"variant": CHOICES},
        paper={**SLOW, "steps": 4000},
        paper_seeds=5,
    ),
)
