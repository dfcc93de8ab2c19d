"""Extensions on the same setting (P21): absolute encodings, GAT."""

from __future__ import annotations

from typing import Any

import lemmata as lm
from lemmata.theories.graph_transformer.experiments.presets import (
    CYCLES,
    RECORDS,
    SLOW,
    SMALL,
    TINY,
    experiment,
    with_fields,
)

ABSOLUTE: dict[str, Any] = {
    "generator": "structures", "nodes": 480, "labelled": 240, "model": "no_pe", "shells": "whole", "sample": 80,
    "batch": 50, "neurons": 200, "steps": 400, "key_width": 27, "value_width": 27, "positions": "laplacian",
    "positions_in_values": 0, "records": RECORDS,
}  # fmt: skip
TINY_ABSOLUTE = {**TINY, "dimension": 5, "position_width": 3}
"""As many inputs as without an absolute encoding."""
OTHERS = {
    "walk": {"structure": "cycles", "positions": "walk"},
    "degree": {"structure": "degrees", "positions": "degree"},
    "centroid": {"structure": "rings", "positions": "centroid"},
}
OTHER_VARIANTS = {
    **{f"{name}, with": fields for name, fields in OTHERS.items()},
    **{f"{name}, zeroed": {**fields, "position_scale": 0.0} for name, fields in OTHERS.items()},
    **{f"{name}, permuted": {**fields, "defect": "patterns"} for name, fields in OTHERS.items()},
}
NEXT = {"model": "no_pe", "shells": "single", "distance": 1}
ZERO = "++--++--"
GAT: dict[str, dict[str, Any]] = {
    **{
        f"{name}, {scores}": {"scores": scores, **graph, **NEXT}
        for scores in ("dot", "additive")
        for name, graph in (
            ("G1", {"steps": 300}),
            ("+-+-", {**CYCLES["+-+-"], "steps": 400}),
            (ZERO, {**CYCLES[ZERO], "steps": 400}),
        )
    },
    f"{ZERO}, z=4": {**CYCLES[ZERO], "steps": 400, **NEXT, "distance": 4},
}
LEVELS = {
    "final_loss": "p21-gat-near",
    "final_other_loss": "p21-gat-zero-margin",
    "final_accuracy": "p21-gat-opposite",
}
"""What is drawn of a GAT, with the claim whose level stands beside it."""

EXPERIMENTS = (
    experiment(
        "p21-absolute",
        reference="B.5.2",
        question="Can Laplacian eigenvectors take the place of distances?",
        plot=lm.show("other_accuracy", "final_other_accuracy", levels={"final_other_accuracy": "p21-laplacian"}),
        setting=ABSOLUTE,
        axes={
            "variant": {
                "with PE": {},
                "PE zeroed": {"position_scale": 0.0},
                "patterns permuted": {"defect": "patterns"},
            }
        },
        seeds=5,
        tiny=TINY_ABSOLUTE,
        paper={**SLOW, "steps": 4000},
        paper_seeds=10,
    ),
    experiment(
        "p21-encodings",
        reference="B.5.2",
        question="Do return probabilities, degrees and distances to the centroid do the same?",
        plot=lm.show("final_other_accuracy"),
        setting={**ABSOLUTE, "position_width": 9, "key_width": 29, "value_width": 29},
        axes={"variant": OTHER_VARIANTS},
        tiny={**TINY_ABSOLUTE, "nodes": 240},
        paper={**SLOW, "steps": 4000},
        paper_seeds=10,
    ),
    experiment(
        "p21-gat",
        reference="B.5.3",
        question="When does a graph attention network suffice?",
        plot=lm.show(*LEVELS, "final_other_accuracy", levels=LEVELS),
        setting={"records": RECORDS},
        axes={"variant": GAT},
        smoke={"variant": with_fields(GAT, **SMALL)},
        paper={**SLOW, "variant": with_fields(GAT, steps=lambda steps: 10 * steps)},
        paper_seeds=5,
    ),
)
