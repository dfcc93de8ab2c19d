"""The quantities that the proof follows along training (Lemmas 3.4.5, B.3.1 - B.3.6), and attention (Figure 3.5)."""

from __future__ import annotations

from lemmata.theories.graph_transformer.experiments.presets import RECORDS, SLOW, experiment, ten_times, with_fields
from lemmata.theories.graph_transformer.figures import proof as figures

FROZEN = {"train_attention": 0, "train_encoding": 0}
VARIANTS = {
    "intact": {"steps": 600},
    "margin 10": {"steps": 600, "margin": 10.0},
    "frozen": {"steps": 600, **FROZEN},
    "frozen, margin 10": {"steps": 600, **FROZEN, "margin": 10.0},
    "frozen values": {"steps": 300, "train_values": 0},
    "only head": {"steps": 300, **FROZEN, "train_values": 0},
    "permuted": {"steps": 600, "defect": "labels"},
    "literal init": {"steps": 300, "init": "literal"},
}
AS_PRINTED = {"discriminative": 0.2, "confusion": 0.0, "on_infeasible": "cap"}

EXPERIMENTS = (
    experiment(
        "f35-attention",
        reference="Figure 3.5",
        question="How much attention ends on class-relevant nodes?",
        plot=figures.attention,
        setting={**AS_PRINTED, "steps": 800, "records": 81, "track": "masses"},
        axes={"margin": [1.0, 10.0], "intra_degree": [-1, 0]},
        paper={**SLOW, "steps": 8000},
        paper_seeds=5,
    ),
    experiment(
        "p7-training",
        reference="Lemmas 3.4.5, B.3.1 - B.3.6",
        question="What do attention, keys, values and neurons learn?",
        plot=figures.training,
        setting={"track": "proof", "records": RECORDS},
        axes={"variant": VARIANTS},
        smoke={"variant": with_fields(VARIANTS, steps=4)},
        paper=ten_times(VARIANTS),
        paper_seeds=5,
    ),
)
