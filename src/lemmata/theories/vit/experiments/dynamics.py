"""What happens along training, step by step (V8 to V15, V25)."""

from __future__ import annotations

from lemmata.theories.vit.experiments.presets import ATTENTION, VARIANTS, WIDE, experiment
from lemmata.theories.vit.figures import dynamics as figures

_FULL = {variant: {**fields, "batch": 0} for variant, fields in VARIANTS.items()}

EXPERIMENTS = (
    experiment(
        "dynamics",
        reference="Proposition 2, Lemma A.3.1",
        question="What happens to loss, attention, features and neurons along training, step by step?",
        plot=figures.dynamics,
        setting={"track": "neurons"},
        axes={"variant": {**_FULL, "shared-b20": {**VARIANTS["shared"], "batch": 20}}, "attention": ATTENTION},
        seeds=3,
        smoke={"variant": {**_FULL, "shared-b20": {**VARIANTS["shared"], "batch": 4}}},
        paper=WIDE,
    ),
)
