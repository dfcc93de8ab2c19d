"""Curvature of the risk: against covariance and width (rows 7, 11), its bounds and symmetries (rows 17-23, 34)."""

import math
from dataclasses import replace

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.group_imbalance.claims.calculators import random_mixture
from lemmata.theories.group_imbalance.data import draw_truth, rotated_covariance
from lemmata.theories.group_imbalance.measures import REVERSED, median_slope, medians, trend
from lemmata.theories.group_imbalance.network import Activation, output
from lemmata.theories.group_imbalance.population import fisher, noise_floor, sampled_fisher
from lemmata.theories.group_imbalance.training import draw_noise

DRAWS = 10
POINTS = 400_000
BATCHES = 20
DRAWN = ("zero means", "means of scale 2")


@lm.evidence("f44b-covariance")
def rate_falls(data: xr.Dataset, reverse: bool = False) -> xr.DataArray:
    """The log ratios of λ_min/M₂ and λ_min/λ_max of F at σ = 5 and at 2."""
    parts = {"λ_min/M₂": data.least / data.second_moment, "λ_min/λ_max": data.least / data.largest}
    return lm.stack({name: trend(part, "scale", (2.0, 5.0), reverse) for name, part in parts.items()}, "rate")


@lm.evidence("f44b-covariance")
def peak(data: xr.Dataset, quantity: str = "rate") -> dict[str, float]:
    """Where the median of λ_min/M₂ is largest, and its largest value over that at σ = 0.3 and at 5."""
    values = data.least / data.second_moment if quantity == "rate" else data.second_moment
    middle = medians(values)
    low, high = (float(lm.cells(middle, scale=end)) for end in (0.3, 5.0))
    top = float(middle.max())
    return {"place": float(middle.scale.values[int(np.argmax(middle.values))]), "small": top / low, "large": top / high}


@lm.evidence("f45a-width")
def width(data: xr.Dataset, law: float | None = None) -> dict[str, lm.Estimate | float]:
    """The slope of the median λ_min/λ_max of F in K, and the range of K² times it; law: put on this power of K."""
    ratio = data.least / data.largest
    ratio = ratio if law is None else lm.on_law(ratio, "neurons", law)
    scaled = medians(ratio) * ratio.neurons**2
    return {"slope": median_slope(ratio, "neurons"), "range": float(scaled.max() / scaled.min())}


