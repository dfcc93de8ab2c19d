"""The claims register, and data sets made by hand in the shape in which the experiments leave them at `quick`, as the
specification expects them; tests change one thing and say what the claim must answer."""

from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE
from lemmata.lab.grid import make_grid
from lemmata.theories import exp_regression

CLAIMS = exp_regression.theory.claims
EXPERIMENTS = exp_regression.theory.experiments
inf, nan = float("inf"), float("nan")

# The register: claim -> kind, experiments its criterion reads, expected outcome, outcomes of the controls

X2, X3, X5, X6, X9 = "x2-convergence", "x3-drift", "x5-initialisation", "x6-stability", "x9-theorem"
H, F, U = HOLDS, FAILS, INCONCLUSIVE

REGISTER: dict[str, tuple[str, set[str], str, list[str]]] = {
    "q1-gradient-output": ("identity", set(), H, [F]),
    "q1-gradient-loss": ("identity", set(), H, [F]),
    "q2-projection-union": ("bound", {"q2-tails"}, H, [F]),
    "q2-projection-paper": ("bound", {"q2-tails"}, H, [F]),
    "q2-projection-constant": ("ordering", {"q2-tails"}, H, [F]),
    "q2-moved-projection": ("bound", {"q6-perturbation"}, H, [F]),
    "q2-exponentials": ("bound", {"q6-perturbation"}, H, [F]),
    "q2-difference": ("bound", {"q6-perturbation"}, H, [F]),
    "q2-exponential-difference": ("bound", {"q6-perturbation"}, H, [F]),
    "q3-kernel-exp": ("identity", {"q3-montecarlo"}, H, [F, F]),
    "q3-kernel-cosh": ("identity", {"q3-montecarlo"}, H, [F]),
    "q3-kernel-sinh": ("identity", {"q3-montecarlo"}, H, [F]),
    "q3-kernel-relu": ("identity", {"q3-montecarlo"}, H, [F]),
    "q4-exp-definite": ("identity", set(), H, [F, F]),
    "q4-exp-singular": ("identity", set(), H, [F]),
    "q4-relu-singular": ("identity", set(), H, [F]),
    "q4-cosh-singular": ("identity", set(), H, [F]),
    "q4-sinh-singular": ("identity", set(), H, [F]),
    "q4-crowded": ("identity", set(), U, [H]),
    "q5-entrywise": ("bound", {"x1-kernel"}, F, [H]),
    "q5-entrywise-corrected": ("bound", {"x1-kernel"}, H, [F]),
    "q5-weyl": ("bound", {"q5-width", "x1-kernel"}, H, [F]),
    "q5-width-chebyshev": ("bound", set(), H, [F]),
    "q5-width-draw": ("bound", {"q5-width"}, H, [F]),
    "q6-frobenius": ("bound", {"q6-perturbation"}, H, [F]),
    "q6-entrywise": ("bound", {"q6-perturbation"}, H, [F]),
    "q6-equality": ("identity", {"q6-perturbation"}, H, [F]),
    "q7-zero-output": ("identity", {"q7-initial"}, H, [F]),
    "q7-initial-loss": ("bound", {"q7-initial"}, H, [F]),
    "q7-independent-variance": ("identity", {"q7-initial"}, H, [F]),
    "q8-first-order": ("identity", {X5}, F, [H]),
    "q8-second-order-sign": ("identity", {X5}, F, [H]),
    "q8-decomposition-corrected": ("identity", {X2, X5, X6}, H, [F]),
    "q9-first-order-bound": ("bound", {X2}, H, [F]),
    "q9-radius": ("bound", set(), F, [H]),
    "q9-radius-corrected": ("bound", set(), H, [F]),
    "q10-asymmetric": ("bound", {X2}, H, [F]),
    "q10-tight": ("identity", set(), H, [F]),
    "q11-second-order": ("bound", set(), F, [H]),
    "q11-second-order-corrected": ("bound", {X2, X5}, H, [F]),
    "q11-remainder": ("bound", set(), H, [F]),
    "q11-tight": ("identity", set(), H, [F]),
    "q12-third-term": ("bound", {X2}, H, [F]),
    "q12-third-term-stated": ("bound", {X2}, H, [F]),
    "q12-tight": ("limit", set(), H, [F]),
    "q13-gradient-norm": ("bound", {X2, X5}, H, [F]),
    "q13-tight": ("identity", set(), H, [F]),
    "q14-step": ("bound", {"q16-theory", X9}, H, [F]),
    "q15-drift-bound": ("bound", {X2, X3}, H, [F]),
    "q15-lazy-drift": ("identity", {X3}, H, [F]),
    "q15-lazy-drift-width": ("scaling", {X3}, H, [F]),
    "q16-contraction-dis": ("bound", {X2, "q16-samplers", "q16-theory", X6}, H, [F, F]),
    "q16-contraction-cts": ("bound", {X2}, H, [F]),
    "q16-contraction-narrow": ("bound", {X2}, U, [H]),
    "q17-hitting": ("bound", {X2}, H, [F, F]),
    "q17-paper-width": ("bound", {"x8-vacuity"}, U, [H]),
    "q18-deviation": ("limit", {X2}, H, [F]),
    "q18-slope": ("scaling", {X2}, H, [F]),
    "q18-iterations": ("identity", set(), H, [F]),
    "q19-crossing": ("identity", set(), H, [F]),
    "q19-decay": ("limit", set(), H, [F]),
    "q20-exponential": ("bound", set(), F, [H]),
    "q20-exponential-corrected": ("bound", set(), H, [F]),
    "q20-cosh": ("bound", set(), H, [F]),
    "q20-remainder": ("bound", set(), H, [F]),
    "q20-taylor": ("identity", set(), H, [F]),
    "q20-cauchy": ("bound", set(), H, [F]),
    "q20-norms": ("bound", set(), H, [F]),
    "q20-quadratic-form": ("bound", set(), H, [F]),
    "q20-weyl": ("bound", set(), H, [F]),
    "q20-root": ("bound", set(), H, [F]),
    "q20-geometric": ("identity", set(), H, [F]),
    "q20-hoeffding": ("bound", set(), H, [F]),
    "q20-bernstein": ("bound", set(), H, [F]),
    "q20-laurent-massart-tails": ("bound", set(), H, [F]),
    "q20-laurent-massart": ("bound", set(), F, [H]),
    "q20-laurent-massart-corrected": ("bound", set(), H, [F]),
    "q21-limit": ("identity", {"q21-flow"}, H, [F]),
    "q21-order": ("scaling", {"q21-flow"}, H, [F]),
    "q21-line": ("identity", {"q21-flow"}, H, [F]),
    "q21-decoupling": ("identity", {"x2-orthonormal"}, H, [F]),
    "x1-ratio": ("identity", {"x1-kernel"}, H, [F, F]),
    "x1-slope": ("scaling", {"x1-kernel"}, H, [F, F]),
    "x3-mean": ("scaling", {X3}, H, [F]),
    "x3-median": ("scaling", {X3}, H, [F]),
    "x3-max": ("scaling", {X3}, H, [F]),
    "x4-frontier-n": ("bound", {"x4-frontier-n"}, H, [U]),
    "x4-frontier-lambda": ("bound", {"x4-frontier-lambda"}, H, [U]),
    "x5-converge": ("comparison", {X5}, H, [F]),
    "x5-drift-ratio": ("comparison", {X5}, H, [F]),
    "x5-not-lazy": ("comparison", {X5}, H, [F]),
    "x6-monotone": ("ordering", {X6}, H, [F]),
    "x6-catapult": ("ordering", {X6}, H, [F]),
    "x6-flattening": ("bound", {X6}, H, [F]),
    "x7-floor-relu": ("limit", {"x7-activations"}, H, [F]),
    "x7-floor-cosh": ("limit", {"x7-activations"}, H, [F]),
    "x7-floor-sinh": ("limit", {"x7-activations"}, H, [F]),
    "x7-exp": ("comparison", {"x7-activations"}, H, [F]),
    "x9-reached": ("bound", {X9}, H, [F, F]),
    "x9-contraction": ("bound", {X9}, H, [F]),
    "x9-drift": ("bound", {X9}, H, [F]),
    "x9-step": ("bound", {X9}, H, [F]),
    "x9-kernel": ("bound", {X9}, H, [F]),
    "x9-hitting": ("identity", {X9}, H, [F, F]),
}
CONTROLS_READ = {
    "q11-second-order": {X2}, "q14-step": {X6}, "q16-contraction-dis": {"x2-orthonormal"}, "q16-contraction-cts": {X6},
    "q17-hitting": {"x2-orthonormal", "x4-frontier-n"}, "q17-paper-width": {"q16-theory", X9},
    "x1-ratio": {"q7-initial"}, "x9-reached": {"x4-frontier-n"}, "x9-hitting": {"x4-frontier-n"}, "x9-step": {X6},
    "x9-kernel": {"q5-width"},
}  # fmt: skip
"""Experiments that only a control reads."""
READING = [name for name, row in REGISTER.items() if row[1] | CONTROLS_READ.get(name, set())]
ALONE = [name for name in REGISTER if name not in READING]


