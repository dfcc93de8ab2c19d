"""Gradient descent on L = ½ ‖F - y‖² (section 4), with every bound along the run watched at every step.

One run: draw, initialise, find its constants (kernels, B, step size, predicted T), train, compare. `track` says what a
step looks at: the loss alone, or every bound of Q8-Q16 as a running extreme of left side / right side. Bounds are
judged up to the first step with ‖e‖² < 1e-20, below which there is only rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.lab.errors import UserError
from lemmata.lab.setting import Problem
from lemmata.lab.simulation import Variable, piece, simulation, stream
from lemmata.lab.training import Run, loop, record_steps
from lemmata.networks.activations import ACTIVATIONS
from lemmata.networks.kernels import Spectrum, kernel_drift, limit_kernel, spectrum
from lemmata.theories.exp_regression.bounds import ln_drift, ln_radius, ln_step_size, projection_bound, step_count
from lemmata.theories.exp_regression.data import Data, draw
from lemmata.theories.exp_regression.flow import compare_flow, compare_separate
from lemmata.theories.exp_regression.network import (
    Head,
    Weights,
    initialise,
    kernel,
    largest_projection,
    lengths,
    loss_gradient,
    project,
    read_out,
)
from lemmata.theories.exp_regression.probes import (
    asymmetric_kernel,
    decomposition_errors,
    lazy_drift,
    linear_residuals,
    linear_square,
    step_bounds,
    step_terms,
)
from lemmata.theories.exp_regression.setting import Setting

GUARD = 1e8
"""A run diverges when ‖e‖² exceeds this multiple of its start, or is not finite."""
FLOOR = 1e-20
SMALL_STEP = 0.01
"""The η ‖Δw_r‖ of Lemma 7.4."""

RATES = ("H(0)", "limit", "H(0), 3 m η λ", "limit, 3 m η λ")
"""Whose λ, and which rate, ‖e(t)‖² is compared with: 1 - m η λ/2 as claimed, or 1 - 3 m η λ (for controls)."""
MASKS = ("uniform", "signs")


NONE = -1e300
"""Not judged or not reached yet: a finite number, since a state that is not finite counts as diverged."""


class Constants(NamedTuple):
    """What is fixed before the first step."""

    start: Spectrum
    """of H(0)."""
    limit: Spectrum
    """of H^cts."""
    kernel: Float[Array, "points points"]
    limit_kernel: Float[Array, "points points"]
    projections: Float[Array, ""]
    """The empirical B."""
    eta: Float[Array, ""]
    rate: Float[Array, ""]
    """κ² m η."""
    residual: Float[Array, " points"]
    """e(0)."""
    document: Float[Array, ""]
    """B by the setting's source."""
    predicted: Float[Array, ""]
    """T of Q17 with λ of H^cts; inf where the kernel is singular."""
    steps: Array


@piece("activation", "step", "source", "horizon", once=True)
def find_constants(problem: Problem, data: Data, weights: Weights, head: Head) -> Constants:
    """Kernels at width m and in the limit, the empirical B, the step size by its mode and the horizon.

    On a numerically singular kernel (λ ≤ 1e-12 λ_max) the document's step does not exist: η = 0 and T is infinite.
    """
    activation = ACTIVATIONS[problem.activation]
    projections = project(weights, data.x)
    values = activation.value(projections)
    start_kernel = kernel(head, activation.slope(projections), data.x)
    limiting = limit_kernel(problem.activation, data.x, problem.weight_scale)
    start, limit = spectrum(start_kernel), spectrum(limiting)
    points, width = data.x.shape[0], head.width
    largest = largest_projection(head, projections)
    B = projection_bound(
        points, width, problem.failure_probability, problem.weight_scale, problem.tail_constant, problem.source, largest
    )
    if problem.step == "practical":
        eta = problem.step_constant / (head.scale**2 * width * start.largest)
    elif problem.step == "theory":
        sound = jnp.where(limit.singular, 1.0, limit.least)
        eta = jnp.where(limit.singular, 0.0, jnp.exp(ln_step_size(points, width, sound, B)))
    else:
        eta = jnp.asarray(problem.step_size)
    rate = head.scale**2 * width * eta
    residual = read_out(head, values) - data.y
    fast = jnp.where(limit.singular | (rate == 0), 1.0, rate * limit.least)
    predicted = step_count(1.0, fast, jnp.sum(residual**2), problem.tolerance)
    predicted = jnp.where(limit.singular | (rate == 0), jnp.inf, predicted)
    steps = jnp.asarray(problem.steps)
    if problem.horizon == "predicted":
        steps = jnp.clip(jnp.minimum(predicted, problem.steps).astype(int), problem.least_steps, problem.steps)
    return Constants(start, limit, start_kernel, limiting, largest, eta, rate, residual, B, predicted, steps)


