"""How long prompts must be: in testing (P4), in training (figure E.1, left); the tail of the matches (P16)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import all_of, at_least, at_most, equal, within
from lemmata.lab.measures import log_slopes, stack
from lemmata.theories.icl.bounds import chernoff, context_tail, no_match_probability
from lemmata.theories.icl.measures import by_length, cells, crossing, of_experiment, required_length

ALPHAS, LENGTHS = [0.2, 0.4, 0.8], [2, 5, 10, 20, 40]
EXACT = [1, 2, 5, 10, 20, 40]
PURE = [1, 2, 3, 5]
ENOUGH = 50
"""Cells with fewer prompts without a match say nothing about them."""
TAILS = {"length": (20, 100, 200, 400), "alpha": (0.2, 0.4, 0.8), "c": (0.3, 0.5, 1.0)}


def _prompts(
    take: Callable[[xr.Dataset], xr.DataArray], attention: str = "trained", mode: str = "iid", **where: Any
) -> Evidence:
    """What `take` makes of the prompts of one kind, at the fractions and lengths of `where`."""

    def chosen(data: xr.Dataset) -> xr.DataArray:
        return take(cells(data, attention=attention, test_mode=mode, **where))

    return of_experiment("p4-contexts", chosen, {"attention": "trained"})


def _on_grid(take: Callable[[xr.Dataset], xr.DataArray], attention: str = "trained") -> Evidence:
    return _prompts(take, attention, test_fraction=ALPHAS, test_contexts=LENGTHS)


def _error(data: xr.Dataset) -> xr.DataArray:
    """The pooled error: every seed has as many prompts."""
    return data.unseen_error.mean("seed")


def _share(data: xr.Dataset, matched: bool) -> xr.DataArray:
    """The share of prompts that have a match, or have none."""
    return 1 - data.unseen_no_match if matched else data.unseen_no_match


def _given(data: xr.Dataset, matched: bool) -> xr.DataArray:
    """The pooled error of the prompts that have a match, or have none."""
    share = _share(data, matched)
    wrong = share * (data.unseen_error_match if matched else data.unseen_error_no_match)
    return xr.where(share == 0, 0.0, wrong).sum("seed", skipna=False) / share.sum("seed")


def _below_half(matched: bool) -> Callable[[xr.Dataset], xr.DataArray]:
    """Standard errors by which the error without (or with) a match falls short of 1/2, in cells with enough prompts."""

    def take(data: xr.Dataset) -> xr.DataArray:
        count = (_share(data, matched) * data.prompts).sum("seed")
        enough = (_share(data, False) * data.prompts).sum("seed") >= ENOUGH
        found = ((0.5 - _given(data, matched)) / np.sqrt(0.25 / count)).stack(cell=("test_fraction", "test_contexts"))
        kept = found[enough.stack(cell=("test_fraction", "test_contexts")).values]
        names = [f"α'={alpha:g}, l={length:g}" for alpha, length in kept.cell.values]
        return xr.DataArray(kept.values, coords={"at": names}, dims="at")

    return take


def _outside(data: xr.Dataset) -> xr.DataArray:
    """Standard errors by which the pooled error leaves [π/2, π] (binomial, at the nearer end)."""
    error = _error(data)
    pi = xr.apply_ufunc(no_match_probability, *xr.broadcast(data.test_fraction, data.test_contexts))
    spread = lambda p: np.sqrt(p * (1 - p) / data.prompts.sum("seed"))  # noqa: E731
    return np.maximum((pi / 2 - error) / spread(pi / 2), (error - pi) / spread(pi))


def _off_pure(data: xr.Dataset) -> xr.DataArray:
    """Standard errors between the pooled error at α' = 1 and 2^-l."""
    law = 2.0**-data.test_contexts
    return abs(_error(data) - law) / np.sqrt(law * (1 - law) / data.prompts.sum("seed"))


def _pure(attention: str = "trained") -> Evidence:
    return _prompts(_off_pure, attention, test_fraction=1.0, test_contexts=PURE)


def _exact(attention: str = "trained") -> Evidence:
    return _prompts(_error, attention, "exact", test_fraction=0.2, test_contexts=EXACT)


def _length_slopes(backwards: bool) -> Evidence:
    """The exponent in α' of the length at which the error is 0.05."""

    def take(data: xr.Dataset) -> xr.DataArray:
        errors = data.unseen_error.assign_coords(test_fraction=ALPHAS[::-1] if backwards else ALPHAS)
        return log_slopes(crossing(errors), "test_fraction")

    return _prompts(take, test_fraction=ALPHAS)


def _tails(kind: str, alphas: tuple[float, ...] = TAILS["alpha"]) -> Evidence:
    """Exact tail over its bound on the grid."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        cells = list(itertools.product(TAILS["length"], alphas, TAILS["c"]))
        ratios = [context_tail(int(n), a, c) / float(chernoff(n, a, c, kind=kind)) for n, a, c in cells]
        return xr.DataArray(ratios, coords={"at": [f"l={n}, α={a}, c={c}" for n, a, c in cells]}, dims="at")

    return evidence


def _ratio(above: float, below: float) -> Evidence:
    """Required training length at one α over that at another, with the short budget."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        needed = required_length(datasets["e1-context"], "short")
        return needed.sel(fraction=above, drop=True) / needed.sel(fraction=below, drop=True)

    return evidence


