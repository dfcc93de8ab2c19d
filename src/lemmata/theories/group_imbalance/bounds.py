"""The paper's calculators (section 5): curvature, radius, samples, rate and error factors of a mixture and a W*.

`Constants` has every quantity for arrays, `tau_one` sets each factor τ to 1 as the paper does when it reads off
Table 4.1, and `rho_law` puts the monotone minorants of Propositions 3.4 and 3.5 in place of ρ. The calculators are the
same for the two groups that a setting describes. Constants that the paper leaves open are 1: values are astronomically
large, and only ratios along a sweep mean something. Where curvature underflows a value is infinite, and called vacuous.
"""

import inspect
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

import lemmata as lm
from lemmata.theories.group_imbalance import population, rho
from lemmata.theories.group_imbalance.data import Mixture, World, draw_world
from lemmata.theories.group_imbalance.network import Inputs, Weights
from lemmata.theories.group_imbalance.setting import Setting

ONES = "up to an unspecified constant, which is 1 here: only ratios across a sweep mean something"
RUNNABLE = 1e9
"""More samples than this cannot be drawn."""
PerGroup = Float[np.ndarray, " groups"]


@dataclass
class Constants:
    """Every quantity of section 5 for one mixture Ψ and one ground truth W*."""

    mixture: Mixture
    truth: Weights
    tau_one: bool = False
    rho_law: str = "rho"

    def __post_init__(self) -> None:
        self.K = self.truth.shape[1]
        if np.linalg.matrix_rank(self.truth) < self.K:
            raise lm.UserError("W* is not allowed: its columns are linearly dependent (δ_K = 0), so κ is infinite.")
        self.delta = np.linalg.svd(self.truth, compute_uv=False)
        """The singular values δ_1 ≥ ... ≥ δ_K of W*."""
        self.kappa = self.delta[0] / self.delta[-1]
        self.eta = float(np.prod(self.delta / self.delta[-1]))
        deviations = np.sqrt(np.linalg.eigvalsh(self.mixture.covariances))
        self.sigma_min = deviations[:, 0]
        """σ_{l,min} = ‖Σ_l⁻¹‖^-½."""
        self.sigma_max = deviations.max()
        self.tau = 1.0 if self.tau_one else self.sigma_max / self.sigma_min.min()
        self.norms = np.linalg.norm(self.mixture.means, axis=1) + deviations[:, -1]
        """‖μ_l‖ + ‖Σ_l^½‖."""
        self.moment = self.mixture.moment
        """M_m."""

    def relative_moment(self, power: float) -> float:
        """D_m = Σ λ_l (‖μ_l‖/σ_{l,min} + 1)^m."""
        return float(self.mixture.weights @ (np.linalg.norm(self.mixture.means, axis=1) / self.sigma_min + 1) ** power)

    def _of_groups(self, function: Any, *more: Any) -> PerGroup:
        """A function of (μ_l, σ_{l,min}, W*, ...) for every group."""
        parts = zip(self.mixture.means, self.sigma_min.tolist(), *more, strict=True)
        return np.array([function(mean, scale, self.truth, *own) for mean, scale, *own in parts])

    @cached_property
    def plain_rhos(self) -> PerGroup:
        """ρ_l = ρ(W*ᵀμ_l/(δ_K σ_{l,min}), δ_K σ_{l,min})."""
        return self._of_groups(rho.group_rho)

    @cached_property
    def _peaks(self) -> PerGroup:
        """ζ_s of every group."""
        return np.array([rho.peak_scale(mean, self.truth) for mean in self.mixture.means])

    @cached_property
    def rhos(self) -> PerGroup:
        """ρ_l, or its minorant: L_m along the first coordinate of μ̃_l, L_s along the scale."""
        if self.rho_law == "rho":
            return self.plain_rhos
        if self.rho_law == "scale_minorant":
            return self._of_groups(rho.scale_minorant, self._peaks.tolist())
        bases = np.linalg.eigh(self.mixture.covariances)[1].swapaxes(1, 2)
        return self._of_groups(rho.mean_minorant, [0] * len(bases), bases)

    @property
    def _curvature(self) -> float:
        """Σ λ_l σ²_{l,min} ρ_l."""
        return np.float64(self.mixture.weights @ (self.sigma_min**2 * self.rhos))  # its inverse may be inf

    @property
    def _spread(self) -> float:
        """η τ^K κ²."""
        return self.eta * self.tau**self.K * self.kappa**2

    @property
    def convexity(self) -> float:
        """h = Γ σ_max² = Σ λ_l σ²_{l,min} ρ_l / (η τ^K κ²); 4 h/K² bounds λ_min(F) from below for zero means."""
        return self._curvature / self._spread

    @property
    def gamma(self) -> float:
        """Γ: the curvature at W* that the mixture guarantees, relative to its largest covariance."""
        return self.convexity / self.sigma_max**2

    @property
    def rate_factor(self) -> float:
        """q = h/M_2: gradient descent with step 1/λ_max contracts by v = 1 - q/K² at least.

        With L_s a group of large scale, σ ≥ max(1, ζ_s), has the term λ L_s without σ², and the others keep ρ; where
        all scales are at most ζ_s every group has L_s.
        """
        terms = self.sigma_min**2 * self.rhos
        if self.rho_law == "scale_minorant" and (self.sigma_min > self._peaks).any():
            large = self.sigma_min >= np.maximum(1, self._peaks)
            terms = np.where(large, self.rhos, self.sigma_min**2 * self.plain_rhos)
        return float(self.mixture.weights @ terms) / self._spread / self.moment(2)

    @property
    def rate(self) -> float:
        """v = 1 - q/K²."""
        return 1 - self.rate_factor / self.K**2

    @property
    def estimation_factor(self) -> float:
        """E_w = √M_2 / Σ λ_j σ_j² ρ_j: the mixture's factor in the bound on ‖Ŵ_n - W*‖."""
        return self.moment(2) ** 0.5 / self._curvature

    @property
    def risk_factor(self) -> float:
        """E = M_2 / Σ λ_j σ_j² ρ_j: the mixture's factor in the bound on the average excess risk (E1)."""
        return self.moment(2) / self._curvature

    @property
    def group_risk_factors(self) -> PerGroup:
        """E_l of every group."""
        return self.moment(2) ** 0.5 * self.norms / self._curvature

    def group_risk_factor(self, group: int) -> float:
        """E_l = √M_2 (‖μ_l‖ + ‖Σ_l^½‖) / Σ λ_j σ_j² ρ_j: the mixture's factor in the bound on a group's excess risk."""
        return float(self.group_risk_factors[int(group) - 1])

    @property
    def mixture_factor(self) -> float:
        """B(Ψ) = (σ_max δ_1)² τ¹² (Σ λ_l σ²_{l,min} ρ_l / (η σ_max²))⁻² D_12: what the mixture adds to the samples."""
        inner = self._curvature / (self.eta * self.sigma_max**2)
        return (self.sigma_max * self.delta[0]) ** 2 * self.tau**12 * inner**-2 * self.relative_moment(12)

    def convexity_radius(self, epsilon: float = 0.1, C: float = 1.0) -> float:
        """r = C_3 ε_0 h / (K^{7/2} (M_4 M_8)^¼): the population risk stays convex that far from W*.

        C_3 = 4/(6√3) follows from row 24.
        """
        return C * epsilon * self.convexity / (self.K**3.5 * (self.moment(4) * self.moment(8)) ** 0.25)

    def _scaled(self, factor: float, power: int, epsilon: float = 1.0, C: float = 1.0) -> float:
        """C ε_0⁻² K^power d log² d times a factor."""
        d = len(self.truth)
        return C / epsilon**2 * self.K**power * factor * (d * np.log(d) ** 2)

    def samples(self, epsilon: float = 0.1, C: float = 1.0) -> float:
        """n_sc = C ε_0⁻² κ¹² K¹⁴ (σ_max δ_1)² τ¹² Γ⁻² D_12 d log² d: samples that suffice (4.7)."""
        signal = (self.sigma_max * self.delta[0]) ** 2 * self.tau**12 * self.gamma**-2 * self.relative_moment(12)
        return self._scaled(self.kappa**12 * signal, 14, epsilon, C)

    def less_relaxed_samples(self, epsilon: float = 0.1, C: float = 1.0) -> float:
        """C ε_0⁻² τ¹² κ¹² K¹⁴ (M_4 M_8)^½ δ_1² D_6 Γ⁻² σ_max⁻⁴ d log² d: at most n_sc."""
        moments = (self.moment(4) * self.moment(8)) ** 0.5 * self.delta[0] ** 2 * self.relative_moment(6)
        return self._scaled((self.tau * self.kappa) ** 12 * moments * self.convexity**-2, 14, epsilon, C)

    def convexity_samples(self, epsilon: float = 0.1, C: float = 1.0) -> float:
        """C_1 ε_0⁻² M_2² h⁻² d K⁵ log² d: samples for which the empirical risk is convex on the ball too."""
        return self._scaled(self.moment(2) ** 2 * self.convexity**-2, 5, epsilon, C)

    def initialiser_samples(self) -> float:
        """κ⁸ K⁴ τ¹² D_6 d log² d: samples for the tensor initialisation."""
        return self._scaled(self.kappa**8 * self.tau**12 * self.relative_moment(6), 4)


