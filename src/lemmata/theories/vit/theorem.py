"""Theorem 1 of the paper: zero population risk; its hypotheses as functions, and the claims that test it.

Let the initial maps send patterns close to orthonormal features (Assumption 2.3.1: errors σ = O(1/M) of the values and
δ < 1/2 of keys and queries), and let tokens lie within τ ≤ min(σ, δ) of their patterns. If

- the width is m ≳ M² log N (`bounds.width_bound`),
- the relevant tokens outnumber the confusion tokens, α_* ≥ α_# / (e^{-(δ+τ)} (1-σ-τ)) (2.8), which is the same as
  α_* ≥ (1-α_nd) / (1 + e^{-(δ+τ)} (1-σ-τ)) (A.138),
- there are N ≥ C (α_* - c'(1-ζ) - c''(σ+τ))^-2 samples (2.11, `bounds.samples_vit`),

then after T = Θ(η^(-3/5) α_*^-1) steps of SGD (2.10, `bounds.iterations`) the population hinge risk is 0 with
probability at least 0.99. `Setting.hypotheses` says of a setting which of these conditions it meets.

The steps are judged in `claims.iterations` and the samples in `claims.samples`, where both are found to be wrong in
part; here the risk itself (V1), the two forms of the condition and what it takes with a finite batch (V17, V18).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence, NotApplicable
from lemmata.lab.judges import at_least, at_most, equal
from lemmata.theories.vit.bounds import alpha_threshold_nd
from lemmata.theories.vit.measures import success


def _zero_risk(variant: str, labels: str) -> Evidence:
    """1 for a seed with test hinge < 0.001 and 0-1 error 0."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets["v1-zero-risk"].sel(variant=variant, label_order=labels)
        return success(data) * (data.test_error == 0)

    return evidence


def _zero_risk_claim(name: str, variant: str, words: str) -> Claim:
    return Claim(
        name=name,
        reference="Theorem 1",
        kind="bound",
        statement=f"Well above the sample threshold SGD reaches zero population risk ({words}): "
        "test hinge below 0.001 and no test error in at least 19 of 20 seeds.",
        reads=("v1-zero-risk",),
        evidence=_zero_risk(variant, "true"),
        judge=at_least(0.95, by="mean"),
        controls=(Control("training labels shuffled after generation", _zero_risk(variant, "shuffled")),),
    )


Formula = Callable[..., Any]


def _problems(seed: int) -> dict[str, np.ndarray]:
    """10⁵ random inputs of the conditions; errors as the theorem has them: σ < 1/5, δ < 1/2, τ < min(σ, δ)."""
    alpha, split, sigma, delta, tau = np.random.default_rng(seed).uniform(size=(5, 10**5))
    confusion, neutral = split * (1 - alpha), (1 - split) * (1 - alpha)
    sigma, delta = sigma / 5, delta / 2
    tau = tau * np.minimum(sigma, delta)
    return {"alpha": alpha, "confusion": confusion, "neutral": neutral, "sigma": sigma, "delta": delta, "tau": tau}


def _slack(alpha: Any, confusion: Any, sigma: Any, delta: Any, tau: Any, **_: Any) -> Any:
    """(2.8) is this slack ≥ 0."""
    return alpha - confusion / (np.exp(-(delta + tau)) * (1 - (sigma + tau)))


def _equivalence(threshold: Formula) -> Evidence:
    """Truth of (A.138), by its threshold, against truth of (2.8)."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        given = _problems(datasets.seed)
        direct = _slack(**given)
        other = given["alpha"] - threshold(given["neutral"], given["sigma"], given["delta"], given["tau"])
        clear = np.minimum(np.abs(direct), np.abs(other)) > 1e-12
        return {"measured": other[clear] >= 0, "predicted": direct[clear] >= 0}

    return evidence


def _implication(sign: float) -> Evidence:
    """Share of the inputs with (A.137) at which (2.8) is false."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        given = _problems(datasets.seed)
        total = given["sigma"] + given["tau"]
        shares = {}
        for batch in (16, 64, 256):
            deviation = sign * math.sqrt(math.log(batch) / batch)
            left = np.exp(-given["delta"] - given["tau"]) * (1 - total) * (given["alpha"] - deviation - total)
            premise = left >= deviation + given["confusion"]
            if premise.sum() < 100:
                raise NotApplicable(f"(A.137) is true at only {premise.sum()} inputs for B = {batch}")
            shares[f"{batch} ({premise.sum()} inputs)"] = np.mean(_slack(**given)[premise] < 0)
        return xr.DataArray(list(shares.values()), coords={"batch": list(shares)})

    return evidence


BATCHES = (16, 64, 256)


def _deviations(positive: float) -> Evidence:
    """Frequency of |1/B sum y| ≥ √(log B/B) over 10⁵ batches of coins with P(y = 1) = `positive`."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        draw = np.random.default_rng(datasets.seed)
        frequencies = []
        for batch in BATCHES:
            mean = 2 * draw.binomial(batch, positive, 10**5) / batch - 1
            frequencies.append(np.mean(np.abs(mean) >= math.sqrt(math.log(batch) / batch)))
        return xr.DataArray(frequencies, coords={"B": list(BATCHES)})

    return evidence


CLAIMS = (
    _zero_risk_claim("v1-zero-risk-shared", "shared", "shared output signs, N = 16"),
    _zero_risk_claim("v1-zero-risk-per-token", "per_token", "per-token output signs, N = 256"),
    Claim(
        name="v17-condition",
        reference="(2.8), (A.138)",
        kind="identity",
        statement="The condition on the relevant fraction and its form in the neutral fraction are the same condition: "
        "equally true or false at 10⁵ random inputs.",
        formula="α_* ≥ α_# / (e^{-(δ+τ)} (1-σ-τ)) ⇔ α_* ≥ (1-α_nd) / (1 + e^{-(δ+τ)} (1-σ-τ))",
        evidence=_equivalence(alpha_threshold_nd),
        judge=equal(0.0),
        controls=(
            Control(
                "sign of δ+τ flipped in (A.138)",
                _equivalence(lambda nd, sigma, delta, tau: (1 - nd) / (1 + np.exp(delta + tau) * (1 - sigma - tau))),
            ),
        ),
    ),
    Claim(
        name="v17-finite-batch",
        reference="(A.137)",
        kind="bound",
        statement="The condition for a finite batch implies (2.8): no exception among 10⁵ random inputs at "
        "B = 16, 64, 256.",
        formula="e^{-(δ+τ)} (1-σ-τ) (α_* - √(log B/B) - σ - τ) ≥ √(log B/B) + α_#",
        evidence=_implication(1.0),
        judge=at_most(0.0),
        controls=(Control("both √(log B/B) with the opposite sign", _implication(-1.0)),),
    ),
    Claim(
        name="v18-sign-average",
        reference="(A.75)",
        kind="bound",
        statement="The labels of a batch rarely lean to one side: over 10⁵ draws the mean of B fair signs reaches "
        "√(log B/B) with frequency at most 2 B^-1/2, at B = 16, 64, 256.",
        formula="P(|1/B Σ y| ≥ √(log B/B)) ≤ 2 B^-1/2",
        evidence=_deviations(0.5),
        judge=at_most({str(batch): 2 / math.sqrt(batch) for batch in BATCHES}),
        controls=(Control("a coin with P(y = 1) = 0.8", _deviations(0.8)),),
    ),
)