def _single(length: int, budgets: tuple[str, ...], fraction: float | None = None) -> Evidence:
    """What one training length does: the change of W_Q, W_K, and the final hinge."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        data = datasets["e1-context"]
        data = data if fraction is None else data.sel(fraction=[fraction])

        def pick(name: str) -> xr.DataArray:
            return stack({b: by_length(data, data[name], b).sel(length=length, drop=True) for b in budgets}, "budget")

        return {"moved": {"measured": pick("attention_moved"), "predicted": 0.0}, "hinge": pick("last_watch_hinge")}

    return evidence


_READS = ("p4-contexts",)
_FROZEN = "frozen attention"

CLAIMS = (
    Claim(
        name="p4-match",
        reference="P4, derived",
        kind="bound",
        statement="Whenever some context holds the query's pattern the answer is right: pooled error at most 0.005 "
        "for every α' and length.",
        reads=_READS,
        evidence=_on_grid(partial(_given, matched=True)),
        judge=at_most(0.005),
        controls=(Control(_FROZEN, _on_grid(partial(_given, matched=True), "frozen")),),
    ),
    Claim(
        name="p4-no-match",
        reference="P4, derived",
        kind="bound",
        statement="Without such a context the answer is wrong at least every second time (evidence: standard errors "
        "below 1/2, at most 3; cells with 50 or more such prompts).",
        reads=_READS,
        evidence=_on_grid(_below_half(matched=False)),
        judge=at_most(3.0),
        controls=(Control("prompts with a match in place of those without", _on_grid(_below_half(matched=True))),),
    ),
    Claim(
        name="p4-total",
        reference="P4, derived",
        kind="bound",
        statement="So the error lies between π/2 and π, π = (1-α'/2)^l the probability of no match (evidence: "
        "standard errors outside, at most 3).",
        formula="π/2 ≤ error ≤ π",
        reads=_READS,
        evidence=_on_grid(_outside),
        judge=at_most(3.0),
        controls=(Control(_FROZEN, _on_grid(_outside, "frozen")),),
    ),
    Claim(
        name="p4-pure-contexts",
        reference="P4, derived",
        kind="limit",
        statement="With decisive contexts only (α' = 1) the error is 2^-l (evidence: standard errors off, at most 3).",
        formula="error = 2^-l",
        reads=_READS,
        evidence=_pure(),
        judge=at_most(3.0),
        controls=(Control(_FROZEN, _pure("frozen")),),
    ),
    Claim(
        name="p4-one-match",
        reference="P4, derived",
        kind="limit",
        statement="One match among 20 contexts suffices: on exact prompts with α' = 0.2 the pooled error is at most "
        "0.005 at every length.",
        reads=_READS,
        evidence=_exact(),
        judge=at_most(0.005),
        controls=(Control(_FROZEN, _exact("frozen")),),
    ),
    Claim(
        name="p4-length",
        reference="(6.9), l_ts ≥ 1/α'",
        kind="scaling",
        statement="The length at which the error is 0.05 is inversely proportional to α'.",
        formula="l_ts ∝ 1/α'",
        reads=_READS,
        evidence=_length_slopes(backwards=False),
        judge=within(-1.2, -0.8, predicted=-1.0),
        controls=(Control("α' values in reversed order", _length_slopes(backwards=True)),),
    ),
    Claim(
        name="p16-tail",
        reference="(E.42)",
        kind="bound",
        statement="As printed: the share of contexts with a decisive pattern falls below (1-c) α/2 with probability "
        "at most exp(-l c² α/2) (evidence: exact tail over the bound).",
        formula="Pr(share ≤ (1-c) α/2) ≤ exp(-l c² α/2)",
        evidence=_tails("printed"),
        judge=at_most(1.0),
        expected=FAILS,
        controls=(Control("α = 1", _tails("printed", (1.0,)), HOLDS),),
    ),
    Claim(
        name="p16-tail-corrected",
        reference="(E.42), corrected",
        kind="bound",
        statement="Corrected: Chernoff's bound has the exponent l c² α/4.",
        formula="Pr(share ≤ (1-c) α/2) ≤ exp(-l c² α/4)",
        evidence=_tails("corrected"),
        judge=at_most(1.0),
        controls=(Control("printed exponent", _tails("printed")),),
    ),
    Claim(
        name="e1-context-order",
        reference="(6.9), Figure E.1",
        kind="ordering",
        statement="At a fixed budget of iterations, rarer decisive contexts need longer training prompts: at α = 0.2 "
        "at least twice the length at α = 0.8.",
        reads=("e1-context",),
        evidence=_ratio(0.2, 0.8),
        judge=at_least(2.0, by="every"),
        controls=(Control("α values reversed", _ratio(0.8, 0.2)),),
    ),
    Claim(
        name="e1-context-single",
        reference="section 4",
        kind="limit",
        statement="With a single context attention is constant: W_Q and W_K never change, to the bit, and the hinge "
        "loss stays at 0.9 or more, at both budgets and every α.",
        reads=("e1-context",),
        evidence=_single(1, ("short", "long")),
        judge=all_of(moved=equal(0.0), hinge=at_least(0.9, by="every")),
        controls=(Control("two contexts, α = 0.8", _single(2, ("short", "long"), 0.8)),),
    ),
)
