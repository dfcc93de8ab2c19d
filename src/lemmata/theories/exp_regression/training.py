"""Gradient descent on L = ½ ‖F - y‖² (section 4), with every bound along the run watched at every step.

One run: draw, initialise, find its constants (kernels, B, step size, predicted T), train, compare. `track` says what a
step looks at: the loss alone, or every bound of Q8-Q16 as a running extreme of left side / right side. Bounds are
judged up to the first step with ‖e‖² < 1e-20, below which there is only rounding.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.activations import ACTIVATIONS
from lemmata.networks.kernels import kernel_drift
from lemmata.theories.exp_regression import network, probes
from lemmata.theories.exp_regression.data import Data, draw
from lemmata.theories.exp_regression.decomposition import Step, take_step
from lemmata.theories.exp_regression.flow import compare_flow, compare_separate
from lemmata.theories.exp_regression.network import Constants, Head, Weights, kernel, loss_gradient, project, read_out
from lemmata.theories.exp_regression.probes import NONE, State, Watched
from lemmata.theories.exp_regression.setting import FLOOR, SINGULAR_STEP, Setting

GUARD = 1e8
"""A run diverges when ‖e‖² exceeds this multiple of its start, or is not finite."""


@lm.piece("activation", "track", "records")
def train(problem: Setting, data: Data, weights: Weights, head: Head, constants: Constants) -> lm.Run:
    """Full-batch gradient descent: w_r(t+1) = w_r(t) - η Δw_r(t)."""
    activation = ACTIVATIONS[problem.activation]
    initial = jnp.sum(constants.residual**2)

    def forward(weights: Weights) -> tuple[Array, Array]:
        values = activation.value(project(weights, data.x))
        return values, read_out(head, values)

    def slopes_of(state: State) -> Array:
        return state.values if problem.activation == "exp" else activation.slope(project(state.weights, data.x))

    def judge(t: Any, state: State, gradient: Weights, next_outputs: Array, drift: Array) -> dict[str, Array]:
        """Every bound at this step."""
        if problem.track != "bounds":
            return {}
        step = Step(state.values, state.outputs, gradient, next_outputs)
        return probes.judge_step(head, data, constants, step, state.watched.drift, drift, t)

    def advance(t: Array, state: State) -> State:
        gradient = loss_gradient(head, slopes_of(state), data.x, state.outputs - data.y)
        moved = state.weights - problem.trained * constants.eta * gradient
        values, outputs = forward(moved)
        square = jnp.sum((outputs - data.y) ** 2)
        # a weight too large for its exponential shows here, before anything that is not finite is kept
        broken = ~(square <= GUARD * initial)
        before = state.watched
        drift = jnp.maximum(before.drift, network.longest(head.used * (moved - weights)))
        ratios = judge(t, state, gradient, outputs, drift)
        judged = (jnp.sum((state.outputs - data.y) ** 2) >= FLOOR) & ~broken
        watched = Watched(
            drift=drift,
            reached=jnp.where((before.reached < 0) & (square <= problem.tolerance), t + 1.0, before.reached),
            peak=jnp.maximum(before.peak, square),
            compared=jnp.where(t + 1 == problem.compare_step, square, before.compared),
            extremes={
                name: jnp.where(judged, jnp.maximum(old, ratios[name]), old) for name, old in before.extremes.items()
            },
        )
        next_state = State(moved, values, outputs, t + 1.0, watched, square <= problem.wanted_square, state.diverged)
        frozen = state._replace(stopped=jnp.asarray(True), diverged=jnp.asarray(True))
        return jax.tree.map(lambda bad, good: jnp.where(broken, bad, good), frozen, next_state)

    def step(t: Array, state: State) -> State:
        return jax.lax.cond(state.stopped, lambda: state, lambda: advance(t, state))

    def probe(state: State, previous: State) -> dict[str, Array]:
        moved = network.lengths(state.weights - weights)
        used = jnp.where(head.used > 0, moved, jnp.nan)
        now = kernel(head, slopes_of(state), data.x)
        eigenvalues = jnp.linalg.eigvalsh(now)
        probed = {
            "step": state.done,
            "square": jnp.sum((state.outputs - data.y) ** 2),
            "kernel_least": eigenvalues[0],
            "kernel_largest": eigenvalues[-1],
            "kernel_change": kernel_drift(now, constants.kernel),
            "drift": jnp.stack([jnp.nanmax(used), jnp.nanmean(used), jnp.nanmedian(used)]),
            "stopped": state.stopped * 1.0,
        }
        if problem.track == "points":
            probed["outputs"] = state.outputs
        if problem.track != "loss" and problem.activation == "exp":
            terms, _ = take_step(state.weights, head, data.x, data.y, constants.eta)
            probed["terms"] = jnp.stack([terms.first, terms.second, terms.third])
            probed["second_order_norm"] = jnp.linalg.norm(terms.vector)
            if problem.track == "points":
                probed["second_order_change"] = terms.vector
        return probed

    values, outputs = forward(weights)
    zero, no = jnp.zeros(()), jnp.asarray(False)
    unreached = jnp.where(initial <= problem.tolerance, 0.0, NONE)
    nothing = Watched(zero, unreached, initial, jnp.asarray(NONE), {})
    begin = State(weights, values, outputs, zero, nothing, initial <= problem.wanted_square, no)
    ratios = jax.eval_shape(lambda s: judge(0, s, s.weights, s.outputs, s.watched.drift), begin)
    extremes = {name: jnp.full(ratio.shape, NONE) for name, ratio in ratios.items()}
    begin = begin._replace(watched=nothing._replace(extremes=extremes))
    at = lm.record_steps(constants.steps, problem.records, spacing="log")
    return lm.loop(step, begin, probe, at, stop=lambda probed: probed["stopped"] > 0)


@lm.simulation(*probes.VARIABLES, labels=probes.LABELS, precision="float64")
def simulate(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """One run: draw, initialise, train, compare with what the paper predicts."""
    data = draw(problem, key)
    weights, head = network.initialise(problem, lm.stream(key, "init"))
    used, shape = {"neurons": lambda: network.places(problem)}, "dimension neurons"
    weights = lm.starting((weights, shape), used)
    constants = network.find_constants(problem, data, weights, head)
    run = train(problem, data, weights, head, constants)
    state: State = run.state
    lm.keep(used, network=(state.weights, shape), initial=(weights, shape), head=head)
    lm.keep(data=data, constants=constants)
    records = {name: value for name, value in run.results().items() if name != "stopped"}
    records["step"] = run.records["step"]
    results = {**records, **probes.summarise(problem, data, weights, head, constants, state, records["step"])}
    if problem.track == "bounds":
        results |= probes.judge_end(problem, lm.stream(key, "test"), data, head, constants, state)
    if problem.track == "points":
        results |= probes.follow_modes(problem, data, constants, records["step"], run.records["outputs"])
    if problem.compare == "flow":
        results |= compare_flow(problem, data, weights, state.weights, head)
    if problem.compare == "separate":
        results |= compare_separate(problem, data, weights, head, constants.eta)
    return results


def fit(setting: Setting, seed: int = 0) -> dict[str, Any]:
    """One run on its own, in float64: what `simulate` returns. A run that diverges is an error here, not a result."""
    results = jax.device_get(simulate(setting, seed))
    if results["eta"] == 0:
        raise lm.UserError(SINGULAR_STEP)
    if results["diverged"]:
        raise lm.UserError(
            f"Training diverged after step {np.nanmax(results['step']):.0f}: the squared error passed {GUARD:.0e} "
            f"times its start; choose a smaller step (step_constant = {setting.step_constant:g}, stable below about 2)."
        )
    return results
