"""The experiments: every figure of the paper (section 7) and every table that a claim reads.

Gradient descent is compiled; limits, success maps and spectra are host work in float64, one draw a call and one thread
a core (docs/theories/group_imbalance.md has the measurement of the layouts).
"""

from functools import partial
from typing import Any

import lemmata as lm
from lemmata.theories.group_imbalance.baselines import baselines
from lemmata.theories.group_imbalance.figures import limits as limit_figures
from lemmata.theories.group_imbalance.figures import mixtures, tensors, training
from lemmata.theories.group_imbalance.mixture import estimation
from lemmata.theories.group_imbalance.setting import Setting
from lemmata.theories.group_imbalance.studies.concentration import concentration, radius, smoothness
from lemmata.theories.group_imbalance.studies.limits import limit
from lemmata.theories.group_imbalance.studies.spectra import convexity, spectrum
from lemmata.theories.group_imbalance.studies.success import success
from lemmata.theories.group_imbalance.studies.table import table_4_1
from lemmata.theories.group_imbalance.studies.tensors import moment_errors, tensor
from lemmata.theories.group_imbalance.training import simulate

TINY: dict[str, Any] = {"samples": 400, "test_points": 200, "steps": 40, "records": 24}
"""The one set of sizes of every smoke preset."""
experiment = partial(lm.experiment, kind=Setting, tiny=TINY)
descents = partial(experiment, simulation=simulate)
limits = partial(experiment, simulation=limit)
maps = partial(experiment, simulation=success)


def scaled(*scales: float) -> dict[float, dict[str, Any]]:
    """Both groups with the covariance of this scale."""
    return {scale: {"first_scale": scale, "second_scale": scale} for scale in scales}


def apart(*sizes: float) -> dict[float, dict[str, Any]]:
    """The means ±C1."""
    return {size: {"first_mean": size, "second_mean": -size} for size in sizes}


OPPOSITE: dict[str, Any] = {"first_mean": 1.0, "second_mean": -1.0}
"""μ = ±1, Σ = I."""
CENTRED: dict[str, Any] = {"first_mean": 0.0, "second_mean": 0.0}
WIDE = 10**0.5
AT_LIMIT: dict[str, Any] = {"step_rule": "limit", "horizon": 8.5, "steps": 30_000}
NOISES = [("fixed", 1e-3), ("fixed", 1e-2), ("fresh", 1e-3), ("fresh", 1e-2), ("biased", 1e-3)]
ESTIMATION: dict[str, Any] = {
    **{f"{n}": {"samples": n, "defect": "none"} for n in (2000, 4000, 8000, 15_000, 30_000, 60_000, 240_000)},
    **{f"{n}, other teacher": {"samples": n, "defect": "other_teacher"} for n in (8000, 60_000)},
}
PATHS: dict[str, Any] = {
    **{f"away {s}": {"second_mean": -2.0 - s, "optimiser": "newton"} for s in (0, 1, 2)},
    **{f"literal {s}": {"second_mean": s - 2.0, "optimiser": "none"} for s in range(6)},
}
"""Both readings of F4.6(b): the mean -(2+s)1, and (s-2)1, of which only the exact predictor is asked."""
FRACTION: Any = {
    "axes": {"fraction": [0.02, 0.1, 0.2, 0.3, 0.5]},
    "smoke": {"fraction": [0.1, 0.5], "samples": 2000},
    "plot": partial(limit_figures.sweep, along="fraction", words="minority fraction $\\lambda_2$"),
}
FEASIBLE: dict[str, Any] = {
    "two groups": {
        "mixture": "pair",
        "fraction": 0.7,
        "second_scale": 1.5**0.5,
        "first_mean": 1.0,
        "second_mean": -0.2,
    },
    "one Gaussian": {"mixture": "single", "fraction": 0.5, "second_scale": 1.0, **CENTRED},
}
"""The Q_2 path and the symmetric path of the feasible panel of FC.1."""
SCALE_PATHS: dict[str, Any] = {
    **{f"truth {c:g}": {"truth_scale": 2 * c} for c in (1.0, 0.5, 0.25, 0.125)},
    **{
        f"inputs {s:g}": {"truth_scale": 2 / s, "first_mean": s, "second_mean": -0.2 * s}
        | {"first_scale": s, "second_scale": s * 1.5**0.5}
        for s in (0.5, 1.0, 2.0, 4.0)
    },
}
"""W* -> cW*; and x -> sx, W* -> W*/s, which leaves the labels as they are."""
FEW: dict[str, Any] = {"neurons": 2, "truth": "orthogonal", "truth_scale": 2.0}
DOCUMENT: dict[str, Any] = {"dimension": 50, "neurons": 2, "first_mean": -0.3, "second_mean": 0.0, "samples": 200_000}
DOCUMENT |= {"truth": "uniform", "truth_scale": 0.1}
SAMPLES = [400, 800, 1600, 3200, 6400]
NORMS: dict[float, Any] = {norm: {"first_mean": mean} for norm, mean in ((0.0, 0.0), (2.236, 1.0), (5.0, 5**0.5))}