# The world as the specification expects it

SIZES = {"record": 5, "other": 3}


def made(name: str, seeds: int, points: int = 3, **variables: Any) -> xr.Dataset:
    """A data set with the axes that an experiment has at `quick`; every variable is broadcast to its dimensions."""
    sizes = {**SIZES, "point": points}
    experiment = EXPERIMENTS[name]
    quick = experiment.preset("quick")
    grid = make_grid(quick.setting, quick.axes)
    labels = {dim: list(found) for dim, found in experiment.simulation.labels.items()}
    coords: dict[str, Any] = {**grid.coordinates(), "seed": np.arange(seeds)}
    found = {}
    for variable, values in variables.items():
        extra = experiment.simulation.variable(variable).dims
        dims = (*grid.labels, "seed", *extra)
        known = {dim: coords.get(dim, labels.get(dim)) for dim in dims if dim in coords or dim in labels}
        shape = [len(known[dim]) if dim in known else sizes[dim] for dim in dims]
        template = xr.DataArray(np.zeros(shape), coords=known, dims=dims)
        given = values(template) if callable(values) else values
        found[variable] = (template + given).transpose(*dims)
    return xr.Dataset(found, grid.fields())


def change(name: str, variable: str, value: Any, **where: Any) -> dict[str, xr.Dataset]:
    """The world with one place of one data set changed; a value that is a function is applied to what is there."""
    data = WORLD[name].copy(deep=True)
    index = tuple(
        slice(None) if dim not in where
        else data.get_index(dim).get_indexer_for(np.atleast_1d(where[dim])) if dim in data.coords
        else np.atleast_1d(where[dim])
        for dim in data[variable].dims
    )  # fmt: skip
    grid = np.ix_(*(np.arange(n)[part] for n, part in zip(data[variable].shape, index, strict=True)))
    assert all(np.all(part >= 0) for part in grid)
    here = data[variable].values[grid]
    data[variable].values[grid] = value(here) if callable(value) else value
    return WORLD | {name: data}


