"""Theorem 1 of the paper: zero population risk. Its hypotheses as functions, and the claims that test it.

Let the initial maps send the patterns close to orthonormal features (Assumption 2.3.1: errors σ = O(1/M) of the values
and δ < 1/2 of keys and queries), and let every token lie within τ ≤ min(σ, δ) of its pattern. If

- the width is m ≳ M² log N (`bounds.width_bound`),
- the relevant tokens outnumber the confusion tokens, α_* ≥ α_# / (e^{-(δ+τ)} (1-σ-τ)) (2.8),
- there are N ≥ C (α_* - c'(1-ζ) - c''(σ+τ))^-2 samples (2.11, `bounds.samples_vit`),

then after T = Θ(η^(-3/5) α_*^-1) steps of SGD (2.10, `bounds.iterations`) the population hinge risk is 0 with
probability at least 0.99. `Setting.hypotheses` says which of the conditions a setting meets.

Here the risk itself is judged (V1) and the condition on the fractions: its two forms (V17), and what it takes with a
finite batch (V17, V18). The number of samples is judged in `claims.samples`, that of steps in `claims.iterations`.
"""

import math
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.vit.bounds import alpha_threshold_nd
from lemmata.theories.vit.measures import share_of_runs, success
from lemmata.theories.vit.setting import condition_slack, discount

BATCHES = (16, 64, 256)


def deviation(batch: int) -> float:
    """√(log B / B): what the label average of a batch stays below (A.75)."""
    return math.sqrt(math.log(batch) / batch)


def finite_batch_slack(
    alpha: Any, confusion: Any, sigma: Any, delta: Any, tau: Any, batch: int, sign: float = 1.0
) -> Any:
    """(A.137), condition (2.8) with a finite batch, is that this is not negative; `sign`: of both deviations."""
    lean = sign * deviation(batch)
    return discount(sigma, delta, tau) * (alpha - lean - sigma - tau) - lean - confusion


def random_problems(seed: int) -> dict[str, np.ndarray]:
    """10⁵ random inputs of the conditions; errors as the theorem has them: σ < 1/5, δ < 1/2, τ < min(σ, δ)."""
    alpha, split, sigma, delta, tau = np.random.default_rng(seed).uniform(size=(5, 10**5))
    sigma, delta = sigma / 5, delta / 2
    tau = tau * np.minimum(sigma, delta)
    return {"alpha": alpha, "confusion": split * (1 - alpha), "sigma": sigma, "delta": delta, "tau": tau}


@lm.evidence("v1-zero-risk")
def zero_risk(data: xr.Dataset, variant: str, label_order: str = "true") -> lm.Estimate:
    """The share of runs with test hinge below 0.001 and 0-1 error 0."""
    runs = lm.cells(data, variant=variant, label_order=label_order)
    return share_of_runs((success(runs) > 0) & (runs.test_error == 0), runs.test_hinge)


@lm.fact
def same_condition(sign: float = 1.0, *, seed: int) -> dict[str, Any]:
    """Truth of (A.138), with this sign of δ+τ, against truth of (2.8), where neither is a matter of rounding."""
    given = random_problems(seed)
    alpha, sigma, delta, tau = (given[name] for name in ("alpha", "sigma", "delta", "tau"))
    neutral = 1 - alpha - given["confusion"]
    by_neutral = alpha - alpha_threshold_nd.function(neutral, sigma, sign * (delta + tau) - tau, tau)
    by_confusion = condition_slack(**given)
    clear = np.minimum(np.abs(by_neutral), np.abs(by_confusion)) > 1e-12
    return {"measured": by_neutral[clear] >= 0, "predicted": by_confusion[clear] >= 0}


