"""Theorems 1.1 and 7.1: how wide a network of exponentials must be for gradient descent to fit its data.

    Let ‖x_i‖ ≤ 1 and |y_i| ≤ 1 for i = 1, ..., n, and let λ > 0 be the least eigenvalue of H^cts. Start from the
    coupled initialisation and train W by gradient descent. If m = Ω(λ^-2 n^{2+o(1)} log(n/δ)) and the step size is
    η = Θ(λ / (m n^{2+o(1)})), then after T = Ω(λ^-2 n^{2+o(1)} log(n/ε)) steps ‖F(T) - y‖² ≤ ε, with probability at
    least 1 - δ.

Here n^{o(1)} is e^{Θ(B)} with B = Cσ√log(n/δ), C > 10. The proof is an induction over the steps: as long as the kernel
keeps half of λ the error contracts, so the weights stay within D of their start, so the kernel keeps half of λ. Its
hypotheses and its inequalities are the functions below, each as left side / right side. `bounds.explicit_width` is the
width from which they follow; X9 trains such networks, on one or two orthonormal points with small σ. Of the paper's
further conditions R < 10^-3 is not met there, and R ≤ 1 ≤ B in one of the two. (Theorem 7.1 prints log² and leaves out
the probability, Theorem 1.1 speaks of independent signs: errata 10, 15 and 16.)
"""

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.exp_regression.bounds import RUNNABLE
from lemmata.theories.exp_regression.measures import MET
from lemmata.theories.exp_regression.probes import SMALL_STEP


def kernel_kept(data: xr.Dataset) -> xr.DataArray:
    """Runs whose kernel keeps half of λ at every step: λ_min(H(t)) ≥ λ/2, λ of the infinite-width kernel."""
    return data.kernel_kept >= 0.5


def kernel_distance(data: xr.Dataset) -> xr.DataArray:
    """‖H(0) - H^cts‖_F / (λ/4) (Lemma 6.3)."""
    return 4 * data.kernel_error / data.limit_least


def radius_used(data: xr.Dataset) -> xr.DataArray:
    """D / R: the bound on the drift must stay within the ball in which the kernel keeps half of λ."""
    return data.drift_bound / data.ball_radius


def drift_used(data: xr.Dataset) -> xr.DataArray:
    """The largest drift of a weight / D (Lemma 7.2)."""
    return data.largest_drift / data.drift_bound


def step_used(data: xr.Dataset) -> xr.DataArray:
    """The longest step η‖Δw_r‖ / 0.01 (Lemma 7.4)."""
    return data.step_length / SMALL_STEP


def contraction(data: xr.Dataset, rate: str = "limit") -> xr.DataArray:
    """The largest ‖e(t)‖² / (1 - mηλ/2)^t ‖e(0)‖² (Lemma 9.2), by whose λ and which rate (`probes.RATES`)."""
    return data.contraction.sel(rate_of=rate, drop=True)


def time_used(data: xr.Dataset) -> xr.DataArray:
    """Steps to ‖e‖² ≤ ε / T."""
    return data.reached_step / data.predicted_steps


@lm.evidence("x8-vacuity", "q16-theory", "x9-theorem")
def reached(
    vacuity: xr.Dataset, printed: xr.Dataset, theorem: xr.Dataset, conditions: str = "printed"
) -> xr.DataArray | float:
    """Steps to ε / T with the printed m, η, T at n = 10, δ = 0.05, C = 10, σ = 1, or with the explicit ones of X9.

    Printed numbers that can be run are compared with the runs of q16-theory (n = 10, σ = 1, the paper's step).
    """
    if conditions == "explicit":
        return time_used(lm.cells(theorem, samples=2))
    asked = lm.cells(vacuity, samples=10, failure_probability=0.05, tail_constant=10, weight_scale=1).isel(seed=0)
    width, steps = float(asked.log_width), float(asked.log_iterations)
    if np.isnan(width + steps):
        return np.inf  # a calculator without a number promises nothing that could be kept
    if max(width, steps) > np.log10(RUNNABLE):
        raise lm.NotApplicable(
            f"vacuous here: the paper asks for 10^{width:.1f} neurons and 10^{steps:.1f} steps of size "
            f"10^{float(asked.log_step):.1f}; usable instead: {float(asked.practical_width):.0f} neurons, step "
            f"{float(asked.practical_step):.2g}, {float(asked.practical_iterations):.0f} steps"
        )
    if 10**width > float(printed.width.min()):
        raise lm.NotApplicable(f"10^{width:.1f} neurons can be run, but no run of q16-theory has so many")
    if bool((~np.isfinite(printed.reached_step) & (printed.step.max("record") < 10**steps)).any()):
        raise lm.NotApplicable(f"10^{steps:.1f} steps can be run, but the runs of q16-theory end before that")
    return printed.reached_step / 10**steps


@lm.evidence("x9-theorem")
def time_share(data: xr.Dataset, times: float = 1.0) -> xr.DataArray:
    """Steps to ε, `times` over, / T."""
    return times * time_used(data)


@lm.evidence("x4-frontier-n")
def frozen_share(data: xr.Dataset) -> xr.DataArray:
    """Steps to ε / T of the runs whose weights are frozen."""
    return time_used(lm.cells(data, trained=0))


