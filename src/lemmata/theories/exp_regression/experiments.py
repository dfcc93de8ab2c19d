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

ASKED = {
    "x1-kernel": "Lemma 6.3: How fast does the kernel of a random network approach its infinite-width limit?",
    "q3-montecarlo": "Q3, derived: Are the closed forms of the infinite-width kernels right?",
    "q5-width": "Lemma 6.3: Does the printed width bring the kernel within λ/4 of its limit?",
    "q2-tails": """Definition 6.1, Lemma 6.2: Does the paper's B, which does not contain the width, bound every
        projection?""",
    "q7-initial": "Claim 6.8: Is the initial output zero in pairs, and of variance m e^{2σ²‖x‖²} without?",
    "x5-initialisation": "Definitions 4.2 and 4.3: What does the coupled initialisation contribute?",
    "q6-perturbation": "Lemmas 6.2 and 6.7: How much can the kernel change when every weight moves by at most R?",
    "x2-convergence": """Lemma 9.2, Theorem 7.1: Does the error decay at the claimed rate, and does training stay
        linear?""",
    "x2-orthonormal": "Lemma 9.2, orthonormal data: Do orthonormal points train at one common rate, each on its own?",
    "x2-modes": "linearised dynamics: Does every eigenvector of the initial kernel converge at its own rate?",
    "q16-samplers": "Lemma 9.2: Does the rate hold on other data?",
    "q16-theory": "Lemmas 7.4 and 9.2: Does the paper's step size keep its promises?",
    "x3-drift": "Lemma 7.2: How far do the weights move, and how does that shrink with the width?",
    "x4-frontier-n": "Theorem 1.1: How does the width that suffices grow with the number of points?",
    "x4-frontier-lambda": "Theorem 1.1: How does the width that suffices grow as the kernel becomes singular?",
    "x6-stability": "linearised dynamics, m η λ_max < 2: What happens beyond the edge of stability?",
    "x6-phase-map": """linearised dynamics, m η λ_max < 2: Where do convergence, catapult and divergence lie, by step
        size and width?""",
    "x7-activations": "variants of the network: Which activations can tell parallel and antipodal points apart?",
    "x8-vacuity": "Theorem 7.1: How large are the width, step size and iterations that the paper asks for?",
    "x9-theorem": "Theorem 7.1: Does the theorem hold at the width that follows from its explicit inequalities?",
    "q21-flow": "n = 1 gradient flow: Does gradient descent on one point end where gradient flow does?",
}
"""Where each experiment stands in the paper, and what it asks."""
TINY = {"samples": 2, "dimension": 4, "neurons": 64, "neuron_room": 64, "steps": 30, "least_steps": 0, "records": 8}
"""The sizes of every smoke preset, so that they share their programs."""

