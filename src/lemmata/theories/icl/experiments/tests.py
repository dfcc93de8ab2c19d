"""What the trained network can do: context lengths (P4), shifted patterns (P5), baselines (6.4), pruning (6.5).

Cells differ in how a network is tested; those of one training share it. Prompts of all lengths fill the same room.
"""

from __future__ import annotations

from lemmata.theories.icl.comparison import ask_oracle, compare
from lemmata.theories.icl.experiments.common import ATTENTION, experiment
from lemmata.theories.icl.figures import tests as figures
from lemmata.theories.icl.shift import SHIFTS
from lemmata.theories.icl.variations import answer_prompts, prune_neurons, shift_patterns

EXPERIMENTS = (
    experiment(
        "p4-contexts",
        "Theorem 6.3.3, l_ts ≥ 1/α'",
        "How long must a testing prompt be?",
        figures.contexts,
        {"steps": 600, "test_room": 40},
        {
            "attention": ATTENTION,
            "test_mode": ["iid", "exact"],
            "test_fraction": [0.2, 0.4, 0.8, 1.0],
            "test_contexts": [1, 2, 3, 5, 10, 20, 40],
        },
        8,
        smoke={"test_fraction": [0.4, 1.0], "test_contexts": [1, 2, 3, 5], "test_room": 6},
        simulation=answer_prompts,
    ),
    experiment(
        "p5-shift",
        "Theorem 6.3.4, Figure 6.3(A)",
        "Does the network work on new patterns that are combinations of the old ones?",
        figures.shift,
        {"steps": 600},
        {
            "training": {
                "U=1": {"rounds": 1},
                "U=5": {"rounds": 5},
                "3 tasks": {"tasks": "subsampled", "task_count": 3},
            },
            "shift": SHIFTS,
        },
        8,
        smoke={"shift": {label: SHIFTS[label] for label in ("45", "20", "6.35", "-45", "135", "-135", "defect")}},
        simulation=shift_patterns,
    ),
    experiment(
        "f64-baselines",
        "Figure 6.4",
        "Is the network more sample efficient than classical predictors fitted to each prompt?",
        figures.baselines,
        {"steps": 600, "test_prompts": 1000, "test_room": 40},
        {"test_fraction": [0.6, 0.8], "test_contexts": [5, 10, 20, 40]},
        4,
        smoke={"test_contexts": [5, 10, 20], "test_room": 20},
        paper={"test_prompts": 4000},
        paper_seeds=10,
        simulation=compare,
    ),
    experiment(
        "f64-oracle-law",
        "3.5, Figure 6.4",
        "How often must even a predictor err that is told all patterns?",
        figures.oracle,
        {"test_prompts": 4000, "test_contexts": 10, "test_room": 10},
        {"test_fraction": [0.2, 0.4], "test_contexts": [2, 5, 10]},
        4,
        paper_seeds=10,
        simulation=ask_oracle,
    ),
    experiment(
        "f65-pruning",
        "Theorem 6.3.7, Figure 6.5",
        "What does pruning cost out of domain, in hinge loss and in sign error?",
        figures.pruning,
        {"fraction": 0.6, "steps": 1000},
        {"test_fraction": [0.2, 0.4, 0.6, 0.8]},
        8,
        smoke={"test_fraction": [0.2, 0.4, 0.8]},
        simulation=prune_neurons,
    ),
)
