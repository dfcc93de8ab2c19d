"""What the trained network can do: context lengths (P4), shifted patterns (P5), baselines (6.4), pruning (6.5)."""

from __future__ import annotations

from lemmata.theories.icl.comparison import compare
from lemmata.theories.icl.experiments.common import ATTENTION, experiment
from lemmata.theories.icl.figures import tests as figures
from lemmata.theories.icl.variations import vary_contexts, vary_pruning, vary_shift

EXPERIMENTS = (
    experiment(
        "p4-contexts",
        "Theorem 6.3.3, l_ts ≥ 1/α'",
        "How long must a testing prompt be?",
        figures.contexts,
        {"steps": 600},
        {"attention": ATTENTION},
        8,
        simulation=vary_contexts,
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
            }
        },
        8,
        simulation=vary_shift,
    ),
    experiment(
        "f64-baselines",
        "Figure 6.4",
        "Is the network more sample efficient than classical predictors fitted to each prompt?",
        figures.baselines,
        {"steps": 600, "test_prompts": 1000},
        {"test_fraction": [0.6, 0.8]},
        4,
        paper={"test_prompts": 4000},
        paper_seeds=10,
        simulation=compare,
    ),
    experiment(
        "f65-pruning",
        "Theorem 6.3.7, Figure 6.5",
        "What does pruning cost out of domain, in hinge loss and in sign error?",
        figures.pruning,
        {"fraction": 0.6, "steps": 1000},
        {},
        8,
        simulation=vary_pruning,
    ),
)
