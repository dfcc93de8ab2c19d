"""Before training: kernels (X1), projections (Q2), Monte Carlo (Q3), widths (Q5), shifts (Q6), outputs (Q7)."""

from __future__ import annotations

from lemmata.theories.exp_regression.experiments.common import experiment
from lemmata.theories.exp_regression.figures import initial as figures
from lemmata.theories.exp_regression.initial import measure_initial, sample_kernel
from lemmata.theories.exp_regression.perturbation import perturb_weights

INITS = ["coupled", "independent"]

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
        "q2-tails",
        "Definition 6.1, Lemma 6.2",
        "Does the document's B, which does not contain the width, bound every projection?",
        figures.tails,
        {},
        {"neurons": [64, 1024, 16384]},
        200,
        smoke={"neurons": [16, 32, 64]},
        paper_seeds=1000,
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
        {"samples": 5, "dimension": 5, "sampler": "orthonormal", "neurons": 456},
        {"weight_scale": [0.05, 1.0]},
        200,
        paper_seeds=1000,
        simulation=measure_initial,
    ),
    experiment(
        "q6-perturbation",
        "Lemmas 6.2 and 6.7",
        "How much can the kernel change when every weight moves by at most R?",
        figures.perturbation,
        {"neurons": 256},
        {"radius": [1e-4, 9e-4, 9e-3], "shift": ["random", "point", "pair"], "factor": [1.0, 1.1, 1.6, 2.1]},
        5,
        smoke={"neurons": 16},
        simulation=perturb_weights,
    ),
    experiment(
        "q7-initial",
        "Claim 6.8",
        "Is the initial output zero in pairs, and of variance m e^{2σ²‖x‖²} without?",
        figures.outputs,
        {"weight_scale": 0.5, "data_seed": 0},
        {"neurons": [64, 1024], "init": INITS},
        2000,
        smoke={"neurons": [16, 32]},
        paper_seeds=2000,
        simulation=measure_initial,
    ),
)