DESCENTS = (
    descents(
        "g1-descent",
        reference="Theorem 2, (4.8)-(4.9)",
        question="Does gradient descent converge linearly, at the rate of the least eigenvalue?",
        setting={**OPPOSITE, **AT_LIMIT, "samples": 10_000},
        axes={
            "case": {
                "random": {"start": "limit"},
                "slowest": {"start": "slowest"},
                "long step": {"start": "limit", "step_factor": 2.5, "horizon": 0.0, "steps": 40},
                "zero mean": {"start": "slowest", "truth": "orthogonal", **CENTRED},
            }
        },
        seeds=5,
        plot=training.descent,
    ),
    descents(
        "g2-noise",
        reference="Theorem 2, gradient noise",
        question="How far does gradient noise move the limit?",
        setting={**OPPOSITE, **AT_LIMIT, "samples": 10_000, "start": "limit", "start_distance": 0.0, "horizon": 8.0},
        axes={"noise": {f"{law} {level:g}": {"noise_law": law, "noise_level": level} for law, level in NOISES}},
        seeds=3,
        plot=training.noise,
    ),
    descents(
        "f44a-mean",
        reference="Figure 4.4 (a)",
        question="Is gradient descent slower when the means lie further out?",
        setting={**AT_LIMIT, "samples": 10_000, "covariance": "rotated", "start": "slowest"},
        axes={"mean": apart(0.25, 0.5, 1.0, 1.5)},
        seeds=5,
        smoke={"mean": apart(0.25, 1.5)},
        plot=training.means,
    ),
    descents(
        "f44b-descent",
        reference="Figure 4.4 (b)",
        question="How fast is gradient descent at three covariances, by the paper's step and by the Hessian's?",
        setting={**OPPOSITE, "samples": 50_000, "covariance": "rotated", "horizon": 0.0, "steps": 1000},
        axes={"scale": scaled(0.5, 1.0, 2.0), "step_rule": ["theory", "hessian"]},
        seeds=1,
        smoke={"scale": scaled(1.0, 2.0)},
        paper={"steps": 10_000},
        plot=training.scales,
    ),
    descents(
        "fc1-descent",
        reference="Figure C.1",
        question="Does gradient descent converge from the tensor start, from nearby, from far away?",
        setting={**DOCUMENT, "samples": 20_000, "horizon": 0.0, "steps": 400, "test_points": 1000},
        axes={"start": ["tensor", "local", "far"]},
        seeds=2,
        smoke={"dimension": 5},
        paper={"samples": 200_000, "steps": 2000},
        plot=training.starts,
    ),
)

