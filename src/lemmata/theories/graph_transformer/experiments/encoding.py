"""What the distance encoding learns (P9), and whether it is as good as knowing the core distance (P10)."""

from __future__ import annotations

from functools import partial
from typing import Any

import lemmata as lm
from lemmata.theories.graph_transformer.experiments.presets import (
    BLOCKS,
    CORE,
    CYCLES,
    NEXT,
    RECORDS,
    SLOW,
    SMALL,
    experiment,
    ten_times,
    with_fields,
)
from lemmata.theories.graph_transformer.figures import encoding as figures

ON_CYCLES: dict[str, dict[str, Any]] = {
    "GT+PE": {"model": "gt"},
    "no PE": {"model": "no_pe"},
    "z=1": {"model": "no_pe", **NEXT},
    "core": {"model": "no_pe", **CORE},
    "permuted": {"model": "gt", "defect": "distances"},
}
PLANTED = {"G2": BLOCKS, "G2, heterophilous": {**BLOCKS, "heterophily": True, "degree": 8}}
CORES = {f"{g} {m}": {**graph, "steps": 400, **ON_CYCLES[m]} for g, graph in CYCLES.items() for m in ON_CYCLES}
CORES |= {f"{g} {m}": {**PLANTED[g], "steps": 600, **ON_CYCLES[m]} for g in PLANTED for m in ("GT+PE", "permuted")}
"""All models on the three cycles; the encoding, intact and with distances permuted, on the planted graphs."""
MODELS: dict[str, dict[str, Any]] = {
    "GT+PE": {"model": "gt"},
    "no PE": {"model": "no_pe"},
    "GT core": {"model": "no_pe", **CORE},
    "GCN core": {"model": "gcn", **CORE},
    "GCN": {"model": "gcn"},
    "permuted": {"model": "gt", "defect": "distances"},
}
CHOICES: dict[str, dict[str, Any]] = {
    "as usual": {},
    "whole graph": {"shells": "whole"},
    "all candidates": {"draw": "all"},
    "by strata": {"draw": "stratified", "per_shell": 25, "extra": 10},
    "by the encoding": {"draw": "encoding"},
    "GCN frozen at its start": {"model": "frozen_init", **CORE},
    "exact initial weights": {"init": "identity"},
    "Gaussian initial weights": {"init": "gaussian"},
    "W_O scaled by rows": {"row_norm": True},
    "W_O trained first": {"pretraining": 100},
}
"""What the paper leaves open or mentions in passing: samplers (section 4), initial weights (3.2), (B.66), (9.8)."""

of_400_steps = partial(
    experiment, setting={"steps": 400, "records": RECORDS}, paper={**SLOW, "steps": 4000}, paper_seeds=5
)

EXPERIMENTS = (
    experiment(
        "p9-core",
        reference="Lemma 3.4.7",
        question="Does the encoding become largest at the core distance?",
        plot=figures.cores,
        setting={"records": RECORDS},
        axes={"variant": CORES},
        smoke={"variant": with_fields(CORES, **SMALL)},
        paper=ten_times(CORES),
        paper_seeds=5,
    ),
    of_400_steps(
        "p10-known-core",
        reference="Theorem 3.4.8",
        question="Is training with the encoding as good as knowing the core distance?",
        plot=figures.known_core,
        axes={"variant": MODELS},
    ),
    of_400_steps(
        "p10-variants",
        reference="sections 3.2, 3.3, 4",
        question="What do other samplers, initial weights and models do?",
        plot=lm.show("reached_step", "final_loss"),
        axes={"variant": CHOICES},
    ),
)
