"""The headline: a graph transformer with a distance encoding generalises, and learning the encoding is as good as
knowing the core distance (Theorems 3.4.4, 3.4.6 and 3.4.8).

*Theorem 3.4.4.* Let the width be m >= C M² log N, the batch B >= C ε^-2 log N, the initial error of values below
1 - 2 ε_S (1 - γ_d), and let the labelled nodes number at least (3.9)

    |L| >= max{Ω((1 + δ_zm²) log N / (1 - 2 ε_S (1 - γ_d) - σ)²), B T}.

Then after T = Θ(η^-1/2 (1 - δ)^-1/2 (1 - 2 ε_0)^-1/2) steps (3.8) of SGD that sample the core neighbourhood the test
loss is at most 2 ε_0 + ε with high probability.
*Theorem 3.4.6.* A GCN that is told the core distance needs γ_d^-2 times the steps, and (γ_d² - σ)^-2 in the place of
the bracket. *Theorem 3.4.8.* With the encoding trained and all distances sampled the same holds as if z_m were known.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def sample_bracket(gamma_d: Any, eps_S: Any, sigma: Any) -> Any:
    """1 - 2 ε_S (1 - γ_d) - σ, the bracket of (3.9): the theorem speaks only where it is positive."""
    return 1 - 2 * eps_S * (1 - gamma_d) - sigma


def gcn_bracket(gamma_d: Any, sigma: Any) -> Any:
    """γ_d² - σ, the same of a GCN (Theorem 3.4.6)."""
    return np.asarray(gamma_d) ** 2.0 - sigma


def loss_floor(eps_0: Any) -> Any:
    """2 ε_0: where the test loss ends (3.10)."""
    return 2 * eps_0


def positive_everywhere(margin: np.ndarray) -> float:
    """The share of nodes with Δ_n(z_m) > 0; Assumption 3.4.2 asks for at least 1 - ε_0."""
    return float(np.mean(margin > 0))
