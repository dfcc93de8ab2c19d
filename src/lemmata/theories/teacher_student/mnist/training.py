"""One run of E4: a two-layer convolutional classifier is trained, then a student on what its hidden layer says.

The teacher averages patches before the activation, so it is a network of 81 inputs, the mean patches of nine groups.
The student sees all 81 patches and must find the groups: S -> S*, W_V -> V* (sections 3.1, 4.3).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.orthonormal import orthonormal
from lemmata.theories.teacher_student import network
from lemmata.theories.teacher_student.mnist.data import Prepared, boundary, group_of_token, prepare, target_scores
from lemmata.theories.teacher_student.mnist.setting import EXTRA, FEATURES, GROUPS, TOKENS, MnistSetting
from lemmata.theories.teacher_student.network import Weights, activate, batch_gradient, position_scores

CLASSES = 10
EVALUATED, SHARP = 1000, 0.9
"""The loss is that of the first so many training images; the cosine that the student must pass."""
R = ("record",)


class Teacher(NamedTuple):
    """Convolution without bias, and the linear layer above it."""

    kernels: Float[Array, "kernel feature"]
    matrix: Float[Array, "kernel group class"]
    bias: Float[Array, " class"]


def hidden(
    kernels: Float[Array, "kernel feature"], pooled: Float[Array, "feature image group"], slope: Any
) -> Float[Array, "kernel image group"]:
    """σ(V* X [1_g/K ...]): the layer that the student learns, one column for each group."""
    return activate(jnp.einsum("mf,fng->mng", kernels, pooled), slope)


def outputs(teacher: Teacher, pooled: Float[Array, "feature image group"], slope: Any) -> Float[Array, "image class"]:
    return jnp.einsum("mng,mgc->nc", hidden(teacher.kernels, pooled, slope), teacher.matrix) + teacher.bias


@lm.piece("kernels", once=True)
def initialise(problem: MnistSetting, key: jax.Array) -> tuple[Teacher, Array, Weights]:
    """The first teacher, uniform within 1/√(inputs of a layer); P, Haar orthogonal; the student, without attention."""
    teacher_key, student_key = jax.random.split(lm.stream(key, "init"))
    kernels, wide = problem.kernels, problem.kernels * GROUPS

    def uniform(key: jax.Array, shape: tuple[int, ...], inputs: int) -> Array:
        return jax.random.uniform(key, shape, minval=-1.0, maxval=1.0) / jnp.sqrt(inputs)

    layers = ((kernels, FEATURES), FEATURES), ((kernels, GROUPS, CLASSES), wide), ((CLASSES,), wide)
    drawn = (uniform(key, *layer) for key, layer in zip(jax.random.split(teacher_key, 3), layers, strict=True))
    positions, values = jax.random.split(student_key)
    first = problem.initial_scale * jax.random.normal(values, (kernels, FEATURES))
    return Teacher(*drawn), orthonormal(positions, TOKENS, TOKENS), Weights(first, jnp.zeros((TOKENS, TOKENS)))


@lm.piece("teacher_batch")
def train_teacher(problem: MnistSetting, key: jax.Array, teacher: Teacher, data: Prepared) -> Teacher:
    """Cross-entropy by SGD."""
    pooled, labels, count = data.pooled, data.labels, data.labels.shape[0]
    batches = lm.epochs(lm.stream(key, "sampler"), count, count, min(problem.teacher_batch, count))

    def loss(teacher: Teacher, chosen: lm.Batch) -> Array:
        scores = outputs(teacher, pooled[:, chosen.rows], problem.negative_slope)
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(scores, labels[chosen.rows]))

    start, step = lm.descent(jax.grad(loss), optax.sgd(problem.teacher_step_size), batches)
    last = lm.record_steps(problem.teacher_steps, 2)
    return lm.loop(step, start(teacher), lambda state, previous: {}, last).state.parameters


@lm.piece(once=True)
def ask(problem: MnistSetting, teacher: Teacher, data: Prepared) -> tuple[Array, Array]:
    """What the teacher's hidden layer says of the training images, and its accuracy on the held-out ones."""
    right = jnp.argmax(outputs(teacher, data.test_pooled, problem.negative_slope), axis=-1) == data.test_labels
    taught = hidden(teacher.kernels, data.pooled, problem.negative_slope)
    return taught, jnp.mean(right.astype(taught.dtype))


