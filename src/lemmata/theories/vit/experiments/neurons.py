"""Lucky neurons before training (V9, V10)."""

from __future__ import annotations

from lemmata.theories.vit.experiments.presets import experiment
from lemmata.theories.vit.figures import neurons as figures
from lemmata.theories.vit.studies.initial import measure_initial

EXPERIMENTS = (
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