def listed(dim: str, *values: Any) -> xr.DataArray:
    return xr.DataArray(list(values), dims=dim)


PATH = listed("record", 0.0, 0.2, 0.7, 1.0, nan)
"""A quantity that grows along a run; its last record is not used."""


def first_seeds(share: float, inside: Any, outside: Any) -> Any:
    """`inside` in this share of the seeds, `outside` in the others."""
    return lambda v: xr.where(v.seed < share * v.sizes["seed"], inside, outside)


def geometry() -> dict[str, xr.DataArray]:
    x = np.array([[1.0, 0.0], [0.6, 0.8], [-0.5, 0.5]])
    dims = ("point", "other")
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    return {
        "inner": xr.DataArray(x @ x.T, dims=dims),
        "square_sum": xr.DataArray(np.sum((x[:, None] + x) ** 2, -1), dims=dims),
        "square_difference": xr.DataArray(np.sum((x[:, None] - x) ** 2, -1), dims=dims),
        "angle": xr.DataArray(np.arccos(np.clip(unit @ unit.T, -1, 1)), dims=dims),
    }


def closed_form(v: xr.DataArray) -> xr.DataArray:
    g = geometry()
    up, down = (np.exp(v.weight_scale**2 * g[key] / 2) for key in ("square_sum", "square_difference"))
    forms = {
        "exp": g["inner"] * up,
        "cosh": g["inner"] * (up - down) / 2,
        "sinh": g["inner"] * (up + down) / 2,
        "relu": g["inner"] * (np.pi - g["angle"]) / (2 * np.pi) + 0 * up,
    }
    return xr.concat([forms[str(a)] for a in v.activation.values], v.activation)


def power(scale: float, exponent: float, at: float) -> Any:
    return lambda v: scale * (v.neurons / at) ** exponent


def tails(v: xr.DataArray) -> xr.DataArray:
    """Projections: with C = 1.5 (3.45) often too large, with C = 2 (4.60) rarely, beyond the union bound never."""
    usual, large = xr.zeros_like(v), xr.zeros_like(v)
    share = xr.DataArray([0.14, 0.015, 0.25], coords={"neurons": v.neurons})
    usual = usual + xr.DataArray([3.3, 4.2, 4.5], coords={"neurons": v.neurons})
    large = large + xr.DataArray([3.6, 4.65, 4.8], coords={"neurons": v.neurons})
    return xr.where(v.seed < share * v.sizes["seed"], large, usual)


