"""Other simulations of the same setting: a random network before training, its kernel errors (Q5, X1), projections (Q2)
and outputs (Q7); the infinite-width kernel by brute force, a mean over a million random weights beside its closed form
(Q3); weights moved by at most R: projections, exponentials and the kernel (Lemmas 6.2 and 6.7); and the calculators:
the paper's width, step size and number of steps beside what one would run (X8)."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.activations import ACTIVATIONS
from lemmata.networks.kernels import geometry, kernel_variance, limit_kernel, output_variance
from lemmata.theories.exp_regression import bounds, network
from lemmata.theories.exp_regression.data import Data, draw, unit
from lemmata.theories.exp_regression.network import Head, Weights, initialise, kernel, project, read_out
from lemmata.theories.exp_regression.setting import SHIFTS, Setting


@lm.piece("activation", "init", "capacity", "data_law", "samples", "dimension", "teacher_neurons", once=True)
def measure(problem: Setting, key: jax.Array) -> dict[str, Array]:
    """Kernel, projections and outputs of a random network beside their infinite-width values, in one program, drawing
    included: an experiment has thousands of such runs, and each is short."""
    data = draw(problem, key)
    weights, head = initialise(problem, lm.stream(key, "init"))
    activation = ACTIVATIONS[problem.activation]
    projections = project(weights, data.x)
    finite = kernel(head, activation.slope(projections), data.x)
    limit = limit_kernel(problem.activation, data.x, problem.weight_scale)
    variance = kernel_variance(problem.activation, data.x, problem.weight_scale)
    effective = head.width / (2 if problem.init == "coupled" else 1)
    error = finite - limit
    outputs = read_out(head, activation.value(projections))
    return {
        "projection": network.largest_projection(head, projections),
        "kernel_error": jnp.linalg.norm(error),
        "entry_error": jnp.max(jnp.abs(error)),
        "predicted_error": jnp.sqrt(jnp.sum(variance) / effective),
        "kernel_least": jnp.linalg.eigvalsh(finite)[0],
        "limit_least": jnp.linalg.eigvalsh(limit)[0],
        "outputs": outputs,
        "output_variance": output_variance(problem.activation, data.x, problem.weight_scale),
        "error_square": jnp.sum((data.y - outputs) ** 2),
        "target_square": jnp.sum(data.y**2),
    }


@lm.simulation(
    lm.Variable("projection", (), "B", "largest |<w_r, x_i>|"),
    lm.Variable("kernel_error", (), "‖H^dis - H^cts‖_F", "distance of the kernel from its limit"),
    lm.Variable("entry_error", (), "max |H^dis - H^cts|", "largest error of an entry"),
    lm.Variable("predicted_error", (), "", "exact root mean square of the distance, √(Σ Var_ij / m_eff)"),
    lm.Variable("kernel_least", (), "λ_min(H^dis)", "least eigenvalue of the kernel"),
    lm.Variable("limit_least", (), "λ", "least eigenvalue of the limit"),
    lm.Variable("outputs", ("point",), "F(0)", "initial outputs"),
    lm.Variable("output_variance", ("point",), "", "E F_i(0)²/m with independent signs, in closed form"),
    lm.Variable("error_square", (), "‖y - F(0)‖²", "initial squared error"),
    lm.Variable("target_square", (), "‖y‖²", "squared norm of the targets"),
    precision="float64",
)
def measure_initial(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """A random network on one data set, untrained."""
    return measure(problem, key)


@lm.piece("activation", "dimension")
def sample(problem: Setting, key: jax.Array, data: Data) -> dict[str, Array]:
    """The mean of <x_i, x_j> φ'(<w, x_i>) φ'(<w, x_j>) over random w, chunk by chunk."""
    activation = ACTIVATIONS[problem.activation]
    size = 10**4  # weights drawn at a time
    chunks = problem.weight_samples // size

    def add(chunk: Array, total: Array) -> Array:
        weights = jax.random.normal(jax.random.fold_in(key, chunk), (size, problem.dimension))
        slopes = activation.slope(project(problem.weight_scale * weights.T, data.x))
        return total + slopes @ slopes.T / size

    points = data.x.shape[0]
    inner = data.x @ data.x.T
    mean = jax.lax.fori_loop(0, chunks, add, jnp.zeros((points, points))) / chunks
    variance = kernel_variance(problem.activation, data.x, problem.weight_scale)
    g = geometry(data.x)
    return {
        "estimate": inner * mean,
        "closed_form": limit_kernel(problem.activation, data.x, problem.weight_scale),
        "standard_error": jnp.sqrt(variance / (chunks * size)),
        "inner": inner,
        "square_sum": g.sums,
        "square_difference": g.differences,
        "angle": g.angle,
    }


PAIRS = ("point", "other")


@lm.simulation(
    lm.Variable("estimate", PAIRS, "", "kernel by Monte Carlo"),
    lm.Variable("closed_form", PAIRS, "H^cts", "kernel in closed form"),
    lm.Variable("standard_error", PAIRS, "", "exact standard error of the estimate"),
    lm.Variable("inner", PAIRS, "G", "<x_i, x_j>"),
    lm.Variable("square_sum", PAIRS, "s_+", "‖x_i + x_j‖²"),
    lm.Variable("square_difference", PAIRS, "s_-", "‖x_i - x_j‖²"),
    lm.Variable("angle", PAIRS, "θ", "angle between the points"),
    precision="float64",
)
def sample_kernel(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """The infinite-width kernel by brute force."""
    return sample(problem, lm.stream(key, "init"), draw(problem, key))


def moved_ratios(head: Head, x: Array, weights: Weights, moved: Weights, R: Array | float) -> dict[str, Array]:
    """Left side / right side of every statement about two sets of weights (absolute values throughout)."""
    points = x.shape[0]
    sums = x[:, None] + x[None]
    before, after = project(weights, x), project(moved, x)
    used = head.used > 0
    largest = jnp.max(jnp.where(used, jnp.abs(before), 0.0))
    highest = jnp.max(jnp.where(used, before, -jnp.inf))
    change = jnp.einsum("ijd,dr->ijr", sums, weights - moved) * head.used
    old, new = kernel(head, jnp.exp(before), x), kernel(head, jnp.exp(after), x)
    allowed = jnp.expm1(R * jnp.linalg.norm(sums, axis=-1)) * jnp.abs(old)
    relative = jnp.abs(new - old) / jnp.where(allowed > 0, allowed, 1.0)
    return {
        "moved_projection": jnp.max(jnp.where(used, jnp.abs(after), 0.0)) / (largest + R),
        # e^{<v, x>} ≤ e^{B + R}, also with the largest positive projection as B, which is smaller
        "moved_exponential": jnp.exp(jnp.max(jnp.where(used, after, -jnp.inf)) - highest - R),
        "difference": jnp.max(jnp.abs(change)) / (2 * R),
        "exponential_difference": jnp.max(jnp.abs(jnp.expm1(change))) / (4 * R),
        "frobenius_change": jnp.linalg.norm(new - old) / (3 * points * R * jnp.exp(2 * largest)),
        "entry_change": jnp.max(relative),
        "relative_change": relative,
    }


@lm.piece(once=True)
def perturb(problem: Setting, key: jax.Array, data: Data, weights: Weights, head: Head) -> dict[str, Array]:
    """The worst ratio over the perturbations of this kind.

    Every weight is moved by `factor` R: in random directions, along ±x_i (x_i the point of the largest projection, so
    that it grows), or along x_i + x_j. At factor 1 all bounds hold; the larger ones are the broken cases of controls.
    """
    x, R = data.x, problem.radius
    projections = project(weights, x) * head.used
    i = jnp.argmax(jnp.max(jnp.abs(projections), axis=1))
    j = (i + 1) % x.shape[0]
    row = projections[i]
    outward = jnp.sign(row[jnp.argmax(jnp.abs(row))])
    top = jnp.argmax(jnp.max(projections, axis=1))
    anywhere, pair = unit(jax.random.normal(key, weights.T.shape)).T, unit(x[i] + x[j])
    directions = {
        "random": (anywhere, anywhere),
        # outward at the largest projection, and upward at the largest positive one
        "point": (outward * unit(x[i]), unit(x[top])),
        "pair": (pair, pair),
    }
    every = [[jnp.broadcast_to(v.T, weights.T.shape).T for v in directions[shift]] for shift in SHIFTS]
    chosen = jnp.asarray(every)[problem.rules["shift"]]
    by_direction = jax.vmap(lambda way: moved_ratios(head, x, weights, weights + problem.factor * R * way, R))(chosen)
    pairs = by_direction.pop("relative_change")
    return {name: jnp.max(ratios) for name, ratios in by_direction.items()} | {"pair_change": pairs[0, i, j]}


@lm.simulation(
    lm.Variable("moved_projection", (), "", "part 2: largest |<v_r, x_i>| / (B + R)"),
    lm.Variable("moved_exponential", (), "", "parts 4, 5: largest e^{<v_r, x_i>} / e^{B+R}, B the largest <w_r, x_i>"),
    lm.Variable("difference", (), "", "part 3: largest |<w_r - v_r, x_i + x_j>| / 2R"),
    lm.Variable("exponential_difference", (), "", "part 6: largest |e^{<w_r - v_r, x_i + x_j>} - 1| / 4R"),
    lm.Variable("frobenius_change", (), "", "Lemma 6.7: ‖H(w) - H(v)‖_F / 3nRe^{2B}"),
    lm.Variable("entry_change", (), "", "largest |ΔH_ij| / (e^{R‖x_i+x_j‖} - 1)|H_ij|"),
    lm.Variable("pair_change", (), "", "the same in the entry (i, j) of the pair that is aimed at"),
    precision="float64",
)
def perturb_weights(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """A random network and a copy of it with every weight moved."""
    weights, head = initialise(problem, lm.stream(key, "init"))
    return perturb(problem, lm.stream(key, "noise"), draw(problem, key), weights, head)


@lm.simulation(
    lm.Variable("log_width", (), "log10 m", "width by Lemma 9.2, constant 1"),
    lm.Variable("log_explicit_width", (), "log10 m", "width from the explicit conditions of the proof"),
    lm.Variable("log_step", (), "log10 η", "the paper's step size at that width"),
    lm.Variable("log_iterations", (), "log10 T", "the paper's number of steps"),
    lm.Variable("practical_width", (), "m", "width that brings the kernel within λ/4 in root mean square"),
    lm.Variable("practical_step", (), "η", "step c/(m λ_max) at that width"),
    lm.Variable("practical_iterations", (), "T", "steps that then suffice by Q17"),
    host=True,
    precision="float64",
)
def calculate(setting: Setting, seed: int) -> dict[str, float]:
    """The calculators at one setting, for orthonormal points: these have H^cts = e^{2σ²} I, so λ = λ_max = e^{2σ²}, and
    one neuron's kernel has summed variance n (e^{8σ²} - e^{4σ²})."""
    n, sigma = setting.samples, setting.weight_scale
    of_B: dict[str, Any] = {"delta": setting.failure_probability, "sigma": sigma, "C": setting.tail_constant}
    lam = math.exp(2 * sigma**2)
    log_width = float(bounds.required_width(n, lam, **of_B))
    practical = float(bounds.width_for_kernel.function(1.0, lam, bounds.orthonormal_variance(n, sigma)))
    rate = setting.step_constant / lam
    return {
        "log_width": log_width,
        "log_explicit_width": bounds.explicit_width(n, lam, **of_B).ln_m / math.log(10),
        # η is proportional to 1/m, and T does not contain m
        "log_step": float(bounds.step_size(n, 1.0, lam, **of_B)) - log_width,
        "log_iterations": float(bounds.iterations(n, 1.0, lam, n, setting.tolerance, **of_B)),
        "practical_width": practical,
        "practical_step": rate / practical,
        "practical_iterations": float(bounds.step_count(rate, lam, n, setting.tolerance)),
    }
