"""Statements in closed form: growth (V12), attention increments (V13), margins (V16), conditions (V17), counts (V23).

They read no experiment. Where the register asks for random inputs, these come from the seed of the verification.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence, NotApplicable
from lemmata.lab.judges import all_of, at_least, at_most, decreasing, equal, within
from lemmata.theories.vit.bounds import alpha_threshold_nd, margin_lower_bound, nu_n, q_recursion

Formula = Callable[..., Any]

ERROR, ETA = 0.2, 0.1
STEPS = [10**3, 10**4, 10**5]


def _squares() -> xr.DataArray:
    """‖q_1‖² of the scalar recursion (A.34) after 10³, 10⁴, 10⁵ steps."""
    return xr.DataArray(q_recursion(STEPS, ETA, 1.0, ERROR), coords={"steps": STEPS})


def _fast_decay() -> xr.DataArray:
    """The same with e^{-2‖q‖²}: s ← s (1 + η e^{-2s + e √s}) is the recursion of 2s, its error divided by √2."""
    return xr.DataArray(q_recursion(STEPS, ETA, 2.0, ERROR / math.sqrt(2)) / 2, coords={"steps": STEPS})


def _logarithm(squares: Callable[[], xr.DataArray]) -> Evidence:
    """‖q_1‖² / log(η t)."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        ratio = squares()
        ratio = ratio / np.log(ETA * ratio.steps)
        return {"falls": ratio, "stays": ratio}

    return evidence