def coupled(v: xr.DataArray, yes: Any, no: Any) -> xr.DataArray:
    return xr.where(v.init == "coupled", yes, no)


RATES = listed("rate_of", 0.9, 0.95, 50.0, 60.0)

BOUNDS = {
    "decomposition": 1e-15, "first_order": 0.6, "first_order_defect": 1.05, "asymmetric": 0.3, "second_order": 0.01,
    "second_order_printed": 0.2, "third_order": 0.1, "third_order_stated": 0.01, "gradient_norm": 0.5,
    "drift_ratio": 0.01, "kernel_kept": 0.8, "contraction": RATES,
}  # fmt: skip
STATISTICS = ("max", "mean", "median")


def drift_path(v: xr.DataArray) -> xr.DataArray:
    """Largest, mean and median drift at slopes of X3."""
    slopes = {"one": (-0.72, -1.06, -1.07), "inv_sqrt_m": (-0.2, -0.56, -0.57)}
    parts = [[(v.neurons / 128) ** slope for slope in slopes[str(output)]] for output in v.scale.values]
    rows = [xr.concat(part, v.statistic) for part in parts]
    return PATH * xr.concat(rows, v.scale)


def stability(small: Any, catapult: Any, wild: Any) -> Any:
    """By step constant: up to 1.9, from 2.1 to 3, and 4."""
    return lambda v: xr.where(v.step_constant < 2, small, xr.where(v.step_constant <= 3, catapult, wild))


def frontier_hits(v: xr.DataArray) -> xr.DataArray:
    reach = [100.0 if label.isdigit() and int(label) >= 32 else inf for label in map(str, v.variant.values)]
    return xr.DataArray(reach, coords={"variant": v.variant})


def on_pairs(generic: float, **floors: Any) -> Any:
    """One value, and another at (pair, activation)."""

    def values(v: xr.DataArray) -> xr.DataArray:
        found = xr.full_like(v, generic)
        for activation, (pair, value) in floors.items():
            found.loc[{"activation": activation, "pair": pair}] = value
        return found

    return values


def shifted(aim: str, aimed: float, other: float) -> Any:
    """Proportional to the factor: `aimed` for the shift that aims at the bound, `other` for the rest."""
    return lambda v: v.factor * xr.where(v["shift"] == aim, aimed, other)


def outward(v: xr.DataArray) -> xr.DataArray:
    return xr.where(v["shift"] == "point", 1 + 0.01 * (v.factor - 1), 0.9)


def alternating(v: xr.DataArray) -> xr.DataArray:
    """Outputs whose squares have mean m times 2 exactly, and zeros in pairs."""
    squares = 2 * v.neurons * xr.where(v.seed % 2 == 0, 0.5, 1.5)
    return coupled(v, 0.0, np.sqrt(squares))