@lm.fact
def mirrored(shift: float = 0.0, *, seed: int) -> dict[str, xr.DataArray]:
    """F(μ) by quadrature against F(-μ): by simulation, in standard errors of the whole matrix, and by quadrature."""
    phi = Activation("logistic", 1.0, shift)
    rng = np.random.default_rng([seed, 17])
    simulated, exact = [], []
    for _ in range(DRAWS):
        truth, mean = rng.standard_normal((3, 2)), rng.standard_normal(3)
        covariance = rotated_covariance(rng, np.exp(rng.uniform(-1, 1, 3)))
        F, other = (fisher(sign * mean, covariance, truth, phi) for sign in (1, -1))
        normals = rng.standard_normal((BATCHES, POINTS // (2 * BATCHES), 3))
        batches = np.stack([sampled_fisher(-mean, covariance, truth, z, phi) for z in normals])
        error = np.sqrt((batches.var(0, ddof=1) / BATCHES).sum())
        simulated.append(np.linalg.norm(batches.mean(0) - F) / error)
        exact.append(np.linalg.norm(other - F) / np.linalg.norm(F))
    return {"simulated": xr.DataArray(simulated, dims="draw"), "exact": xr.DataArray(exact, dims="draw")}


def _odd(count: int) -> int:
    """(2t - 1)!!."""
    return math.prod(range(1, 2 * count, 2))


@lm.fact
def moment_ratios(zero: bool = False, odd: bool = True, dimension: bool = True, *, seed: int) -> xr.DataArray:
    """The largest moment over its bound at 300 random Ψ, along a direction (often an axis) and of the norm.

    odd=False: (2t-1)!! replaced by 1, t ≥ 2; dimension=False: d^t dropped; zero: zero means."""
    rng = np.random.default_rng([seed, 18])
    along, norm = [], []
    for _ in range(300):
        mixture = random_mixture(rng)
        mixture = replace(mixture, means=0 * mixture.means) if zero else mixture
        d = mixture.dimension
        direction = rng.standard_normal(d)
        if rng.random() < 0.5:
            direction = np.linalg.eigh(mixture.covariances[0])[1][:, -1]
        centre = mixture.means @ direction
        spread = np.einsum("i,lij,j->l", direction, mixture.covariances, direction)
        for t in range(1 if odd else 2, 5):
            terms = [math.comb(2 * t, 2 * k) * centre ** (2 * t - 2 * k) * spread**k * _odd(k) for k in range(t + 1)]
            bound = (_odd(t) if odd else 1) * np.linalg.norm(direction) ** (2 * t) * mixture.moment(2 * t)
            along.append(mixture.weights @ sum(terms) / bound)
        traces = np.trace(mixture.covariances, axis1=1, axis2=2)
        squares = (mixture.means**2).sum(1)
        turned = np.einsum("li,lij,lj->l", mixture.means, mixture.covariances, mixture.means)
        fourth = (squares + traces) ** 2 + 2 * (mixture.covariances**2).sum((1, 2)) + 4 * turned
        for t, moment in ((1, squares + traces), (2, fourth)):
            for order in (2, np.inf):
                bound = (d**t if dimension else 1) * _odd(t) * mixture.moment(2 * t, order)
                norm.append(mixture.weights @ moment / bound)
    return xr.DataArray([max(along), max(norm)], coords={"moment": ["direction", "norm"]})


@lm.fact
def noise_norm(law: str = "uniform", *, seed: int) -> float:
    """The largest ‖ν_i‖_F of 10⁴ draws over ξ√(dK)."""
    rng, level, shape = np.random.default_rng([seed, 20]), 0.01, (5, 3)
    size = (10_000, *shape)
    noise = draw_noise(rng, level, 10_000, shape) if law == "uniform" else level * rng.standard_normal(size)
    return float(np.linalg.norm(noise, axis=(1, 2)).max() / (level * np.sqrt(math.prod(shape))))


@lm.evidence("g23-convexity")
def above_lower(data: xr.Dataset, case: str, factor: float = 1.0) -> xr.DataArray:
    """λ_min(F) over 4h/K² (times a factor)."""
    runs = lm.cells(data, case=case)
    return runs.least / (factor * runs.lower)


@lm.evidence("g23-convexity")
def below_upper(data: xr.Dataset, cases: tuple[str, ...] = DRAWN, factor: float = 1.0) -> xr.DataArray:
    """λ_max(F) over λ_max(E xxᵀ)/4K (times a factor), and that over M₂/4K."""
    runs = lm.cells(data, case=list(cases))
    return lm.stack({"first": runs.largest / (factor * runs.upper), "second": runs.upper / runs.upper_moment}, "side")


@lm.fact
def same_labels(random: bool = False, *, seed: int) -> dict[str, float]:
    """The largest change of H(W*, x) and of the noise floor when x, and the mean, are projected on the span of W*."""
    rng = np.random.default_rng([seed, 34])
    truth, x = draw_truth(rng, "gaussian", 5, 3), rng.standard_normal((1000, 5)) + 1
    U = np.linalg.qr(rng.standard_normal((5, 3)) if random else truth)[0]
    mean = np.ones(5)
    floors = [noise_floor(each, np.eye(5), truth) for each in (mean, U @ (U.T @ mean))]
    change = np.abs(output(truth, x) - output(truth, x @ U @ U.T)).max()
    return {"labels": float(change), "floor": abs(floors[0] - floors[1])}


@lm.fact
def same_information(inside: bool = False, *, seed: int) -> xr.DataArray:
    """The relative change of F when the mean 1 is projected on the span of W*; inside: the mean lies in the span."""
    rng = np.random.default_rng([seed, 35])
    changes = []
    for _ in range(DRAWS):
        truth = draw_truth(rng, "gaussian", 5, 3)
        U = np.linalg.qr(truth)[0]
        mean = U @ (U.T @ np.ones(5)) if inside else np.ones(5)
        F, other = (fisher(each, np.eye(5), truth) for each in (mean, U @ (U.T @ mean)))
        changes.append(np.linalg.norm(F - other) / np.linalg.norm(F))
    return xr.DataArray(changes, dims="seed")


LOWER = r"\lambda_{\min}(F)\ge\frac{4}{K^2}\underline{h}"

CLAIMS = (
    lm.Claim("g7-rate", "Corollary (ii)", "ordering")
    .states("A large covariance slows gradient descent down: λ_min/M₂ and λ_min/λ_max of F fall from σ = 2 to 5.")
    .in_symbols(r"v = 1-\Theta\Big(\frac{1}{1+\|\Sigma_l\|}\Big)")
    .judged(rate_falls(), lm.at_most(0.0), REVERSED),
    lm.Claim("f44b-peak", "Figure 4.4 (b)", "limit", source="figure")
    .states("""By the paper's step gradient descent is fastest at a covariance near 1: the median of λ_min/M₂ peaks at σ
        in [0.7, 1.5] and is at least 2 times lower at 0.3 and at 5.""")
    .in_symbols(r"\operatorname{argmax}_\sigma \lambda_{\min}(F)/M_2 \approx 1")
    .judged(
        peak(),
        lm.all_of(place=lm.within(0.7, 1.5, predicted=1.0), small=lm.at_least(2.0), large=lm.at_least(2.0)),
        lm.Control("M₂ in place of λ_min/M₂", quantity="moment"),
    ),
    lm.Claim("g11-rate-width", "(4.9), Figure 4.5 (a)", "scaling")
    .states("""The rate falls like K⁻²: the median of λ_min/λ_max of F has an exponent in [-2.3, -1.5] in K, and K²
        times it varies by at most a factor 4.""")
    .in_symbols(r"1-v\propto K^{-2}")
    .judged(
        width(),
        lm.all_of(slope=lm.within(-2.3, -1.5, by="value", predicted=-2.0), range=lm.at_most(4.0)),
        lm.Control("put on the law K⁻¹", law=-1.0),
        lm.Control("put on the law K⁻³", law=-3.0),
    ),
    lm.Claim("g17-even", "Proposition 5", "identity")
    .states("""A group and its mirror image have the same information: F(μ) by quadrature is F(-μ) by simulation within
        4 standard errors and by quadrature to 10⁻⁹, in 10 random cases.""")
    .in_symbols(r"F_l(\mu)=F_l(-\mu)")
    .judged(
        mirrored(),
        lm.all_of(simulated=lm.at_most(4.0), exact=lm.at_most(1e-9)),
        lm.Control("sigmoid(t+1), whose derivative is not even", shift=1.0),
    ),
    lm.Claim("g18-moments", "Propositions 6-8", "bound")
    .states("""Moments of a mixture are within their bounds at 300 random Ψ: along a direction for t = 1 to 4, of the
        norm for t = 1, 2.""")
    .in_symbols(r"E(u^\top x)^{2t}\le(2t-1)!!\,\|u\|^{2t}M_{2t},\quad E\|x\|^{2t}\le d^t(2t-1)!!\,M_{2t}")
    .judged(
        moment_ratios(),
        lm.at_most(1 + 1e-12),
        lm.Control("zero means, (2t-1)!! replaced by 1", zero=True, odd=False),
        lm.Control("zero means, d^t dropped", zero=True, dimension=False),
    ),
    lm.Claim("g20-noise-norm", "Proposition 2", "bound")
    .states("No draw of the gradient noise is longer than ξ√(dK): the largest of 10⁴.")
    .in_symbols(r"\|\nu_i\|_F\le\xi\sqrt{dK}")
    .judged(noise_norm(), lm.at_most(1.0), lm.Control("Gaussian noise of the deviation ξ", law="gaussian")),
    # 2000 draws where the register has 60: with the factor τ^-K of h about three problems in a thousand violate it
    lm.Claim("g23-lower", "Lemma C.4.4", "bound")
    .states("""As stated, for any means: the curvature at the ground truth is at least 4h/K², in 2000 random problems
        with means of scale 2.""")
    .in_symbols(LOWER)
    .judged(
        above_lower("means of scale 2"),
        lm.at_least(1 - 1e-6, by="every"),
        lm.Control("zero means", case="zero means"),
        expected=lm.FAILS,
    ),
    lm.Claim("g23-lower-corrected", "Lemma C.4.4, corrected", "bound", corrects="g23-lower")
    .states("For zero means the curvature at the ground truth is at least 4h/K², in 2000 random problems.")
    .in_symbols(LOWER + r",\quad \mu_l=0")
    .judged(
        above_lower("zero means"),
        lm.at_least(1 - 1e-6, by="every"),
        lm.Control("8/K², a small orthogonal W*", case="small, lower", factor=2.0),
    ),
    lm.Claim("g23-upper", "Lemma C.4.4, constant 1/4K", "bound", source="derived")
    .states("The curvature at the ground truth is at most λ_max(E xxᵀ)/4K, and that at most M₂/4K, in every draw.")
    .in_symbols(r"\lambda_{\max}(F)\le\frac{\lambda_{\max}(E[xx^\top])}{4K}\le\frac{M_2}{4K}")
    .judged(
        below_upper(),
        lm.at_most(1 + 1e-9, by="every"),
        lm.Control("1/8K, a small orthogonal W*", cases=("small, upper",), factor=0.5),
    ),
    lm.Claim("g34-labels", "Proposition 1", "identity")
    .states("""Labels depend on the projection on the span of W* alone: H is the same to 10⁻¹² at 1000 points, noise
        floors to 10⁻⁹.""")
    .in_symbols(r"H(W^*,x)=H(W^*,UU^\top x)")
    .judged(
        same_labels(),
        lm.all_of(labels=lm.at_most(1e-12), floor=lm.at_most(1e-9)),
        lm.Control("projection on a random subspace", random=True),
    ),
    lm.Claim("g34-equivalent", "Proposition 1", "identity")
    .states("""As stated, means may be taken in the span of W*: F for μ and for its projection agree to 10⁻⁶, in 10
        draws.""")
    .in_symbols(r"F(\mu)=F(UU^\top\mu)")
    .judged(
        same_information(),
        lm.at_most(1e-6, by="every"),
        lm.Control("a mean in the span", inside=True),
        expected=lm.FAILS,
    ),
)
