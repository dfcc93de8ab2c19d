"""The paper's calculators: iterations, batch, contexts, width, tasks, pruning, attention, output (section 6.1).

Constants inside Theta, Omega and O are never given by the paper; they are the parameter C, which defaults to 1.
"""

import math
from typing import Any

import numpy as np

import lemmata as lm

ONES = "constants that the paper does not give are 1 unless set"
UNKNOWN = "the paper's orders are not what is measured for β, M_1 and m (p2-iterations-*)"

_C = lm.parameter(1.0, "C", "leading constant", low=0, open_ends="low")
_M1 = lm.parameter(6, "M_1", "relevant patterns", low=2, integer=True)
_M2 = lm.parameter(24, "M_2", "irrelevant patterns", low=1, integer=True)
_ALPHA = lm.parameter(0.8, "α", "probability of a decisive training context", low=0, high=1, open_ends="low")
_TEST = lm.parameter(0.8, "α'", "probability of a decisive testing context", low=0, high=1, open_ends="low")
_BETA = lm.parameter(3.0, "β", "norm of every pattern", low=1)
_ETA = lm.parameter(1.0, "η", "step size", low=0, open_ends="low")
_EPS = lm.parameter(0.05, "ε", "wanted error", low=0, high=1, open_ends="low high")
_DELTA = lm.parameter(0.1, "δ", "diagonal of the initial maps", low=0, open_ends="low")
_STEPS = lm.parameter(600, "T", "training steps", low=0)
_NEURONS = lm.parameter(200, "m", "hidden neurons", low=1, integer=True)
_GAMMA = lm.parameter(0.0, "γ", "attention on other contexts", low=0, high=1)
_RATE = lm.parameter(0.2, "R", "pruned share of all neurons, taken from the large ones", low=0, high=1)
_GROWTH: dict[str, Any] = {"delta": _DELTA, "beta": _BETA, "alpha": _ALPHA, "eta": _ETA}
_TESTED = lm.parameter(20, "l_ts", "contexts of a testing prompt", low=0, integer=True)
_GAP = lm.parameter(3.0, "g", "common gap between the logit of a match and of any other context")
_CONTEXTS = lm.parameter(100, "l", "contexts", low=1, integer=True)
_SHORTFALL = lm.parameter(0.5, "c", "relative shortfall", low=0, high=1)
_ORDER = "the paper's order 1/α', or enough iid contexts for a match with probability 1-ε", "order", "iid"
_EXPONENT = "the exponent that Chernoff's bound gives, or the printed one", "corrected", "printed"
_FACTOR = lm.parameter(1.0, "δ", "diagonal of the initial maps, for (E.62); 1: without", low=0, open_ends="low")


@lm.bound("(6.10), (E.62)", f"{ONES}; {UNKNOWN}", eta=_ETA, M1=_M1, alpha=_ALPHA, beta=_BETA, C=_C, delta=_FACTOR)
def required_T(eta: Any, M1: Any, alpha: Any, beta: Any, C: Any = 1.0, delta: Any = 1.0) -> Any:
    """Training steps: C η^-1 M_1 (α β)^(-2/3) √log M_1, times δ^(-2/3) if δ is given."""
    M1 = np.asarray(M1, float)
    power = (np.asarray(alpha, float) * beta * delta) ** (-2 / 3)
    return C / np.asarray(eta, float) * M1 * power * np.sqrt(np.log(M1))


@lm.bound("(6.8)", ONES, eps=_EPS, M1=_M1, C=_C)
def required_B(eps: Any, M1: Any, C: Any = 1.0) -> Any:
    """Prompts of a batch: C max{ε^-2, M_1} log M_1."""
    M1 = np.asarray(M1, float)
    return C * np.maximum(np.asarray(eps, float) ** -2, M1) * np.log(M1)


@lm.bound("(6.9)", ONES, alpha=_ALPHA, beta=_BETA, M1=_M1, C=_C)
def required_ltr(alpha: Any, beta: Any, M1: Any, C: Any = 1.0) -> Any:
    """Contexts of a training prompt: C max{log M_1 / α, 1/(α β²)}."""
    return C / np.asarray(alpha, float) * np.maximum(np.log(M1), np.asarray(beta, float) ** -2)