WORLD: dict[str, xr.Dataset] = {
    "q2-tails": made("q2-tails", 200, 10, outputs=0.0, projection=tails),
    "q3-montecarlo": made(
        "q3-montecarlo",
        1,
        closed_form=closed_form,
        estimate=lambda v: closed_form(v) + 1e-4,
        standard_error=1e-4,
        **geometry(),
    ),
    "q5-width": made(
        "q5-width",
        200,
        limit_least=1.0,
        kernel_error=lambda v: xr.where(v.weight_scale < 0.5, 0.1, 2.0),
        kernel_least=lambda v: xr.where(v.weight_scale < 0.5, 0.95, 0.2),
    ),
    "q6-perturbation": made(
        "q6-perturbation",
        3,
        moved_projection=outward,
        moved_exponential=outward,
        difference=shifted("point", 1.0, 0.8),
        exponential_difference=shifted("point", 0.5005, 0.4),
        frobenius_change=shifted("point", 0.1, 0.1),
        entry_change=shifted("pair", 1.0, 0.7),
        pair_change=shifted("pair", 1.0, 0.8),
    ),
    "q7-initial": made(
        "q7-initial",
        20,
        outputs=alternating,
        output_variance=2.0,
        error_square=lambda v: coupled(v, 1.5, 300.0),
        target_square=1.5,
        kernel_error=lambda v: coupled(v, 0.3, 0.21),
        predicted_error=0.3,
    ),
    "x1-kernel": made(
        "x1-kernel",
        40,
        10,
        outputs=0.0,
        projection=lambda v: 4 * v.weight_scale,
        kernel_error=power(0.3, -0.5, 100),
        predicted_error=power(0.3, -0.5, 100),
        entry_error=power(0.12, -0.5, 100),
        limit_least=1.0,
        kernel_least=0.8,
    ),
    X2: made(
        X2,
        10,
        **BOUNDS
        | {"kernel_kept": lambda v: coupled(v, xr.where(v.neurons < 100, 0.3, 0.8), 0.4)}
        | {
            "reached_step": 100.0,
            "predicted_steps": 700.0,
            "linear_deviation": lambda v: coupled(v, power(0.01, -1.2, 64)(v), power(0.5, -0.3, 64)(v)),
        },
    ),
    "x2-orthonormal": made(
        "x2-orthonormal",
        4,
        contraction=RATES,
        reached_step=180.0,
        predicted_steps=700.0,
        separate_difference=lambda v: xr.where(v.data_law == "orthonormal", 1e-14, 0.1),
    ),
    X3: made(
        X3,
        5,
        **BOUNDS
        | {
            "lazy_error": lambda v: xr.where(v.scale == "one", power(6e-3, -0.9, 128)(v), power(0.07, -0.4, 128)(v)),
            "drift": drift_path,
        },
    ),
    X5: made(
        X5,
        10,
        **BOUNDS
        | {
            "decomposition_first": lambda v: coupled(v, 0.3, 0.5),
            "decomposition_second": lambda v: coupled(v, 1e-13, 1e-3),
            "reached_step": 300.0,
            "square": listed("record", 3.0, 1.0, 0.01, 9e-4, nan),
            "drift": lambda v: PATH * coupled(v, 0.01, 0.8),
        },
    ),
    X6: made(
        X6,
        6,
        **BOUNDS
        | {
            "peak_ratio": stability(1.0, 50.0, 1e7),
            "final_ratio": stability(1e-12, 1e-6, 1e7),
            "diverged": stability(0.0, 0.0, 1.0),
            "linear_final_ratio": stability(1e-9, 1e30, 1e60),
            "step_length": stability(0.005, 1.0, 2.0),
            "error_norm": stability(0.6, 5.0, 50.0),
            "start_largest": 40.0,
            "end_largest": stability(40.0, 15.0, 10.0),
            "contraction": lambda v: RATES * stability(1.0, 1e4, 1e9)(v),
        },
    ),
    "q16-samplers": made("q16-samplers", 5, contraction=RATES),
    "q16-theory": made(
        "q16-theory", 5, contraction=RATES, step_length=1e-6, error_norm=0.5, reached_step=300.0, width=1024.0,
        step=1000.0,
    ),
    X9: made(
        X9,
        5,
        reached_step=250.0,
        predicted_steps=1000.0,
        contraction=RATES,
        largest_drift=1e-5,
        drift_bound=1e-3,
        ball_radius=2e-3,
        step_length=1e-4,
        error_norm=0.4,
        kernel_error=0.05,
        limit_least=1.0,
    ),
    "x8-vacuity": made(
        "x8-vacuity",
        1,
        log_width=41.0,
        log_step=-47.0,
        log_iterations=40.0,
        practical_width=5000.0,
        practical_step=1e-5,
        practical_iterations=40.0,
    ),
    "x4-frontier-n": made("x4-frontier-n", 20, reached_step=frontier_hits, predicted_steps=500.0, limit_least=3.0),
    "x4-frontier-lambda": made(
        "x4-frontier-lambda",
        20,
        reached_step=frontier_hits,
        predicted_steps=500.0,
        limit_least=lambda v: v.pair_angle**2,
    ),
    "x7-activations": made(
        "x7-activations",
        5,
        final_square=on_pairs(
            1e-9, relu=("parallel", 0.3925), cosh=("antipodal", 0.6045), sinh=("antipodal", 0.1251)
        ),
        reached_step=on_pairs(700.0, relu=("parallel", inf), cosh=("antipodal", inf), sinh=("antipodal", inf)),
    ),
    "q21-flow": made(
        "q21-flow",
        5,
        flow_error=lambda v: xr.DataArray(
            [[1e-5, 0.05], [1e-6, 0.05], [1e-7, 0.05], [0.3, 0.3]], dims=("variant", "formula")
        ),
        flow_across=listed("variant", 1e-15, 1e-15, 1e-15, 0.01),
    ),
}  # fmt: skip
