"""Adaptive thresholds: where a success rate crosses its target, for a whole grid of cells, from few runs.

Every cell of the grid has a posterior of its own (`lemmata.lab.psi`, which states the method, its prior and what is
guaranteed) and nothing is shared between cells, so a cell's result does not depend on which others there are. All cells
advance together: a round is one sweep with one run for every cell that is not done, each at its most informative value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from lemmata.lab import psi
from lemmata.lab.declarations import spell
from lemmata.lab.engines import Engine, open_engine
from lemmata.lab.errors import UserError
from lemmata.lab.grid import Axes, Grid, make_grid
from lemmata.lab.intervals import Array
from lemmata.lab.precision import Precision
from lemmata.lab.setting import Setting
from lemmata.lab.simulation import Simulation
from lemmata.lab.sweep import OnProgress, Progress, check_seeds, sweep

STEPS = 12
"""The range is searched at its ends and so many steps of equal ratio."""


def find_threshold(
    simulation: Simulation,
    setting: Setting,
    along: str,
    target: float = 0.5,
    *,
    success: Callable[[xr.Dataset], xr.DataArray],
    between: tuple[float, float] | None = None,
    values: Sequence[float] | Mapping[Any, Mapping[str, Any]] | None = None,
    axes: Axes | None = None,
    width: float | None = None,
    until: Callable[[xr.Dataset], Any] | None = None,
    runs: int = 20,
    level: float = 0.95,
    seed: int = 0,
    precision: Precision | None = None,
    engine: str | Engine = "local",
    progress: OnProgress | None = None,
) -> xr.Dataset:
    """Where P(success) crosses `target` along a field, with a credible interval, in every cell of the grid of `axes`.

        found = lm.find_threshold(
            vit.simulate, vit.Setting(), "samples", 0.5, success=lambda data: data.test_error == 0, between=(8, 512)
        )

    `success(data)` is 0 or 1 for every run of a sweep, over (run, seed); `data` has the values tried and the labels of
    the axes as coordinates. The rate must rise with the field: where it falls, count failures and ask for 1 - target.

    `between` is the range searched, at thirteen values of equal ratio (whole numbers if the field is one). `values`
    names them instead: a list, or {value: {field: value, ...}} for an axis that sets several fields, as in `sweep`.

    A cell is done after `runs` runs, or before that as soon as its posterior interval is at most `width` octaves wide,
    counting what lies beyond the range (at most a quarter of it), or lies wholly beyond; or as soon as `until(data)`, a
    function of the data set so far, is true for it. Run k of every cell has seed `seed` + k. A failed run raises, as in
    `sweep`.

    The data set has, over the axes: `threshold` (posterior median), `low`, `high`, `censored` ("below" or "above" if
    the median is beyond the range; the threshold is then 0 or inf), `rise` (octaves from 10 % to 90 %), `runs`; and
    over the axes and `trial`: `tried` and `outcome`, NaN where there was no run.
    """
    axes = {} if axes is None else axes
    if not isinstance(simulation, Simulation) or not isinstance(setting, Setting):
        raise UserError(
            "A search needs a simulation and a setting: lm.find_threshold(vit.simulate, vit.Setting(), ...)."
        )
    for name, function in (("success", success), ("until", until), ("progress", progress)):
        if not callable(function) and (function is not None or name == "success"):
            raise UserError(f"{name} = {function!r} is not allowed: give a function.")
    _check(target, level, runs, width, axes, along)
    check_seeds(seed, runs)
    candidates = _candidates(setting, along, between, values)
    grid = make_grid(setting, axes)
    for name, labels in grid.labels.items():
        if len({spell(label) for label in labels}) < len(labels):
            raise UserError(f"The axis {name} has a value twice.")
    problems = make_grid(setting, {**axes, along: candidates}).cells
    x = np.array([float(value) for value in candidates])
    model = psi.make_model(x[0], x[-1], x, target)
    belief = psi.prior(model, len(grid.cells))
    tried, outcome = np.full((2, len(grid.cells), runs), np.nan)
    about = {"along": along, "target": target, "level": level, "low": float(x[0]), "high": float(x[-1]), "seed": seed}
    cells, active = list(grid.cells), np.arange(len(grid.cells))
    with open_engine(engine) as opened:
        for trial in range(runs):
            chosen = psi.place(model, belief[active])
            here = [cells[i] for i in active]
            run = {
                _name(grid, cell, along, float(x[i])): _changes(setting, problems[(*cell, i)])
                for cell, i in zip(here, chosen.tolist(), strict=True)
            }
            data = sweep(simulation, setting, {"run": run}, 1, seed=seed + trial, precision=precision, engine=opened)
            data = data.assign_coords({name: ("run", each) for name, each in _labels(grid, here).items()})
            result = _outcomes(success(data.assign_coords({along: ("run", x[chosen])})))
            belief[active] = psi.update(model, belief[active], chosen, result)
            tried[active, trial], outcome[active, trial] = x[chosen], result
            done = np.zeros(len(cells), bool) if width is None else psi.is_narrow(model, belief, width, level)
            if until:
                found = _dataset(grid, model, belief, tried[:, : trial + 1], outcome[:, : trial + 1], about)
                done |= _asked(until(found), grid)
            active = active[~done[active]]
            if progress:
                made, left = int(np.isfinite(tried).sum()), len(active) * (runs - trial - 1)
                progress(Progress(len(cells) - (len(active) if left else 0), len(cells), 0, made, made + left))
            if not len(active):
                break
    most = int(np.isfinite(tried).sum(1).max())
    return _dataset(grid, model, belief, tried[:, :most], outcome[:, :most], about)


def _asked(answer: Any, grid: Grid) -> NDArray[np.bool_]:
    """What `until` returned: a truth value for every cell."""
    if isinstance(answer, xr.DataArray) and set(answer.dims) == set(grid.labels):
        answer = answer.transpose(*grid.labels)
    values = np.asarray(answer)
    if values.shape != grid.shape or values.dtype.kind != "b":
        raise UserError(f"until must return true or false for every cell, an array of shape {grid.shape}.")
    return values.ravel()


def _candidates(setting: Setting, along: str, between: Any, values: Any) -> dict[Any, dict[str, Any]]:
    """{value: the fields that it sets} in increasing order."""
    if (between is None) == (values is None):
        raise UserError("Give either between, the range searched, or values, the values that may be tried.")
    if isinstance(values, Mapping):
        for label, changes in values.items():
            if not isinstance(changes, Mapping):
                raise UserError(f"values[{label}] = {changes!r} is not allowed: give it fields to set.")
        fields = {label: dict(changes) for label, changes in values.items()}
    else:
        declaration = setting.declaration(along)
        if declaration.kind not in ("number", "size"):
            raise UserError(f"along = {along} is not allowed: {along} ({declaration.meaning}) is not a number.")
        if between is None and (isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray))):
            raise UserError(f"values = {values!r} is not allowed: give a list of numbers, or numbers with fields.")
        chosen = values if between is None else _ladder(between, declaration.integer)
        for end in () if between is None else between:
            declaration.accept(along, end)
        fields = {declaration.accept(along, each): {along: each} for each in chosen}
    try:
        x = np.array([float(label) for label in fields])
    except (TypeError, ValueError, OverflowError):
        x = np.array([np.nan])
    if len(x) < 2 or not np.isfinite(x).all() or x.min() <= 0 or len(np.unique(x)) < len(x):
        given = f"between = {between}" if values is None else f"values = {list(fields)}"
        raise UserError(f"{given} is not allowed: {along} is searched at two or more different positive numbers.")
    return {label: fields[label] for label in sorted(fields, key=float)}


def _ladder(between: Any, integer: bool) -> list[float]:
    try:
        low, high = (float(end) for end in between)
    except (TypeError, ValueError, OverflowError):
        low = high = np.nan
    if not 0 < low < high < np.inf:
        raise UserError(f"between = {between} is not allowed: between is a pair of positive numbers, the lower first.")
    ladder = np.geomspace(low, high, STEPS + 1)
    ladder[[0, -1]] = low, high
    return list(dict.fromkeys(round(each) for each in ladder)) if integer else ladder.tolist()


def _check(target: Any, level: Any, runs: Any, width: Any, axes: Axes, along: str) -> None:
    for name, value in (("target", target), ("level", level)):
        if not isinstance(value, (int, float, np.number)) or not 0 < value < 1:
            raise UserError(f"{name} = {value} is not allowed: {name} is a number greater than 0 and less than 1.")
    if not isinstance(runs, (int, np.integer)) or isinstance(runs, bool) or runs < 1:
        raise UserError(f"runs = {runs} is not allowed: runs is an integer at least 1.")
    if width is not None and (not isinstance(width, (int, float, np.number)) or not 0 < width < 1e300):
        raise UserError(f"width = {width} is not allowed: width is a positive number of octaves.")
    if not isinstance(axes, Mapping):
        raise UserError(f"The axes {axes} are not allowed: give a mapping from fields to lists of values.")
    if not isinstance(along, str):
        raise UserError(f"along = {along!r} is not allowed: it is the name of a field.")
    if along in axes:
        raise UserError(f"along = {along} is not allowed: {along} is one of the axes too.")
    for name in {along, *axes} & {"run", "trial"}:
        raise UserError(f"An axis cannot be called {name} here, which the data set of a search has.")


def _labels(grid: Grid, cells: Sequence[tuple[int, ...]]) -> dict[str, np.ndarray]:
    """The labels of some cells, by axis."""
    indices = np.array(cells, int).reshape(len(cells), len(grid.labels))
    return {name: values[indices[:, axis]] for axis, (name, values) in enumerate(grid.coordinates().items())}


def _name(grid: Grid, cell: tuple[int, ...], along: str, value: float) -> str:
    """A run in words, for the message of one that fails."""
    return ", ".join([*([grid.describe(cell)] if cell else []), f"{along}={spell(value)}"])


def _changes(setting: Setting, problem: Setting) -> dict[str, Any]:
    """The fields in which one setting differs from another."""
    pairs = {name: (getattr(setting, name), getattr(problem, name)) for name in setting.declarations()}
    return {name: new for name, (old, new) in pairs.items() if not np.array_equal(old, new)}


def _outcomes(successes: Any) -> Array:
    """What `success` returned, checked: one 0 or 1 per run."""
    if not isinstance(successes, xr.DataArray) or set(successes.dims) != {"run", "seed"}:
        given = f"one over {successes.dims}" if isinstance(successes, xr.DataArray) else type(successes).__name__
        raise UserError(f"success must return a DataArray over run and seed, 0 or 1 for each, not {given}.")
    result = np.asarray(successes.transpose("run", "seed").values, float).ravel()
    for wrong in result[~np.isin(result, (0, 1))]:
        raise UserError(f"success must be 0 or 1 for every run, not {wrong:g}.")
    return result


def _dataset(
    grid: Grid, model: psi.Model, belief: Array, tried: Array, outcome: Array, about: dict[str, Any]
) -> xr.Dataset:
    middle, low, high = psi.credible(model, belief, about["level"])
    cells = {
        "threshold": middle,
        "low": low,
        "high": high,
        "censored": np.where(middle == 0, "below", np.where(np.isinf(middle), "above", "")),
        "rise": psi.mean_rise(model, belief),
        "runs": np.isfinite(tried).sum(1),
    }
    over, shape = tuple(grid.labels), grid.shape
    return xr.Dataset(
        {name: (over, value.reshape(shape)) for name, value in cells.items()}
        | {
            name: ((*over, "trial"), value.reshape(*shape, -1))
            for name, value in (("tried", tried), ("outcome", outcome))
        },
        coords=grid.coordinates() | {"seed": ("trial", about["seed"] + np.arange(tried.shape[1]))},
        attrs=about,
    )