@lm.fact
def exceptions(sign: float = 1.0, *, seed: int) -> xr.DataArray:
    """Share of the inputs with (A.137), with this sign of its deviations, at which (2.8) is false."""
    given = random_problems(seed)
    shares = {}
    for batch in BATCHES:
        premise = finite_batch_slack(**given, batch=batch, sign=sign) >= 0
        if premise.sum() < 100:
            raise lm.NotApplicable(f"(A.137) is true at only {premise.sum()} inputs for B = {batch}")
        shares[f"{batch} ({premise.sum()} inputs)"] = np.mean(condition_slack(**given)[premise] < 0)
    return xr.DataArray(list(shares.values()), coords={"batch": list(shares)})


@lm.fact
def leaning(positive: float = 0.5, *, seed: int) -> xr.DataArray:
    """Frequency of |1/B Σ y| ≥ √(log B/B) over 10⁵ batches of coins with P(y = 1) = `positive`."""
    draw = np.random.default_rng(seed)
    means = {batch: 2 * draw.binomial(batch, positive, 10**5) / batch - 1 for batch in BATCHES}
    frequencies = [np.mean(np.abs(mean) >= deviation(batch)) for batch, mean in means.items()]
    return xr.DataArray(frequencies, coords={"B": list(BATCHES)})


def _zero_risk_claim(name: str, variant: str, reading: str) -> lm.Claim:
    return (
        lm.Claim(name, "Theorem 1", "bound")
        .states(f"""Well above the sample threshold SGD reaches zero population risk ({reading}): test hinge below 0.001
            and no test error in at least 95 % of the runs.""")
        .in_symbols(r"\Pr(\ell_{\text{test}} < 10^{-3},\ \mathrm{err}_{\text{test}} = 0) \ge 0.95")
        .judged(
            zero_risk(variant),
            lm.at_least(0.95, by="value"),
            lm.Control("training labels of exactly half of the ± pairs exchanged", label_order="shuffled"),
        )
    )


CLAIMS = (
    _zero_risk_claim("v1-zero-risk-shared", "shared", "shared output signs, N = 16"),
    _zero_risk_claim("v1-zero-risk-per-token", "per_token", "per-token output signs, N = 256"),
    lm.Claim("v17-condition", "(2.8), (A.138)", "identity")
    .states("""The condition on the relevant fraction and its form in the neutral fraction are the same condition:
        equally true or false at 10⁵ random inputs.""")
    .in_symbols(r"""\alpha_* \ge \frac{\alpha_\#}{e^{-(\delta+\tau)}(1-\sigma-\tau)} \Leftrightarrow \alpha_* \ge
        \frac{1-\alpha_{nd}}{1+e^{-(\delta+\tau)}(1-\sigma-\tau)}""")
    .judged(same_condition(), lm.equal(0.0), lm.Control("sign of δ+τ flipped in (A.138)", sign=-1.0)),
    lm.Claim("v17-finite-batch", "(A.137)", "bound")
    .states("The condition for a finite batch implies (2.8): no exception among 10⁵ random inputs at B = 16, 64, 256.")
    .in_symbols(r"""e^{-(\delta+\tau)}(1-\sigma-\tau)(\alpha_*-\sqrt{\log B/B}-\sigma-\tau) \ge \sqrt{\log
        B/B}+\alpha_\# \Rightarrow \alpha_* \ge \frac{\alpha_\#}{e^{-(\delta+\tau)}(1-\sigma-\tau)}""")
    .judged(exceptions(), lm.at_most(0.0), lm.Control("both √(log B/B) with the opposite sign", sign=-1.0)),
    lm.Claim("v18-sign-average", "(A.75)", "bound", source="derived")
    .states("""The labels of a batch rarely lean to one side: over 10⁵ draws the mean of B fair signs reaches √(log B/B)
        with frequency at most 2 B^-1/2, at B = 16, 64, 256.""")
    .in_symbols(r"\Pr\left(\left|\frac{1}{B}\sum_n y^n\right| \ge \sqrt{\log B/B}\right) \le 2B^{-1/2}")
    .judged(
        leaning(),
        lm.at_most({str(batch): 2 / math.sqrt(batch) for batch in BATCHES}),
        lm.Control("a coin with P(y = 1) = 0.8", positive=0.8),
    ),
)