@lm.evidence("x9-theorem")
def drift_within(data: xr.Dataset, divided: float = 1.0) -> dict[str, xr.DataArray]:
    """The largest drift over D (`divided` by so much), and D over R, with the union bound's B."""
    return {"drift": divided * drift_used(data), "radius": radius_used(data)}


@lm.evidence("x9-theorem")
def longest_step(data: xr.Dataset, step_constant: float | None = None) -> xr.DataArray:
    """The longest step η‖Δw_r‖ of a run, over 0.01."""
    return step_used(data if step_constant is None else lm.cells(data, step_constant=step_constant))


@lm.evidence("x9-theorem")
def initial_distance(data: xr.Dataset, weight_scale: float | None = None) -> xr.DataArray:
    """‖H(0) - H^cts‖_F over λ/4."""
    return kernel_distance(data if weight_scale is None else lm.cells(data, weight_scale=weight_scale))


FROZEN = lm.Control("frozen weights", frozen_share())
PROBLEMS = """On one or two orthonormal points, at the width from the proof's explicit inequalities and with the paper's
    step"""

CLAIMS = (
    lm.Claim("q17-paper-width", "Theorem 7.1, as stated", "bound")
    .states("""The printed width, step size and T (C = 10, n = 10, δ = 0.05, σ = 1) can be run, which means at most 10⁷
        neurons and steps, and ‖e‖² ≤ ε is reached by T.""")
    .in_symbols(r"""m = \Omega(\lambda^{-2}n^{2+o(1)}\log(n/\delta)),\ \eta = \Theta(\lambda/(mn^{2+o(1)})),\ T =
        \Omega(\lambda^{-2}n^{2+o(1)}\log(n/\epsilon)) \Rightarrow \lVert F(T)-y\rVert^2 \le \epsilon""")
    .judged(
        reached(),
        lm.at_most(1.0, by="every"),
        lm.Control("the theorem end to end, n = 2, σ = 0.05", conditions="explicit", expected=lm.HOLDS),
        expected=lm.INCONCLUSIVE,
    ),
    lm.Claim("x9-reached", "Theorem 7.1", "bound")
    .states("""On two orthonormal points with σ = 0.05 and on one with σ = 0.2 (the theorem has σ = 1), at the width
        from the proof's explicit inequalities and with the paper's step, both with the union bound's B, ‖e‖² ≤ ε is
        reached by T in every seed. R < 10⁻³ is not met in either case, 1 ≤ B not in the first.""")
    .in_symbols(r"\min\{t: \lVert e(t)\rVert^2 \le \epsilon\} \le T")
    .judged(time_share(), lm.at_most(1.0, by="every"), FROZEN, lm.Control("T/5 steps (arithmetic)", times=5)),
    lm.Claim("x9-contraction", "Lemma 9.2", "bound")
    .states(f"{PROBLEMS}, ‖e(t)‖² ≤ (1 - mηλ/2)^t ‖e(0)‖² with λ of the limit kernel, at every step.")
    .in_symbols(r"\lVert e(t)\rVert^2 \le (1-m\eta\lambda/2)^t\,\lVert e(0)\rVert^2")
    .judged(lm.evidence("x9-theorem")(contraction)(), MET, lm.Control("rate 1 - 3mηλ", rate="limit, 3 m η λ")),
    lm.Claim("x9-drift", "Lemma 7.2", "bound")
    .states(f"{PROBLEMS}, no weight moves farther than D, and D < R, both with the union bound's B.")
    .in_symbols(r"\max_r\lVert w_r(t)-w_r(0)\rVert \le D < R")
    .judged(
        drift_within(),
        lm.all_of(drift=MET, radius=lm.at_most(1.0, by="every", strict=True)),
        lm.Control("D/1000 (arithmetic)", divided=1000),
    ),
    lm.Claim("x9-step", "Lemma 7.4", "bound")
    .states(f"{PROBLEMS}, η‖Δw_r‖ ≤ 0.01 at every step: their ratio is at most 1 (far from tight).")
    .in_symbols(r"\eta\lVert\Delta w_r(t)\rVert \le 0.01")
    .judged(
        longest_step(),
        MET,
        lm.Control("practical step, c = 2.5", longest_step.of("x6-stability")(2.5)),
    ),
    lm.Claim("x9-kernel", "Lemma 6.3", "bound")
    .states(f"{PROBLEMS}, the initial kernel is within λ/4 of its limit.")
    .in_symbols(r"\lVert H(0)-H^{\mathrm{cts}}\rVert_F \le \lambda/4")
    .judged(initial_distance(), MET, lm.Control("σ = 1 at m = 456", initial_distance.of("q5-width")(1.0))),
    lm.Claim("x9-hitting", "Theorem 7.1", "identity", source="derived")
    .states(f"{PROBLEMS}, ε is hit at T/4, since the true rate is 2mηλ: 4·hit/T in [0.97, 1.03] in every seed.")
    .in_symbols(r"""0.97 \le \frac{4t_\epsilon}{T} \le 1.03, \quad t_\epsilon = \min\{t: \lVert e(t)\rVert^2 \le
        \epsilon\}""")
    .judged(
        time_share(4),
        lm.within(0.97, 1.03, by="every", predicted=1.0),
        FROZEN,
        lm.Control("T with the rate mηλ, half of T (arithmetic)", times=8),
    ),
)
