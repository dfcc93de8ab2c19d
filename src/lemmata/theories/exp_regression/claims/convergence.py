"""Convergence: steps (Q14), contraction (Q16), hitting time (Q17), the linearised limit (Q18); drift: the bound D, the
lazy prediction (Q15), exponents in the width ("x3-drift")."""

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.exp_regression.measures import MET, SLACK, step_constants, width_exponents, worst, worst_where
from lemmata.theories.exp_regression.theorem import FROZEN, contraction, kernel_kept, step_used, time_used


def _from_width(values: xr.DataArray, least: int) -> xr.DataArray:
    """At the widths from `least` on, or at the largest."""
    return values.sel(neurons=values.neurons[values.neurons >= min(least, float(values.neurons.max()))])


@lm.evidence("q16-theory", "x9-theorem")
def longest_steps(theory: xr.Dataset, theorem: xr.Dataset) -> dict[str, xr.DataArray]:
    """η‖Δw_r‖ over 0.01, and ‖e‖/√n, at their largest over all steps, by experiment."""
    runs = {"q16-theory": theory, "x9-theorem": theorem}
    lengths = lm.stack({name: worst(step_used(data)) for name, data in runs.items()}, "experiment")
    errors = lm.stack({name: worst(data.error_norm) for name, data in runs.items()}, "experiment")
    return {"length": lengths, "error": errors}


@lm.evidence("x6-stability")
def longest_unstable_steps(data: xr.Dataset, step_constant: float) -> dict[str, xr.DataArray]:
    """The same with the practical step, by width."""
    data = lm.cells(data, step_constant=step_constant)
    return {"length": step_used(data), "error": data.error_norm}


@lm.evidence("x2-convergence", "q16-samplers", "q16-theory", "x6-stability")
def worst_contraction(
    convergence: xr.Dataset,
    samplers: xr.Dataset,
    theory: xr.Dataset,
    stability: xr.Dataset,
    constants: tuple[float, float] = (0, 1),
) -> xr.DataArray:
    """The largest ‖e(t)‖² over its bound with λ = λ_min(H(0)), over all steps and runs, by experiment."""
    runs = {"x2-convergence": lm.cells(convergence, init="coupled"), "q16-samplers": samplers, "q16-theory": theory}
    runs["x6-stability"] = step_constants(stability, *constants)
    return lm.stack({name: contraction(data, "H(0)").max(skipna=False) for name, data in runs.items()}, "experiment")


@lm.evidence("x2-orthonormal")
def fast_contraction(data: xr.Dataset) -> xr.DataArray:
    """The same at the rate 1 - 3mηλ on orthonormal data, c = 0.05."""
    runs = lm.cells(data, data_law="orthonormal", step_constant=0.05)
    return contraction(runs, "H(0), 3 m η λ").max(skipna=False).expand_dims(experiment=["x2-orthonormal"])


@lm.evidence("x2-convergence")
def contraction_where_kept(data: xr.Dataset, samples: int | None = None, neurons: int | None = None) -> xr.DataArray:
    """The largest ‖e(t)‖² over its bound with λ of the limit, over the runs that keep their kernel, by width.

    Their share stands in the label; with less than half of them at m ≥ 256 nothing is decided.
    """
    data = lm.cells(data, init="coupled", **({} if samples is None else {"samples": samples, "neurons": [neurons]}))
    kept, ratio = xr.broadcast(kernel_kept(data), contraction(data))
    share = float(_from_width(kept, 256).mean())
    if share < 0.5:
        raise lm.NotApplicable(f"conditions not met: λ_min(H(t)) ≥ λ/2 in only {share:.0%} of the runs")
    largest = ratio.where(kept, -np.inf).max([dim for dim in ratio.dims if dim != "neurons"], skipna=False)
    shares = kept.mean([dim for dim in kept.dims if dim != "neurons"])
    named = largest.assign_coords(neurons=[f"{m:g} ({float(shares.sel(neurons=m)):.0%} gated)" for m in kept.neurons])
    return named.isel(neurons=np.flatnonzero(shares)).rename(neurons="m")


@lm.evidence("x6-stability")
def unstable_contraction(data: xr.Dataset) -> xr.DataArray:
    """The same with c = 2.5 at the largest width, in the seeds whose intact run (c = 0.5) keeps its kernel."""
    wide = data.isel(neurons=-1)
    intact = kernel_kept(lm.cells(wide, step_constant=0.5))
    return worst_where(contraction(lm.cells(wide, step_constant=2.5)), intact, "the intact run keeps λ/2")


@lm.evidence("x2-convergence")
def hitting(data: xr.Dataset) -> xr.DataArray:
    """Steps to ε / T in the runs that keep their kernel and have T within the cap."""
    data = lm.cells(data, init="coupled")
    sound = kernel_kept(data) & (data.predicted_steps <= 20_000)
    return worst_where(time_used(data), sound, "the kernel keeps λ/2 and T ≤ 20000")


