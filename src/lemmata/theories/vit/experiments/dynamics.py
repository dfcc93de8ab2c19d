"""What happens along training, step by step (V8 to V15, V25), and lucky neurons before it (V9, V10)."""

from __future__ import annotations

import lemmata as lm
from lemmata.theories.vit.experiments.presets import ATTENTION, VARIANTS, WIDE, experiment
from lemmata.theories.vit.figures import dynamics as figures
from lemmata.theories.vit.studies.initial import measure_initial

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
    experiment(
        "v25-cross",
        reference="(A.126), (A.131), (A.132)",
        question="In how many runs does the query map gain most along the own feature?",
        plot=lm.show("query_features"),
        setting={"track": "neurons"},
        axes={"variant": {"shared": _FULL["shared"]}, "attention": ATTENTION},
        seeds=20,
        paper=WIDE,
    ),
    experiment(
        "v10-lucky-sets",
        reference="Lemma A.5.1, Definition A.2.3",
        question="How many neurons are lucky at initialisation, and how do they respond to token noise?",
        simulation=measure_initial,
        plot=figures.lucky_sets,
        setting={"neurons": 1000},
        axes={"defect": ["none", "shifted"]},
        seeds=3,
    ),
)