class State(NamedTuple):
    """A run between two steps. `extremes` are running maxima of what `_judged` gives."""

    weights: Weights
    values: Float[Array, "points neurons"]
    """φ(<w_r, x_i>)."""
    outputs: Float[Array, " points"]
    done: Float[Array, ""]
    """Steps taken."""
    drift: Float[Array, ""]
    """Largest ‖w_r(s) - w_r(0)‖ up to now: the R of the bounds."""
    hit: Float[Array, ""]
    """First step with ‖e‖² ≤ ε (NONE: not yet)."""
    peak: Float[Array, ""]
    compared: Float[Array, ""]
    """‖e‖² at the step `compare_step`."""
    stopped: Array
    diverged: Array
    extremes: dict[str, Array]


def _judged(
    head: Head, data: Data, known: Constants, state: State, slopes: Array, gradient: Weights, outputs: Array, t: Array
) -> dict[str, Array]:
    """Left side / right side of every bound at step t; NONE where its hypothesis fails."""
    points, width = data.x.shape[0], head.width
    B, R = known.projections, state.drift
    now = kernel(head, slopes, data.x)
    least = jnp.linalg.eigvalsh(now)[0]
    terms = step_terms(head, data.x, data.y, state.values, state.outputs, now, gradient, known.eta, outputs)
    ratios = step_bounds(terms, head, points, known.eta, B, R)
    length = known.eta * terms.steepest
    lam = known.limit.least
    short = length <= SMALL_STEP
    allowed = {
        "second_order_printed": (terms.square <= points) & (points <= 1.9 * jnp.exp(B - 3 * R)),
        "third_order": short,
        "third_order_stated": short & (B >= 0.35 + R),
    }
    error = jnp.sqrt(jnp.sum(known.residual**2))
    # D for κ = 1 has m where in general κ m stands
    bound = jnp.exp(ln_drift(points, head.scale * width, jnp.maximum(lam, 1e-300), B, R, error))
    # the bound on ‖e(t+1)‖² is judged in logarithms: its right side underflows long before rounding is reached
    decay = known.rate * jnp.stack([known.start.least, lam, known.start.least, lam]) * jnp.array([0.5, 0.5, 3, 3])
    claimed = (t + 1) * jnp.log1p(-jnp.minimum(decay, 1.0))
    achieved = jnp.log(terms.next_square) - jnp.log(jnp.sum(known.residual**2))
    return {
        **decomposition_errors(terms, width),
        **{name: jnp.where(allowed.get(name, True), ratio, NONE) for name, ratio in ratios.items()},
        "first_order": jnp.where(least >= lam / 2, known.rate * lam * terms.square / -terms.first, NONE),
        "step_length": length,
        "error_norm": jnp.sqrt(terms.square / points),
        "drift_ratio": R / bound,
        "contraction": jnp.exp(achieved - claimed),
        "kernel_loss": -least / lam,
    }