def effective_tau(x: Inputs, rank: int) -> float:
    """√(largest over r-th eigenvalue of the covariance): τ of data that are close to rank r (section 7)."""
    if not 1 <= rank <= min(x.shape):
        raise lm.UserError(f"rank = {rank} is not allowed: it is from 1 to {min(x.shape)} for these data.")
    values = np.linalg.eigvalsh(np.atleast_2d(np.cov(x, rowvar=False)))[::-1]
    return float(np.sqrt(values[0] / values[rank - 1])) if values[rank - 1] > 0 else np.inf


_FIELDS = "fraction first_mean second_mean first_scale second_scale truth_scale dimension neurons"
_PSI: Any = {name: Setting.declaration(name) for name in _FIELDS.split()} | {
    "truth": lm.option("orthogonal", "law of the ground truth W*", "orthogonal", "gaussian", "uniform"),
    "data_seed": lm.parameter(0, "", "seed of W*", low=0, high=2**31 - 1, integer=True),
    "tau": lm.option("kept", "factors τ: kept, or 1 as in Table 4.1", "kept", "one"),
    "rho_law": lm.option("rho", "ρ, or a monotone minorant of it", "rho", "mean_minorant", "scale_minorant"),
}
_OWN: Any = {
    "epsilon": lm.parameter(0.1, "ε_0", "share of the curvature given up", low=0, high=0.25, open_ends="low high"),
    "C": lm.parameter(1.0, "C", "leading constant", low=0, open_ends="low"),
    "group": lm.parameter(2, "l", "the group", low=1, high=2, integer=True),
}