_NOTE = f"{ONES}; the order 1/α' says nothing about prompts without a match; kind=iid does"


@lm.bound("(6.9)", _NOTE, alpha_test=_TEST, eps=_EPS, C=_C, kind=lm.option("order", *_ORDER))
def required_lts(alpha_test: Any, eps: Any = 0.05, C: Any = 1.0, kind: str = "order") -> Any:
    """Contexts of a testing prompt: C/α'; or ⌈log ε / log(1 - α'/2)⌉, beyond which fewer than ε lack a match."""
    alpha_test = np.asarray(alpha_test, float)
    if kind == "order":
        return C / alpha_test
    return np.ceil(np.log(eps) / np.log1p(-alpha_test / 2) - 1e-9)


@lm.bound("m ≳ M_1² log M_1", ONES, M1=_M1, C=_C)
def required_m(M1: Any, C: Any = 1.0) -> Any:
    """Neurons: C M_1² log M_1."""
    return C * np.asarray(M1, float) ** 2 * np.log(M1)


@lm.bound("2.2", M1=_M1)
def n_tasks(M1: Any) -> Any:
    """All tasks: M_1 (M_1 - 1)."""
    return np.asarray(M1) * (np.asarray(M1) - 1)


@lm.bound("Lemma E.4.11", M1=_M1)
def min_train_tasks(M1: Any) -> Any:
    """The fewest training tasks that satisfy Condition 6.3.2: M_1."""
    return np.asarray(M1)[()]


@lm.bound("P4, derived", alpha_test=_TEST, length=_TESTED)
def no_match_probability(alpha_test: Any, length: Any) -> Any:
    """The probability that no iid context holds the query's pattern: (1 - α'/2)^l. The error lies between half and all
    of it."""
    return (1 - np.asarray(alpha_test, float) / 2) ** length


def _shares(alpha: Any, alpha_test: Any, M1: Any) -> Any:
    """(1 - 2/(α' M_1)) / (1 - 2/(α M_1)), which needs α M_1 > 2 and α' M_1 > 2."""
    seen, tested = np.asarray(alpha, float) * M1, np.asarray(alpha_test, float) * M1
    if np.any(seen <= 2) or np.any(tested <= 2):
        raise lm.UserError("The pruning bounds need α M_1 > 2 and α' M_1 > 2; there is no bound at these inputs.")
    return (1 - 2 / tested) / (1 - 2 / seen)


@lm.bound("(E.107)", eps=_EPS, M1=_M1, alpha=_ALPHA, alpha_test=_TEST)
def pruning_upper(eps: Any, M1: Any, alpha: Any, alpha_test: Any) -> Any:
    """Hinge loss without the small neurons, at most: 1 - (1-2/(α'M_1)) (1-ε)/(1-2/(αM_1)) (1 - M_1^(-1/2))."""
    return 1 - _shares(alpha, alpha_test, M1) * (1 - np.asarray(eps, float)) * (1 - np.asarray(M1, float) ** -0.5)


def _vacuous(**inputs: Any) -> str:
    tells = pruning_lower.function(**inputs) >= 0
    return "vacuous where negative" if tells else "vacuous here: a hinge loss is never negative"


@lm.bound("(E.109)", remark=_vacuous, R=_RATE, eps=_EPS, M1=_M1, alpha=_ALPHA, alpha_test=_TEST)
def pruning_lower(R: Any, eps: Any, M1: Any, alpha: Any, alpha_test: Any) -> Any:
    """Hinge loss without a share R of neurons, all large, at least: 1 - (1-2/(α'M_1)) (1+ε)/(1-2/(αM_1)) (1-R)."""
    return 1 - _shares(alpha, alpha_test, M1) * (1 + np.asarray(eps, float)) * (1 - np.asarray(R, float))