@piece("activation", "track", "stop", "records")
def train(problem: Problem, data: Data, weights: Weights, head: Head, known: Constants) -> Run:
    """Full-batch gradient descent: w_r(t+1) = w_r(t) - η Δw_r(t)."""
    activation = ACTIVATIONS[problem.activation]
    initial = jnp.sum(known.residual**2)
    wanted = {"tolerance": problem.tolerance, "rounding": FLOOR, "never": -1.0}[problem.stop]

    def forward(weights: Weights) -> tuple[Array, Array]:
        values = activation.value(project(weights, data.x))
        return values, read_out(head, values)

    def slopes_of(state: State) -> Array:
        return state.values if problem.activation == "exp" else activation.slope(project(state.weights, data.x))

    def judge(t: Array, state: State, slopes: Array, gradient: Weights, outputs: Array) -> dict[str, Array]:
        if problem.track != "bounds":
            return {}
        return _judged(head, data, known, state, slopes, gradient, outputs, t)

    def advance(t: Array, state: State) -> State:
        slopes = slopes_of(state)
        gradient = loss_gradient(head, slopes, data.x, state.outputs - data.y)
        moved = state.weights - problem.trained * known.eta * gradient
        values, outputs = forward(moved)
        square = jnp.sum((outputs - data.y) ** 2)
        # a weight too large for its exponential shows here, before anything that is not finite is kept
        broken = ~(square <= GUARD * initial)
        found = judge(t, state, slopes, gradient, outputs)
        judged = (jnp.sum((state.outputs - data.y) ** 2) >= FLOOR) & ~broken
        extremes = {
            name: jnp.where(judged, jnp.maximum(before, jnp.clip(found[name], NONE, -NONE)), before)
            for name, before in state.extremes.items()
        }  # fmt: skip
        drift = jnp.max(head.used * lengths(moved - weights))
        next_state = State(
            moved,
            values,
            outputs,
            t + 1.0,
            jnp.maximum(state.drift, drift),
            jnp.where((state.hit < 0) & (square <= problem.tolerance), t + 1.0, state.hit),
            jnp.maximum(state.peak, square),
            jnp.where(t + 1 == problem.compare_step, square, state.compared),
            square <= wanted,
            state.diverged,
            extremes,
        )
        frozen = state._replace(stopped=jnp.asarray(True), diverged=jnp.asarray(True))
        return jax.tree.map(lambda bad, good: jnp.where(broken, bad, good), frozen, next_state)

    def step(t: Array, state: State) -> State:
        return jax.lax.cond(state.stopped, lambda: state, lambda: advance(t, state))

    def probe(state: State, previous: State) -> dict[str, Array]:
        moved = lengths(state.weights - weights)
        used = jnp.where(head.used > 0, moved, jnp.nan)
        now = kernel(head, slopes_of(state), data.x)
        eigenvalues = jnp.linalg.eigvalsh(now)
        probed = {
            "step": state.done,
            "square": jnp.sum((state.outputs - data.y) ** 2),
            "kernel_least": eigenvalues[0],
            "kernel_largest": eigenvalues[-1],
            "kernel_change": kernel_drift(now, known.kernel),
            "drift": jnp.stack([jnp.nanmax(used), jnp.nanmean(used), jnp.nanmedian(used)]),
            "stopped": state.stopped * 1.0,
        }
        if problem.track == "points":
            probed["outputs"] = state.outputs
        return probed

    values, outputs = forward(weights)
    zero, no = jnp.zeros(()), jnp.asarray(False)
    unreached = jnp.where(initial <= problem.tolerance, 0.0, NONE)
    begin = State(
        weights, values, outputs, zero, zero, unreached, initial, jnp.asarray(NONE), initial <= wanted, no, {}
    )
    names = jax.eval_shape(lambda s: judge(0, s, slopes_of(s), s.weights, s.outputs), begin)  # pyright: ignore[reportArgumentType]
    begin = begin._replace(extremes={name: jnp.full(s.shape, NONE) for name, s in names.items()})
    at = record_steps(known.steps, problem.records, spacing="log")
    return loop(step, begin, probe, at, stop=lambda probed: probed["stopped"] > 0)


