"""Lucky neurons before training (V9, V10)."""

from __future__ import annotations

from lemmata.theories.vit.experiments import experiment
from lemmata.theories.vit.figures import neurons as figures
from lemmata.theories.vit.studies.initial import measure_initial

EXPERIMENTS = (
    experiment(
        "v10-lucky-sets",
        "Lemma A.5.1, Definition A.2.3",
        "How many neurons are lucky at initialisation, and how do they respond to token noise?",
        figures.lucky_sets,
        {"neurons": 1000},
        {"defect": ["none", "shifted"]},
        3,
        simulation=measure_initial,
    ),
)
