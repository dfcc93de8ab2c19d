"""The paper's calculators: width, samples, iterations, thresholds, attention (Definition A.2.2), caps and margins.

Constants inside Theta, Omega are never given by the paper; they are parameters that default to 1. A calculator
returns inf where its base is not positive.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.vit.setting import discount

ONES = "constants that the paper does not give are 1 unless set"

PARAMETERS = {
    "alpha": lm.parameter(0.4, "α_*", "fraction of label-relevant tokens", low=0, high=1, open_ends="low"),
    "alpha_conf": lm.parameter(0.1, "α_#", "fraction of confusion tokens", low=0, high=1),
    "alpha_nd": lm.parameter(0.5, "α_nd", "fraction of non-discriminative tokens", low=0, high=1),
    "sigma": lm.parameter(0.1, "σ", "error of the initial value map", low=0),
    "delta": lm.parameter(0.2, "δ", "error of the initial key and query maps", low=0),
    "tau": lm.parameter(0.0, "τ", "token noise radius", low=0),
    "zeta": lm.parameter(1.0, "ζ", "final attention concentration", low=0, high=1),
    "C": lm.parameter(1.0, "C", "leading constant", low=0, open_ends="low"),
    "c1": lm.parameter(1.0, "c'", "constant of 1-ζ", low=0),
    "c2": lm.parameter(1.0, "c''", "constant of σ+τ", low=0),
    "M": lm.parameter(5, "M", "number of patterns", low=1, integer=True),
    "N": lm.parameter(100, "N", "training samples", low=1, integer=True),
    "tokens": lm.parameter(50, "|S|", "tokens of the sample", low=1, integer=True),
    "relevant": lm.parameter(25, "|S_1|", "label-relevant tokens of the sample", low=0, integer=True),
    "q_norm": lm.parameter(1.0, "‖q_1‖", "norm of the discriminative query feature", low=0),
    "eta": lm.parameter(0.1, "η", "step size", low=0, open_ends="low"),
    "exponent": lm.parameter(0.6, "", "exponent of 1/η", low=0),
    "steps": lm.parameter(1000, "t", "steps", low=0, high=10**6, integer=True),
    "t": lm.parameter(100, "t", "steps", low=0, high=10**6, integer=True),
    "start": lm.parameter(1.0, "‖q(0)‖²", "initial squared norm", low=0),
    "p": lm.parameter(0.9, "p", "attention on label-relevant tokens", low=0, high=1, open_ends="low"),
    "m_a": lm.parameter(10, "m_a", "dimension of the directions", low=2, integer=True),
    "phi": lm.parameter(math.pi / 2 - 0.1, "φ", "colatitude of the cap", low=0, high=math.pi),
}
CONDITION: Any = {"1-σ-τ": lambda sigma, tau, **_: 1 - sigma - tau}


def calculator(
    reference: str, note: str = "", positive: Any = None, **own: Any
) -> Callable[[Callable[..., Any]], lm.Bound]:
    """A bound whose parameters are those of the function: its `own`, the others as all calculators have them."""

    def declare(function: Callable[..., Any]) -> lm.Bound:
        parameters = {name: {**PARAMETERS, **own}[name] for name in inspect.signature(function).parameters}
        return lm.bound(reference, note, positive=positive, **parameters)(function)

    return declare


def _inverse_square(base: Any) -> Any:
    """base^-2, and inf where the base is not positive."""
    base = np.asarray(base, float)
    return np.where(base > 0, np.where(base > 0, base, 1.0) ** -2, np.inf)[()]


@calculator("Theorem 1, m ≳ M² log N", ONES)
def width_bound(M: Any, N: Any, C: Any = 1.0) -> Any:
    """Neurons that suffice: C M² log N."""
    return C * np.asarray(M, float) ** 2 * np.log(N)


@calculator("(2.8)", positive=CONDITION)
def alpha_threshold(alpha_conf: Any, sigma: Any, delta: Any, tau: Any = 0.0) -> Any:
    """Smallest α_* of the theorem: α_# / (e^{-(δ+τ)} (1-σ-τ))."""
    factor = discount(sigma, delta, tau)
    return np.where(factor > 0, alpha_conf / np.where(factor > 0, factor, 1.0), np.inf)[()]


@calculator("(A.138)", positive=CONDITION)
def alpha_threshold_nd(alpha_nd: Any, sigma: Any, delta: Any, tau: Any = 0.0) -> Any:
    """The same threshold for a given α_nd: (1-α_nd) / (1 + e^{-(δ+τ)} (1-σ-τ))."""
    factor = discount(sigma, delta, tau)
    return np.where(factor > 0, (1 - np.asarray(alpha_nd, float)) / (1 + factor), np.inf)[()]


def _concentrated(alpha: Any, sigma: Any, tau: Any, zeta: Any, c1: Any, c2: Any, **_: Any) -> Any:
    """α_* - c'(1-ζ) - c''(σ+τ), the base of (2.11)."""
    return np.asarray(alpha, float) - c1 * (1 - np.asarray(zeta, float)) - c2 * (sigma + tau)


@calculator("(2.11)", ONES, positive={"α_* - c'(1-ζ) - c''(σ+τ)": _concentrated})
def samples_vit(alpha: Any, sigma: Any, tau: Any, zeta: Any = 1.0, C: Any = 1.0, c1: Any = 1.0, c2: Any = 1.0) -> Any:
    """Samples that suffice with trained attention: C (α_* - c'(1-ζ) - c''(σ+τ))^-2."""
    return C * _inverse_square(_concentrated(alpha, sigma, tau, zeta, c1, c2))