@piece("activation", once=True)
def summarise(
    problem: Problem, data: Data, before: Weights, head: Head, known: Constants, state: State
) -> dict[str, Array]:
    """What is read off the end of a run: its first passage, its peak, the lazy and the linearised prediction."""
    activation = ACTIVATIONS[problem.activation]
    square = jnp.sum((state.outputs - data.y) ** 2)
    initial = jnp.sum(known.residual**2)
    slopes = activation.slope(project(before, data.x))
    end_kernel = kernel(head, activation.slope(project(state.weights, data.x)), data.x)
    predicted = lazy_drift(head, slopes, data.x, -known.residual, known.start)
    moved = state.weights - before
    linear = linear_square(known.start, known.rate, known.residual, jnp.asarray(problem.compare_step))
    # a sum of geometric terms is convex in t: its peak is at an end
    growth = 2 * known.steps * jnp.log(jnp.abs(1 - known.rate * known.start.values))
    weight = (known.start.vectors.T @ known.residual) ** 2 / initial
    ln_final = jax.scipy.special.logsumexp(growth, b=weight)
    points, lam = data.x.shape[0], jnp.maximum(known.limit.least, 1e-300)
    radius = jnp.exp(ln_radius(points, lam, known.document))
    return {
        "hit_step": jnp.where(state.hit < 0, jnp.inf, state.hit),
        "predicted_steps": known.predicted,
        "final_square": square,
        "initial_square": initial,
        "initial_output": jnp.sum((known.residual + data.y) ** 2),
        "peak_ratio": state.peak / initial,
        "final_ratio": square / initial,
        "linear_final_ratio": jnp.exp(jnp.minimum(ln_final, 700.0)),
        "diverged": state.diverged * 1.0,
        "eta": known.eta,
        "rate": known.rate,
        "projection": known.projections,
        "limit_least": known.limit.least,
        "limit_largest": known.limit.largest,
        "limit_condition": known.limit.condition,
        "singular": known.limit.singular * 1.0,
        "start_least": known.start.least,
        "start_largest": known.start.largest,
        "end_largest": jnp.linalg.eigvalsh(end_kernel)[-1],
        "kernel_error": jnp.linalg.norm(known.kernel - known.limit_kernel),
        "largest_drift": state.drift,
        "document_radius": radius,
        "document_drift": jnp.exp(ln_drift(points, head.width, lam, known.document, radius, jnp.sqrt(initial))),
        "lazy_error": jnp.linalg.norm(moved - predicted) / jnp.linalg.norm(predicted),
        "linear_deviation": jnp.where(state.compared < 0, jnp.nan, jnp.abs(state.compared / linear - 1)),
    }


@piece(once=True)
def judge_end(
    problem: Problem, key: jax.Array, data: Data, head: Head, known: Constants, state: State
) -> dict[str, Array]:
    """Q10 at the final weights, and the broken case of Q9; the running extremes with absent ones as NaN."""
    values = jnp.exp(project(state.weights, data.x))
    shape = values.shape
    uniform, signs = jax.random.split(key)
    masks = (jax.random.uniform(uniform, shape, minval=-1), jax.random.rademacher(signs, shape, values.dtype))
    bound = jnp.exp(2 * (known.projections + state.drift))
    asymmetric = jnp.stack([jnp.max(jnp.abs(asymmetric_kernel(head, values, data.x, p))) for p in masks]) / bound
    now = kernel(head, values, data.x)
    lowest = spectrum(now)
    vector = lowest.vectors[:, 0]
    extremes = {
        name: jnp.where(value <= NONE, jnp.nan, jnp.where(value >= -NONE, jnp.inf, value))
        for name, value in state.extremes.items()
    }  # fmt: skip
    kernel_loss = extremes.pop("kernel_loss")
    # Q9 with e := lowest eigenvector and λ := 2.1 λ_min(H): m η λ ‖e‖² / (2 m η eᵀ H e)
    return {
        **extremes,
        "kernel_kept": -kernel_loss,
        "asymmetric": asymmetric,
        "first_order_defect": 2.1 * lowest.least / (2 * vector @ now @ vector),
    }


@piece("track", once=True)
def follow_modes(problem: Problem, data: Data, known: Constants, steps: Array, outputs: Array) -> dict[str, Array]:
    """The residuals <q_k, e(t)> along the eigenvectors of H(0), measured and of the linearised dynamics."""
    measured = (outputs - data.y) @ known.start.vectors
    predicted = linear_residuals(known.start, known.rate, known.residual, steps)
    return {"mode_residual": measured, "linear_mode_residual": predicted, "mode_value": known.start.values}


