"""What is looked at along a run and read off its end (section 5), and every variable of the training simulation."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.activations import ACTIVATIONS
from lemmata.networks.kernels import Spectrum, spectrum
from lemmata.theories.exp_regression import decomposition, network
from lemmata.theories.exp_regression.bounds import ln_drift, ln_radius
from lemmata.theories.exp_regression.data import Data
from lemmata.theories.exp_regression.decomposition import Step
from lemmata.theories.exp_regression.network import ByPoint, Constants, Head, Points, Scalar, Vector, Weights
from lemmata.theories.exp_regression.setting import Setting

NONE = -1e37
"""Not judged or not reached yet: finite, in float32 too, since a state that is not finite counts as diverged."""
BROKEN = 3e37
"""A ratio that was not a number: larger than any other, so that a running maximum keeps it."""
SMALL_STEP = 0.01
"""The η ‖Δw_r‖ of Lemma 7.4."""
RATES = ("H(0)", "limit", "H(0), 3 m η λ", "limit, 3 m η λ")
"""Whose λ, and which rate, ‖e(t)‖² is compared with: 1 - m η λ/2 as claimed, or 1 - 3 m η λ (for controls)."""


class Watched(NamedTuple):
    """What is looked at along training, at every step: the largest ‖w_r(s) - w_r(0)‖ up to now, R of the bounds; the
    first step with ‖e‖² ≤ ε; the largest ‖e‖² up to now; ‖e‖² at the step `compare_step` (NONE: not yet); and running
    maxima of what `judge_step` gives, empty unless track=bounds."""

    drift: Scalar
    reached: Scalar
    peak: Scalar
    compared: Scalar
    extremes: dict[str, Array]


class State(NamedTuple):
    """A run between two steps, of which `done` are taken; the values are φ(<w_r, x_i>)."""

    weights: Weights
    values: ByPoint
    outputs: Vector
    done: Scalar
    watched: Watched
    stopped: Array
    diverged: Array


def keep_ratio(ratio: Array, moves: Array) -> Array:
    """A ratio as a running maximum keeps it, finite; 0/0 in a step of size 0 is not judged, any other is broken."""
    undefined = jnp.where(moves, BROKEN, NONE)
    return jnp.where(jnp.isnan(ratio), undefined, jnp.clip(ratio, NONE, -NONE))


def judge_step(
    head: Head, data: Data, constants: Constants, step: Step, R: Scalar, drift: Scalar, t: Array | int
) -> dict[str, Array]:
    """Left side / right side of every bound at step t, NONE where its hypothesis fails; R is the largest drift up to
    step t, `drift` that after it."""
    points, width = data.x.shape[0], head.width
    B = constants.largest_projection
    now = network.kernel(head, step.values, data.x)
    least = jnp.linalg.eigvalsh(now)[0]
    terms = decomposition.step_terms(head, data.x, data.y, step, now, constants.eta)
    ratios = decomposition.step_bounds(terms, head, points, constants.eta, B, R)
    length = constants.eta * terms.steepest
    lam = constants.limit.least
    short = length <= SMALL_STEP
    allowed = {
        "second_order_printed": (terms.square <= points) & (points <= 1.9 * jnp.exp(B - 3 * R)),
        "third_order": short,
        "third_order_stated": short & (B >= 0.35 + R),
    }
    error = jnp.sqrt(jnp.sum(constants.residual**2))
    # D for κ = 1 has m where in general κ m stands
    bound = jnp.exp(ln_drift(points, head.scale * width, jnp.maximum(lam, jnp.finfo(lam.dtype).tiny), B, drift, error))
    # the bound on ‖e(t+1)‖² is judged in logarithms: its right side underflows long before rounding is reached
    start = constants.start.least
    decay = constants.rate * jnp.stack([start, lam, start, lam]) * jnp.array([0.5, 0.5, 3, 3])
    claimed = (t + 1) * jnp.log1p(-jnp.minimum(decay, 1.0))
    achieved = jnp.log(terms.next_square) - jnp.log(jnp.sum(constants.residual**2))
    judged = {
        **decomposition.decomposition_errors(terms, width),
        **{name: jnp.where(allowed.get(name, True), ratio, NONE) for name, ratio in ratios.items()},
        "first_order": jnp.where(least >= lam / 2, constants.rate * lam * terms.square / -terms.first, NONE),
        "step_length": length,
        "error_norm": jnp.sqrt(terms.square / points),
        "drift_ratio": drift / bound,
        "contraction": jnp.exp(achieved - claimed),
        "step_contraction": terms.next_square / terms.square,
        "kernel_loss": -least / lam,
    }
    return {name: keep_ratio(ratio, constants.eta > 0) for name, ratio in judged.items()}


CONDITIONAL = ("first_order", "second_order_printed", "third_order", "third_order_stated")
"""Bounds with a hypothesis, which may hold at no step of a run; the others are judged at every step."""


def read_extreme(name: str, value: Array) -> Array:
    """What was kept: NaN where something was not a number or nothing was judged, -inf where no hypothesis held."""
    value = jnp.where(value >= BROKEN, jnp.nan, jnp.where(value >= -NONE, jnp.inf, value))
    return jnp.where(value <= NONE, -jnp.inf if name in CONDITIONAL else jnp.nan, value)


def lazy_drift(head: Head, slopes: ByPoint, x: Points, missing: Vector, start: Spectrum) -> Weights:
    """Where the linearised dynamics takes the weights: a_r / (κ m) Σ_i (H(0)^-1 (y - F(0)))_i φ'(<w_r(0), x_i>) x_i."""
    dual = start.vectors @ ((start.vectors.T @ missing) / start.values)
    return head.signs * (x.T @ (dual[:, None] * slopes)) / (head.scale * head.width)