def _world(**fields: Any) -> World:
    chosen = {name: value for name, value in fields.items() if name not in {"tau", "rho_law", *_OWN}}
    return draw_world(Setting(**chosen), int(chosen.get("data_seed", 0)))


def constants(tau: str = "kept", rho_law: str = "rho", **fields: Any) -> Constants:
    """The constants of the two groups and the W* that these fields of a setting describe."""
    return Constants(*_world(**fields), tau == "one", rho_law)


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


def _bound(name: str, reference: str, note: str = ONES, **how: Any) -> lm.Bound:
    """A quantity of `Constants` as a calculator; what its method asks for are parameters of their own."""
    quantity = vars(Constants)[name]
    own = [each for each in _OWN if inspect.isfunction(quantity) and each in inspect.signature(quantity).parameters]

    def calculator(**given: Any) -> Any:
        found = getattr(constants(**given), name)
        return found(**{each: given[each] for each in own}) if callable(found) else found

    calculator.__name__, calculator.__doc__ = name, inspect.getdoc(quantity)
    return lm.bound(reference, note, **how, **{each: _OWN[each] for each in own}, **_PSI)(calculator)


gamma = _bound("gamma", "section 5, Γ(Ψ)", "")
convexity_radius = _bound("convexity_radius", "section 5, r")
mixture_factor = _bound("mixture_factor", "(4.7), B(Ψ)")
samples = _bound("samples", "(4.7)", limit=RUNNABLE)
less_relaxed_samples = _bound("less_relaxed_samples", "(4.7), before it is relaxed", limit=RUNNABLE)
convexity_samples = _bound("convexity_samples", "Lemma C.3.1", limit=RUNNABLE)
initialiser_samples = _bound("initialiser_samples", "Lemma C.3.3", limit=RUNNABLE)
rate_factor = _bound("rate_factor", "(4.9), q", "")
rate = _bound("rate", "(4.9)", "")
estimation_factor = _bound("estimation_factor", "(4.10), E_w", remark=_exact)
risk_factor = _bound("risk_factor", "(4.11), E", remark=_exact)
group_risk_factor = _bound("group_risk_factor", "(4.12), E_l", remark=_exact)
BOUNDS = (
    *(gamma, convexity_radius, mixture_factor, samples, less_relaxed_samples, convexity_samples, initialiser_samples),
    *(rate_factor, rate, estimation_factor, risk_factor, group_risk_factor),
)
