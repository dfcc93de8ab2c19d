"""What more samples of a group do to every group's risk: the theory's predictor at the fitted model.

The model is the theory's with one neuron (logistic regression). With N = Σ n_g F_g the theory says that the risk of
group l is its floor plus tr(F_l N⁻¹)/2, so m more samples of group g change it by ½ tr(F_l (N + m F_g)⁻¹) less
½ tr(F_l N⁻¹): never upwards. That takes for granted that one W* serves every group. Where it does not, the gradients
b_l of the groups at the fit are not zero, and more of group g also *shifts* the fit, by -m (N + m F_g)⁻¹ b_g, towards
it and perhaps away from the others. Estimated gradients carry noise, whose part in each product is taken off; and the
noise J_l of a row's gradient is F_l only where the model is right, so the variance of the fit is N⁻¹ (Σ n_g J_g) N⁻¹.
Both belong to the shift. Prediction = theory + shift.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from lemmata.theories.group_imbalance.network import SIGMOID

RIDGE = 1.0
"""Penalty ½ RIDGE ‖w‖² on the sum of the losses (not on the constant): as much as one sample knows."""
Array = np.ndarray


def fit(x: Float[Array, "rows inputs"], y: Float[Array, " rows"], start: Array | None = None) -> Array:
    """The minimum of the summed loss and the small ridge, by damped Newton steps."""
    w = np.zeros(x.shape[1]) if start is None else start
    penalty = ridge(x.shape[1])
    summed = lambda w: float(losses(w, x, y).sum() + (penalty * w * w).sum() / 2)  # noqa: E731
    value = summed(w)
    for _ in range(50):
        p = SIGMOID.value(x @ w)
        slope = x.T @ (p - y) + penalty * w
        curve = (x * (p * (1 - p))[:, None]).T @ x + np.diag(penalty + 1e-9)
        move = np.linalg.solve(curve, slope)
        if slope @ move < 1e-9:
            break
        scale = 1.0
        while (after := summed(w - scale * move)) > value and scale > 1e-6:
            scale /= 2
        w, value = w - scale * move, after
    return w


def ridge(inputs: int) -> Float[Array, " inputs"]:
    return np.where(np.arange(inputs) == 0, 0.0, RIDGE)


def losses(w: Array, x: Array, y: Array) -> Float[Array, " rows"]:
    """ℓ(w; x, y) of every row."""
    return np.logaddexp(0.0, -(2 * y - 1) * (x @ w))


class Fitted(NamedTuple):
    """Counts n_l, information F_l and gradient ĝ_l of every group at a fit."""

    counts: Float[Array, " groups"]
    information: Float[Array, "groups inputs inputs"]
    gradients: Float[Array, "groups inputs"]
    noise: Float[Array, "groups inputs inputs"]
    """J_l: the covariance of one row's gradient, F_l where the model is right."""

    @property
    def total(self) -> Float[Array, "inputs inputs"]:
        """N = Σ n_g F_g and the ridge."""
        known = np.einsum("g,gij->ij", self.counts, self.information)
        return known + np.diag(ridge(len(known)) + 1e-9)


def fitted(w: Array, x: Array, y: Array, members: Int[Array, " rows"], groups: int) -> Fitted:
    """Sums over the rows of each group."""
    p = SIGMOID.value(x @ w)
    parts = [members == group for group in range(groups)]
    gradients = np.stack([x[mine].T @ (p - y)[mine] / mine.sum() for mine in parts])
    information, squares = (
        np.stack([(x[mine] * weights[mine, None]).T @ x[mine] / mine.sum() for mine in parts])
        for weights in (p * (1 - p), (p - y) ** 2)
    )
    noise = squares - gradients[:, :, None] * gradients[:, None, :]
    return Fitted(np.array([mine.sum() for mine in parts], float), information, gradients, noise)


class Change(NamedTuple):
    """Of the risk of every group: by the theory, and by the shift of the fit."""

    theory: Float[Array, " groups"]
    shift: Float[Array, " groups"]

    @property
    def both(self) -> Float[Array, " groups"]:
        return self.theory + self.shift


def change(at: Fitted, group: int, more: float) -> Change:
    """What `more` samples of a group do to the risk of every group."""
    F, J, n = at.information, at.noise, at.counts
    before = np.linalg.inv(at.total)
    after = np.linalg.inv(at.total + more * F[group])
    theory = np.einsum("lij,ji->l", F, after - before) / 2
    # E ĝ_l ĝ_gᵀ = b_l b_gᵀ + Cov_l: products of estimated gradients less the noise that they bring
    whole = np.einsum("g,gij->ij", n, J)
    noise = F @ (before @ whole @ before) @ F[group] - J @ before @ F[group] - F @ before @ J[group]
    noise[group] += J[group] / n[group]
    quadratic = more**2 * after @ F @ after / 2
    shift = at.gradients[group] @ (quadratic @ at.gradients[group]).T
    shift -= np.einsum("lij,ji->l", quadratic, noise[group])
    shift -= more * at.gradients @ (after @ at.gradients[group])
    shift += more * np.einsum("ij,lji->l", after, noise)
    # the variance of the fit with J in place of F, where the model is not right
    variance = after @ (whole + more * J[group]) @ after - before @ whole @ before
    shift += np.einsum("lij,ji->l", F, variance - (after - before)) / 2
    return Change(theory, shift)


def spread_of_changes(
    w: Array, x: Array, y: Array, members: Array, at: Fitted, more: float, seed: int, draws: int = 100, blocks: int = 20
) -> Float[Array, "judged groups"]:
    """Standard errors [l, g] of what `more` samples of g do to l; the last l is the average over all rows.

    A bootstrap of blocks of rows inside every group. The fit follows the weights of a draw by one Newton step.
    """
    rng = np.random.default_rng(seed)
    groups = len(at.counts)
    parts = []
    for group in range(groups):
        mine = np.flatnonzero(members == group)
        place = np.arange(len(mine)) * blocks // len(mine)
        parts.append(fitted(w, x[mine], y[mine], place, blocks))
    found = []
    for _ in range(draws):
        weights = [rng.multinomial(blocks, np.full(blocks, 1 / blocks)) * part.counts for part in parts]
        pairs = [(a / a.sum(), part) for a, part in zip(weights, parts, strict=True)]
        information = np.stack([np.einsum("b,bij->ij", a, part.information) for a, part in pairs])
        gradients = np.stack([a @ part.gradients for a, part in pairs])
        drawn = Fitted(at.counts, information, gradients, at.noise)
        move = -np.linalg.solve(drawn.total, at.counts @ gradients + ridge(x.shape[1]) * w)
        drawn = drawn._replace(gradients=gradients + information @ move)
        each = [change(drawn, group, more).both for group in range(groups)]
        found.append([np.append(one, at.counts @ one / at.counts.sum()) for one in each])
    return np.std(found, axis=0, ddof=1).T
