"""Algorithm 3: mini-batch SGD with a constant step on W_O, W_V, W_K, W_Q; and the simulation of one run.

The frozen-attention ("CNN") baseline multiplies the updates of W_K, W_Q by `train_attention` = 0.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from lemmata.lab import batches
from lemmata.lab.setting import Problem
from lemmata.lab.simulation import Variable, piece, simulation, stream
from lemmata.lab.training import Run, descent, loop, record_steps
from lemmata.networks import losses
from lemmata.theories.vit.data import Data, draw, draw_patterns
from lemmata.theories.vit.network import Features, Network, draw_signs, forward, gradient, initial_errors, initialise
from lemmata.theories.vit.probes import QUERIES, attention_by_query, largest_similarity

SMALL_LOSS = 1e-3
"""epsilon of T_epsilon, and the document's success threshold for the test hinge."""


def training_loss(problem: Problem) -> losses.MarginLoss:
    """The loss that is trained on, as a function of the margin y F."""
    if problem.loss == "hinge":
        return losses.hinge(problem.margin)
    return losses.logistic() if problem.loss == "logistic" else losses.linear()


def mean_loss(loss: losses.MarginLoss, network: Network, signs: Array, data: Data, weight: Array) -> Array:
    """sum_n weight_n loss(y_n F(X_n))."""
    margins = data.label * forward(network, signs, data.tokens, data.weight)
    return jnp.sum(weight * loss.value(margins))


def training_batches(problem: Problem, key: jax.Array) -> batches.Batches:
    """The batch scheme: all samples, epochs without replacement, i.i.d. or one pass."""
    if problem.batch == 0:
        return batches.full(problem.training_samples, problem.capacity)
    if problem.batches == "epochs":
        return batches.epochs(key, problem.training_samples, problem.capacity, problem.batch)
    if problem.batches == "iid":
        return batches.independent(key, problem.training_samples, problem.batch)
    return batches.one_pass(problem.training_samples, problem.capacity, problem.batch)


