"""The calculators of Theorems 3.4.4 and 3.4.6 and of Remark 1. Free constants are C = 1 unless given."""

from __future__ import annotations

from typing import Any

import numpy as np

import lemmata as lm

OPEN = "the constant is not given in the paper; C = 1"
_C = lm.parameter(1.0, "C", "the constant that the paper leaves open", low=0, open_ends="low")
_NODES = lm.parameter(1000, "N", "number of nodes", low=2, integer=True)
_SHELL = lm.parameter(120, "δ_zm", "size of the largest core shell", low=1, integer=True)
_FRACTION = lm.parameter(0.4, "γ_d", "fraction of discriminative nodes", low=0, high=1, open_ends="low")
_CONFUSION = lm.parameter(0.05, "ε_S", "confusion ratio", low=0, high=0.5, open_ends="high")
_SIGMA = lm.parameter(0.1, "σ", "error of the initial values", low=0)
_DELTA = lm.parameter(0.2, "δ", "error of the initial keys and queries", low=0, high=0.5, open_ends="high")
_ETA = lm.parameter(0.01, "η", "step size", low=0, open_ends="low")
_NOISE = lm.parameter(0.0, "ε_0", "fraction of flipped labels", low=0, high=0.5, open_ends="high")
_LOSS = lm.parameter(0.1, "ε", "accepted loss", low=0, open_ends="low")
_SEEN = lm.parameter(0, "B T", "labels that a single pass uses; 0: left out", low=0, integer=True)
_EXPONENT = lm.option("paper", "η^-1/2 as printed, or η^-1 as gradient flow has it (9.1)", "paper", "flow")


@lm.bound("Theorem 3.4.4", OPEN, M=lm.parameter(10, "M", "number of patterns", low=2, integer=True), N=_NODES, C=_C)
def required_width(M: Any = 10, N: Any = 1000, C: Any = 1.0) -> Any:
    """m >= C M² log N."""
    return C * M**2 * np.log(N)


@lm.bound("Theorem 3.4.4", OPEN, epsilon=_LOSS, N=_NODES, C=_C)
def required_batch(epsilon: Any = 0.1, N: Any = 1000, C: Any = 1.0) -> Any:
    """B >= C ε^-2 log N."""
    return C * epsilon**-2.0 * np.log(N)


@lm.bound("(3.8)", OPEN, eta=_ETA, eps_0=_NOISE, delta=_DELTA, exponent=_EXPONENT, C=_C)
def iterations(eta: Any = 0.01, eps_0: Any = 0.0, delta: Any = 0.2, exponent: str = "paper", C: Any = 1.0) -> Any:
    """T = C η^-1/2 (1 - 2 ε_0)^-1/2 (1 - δ)^-1/2; with exponent = flow η^-1."""
    steps = eta ** (-0.5 if exponent == "paper" else -1.0)
    return C * steps * (1 - 2 * eps_0) ** -0.5 * (1 - delta) ** -0.5


def _nodes(N: float = 1000, **_: Any) -> float:
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


@lm.bound(
    "(3.9)",
    OPEN,
    limit=_nodes,
    positive={"1 - 2 ε_S (1 - γ_d) - σ": bracket},
    N=_NODES,
    delta_zm=_SHELL,
    gamma_d=_FRACTION,
    eps_S=_CONFUSION,
    sigma=_SIGMA,
    seen=_SEEN,
    C=_C,
)
def samples(
    N: Any = 1000,
    delta_zm: Any = 120,
    gamma_d: Any = 0.4,
    eps_S: Any = 0.05,
    sigma: Any = 0.1,
    seen: Any = 0,
    C: Any = 1.0,
) -> Any:
    """|L| >= max{C (1 + δ²) log N / (1 - 2 ε_S (1 - γ_d) - σ)², B T}."""
    return np.maximum(first_term(N, delta_zm, bracket(gamma_d, eps_S, sigma), C), seen)


@lm.bound("Theorem 3.4.6", OPEN, eta=_ETA, eps_0=_NOISE, gamma_d=_FRACTION, delta=_DELTA, exponent=_EXPONENT, C=_C)
def gcn_iterations(
    eta: Any = 0.01, eps_0: Any = 0.0, gamma_d: Any = 0.4, delta: Any = 0.2, exponent: str = "paper", C: Any = 1.0
) -> Any:
    """γ_d^-2 times the iterations of the graph transformer."""
    return gamma_d**-2.0 * iterations(eta, eps_0, delta, exponent, C)


@lm.bound(
    "Theorem 3.4.6",
    OPEN,
    limit=_nodes,
    positive={"γ_d² - σ": gcn_bracket},
    N=_NODES,
    delta_zm=_SHELL,
    gamma_d=_FRACTION,
    sigma=_SIGMA,
    seen=_SEEN,
    C=_C,
)
def gcn_samples(
    N: Any = 1000, delta_zm: Any = 120, gamma_d: Any = 0.4, sigma: Any = 0.1, seen: Any = 0, C: Any = 1.0
) -> Any:
    """|L| >= max{C (γ_d² - σ)^-2 (1 + δ²) log N, B T}; infinite where γ_d² <= σ."""
    return np.maximum(first_term(N, delta_zm, gcn_bracket(gamma_d, sigma), C), seen)


@lm.bound("Remark 1, footnote", "the first term of (3.9) dominates below this ε_0", delta_zm=_SHELL, epsilon=_LOSS)
def dominance_threshold(delta_zm: Any = 120, epsilon: Any = 0.1) -> Any:
    """ε_0 < 1/2 - 1/2 δ^-4 ε^-4."""
    return 0.5 - 0.5 * (1.0 * delta_zm) ** -4.0 * epsilon**-4.0


BOUNDS = (required_width, required_batch, iterations, samples, gcn_iterations, gcn_samples, dominance_threshold)