def linear_residuals(start: Spectrum, rate: Scalar, residual: Vector, step: Array) -> Float[Array, "*steps points"]:
    """<q_k, e(t)> of e(t) = (I - κ² m η H(0))^t e(0), by eigenvector of H(0); rate = κ² m η."""
    modes = start.vectors.T @ residual
    return (1 - rate * start.values) ** jnp.asarray(step)[..., None] * modes


def linear_square(start: Spectrum, rate: Scalar, residual: Vector, step: Array) -> Float[Array, " *steps"]:
    """‖(I - κ² m η H(0))^t e(0)‖²."""
    return jnp.sum(linear_residuals(start, rate, residual, step) ** 2, axis=-1)


@lm.piece("activation", once=True)
def summarise(
    problem: Setting, data: Data, before: Weights, head: Head, constants: Constants, state: State, steps: Array
) -> dict[str, Array]:
    """What is read off the end of a run: its first passage, its peak, the lazy and the linearised prediction (at
    `steps`, those of the records)."""
    activation = ACTIVATIONS[problem.activation]
    after, watched = state.weights, state.watched
    square = jnp.sum((state.outputs - data.y) ** 2)
    tiny = jnp.finfo(constants.residual.dtype).tiny
    # targets that are all 0 are fitted from the start; every ratio is then 0
    initial = jnp.maximum(jnp.sum(constants.residual**2), tiny)
    slopes, end_slopes = (activation.slope(network.project(weights, data.x)) for weights in (before, after))
    predicted = lazy_drift(head, slopes, data.x, -constants.residual, constants.start)
    linear = linear_square(constants.start, constants.rate, constants.residual, jnp.asarray(problem.compare_step))
    at_records = linear_square(constants.start, constants.rate, constants.residual, steps)
    # a sum of geometric terms is convex in t: its peak is at an end
    growth = 2 * constants.steps * jnp.maximum(jnp.log(jnp.abs(1 - constants.rate * constants.start.values)), -700.0)
    weight = (constants.start.vectors.T @ constants.residual) ** 2 / initial
    ln_final = jax.scipy.special.logsumexp(growth, b=weight)
    points, lam = data.x.shape[0], jnp.maximum(constants.limit.least, tiny)
    radius = jnp.exp(ln_radius(points, lam, constants.B))
    return {
        "linear_square": jnp.minimum(at_records, jnp.finfo(at_records.dtype).max),
        "diverged": state.diverged * 1.0,
        "last_step": state.done,
        "width": head.width,
        "reached_step": jnp.where(watched.reached < 0, jnp.inf, watched.reached),
        "predicted_steps": constants.predicted_steps,
        "final_square": square,
        "initial_square": jnp.sum(constants.residual**2),
        "initial_output": jnp.sum((constants.residual + data.y) ** 2),
        "peak_ratio": watched.peak / initial,
        "final_ratio": square / initial,
        "linear_final_ratio": jnp.exp(jnp.clip(ln_final, -700.0, 700.0)),
        "eta": constants.eta,
        "rate": constants.rate,
        "projection": constants.largest_projection,
        "limit_least": constants.limit.least,
        "limit_largest": constants.limit.largest,
        "limit_condition": constants.limit.condition,
        "singular": constants.limit.singular * 1.0,
        "start_least": constants.start.least,
        "start_largest": constants.start.largest,
        "end_largest": jnp.linalg.eigvalsh(network.kernel(head, end_slopes, data.x))[-1],
        "kernel_error": jnp.linalg.norm(constants.kernel - constants.limit_kernel),
        "largest_drift": watched.drift,
        "ball_radius": radius,
        "drift_bound": jnp.exp(ln_drift(points, head.width, lam, constants.B, radius, jnp.sqrt(initial))),
        "lazy_error": jnp.linalg.norm(after - before - predicted) / jnp.linalg.norm(predicted),
        "linear_deviation": jnp.where(watched.compared < 0, jnp.nan, jnp.abs(watched.compared / linear - 1)),
    }