@piece("capacity", "batch", "batches", "records", "each_step", "loss", "stop", "track")
def train(problem: Problem, key: jax.Array, network: Network, signs: Array, data: Data) -> Run:
    """Train on the first `samples` rows of `data`."""
    data = jax.tree.map(lambda leaf: leaf[: problem.capacity], data)
    loss = training_loss(problem)
    everything = batches.full(problem.training_samples, problem.capacity).draw((), jnp.asarray(0))[1]

    def batch_gradient(network: Network, batch: batches.Batch) -> Network:
        chosen: Data = batch.take(data)
        slope = lambda outputs: batch.weight * chosen.label * loss.slope(chosen.label * outputs)  # noqa: E731
        return gradient(network, signs, chosen.tokens, chosen.weight, slope)

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        network = state.parameters
        probed = {"train_loss": mean_loss(loss, network, signs, data, everything.weight)}
        if problem.track == "attention":
            probed |= attention_by_query(network, data, everything.weight)
            moved = jax.tree.map(lambda a, b: jnp.max(jnp.abs(a - b)), network, previous.parameters)
            probed["movement"] = jnp.max(jnp.stack(jax.tree.leaves(moved)))
        return probed

    trainable = Network(1.0, 1.0, problem.train_attention, problem.train_attention)  # pyright: ignore[reportArgumentType]
    start, step = descent(
        batch_gradient, optax.sgd(problem.step_size), training_batches(problem, key), trainable=trainable
    )
    steps = problem.steps
    if problem.batch and problem.batches == "one_pass":
        steps = jnp.minimum(steps, jnp.maximum(problem.training_samples // problem.batch, 1))
    reached = {
        "zero_loss": lambda probed: probed["train_loss"] <= 0,
        "small_loss": lambda probed: probed["train_loss"] <= SMALL_LOSS,
    }
    if problem.loss == "linear":  # unbounded below: zero is no solution
        reached = dict.fromkeys(reached, lambda probed: jnp.asarray(False))
    return loop(
        step,
        start(network),
        probe,
        record_steps(steps, problem.records, problem.record_every),
        stop=reached.get(problem.stop),
        passages=reached,
        each_step=bool(problem.each_step),
    )


@piece("test_samples", "reduction", once=True)
def evaluate(problem: Problem, network: Network, signs: Array, data: Data, test: Data) -> dict[str, Array]:
    """Population risk on the test samples (hinge at margin 1, 0-1 error) and statistics of the training data."""
    count = 2 if problem.reduction == "patterns" else problem.test_samples
    test = jax.tree.map(lambda leaf: leaf[:count], test)
    margins = test.vote * forward(network, signs, test.tokens, test.weight)
    hinge = losses.hinge().value(margins)
    used = (jnp.arange(data.label.shape[0]) < problem.training_samples) * 1.0
    return {
        "test_hinge": jnp.mean(hinge),
        "test_hinge_error": jnp.std(hinge, ddof=min(1, count - 1)) / jnp.sqrt(count),
        "test_error": jnp.mean((margins <= 0) * 1.0),
        "test_margin": jnp.min(margins),
        "noise_norm": jnp.max(used[:, None] * data.noise),
        "similarity": largest_similarity(data, used),
        "condition_slack": jnp.asarray(problem.condition_slack, hinge.dtype),
    }


@piece(once=True)
def initial_model(problem: Problem, network: Network, features: Features, basis: Array) -> dict[str, Array]:
    """The errors that the initial maps have achieved (probe 5.1); clipping and given maps change the declared ones."""
    sigma, delta = initial_errors(network, features, basis)
    return {"initial_value_error": sigma, "initial_attention_error": delta}


RECORD = ("record",)


@simulation(
    Variable("step", RECORD, "t", "training step of the record"),
    Variable("train_loss", RECORD, "L(t)", "training loss"),
    Variable(
        "concentration", ("record", "query"), "conc", "attention on label-relevant tokens, by type of query", True
    ),
    Variable("complement", ("record", "query"), "1 - conc", "attention on all other tokens, by type of query", True),
    Variable("confused", ("record", "query"), "", "attention on confusion tokens, by type of query", True),
    Variable("lowest", RECORD, "min conc", "smallest attention on label-relevant tokens of any query"),
    Variable("movement", RECORD, "", "largest parameter change since the previous record"),
    Variable("zero_loss_step", (), "T_0", "first step with training loss 0 (inf: never)"),
    Variable("small_loss_step", (), "T_ε", "first step with training loss at most 0.001 (inf: never)"),
    Variable("last_step", (), "", "last step that was trained"),
    Variable("last_loss", (), "", "training loss at the last step"),
    Variable("diverged", (), "", "1 if training left the finite numbers and was frozen"),
    Variable("test_hinge", (), "", "hinge loss on the test samples"),
    Variable("test_hinge_error", (), "", "standard error of the test hinge"),
    Variable("test_error", (), "", "0-1 error on the test samples"),
    Variable("test_margin", (), "min y F", "smallest margin on the test samples"),
    Variable("noise_norm", (), "max |x - μ|", "largest distance of a training token from its pattern"),
    Variable("similarity", (), "λ", "largest inner product between tokens of different patterns"),
    Variable("initial_value_error", (), "σ", "achieved error of the initial value map"),
    Variable("initial_attention_error", (), "δ", "achieved error of the initial key and query maps"),
    Variable("condition_slack", (), "", "slack of condition (2.8)"),
    labels={"query": QUERIES},
)
def simulate(problem: Problem, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """One run: draw, initialise, train, evaluate."""
    basis = draw_patterns(problem, stream(key, "data"))
    data = draw(problem, stream(key, "data"), basis, count=problem.draw_capacity)
    test = draw(problem, stream(key, "test"), basis, count=problem.draw_test)
    network, features = initialise(problem, stream(key, "init"), basis)
    signs = draw_signs(problem, stream(key, "init"))
    run = train(problem, stream(key, "batch"), network, signs, data)
    return {
        **run.records,
        "step": run.step,
        "zero_loss_step": run.first["zero_loss"],
        "small_loss_step": run.first["small_loss"],
        "last_step": run.last_step,
        "last_loss": run.last["train_loss"],
        "diverged": run.diverged,
        **initial_model(problem, network, features, basis),
        **evaluate(problem, run.state.parameters, signs, data, test),
    }