@calculator("(2.13)", ONES, positive={"α_* - σ - τ": lambda alpha, sigma, tau, **_: alpha - sigma - tau})
def samples_cnn(alpha: Any, sigma: Any, tau: Any, C: Any = 1.0) -> Any:
    """Samples that suffice with frozen attention: C (α_* (α_* - σ - τ))^-2."""
    alpha = np.asarray(alpha, float)
    return C * _inverse_square(alpha * (alpha - sigma - tau))


@calculator("(2.10)", f"{ONES}; the paper's exponent of η, 3/5, is refuted by measurement (gradient flow forces 1)")
def iterations(alpha: Any, eta: Any, C: Any = 1.0, exponent: Any = 0.6) -> Any:
    """Steps to zero loss: C η^-exponent / α_*."""
    return C * np.asarray(eta, float) ** -np.asarray(exponent, float) / np.asarray(alpha, float)


def _log_masses(tokens: Any, relevant: Any, q_norm: Any, error: Any) -> tuple[Any, Any]:
    """log of |S_1| e^{‖q‖² + error ‖q‖} and of |S| - |S_1|: nothing overflows, and none of a kind is -inf."""
    tokens, relevant, q = np.asarray(tokens), np.asarray(relevant), np.asarray(q_norm, float)
    if np.any(relevant > tokens):
        raise lm.UserError(f"relevant = {relevant} is not allowed: it must not exceed tokens = {tokens}.")
    with np.errstate(divide="ignore"):
        return np.log(relevant) + q**2 + error * q, np.log(tokens - relevant)


@calculator("Definition A.2.2")
def phi_n(tokens: Any, relevant: Any, q_norm: Any, delta: Any, tau: Any) -> Any:
    """φ_n = (|S_1| e^{‖q‖² + (δ+τ)‖q‖} + |S| - |S_1|)^-1."""
    return np.exp(-np.logaddexp(*_log_masses(tokens, relevant, q_norm, delta + tau)))


@calculator("Definition A.2.2")
def nu_n(tokens: Any, relevant: Any, q_norm: Any, delta: Any, tau: Any) -> Any:
    """ν_n = (|S_1| e^{‖q‖² - (δ+τ)‖q‖} + |S| - |S_1|)^-1."""
    return np.exp(-np.logaddexp(*_log_masses(tokens, relevant, q_norm, -(delta + tau))))


@calculator("Definition A.2.2")
def p_n(tokens: Any, relevant: Any, q_norm: Any, delta: Any, tau: Any) -> Any:
    """p_n = |S_1| e^{‖q‖² - (δ+τ)‖q‖} ν_n: the attention that the paper promises on relevant tokens."""
    from scipy.special import expit

    relevant, others = _log_masses(tokens, relevant, q_norm, -(delta + tau))
    return expit(relevant - others)


@calculator(
    "(A.34), (A.48) with equality and constant 1",
    "a lower-bound model of the logit, not the training",
    error=lm.parameter(0.2, "δ+τ", "total error", low=0),
)
def q_recursion(steps: Any, eta: Any, start: Any = 1.0, error: Any = 0.2) -> Any:
    """‖q‖² after `steps` of ‖q‖² ← ‖q‖² (1 + η e^{-‖q‖² + (δ+τ)‖q‖})."""
    square = reached = np.asarray(start, float)[()]
    done = 0
    for count in np.unique(steps):
        for _ in range(done, int(count)):
            square = square * (1 + eta * np.exp(-square + error * square**0.5))
        done, reached = int(count), np.where(np.equal(steps, count), square, reached)
    return reached[()]


@calculator("Lemma A.5.1")
def cap_probability(m_a: Any, phi: Any) -> Any:
    """Probability that a uniform direction lies within the angle φ of a given one: I_{sin² φ}((m_a-1)/2, 1/2) / 2.

    Beyond π/2 the cap is the complement of the one around the opposite direction.
    """
    from scipy.special import betainc

    phi = np.asarray(phi, float)
    cap = betainc((np.asarray(m_a, float) - 1) / 2, 0.5, np.sin(phi) ** 2) / 2
    return np.where(phi > math.pi / 2, 1 - cap, cap)[()]


@calculator(
    "(A.51)",
    f"{ONES}; refuted as η → 0, where the margin is a function of η t (gradient flow)",
    error=lm.parameter(0.05, "σ+τ", "total error of the values", low=0),
)
def margin_lower_bound(alpha: Any, p: Any, error: Any, eta: Any, t: Any) -> Any:
    """Margin y F after t steps: a_0 η³ t⁵ + a_1 η t², a_1 = α² p (α p/4 - σ - τ), a_0 = α⁶ p³/64.

    Errors above α p/4 make a_1 negative; a negative margin is what the formula says, and promises nothing.
    """
    alpha, p, eta, t = (np.asarray(value, float) for value in (alpha, p, eta, t))
    a_1 = alpha**2 * p * (alpha * p / 4 - error)
    a_0 = alpha**6 * p**3 / 64
    # a common factor is drawn out, lest a huge step size give inf - inf
    return (eta * t**2 * (a_0 * eta**2 * t**3 + a_1))[()]


BOUNDS = tuple(each for each in globals().values() if isinstance(each, lm.Bound))