LIMITS = (
    limits(
        "f45b-estimation",
        reference="Figure 4.5 (b)",
        question="How does the error of the minimum fall with the number of samples?",
        setting={**OPPOSITE, "first_scale": 3.0, "second_scale": 3.0},
        axes={"case": ESTIMATION},
        seeds=40,
        smoke={"case": {label: ESTIMATION[label] for label in ("2000", "4000")}},
        plot=limit_figures.estimation,
    ),
    limits(
        "g4-risk",
        reference="Theorem 2, (4.11)",
        question="Does the risk vanish with the number of samples?",
        setting={**CENTRED, "second_scale": WIDE},
        axes={"samples": [10_000, 40_000, 160_000]},
        seeds=20,
        smoke={"samples": [1000, 4000]},
        plot=limit_figures.risk,
    ),
    limits(
        "f46a-covariance",
        reference="Figure 4.6 (a)",
        question="How does the covariance of the minority move the risks?",
        setting={"samples": 20_000, "fraction": 0.2, "first_mean": 2.0, "second_mean": -2.0},
        axes={"second_scale": [0.2, 0.5, 1.0, 2.0, 4.0]},
        seeds=20,
        smoke={"second_scale": [0.5, 1.0], "samples": 2000},
        plot=partial(limit_figures.sweep, along="second_scale", words="minority scale $\\sigma_2$"),
    ),
    limits(
        "f46b-mean",
        reference="Figure 4.6 (b)",
        question="How does the mean of the minority move the risks?",
        setting={"samples": 20_000, "fraction": 0.2, "first_mean": 2.0},
        axes={"path": PATHS},
        seeds=40,
        smoke={"path": {label: PATHS[label] for label in ("away 0", "away 1", "literal 0")}, "samples": 2000},
        plot=limit_figures.paths,
    ),
    limits(
        "f47a-fraction",
        reference="Figure 4.7 (a)",
        question="What does more of the group with the smaller covariance do?",
        setting={**CENTRED, "samples": 20_000, "first_scale": WIDE},
        seeds=40,
        **FRACTION,
    ),
    limits(
        "f47b-fraction",
        reference="Figure 4.7 (b)",
        question="What does more of the group with the larger covariance do?",
        setting={**CENTRED, "samples": 20_000, "second_scale": WIDE},
        seeds=60,
        **FRACTION,
    ),
    limits(
        "s3-activations",
        reference="section 4.2, activations",
        question="Do students with other activations follow the same predictors?",
        setting={**CENTRED, "samples": 20_000, "fraction": 0.2, "second_scale": 2.0},
        axes={"activation": ["sigmoid", "tanh", "erf", "probit"]},
        seeds=10,
        smoke={"samples": 2000},
        plot=limit_figures.activations,
    ),
    experiment(
        "s3-baselines",
        simulation=baselines,
        reference="section 4.1, related methods",
        question="What do methods that see the groups change?",
        setting={**CENTRED, "samples": 20_000, "fraction": 0.1, "second_scale": WIDE, "stratified": True},
        seeds=10,
        smoke={"samples": 4000},
        plot=limit_figures.methods,
    ),
)

MAPS = (
    maps(
        "f42-success",
        reference="Figure 4.2",
        question="How many samples are needed as the dimension grows?",
        setting={"steps": 50},
        axes={
            "dimension": [3, 5, 8, 12],
            "samples_per_dimension": [40, 80, 160, 320, 640, 1280],
            "optimiser": ["newton", "descent"],
        },
        seeds=20,
        smoke={"dimension": [3, 5], "samples_per_dimension": [80, 320]},
        paper={"dimension": [3, 5, 8, 12, 16, 20], "starts": 20},
        plot=mixtures.success_map,
    ),
    maps(
        "f43a-mean",
        reference="Figure 4.3 (a)",
        question="How many samples are needed as a mean moves out?",
        setting={"second_mean": -1.0},
        axes={"mean_norm": NORMS, "samples": SAMPLES},
        seeds=40,
        smoke={"mean_norm": {norm: NORMS[norm] for norm in (0.0, 5.0)}, "samples": [400, 1600]},
        paper={"samples": [*SAMPLES, 12_800], "starts": 20},
        plot=partial(mixtures.thresholds, along="mean_norm", words="$\\|\\mu_1\\|$", title="Figure 4.3 (a)"),
    ),
    maps(
        "f43b-covariance",
        reference="Figure 4.3 (b)",
        question="How many samples are needed as a covariance shrinks or grows?",
        setting=OPPOSITE,
        axes={"first_scale": [0.1, 0.3, 1.0, 2.0, 4.0, 10.0], "samples": SAMPLES},
        seeds=20,
        smoke={"first_scale": [0.3, 1.0], "samples": [400, 1600]},
        paper={"samples": [*SAMPLES, 12_800], "starts": 20},
        plot=partial(
            mixtures.thresholds,
            along="first_scale",
            words="scale $\\sigma_1$ of the first group",
            title="Figure 4.3 (b)",
        ),
    ),
)