@lm.piece(once=True)
def judge_end(
    problem: Setting, key: jax.Array, data: Data, head: Head, constants: Constants, state: State
) -> dict[str, Array]:
    """Q10 at the final weights, and the broken case of Q9; the running extremes with absent ones as NaN."""
    values = jnp.exp(network.project(state.weights, data.x))
    shape = values.shape
    uniform, signs = jax.random.split(key)
    masks = (jax.random.uniform(uniform, shape, minval=-1), jax.random.rademacher(signs, shape, values.dtype))
    bound = jnp.exp(2 * (constants.largest_projection + state.watched.drift))
    asymmetric = [decomposition.asymmetric_kernel(head, values, data.x, p) for p in masks]
    now = network.kernel(head, values, data.x)
    lowest = spectrum(now)
    vector = lowest.vectors[:, 0]
    extremes = {name: read_extreme(name, value) for name, value in state.watched.extremes.items()}
    kernel_loss = extremes.pop("kernel_loss")
    # Q9 with e := lowest eigenvector and λ := 2.1 λ_min(H): m η λ ‖e‖² / (2 m η eᵀ H e)
    return {
        **extremes,
        "kernel_kept": jnp.minimum(-kernel_loss, lowest.least / constants.limit.least),
        "asymmetric": jnp.stack([jnp.max(jnp.abs(each)) for each in asymmetric]) / bound,
        "first_order_defect": 2.1 * lowest.least / (2 * vector @ now @ vector),
    }


@lm.piece("track", once=True)
def follow_modes(problem: Setting, data: Data, constants: Constants, steps: Array, outputs: Array) -> dict[str, Array]:
    """The residuals <q_k, e(t)> along the eigenvectors of H(0), measured and of the linearised dynamics."""
    measured = (outputs - data.y) @ constants.start.vectors
    predicted = linear_residuals(constants.start, constants.rate, constants.residual, steps)
    return {"mode_residual": measured, "linear_mode_residual": predicted, "mode_value": constants.start.values}


