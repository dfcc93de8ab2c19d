"""The paper's calculators, and those derived beside them (section 6). Constants that the paper leaves open are 1."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.cot import transitions, voters
from lemmata.theories.cot.setting import RELATIONS, SHARE, Setting
from lemmata.theories.cot.transitions import shift_maps

ONES = "constants that the paper does not give are 1 unless set"
LOOSE = "the measured exponents of α' and τ are about -1 and -1.6 (c10-exponent-*), not -2"

_OPEN: Any = {"low": 0, "open_ends": "low"}
_FIELDS = {
    **{"eta": "step_size", "alpha": "fraction", "alpha_test": "test_fraction", "K": "reasoning_steps", "M": "patterns"},
    **{"shown": "test_patterns", "tau": "trajectory", "tau_o": "trajectory", "rho": "primacy", "rho_o": "primacy"},
    **{"examples": "examples", "a": "first_right", "b_u": "unsure_right", "b_s": "sure_right", "c": "last_right"},
}
PARAMETERS = {
    **{name: Setting.declaration(field) for name, field in _FIELDS.items()},
    "C": lm.parameter(1.0, "C", "leading constant", **_OPEN),
    "eps": lm.parameter(0.05, "ε", "wanted loss", low=0, high=1, open_ends="low high"),
    "u": lm.parameter(2.0, "u_μ", "pattern gain"),
    "start": lm.parameter(500.0, "", "η t at which the pattern gain is u", **_OPEN),
    "time": lm.parameter(8000.0, "η t", "time of the answer", **_OPEN),
    "n": lm.parameter(16, "n", "voters", low=0, high=3000, integer=True),
}


def bound(reference: str, note: str = "", **own: Any) -> Callable[[Callable[..., Any]], lm.Bound]:
    """A calculator whose parameters are the arguments of its function; `own`: those that only it has."""

    def declare(function: Callable[..., Any]) -> lm.Bound:
        arguments: Any = {name: own.get(name) or PARAMETERS[name] for name in inspect.signature(function).parameters}
        return lm.bound(reference, note, **arguments)(function)

    return declare


@bound("Theorem 3", ONES)
def T1(eta: Any, alpha: Any, K: Any, eps: Any, C: Any = 1.0) -> Any:
    """Steps to learn the positions: C η^-1 α^-2 K³ log(K/ε)."""
    return C / eta * np.asarray(alpha, float) ** -2 * np.asarray(K, float) ** 3 * np.log(K / np.asarray(eps, float))


@bound("Theorem 3", f"{ONES}; the factor K is not needed (c17-free-of-steps)")
def T2(eta: Any, alpha: Any, K: Any, M: Any, C: Any = 1.0) -> Any:
    """Steps to begin with the patterns: C η^-1 K M α^-1."""
    return C / eta * np.asarray(K, float) * M / alpha


@bound("Theorem 3", f"{ONES}; the factor K is not needed (c17-free-of-steps)")
def T3(eta: Any, K: Any, M: Any, eps: Any, C: Any = 1.0) -> Any:
    """Steps to learn the patterns: C η^-1 ε^-1 K M."""
    return C / eta * np.asarray(K, float) * M / eps


@bound("Theorem 3", ONES)
def required_ltr(alpha: Any, C: Any = 1.0) -> Any:
    """Examples of a training prompt: C/α."""
    return C / np.asarray(alpha, float)


@bound("Theorem 3", ONES)
def required_B(eps: Any, M: Any, C: Any = 1.0) -> Any:
    """Prompts of a batch: C max{ε^-2, M} log M."""
    return C * np.maximum(np.asarray(eps, float) ** -2, M) * np.log(M)


@bound("Theorem 4", f"{ONES}; {LOOSE}")
def required_lts_cot(alpha_test: Any, tau: Any, rho: Any, M: Any, C: Any = 1.0) -> Any:
    """Examples of a CoT testing prompt: C (α' τ ρ)^-2 log M."""
    return C * (np.asarray(alpha_test, float) * tau * rho) ** -2 * np.log(M)


@bound("Theorem 5", f"{ONES}; {LOOSE}; only under Condition 7.3.2")
def required_lts_icl(alpha_test: Any, tau_o: Any, rho_o: Any, M: Any, C: Any = 1.0) -> Any:
    """Examples of an ICL testing prompt: C (α' τ_o ρ_o)^-2 log M."""
    return required_lts_cot.function(alpha_test, tau_o, rho_o, M, C)


@bound(
    "C10, derived",
    p=lm.parameter(0.5, "p", "probability of the right output", **SHARE),
    kind=lm.option("exact", "multinomial with random ties, or the Gaussian of the two leaders", "exact", "gaussian"),
)
def plurality_error(p: Any, rho: Any, n: Any, shown: Any, kind: str = "exact") -> Any:
    """The probability that a plurality vote is wrong: right output p, runner-up (1-ρ)p, the rest even."""
    if kind == "gaussian":
        return voters.pairwise_error(p, rho, n)
    return voters.plurality_error(even_row(float(p), float(rho), int(shown)), int(n))


def even_row(p: float, rho: float, shown: int) -> np.ndarray:
    """The chances of a step: right, runner-up, the rest."""
    return transitions.even_matrices(np.zeros((1, shown), int), np.array([p]), rho, np.ones((1, shown), int))[0, 0]


@bound("Proposition 3, section 5")
def concentration(alpha_test: Any, u: Any) -> Any:
    """Attention on S_1*: α'e^u / (α'e^u + 1 - α')."""
    mass = np.asarray(alpha_test, float) * np.exp(u)
    return mass / (mass + 1 - np.asarray(alpha_test, float))


def whole_share(M: Any, alpha: float, examples: float) -> tuple[float, float]:
    """α of whole examples, and σ = (1 + (n_o-1)/(M-1)) / n_o, n_o the examples that do not match (C17)."""
    matching = max(1, round(alpha * examples))
    others = examples - matching
    return matching / examples, (1 + (others - 1) / (M - 1)) / others if others else 0.0


def follow_gain(
    u: Any, start: float, end: float, M: Any, alpha: float, examples: float, slower: float = 1, sigma: Any = None
) -> Any:
    """u at ηt = `end` from u at `start`: du/d(ηt) = (1+σ)/(M-1) p(1-p)², p = αe^u/(αe^u+1-α), over `slower`."""
    share, derived = whole_share(M, alpha, examples)

    def rate(u: Any) -> Any:
        p = concentration(share, u)
        return (1 + (derived if sigma is None else sigma)) / (M - 1) / slower * p * (1 - p) ** 2

    for h in np.diff(np.geomspace(start, end, 201)):  # fourth-order steps, even in log time
        a = rate(u)
        b = rate(u + h / 2 * a)
        c = rate(u + h / 2 * b)
        u = u + h / 6 * (a + 2 * b + 2 * c + rate(u + h * c))
    return u


@bound("C17, derived", kind=lm.option("law", "from the law, or its asymptote", "law", "asymptote"))
def late_gain(u: Any, start: Any, time: Any, M: Any, alpha: Any, examples: Any, kind: str = "law") -> Any:
    """The pattern gain u_μ late in training; the asymptote is ½ log(2(1+σ)(1-α)² ηt / (α²(M-1)))."""
    if kind == "law":
        return follow_gain(u, start, time, M, alpha, examples)
    share, sigma = whole_share(M, alpha, examples)
    return 0.5 * np.log(2 * (1 + sigma) * (1 - share) ** 2 * time / (share**2 * (M - 1)))


def gradient_bounds(p: Any, alpha: Any, K: Any, M: Any) -> dict[str, tuple[Any, Any]]:
    """Lower and upper bounds of the four projected gradients (F.7)-(F.10), as printed, η = 1."""
    a2, q = (alpha / K) ** 2, 1 - p
    other_step = (-4 - (3 * K - 2) * q * (1 + a2)) * p * q / (K * M)
    other_pattern = (-a2 + (K - 1 + (2 * K - 1) * a2) * p) * q**2 / (K * M) - a2 / K * q**2
    same = q**2 / (K * M) * (-4 * p * (1 + a2) + a2 * (1 + 2 * (K - 1) / K)) - a2 / K * q**2
    other, turned = p * q**2 / (K * M), (2 - K) * a2
    found = (
        (-np.inf, same),
        (other_step + a2 / K * q**2, other_step + p * q**2 / K * (1 + a2)),
        (other_pattern + q**2 / K * (-p + q * a2), other_pattern),
        (other * (1 + turned) + a2 / K * q**2, other * (2 - K + turned) + p * q**2 / K * (1 + a2)),
    )
    return dict(zip(RELATIONS, found, strict=True))


@bound(
    "Lemma F.3.5, (F.7)-(F.10)",
    "as printed, for p between α/K and α; orders only",
    p=lm.parameter(0.131171, "p_n", "attention on the same step and pattern", low=0, high=1),
    relation=lm.option(RELATIONS[0], "how the two columns are related", *RELATIONS),
    end=lm.option("upper", "the upper or the lower bound", "upper", "lower"),
)
def projected_gradient(p: Any, alpha: Any, K: Any, M: Any, relation: str = RELATIONS[0], end: str = "upper") -> Any:
    """Bounds of the projected gradient between two columns, η = 1."""
    return gradient_bounds(p, alpha, K, M)[relation][end == "upper"]


@bound("Condition 7.3.2")
def condition_7_3_2(a: Any, b_u: Any, b_s: Any, c: Any, shown: Any) -> Any:
    """The share of inputs at which the condition holds, for the constructor `pairs`."""
    maps = shift_maps(np.arange(int(shown)), 3)
    return transitions.describe(transitions.pair_matrices(maps, a, b_u, b_s, c), maps).condition.mean()


@bound(
    "(7.12) to (7.15)",
    "of the task that shifts along the identity, with the next pattern as the runner-up",
    kind=lm.option("tau_o", "which number of the constructor `uniform`", "tau", "rho", "tau_o", "rho_o", "condition"),
)
def transition_stats(tau: Any, rho: Any, K: Any, shown: Any, kind: str = "tau_o") -> Any:
    """τ, ρ, τ_o, ρ_o or the share of inputs with Condition 7.3.2."""
    maps = shift_maps(np.arange(int(shown)), int(K))
    p = transitions.step_probabilities("uniform", float(tau), int(K))
    numbers = transitions.describe(transitions.even_matrices(maps, p, float(rho), np.ones_like(maps)), maps)
    means: dict[str, Any] = dict(zip(("tau", "rho", "tau_o", "rho_o", "condition"), map(np.mean, numbers), strict=True))
    return means[kind]


BOUNDS = (
    *(T1, T2, T3, required_ltr, required_B, required_lts_cot, required_lts_icl),
    *(plurality_error, late_gain, concentration, projected_gradient, condition_7_3_2, transition_stats),
)
