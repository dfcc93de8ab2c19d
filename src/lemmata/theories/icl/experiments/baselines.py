"""The network against classical predictors and the oracle (figure 6.4). Prompts of all lengths fill the same room."""

from __future__ import annotations

from lemmata.theories.icl.experiments import experiment
from lemmata.theories.icl.figures import baselines as figures
from lemmata.theories.icl.studies.baselines import ask_oracle, compare

EXPERIMENTS = (
    experiment(
        "f64-baselines",
        "Figure 6.4",
        "Is the network more sample efficient than classical predictors fitted to each prompt?",
        figures.baselines,
        {"steps": 600, "test_prompts": 1000, "test_context_room": 40},
        {"test_fraction": [0.6, 0.8], "test_contexts": [5, 10, 20, 40]},
        4,
        smoke={"test_contexts": [5, 10, 20], "test_context_room": 20},
        paper={"test_prompts": 4000},
        paper_seeds=10,
        simulation=compare,
    ),
    experiment(
        "f64-oracle-law",
        "3.5, Figure 6.4",
        "How often must even a predictor err that is told all patterns?",
        figures.oracle,
        {"test_prompts": 4000, "test_contexts": 10, "test_context_room": 10},
        {"test_fraction": [0.2, 0.4], "test_contexts": [2, 5, 10]},
        4,
        paper_seeds=10,
        simulation=ask_oracle,
    ),
)