@lm.evidence("x2-orthonormal")
def orthonormal_hitting(data: xr.Dataset, divided: float) -> xr.DataArray:
    """Steps to ε / T, T `divided` by so much, on orthonormal data, c = 0.5."""
    return divided * time_used(lm.cells(data, data_law="orthonormal", step_constant=0.5))


@lm.evidence("x2-convergence")
def deviation(data: xr.Dataset, init: str = "coupled") -> xr.DataArray:
    """Relative deviation of ‖e(20)‖² from the linearised value, at the widths from 1024 on."""
    return _from_width(lm.cells(data, init=init).linear_deviation, 1024)


@lm.evidence("x2-convergence")
def deviation_slope(data: xr.Dataset, init: str = "coupled") -> dict[str, lm.Estimate]:
    """Exponent in m of the median over seeds of that deviation, by (n, d)."""
    return width_exponents(lm.cells(data, init=init).linear_deviation, "problem", "median")


@lm.evidence("x2-convergence", "x3-drift")
def drift_within(convergence: xr.Dataset, drift: xr.Dataset, divided: float = 1.0) -> xr.DataArray:
    """The largest drift over D (`divided` by so much) in runs that keep their kernel and contract, by experiment."""
    largest = {}
    runs = {"x2-convergence": lm.cells(convergence, init="coupled"), "x3-drift": lm.cells(drift, scale="one")}
    for name, data in runs.items():
        sound = kernel_kept(data) & (contraction(data) <= SLACK)
        ratio = worst_where(data.drift_ratio, sound, "the kernel keeps λ/2 and the error contracts")
        largest[name] = divided * ratio.max(skipna=False)
    return lm.stack(largest, "experiment")


@lm.evidence("x3-drift")
def lazy_error(data: xr.Dataset, scale: str = "one") -> xr.DataArray:
    """Relative error of the lazy drift at the smallest width."""
    return lm.cells(data, scale=scale).lazy_error.isel(neurons=0)


@lm.evidence("x3-drift")
def slope(data: xr.Dataset, of: str, scale: str = "one") -> xr.DataArray:
    """Exponent in m of the relative error of the lazy drift, or of a statistic of the drift at the end; its mean is
    that of the geometric mean."""
    data = lm.cells(data, scale=scale)
    values = data.lazy_error if of == "lazy" else lm.at_end(data.drift.sel(statistic=of, drop=True))
    return lm.log_slopes(values, "neurons")


CONTRACTS = r"\lVert e(t)\rVert^2 \le (1-m\eta\lambda/2)^t\,\lVert e(0)\rVert^2, \quad \lambda = "
SLACKS = dict.fromkeys(["x2-convergence", "q16-samplers", "x6-stability", "x2-orthonormal"], SLACK) | {
    "q16-theory": 1 + 1e-12
}
INDEPENDENT = lm.Control("independent initialisation", init="independent")
SCALED = lm.Control("output scale 1/√m", scale="inv_sqrt_m")


def _slope(statistic: str, which: str, symbol: str, low: float, high: float) -> lm.Claim:
    return (
        lm.Claim(f"x3-{statistic}", "Lemma 7.2, experiment X3", "scaling", source="derived")
        .states(f"""The {which} drift falls with the width: exponent of its geometric mean over seeds in [{low},
            {high}].""")
        .in_symbols(rf"{symbol}_r\lVert w_r-w_r(0)\rVert \propto m^k, \quad {low} \le k \le {high}")
        .judged(slope(statistic), lm.within(low, high, by="mean"), SCALED)
    )


