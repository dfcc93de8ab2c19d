"""The setting of the group-imbalance paper: mixture and ground truth (2), network and starts (3), training (4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.group_imbalance.network import ACTIVATIONS, Activation

STARTS = ("local", "ball", "far", "tensor", "slowest", "limit")
STEP_RULES = ("hessian", "theory", "limit", "fixed")
WIDE = 10**0.5
"""The scale of the wide group of Figure 4.7: Σ = 10 I."""
OPPOSITE: dict[str, Any] = {"first_mean": 1.0, "second_mean": -1.0}
"""μ = ±1, Σ = I."""
CENTRED: dict[str, Any] = {"first_mean": 0.0, "second_mean": 0.0}
NOISES = ("fixed", "fresh", "biased")
DEFECTS = ("none", "other_teacher", "equal_columns", "repeated")


class Setting(lm.Setting):
    """One learning problem of the paper; the defaults are those of the specification."""

    samples: int = lm.number(10_000, "n", "training samples", low=1, high=10**8, integer=True)
    samples_per_dimension: int = lm.number(0, "n/d", "n = this times d; 0: samples", low=0, high=10**7, integer=True)
    fraction: float = lm.number(0.5, "λ₂", "fraction of the second group", low=0, high=1, open_ends="low high")
    first_mean: float = lm.number(1.0, "", "μ₁ is this times the vector of ones")
    second_mean: float = lm.number(0.0, "", "μ₂ is this times the vector of ones")
    first_scale: float = lm.number(1.0, "σ₁", "Σ₁ is σ₁² times the base covariance", low=0, open_ends="low")
    second_scale: float = lm.number(1.0, "σ₂", "Σ₂ is σ₂² times the base covariance", low=0, open_ends="low")
    truth_scale: float = lm.number(1.0, "", "scale of the ground truth W*", low=0, open_ends="low")
    start_distance: float = lm.number(0.1, "ε", "distance of the start from its centre", low=0)
    step_constant: float = lm.number(0.0, "c", "constant of step_rule=theory (0: 4K)", low=0)
    step_size: float = lm.number(0.1, "η₀", "step size of step_rule=fixed", low=0, open_ends="low")
    step_factor: float = lm.number(1.0, "", "the step of any rule is taken times this", low=0, open_ends="low")
    steps: int = lm.number(30_000, "T", "cap on the gradient steps", low=1, high=10**7, integer=True)
    horizon: float = lm.number(8.5, "", "T = horizon/(η₀ λ_min), at most steps (0: steps)", low=0)
    tolerance: float = lm.number(0.0, "", "gradient norm at which a run stops (0: never)", low=0)
    noise_level: float = lm.number(0.0, "ξ", "bound of the gradient noise", low=0)
    test_points: int = lm.number(20_000, "", "test points per group", low=1, high=10**8, integer=True)
    data_seed: int = lm.number(-1, "", "seed of Ψ and W* (-1: that of the run)", low=-1, high=2**31 - 1, integer=True)

    dimension: int = lm.size(5, "d", "input dimension")
    neurons: int = lm.size(3, "K", "neurons")
    records: int = lm.size(80, "", "records along training", low=2)
    starts: int = lm.size(2, "M", "starts of a success map")

    mixture: str = lm.choice("pair", "two groups from the fields, the first alone, or given", "pair", "single", "given")
    covariance: str = lm.choice("isotropic", "base covariance: I, or ΛᵀDΛ", "isotropic", "rotated")
    truth: str = lm.choice("gaussian", "law of the ground truth W*", "gaussian", "uniform", "orthogonal", "given")
    activation: str = lm.choice("sigmoid", "activation φ", *ACTIVATIONS)
    start: str = lm.choice("local", "where W starts", *STARTS)
    step_rule: str = lm.choice("hessian", "1/λ_max at the start or at the limit, the paper's, or fixed", *STEP_RULES)
    noise_law: str = lm.choice("fixed", "gradient noise: drawn once, at each step, or with a mean", *NOISES)
    optimiser: str = lm.choice("newton", "search for a minimum (none: only what is exact)", "newton", "descent", "none")
    magnitudes: str = lm.choice("corrected", "magnitudes of the tensor start", "corrected", "literal")
    stratified: bool = lm.flag(False, "exactly round(λ_l n) samples of each group")
    defect: str = lm.choice("none", "a case broken on purpose, for controls", *DEFECTS)

    mixture_weights: Any = lm.array("λ", "weights for mixture=given (L)")
    mixture_means: Any = lm.array("μ", "means for mixture=given (L x d)")
    mixture_covariances: Any = lm.array("Σ", "covariances for mixture=given (L x d x d)")
    true_weights: Any = lm.array("W*", "ground truth for truth=given (d x K)")

    @property
    def phi(self) -> Activation:
        """φ."""
        return ACTIVATIONS[self.activation]

    @property
    def count(self) -> int:
        """n."""
        return self.samples_per_dimension * self.dimension or self.samples

    @lm.fixed
    def sample_room(self) -> int:
        """Room for samples: counts up to it share one program."""
        return lm.capacity(self.count)

    def warnings(self) -> list[str]:
        found = []
        if self.noise_level > 0.1:
            found.append("noise_level is above 0.1: the noise leaves the convex region and the theorem says nothing.")
        if self.step_factor >= 2 and self.step_rule in ("hessian", "limit"):
            found.append("step_factor is at least 2: beyond 2/λ_max gradient descent diverges.")
        return found

    def refusals(self, given: list[str]) -> Iterator[str]:
        if self.neurons > self.dimension:
            said = f"neurons = {self.neurons} is not allowed: W* of full column rank needs K at most"
            yield f"{said} dimension = {self.dimension}."
        if self.truth == "given":
            yield from self.misshapen("true_weights", (self.dimension, self.neurons))
            if np.linalg.matrix_rank(self.true_weights) < self.neurons:
                yield "true_weights is not allowed: its columns are linearly dependent (δ_K = 0)."
        if self.mixture == "given":
            from lemmata.theories.group_imbalance import data

            yield from self.misshapen_mixture()
            given_arrays = self.mixture_weights, self.mixture_means, self.mixture_covariances
            yield from data.refusals(*(np.asarray(each, float) for each in given_arrays))

    def misshapen_mixture(self) -> Iterator[str]:
        """The refusal of arrays that are absent or of another dimension."""
        for name in ("mixture_weights", "mixture_means", "mixture_covariances"):
            if getattr(self, name) is None:
                yield f"{name} is missing: mixture=given needs weights, means and covariances from Python."
        groups = np.size(self.mixture_weights)
        yield from self.misshapen("mixture_means", (groups, self.dimension))
