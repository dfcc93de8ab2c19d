"""Pruning out of domain (figure 6.5)."""

from __future__ import annotations

from lemmata.theories.icl.experiments import experiment
from lemmata.theories.icl.figures import pruning as figures
from lemmata.theories.icl.studies.pruning import prune_neurons

EXPERIMENTS = (
    experiment(
        "f65-pruning",
        "Theorem 6.3.7, Figure 6.5",
        "What does pruning cost out of domain, in hinge loss and in sign error?",
        figures.out_of_domain,
        {"fraction": 0.6, "steps": 1000},
        {"test_fraction": [0.2, 0.4, 0.6, 0.8]},
        8,
        smoke={"test_fraction": [0.2, 0.4, 0.8]},
        simulation=prune_neurons,
    ),
)
