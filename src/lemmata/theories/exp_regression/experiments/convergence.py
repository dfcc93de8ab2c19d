"""Along training: convergence, orthonormal points and modes (X2), other data and the paper's step (Q16)."""

from __future__ import annotations

from lemmata.theories.exp_regression.experiments.common import experiment
from lemmata.theories.exp_regression.figures import convergence as figures

_LONG = {"horizon": "predicted", "least_steps": 600, "steps": 20_000}


EXPERIMENTS = (
    experiment(
        "x2-convergence",
        "Lemma 9.2, Theorem 7.1",
        "Does the error decay at the claimed rate, and does training stay linear?",
        figures.convergence,
        {"stop": "rounding", "track": "bounds"},
        {
            "problem": {f"n={n}, d={d}": {"samples": n, "dimension": d} for n, d in ((6, 6), (10, 5), (20, 20))},
            "neurons": [64, 256, 1024, 4096],
            # the control of Q18 needs only the step at which it is compared
            "init": {
                "coupled": {"init": "coupled", **_LONG},
                "independent": {"init": "independent", **_LONG, "least_steps": 20, "steps": 20},
            },
        },
        10,
        smoke={
            "problem": {f"n={n}, d=4": {"samples": n, "dimension": 4} for n in (2, 3)},
            "neurons": [16, 64],
            "init": {"coupled": {"init": "coupled"}, "independent": {"init": "independent"}},
        },
    ),
    experiment(
        "x2-orthonormal",
        "Lemma 9.2, orthonormal data",
        "Do orthonormal points train at one common rate, each on its own?",
        figures.orthonormal,
        {"stop": "never", "track": "bounds", "compare": "separate"},
        {"data_law": ["orthonormal", "sphere"], "step_constant": [0.05, 0.5]},
        10,
    ),
    experiment(
        "x2-modes",
        "linearised dynamics",
        "Does every eigenvector of the initial kernel converge at its own rate?",
        figures.modes,
        {"stop": "never", "track": "points", "steps": 300},
        {"neurons": [64, 1024]},
        3,
        smoke={"neurons": [16, 64]},
    ),
    experiment(
        "q16-samplers",
        "Lemma 9.2",
        "Does the rate hold on other data?",
        figures.samplers,
        {"stop": "rounding", "track": "bounds"},
        {"data_law": ["ball", "random_labels", "teacher"]},
        5,
    ),
    experiment(
        "q16-theory",
        "Lemmas 7.4 and 9.2",
        "Does the paper's step size keep its promises?",
        figures.theory_step,
        {"stop": "never", "track": "bounds", "steps": 1000, "step": "theory", "projection_source": "empirical"},
        {},
        5,
    ),
)