RECORD = ("record",)
JUDGED = (
    lm.Variable("decomposition", (), "", "Q8: largest error of ‖e(t+1)‖² = ‖e‖² + C_1 + C_2 + C_3, relative", True),
    lm.Variable("decomposition_first", (), "", "the same with C_1 as printed, without m", True),
    lm.Variable("decomposition_second", (), "", "the same with C_2 as printed, of opposite sign", True),
    lm.Variable("first_order", (), "", "Q9: largest mηλ‖e‖²/(-C_1) over steps with λ_min(H(t)) ≥ λ/2", True, True),
    lm.Variable("first_order_defect", (), "", "Q9 with e the lowest eigenvector and 2.1 times its eigenvalue", True),
    lm.Variable("second_order", (), "", "Q11: largest C_2 / corrected bound", True),
    lm.Variable(
        "second_order_printed", (), "", "Q11: the same, printed bound, ‖e‖ ≤ √n and n ≤ 1.9e^{B-3R}", True, True
    ),
    lm.Variable("third_order", (), "", "Q12: largest C_3 / bound, over steps with η‖Δw_r‖ ≤ 0.01", True, True),
    lm.Variable(
        "third_order_stated", (), "", "Q12: largest C_3 / stated bound, over those with B ≥ 0.35 + R", True, True
    ),
    lm.Variable("gradient_norm", (), "", "Q13: largest ‖Δw_r‖ / bound", True),
    lm.Variable("step_length", (), "max η‖Δw_r‖", "Q14: longest step of any weight", True),
    lm.Variable("error_norm", (), "max ‖e‖/√n", "Q14: largest error", True),
    lm.Variable("drift_ratio", (), "", "Q15: largest drift / D", True),
    lm.Variable("contraction", ("rate_of",), "", "Q16: largest ‖e(t)‖² / (1-mηλ/2)ᵗ‖e(0)‖², by λ and rate", True, True),
    lm.Variable("step_contraction", (), "", "largest ‖e(t+1)‖²/‖e(t)‖² of one step (claimed: at most 1-mηλ/2)", True),
    lm.Variable("kernel_kept", (), "", "smallest λ_min(H(t))/λ over all steps", True),
    lm.Variable("asymmetric", ("mask",), "", "Q10: largest entry of H_asy / bound at the final weights"),
)
VARIABLES = (
    *lm.RUN,
    lm.Variable("square", RECORD, "‖e(t)‖²", "squared error"),
    lm.Variable("linear_square", RECORD, "‖(I-mηH(0))ᵗe(0)‖²", "squared error of the linearised dynamics"),
    lm.Variable("kernel_least", RECORD, "λ_min(H(t))", "least eigenvalue of the kernel"),
    lm.Variable("kernel_largest", RECORD, "λ_max(H(t))", "largest eigenvalue of the kernel"),
    lm.Variable("kernel_change", RECORD, "‖H(t)-H(0)‖_F", "how far the kernel has moved"),
    lm.Variable("drift", ("record", "statistic"), "‖w_r(t)-w_r(0)‖", "distance of the weights from their start"),
    lm.Variable("outputs", ("record", "point"), "F(t)", "outputs"),
    lm.Variable("terms", ("record", "term"), "C_1, C_2, C_3", "terms of the next step's change of ‖e‖²", True),
    lm.Variable("second_order_norm", RECORD, "‖v_2‖", "second-order change of the outputs in it", True),
    lm.Variable("second_order_change", ("record", "point"), "v_2", "the same by point (track=points)", True),
    lm.Variable("mode_residual", ("record", "mode"), "<q_k, e(t)>", "residual along the eigenvectors of H(0)", True),
    lm.Variable("linear_mode_residual", ("record", "mode"), "(1-mηλ_k)ᵗ<q_k, e(0)>", "the same, linearised", True),
    lm.Variable("mode_value", ("mode",), "λ_k(H(0))", "eigenvalues of H(0), ascending"),
    lm.Variable("reached_step", (), "", "first step with ‖e‖² ≤ ε (inf: never)"),
    lm.Variable(
        "predicted_steps", (), "T", "steps that suffice by Q17, λ of the limit kernel (inf: it is singular)", never=True
    ),
    lm.Variable("final_square", (), "", "squared error at the end"),
    lm.Variable("initial_square", (), "‖e(0)‖²", "squared error at the start"),
    lm.Variable("initial_output", (), "‖F(0)‖²", "squared norm of the initial outputs"),
    lm.Variable("peak_ratio", (), "", "largest ‖e(t)‖² / ‖e(0)‖² over all steps"),
    lm.Variable("final_ratio", (), "", "‖e‖² at the end / ‖e(0)‖²"),
    lm.Variable("linear_final_ratio", (), "", "the same of the linearised dynamics, after all steps"),
    lm.Variable("width", (), "m", "number of neurons"),
    lm.Variable("eta", (), "η", "step size"),
    lm.Variable("rate", (), "κ²mη", "rate of the linearised dynamics"),
    lm.Variable("projection", (), "B", "largest initial |<w_r, x_i>|"),
    lm.Variable("limit_least", (), "λ", "least eigenvalue of the infinite-width kernel"),
    lm.Variable("limit_largest", (), "", "largest eigenvalue of the infinite-width kernel"),
    lm.Variable("limit_condition", (), "", "condition number of the infinite-width kernel (inf: singular)", never=True),
    lm.Variable("singular", (), "", "1 if λ ≤ 1e-12 λ_max: the theory says nothing"),
    lm.Variable("start_least", (), "λ_min(H(0))", "least eigenvalue of the initial kernel"),
    lm.Variable("start_largest", (), "λ_max(H(0))", "largest eigenvalue of the initial kernel"),
    lm.Variable("end_largest", (), "λ_max(H(T))", "largest eigenvalue of the final kernel"),
    lm.Variable("kernel_error", (), "‖H(0)-H^cts‖_F", "distance of the initial kernel from its limit"),
    lm.Variable("largest_drift", (), "max ‖w_r(t)-w_r(0)‖", "largest distance of a weight from its start, ever"),
    lm.Variable("ball_radius", (), "R", "0.01 λ/(n e^{2B}) with the B of `projection_source`"),
    lm.Variable("drift_bound", (), "D", "bound on the drift with the B of `projection_source` and that R", never=True),
    lm.Variable("lazy_error", (), "", "relative Frobenius error of the lazy prediction of the final weights", True),
    lm.Variable(
        "linear_deviation", (), "", "relative deviation of ‖e‖² from its linearised value at compare_step", True
    ),
    *JUDGED,
    lm.Variable("flow_error", ("formula",), "", "Q21: largest error of <w_r, x> against gradient flow"),
    lm.Variable("flow_across", (), "", "Q21: largest part of a weight's path orthogonal to x"),
    lm.Variable("separate_difference", (), "", "largest difference from separate runs of the points after 50 steps"),
)
LABELS = {
    **{"statistic": ("max", "mean", "median"), "rate_of": RATES, "mask": ("uniform", "signs")},
    **{"formula": ("exact", "a_r dropped"), "term": ("C_1", "C_2", "C_3")},
}