SPECTRA = (
    experiment(
        "f44b-covariance",
        simulation=spectrum,
        reference="Figure 4.4 (b)",
        question="At which covariance is gradient descent fastest?",
        setting={**OPPOSITE, "covariance": "rotated"},
        axes={"scale": scaled(0.3, 0.5, 0.7, 0.85, 1.0, 1.5, 2.0, 3.0, 5.0)},
        seeds=20,
        smoke={"scale": scaled(0.5, 1.0, 2.0)},
        plot=mixtures.covariance,
    ),
    experiment(
        "f45a-width",
        simulation=spectrum,
        reference="Figure 4.5 (a)",
        question="How does the rate fall with the number of neurons?",
        setting={**OPPOSITE, "dimension": 10},
        axes={"neurons": [1, 2, 3, 4, 6, 8]},
        seeds=20,
        smoke={"neurons": [1, 2, 3]},
        plot=mixtures.width,
    ),
    experiment(
        "g23-convexity",
        simulation=convexity,
        reference="Lemma C.4.4",
        question="Is the curvature at the ground truth between its bounds?",
        axes={
            "case": {
                "zero means": {"first_mean": 0.0, "mixture": "pair"},
                "means of scale 2": {"first_mean": 2.0, "mixture": "pair"},
                "small, upper": {"first_mean": 0.0, "mixture": "single", "truth_scale": 0.1},
                "small, lower": {"first_mean": 0.0, "mixture": "single", "truth_scale": 0.3},
            }
        },
        seeds=60,
        plot=mixtures.convexity,
    ),
    experiment(
        "g24-lipschitz",
        simulation=smoothness,
        reference="Lemmas C.4.2, C.4.3",
        question="Do the derivatives change no faster than the lemmas say?",
        setting={**OPPOSITE, "samples": 100_000},
        seeds=5,
        plot=mixtures.smoothness,
    ),
    experiment(
        "g26-concentration",
        simulation=concentration,
        reference="Lemmas C.4.5, C.5.1",
        question="How fast do empirical derivatives approach the population's?",
        setting={**OPPOSITE, "data_seed": 0},
        axes={"samples": [1000, 4000, 16_000, 64_000], "defect": ["none", "repeated"]},
        seeds=20,
        smoke={"samples": [1000, 4000]},
        plot=mixtures.concentration,
    ),
    experiment(
        "g28-radius",
        simulation=radius,
        reference="Lemma C.3.1",
        question="How far from the ground truth is the empirical risk convex?",
        setting={**CENTRED, "truth": "orthogonal", "samples": 1_000_000},
        axes={"defect": ["none", "equal_columns"]},
        seeds=5,
        smoke={"samples": 4000},
        plot=mixtures.radius,
    ),
)

TENSORS = (
    experiment(
        "fc1-feasible",
        simulation=tensor,
        reference="Figure C.1, feasible panel",
        question="Does the tensor start approach the ground truth?",
        setting=FEW,
        axes={"inputs": FEASIBLE, "samples": [250_000, 1_000_000, 4_000_000]},
        seeds=12,
        smoke={"samples": [10_000, 40_000]},
        plot=tensors.feasible,
    ),
    experiment(
        "fc1-document",
        simulation=tensor,
        reference="Figure C.1",
        question="What does the tensor start know at the paper's own signal?",
        setting=DOCUMENT,
        seeds=3,
        smoke={"dimension": 5, "samples": 10_000},
        plot=tensors.document,
    ),
    experiment(
        "g31-moments",
        simulation=moment_errors,
        reference="Lemmas C.6.1-C.6.3",
        question="How fast do the sampled moments approach the exact ones?",
        setting={**FEW, "data_seed": 0},
        axes={"inputs": FEASIBLE, "samples": [25_000, 100_000, 400_000]},
        seeds=20,
        smoke={"samples": [2500, 10_000]},
        plot=tensors.moments,
    ),
    experiment(
        "g31-scales",
        simulation=moment_errors,
        reference="Lemmas C.6.1-C.6.3, row 31",
        question="Do errors and bounds of the moments scale alike in W* and in the inputs?",
        setting={**FEW, **FEASIBLE["two groups"], "data_seed": 0, "samples": 100_000},
        axes={"path": SCALE_PATHS},
        seeds=10,
        smoke={"path": SCALE_PATHS, "samples": 4000},
        plot=tensors.scale_paths,
    ),
    experiment(
        "s2-mixture",
        simulation=estimation,
        reference="section 4.2, estimation of the mixture",
        question="How well does EM estimate the mixture, with the true number of components and with one too many?",
        axes={"samples": [1000, 4000, 16_000]},
        seeds=10,
        smoke={"samples": [400, 1600]},
        plot=limit_figures.components,
    ),
    experiment(
        "t41-table",
        simulation=table_4_1,
        reference="Table 4.1",
        question="What do the bounds say of each change of the mixture, and what happens?",
        setting={"samples": 20_000},
        seeds=5,
        smoke={"samples": 4000},
        table=tensors.table,
    ),
)

EXPERIMENTS = (*DESCENTS, *LIMITS, *MAPS, *SPECTRA, *TENSORS)
