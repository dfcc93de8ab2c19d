"""The calculators of Theorems 3.4.4 and 3.4.6 and of Remark 1. Free constants are C = 1 unless given."""

from typing import Any

import numpy as np

import lemmata as lm

OPEN = "the constant is not given in the paper; C = 1"
DECLARED = {
    "M": lm.parameter(10, "M", "number of patterns", low=2, integer=True),
    "N": lm.parameter(1000, "N", "number of nodes", low=2, integer=True),
    "delta_zm": lm.parameter(120, "δ_zm", "size of the largest core shell", low=1, integer=True),
    "gamma_d": lm.parameter(0.4, "γ_d", "fraction of discriminative nodes", low=0, high=1, open_ends="low"),
    "eps_S": lm.parameter(0.05, "ε_S", "confusion ratio", low=0, high=0.5, open_ends="high"),
    "sigma": lm.parameter(0.1, "σ", "error of the initial values", low=0),
    "delta": lm.parameter(0.2, "δ", "error of the initial keys and queries", low=0, high=0.5, open_ends="high"),
    "eta": lm.parameter(0.01, "η", "step size", low=0, open_ends="low"),
    "eps_0": lm.parameter(0.0, "ε_0", "fraction of flipped labels", low=0, high=0.5, open_ends="high"),
    "epsilon": lm.parameter(0.1, "ε", "accepted loss", low=0, open_ends="low"),
    "seen": lm.parameter(0, "B T", "labels that a single pass uses; 0: left out", low=0, integer=True),
    "exponent": lm.option("paper", "η^-1/2 as printed, or η^-1 as gradient flow has it (9.1)", "paper", "flow"),
    "C": lm.parameter(1.0, "C", "the constant that the paper leaves open", low=0, open_ends="low"),
}


def of(*names: str) -> dict[str, Any]:
    """The declarations of these parameters."""
    return {name: DECLARED[name] for name in names}


@lm.bound("Theorem 3.4.4", OPEN, **of("M", "N", "C"))
def required_width(M: Any, N: Any, C: Any) -> Any:
    """m >= C M² log N."""
    return C * M**2 * np.log(N)


@lm.bound("Theorem 3.4.4", OPEN, **of("epsilon", "N", "C"))
def required_batch(epsilon: Any, N: Any, C: Any) -> Any:
    """B >= C ε^-2 log N."""
    return C * epsilon**-2.0 * np.log(N)


@lm.bound("(3.8)", OPEN, **of("eta", "eps_0", "delta", "exponent", "C"))
def iterations(eta: Any, eps_0: Any, delta: Any, exponent: str, C: Any) -> Any:
    """T = C η^-1/2 (1 - 2 ε_0)^-1/2 (1 - δ)^-1/2; with exponent = flow η^-1."""
    steps = eta ** (-0.5 if exponent == "paper" else -1.0)
    return C * steps * (1 - 2 * eps_0) ** -0.5 * (1 - delta) ** -0.5


def _nodes(N: float, **_: Any) -> float:
    return N


def bracket(gamma_d: Any, eps_S: Any, sigma: Any, **_: Any) -> Any:
    """1 - 2 ε_S (1 - γ_d) - σ: Theorem 3.4.4 speaks only where it is positive."""
    return 1 - 2 * eps_S * (1 - np.asarray(gamma_d)) - sigma


def gcn_bracket(gamma_d: Any, sigma: Any, **_: Any) -> Any:
    """γ_d² - σ: Theorem 3.4.6 speaks only where it is positive."""
    return np.asarray(gamma_d) ** 2.0 - sigma


def first_term(N: Any, delta_zm: Any, room: Any, C: Any = 1.0) -> Any:
    """C (1 + δ²) log N / room², room one of the two brackets; infinite where it is not positive."""
    value = C * (1 + delta_zm**2.0) * np.log(N) / np.where(room > 0, room, 1.0) ** 2
    return np.where(room > 0, value, np.inf)


BRACKET, GCN_BRACKET = {"1 - 2 ε_S (1 - γ_d) - σ": bracket}, {"γ_d² - σ": gcn_bracket}


@lm.bound(
    "(3.9)", OPEN, limit=_nodes, positive=BRACKET, **of("N", "delta_zm", "gamma_d", "eps_S", "sigma", "seen", "C")
)
def samples(N: Any, delta_zm: Any, gamma_d: Any, eps_S: Any, sigma: Any, seen: Any, C: Any) -> Any:
    """|L| >= max{C (1 + δ²) log N / (1 - 2 ε_S (1 - γ_d) - σ)², B T}."""
    return np.maximum(first_term(N, delta_zm, bracket(gamma_d, eps_S, sigma), C), seen)


@lm.bound("Theorem 3.4.6", OPEN, **of("eta", "eps_0", "gamma_d", "delta", "exponent", "C"))
def gcn_iterations(eta: Any, eps_0: Any, gamma_d: Any, delta: Any, exponent: str, C: Any) -> Any:
    """γ_d^-2 times the iterations of the graph transformer."""
    return gamma_d**-2.0 * iterations(eta, eps_0, delta, exponent, C)


@lm.bound(
    "Theorem 3.4.6", OPEN, limit=_nodes, positive=GCN_BRACKET, **of("N", "delta_zm", "gamma_d", "sigma", "seen", "C")
)
def gcn_samples(N: Any, delta_zm: Any, gamma_d: Any, sigma: Any, seen: Any, C: Any) -> Any:
    """|L| >= max{C (γ_d² - σ)^-2 (1 + δ²) log N, B T}; infinite where γ_d² <= σ."""
    return np.maximum(first_term(N, delta_zm, gcn_bracket(gamma_d, sigma), C), seen)


@lm.bound("Remark 1, footnote", "the first term of (3.9) dominates below this ε_0", **of("delta_zm", "epsilon"))
def dominance_threshold(delta_zm: Any, epsilon: Any) -> Any:
    """ε_0 < 1/2 - 1/2 δ^-4 ε^-4."""
    return 0.5 - 0.5 * (1.0 * delta_zm) ** -4.0 * epsilon**-4.0


BOUNDS = (required_width, required_batch, iterations, samples, gcn_iterations, gcn_samples, dominance_threshold)
