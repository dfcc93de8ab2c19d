"""The experiments: every figure of the paper (section 7) and every table that a claim reads.

Gradient descent is compiled; limits, success maps and spectra are host work in float64, one draw a call and one thread
a core (docs/theories/group_imbalance.md has the measurement of the layouts).
"""

from typing import Any

import lemmata as lm
from lemmata.theories.group_imbalance.baselines import baselines
from lemmata.theories.group_imbalance.figures import limits, mixtures
from lemmata.theories.group_imbalance.mixture import estimation
from lemmata.theories.group_imbalance.setting import CENTRED, OPPOSITE, WIDE, Setting
from lemmata.theories.group_imbalance.studies.curvature import concentration, convexity, radius, smoothness, spectrum
from lemmata.theories.group_imbalance.studies.limits import limit, success, table_4_1
from lemmata.theories.group_imbalance.studies.tensors import moment_errors, tensor
from lemmata.theories.group_imbalance.training import simulate

ASKED = {
    "g1-descent": """Theorem 2, (4.8)-(4.9): Does gradient descent converge linearly, at the rate of the least
        eigenvalue?""",
    "g2-noise": "Theorem 2, gradient noise: How far does gradient noise move the limit?",
    "f44a-mean": "Figure 4.4 (a): Is gradient descent slower when the means lie further out?",
    "f44b-descent": """Figure 4.4 (b): How fast is gradient descent at three covariances, by the paper's step and by the
        Hessian's?""",
    "fc1-descent": "Figure C.1: Does gradient descent converge from the tensor start, from nearby, from far away?",
    "f45b-estimation": "Figure 4.5 (b): How does the error of the minimum fall with the number of samples?",
    "g4-risk": "Theorem 2, (4.11): Does the risk vanish with the number of samples?",
    "f46a-covariance": "Figure 4.6 (a): How does the covariance of the minority move the risks?",
    "f46b-mean": "Figure 4.6 (b): How does the mean of the minority move the risks?",
    "f47a-fraction": "Figure 4.7 (a): What does more of the group with the smaller covariance do?",
    "f47b-fraction": "Figure 4.7 (b): What does more of the group with the larger covariance do?",
    "s3-activations": "section 4.2, activations: Do students with other activations follow the same predictors?",
    "s3-baselines": "section 4.1, related methods: What do methods that see the groups change?",
    "f42-success": "Figure 4.2: How many samples are needed as the dimension grows?",
    "f43a-mean": "Figure 4.3 (a): How many samples are needed as a mean moves out?",
    "f43b-covariance": "Figure 4.3 (b): How many samples are needed as a covariance shrinks or grows?",
    "f44b-covariance": "Figure 4.4 (b): At which covariance is gradient descent fastest?",
    "f45a-width": "Figure 4.5 (a): How does the rate fall with the number of neurons?",
    "g23-convexity": "Lemma C.4.4: Is the curvature at the ground truth between its bounds?",
    "g24-lipschitz": "Lemmas C.4.2, C.4.3: Do the derivatives change no faster than the lemmas say?",
    "g26-concentration": "Lemmas C.4.5, C.5.1: How fast do empirical derivatives approach the population's?",
    "g28-radius": "Lemma C.3.1: How far from the ground truth is the empirical risk convex?",
    "fc1-feasible": "Figure C.1, feasible panel: Does the tensor start approach the ground truth?",
    "fc1-document": "Figure C.1: What does the tensor start know at the paper's own signal?",
    "g31-moments": "Lemmas C.6.1-C.6.3: How fast do the sampled moments approach the exact ones?",
    "g31-scales": """Lemmas C.6.1-C.6.3, row 31: Do errors and bounds of the moments scale alike in W* and in the
        inputs?""",
    "s2-mixture": """section 4.2, estimation of the mixture: How well does EM estimate the mixture, with the true number
        of components and with one too many?""",
    "t41-table": "Table 4.1: What do the bounds say of each change of the mixture, and what happens?",
}
"""Where each stands in the paper, and what it asks."""
TINY: dict[str, Any] = {"samples": 400, "test_points": 200, "steps": 40, "records": 24}
"""The one set of sizes of every smoke preset."""
asks = lm.asking(ASKED, kind=Setting, tiny=TINY)


def scaled(*scales: float) -> dict[float, dict[str, Any]]:
    """Both groups with the covariance of this scale."""
    return {scale: {"first_scale": scale, "second_scale": scale} for scale in scales}


def apart(*sizes: float) -> dict[float, dict[str, Any]]:
    """The means ±C1."""
    return {size: {"first_mean": size, "second_mean": -size} for size in sizes}


def chosen(axis: dict[Any, Any], *labels: Any) -> dict[Any, Any]:
    """A named axis with these labels alone."""
    return {label: axis[label] for label in labels}


