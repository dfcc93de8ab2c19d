"""The paper's calculators (section 5): curvature, radius, samples, rate and error factors of a mixture and a W*.

`Constants` has every quantity for arrays, `tau_one` sets each factor τ to 1 as the paper does when it reads off
Table 4.1, and `rho_law` puts the monotone minorants of Propositions 3.4 and 3.5 in place of ρ. The calculators are the
same for the two groups that a setting describes. Constants that the paper leaves open are 1: values are astronomically
large, and only ratios along a sweep mean something. Where curvature underflows a value is infinite, and called vacuous.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

import lemmata as lm
from lemmata.theories.group_imbalance import population, rho
from lemmata.theories.group_imbalance.data import Mixture, World, draw_world
from lemmata.theories.group_imbalance.setting import Setting

ONES = "up to an unspecified constant, which is 1 here: only ratios across a sweep mean something"
RUNNABLE = 1e9
"""More samples than this cannot be drawn."""
RHO_LAWS = ("rho", "mean_minorant", "scale_minorant")
PerGroup = Float[np.ndarray, " groups"]


@dataclass(frozen=True)
class Constants:
    """Every quantity of section 5 for one mixture Ψ and one ground truth W*."""

    mixture: Mixture
    truth: Float[np.ndarray, "dimension neurons"]
    tau_one: bool = False
    rho_law: str = "rho"

    def __post_init__(self) -> None:
        dimension, neurons = self.truth.shape
        if neurons > dimension or np.linalg.matrix_rank(self.truth) < neurons:
            raise lm.UserError("W* is not allowed: its columns are linearly dependent (δ_K = 0), so κ is infinite.")

    @cached_property
    def delta(self) -> Float[np.ndarray, " neurons"]:
        """The singular values δ_1 ≥ ... ≥ δ_K of W*."""
        return np.linalg.svd(self.truth, compute_uv=False)

    @property
    def kappa(self) -> float:
        """κ = δ_1/δ_K."""
        return self.delta[0] / self.delta[-1]

    @property
    def eta(self) -> float:
        """η = Π δ_i/δ_K."""
        return float(np.prod(self.delta / self.delta[-1]))

    @cached_property
    def _deviations(self) -> Float[np.ndarray, "groups dimension"]:
        return np.sqrt(np.linalg.eigvalsh(self.mixture.covariances))

    @property
    def sigma_min(self) -> PerGroup:
        """σ_{l,min} = ‖Σ_l⁻¹‖^-½."""
        return self._deviations[:, 0]

    @property
    def sigma_max(self) -> float:
        """σ_max, the largest ‖Σ_l^½‖."""
        return self._deviations.max()

    @property
    def tau(self) -> float:
        """τ = σ_max/σ_min, or 1."""
        return 1.0 if self.tau_one else self.sigma_max / self.sigma_min.min()

    @property
    def norms(self) -> PerGroup:
        """‖μ_l‖ + ‖Σ_l^½‖."""
        return np.linalg.norm(self.mixture.means, axis=1) + self._deviations[:, -1]

    def moment(self, power: float) -> float:
        """M_m = Σ λ_l (‖μ_l‖ + ‖Σ_l^½‖)^m."""
        return float(self.mixture.weights @ self.norms**power)

    def relative_moment(self, power: float) -> float:
        """D_m = Σ λ_l (‖μ_l‖/σ_{l,min} + 1)^m."""
        return float(self.mixture.weights @ (np.linalg.norm(self.mixture.means, axis=1) / self.sigma_min + 1) ** power)

    @cached_property
    def plain_rhos(self) -> PerGroup:
        """ρ_l = ρ(W*ᵀμ_l/(δ_K σ_{l,min}), δ_K σ_{l,min})."""
        groups = zip(self.mixture.means, self.sigma_min, strict=True)
        return np.array([rho.group_rho(mean, float(scale), self.truth) for mean, scale in groups])

    @cached_property
    def _peaks(self) -> PerGroup:
        """ζ_s of every group."""
        return np.array([rho.peak_scale(mean, self.truth) for mean in self.mixture.means])

    @cached_property
    def rhos(self) -> PerGroup:
        """ρ_l, or its minorant: L_m along the first coordinate of μ̃_l, L_s along the scale."""
        if self.rho_law == "rho":
            return self.plain_rhos
        groups = range(self.mixture.groups)
        means, scales = self.mixture.means, self.sigma_min
        if self.rho_law == "scale_minorant":
            found = [rho.scale_minorant(means[g], float(scales[g]), self.truth, float(self._peaks[g])) for g in groups]
        else:
            bases = np.linalg.eigh(self.mixture.covariances)[1].swapaxes(1, 2)
            found = [rho.mean_minorant(means[g], float(scales[g]), self.truth, 0, bases[g]) for g in groups]
        return np.array(found)

    @property
    def _curvature(self) -> float:
        """Σ λ_l σ²_{l,min} ρ_l."""
        return np.float64(self.mixture.weights @ (self.sigma_min**2 * self.rhos))  # its inverse may be inf

    @property
    def convexity(self) -> float:
        """h = Γ σ_max² = Σ λ_l σ²_{l,min} ρ_l / (η τ^K κ²); 4 h/K² bounds λ_min(F) from below for zero means."""
        return self._curvature / (self.eta * self.tau ** self.truth.shape[1] * self.kappa**2)

    @property
    def gamma(self) -> float:
        """Γ(Ψ)."""
        return self.convexity / self.sigma_max**2

    @property
    def rate_factor(self) -> float:
        """q = h/M_2, where the rate is v = 1 - q/K².

        With L_s a group of large scale, σ ≥ max(1, ζ_s), has the term λ L_s without σ², and the others keep ρ; where
        all scales are at most ζ_s every group has L_s.
        """
        terms = self.sigma_min**2 * self.rhos
        if self.rho_law == "scale_minorant" and (self.sigma_min > self._peaks).any():
            large = self.sigma_min >= np.maximum(1, self._peaks)
            terms = np.where(large, self.rhos, self.sigma_min**2 * self.plain_rhos)
        scale = self.eta * self.tau ** self.truth.shape[1] * self.kappa**2
        return self.mixture.weights @ terms / scale / self.moment(2)

    @property
    def estimation_factor(self) -> float:
        """E_w = √M_2 / Σ λ_j σ_j² ρ_j."""
        return self.moment(2) ** 0.5 / self._curvature

    @property
    def risk_factor(self) -> float:
        """E = M_2 / Σ λ_j σ_j² ρ_j."""
        return self.moment(2) / self._curvature

    @property
    def group_risk_factors(self) -> PerGroup:
        """E_l = √M_2 (‖μ_l‖ + ‖Σ_l^½‖) / Σ λ_j σ_j² ρ_j."""
        return self.moment(2) ** 0.5 * self.norms / self._curvature

    @property
    def mixture_factor(self) -> float:
        """B = (σ_max δ_1)² τ¹² (Σ λ_l σ²_{l,min} ρ_l / (η σ_max²))⁻² D_12."""
        inner = self._curvature / (self.eta * self.sigma_max**2)
        return (self.sigma_max * self.delta[0]) ** 2 * self.tau**12 * inner**-2 * self.relative_moment(12)

    def radius(self, epsilon: float = 0.1, C: float = 1.0) -> float:
        """r = C_3 ε_0 h / (K^{7/2} (M_4 M_8)^¼): the ball around W* on which the risk is convex."""
        fourth = (self.moment(4) * self.moment(8)) ** 0.25
        return C * epsilon * self.convexity / (self.truth.shape[1] ** 3.5 * fourth)

    def _per_dimension(self) -> float:
        """d log² d."""
        return self.truth.shape[0] * np.log(self.truth.shape[0]) ** 2

    def samples(self, epsilon: float = 0.1, C: float = 1.0) -> float:
        """n_sc = C ε_0⁻² κ¹² K¹⁴ (σ_max δ_1)² τ¹² Γ⁻² D_12 d log² d (4.7)."""
        signal = (self.sigma_max * self.delta[0]) ** 2 * self.tau**12 * self.gamma**-2 * self.relative_moment(12)
        return C / epsilon**2 * self.kappa**12 * self.truth.shape[1] ** 14 * signal * self._per_dimension()

    def less_relaxed_samples(self, epsilon: float = 0.1, C: float = 1.0) -> float:
        """C ε_0⁻² τ¹² κ¹² K¹⁴ (M_4 M_8)^½ δ_1² D_6 Γ⁻² σ_max⁻⁴ d log² d, at most n_sc."""
        moments = (self.moment(4) * self.moment(8)) ** 0.5 * self.delta[0] ** 2 * self.relative_moment(6)
        signal = self.tau**12 * moments * self.gamma**-2 / self.sigma_max**4
        return C / epsilon**2 * self.kappa**12 * self.truth.shape[1] ** 14 * signal * self._per_dimension()

    def convexity_samples(self, epsilon: float = 0.1, C: float = 1.0) -> float:
        """C_1 ε_0⁻² M_2² h⁻² d K⁵ log² d: so that the empirical risk is convex on the ball too."""
        ratio = self.moment(2) ** 2 * self.convexity**-2
        return C / epsilon**2 * ratio * self.truth.shape[1] ** 5 * self._per_dimension()

    def initialiser_samples(self) -> float:
        """κ⁸ K⁴ τ¹² D_6 d log² d: for the tensor initialisation."""
        scale = self.kappa**8 * self.truth.shape[1] ** 4 * self.tau**12
        return scale * self.relative_moment(6) * self._per_dimension()


def effective_tau(x: Float[np.ndarray, "samples dimension"], rank: int) -> float:
    """√(largest over r-th eigenvalue of the covariance): τ of data that are close to rank r (section 7)."""
    if not 1 <= rank <= min(x.shape):
        raise lm.UserError(f"rank = {rank} is not allowed: it is from 1 to {min(x.shape)} for these data.")
    values = np.linalg.eigvalsh(np.atleast_2d(np.cov(x, rowvar=False)))[::-1]
    return float(np.sqrt(values[0] / values[rank - 1])) if values[rank - 1] > 0 else np.inf


_FIELDS = (
    "fraction",
    "first_mean",
    "second_mean",
    "first_scale",
    "second_scale",
    "truth_scale",
    "dimension",
    "neurons",
)
_PSI: Any = {name: Setting.declaration(name) for name in _FIELDS} | {
    "truth": lm.option("orthogonal", "law of the ground truth W*", "orthogonal", "gaussian", "uniform"),
    "data_seed": lm.parameter(0, "", "seed of W*", low=0, high=2**31 - 1, integer=True),
    "tau": lm.option("kept", "factors τ: kept, or 1 as in Table 4.1", "kept", "one"),
    "rho_law": lm.option("rho", "ρ, or a monotone minorant of it", *RHO_LAWS),
}
_EPSILON: Any = {
    "epsilon": lm.parameter(0.1, "ε_0", "share of the curvature given up", low=0, high=0.25, open_ends="low high")
}
_C: Any = {"C": lm.parameter(1.0, "C", "leading constant", low=0, open_ends="low")}
_GROUP: Any = {"group": lm.parameter(2, "l", "the group", low=1, high=2, integer=True)}


def _world(**fields: Any) -> World:
    chosen = {name: value for name, value in fields.items() if name not in {"tau", "rho_law"}}
    return draw_world(Setting(**chosen), int(chosen.get("data_seed", 0)))


def constants(tau: str = "kept", rho_law: str = "rho", **fields: Any) -> Constants:
    """The constants of the two groups and the W* that these fields of a setting describe."""
    mixture, truth = _world(**fields)
    return Constants(mixture, truth, tau == "one", rho_law)


def _exact(group: int | None = None, **fields: Any) -> str:
    """What a large sample really does, beside the bound."""
    mixture, truth = _world(**fields)
    if truth.shape[1] > population.EXACT_NEURONS:
        return "beyond three neurons the exact predictor is sampled: population.fishers"
    each = population.fishers(mixture.means, mixture.covariances, truth)
    if group is None:
        spread = population.parameter_variance(mixture.weights, each)
        return f"exact for large n: E‖Ŵ_n - W*‖² = tr F⁻¹/n = {spread:.4g}/n, average excess risk {truth.size}/2n"
    factor = population.group_risk_factors(mixture.weights, each)[group - 1]
    return f"exact for large n: the excess risk of this group is tr(F_l F⁻¹)/2n = {factor:.4g}/2n"


@lm.bound("section 5, Γ(Ψ)", **_PSI)
def gamma(**fields: Any) -> Any:
    """Γ: the curvature at W* that the mixture guarantees, relative to its largest covariance."""
    return constants(**fields).gamma


@lm.bound("section 5, r", ONES, **_EPSILON, **_C, **_PSI)
def convexity_radius(epsilon: float = 0.1, C: float = 1.0, **fields: Any) -> Any:
    """r: how far from W* the population risk stays convex (C_3 = 4/(6√3) follows from row 24)."""
    return constants(**fields).radius(epsilon, C)


@lm.bound("(4.7), B(Ψ)", ONES, **_PSI)
def mixture_factor(**fields: Any) -> Any:
    """B(Ψ): what the mixture contributes to the sample complexity."""
    return constants(**fields).mixture_factor


@lm.bound("(4.7)", ONES, limit=RUNNABLE, **_EPSILON, **_C, **_PSI)
def samples(epsilon: float = 0.1, C: float = 1.0, **fields: Any) -> Any:
    """n_sc: samples that suffice."""
    return constants(**fields).samples(epsilon, C)


@lm.bound("(4.7), before it is relaxed", ONES, limit=RUNNABLE, **_EPSILON, **_C, **_PSI)
def less_relaxed_samples(epsilon: float = 0.1, C: float = 1.0, **fields: Any) -> Any:
    """The sample complexity with M_4 M_8 and D_6 kept."""
    return constants(**fields).less_relaxed_samples(epsilon, C)


@lm.bound("Lemma C.3.1", ONES, limit=RUNNABLE, **_EPSILON, **_C, **_PSI)
def convexity_samples(epsilon: float = 0.1, C: float = 1.0, **fields: Any) -> Any:
    """Samples for which the empirical risk is convex on the ball."""
    return constants(**fields).convexity_samples(epsilon, C)


@lm.bound("Lemma C.3.3", ONES, limit=RUNNABLE, **_PSI)
def initialiser_samples(**fields: Any) -> Any:
    """Samples for the tensor initialisation."""
    return constants(**fields).initialiser_samples()


@lm.bound("(4.9), q", **_PSI)
def rate_factor(**fields: Any) -> Any:
    """q: gradient descent with step 1/λ_max contracts by v = 1 - q/K² at least."""
    return constants(**fields).rate_factor


@lm.bound("(4.9)", **_PSI)
def rate(**fields: Any) -> Any:
    """v = 1 - q/K²."""
    found = constants(**fields)
    return 1 - found.rate_factor / found.truth.shape[1] ** 2


@lm.bound("(4.10), E_w", ONES, remark=_exact, **_PSI)
def estimation_factor(**fields: Any) -> Any:
    """E_w: the mixture's factor in the bound on ‖Ŵ_n - W*‖."""
    return constants(**fields).estimation_factor


@lm.bound("(4.11), E", ONES, remark=_exact, **_PSI)
def risk_factor(**fields: Any) -> Any:
    """E: the mixture's factor in the bound on the average excess risk (E1)."""
    return constants(**fields).risk_factor


@lm.bound("(4.12), E_l", ONES, remark=_exact, **_GROUP, **_PSI)
def group_risk_factor(group: int = 2, **fields: Any) -> Any:
    """E_l: the mixture's factor in the bound on the excess risk of one group."""
    return constants(**fields).group_risk_factors[int(group) - 1]


BOUNDS = (
    gamma,
    convexity_radius,
    mixture_factor,
    samples,
    less_relaxed_samples,
    convexity_samples,
    initialiser_samples,
    rate_factor,
    rate,
    estimation_factor,
    risk_factor,
    group_risk_factor,
)