def recorded_steps(steps: Any, records: int, every: Any) -> jax.Array:
    """Steps 0, 1, 100, then every so many, and the last."""
    even = lm.record_steps(steps, records - EXTRA, every)
    both = jnp.concatenate([jnp.where(even < 0, steps, even), jnp.minimum(jnp.asarray([1, 100]), steps)])
    return lm.without_repeats(jnp.sort(both))


def shuffled(key: jax.Array, inputs: Float[Array, "feature image token"]) -> Float[Array, "feature image token"]:
    """The patches of every image in an order of its own."""
    order = jnp.argsort(jax.random.uniform(key, inputs.shape[1:]), axis=-1)
    return jnp.take_along_axis(inputs, order[None], axis=-1)


def probes(
    values: Float[Array, "kernel feature"],
    scores: Float[Array, "token token"],
    kernels: Float[Array, "kernel feature"],
    energy: Float[Array, " token"],
) -> dict[str, Array]:
    """Of W_V and S against the kernels V* and S*; `energy` is E‖x_i‖² of every patch."""
    target, edge = jnp.asarray(target_scores(), scores.dtype), jnp.asarray(boundary())
    inside = jnp.where(target > 0, scores, 0)
    mass = inside.sum(1) / target.sum(1)
    spread, lifted = mass - mass.mean(), energy - energy.mean()
    # equal masses, as at the start, have no correlation with anything
    even = jnp.linalg.norm(spread) < 1e-5 * jnp.linalg.norm(mass)
    row_products = (values * kernels).sum(1)
    row_norms = jnp.linalg.norm(values, axis=1) * jnp.linalg.norm(kernels, axis=1)
    return {
        # values that have not moved from 0 point nowhere: cosine 0
        "cosine": row_products.sum() / jnp.maximum(jnp.linalg.norm(values) * jnp.linalg.norm(kernels), 1e-30),
        "row_cosine": jnp.median(row_products / jnp.maximum(row_norms, 1e-30)),
        "group_mass": inside.sum(0).mean(),
        "relative_mass": mass,
        "interior_mass": jnp.sum(jnp.where(edge, 0, mass)) / jnp.sum(~edge),
        "boundary_mass": jnp.sum(jnp.where(edge, mass, 0)) / jnp.sum(edge),
        "mass_energy": jnp.where(
            even, jnp.nan, (spread @ lifted) / (jnp.linalg.norm(spread) * jnp.linalg.norm(lifted))
        ),
        "score_error": jnp.linalg.norm(scores - target),
    }


@lm.piece("optimiser", "patch_order", "batch", "records")
def train(
    problem: MnistSetting,
    key: jax.Array,
    positions: Array,
    weights: Weights,
    data: Prepared,
    taught: Array,
    kernels: Array,
) -> tuple[lm.Run, Array]:
    """The student on half the squared distance to the teacher's hidden outputs, copied to every patch of a group.

    With the run come the scores at its end. Shuffled patches have a new order in every image at every step, which only
    the student sees; orders that stayed could be learned by heart.
    """
    slope, inputs, count = problem.negative_slope, data.inputs, data.inputs.shape[1]
    group = jnp.asarray(group_of_token())
    order_key, step_key, batch_key = jax.random.split(lm.stream(key, "batch"), 3)

    def seen(inputs: Array, key: jax.Array) -> Array:
        return shuffled(key, inputs) if problem.patch_order == "shuffled" else inputs

    def gradient(weights: Weights, drawn: tuple[lm.Batch, jax.Array]) -> Weights:
        rows, key = drawn[0].rows, drawn[1]
        return batch_gradient(weights, positions, seen(inputs[:, rows], key), taught[:, rows][..., group], slope)

    evaluated = seen(inputs[:, :EVALUATED], order_key)

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        values, attention = state.parameters
        scores = position_scores(attention, positions)
        error = network.respond(values, scores, evaluated, slope) - taught[:, :EVALUATED][..., group]
        return {"loss": network.half_mean_square(error), **probes(values, scores, kernels, data.energy)}

    scheme = lm.epochs(batch_key, count, count, min(problem.batch, count))
    optimiser = {"adam": optax.adam, "sgd": optax.sgd}[problem.optimiser](problem.step_size)
    start, step = lm.descent(gradient, optimiser, lm.with_key(scheme, step_key))
    run = lm.loop(step, start(weights), probe, recorded_steps(problem.steps, problem.records, problem.every))
    return run, position_scores(run.state.parameters.attention, positions)