RECORD = ("record",)

TRAINED = (
    Variable("step", RECORD, "t", "training step of the record"),
    Variable("square", RECORD, "‖e(t)‖²", "squared error"),
    Variable("linear_square", RECORD, "‖(I-mηH(0))ᵗe(0)‖²", "squared error of the linearised dynamics"),
    Variable("kernel_least", RECORD, "λ_min(H(t))", "least eigenvalue of the kernel"),
    Variable("kernel_largest", RECORD, "λ_max(H(t))", "largest eigenvalue of the kernel"),
    Variable("kernel_change", RECORD, "‖H(t)-H(0)‖_F", "how far the kernel has moved"),
    Variable("drift", ("record", "statistic"), "‖w_r(t)-w_r(0)‖", "distance of the weights from their start"),
    Variable("outputs", ("record", "point"), "F(t)", "outputs"),
    Variable("mode_residual", ("record", "mode"), "<q_k, e(t)>", "residual along the eigenvectors of H(0)", True),
    Variable("linear_mode_residual", ("record", "mode"), "(1-mηλ_k)ᵗ<q_k, e(0)>", "the same, linearised", True),
    Variable("mode_value", ("mode",), "λ_k(H(0))", "eigenvalues of H(0), ascending"),
    Variable("hit_step", (), "", "first step with ‖e‖² ≤ ε (inf: never)"),
    Variable("predicted_steps", (), "T", "steps that suffice by Q17, λ of the limit kernel (inf: it is singular)"),
    Variable("final_square", (), "", "squared error at the end"),
    Variable("initial_square", (), "‖e(0)‖²", "squared error at the start"),
    Variable("initial_output", (), "‖F(0)‖²", "squared norm of the initial outputs"),
    Variable("peak_ratio", (), "", "largest ‖e(t)‖² / ‖e(0)‖² over all steps"),
    Variable("final_ratio", (), "", "‖e‖² at the end / ‖e(0)‖²"),
    Variable("linear_final_ratio", (), "", "the same of the linearised dynamics, after all steps"),
    Variable("diverged", (), "", "1 if ‖e‖² left the finite numbers or 1e8 times its start, and the run was frozen"),
    Variable("eta", (), "η", "step size"),
    Variable("rate", (), "κ²mη", "rate of the linearised dynamics"),
    Variable("projection", (), "B", "largest initial |<w_r, x_i>|"),
    Variable("limit_least", (), "λ", "least eigenvalue of the infinite-width kernel"),
    Variable("limit_largest", (), "", "largest eigenvalue of the infinite-width kernel"),
    Variable("limit_condition", (), "", "condition number of the infinite-width kernel (inf: singular)"),
    Variable("singular", (), "", "1 if λ ≤ 1e-12 λ_max: the theory says nothing"),
    Variable("start_least", (), "λ_min(H(0))", "least eigenvalue of the initial kernel"),
    Variable("start_largest", (), "λ_max(H(0))", "largest eigenvalue of the initial kernel"),
    Variable("end_largest", (), "λ_max(H(T))", "largest eigenvalue of the final kernel"),
    Variable("kernel_error", (), "‖H(0)-H^cts‖_F", "distance of the initial kernel from its limit"),
    Variable("largest_drift", (), "max ‖w_r(t)-w_r(0)‖", "largest distance of a weight from its start, ever"),
    Variable("document_radius", (), "R", "0.01 λ/(n e^{2B}) with the B of the setting's source"),
    Variable("document_drift", (), "D", "bound on the drift with the B of the setting's source and that R"),
    Variable("lazy_error", (), "", "relative Frobenius error of the lazy prediction of the final weights"),
    Variable("linear_deviation", (), "", "relative deviation of ‖e‖² from the linearised value at compare_step", True),
)  # fmt: skip
JUDGED = (
    Variable("decomposition", (), "", "Q8: largest error of ‖e(t+1)‖² = ‖e‖² + C_1 + C_2 + C_3, relative", True),
    Variable("decomposition_first", (), "", "the same with C_1 as printed, without m", True),
    Variable("decomposition_second", (), "", "the same with C_2 as printed, of opposite sign", True),
    Variable("first_order", (), "", "Q9: largest mηλ‖e‖²/(-C_1) over steps with λ_min(H(t)) ≥ λ/2", True),
    Variable("first_order_defect", (), "", "Q9 with e the lowest eigenvector and 2.1 times its eigenvalue", True),
    Variable("second_order", (), "", "Q11: largest C_2 / corrected bound", True),
    Variable("second_order_printed", (), "", "Q11: the same, printed bound, ‖e‖ ≤ √n and n ≤ 1.9e^{B-3R}", True),
    Variable("third_order", (), "", "Q12: largest C_3 / bound, over steps with η‖Δw_r‖ ≤ 0.01", True),
    Variable("third_order_stated", (), "", "Q12: largest C_3 / stated bound, over those with B ≥ 0.35 + R", True),
    Variable("gradient_norm", (), "", "Q13: largest ‖Δw_r‖ / bound", True),
    Variable("step_length", (), "max η‖Δw_r‖", "Q14: longest step of any weight", True),
    Variable("error_norm", (), "max ‖e‖/√n", "Q14: largest error", True),
    Variable("drift_ratio", (), "", "Q15: largest drift / D", True),
    Variable("contraction", ("rate_of",), "", "Q16: largest ‖e(t)‖² / (1-mηλ/2)ᵗ‖e(0)‖², by λ and rate", True),
    Variable("kernel_kept", (), "", "smallest λ_min(H(t))/λ over all steps", True),
    Variable("asymmetric", ("mask",), "", "Q10: largest entry of H_asy / bound at the final weights"),
)  # fmt: skip
COMPARED = (
    Variable("flow_error", ("formula",), "", "Q21: largest error of <w_r, x> against gradient flow"),
    Variable("flow_across", (), "", "Q21: largest part of a weight's path orthogonal to x"),
    Variable("separate_difference", (), "", "largest difference from separate runs of the points after 50 steps"),
)
LABELS = {
    "statistic": ("max", "mean", "median"), "rate_of": RATES, "mask": MASKS, "formula": ("exact", "a_r dropped"),
}  # fmt: skip


