"""What claims and figures of this theory read off the data sets: learnt runs, blocks of G, growth records, lengths."""

import functools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.icl import bounds
from lemmata.theories.icl.setting import REACHED, Setting

ACTIVE, EARLY = 0.5, 100
"""Growth records have at least this share of prompts with loss, and are taken from this step and from T*/3 on."""
PATTERN_COUNTS = (4, 6, 8, 12, 16)
"""M_1 of p2-patterns."""
BUDGETS = {"short": 0.2, "long": 0.1}
"""The budgets of e1-context by their δ."""
LEARNT = lm.Gate(
    "not converged: the hinge loss on seen tasks is above 0.05 in some intact run",
    lambda data: data.seen_hinge <= 0.05,
    intact={"variant": ["intact", "independent", "U=1", "U=5"], "attention": "trained"},
)
"""Intact are, of p1-default the first variant, of p17-heads independent heads, of p5-shift the balanced task sets."""
learnt = functools.partial(lm.Claim, gate=LEARNT)
"""A claim about networks that have learnt the seen tasks."""
FROZEN = lm.Control("frozen attention", attention="frozen")
SHUFFLED = lm.Control("query labels shuffled", variant="shuffled")
POSITIVE = lm.at_least(0.0, by="every", strict=True)


def intact(function: Callable[..., Any]) -> Any:
    """Evidence of the intact cells of the default run."""

    @functools.wraps(function)
    def taken(data: xr.Dataset, **arguments: Any) -> Any:
        return function(lm.cells(data, variant="intact"), **arguments)

    return lm.evidence("p1-default")(taken)


def setting_of(data: xr.Dataset) -> Setting:
    """The setting that an experiment's data are of, whose numbers (β, B, α, η, ...) the criteria are written in; data
    made by hand that name none have the default one."""
    named = json.loads(data.attrs.get("setting", "{}"))
    return Setting().replace(**{name: value for name, value in named.items() if not isinstance(value, dict)})


def linear_growth(data: xr.Dataset, t: Any, **known: Any) -> Any:
    """The growth δ(β²+1)αηt/(2m) of W_O that the paper claims after t steps (Lemma E.4.7); known: δ or m otherwise."""
    s = setting_of(data)
    scales = {"beta": s.pattern_norm, "alpha": s.fraction, "eta": s.step_size}
    return bounds.output_growth.function(t=t, **{"delta": s.initial_scale, "m": s.neurons, **scales, **known})


def pruning_shares(data: xr.Dataset) -> tuple[float, ...]:
    """ε = 0.05, M_1, α and α' of the proof's bounds on the hinge loss after pruning (E.107, E.109)."""
    setting = setting_of(data)
    return 0.05, setting.patterns, setting.fraction, setting.test_fraction


def own_entries(blocks: xr.DataArray) -> xr.DataArray:
    """The diagonal of G, along `pattern`."""
    index = xr.DataArray(np.arange(blocks.sizes["pattern"]), dims="pattern")
    return blocks.isel(pattern=index, other=index)


def other_entries(blocks: xr.DataArray, partner: xr.DataArray, partners: bool) -> xr.DataArray:
    """The entries of task partners, or of other patterns that are no partners; NaN elsewhere."""
    diagonal = xr.DataArray(np.eye(blocks.sizes["pattern"], dtype=bool), dims=("pattern", "other"))
    return blocks.where(partner > 0 if partners else (partner == 0) & ~diagonal)


def both_maps(data: xr.Dataset, patterns: str = "patterns") -> xr.DataArray:
    """G^Q and G^K on the relevant (or the irrelevant) patterns, along `map`."""
    return lm.stack({name: data[f"{name}_{patterns}"] for name in ("query", "key")}, "map")


def mean_updates(data: xr.Dataset) -> dict[str, xr.DataArray]:
    """The mean update of the attention maps by kind of entry, along `map` and `record`."""
    others = {"partners": True, "non-partners": False}
    return {
        "own": own_entries(data.map_update).mean("pattern"),
        **{k: other_entries(data.map_update, data.partner, v).mean(["pattern", "other"]) for k, v in others.items()},
        "irrelevant": data.irrelevant_update,
    }


def solved_step(data: xr.Dataset) -> xr.DataArray:
    """T* of the default run: the step of the first record with unseen hinge below 0.2; inf: never."""
    return data.step.where(data.unseen_hinge_path < REACHED).min("record").fillna(np.inf)


def growth_records(data: xr.Dataset) -> xr.DataArray:
    """True at the records at which attention grows: half of the prompts have loss, t ≥ max(100, T*/3)."""
    return (data.active_hinge >= ACTIVE) & (data.step >= np.maximum(EARLY, solved_step(data) / 3))


def at_growth(data: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """The values at growth records, NaN elsewhere; every seed must have one."""
    chosen = growth_records(data)
    if not chosen.any("record").all():
        raise lm.NotApplicable("no growth record in some seed: T* was not reached, or no prompt has loss so late")
    return values.where(chosen)


def crossing(errors: xr.DataArray, level: float = 0.05) -> xr.DataArray:
    """The length at which the error, log-linear between the grid's lengths, falls to the level; NaN if it does not."""
    lengths = errors.test_contexts.values

    def one(values: np.ndarray) -> float:
        below = np.flatnonzero(values <= level)
        if not below.size or below[0] == 0:
            return np.nan
        i = below[0]
        high, low = np.log(values[i - 1]), np.log(max(values[i], 1e-6))
        return float(lengths[i - 1] + (high - np.log(level)) / (high - low) * (lengths[i] - lengths[i - 1]))

    return xr.apply_ufunc(one, errors, input_core_dims=[["test_contexts"]], vectorize=True)


def by_length(values: xr.DataArray, budget: str) -> xr.DataArray:
    """The cells of e1-context with one budget, along the length of a training prompt."""
    return lm.cells(values, initial_scale=BUDGETS[budget]).swap_dims(variant="contexts").drop_vars("variant")


def required_length(data: xr.Dataset, budget: str) -> xr.DataArray:
    """The smallest training length whose final hinge on the watched prompts is below 0.2; inf if none is."""
    hinge = by_length(data.last_watch_hinge, budget)
    return hinge.contexts.where(hinge < REACHED).min("contexts").fillna(np.inf)