CLAIMS = (
    lm.Claim("q14-step", "Lemmas 7.4 and 8.6", "bound")
    .states("""With the paper's step size, whose B is the run's own largest projection (q16-theory) or the union bound's
        (x9-theorem) and not the paper's, η‖Δw_r‖ ≤ 0.01 (far from tight) and ‖e(t)‖ ≤ √n at every step.""")
    .in_symbols(r"\eta\lVert\Delta w_r(t)\rVert \le 0.01,\ \lVert e(t)\rVert \le \sqrt{n}")
    .judged(
        longest_steps(),
        lm.all_of(length=MET, error=MET),
        lm.Control("practical step, c = 2.5", longest_unstable_steps(2.5)),
    ),
    lm.Claim("q16-contraction-dis", "Lemmas 7.3 and 9.2", "bound")
    .states("""‖e(t)‖² ≤ (1 - mηλ/2)^t ‖e(0)‖² with λ = λ_min(H(0)), at every step of every run (practical step with c ≤
        1, and the paper's step).""")
    .in_symbols(CONTRACTS + r"\lambda_{\min}(H(0))")
    .judged(
        worst_contraction(),
        lm.at_most(SLACKS),
        lm.Control("rate 1 - 3mηλ, orthonormal data, c = 0.05", fast_contraction()),
        lm.Control("c = 2.5", constants=(2.5, 2.5)),
    ),
    lm.Claim("q16-contraction-cts", "Lemmas 7.3 and 9.2", "bound")
    .states("""‖e(t)‖² ≤ (1 - mηλ/2)^t ‖e(0)‖² with λ of the limit kernel, at every step of every run that keeps
        λ_min(H(t)) ≥ λ/2.""")
    .in_symbols(CONTRACTS + r"\lambda_{\min}(H^{\mathrm{cts}})")
    .judged(contraction_where_kept(), MET, lm.Control("c = 2.5 at the largest width", unstable_contraction())),
    lm.Claim("q16-contraction-narrow", "Lemmas 7.3 and 9.2", "bound")
    .states("""‖e(t)‖² ≤ (1 - mηλ/2)^t ‖e(0)‖² with λ of the limit kernel at n = d = 20 and m = 64, a width at which the
        kernel rarely keeps λ/2.""")
    .in_symbols(CONTRACTS + r"\lambda_{\min}(H^{\mathrm{cts}})")
    .judged(
        contraction_where_kept(samples=20, neurons=64),
        MET,
        lm.Control("n = d = 20, m = 1024", neurons=1024, expected=lm.HOLDS),
        expected=lm.INCONCLUSIVE,
    ),
    lm.Claim("q17-hitting", "Theorems 1.1 and 7.1", "bound")
    .states("‖e‖² ≤ ε by T = ⌈2 ln(‖y‖²/ε)/(mηλ)⌉ with the practical step, in every run that keeps λ/2 (T ≤ 20000).")
    .in_symbols(r"""\min\{t: \lVert e(t)\rVert^2 \le \epsilon\} \le T = \left\lceil\frac{2}{m\eta\lambda}\ln(\lVert
        y\rVert^2/\epsilon)\right\rceil""")
    .judged(
        hitting(),
        lm.at_most(1.0, by="every"),
        FROZEN,
        lm.Control("T/10 on orthonormal data, c = 0.5 (arithmetic)", orthonormal_hitting(10)),
    ),
    lm.Claim("q18-deviation", "Theorem 7.1 (T does not depend on m)", "limit", source="derived")
    .states("""At fixed mη training tends to the linearised dynamics: ‖e(20)‖² deviates from it by less than 1e-3 in the
        median at m ≥ 1024, for all three (n, d).""")
    .in_symbols(r"""\frac{|\lVert e(20)\rVert^2-\lVert(I-m\eta H(0))^{20}e(0)\rVert^2|}{\lVert(I-m\eta
        H(0))^{20}e(0)\rVert^2} < 10^{-3} \quad (m\ge1024)""")
    .judged(deviation(), lm.at_most(1e-3, by="median", strict=True), INDEPENDENT),
    lm.Claim("q18-slope", "Theorem 7.1 (T does not depend on m)", "scaling", source="derived")
    .states("""The deviation of ‖e(20)‖² from the linearised dynamics falls at least like m^-0.9 (median over seeds),
        for all three (n, d).""")
    .in_symbols(r"|\lVert e(20)\rVert^2-\lVert(I-m\eta H(0))^{20}e(0)\rVert^2| \propto m^k, \quad k \le -0.9")
    .judged(deviation_slope(), lm.at_most(-0.9, by="value"), INDEPENDENT),
    lm.Claim("q15-drift-bound", "Lemma 7.2, corrected", "bound", source="corrected")
    .states("‖w_r(t) - w_r(0)‖ ≤ D = 8λ^-1 e^{B+R} √n/m ‖y‖ at every step, in runs that keep λ/2 and contract.")
    .in_symbols(r"\lVert w_r(t)-w_r(0)\rVert \le D = 8\lambda^{-1}e^{B+R}\frac{\sqrt{n}}{m}\lVert y\rVert")
    .judged(drift_within(), lm.at_most(SLACK), lm.Control("D/1000 (arithmetic)", divided=1000)),
    lm.Claim("q15-lazy-drift", "Lemma 7.2, sharpened", "identity", source="derived")
    .states("""The weights end where the linearised dynamics takes them: relative Frobenius error below 2 % at the
        smallest width, m = 128, in every seed.""")
    .in_symbols(r"w_r(T)-w_r(0) \approx \frac{1}{m}a_r\sum_i(H(0)^{-1}(y-F(0)))_i\,x_ie^{\langle w_r(0),x_i\rangle}")
    .judged(lazy_error(), lm.at_most(0.02, by="every", strict=True), SCALED),
    lm.Claim("q15-lazy-drift-width", "Lemma 7.2, sharpened", "scaling", source="derived")
    .states("""The error of the lazy prediction of the weights falls nearly like 1/m: exponent of its geometric mean in
        [-1.1, -0.75].""")
    .in_symbols(r"\text{relative error of the lazy drift} \propto m^k, \quad -1.1 \le k \le -0.75")
    .judged(slope("lazy"), lm.within(-1.1, -0.75, by="mean"), SCALED),
    _slope("mean", "mean", r"\mathrm{mean}", -1.2, -0.9),
    _slope("median", "median", r"\mathrm{median}", -1.2, -0.9),
    _slope("max", "largest", r"\max", -0.9, -0.55),
)