@lm.bound("Theorem 6.3.7", ONES, eps=_EPS, M2=_M2, C=_C)
def pruning_upper_order(eps: Any, M2: Any, C: Any = 1.0) -> Any:
    """The theorem's order of the loss without the small neurons: C (ε + M_2^(-1/2))."""
    return C * (np.asarray(eps, float) + np.asarray(M2, float) ** -0.5)


@lm.bound("Theorem 6.3.7", ONES, R=_RATE, alpha_test=_TEST, M1=_M1, C=_C)
def pruning_lower_order(R: Any, alpha_test: Any, M1: Any, C: Any = 1.0) -> Any:
    """The theorem's order of the loss without a share R of large neurons: C (R + 1/(α' M_1))."""
    return C * (np.asarray(R, float) + 1 / (np.asarray(alpha_test, float) * M1))


def pruning_bounds(
    R: Any, alpha_test: Any, M1: Any, M2: Any, eps: Any, alpha: Any = 0.8, C: Any = 1.0
) -> dict[str, Any]:
    """All four pruning bounds at once: upper and lower, with the proof's constants and as the theorem's orders."""
    return {
        "upper": pruning_upper(eps, M1, alpha, alpha_test),
        "lower": pruning_lower(R, eps, M1, alpha, alpha_test),
        "upper_order": pruning_upper_order(eps, M2, C),
        "lower_order": pruning_lower_order(R, alpha_test, M1, C),
    }


@lm.bound("(E.55)", gap=_GAP, alpha=_ALPHA)
def concentration_from_gap(gap: Any, alpha: Any) -> Any:
    """Attention on the contexts with the query's pattern: 1/(1 + (2-α)/α e^-g)."""
    alpha = np.asarray(alpha, float)
    return 1 / (1 + (2 - alpha) / alpha * np.exp(-np.asarray(gap, float)))


@lm.bound(
    "(E.61)", f"{ONES}; a proof-level order, for plots", **_GROWTH, T=_STEPS, M1=_M1, m=_NEURONS, gamma=_GAMMA, C=_C
)
def output_bound(delta: Any, beta: Any, alpha: Any, eta: Any, T: Any, M1: Any, m: Any, gamma: Any, C: Any) -> Any:
    """F at least: C (1-γ) (δ²(β²+1) α η T/(2m) + δ²(β²+1) α² (η T)³ M_1/m²)."""
    time = np.asarray(eta, float) * T
    scale = np.asarray(delta, float) ** 2 * (np.asarray(beta, float) ** 2 + 1)
    return C * (1 - np.asarray(gamma, float)) * scale * (alpha * time / (2 * m) + alpha**2 * time**3 * M1 / m**2)


@lm.bound("Lemma E.4.7", ONES, **_GROWTH, t=_STEPS, m=_NEURONS, C=_C)
def output_growth(delta: Any, beta: Any, alpha: Any, eta: Any, t: Any, m: Any, C: Any = 1.0) -> Any:
    """Growth of W_O along (μ̄; q), claimed at least: C δ(β²+1) α η t/(2m). Refuted by measurement (p15-linear)."""
    return C * np.asarray(delta, float) * (np.asarray(beta, float) ** 2 + 1) * alpha * eta * t / (2 * m)


@lm.bound("(E.42)", length=_CONTEXTS, alpha=_ALPHA, c=_SHORTFALL, kind=lm.option("corrected", *_EXPONENT))
def chernoff(length: Any, alpha: Any, c: Any, kind: str = "corrected") -> Any:
    """Pr(share of contexts with μ_a ≤ (1-c) α/2), at most: exp(-l c² α/4); as printed exp(-l c² α/2)."""
    return np.exp(-np.asarray(length, float) * np.asarray(c, float) ** 2 * alpha / (4 if kind == "corrected" else 2))


def context_tail(length: int, alpha: float, c: float) -> float:
    """The exact probability that (E.42) bounds: Binomial(l, α/2) at most (1-c) α l/2."""
    from scipy.stats import binom

    return float(binom.cdf(math.floor((1 - c) * alpha * length / 2 + 1e-9), length, alpha / 2))


BOUNDS = tuple(each for each in globals().values() if isinstance(each, lm.Bound))
"""Every calculator of this file, in reading order."""
