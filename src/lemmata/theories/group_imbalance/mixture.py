"""The mixture Ψ from data (section 2): EM where the groups are hidden, plain moments where they are known.

The paper allows Ψ to be estimated: with the true number of groups the error is O(√(d/n)), with too many O((d/n)^¼).
EM is scikit-learn's: full covariances, logarithms of densities, k-means++ starts, several of them, a covariance floor.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

import lemmata as lm
from lemmata.theories.group_imbalance.data import Mixture, draw_data, draw_sample, draw_world
from lemmata.theories.group_imbalance.moments import terms
from lemmata.theories.group_imbalance.network import Inputs
from lemmata.theories.group_imbalance.setting import Setting
from lemmata.theories.group_imbalance.studies import study

Array = np.ndarray


class Estimate(NamedTuple):
    """An estimated mixture, the mean log-likelihood of a sample, and whether EM had settled."""

    mixture: Mixture
    log_likelihood: float
    converged: bool
    responsibilities: Float[Array, "samples groups"]


def estimate_mixture(x: Inputs, groups: int, seed: int = 0, restarts: int = 5, floor: float = 1e-6) -> Estimate:
    """EM with `groups` components (the true number, or more), the best of several starts; `floor` is added to every
    variance, so that no component collapses onto a point. One thread: several wait for each other ten times as long."""
    from sklearn.mixture import GaussianMixture
    from threadpoolctl import threadpool_limits

    if not np.isfinite(x).all():
        raise lm.UserError("The samples of a mixture must be finite numbers.")
    if groups < 1 or len(x) < 2 * groups:
        raise lm.UserError(f"groups = {groups} is not allowed: it is from 1 to half of the {len(x)} samples.")
    how: Any = {"n_init": restarts, "reg_covar": floor, "max_iter": 1000, "tol": 1e-6, "random_state": seed}
    with threadpool_limits(1):
        model: Any = GaussianMixture(groups, init_params="k-means++", **how).fit(x)
        score, members = float(model.score(x)), model.predict_proba(x)
    spread = (model.covariances_ + model.covariances_.swapaxes(1, 2)) / 2
    mixture = Mixture(model.weights_ / model.weights_.sum(), model.means_, spread)
    return Estimate(mixture, score, bool(model.converged_), members)


def known_mixture(x: Inputs, members: Int[Array, " samples"], floor: float = 0.0) -> Mixture:
    """Fractions, means and covariances (plus `floor` on each variance) of groups that are known, numbered from 0."""
    parts = [x[members == group] for group in range(int(members.max()) + 1)]
    for group, part in enumerate(parts, start=1):
        if len(part) < 2:
            raise lm.UserError(f"Group {group} has {len(part)} samples; a covariance needs at least 2.")
    centred = [part - part.mean(0) for part in parts]
    spread = np.stack([part.T @ part / len(part) for part in centred]) + floor * np.eye(x.shape[1])
    return Mixture(np.array([len(part) / len(x) for part in parts]), np.stack([p.mean(0) for p in parts]), spread)


def match_groups(estimate: Mixture, truth: Mixture) -> Int[Array, " groups"]:
    """For every group of `truth` the component of `estimate` that it is, by assignment on means and covariances; of
    more components than groups the others are left over."""
    from scipy.optimize import linear_sum_assignment

    gap = truth.means[:, None] - estimate.means[None]
    spread = truth.covariances[:, None] - estimate.covariances[None]
    return linear_sum_assignment((gap**2).sum(-1) + (spread**2).sum((-1, -2)))[1]


def mixture_error(estimate: Mixture, truth: Mixture) -> float:
    """The largest of |λ̂ - λ|, ‖μ̂ - μ‖ and ‖Σ̂ - Σ‖ over matched groups."""
    at = match_groups(estimate, truth)
    weights = abs(estimate.weights[at] - truth.weights).max()
    means = np.linalg.norm(estimate.means[at] - truth.means, axis=1).max()
    spreads = np.linalg.norm(estimate.covariances[at] - truth.covariances, 2, axis=(1, 2)).max()
    return float(max(weights, means, spreads))


def density_error(estimate: Mixture, truth: Mixture, x: Inputs) -> float:
    """KL(p ‖ p̂) as the mean of log p - log p̂ over points drawn from `truth`; it needs no matching."""
    return float((terms(truth, x).log_density - terms(estimate, x).log_density).mean())


@study(
    lm.Variable("error", ("components",), "", "largest error of a weight, a mean or a covariance, groups matched"),
    lm.Variable("density_error", ("components",), "KL(p ‖ p̂)", "divergence of the estimated density, on test points"),
    labels={"components": ("true number", "one too many")},
)
def estimation(setting: Setting, seed: int) -> dict[str, Any]:
    """EM on the inputs of one draw, with the true number of components and with one more."""
    world = draw_world(setting, seed)
    x, truth = draw_data(setting, world, seed).x, world.mixture
    points = draw_sample(truth, world.truth, setting.test_points, seed, "test").x
    found = [estimate_mixture(x, truth.groups + more, seed, restarts=2).mixture for more in (0, 1)]
    errors = [(mixture_error(each, truth), density_error(each, truth, points)) for each in found]
    return dict(zip(("error", "density_error"), np.transpose(errors), strict=True))