@simulation(*TRAINED, *JUDGED, *COMPARED, labels=LABELS, precision="float64")
def simulate(problem: Problem, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """One run: draw, initialise, train, compare with what the document predicts."""
    data = draw(problem, key)
    weights, head = initialise(problem, stream(key, "init"))
    known = find_constants(problem, data, weights, head)
    run = train(problem, data, weights, head, known)
    state: State = run.state
    records = {name: value for name, value in run.records.items() if name != "stopped"}
    results = {
        **records,
        "linear_square": linearise(problem, known, records["step"]),
        **summarise(problem, data, weights, head, known, state),
    }
    if problem.track == "bounds":
        results |= judge_end(problem, stream(key, "test"), data, head, known, state)
    if problem.track == "points":
        results |= follow_modes(problem, data, known, records["step"], run.records["outputs"])
    if problem.compare == "flow":
        results |= compare_flow(problem, data, weights, state.weights, head)
    if problem.compare == "separate":
        results |= compare_separate(problem, data, weights, head, known.eta)
    return results


@piece(once=True)
def linearise(problem: Problem, known: Constants, steps: Array) -> Array:
    """‖(I - κ² m η H(0))^t e(0)‖² at the recorded steps, kept within floating point."""
    return jnp.minimum(linear_square(known.start, known.rate, known.residual, steps), 1e300)


def fit(setting: Setting, seed: int = 0) -> dict[str, Any]:
    """One run on its own, in float64: what `simulate` returns. A run that diverges is an error here, not a result."""
    results = jax.device_get(simulate(setting, seed))
    if results["diverged"]:
        last = results["step"][~jnp.isnan(results["step"])][-1]
        raise UserError(
            f"Training diverged after step {last:.0f}: the squared error passed {GUARD:.0e} times its start; choose a "
            f"smaller step (step_constant = {setting.step_constant:g}, stable below about 2)."
        )
    return results
