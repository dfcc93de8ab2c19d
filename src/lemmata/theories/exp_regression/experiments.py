"""The experiments (section 7 and the claims register): settings, axes and seeds at `smoke`, `quick` and `paper` size.

The paper has no experiments of its own; `paper` has the specification's largest widths and more seeds.
"""

import functools
import math
from typing import Any

import lemmata as lm
from lemmata.theories.exp_regression.bounds import explicit_width
from lemmata.theories.exp_regression.figures import convergence, initialisation, kernel, step_size, width
from lemmata.theories.exp_regression.setting import Setting
from lemmata.theories.exp_regression.studies import calculate, measure_initial, perturb_weights, sample_kernel
from lemmata.theories.exp_regression.training import simulate

TINY = {"samples": 2, "dimension": 4, "neurons": 64, "neuron_room": 64, "steps": 30, "least_steps": 0, "records": 8}
"""The sizes of every smoke preset, so that they share their programs."""

experiment = functools.partial(lm.experiment, kind=Setting, simulation=simulate, tiny=TINY, seeds=5)
initial = functools.partial(experiment, simulation=measure_initial, seeds=200, paper_seeds=1000)
once = functools.partial(experiment, seeds=1, paper_seeds=1)
frontier = functools.partial(experiment, reference="Theorem 1.1", seeds=20)

INITS = ["coupled", "independent"]
ACTIVATIONS = ["exp", "cosh", "sinh", "relu"]
PAIRS = {"generic": {"pair": "none"}, "parallel": {"pair": "parallel"}, "antipodal": {"pair": "antipodal"}}
LONG = {"horizon": "predicted", "least_steps": 600, "steps": 20_000}
THEOREM = {"data_law": "orthonormal", "step": "theory", "projection_source": "union", "horizon": "predicted"}
FRONTIER = {"horizon": "predicted", "steps": 20_000, "neurons": 512, "neuron_room": 512}


def widths(most: int) -> dict[str, dict[str, Any]]:
    """m = 2, 4, ..., and frozen weights at the largest of them (the control)."""
    trained = [2**k for k in range(1, most.bit_length())]
    return {str(m): {"neurons": m} for m in trained} | {f"{most} frozen": {"neurons": most, "trained": 0}}


def explicit(n: int, sigma: float) -> dict[str, Any]:
    """Orthonormal points, and the width from the explicit inequalities of the proof, with the union bound's B."""
    width = explicit_width(n, math.exp(2 * sigma**2), 0.05, sigma, projection_source="union")
    m = round(math.exp(width.ln_m))
    return {"samples": n, "dimension": n, "weight_scale": sigma, "neurons": m, "neuron_room": m}


def flows(*constants: float) -> dict[str, dict[str, Any]]:
    """One point with smaller and smaller steps, and a second point (the control)."""
    one = {f"c={c:g}": {"samples": 1, "step_constant": c, "steps": round(25 / c)} for c in constants}
    return one | {"two points": {"samples": 2, "step_constant": 0.1, "steps": 250}}


