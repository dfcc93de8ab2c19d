"""What claims and figures of this theory read off the data sets: successes, thresholds, growth factors, gates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from lemmata.lab.claims import NotApplicable
from lemmata.lab.fits import Threshold, threshold
from lemmata.theories.vit.neurons import SIDES
from lemmata.theories.vit.training import SMALL_LOSS


def success(data: xr.Dataset) -> xr.DataArray:
    """1 where the paper calls a run a success: test hinge below 0.001."""
    return (data.test_hinge < SMALL_LOSS) * 1.0


def half_thresholds(data: xr.Dataset) -> dict[float, Threshold]:
    """N_50 for every relevant fraction."""
    rates = success(data).transpose("relevant_fraction", "seed", "samples")
    found = {}
    for alpha in data.relevant_fraction.values:
        found[float(alpha)] = threshold(data.samples.values, rates.sel(relevant_fraction=alpha).values)
    return found


def split_runs(data: xr.Dataset, variable: str) -> dict[str, xr.DataArray]:
    """The step-size sweep by output variant: variant -> values over (seed, step_size)."""
    found = {}
    names = [str(name) for name in data.variant.values]
    for variant in dict.fromkeys(name.split()[0] for name in names):
        chosen = [name for name in names if name.split()[0] == variant]
        part = data[variable].sel(variant=chosen).rename(variant="step_size")
        found[variant] = part.assign_coords(step_size=[float(name.split()[1]) for name in chosen])
    return found


def converged(data: xr.Dataset, variants: Sequence[str] | None = None) -> xr.Dataset:
    """The convergence gate: the data of these variants, if the intact cells of every seed reached training loss 0."""
    if variants is not None:
        data = data.sel(variant=list(variants))
    require_converged((data.sel(attention="trained") if "attention" in data.dims else data).reached_step)
    return data


def require_converged(steps: xr.DataArray) -> None:
    """Refuse evidence of runs of which some never reached training loss 0."""
    if not np.isfinite(steps).all():
        raise NotApplicable("not converged: the training loss did not reach 0 in every run")


def own_coordinates(features: xr.DataArray) -> xr.DataArray:
    """<W μ_k, q_k> for the two discriminative patterns: the first two diagonal entries of C_Q, C_K or C_V."""
    return by_side([features.isel(feature=k, pattern=k) for k in (0, 1)])


def by_side(parts: Sequence[xr.DataArray]) -> xr.DataArray:
    """What belongs to the class +1 and to the class -1, along the dimension side."""
    return xr.concat(parts, "side").assign_coords(side=list(SIDES))


def growth(data: xr.Dataset) -> xr.DataArray:
    """The growth factors K(t) of the query map and Q(t) of the key map (probe 5.5) at every step, along record."""
    factors = []
    for name in ("query_features", "key_features"):
        own = own_coordinates(data[name])
        after = own.isel(record=slice(1, None))
        factors.append(after / own.isel(record=slice(None, -1)).values - 1)
    return xr.concat(factors, "factor").assign_coords(factor=["K", "Q"])
