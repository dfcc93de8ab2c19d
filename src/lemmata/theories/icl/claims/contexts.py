"""Testing prompts: how long they must be (P4), and the tail of the number of matches (P16)."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import at_most, within
from lemmata.lab.measures import log_slopes
from lemmata.theories.icl.bounds import chernoff, context_tail, no_match_probability
from lemmata.theories.icl.claims.common import of_experiment
from lemmata.theories.icl.measures import crossing

ALPHAS, LENGTHS = ["0.2", "0.4", "0.8"], ["2", "5", "10", "20", "40"]
EXACT = ["1", "2", "5", "10", "20", "40"]
PURE = ["1", "2", "3", "5"]
ENOUGH = 50
"""Cells with fewer prompts without a match say nothing about them."""
TAILS = {"length": (20, 100, 200, 400), "alpha": (0.2, 0.4, 0.8), "c": (0.3, 0.5, 1.0)}


def _cells(take: Callable[[xr.Dataset], xr.DataArray], attention: str = "trained") -> Evidence:
    def chosen(data: xr.Dataset) -> xr.DataArray:
        return take(data.sel(attention=attention, drop=True))

    return of_experiment("p4-contexts", chosen, {"attention": "trained"})


def _grid(values: xr.DataArray) -> xr.DataArray:
    return values.sel(test_alpha=ALPHAS, length=LENGTHS)


def _prompts(data: xr.Dataset) -> float:
    """All prompts of a cell, over the seeds."""
    return float(data.prompts.sum())


def _given_match(data: xr.Dataset) -> xr.DataArray:
    wrong, matched = _grid(data.iid_error_match), _grid(1 - data.iid_no_match)
    return wrong.sum("seed") / matched.sum("seed")


def _below_half(wrong: str, without: bool) -> Callable[[xr.Dataset], xr.DataArray]:
    """Standard errors by which the error without (or with) a match falls short of 1/2, in cells with enough prompts."""

    def take(data: xr.Dataset) -> xr.DataArray:
        share = _grid(data.iid_no_match)
        share = share if without else 1 - share
        count = share.mean("seed") * _prompts(data)
        enough = _grid(data.iid_no_match).mean("seed") * _prompts(data) >= ENOUGH
        error = _grid(data[wrong]).sum("seed") / share.sum("seed")
        found = ((0.5 - error) / np.sqrt(0.25 / count)).stack(cell=("test_alpha", "length"))
        kept = found[enough.stack(cell=("test_alpha", "length")).values]
        names = [f"α'={alpha}, l={length}" for alpha, length in kept.cell.values]
        return xr.DataArray(kept.values, coords={"at": names}, dims="at")

    return take


def _outside(data: xr.Dataset) -> xr.DataArray:
    """Standard errors by which the pooled error leaves [π/2, π] (binomial, at the nearer end)."""
    error = _grid(data.iid_error).mean("seed")
    alpha = xr.DataArray([float(a) for a in ALPHAS], coords={"test_alpha": ALPHAS}, dims="test_alpha")
    length = xr.DataArray([float(n) for n in LENGTHS], coords={"length": LENGTHS}, dims="length")
    pi = xr.apply_ufunc(no_match_probability, *xr.broadcast(alpha, length))
    spread = lambda p: np.sqrt(p * (1 - p) / _prompts(data))  # noqa: E731
    return np.maximum((pi / 2 - error) / spread(pi / 2), (error - pi) / spread(pi))


def _off_pure(data: xr.Dataset) -> xr.DataArray:
    """Standard errors between the pooled error at α' = 1 and 2^-l."""
    error = data.iid_error.sel(test_alpha="1", length=PURE, drop=True).mean("seed")
    law = xr.DataArray([2.0 ** -int(n) for n in PURE], coords={"length": PURE}, dims="length")
    return abs(error - law) / np.sqrt(law * (1 - law) / _prompts(data))


def _length_slopes(backwards: bool) -> Evidence:
    """The exponent in α' of the length at which the error is 0.05."""

    def take(data: xr.Dataset) -> xr.DataArray:
        alphas = [float(alpha) for alpha in ALPHAS]
        errors = data.iid_error.sel(test_alpha=ALPHAS)
        errors = errors.assign_coords(test_alpha=alphas[::-1] if backwards else alphas)
        return log_slopes(crossing(errors), "test_alpha")

    return _cells(take)


def _tails(kind: str, alphas: tuple[float, ...] = TAILS["alpha"]) -> Evidence:
    """Exact tail over its bound on the grid."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        cells = list(itertools.product(TAILS["length"], alphas, TAILS["c"]))
        ratios = [context_tail(int(n), a, c) / float(chernoff(n, a, c, kind=kind)) for n, a, c in cells]
        return xr.DataArray(ratios, coords={"at": [f"l={n}, α={a}, c={c}" for n, a, c in cells]}, dims="at")

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
        evidence=_cells(_given_match),
        judge=at_most(0.005),
        controls=(Control(_FROZEN, _cells(_given_match, "frozen")),),
    ),
    Claim(
        name="p4-no-match",
        reference="P4, derived",
        kind="bound",
        statement="Without such a context the answer is wrong at least every second time (evidence: standard errors "
        "below 1/2, at most 3; cells with 50 or more such prompts).",
        reads=_READS,
        evidence=_cells(_below_half("iid_error_no_match", without=True)),
        judge=at_most(3.0),
        controls=(
            Control(
                "prompts with a match in place of those without", _cells(_below_half("iid_error_match", without=False))
            ),
        ),
    ),
    Claim(
        name="p4-total",
        reference="P4, derived",
        kind="bound",
        statement="So the error lies between π/2 and π, π = (1-α'/2)^l the probability of no match (evidence: "
        "standard errors outside, at most 3).",
        formula="π/2 ≤ error ≤ π",
        reads=_READS,
        evidence=_cells(_outside),
        judge=at_most(3.0),
        controls=(Control(_FROZEN, _cells(_outside, "frozen")),),
    ),
    Claim(
        name="p4-pure-contexts",
        reference="P4, derived",
        kind="limit",
        statement="With decisive contexts only (α' = 1) the error is 2^-l (evidence: standard errors off, at most 3).",
        formula="error = 2^-l",
        reads=_READS,
        evidence=_cells(_off_pure),
        judge=at_most(3.0),
        controls=(Control(_FROZEN, _cells(_off_pure, "frozen")),),
    ),
    Claim(
        name="p4-one-match",
        reference="P4, derived",
        kind="limit",
        statement="One match among 20 contexts suffices: on exact prompts with α' = 0.2 the pooled error is at most "
        "0.005 at every length.",
        reads=_READS,
        evidence=_cells(lambda data: data.exact_error.sel(length=EXACT).mean("seed")),
        judge=at_most(0.005),
        controls=(Control(_FROZEN, _cells(lambda data: data.exact_error.sel(length=EXACT).mean("seed"), "frozen")),),
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
)