def _rate(squares: Callable[[], xr.DataArray]) -> Evidence:
    """t (1-p), with 1-p = (|S| - |S_1|) ν_n of a half relevant sample (α = 1/2), and its product with η ‖q_1‖²."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        square = squares()
        scaled = square.steps * nu_n(2, 1, np.sqrt(square), ERROR, 0.0)
        return {"falls": scaled, "product": scaled * ETA * square}

    return evidence


def _increments(low: float, high: float, factor: Formula = lambda growth, square: growth) -> Evidence:
    """The smallest ratio of the exact rise (fall) of one relevant (other) token to the printed one, over 20000 draws.

    Exact: a softmax over the 50 logits, n_1 of them g and then g' = g + K ‖q_1‖², the others 0. Printed (A.31, A.33):
    (n_0 or n_1) e^g / (n_1 e^{g'} + n_0)² times K, or times another `factor`.
    """

    def evidence(datasets: Datasets) -> xr.DataArray:
        draw = np.random.default_rng(datasets.seed)
        tokens, draws = 50, 20000
        relevant = draw.integers(1, tokens, draws)
        q, error = draw.uniform(low, high, draws), draw.uniform(0, 0.5, draws)
        growth = 10 ** draw.uniform(-3, math.log10(0.3), draws)
        before = q**2 - error * q
        after = (1 + growth) * q**2 - error * q
        # the first token is relevant (n_1 >= 1) and the last is not (n_1 <= 49)
        chosen = np.arange(tokens) < relevant[:, None]
        first, last = (_softmax(chosen * after[:, None]) - _softmax(chosen * before[:, None]))[:, [0, -1]].T
        scale = np.exp(before) / (relevant * np.exp(after) + tokens - relevant) ** 2 * factor(growth, q**2)
        ratios = {"rise": first / ((tokens - relevant) * scale), "fall": -last / (relevant * scale)}
        labels = [f"{name} ({np.sum(ratio < 1)} of {draws} draws below)" for name, ratio in ratios.items()]
        return xr.DataArray([ratio.min() for ratio in ratios.values()], coords={"increment": labels})

    return evidence


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _margins(margin: Formula) -> Evidence:
    """The numbers of oracle 8.16 and, at 100 random inputs, the sum of the two terms by their logarithms."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        # at η = 1 the values at t = 1 and 2 are a_0 + a_1 and 32 a_0 + 4 a_1
        one, two = (margin(0.5, 0.9, 0.05, 1.0, t) for t in (1, 2))
        found = [(32 * one - two) / 28, (two - 4 * one) / 28, margin(0.5, 0.9, 0.05, 0.01, 100)]
        draw = np.random.default_rng(datasets.seed)
        inputs = {
            "alpha": draw.uniform(0.05, 1, 100),
            "p": draw.uniform(0.05, 1, 100),
            "error": draw.uniform(0, 0.2, 100),
            "eta": 10 ** draw.uniform(-4, 0, 100),
            "t": 10 ** draw.uniform(0, 4, 100),
        }
        return {
            "numbers": {"measured": found, "predicted": [0.0140625, 1.779785e-4, 3.1860352]},
            "random": {"measured": margin(**inputs), "predicted": _margin_by_logarithms(**inputs)},
        }

    return evidence


def _margin_by_logarithms(alpha: Any, p: Any, error: Any, eta: Any, t: Any) -> Any:
    """(A.51) with every product a sum of logarithms."""
    from scipy.special import logsumexp

    gap = alpha * p / 4 - error
    fifth = 6 * np.log(alpha) + 3 * np.log(p) - 6 * math.log(2) + 3 * np.log(eta) + 5 * np.log(t)
    square = 2 * np.log(alpha) + np.log(p) + np.log(np.abs(gap)) + np.log(eta) + 2 * np.log(t)
    total, sign = logsumexp([fifth, square], axis=0, b=[np.ones_like(gap), np.sign(gap)], return_sign=True)
    return sign * np.exp(total)


def _margin_with_square(alpha: Any, p: Any, error: Any, eta: Any, t: Any) -> Any:
    """(A.51) with p² in place of p³ in a_0."""
    return alpha**6 * p**2 / 64 * eta**3 * t**5 + alpha**2 * p * (alpha * p / 4 - error) * eta * t**2


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


DIMENSION = VALUE_WIDTH = KEY_WIDTH = 10
NEURONS = 1000


def _count() -> dict[str, int]:
    """Entries of every trained matrix of the network at the sizes of V23."""
    import jax

    from lemmata.theories.vit.network import initialise
    from lemmata.theories.vit.setting import Setting

    setting = Setting(dimension=DIMENSION, value_width=VALUE_WIDTH, key_width=KEY_WIDTH, neurons=NEURONS)
    basis = jax.ShapeDtypeStruct((setting.dimension, setting.patterns), "float32")
    network, _ = jax.eval_shape(lambda basis: initialise(setting.problem(), jax.random.key(0), basis), basis)
    return {name: matrix.size for name, matrix in network._asdict().items()}


def _share(*frozen: str) -> Evidence:
    """Percentage of the parameters that freezing these matrices removes."""

    def evidence(datasets: Datasets) -> float:
        counts = _count()
        return 100 * sum(counts[name] for name in frozen) / sum(counts.values())

    return evidence


def _formula(maps: int) -> Evidence:
    """All parameters and the frozen ones, counted, against m m_a + m_a d + 2 m_b d and 2 m_b d (or `maps` for 2)."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        counts = _count()
        frozen = maps * KEY_WIDTH * DIMENSION
        return {
            "measured": [sum(counts.values()), counts["key"] + counts["query"]],
            "predicted": [NEURONS * VALUE_WIDTH + VALUE_WIDTH * DIMENSION + frozen, frozen],
        }

    return evidence


_FASTER = "e^{-2‖q_1‖²} in place of e^{-‖q_1‖²}"

CLAIMS = (
    Claim(
        name="v12-recursion-log",
        reference="(A.34), (A.45), (A.48)",
        kind="limit",
        statement="The recursion of the logit grows like log t: ‖q_1‖² / log(η t) falls and stays above 1 at "
        "t = 10³, 10⁴, 10⁵.",
        formula="‖q_1(t+1)‖² = ‖q_1‖² (1 + η e^{-‖q_1‖² + (δ+τ)‖q_1‖}) = Θ(log t)",
        evidence=_logarithm(_squares),
        judge=all_of(falls=decreasing("steps"), stays=at_least(1.0, strict=True)),
        controls=(Control(_FASTER, _logarithm(_fast_decay)),),
    ),
    Claim(
        name="v12-recursion-rate",
        reference="(A.49)",
        kind="limit",
        statement="On the same recursion attention tends to 1 at rate 1/t: t (1-p) falls, and its product with "
        "η ‖q_1‖² lies in [1, 1.4].",
        formula="1 - p_n(t) = O(1/t)",
        evidence=_rate(_squares),
        judge=all_of(falls=decreasing("steps"), product=within(1.0, 1.4)),
        controls=(Control(_FASTER, _rate(_fast_decay)),),
    ),
    Claim(
        name="v13-increment",
        reference="(A.31), (A.33)",
        kind="bound",
        statement="As stated: in one step attention on a relevant token rises, and on any other falls, by at least the "
        "printed increment, at 20000 draws with ‖q_1‖ in [0.3, 3].",
        formula="rise ≥ (|S|-|S_1|) e^g K / (|S_1| e^{g'} + |S| - |S_1|)², fall ≥ |S_1| e^g K / (...)²",
        evidence=_increments(0.3, 3.0),
        judge=at_least(1.0),
        expected=FAILS,
        controls=(
            Control(
                "e^{K ‖q_1‖²} - 1 in place of K",
                _increments(0.3, 3.0, lambda growth, square: np.expm1(growth * square)),
                HOLDS,
            ),
        ),
    ),
    Claim(
        name="v13-increment-corrected",
        reference="(A.31), (A.33), errata E24",
        kind="bound",
        statement="Corrected: the exact increments are at least the printed ones wherever ‖q_1‖ ≥ 1 (20000 draws with "
        "‖q_1‖ in [1, 3]).",
        formula="g' - g = K ‖q_1‖² ≥ K",
        evidence=_increments(1.0, 3.0),
        judge=at_least(1.0),
        controls=(Control("‖q_1‖ in [0.3, 1)", _increments(0.3, 1.0)),),
    ),
    Claim(
        name="v16-margin",
        reference="(A.51)",
        kind="identity",
        statement="The margin bound gives the document's numbers (to 10⁻⁶) and, at 100 random inputs, the sum of its "
        "terms evaluated by logarithms (to 10⁻⁹).",
        formula="y F ≳ a_0 η³ t⁵ + a_1 η t², a_1 = α² p (α p/4 - σ - τ), a_0 = α⁶ p³/64",
        evidence=_margins(margin_lower_bound),
        judge=all_of(numbers=equal(1e-6, relative=True), random=equal(1e-9, relative=True)),
        controls=(Control("p² in place of p³ in a_0", _margins(_margin_with_square)),),
    ),
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
        name="v23-share",
        reference="Remark 1, Figure 2.3",
        kind="identity",
        statement="As stated: freezing keys and queries removes only 1 % of the parameters, as a rounded percentage of "
        "those counted on the network at d = m_a = m_b = 10, m = 1000.",
        formula="2 m_b d / (m m_a + m_a d + 2 m_b d) ≈ 1 %",
        evidence=_share("key", "query"),
        judge=within(0.5, 1.5, predicted=1.0),
        expected=FAILS,
        controls=(Control("only W_K counted (100 of 10300)", _share("key"), HOLDS),),
    ),
    Claim(
        name="v23-share-corrected",
        reference="Remark 1, errata E9",
        kind="identity",
        statement="Corrected: the counted parameters are exactly m m_a + m_a d + 2 m_b d, those of keys and queries "
        "2 m_b d (10300 and 200: 1.94 %).",
        formula="m m_a + m_a d + 2 m_b d",
        evidence=_formula(2),
        judge=equal(0.0),
        controls=(Control("m_b d in place of 2 m_b d", _formula(1)),),
    ),
)