AT_LIMIT: dict[str, Any] = {"step_rule": "limit", "horizon": 8.5, "steps": 30_000}
CASES = {
    "random": {"start": "limit"},
    "slowest": {"start": "slowest"},
    "long step": {"start": "limit", "step_factor": 2.5, "horizon": 0.0, "steps": 40},
    "zero mean": {"start": "slowest", "truth": "orthogonal", **CENTRED},
}
NOISES = [("fixed", 1e-3), ("fixed", 1e-2), ("fresh", 1e-3), ("fresh", 1e-2), ("biased", 1e-3)]
ESTIMATION: dict[str, Any] = {
    **{f"{n}": {"samples": n, "defect": "none"} for n in (2000, 4000, 8000, 15_000, 30_000, 60_000, 240_000)},
    **{f"{n}, other teacher": {"samples": n, "defect": "other_teacher"} for n in (8000, 60_000)},
}
MINORITY = {"samples": 20_000, "fraction": 0.2, "first_mean": 2.0}
PATHS: dict[str, Any] = {
    **{f"away {s}": {"second_mean": -2.0 - s, "optimiser": "newton"} for s in (0, 1, 2)},
    **{f"literal {s}": {"second_mean": s - 2.0, "optimiser": "none"} for s in range(6)},
}
"""Both readings of F4.6(b): the mean -(2+s)1, and (s-2)1, of which only the exact predictor is asked."""
FRACTIONS: dict[str, Any] = {"fraction": [0.02, 0.1, 0.2, 0.3, 0.5]}
FRACTIONS |= {"smoke": {"fraction": [0.1, 0.5], "samples": 2000}}
NORMS: dict[float, Any] = {norm: {"first_mean": mean} for norm, mean in ((0.0, 0.0), (2.236, 1.0), (5.0, 5**0.5))}
SAMPLES = [400, 800, 1600, 3200, 6400]
MANY: dict[str, Any] = {"samples": SAMPLES, "paper": {"samples": [*SAMPLES, 12_800], "starts": 20}}
FEWER = {"samples": [400, 1600]}
ISOTROPIC = {"mixture": "single", "dimension": 3, "neurons": 2, "first_mean": 0.0}
DRAWN = {"mixture": "pair", "truth_scale": 1.0, "dimension": 4, "neurons": 2}  # random problems, at most so large
PROBLEMS: dict[str, Any] = {
    "zero means": {**DRAWN, "first_mean": 0.0},
    "means of scale 2": {**DRAWN, "first_mean": 2.0},
    "small, upper": {**ISOTROPIC, "truth_scale": 0.1},
    "small, lower": {**ISOTROPIC, "truth_scale": 0.3},
}
TWO_GROUPS = {"mixture": "pair", "fraction": 0.7, "second_scale": 1.5**0.5, "first_mean": 1.0, "second_mean": -0.2}
FEASIBLE: dict[str, Any] = {
    "two groups": TWO_GROUPS,
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


EXPERIMENTS = (
    asks("g1-descent", limits.descent, simulation=simulate, seeds=5)({**OPPOSITE, **AT_LIMIT}, case=CASES),
    asks("g2-noise", limits.noise, simulation=simulate, seeds=3)(
        {**OPPOSITE, **AT_LIMIT, "start": "limit", "start_distance": 0.0, "horizon": 8.0},
        noise={f"{law} {level:g}": {"noise_law": law, "noise_level": level} for law, level in NOISES},
    ),
    asks("f44a-mean", limits.means, simulation=simulate, seeds=5)(
        {**AT_LIMIT, "covariance": "rotated", "start": "slowest"},
        mean=apart(0.25, 0.5, 1.0, 1.5),
        smoke={"mean": apart(0.25, 1.5)},
    ),
    asks("f44b-descent", limits.scales, simulation=simulate, seeds=1)(
        {**OPPOSITE, "samples": 50_000, "covariance": "rotated", "horizon": 0.0, "steps": 1000},
        scale=scaled(0.5, 1.0, 2.0),
        step_rule=["theory", "hessian"],
        smoke={"scale": scaled(1.0, 2.0)},
        paper={"steps": 10_000},
    ),
    asks("fc1-descent", limits.starts, simulation=simulate, seeds=2)(
        {**DOCUMENT, "samples": 20_000, "horizon": 0.0, "steps": 400, "test_points": 1000},
        start=["tensor", "local", "far"],
        smoke={"dimension": 5},
        paper={"samples": 200_000, "steps": 2000},
    ),
    asks("f45b-estimation", limits.estimation, simulation=limit, seeds=40)(
        {**OPPOSITE, **scaled(3.0)[3.0]}, case=ESTIMATION, smoke={"case": chosen(ESTIMATION, "2000", "4000")}
    ),
    asks("g4-risk", limits.risk, simulation=limit, seeds=20)(
        {**CENTRED, "second_scale": WIDE}, samples=[10_000, 40_000, 160_000], smoke={"samples": [1000, 4000]}
    ),
    asks("f46a-covariance", limits.covariance, simulation=limit, seeds=20)(
        {**MINORITY, "second_mean": -2.0},
        second_scale=[0.2, 0.5, 1.0, 2.0, 4.0],
        smoke={"second_scale": [0.5, 1.0], "samples": 2000},
    ),
    asks("f46b-mean", limits.paths, simulation=limit, seeds=40)(
        MINORITY, path=PATHS, smoke={"path": chosen(PATHS, "away 0", "away 1", "literal 0"), "samples": 2000}
    ),
    asks("f47a-fraction", limits.fraction, simulation=limit, seeds=40)(
        {**CENTRED, "samples": 20_000, "first_scale": WIDE}, **FRACTIONS
    ),
    asks("f47b-fraction", limits.fraction, simulation=limit, seeds=60)(
        {**CENTRED, "samples": 20_000, "second_scale": WIDE}, **FRACTIONS
    ),
    asks("s3-activations", lm.show("excess", "factor"), simulation=limit, seeds=10)(
        {**CENTRED, "samples": 20_000, "fraction": 0.2, "second_scale": 2.0},
        activation=["sigmoid", "tanh", "erf", "probit"],
        smoke={"samples": 2000},
    ),
    asks("s3-baselines", lm.show("excess", "raw_risk"), simulation=baselines, seeds=10)(
        {**CENTRED, "samples": 20_000, "fraction": 0.1, "second_scale": WIDE, "stratified": True},
        smoke={"samples": 4000},
    ),
    asks("f42-success", mixtures.success_map, simulation=success, seeds=20)(
        {"steps": 50},
        dimension=[3, 5, 8, 12],
        samples_per_dimension=[40, 80, 160, 320, 640, 1280],
        optimiser=["newton", "descent"],
        smoke={"dimension": [3, 5], "samples_per_dimension": [80, 320]},
        paper={"dimension": [3, 5, 8, 12, 16, 20], "starts": 20},
    ),
    asks("f43a-mean", mixtures.along_mean, simulation=success, seeds=40)(
        {"second_mean": -1.0}, mean_norm=NORMS, smoke={"mean_norm": chosen(NORMS, 0.0, 5.0), **FEWER}, **MANY
    ),
    asks("f43b-covariance", mixtures.along_covariance, simulation=success, seeds=20)(
        OPPOSITE, first_scale=[0.1, 0.3, 1.0, 2.0, 4.0, 10.0], smoke={"first_scale": [0.3, 1.0], **FEWER}, **MANY
    ),
    asks("f44b-covariance", mixtures.covariance, simulation=spectrum, seeds=20)(
        {**OPPOSITE, "covariance": "rotated"},
        scale=scaled(0.3, 0.5, 0.7, 0.85, 1.0, 1.5, 2.0, 3.0, 5.0),
        smoke={"scale": scaled(0.5, 1.0, 2.0)},
    ),
    asks("f45a-width", mixtures.width, simulation=spectrum, seeds=20)(
        {**OPPOSITE, "dimension": 10}, neurons=[1, 2, 3, 4, 6, 8], smoke={"neurons": [1, 2, 3]}
    ),
    asks("g23-convexity", mixtures.convexity, simulation=convexity, seeds=2000)({"truth": "orthogonal"}, case=PROBLEMS),
    asks("g24-lipschitz", lm.show("ratio", levels={"ratio": "g24-lipschitz"}), simulation=smoothness, seeds=5)(
        {**OPPOSITE, "samples": 100_000}
    ),
    asks("g26-concentration", mixtures.concentration, simulation=concentration, seeds=20)(
        {**OPPOSITE, "data_seed": 0},
        samples=[1000, 4000, 16_000, 64_000],
        defect=["none", "repeated"],
        smoke={"samples": [1000, 4000]},
    ),
    asks("g28-radius", lm.show("least"), simulation=radius, seeds=5)(
        {**CENTRED, "truth": "orthogonal", "samples": 1_000_000},
        defect=["none", "equal_columns"],
        smoke={"samples": 4000},
    ),
    asks("fc1-feasible", mixtures.feasible, simulation=tensor, seeds=12)(
        FEW, inputs=FEASIBLE, samples=[250_000, 1_000_000, 4_000_000], smoke={"samples": [10_000, 40_000]}
    ),
    asks("fc1-document", mixtures.document, simulation=tensor, seeds=3)(
        DOCUMENT, smoke={"dimension": 5, "samples": 10_000}
    ),
    asks("g31-moments", mixtures.moments, simulation=moment_errors, seeds=20)(
        {**FEW, "data_seed": 0}, inputs=FEASIBLE, samples=[25_000, 100_000, 400_000], smoke={"samples": [2500, 10_000]}
    ),
    asks("g31-scales", mixtures.scale_paths, simulation=moment_errors, seeds=10)(
        {**FEW, **FEASIBLE["two groups"], "data_seed": 0, "samples": 100_000},
        path=SCALE_PATHS,
        smoke={"path": SCALE_PATHS, "samples": 4000},
    ),
    asks("s2-mixture", limits.components, simulation=estimation, seeds=10)(
        samples=[1000, 4000, 16_000], smoke={"samples": [400, 1600]}
    ),
    asks("t41-table", table=mixtures.table, simulation=table_4_1, seeds=5)(
        {"samples": 20_000}, smoke={"samples": 4000}
    ),
)