asks = lm.asking(ASKED, kind=Setting, simulation=simulate, tiny=TINY, seeds=5)
initial = functools.partial(asks, simulation=measure_initial, seeds=200, paper_seeds=1000)
once = functools.partial(asks, seeds=1, paper_seeds=1)

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
    initial("x1-kernel", kernel.concentration, seeds=400, paper_seeds=400)(
        {"data_seed": 0},
        neurons=[100, 1000, 10_000],
        weight_scale=[0.25, 0.5, 1.0],
        smoke={"neurons": [10, 20, 40]},
        paper={"neurons": [100, 1000, 10_000, 100_000]},
    ),
    once("q3-montecarlo", kernel.montecarlo, simulation=sample_kernel)(
        {"data_seed": 0},
        activation=ACTIVATIONS,
        weight_scale=[0.25, 0.5],
        smoke={"weight_samples": 10**4},
        paper={"weight_samples": 10**7},
    ),
    initial("q5-width", kernel.printed_width)(
        {"samples": 5, "dimension": 5, "data_law": "orthonormal", "neurons": 456}, weight_scale=[0.05, 1.0]
    ),
    initial("q2-tails", initialisation.tails)(neurons=[64, 1024, 16384], smoke={"neurons": [16, 32, 64]}),
    initial("q7-initial", initialisation.outputs, seeds=2000, paper_seeds=2000)(
        {"weight_scale": 0.5, "data_seed": 0}, neurons=[64, 1024], init=INITS, smoke={"neurons": [16, 32]}
    ),
    asks("x5-initialisation", initialisation.trained, seeds=10)(
        {"steps": 5000, "track": "bounds"}, neurons=[64, 256, 1024], init=INITS, smoke={"neurons": [16, 32, 64]}
    ),
    asks("q6-perturbation", initialisation.moved, simulation=perturb_weights)(
        {"neurons": 256},
        radius=[1e-4, 9e-4, 9e-3],
        shift=["random", "point", "pair"],
        factor=[1.0, 1.1, 1.6, 2.1],
        smoke={"neurons": 16, "radius": [9e-4, 9e-3], "factor": [1.0, 1.1, 2.1]},
    ),
    asks("x2-convergence", convergence.decay, seeds=10)(
        {"stop": "rounding", "track": "bounds"},
        problem={f"n={n}, d={d}": {"samples": n, "dimension": d} for n, d in ((6, 6), (10, 5), (20, 20))},
        neurons=[64, 256, 1024, 4096],
        # the control of Q18 needs only the step at which it is compared
        init={
            "coupled": {"init": "coupled", **LONG},
            "independent": {"init": "independent", **LONG, "least_steps": 20, "steps": 20},
        },
        smoke={
            "problem": {f"n={n}, d=4": {"samples": n} for n in (1, 2)},
            "neurons": [16, 64],
            "init": {init: {"init": init} for init in INITS},
        },
    ),
    asks("x2-orthonormal", convergence.orthonormal, seeds=10)(
        {"stop": "never", "track": "bounds", "compare": "separate"},
        data_law=["orthonormal", "sphere"],
        step_constant=[0.05, 0.5],
    ),
    asks("x2-modes", convergence.modes, seeds=3)(
        {"stop": "never", "track": "points", "steps": 300}, neurons=[64, 1024], smoke={"neurons": [16, 64]}
    ),
    asks("q16-samplers", convergence.other_data)(
        {"stop": "rounding", "track": "bounds"}, data_law=["ball", "random_labels", "teacher"]
    ),
    asks("q16-theory", convergence.paper_step)(
        {"stop": "never", "track": "bounds", "steps": 1000, "step": "theory", "projection_source": "empirical"}
    ),
    asks("x3-drift", convergence.by_width)(
        {"stop": "never", "track": "bounds", "steps": 300},
        neurons=[128, 512, 2048, 8192],
        scale=["one", "inv_sqrt_m"],
        smoke={"neurons": [16, 32, 64]},
    ),
    asks("x4-frontier-n", width.points, seeds=20)(
        {**FRONTIER, "dimension": 20},
        samples=[5, 10, 20],
        variant=widths(512),
        smoke={"samples": [1, 2], "variant": widths(64), "steps": 100, "track": "bounds"},
    ),
    asks("x4-frontier-lambda", width.eigenvalue, seeds=20)(
        {**FRONTIER, "samples": 8, "dimension": 10, "data_law": "clustered"},
        pair_angle=[1.0, 0.5, 0.25],
        variant=widths(512),
        smoke={"pair_angle": [1.0, 0.5], "variant": widths(64), "steps": 100, "track": "bounds"},
    ),
    asks("x6-stability", step_size.edge, seeds=6)(
        {"stop": "rounding", "track": "bounds", "steps": 2000, "neuron_room": 1024},
        neurons=[64, 1024],
        step_constant=[0.5, 1.0, 1.5, 1.9, 2.1, 2.5, 3.0, 4.0],
        smoke={"neurons": [16, 64]},
    ),
    asks("x6-phase-map", step_size.phase_map, seeds=10)(
        {"stop": "rounding", "steps": 1000, "neuron_room": 1024},
        neurons=[2**k for k in range(4, 11)],
        step_constant=[round(0.4 * k, 2) for k in range(1, 16)],
        smoke={"neurons": [16, 64], "step_constant": [0.5, 2.5, 8.0], "track": "bounds"},
    ),
    asks("x7-activations", kernel.floors)({"stop": "rounding", "steps": 4000}, pair=PAIRS, activation=ACTIVATIONS),
    once("x8-vacuity", width.asked, simulation=calculate)(
        {"data_law": "orthonormal", "dimension": 1000},
        samples=[10, 100, 1000],
        failure_probability=[0.1, 0.05, 0.01],
        tail_constant=[1.0, 2.0, 10.0],
        weight_scale=[1.0, 0.25, 0.05],
        smoke={"samples": [10, 100], "dimension": 1000, "failure_probability": [0.05], "tail_constant": [1.0, 10.0]},
    ),
    asks("x9-theorem", width.end_to_end)(
        {**THEOREM, "track": "bounds", "steps": 100_000, "least_target": 0.1},
        problem={"n=2, σ=0.05": explicit(2, 0.05), "n=1, σ=0.2": explicit(1, 0.2)},
        smoke={"problem": {f"n={n}, σ={s}": {"samples": n, "weight_scale": s} for n, s in ((2, 0.05), (1, 0.2))}},
    ),
    asks("q21-flow", step_size.one_point)(
        {"dimension": 5, "neurons": 40, "stop": "never", "compare": "flow"},
        variant=flows(0.1, 0.01, 0.001),
        smoke={"variant": flows(0.1, 0.01), "track": "bounds"},
    ),
)
