"""Random networks: projections (Q2, part 1), initial outputs (Q7), what the coupled pairs contribute (X5); and weights
that move by at most R: projections and exponentials (Q2, parts 2-6) and the kernel (Q6)."""

from typing import Any

import jax
import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.exp_regression.bounds import projection_bound
from lemmata.theories.exp_regression.measures import MET, STANDARD_ERRORS, farthest, share, worst
from lemmata.theories.exp_regression.network import Head
from lemmata.theories.exp_regression.studies import moved_ratios

DELTA = 0.05


def _beyond(data: xr.Dataset, projection_source: str, C: float) -> dict[str, lm.Estimate]:
    B = projection_bound(data.sizes["point"], data.neurons, DELTA, 1.0, C, projection_source)
    beyond = (data.projection > B).where(data.projection.notnull())
    return {f"m = {m:g}": share(beyond.sel(neurons=m)) for m in data.neurons.values}


@lm.evidence("q2-tails")
def beyond(data: xr.Dataset, projection_source: str = "paper", C: float = 10.0) -> dict[str, lm.Estimate]:
    """The share of initialisations with some |<w_r, x_i>| > B, by width."""
    return _beyond(data, projection_source, C)


@lm.evidence("q2-tails")
def growing_share(data: xr.Dataset, C: float = 2.0) -> dict[str, lm.Estimate | float]:
    """The share beyond the paper's B at the smallest width, and the low end of its interval at the largest."""
    narrow, *_, wide = _beyond(data, "paper", C).values()
    return {"narrow": narrow, "wide": wide.low}


@lm.evidence("q7-initial")
def largest_output(data: xr.Dataset, init: str = "coupled") -> xr.DataArray:
    """The largest |F_i(0)|, by width."""
    return abs(lm.cells(data, init=init).outputs).max("point")


@lm.evidence("q7-initial")
def initial_loss(data: xr.Dataset, init: str = "coupled") -> dict[str, xr.DataArray]:
    """|‖y - F(0)‖² - ‖y‖²|, and ‖y - F(0)‖²/n, by width."""
    data = lm.cells(data, init=init)
    return {"equal": abs(data.error_square - data.target_square), "bound": data.error_square / data.sizes["point"]}


@lm.evidence("q7-initial")
def output_variance(data: xr.Dataset, init: str = "independent") -> lm.Uncertain:
    """Mean over seeds of F_i(0)²/m less its closed form, at the point most standard errors away, by width."""
    data = lm.cells(data, init=init)
    squares = data.outputs**2 / data.neurons
    difference = squares.mean("seed") - data.output_variance.isel(seed=0, drop=True)
    error = squares.std("seed", ddof=1) / np.sqrt(squares.sizes["seed"])
    return farthest(difference, error, "point")


@lm.evidence("x5-initialisation")
def hitting_time(data: xr.Dataset, trained: bool = True) -> xr.DataArray:
    """The first step with ‖e‖² ≤ ε; of frozen weights, the initial record in place of the last, 0 or never."""
    return data.reached_step if trained else xr.where(data.square.isel(record=0) <= 1e-3, 0.0, np.inf)


@lm.evidence("x5-initialisation")
def drift(data: xr.Dataset, init: str = "independent", relative: bool = False) -> xr.DataArray:
    """The largest drift at the first hit of ε, by width; or over that with coupled initialisation, same seed, from the
    second width on."""
    drifts = lm.at_end(data.drift.sel(statistic="max", drop=True))
    largest = lm.cells(drifts, init=init)
    return (largest / lm.cells(drifts, init="coupled").values).isel(neurons=slice(1, None)) if relative else largest


SMALL = 1e-3
"""The R of Lemma 6.7."""


@lm.evidence("q6-perturbation")
def ratio(data: xr.Dataset, variable: str, factor: float = 1.0, shift: str = "", below: float = 0.01) -> xr.DataArray:
    """The largest left side / right side over R and the directions (or in one), of a move by `factor` R."""
    data = lm.cells(data, factor=factor, radius=data.radius.values[data.radius.values < below])
    return worst((lm.cells(data, shift=shift) if shift else data)[variable])


@lm.evidence("q6-perturbation")
def pair_ratio(data: xr.Dataset, shift: str = "pair") -> xr.DataArray:
    """|ΔH_ij| over its bound in the entry (i, j) of the pair that is aimed at, by R."""
    return lm.cells(data, factor=1.0, radius=data.radius.values[data.radius.values < SMALL], shift=shift).pair_change


