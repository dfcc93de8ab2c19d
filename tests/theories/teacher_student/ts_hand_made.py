"""Data sets made by hand on the exact laws, in the shape in which the experiments leave them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.grid import make_grid
from lemmata.theories import teacher_student
from lemmata.theories.teacher_student.studies.proof import ALLOWED, FORMS

SLOPES = [1.0, 0.1, 0.0]
SIX = ["CNN ReLU", "CNN leaky", "GCN ReLU", "GCN leaky", "STS", "GSLP"]


def _laws(step: xr.DataArray, D: Any, K: Any, M: Any, slope: Any, eta: float) -> xr.Dataset:
    """The late laws of 6.2."""
    a = (1 + slope**2) / 2
    odds = (D - K) * np.sqrt(K / (2 * a * eta * M * step.where(step > 0, 1e30)))
    whole = xr.ones_like(odds)
    return xr.Dataset({
        "step": step * whole, "odds": odds, "mass": odds, "value": 1 + odds, "value_error": odds,
        "score": (1 - odds) / K, "score_error": D * odds / np.sqrt(K * (D - K)),
        "excess": K * D * (D - K) / (4 * eta * step.where(step > 0, 1e30)) * whole,
        "token_count": D * whole.isel(record=0), "support_count": K * whole.isel(record=0),
        "squared_norm": M * whole.isel(record=0), "slope": slope * whole.isel(record=0),
        "eta": eta * whole.isel(record=0),
    })  # fmt: skip


def late() -> xr.Dataset:
    """t3-late: T* = 10⁶ steps, so that the laws are sharp."""
    sizes = xr.DataArray(["small", "large"], dims="size")
    D, K, M = (xr.DataArray(v, coords={"size": sizes}) for v in ([20.0, 64.0], [1.0, 2.0], [10.0, 40.0]))
    slope = xr.DataArray(SLOPES, coords={"negative_slope": SLOPES})
    step = xr.DataArray(np.append(0, 1e9 * np.geomspace(1e2, 1e4, 41)), dims="record")
    intact = _laws(step, D, K, M, slope, 0.05).assign(escape_step=1e9 + 0 * D)
    rigid = intact.isel(record=5) + 0 * intact
    still = rigid.assign(
        step=intact.step, value=1.5 + 0 * intact.value, value_error=2 * rigid.odds, escape_step=intact.escape_step
    )
    held = intact.assign({n: intact[n] * np.sqrt(K / D) for n in ("mass", "odds", "score_error")})
    frozen = {"none": intact, "attention": still, "values": held}
    data = xr.concat(list(frozen.values()), "frozen").assign_coords(frozen=list(frozen))
    return data.expand_dims(seed=[0])


def dimension() -> xr.Dataset:
    """t3-dimension."""
    D = xr.DataArray([40.0, 80.0, 160.0, 320.0], coords={"tokens": [40.0, 80.0, 160.0, 320.0]})
    slope = xr.DataArray(SLOPES, coords={"negative_slope": SLOPES})
    step = xr.DataArray(10.0 ** np.arange(9, 22, 0.1), dims="record")
    laws = _laws(step, D, 2.0, 4.0, slope, 1e-3).expand_dims(seed=[0])
    return laws.assign(escape_step=2.0 * D**2 / (1e-3 * 4.0))


def escape() -> xr.Dataset:
    """p17-escape: T* = KD²/(η‖V*‖²)."""
    cells: dict[str, tuple[float, float, float, float, float]] = {}
    for factor in (0.25, 0.5, 1.0):
        cells[f"λ={factor:g}"] = (64, 2, 40 * factor**2, 0.05, factor)
    for eta in (0.0125, 0.025, 0.05):
        cells[f"η={eta:g}"] = (64, 2, 4, eta, 1)
    for M in (1, 2, 4):
        cells[f"M={M}"] = (64, 2, M, 0.05, M)
    for size in (20, 40, 80, 160):
        cells[f"D={size}, K=D/20"] = (size, size / 20, 2, 0.05, 1)
    for size in (40, 100, 320, 1000):
        cells[f"D={size}, K=1"] = (size, 1, 4, 0.001, 1)
    D, K, M, eta, norms = (
        xr.DataArray(column, coords={"variant": list(cells)}) for column in np.asarray(list(cells.values())).T
    )
    ones = xr.DataArray(np.ones((3, 1)), coords={"negative_slope": SLOPES, "seed": [0]})
    names = {"token_count": D, "support_count": K, "squared_norm": M, "eta": eta, "row_norms": norms,
             "escape_step": K * D**2 / (eta * M)}  # fmt: skip
    return xr.Dataset({name: values * ones for name, values in names.items()})


def along() -> xr.Dataset:
    """p3-along-run: every check at half of what it allows, and broken far above it."""
    runs = ["R1", "R2", "R3", "wide", "fast", "unstable", "frozen", "twin"]
    checks = list(ALLOWED)
    worst = xr.DataArray(
        np.full((8, 3, 1, len(checks), 2), -0.5),
        coords={"variant": runs, "negative_slope": SLOPES, "seed": [0], "check": checks, "form": list(FORMS)},
    )
    worst.loc[{"form": "broken"}] = 9.0
    for name, value in {"quotient_high": 1.0, "quotient_low": -0.3, "scale_high": 2.0, "scale_low": -1.99,
                        "upper_equal": 0.0, "slow": 0.01, "value_path": 0.005, "increment": 0.0}.items():  # fmt: skip
        worst.loc[{"check": name, "form": "claimed"}] = value
    worst.loc[{"check": "quotient_high", "form": "broken"}] = 2.0
    worst.loc[{"check": "quotient_low", "form": "broken"}] = -0.6
    worst.loc[{"variant": "unstable"}] = 5.0
    worst.loc[{"variant": "frozen", "check": ["quotient_high", "quotient_low"]}] = 0.0
    worst.loc[{"variant": "wide", "check": ["value_path", "plateau", "scale_high", "slow"]}] = 4.0
    worst.loc[{"variant": "fast", "check": "value_lower"}] = 0.1
    ones = worst.isel(check=0, form=0, drop=True) * 0 + 1
    table = {"R1": (20, 1, 2, 0.05), "R2": (64, 2, 4, 0.02), "R3": (36, 4, 10, 0.05), "wide": (64, 2, 819.2, 0.02),
             "fast": (64, 2, 160, 0.02), "unstable": (20, 1, 2, 0.2), "frozen": (20, 1, 2, 0.05),
             "twin": (20, 1, 2, 0.05)}  # fmt: skip
    D, K, M, eta = (
        xr.DataArray(column, coords={"variant": runs}) for column in np.asarray([table[r] for r in runs], float).T
    )
    slope = xr.DataArray(SLOPES, coords={"negative_slope": SLOPES})
    reached = (0.5 * (1 + np.sqrt(D / K)) * (1 + 0.04 * (slope < 1))) * ones
    worst.loc[{"check": "largest_value", "form": "claimed"}] = reached.transpose(
        "variant", "negative_slope", "seed"
    ).values
    fitted = np.log(0.05) / np.log1p(-eta * (1 + slope**2) / 2) * xr.where(M > 100, 2.7, 1.0)
    names = {"token_count": D, "support_count": K, "squared_norm": M, "eta": eta, "slope": slope, "fitted_step": fitted,
             "separation": M / (K * D**2), "counted": worst.isel(form=0, drop=True) * 0 + 7}  # fmt: skip
    return xr.Dataset({"worst": worst, **{name: values * ones for name, values in names.items()}})


def blocks() -> xr.Dataset:
    """exp-e1-blocks: only two blocks train; at t = 300 W^xx is the largest."""
    runs = ["identity", "ReLU", "leaky", "ReLU, K = D"]
    step = np.asarray([0.0, 300.0, 10_000.0, np.nan])
    rows = np.asarray([[0.01] * 6, [1, 0.5, 4, 0.1, 0.1, 1], [10, 0.5, 0.05, 0.05, 0.05, 10], [np.nan] * 6])
    norms = np.broadcast_to(rows, (4, 2, 4, 6)).copy()
    norms[3, :, 2, 5] = 0.1
    excess = np.broadcast_to([5.0, 2.0, 0.5, np.nan], (4, 2, 4)).copy()
    coords = {"variant": runs, "seed": [0, 1], "part": ["values_x", "values_p", "xx", "xp", "px", "pp"]}
    dims = ("variant", "seed", "record")
    return xr.Dataset(
        {"step": (dims, np.broadcast_to(step, (4, 2, 4)).copy()), "part_norm": ((*dims, "part"), norms),
         "batch_excess": (dims, excess)}, coords,
    )  # fmt: skip


def curves() -> xr.Dataset:
    """exp-e2-curves: T* = 1000 of 10⁴ steps; excess = recursion + floor."""
    tasks = [*SIX, "CNN ReLU, frozen", "STS, frozen", "GSLP, frozen"]
    step = np.tile([0.0, 100, 500, 1000, 1200, 10_000, np.nan], (9, 2, 2, 1))
    step[6:, ..., 5] = np.nan
    coords = {"variant": tasks, "dynamics": ["online", "recursion"], "seed": [0, 1]}
    dims = ("variant", "dynamics", "seed", "record")
    exact = 1e4 / np.maximum(step, 1)
    excess = exact.copy()
    excess[:, 0] += 0.2
    excess[6:, 0] = 60.0
    target = np.full((9, 2, 2, 3, 3), np.nan)
    target[..., :2, :2] = [[1.0, 1.0], [0.0, 0.0]]
    scores = np.where(target > 0, 0.8, 0.2) + 0 * target
    scores[6:, 0, ..., :2, :2] = 0.5  # frozen attention is uniform
    there = 0 * step
    return xr.Dataset(
        {"step": (dims, step), "excess": (dims, excess), "score": (dims, 0.8 + there), "cosine": (dims, 1 + there),
         "rolled_cosine": (dims, 0.1 + there), "noise_floor": (dims[:3], np.full((9, 2, 2), 0.2)),
         "escape_step": (dims[:3], np.full((9, 2, 2), 1000.0)),
         "score_map": ((*dims[:3], "key_token", "query_token"), scores),
         "target_map": ((*dims[:3], "key_token", "query_token"), target)}, coords,
    )  # fmt: skip


# Any experiment

EXPERIMENTS = teacher_student.theory.experiments
SIZES = {"record": 9, "key_token": 36, "query_token": 36, "token": 81, "pixel_row": 27, "pixel_column": 27}
ESCAPE, FITTED = 50.0, 5.0


def made_up(name: str) -> xr.Dataset:
    """Runs with the variables, axes and labels of a smoke preset and plausible numbers, without a simulation."""
    preset, simulation = EXPERIMENTS[name].preset("smoke"), EXPERIMENTS[name].simulation
    grid = make_grid(preset.setting, preset.axes)
    coordinates = {**grid.coordinates(), "seed": np.arange(2)}
    labels = {dim: np.asarray(values) for dim, values in simulation.labels.items()}
    sizes = {**SIZES, **{dim: len(v) for dim, v in labels.items()}}
    runs = [len(values) for values in coordinates.values()]
    rng = np.random.default_rng(0)
    data = xr.Dataset(
        {
            variable.name: (
                (*coordinates, *variable.dims),
                rng.uniform(0.05, 0.9, [*runs, *(sizes[dim] for dim in variable.dims)]),
            )
            for variable in simulation.variables
        },
        coords={**coordinates, **labels, **grid.fields()},
    )
    fields: dict[str, Callable[[Any], float]] = {
        "token_count": lambda s: s.tokens,
        "support_count": lambda s: s.support,
        "slope": lambda s: s.negative_slope,
        "eta": lambda s: s.step_size,
        "squared_norm": lambda s: s.strength or 4.0,
        "row_norms": lambda s: s.outputs,
        "separation": lambda s: (s.strength or 4.0) / (s.support * s.tokens**2),
    }
    for variable in fields.keys() & set(data):
        for cell, setting in grid.cells.items():
            data[variable].values[cell] = fields[variable](setting)
    if "step" not in data:
        return data
    steps = np.array([0, FITTED, ESCAPE, *(ESCAPE * 10.0 ** np.array([1, 2, 2.5, 3, 4])), np.nan])
    fixed = {
        "step": xr.DataArray(steps, dims="record"),
        "escape_step": ESCAPE,
        "fitted_step": FITTED,
        "diverged": 0.0,
        "noise_floor": 0.05,
        "violated_step": np.inf,
        "counted": 3.0,
        "worst_values": 1e-14,
        "worst_scores": 1e-14,
    }
    data = data.assign({key: 0 * data[key] + value for key, value in fixed.items() if key in data})
    late = data.step.where(data.step > 0, 1.0)
    falling = {"half_gap": -1.0, "ood_excess": -0.5, "ood_clean": -1.0, "score_error": -0.5, "mass": -0.5}
    data = data.assign({key: 0.5 * late**power for key, power in falling.items() if key in data})
    data["value"] = 1 + late**-0.5
    if "score_map" in data:
        inside = xr.DataArray(np.arange(36), dims="key_token") < data.token_count
        inside = inside & (xr.DataArray(np.arange(36), dims="query_token") < data.token_count)
        support = xr.DataArray(np.eye(36), dims=("key_token", "query_token")) / data.support_count
        data["target_map"] = support.where(inside).transpose(*data.target_map.dims)
        data["score_map"] = (0.6 * support + 0.01).where(inside).transpose(*data.score_map.dims)
    return data
