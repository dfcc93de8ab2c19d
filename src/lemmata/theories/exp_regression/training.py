"""Gradient descent on L = ½ ‖F - y‖² (section 4), with every bound along the run watched at every step.

One run: draw, initialise, find its constants (kernels, B, step size, predicted T), train, compare. `track` says what a
step looks at: the loss alone, or every bound of Q8-Q16 as a running extreme of left side / right side. Bounds are
judged up to the first step with ‖e‖² < 1e-20, below which there is only rounding.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from lemmata.lab.errors import UserError
from lemmata.lab.simulation import piece, simulation, stream
from lemmata.lab.training import Run, loop, record_steps
from lemmata.networks.activations import ACTIVATIONS
from lemmata.networks.kernels import kernel_drift, limit_kernel, spectrum
from lemmata.theories.exp_regression.bounds import ln_drift, ln_step_size, projection_bound, step_count
from lemmata.theories.exp_regression.data import Data, draw
from lemmata.theories.exp_regression.flow import compare_flow, compare_separate
from lemmata.theories.exp_regression.network import (
    Head,
    Weights,
    initialise,
    kernel,
    largest_projection,
    lengths,
    longest,
    loss_gradient,
    project,
    read_out,
)
from lemmata.theories.exp_regression.probes import decomposition_errors, step_bounds, step_terms
from lemmata.theories.exp_regression.setting import Setting
from lemmata.theories.exp_regression.state import NONE, Constants, State
from lemmata.theories.exp_regression.summary import (
    COMPARED,
    JUDGED,
    LABELS,
    TRAINED,
    follow_modes,
    judge_end,
    linearise,
    summarise,
)

GUARD = 1e8
"""A run diverges when ‖e‖² exceeds this multiple of its start, or is not finite."""
FLOOR = 1e-20
"""Below this ‖e‖² there is only rounding."""
SMALL_STEP = 0.01
"""The η ‖Δw_r‖ of Lemma 7.4."""


@piece("activation", "step", "source", "horizon", once=True)
def find_constants(problem: Setting, data: Data, weights: Weights, head: Head) -> Constants:
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
        eta = jnp.asarray(problem.step_size, float)
    rate = head.scale**2 * width * eta
    residual = read_out(head, values) - data.y
    fast = jnp.where(limit.singular | (rate == 0), 1.0, rate * limit.least)
    predicted = step_count(1.0, fast, jnp.sum(residual**2), problem.tolerance)
    predicted = jnp.where(limit.singular | (rate == 0), jnp.inf, predicted)
    # of one type whatever the horizon: another one would compile the training again
    steps = jnp.asarray(problem.steps, int)
    if problem.horizon == "predicted":
        steps = jnp.clip(jnp.minimum(predicted, steps).astype(int), problem.least_steps, steps)
    return Constants(start, limit, start_kernel, limiting, largest, eta, rate, residual, B, predicted, steps)


def _judged(
    head: Head,
    data: Data,
    known: Constants,
    state: State,
    slopes: Array,
    gradient: Weights,
    outputs: Array,
    drift: Array,
    t: Array,
) -> dict[str, Array]:
    """Left side / right side of every bound at step t; NONE where its hypothesis fails. `drift` is that after it."""
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
    bound = jnp.exp(ln_drift(points, head.scale * width, jnp.maximum(lam, jnp.finfo(lam.dtype).tiny), B, drift, error))
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
        "drift_ratio": drift / bound,
        "contraction": jnp.exp(achieved - claimed),
        "step_contraction": terms.next_square / terms.square,
        "kernel_loss": -least / lam,
    }


@piece("activation", "track", "stop", "records")
def train(problem: Setting, data: Data, weights: Weights, head: Head, known: Constants) -> Run:
    """Full-batch gradient descent: w_r(t+1) = w_r(t) - η Δw_r(t)."""
    activation = ACTIVATIONS[problem.activation]
    initial = jnp.sum(known.residual**2)
    wanted = {"tolerance": problem.tolerance, "rounding": FLOOR, "never": -1.0}[problem.stop]

    def forward(weights: Weights) -> tuple[Array, Array]:
        values = activation.value(project(weights, data.x))
        return values, read_out(head, values)

    def slopes_of(state: State) -> Array:
        return state.values if problem.activation == "exp" else activation.slope(project(state.weights, data.x))

    def judge(t: Any, state: State, slopes: Array, gradient: Weights, outputs: Array, drift: Array) -> dict[str, Array]:
        if problem.track != "bounds":
            return {}
        return _judged(head, data, known, state, slopes, gradient, outputs, drift, t)

    def advance(t: Array, state: State) -> State:
        slopes = slopes_of(state)
        gradient = loss_gradient(head, slopes, data.x, state.outputs - data.y)
        moved = state.weights - problem.trained * known.eta * gradient
        values, outputs = forward(moved)
        square = jnp.sum((outputs - data.y) ** 2)
        # a weight too large for its exponential shows here, before anything that is not finite is kept
        broken = ~(square <= GUARD * initial)
        drift = jnp.maximum(state.drift, longest(head.used * (moved - weights)))
        found = judge(t, state, slopes, gradient, outputs, drift)
        judged = (jnp.sum((state.outputs - data.y) ** 2) >= FLOOR) & ~broken
        # 0/0 (a step of size 0) is not judged
        known_ratios = {name: jnp.clip(jnp.nan_to_num(value, nan=NONE), NONE, -NONE) for name, value in found.items()}
        extremes = {
            name: jnp.where(judged, jnp.maximum(before, known_ratios[name]), before)
            for name, before in state.extremes.items()
        }
        next_state = State(
            moved,
            values,
            outputs,
            t + 1.0,
            drift,
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
    names = jax.eval_shape(lambda s: judge(0, s, slopes_of(s), s.weights, s.outputs, s.drift), begin)
    begin = begin._replace(extremes={name: jnp.full(s.shape, NONE) for name, s in names.items()})
    at = record_steps(known.steps, problem.records, spacing="log")
    return loop(step, begin, probe, at, stop=lambda probed: probed["stopped"] > 0)


@simulation(*TRAINED, *JUDGED, *COMPARED, labels=LABELS, precision="float64")
def simulate(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
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