@lm.piece(once=True)
def in_basin(problem: MnistSetting, cosine: Float[Array, " record"]) -> Array:
    """1 if the last cosine is above 0.9."""
    last = jnp.max(jnp.where(jnp.isnan(cosine), -1, jnp.arange(cosine.shape[0])))
    return (cosine[last] > SHARP) * 1.0


@lm.simulation(
    *lm.RUN,
    lm.Variable("loss", R, "½‖f* - TF‖²", f"mean over the first {EVALUATED} training images, summed over entries"),
    lm.Variable("cosine", R, "cos(W_V, V*)", "cosine between values and kernels, as vectors"),
    lm.Variable("row_cosine", R, "", "cosine between a row of the values and its kernel, median over rows"),
    lm.Variable("group_mass", R, "", "attention that stays in the output's own group, mean over columns"),
    lm.Variable(
        "relative_mass", ("record", "token"), "", "attention that a patch gets from its group, over the teacher's"
    ),
    lm.Variable("interior_mass", R, "", "relative mass, mean over the seven inner rows of patches"),
    lm.Variable("boundary_mass", R, "", "relative mass, mean over the first and the last row of patches"),
    lm.Variable("mass_energy", R, "", "correlation of relative mass and energy over patches", optional=True),
    lm.Variable("in_basin", (), "", f"1 if the cosine ends above {SHARP:g}: the teacher's kernels, not others' signs"),
    lm.Variable("score_error", R, "‖S - S*‖", "distance of the scores from the teacher's"),
    lm.Variable("scores", ("key_token", "query_token"), "S", "scores after training"),
    lm.Variable("target_scores", ("key_token", "query_token"), "S*", "the teacher's scores"),
    lm.Variable("energy", ("token",), "E‖x_i‖²", "mean squared norm of the patch over the training images"),
    lm.Variable("example", ("pixel_row", "pixel_column"), "", "a training image, before scaling"),
    lm.Variable("teacher_accuracy", (), "", "share of held-out images that the teacher classifies right"),
    lm.Variable("train_images", (), "N", "training images that were used"),
    lm.Variable("is_digits", (), "", "1 if the images are the stand-in, not MNIST"),
    prepare=prepare,
)
def simulate(problem: MnistSetting, key: jax.Array, prepared: Prepared) -> dict[str, Any]:
    """One run: teacher, its test, student."""
    first, positions, weights = initialise(problem, key)
    teacher = train_teacher(problem, key, first, prepared)
    taught, accuracy = ask(problem, teacher, prepared)
    run, scores = train(problem, key, positions, weights, prepared, taught, teacher.kernels)
    return {
        **run.results(),
        "in_basin": in_basin(problem, run.records["cosine"]),
        "scores": scores,
        "target_scores": np.asarray(target_scores(), run.step.dtype),
        "energy": prepared.energy,
        "example": prepared.example,
        "teacher_accuracy": accuracy,
        "train_images": np.asarray(prepared.labels.shape[0], run.step.dtype),
        "is_digits": prepared.is_digits,
    }