EXPERIMENTS = (
    initial(
        "x1-kernel",
        reference="Lemma 6.3",
        question="How fast does the kernel of a random network approach its infinite-width limit?",
        plot=kernel.concentration,
        setting={"data_seed": 0},
        axes={"neurons": [100, 1000, 10_000], "weight_scale": [0.25, 0.5, 1.0]},
        seeds=400,
        smoke={"neurons": [10, 20, 40]},
        paper={"neurons": [100, 1000, 10_000, 100_000]},
        paper_seeds=400,
    ),
    once(
        "q3-montecarlo",
        reference="Q3, derived",
        question="Are the closed forms of the infinite-width kernels right?",
        plot=kernel.montecarlo,
        simulation=sample_kernel,
        setting={"data_seed": 0},
        axes={"activation": ACTIVATIONS, "weight_scale": [0.25, 0.5]},
        smoke={"weight_samples": 10**4},
        paper={"weight_samples": 10**7},
    ),
    initial(
        "q5-width",
        reference="Lemma 6.3",
        question="Does the printed width bring the kernel within λ/4 of its limit?",
        plot=kernel.printed_width,
        setting={"samples": 5, "dimension": 5, "data_law": "orthonormal", "neurons": 456},
        axes={"weight_scale": [0.05, 1.0]},
    ),
    initial(
        "q2-tails",
        reference="Definition 6.1, Lemma 6.2",
        question="Does the paper's B, which does not contain the width, bound every projection?",
        plot=initialisation.tails,
        axes={"neurons": [64, 1024, 16384]},
        smoke={"neurons": [16, 32, 64]},
    ),
    initial(
        "q7-initial",
        reference="Claim 6.8",
        question="Is the initial output zero in pairs, and of variance m e^{2σ²‖x‖²} without?",
        plot=initialisation.outputs,
        setting={"weight_scale": 0.5, "data_seed": 0},
        axes={"neurons": [64, 1024], "init": INITS},
        seeds=2000,
        smoke={"neurons": [16, 32]},
        paper_seeds=2000,
    ),
    experiment(
        "x5-initialisation",
        reference="Definitions 4.2 and 4.3",
        question="What does the coupled initialisation contribute?",
        plot=initialisation.trained,
        setting={"steps": 5000, "track": "bounds"},
        axes={"neurons": [64, 256, 1024], "init": INITS},
        seeds=10,
        smoke={"neurons": [16, 32, 64]},
    ),
    experiment(
        "q6-perturbation",
        reference="Lemmas 6.2 and 6.7",
        question="How much can the kernel change when every weight moves by at most R?",
        plot=initialisation.moved,
        simulation=perturb_weights,
        setting={"neurons": 256},
        axes={"radius": [1e-4, 9e-4, 9e-3], "shift": ["random", "point", "pair"], "factor": [1.0, 1.1, 1.6, 2.1]},
        smoke={"neurons": 16, "radius": [9e-4, 9e-3], "factor": [1.0, 1.1, 2.1]},
    ),
    experiment(
        "x2-convergence",
        reference="Lemma 9.2, Theorem 7.1",
        question="Does the error decay at the claimed rate, and does training stay linear?",
        plot=convergence.decay,
        setting={"stop": "rounding", "track": "bounds"},
        axes={
            "problem": {f"n={n}, d={d}": {"samples": n, "dimension": d} for n, d in ((6, 6), (10, 5), (20, 20))},
            "neurons": [64, 256, 1024, 4096],
            # the control of Q18 needs only the step at which it is compared
            "init": {
                "coupled": {"init": "coupled", **LONG},
                "independent": {"init": "independent", **LONG, "least_steps": 20, "steps": 20},
            },
        },
        seeds=10,
        smoke={
            "problem": {f"n={n}, d=4": {"samples": n} for n in (1, 2)},
            "neurons": [16, 64],
            "init": {init: {"init": init} for init in INITS},
        },
    ),
    experiment(
        "x2-orthonormal",
        reference="Lemma 9.2, orthonormal data",
        question="Do orthonormal points train at one common rate, each on its own?",
        plot=convergence.orthonormal,
        setting={"stop": "never", "track": "bounds", "compare": "separate"},
        axes={"data_law": ["orthonormal", "sphere"], "step_constant": [0.05, 0.5]},
        seeds=10,
    ),
    experiment(
        "x2-modes",
        reference="linearised dynamics",
        question="Does every eigenvector of the initial kernel converge at its own rate?",
        plot=convergence.modes,
        setting={"stop": "never", "track": "points", "steps": 300},
        axes={"neurons": [64, 1024]},
        seeds=3,
        smoke={"neurons": [16, 64]},
    ),
    experiment(
        "q16-samplers",
        reference="Lemma 9.2",
        question="Does the rate hold on other data?",
        plot=convergence.other_data,
        setting={"stop": "rounding", "track": "bounds"},
        axes={"data_law": ["ball", "random_labels", "teacher"]},
    ),
    experiment(
        "q16-theory",
        reference="Lemmas 7.4 and 9.2",
        question="Does the paper's step size keep its promises?",
        plot=convergence.paper_step,
        setting={"stop": "never", "track": "bounds", "steps": 1000, "step": "theory", "projection_source": "empirical"},
    ),
    experiment(
        "x3-drift",
        reference="Lemma 7.2",
        question="How far do the weights move, and how does that shrink with the width?",
        plot=convergence.by_width,
        setting={"stop": "never", "track": "bounds", "steps": 300},
        axes={"neurons": [128, 512, 2048, 8192], "scale": ["one", "inv_sqrt_m"]},
        smoke={"neurons": [16, 32, 64]},
    ),
    frontier(
        "x4-frontier-n",
        question="How does the width that suffices grow with the number of points?",
        plot=width.points,
        setting={**FRONTIER, "dimension": 20},
        axes={"samples": [5, 10, 20], "variant": widths(512)},
        smoke={"samples": [1, 2], "variant": widths(64), "steps": 100, "track": "bounds"},
    ),
    frontier(
        "x4-frontier-lambda",
        question="How does the width that suffices grow as the kernel becomes singular?",
        plot=width.eigenvalue,
        setting={**FRONTIER, "samples": 8, "dimension": 10, "data_law": "clustered"},
        axes={"pair_angle": [1.0, 0.5, 0.25], "variant": widths(512)},
        smoke={"pair_angle": [1.0, 0.5], "variant": widths(64), "steps": 100, "track": "bounds"},
    ),
    experiment(
        "x6-stability",
        reference="linearised dynamics, m η λ_max < 2",
        question="What happens beyond the edge of stability?",
        plot=step_size.edge,
        setting={"stop": "rounding", "track": "bounds", "steps": 2000, "neuron_room": 1024},
        axes={"neurons": [64, 1024], "step_constant": [0.5, 1.0, 1.5, 1.9, 2.1, 2.5, 3.0, 4.0]},
        seeds=6,
        smoke={"neurons": [16, 64]},
    ),
    experiment(
        "x6-phase-map",
        reference="linearised dynamics, m η λ_max < 2",
        question="Where do convergence, catapult and divergence lie, by step size and width?",
        plot=step_size.phase_map,
        setting={"stop": "rounding", "steps": 1000, "neuron_room": 1024},
        axes={"neurons": [2**k for k in range(4, 11)], "step_constant": [round(0.4 * k, 2) for k in range(1, 16)]},
        seeds=10,
        smoke={"neurons": [16, 64], "step_constant": [0.5, 2.5, 8.0], "track": "bounds"},
    ),
    experiment(
        "x7-activations",
        reference="variants of the network",
        question="Which activations can tell parallel and antipodal points apart?",
        plot=kernel.floors,
        setting={"stop": "rounding", "steps": 4000},
        axes={"pair": PAIRS, "activation": ACTIVATIONS},
    ),
    once(
        "x8-vacuity",
        reference="Theorem 7.1",
        question="How large are the width, step size and iterations that the paper asks for?",
        plot=width.asked,
        simulation=calculate,
        setting={"data_law": "orthonormal", "dimension": 1000},
        axes={
            "samples": [10, 100, 1000],
            "failure_probability": [0.1, 0.05, 0.01],
            "tail_constant": [1.0, 2.0, 10.0],
            "weight_scale": [1.0, 0.25, 0.05],
        },
        smoke={"samples": [10, 100], "dimension": 1000, "failure_probability": [0.05], "tail_constant": [1.0, 10.0]},
    ),
    experiment(
        "x9-theorem",
        reference="Theorem 7.1",
        question="Does the theorem hold at the width that follows from its explicit inequalities?",
        plot=width.end_to_end,
        setting={**THEOREM, "track": "bounds", "steps": 100_000, "least_target": 0.1},
        axes={"problem": {"n=2, σ=0.05": explicit(2, 0.05), "n=1, σ=0.2": explicit(1, 0.2)}},
        smoke={"problem": {f"n={n}, σ={s}": {"samples": n, "weight_scale": s} for n, s in ((2, 0.05), (1, 0.2))}},
    ),
    experiment(
        "q21-flow",
        reference="n = 1 gradient flow",
        question="Does gradient descent on one point end where gradient flow does?",
        plot=step_size.one_point,
        setting={"dimension": 5, "neurons": 40, "stop": "never", "compare": "flow"},
        axes={"variant": flows(0.1, 0.01, 0.001)},
        smoke={"variant": flows(0.1, 0.01), "track": "bounds"},
    ),
)
