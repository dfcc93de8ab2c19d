"""The tangent kernel of random networks: concentration (X1), Monte Carlo (Q3), the printed width (Q5)."""

from __future__ import annotations

from lemmata.theories.exp_regression.experiments.common import experiment
from lemmata.theories.exp_regression.figures import kernel as figures
from lemmata.theories.exp_regression.studies.initial import measure_initial
from lemmata.theories.exp_regression.studies.montecarlo import sample_kernel

EXPERIMENTS = (
    experiment(
        "x1-kernel",
        "Lemma 6.3",
        "How fast does the kernel of a random network approach its infinite-width limit?",
        figures.concentration,
        {"data_seed": 0},
        {"neurons": [100, 1000, 10_000], "weight_scale": [0.25, 0.5, 1.0]},
        400,
        smoke={"neurons": [10, 20, 40]},
        paper={"neurons": [100, 1000, 10_000, 100_000]},
        paper_seeds=400,
        simulation=measure_initial,
    ),
    experiment(
        "q3-montecarlo",
        "Q3, derived",
        "Are the closed forms of the infinite-width kernels right?",
        figures.montecarlo,
        {"data_seed": 0},
        {"activation": ["exp", "cosh", "sinh", "relu"], "weight_scale": [0.25, 0.5]},
        1,
        paper={"weight_samples": 10**7},
        paper_seeds=1,
        simulation=sample_kernel,
    ),
    experiment(
        "q5-width",
        "Lemma 6.3",
        "Does the printed width bring the kernel within λ/4 of its limit?",
        figures.width,
        {"samples": 5, "dimension": 5, "data_law": "orthonormal", "neurons": 456},
        {"weight_scale": [0.05, 1.0]},
        200,
        paper_seeds=1000,
        simulation=measure_initial,
    ),
)