@lm.evidence(precision="float64")
def one_point(factor: float) -> float:
    """‖ΔH‖_F over its bound with n = 1, W = 0, every weight moved by `factor` R along x."""
    ones: Any = np.ones(8)
    weights, head, R = np.zeros((1, 8)), Head(ones, ones[0]), 9e-4
    return float(jax.jit(moved_ratios)(head, np.ones((1, 1)), weights, weights + factor * R, R)["frobenius_change"])


INDEPENDENT = lm.Control("independent initialisation", init="independent")
OUTWARD = {"factor": 1.1, "shift": "point"}

CLAIMS = (
    lm.Claim("q2-projection-union", "Lemma 6.2, part 1, corrected", "bound", source="corrected")
    .states("""With B from the union bound, the share of initialisations with some |<w_r, x_i>| > B is at most δ = 0.05
        at m = 64, 1024 and 16384.""")
    .in_symbols(r"\Pr(\max_{r,i}|\langle w_r,x_i\rangle| > B) \le \delta, \quad B = \sigma\sqrt{2\ln(2mn/\delta)}")
    .judged(
        beyond("union"),
        lm.at_most(DELTA, by="value"),
        lm.Control("the paper's B with C = 1.5, which lacks ln m", projection_source="paper", C=1.5),
    ),
    lm.Claim("q2-projection-paper", "Definition 6.1, Lemma 6.2, part 1", "bound")
    .states("With the paper's B, C = 10, no initialisation exceeds B at m = 64, 1024 or 16384.")
    .in_symbols(r"\max_{r,i}|\langle w_r,x_i\rangle| \le B, \quad B = C\sigma\sqrt{\ln(n/\delta)},\ C = 10")
    .judged(beyond("paper"), lm.at_most(0.0, by="value"), lm.Control("C = 1.5", C=1.5)),
    lm.Claim("q2-projection-constant", "Lemma 6.2, part 1", "ordering", source="derived")
    .states("""A B without ln m fails as the network widens: with C = 2 the share beyond B is at most δ at the smallest
        width and its interval lies above δ at the largest.""")
    .in_symbols(r"""\Pr(\max_{r,i}|\langle w_r,x_i\rangle| > B) \le \delta\ (m=64),\ > \delta\ (m=16384), \quad B =
        2\sigma\sqrt{\ln(n/\delta)}""")
    .judged(
        growing_share(),
        lm.all_of(narrow=lm.at_most(DELTA, by="value"), wide=lm.at_least(DELTA, strict=True)),
        lm.Control("C = 10", C=10.0),
    ),
    lm.Claim("q7-zero-output", "Claim 6.8", "identity")
    .states("With coupled initialisation the initial output is exactly zero, in every seed.")
    .in_symbols(r"F_i(0) = 0")
    .judged(largest_output(), lm.at_most(0.0, by="every"), INDEPENDENT),
    lm.Claim("q7-initial-loss", "Claim 6.8", "bound")
    .states("With coupled initialisation ‖y - F(0)‖² = ‖y‖² ≤ n, in every seed.")
    .in_symbols(r"\lVert y-F(0)\rVert^2 = \lVert y\rVert^2 \le n")
    .judged(
        initial_loss(), lm.all_of(equal=lm.at_most(0.0, by="every"), bound=lm.at_most(1.0, by="every")), INDEPENDENT
    ),
    lm.Claim("q7-independent-variance", "Definitions 4.2 and 4.3", "identity", source="derived")
    .states("""With independent initialisation the mean of F_i(0)²/m is e^{2σ²‖x_i‖²} within 5 standard errors, at every
        point.""")
    .in_symbols(r"\mathbb{E}F_i(0)^2 = m\,e^{2\sigma^2\lVert x_i\rVert^2}")
    .judged(
        output_variance(),
        lm.within(0.0, 0.0, predicted=0.0, se=STANDARD_ERRORS),
        lm.Control("coupled initialisation", init="coupled"),
    ),
    lm.Claim("x5-converge", "Definitions 4.2 and 4.3, experiment X5", "comparison", source="derived")
    .states("Both initialisations reach ε within 5000 steps, in every seed and at every width.")
    .in_symbols(r"\min\{t: \lVert e(t)\rVert^2 \le \epsilon\} \le 5000")
    .judged(
        hitting_time(), lm.at_most(5000.0, by="every"), lm.Control("frozen weights: the initial record", trained=False)
    ),
    lm.Claim("x5-drift-ratio", "Definitions 4.2 and 4.3, experiment X5", "comparison", source="derived")
    .states("""With independent initialisation the weights move more than ten times as far as with the coupled one
        (median over seeds of the paired ratio), at m = 256 and 1024.""")
    .in_symbols(r"""\max_r\lVert w_r-w_r(0)\rVert_{\text{independent}} > 10\,\max_r\lVert
        w_r-w_r(0)\rVert_{\text{coupled}}""")
    .judged(
        drift(relative=True),
        lm.at_least(10.0, by="median", strict=True),
        lm.Control("coupled in both places", init="coupled"),
    ),
    lm.Claim("x5-not-lazy", "Definitions 4.2 and 4.3, experiment X5", "comparison", source="derived")
    .states("""With independent initialisation training is not lazy: the median largest drift is at least 0.3 at every
        width.""")
    .in_symbols(r"\max_r\lVert w_r-w_r(0)\rVert_{\text{independent}} \ge 0.3")
    .judged(drift(), lm.at_least(0.3, by="median"), lm.Control("coupled initialisation", init="coupled")),
    lm.Claim("q2-moved-projection", "Lemma 6.2, part 2", "bound")
    .states("""Weights within R of the initial ones have |<v_r, x_i>| ≤ B + R, for random shifts and for those that push
        the largest projection outward.""")
    .in_symbols(r"\lVert v_r-w_r\rVert \le R \Rightarrow |\langle v_r,x_i\rangle| \le B+R")
    .judged(ratio("moved_projection"), MET, lm.Control("outward shift of 1.1 R", **OUTWARD)),
    lm.Claim("q2-exponentials", "Lemma 6.2, parts 4 and 5", "bound")
    .states("""Exponentials of projections are at most e^B, and e^{B+R} after a move of R, with B even the largest
        positive projection.""")
    .in_symbols(r"e^{\langle w_r,x_i\rangle} \le e^B,\ e^{\langle v_r,x_i\rangle} \le e^{B+R}")
    .judged(
        ratio("moved_exponential"),
        MET,
        lm.Control("upward shift of 1.1 R at the largest positive projection", **OUTWARD),
    ),
    lm.Claim("q2-difference", "Lemma 6.2, part 3", "bound")
    .states("|<w_r - v_r, x_i + x_j>| ≤ 2R in every entry.")
    .in_symbols(r"|\langle w_r-v_r,x_i+x_j\rangle| \le 2R")
    .judged(ratio("difference"), MET, lm.Control("shift of 1.1 R along x_i (i = j)", **OUTWARD)),
    lm.Claim("q2-exponential-difference", "Lemma 6.2, part 6", "bound")
    .states("|e^{<w_r - v_r, x_i + x_j>} - 1| ≤ 4R in every entry, for R < 0.01.")
    .in_symbols(r"|e^{\langle w_r-v_r,x_i+x_j\rangle}-1| \le 4R")
    .judged(
        ratio("exponential_difference"), MET, lm.Control("shift of 2.1 R along x_i (i = j)", factor=2.1, shift="point")
    ),
    lm.Claim("q6-frobenius", "Lemma 6.7", "bound")
    .states("""Moving every weight by at most R < 10^-3 changes the kernel by at most 3nRe^{2B} in Frobenius norm (far
        from tight).""")
    .in_symbols(r"\lVert\tilde{w}_r-w_r\rVert \le R \Rightarrow \lVert H(\tilde{w})-H(w)\rVert_F \le 3nRe^{2B}")
    .judged(
        ratio("frobenius_change", below=SMALL), MET, lm.Control("one point, W = 0, shift of 1.6 R", one_point(1.6))
    ),
    lm.Claim("q6-entrywise", "Lemma 6.7, sharpened", "bound", source="derived")
    .states("|ΔH_ij| ≤ (e^{R‖x_i+x_j‖} - 1) |H_ij| in every entry and case.")
    .in_symbols(r"|\Delta H_{ij}| \le (e^{R\lVert x_i+x_j\rVert}-1)|H_{ij}|")
    .judged(
        ratio("entry_change", below=SMALL), MET, lm.Control("shift of 1.1 R along x_i + x_j", factor=1.1, shift="pair")
    ),
    lm.Claim("q6-equality", "Lemma 6.7, sharpened", "identity", source="derived")
    .states("""Moving every weight by R along x_i + x_j reaches the bound (e^{R‖x_i+x_j‖} - 1) |H_ij| in the entry (i,
        j), to 1e-10.""")
    .in_symbols(r"|\Delta H_{ij}| = (e^{R\lVert x_i+x_j\rVert}-1)|H_{ij}|")
    .judged(
        pair_ratio(),
        lm.within(1 - 1e-10, 1 + 1e-10, by="every", predicted=1.0),
        lm.Control("shift along x_i alone", shift="point"),
    ),
)
