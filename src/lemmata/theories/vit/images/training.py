"""One run of experiment F6: an initial model (random, or pre-trained on other classes), fine-tuning with AdamW, test.

Pre-training and fine-tuning are the same compiled loop on different images; fine-tuning starts with a new output layer
and a new optimiser.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from lemmata.lab import batches
from lemmata.lab.setting import Problem
from lemmata.lab.simulation import Variable, piece, simulation, stream
from lemmata.lab.training import Run, descent, loop, record_steps
from lemmata.theories.vit.images.data import Prepared, Tokens, prepare
from lemmata.theories.vit.images.network import DeepTransformer, classify, draw_network


def outputs(network: DeepTransformer, data: Tokens, heads: int, chunk: int) -> Float[Array, "image class"]:
    """The outputs of a whole set, a chunk of images at a time, so that activations stay in the cache."""
    one = lambda image: classify(network, image[0][None], image[1][None], heads=heads)[0][0]  # noqa: E731
    return jax.lax.map(one, (data.patches, data.places), batch_size=chunk)


@piece("heads", "batch")
def train(
    problem: Problem, key: jax.Array, network: DeepTransformer, data: Tokens, samples: Any, epochs: Any, *, records: int
) -> Run:
    """Cross-entropy on the first `samples` images for so many epochs; a partial last batch of an epoch is dropped."""
    cross_entropy = optax.softmax_cross_entropy_with_integer_labels

    def batch_loss(network: DeepTransformer, batch: batches.Batch) -> Array:
        chosen: Tokens = batch.take(data)
        found, _ = classify(network, chosen.patches, chosen.places, heads=problem.heads)
        return jnp.sum(batch.weight * cross_entropy(found, chosen.label))

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        found = outputs(state.parameters, data, problem.heads, problem.batch)
        return {"train_loss": jnp.sum(data.weight * cross_entropy(found, data.label))}

    start, step = descent(
        jax.grad(batch_loss),
        optax.adamw(problem.step_size, weight_decay=problem.weight_decay),
        batches.epochs(key, samples, data.label.shape[0], problem.batch),
    )
    steps = epochs * jnp.maximum(samples // problem.batch, 1)
    return loop(step, start(network), probe, record_steps(steps, records))


@piece("heads", "batch")
def accuracy(problem: Problem, network: DeepTransformer, data: Tokens) -> Array:
    """The share of images whose largest output is that of their class."""
    found = jnp.argmax(outputs(network, data, problem.heads, problem.batch), axis=-1)
    return jnp.sum(data.weight * (found == data.label))


@simulation(
    Variable("step", ("record",), "t", "training step of the record"),
    Variable("train_loss", ("record",), "", "cross-entropy on the training images"),
    Variable("train_accuracy", (), "", "share of the training images that are classified right"),
    Variable("test_accuracy", (), "", "share of the test images that are classified right"),
    Variable("chance", (), "", "accuracy of guessing: 1 / number of classes"),
    Variable("pretraining_accuracy", (), "", "test accuracy on the classes of pre-training, after it", optional=True),
    Variable("relevant_share", (), "α_*", "realised fraction of label-relevant tokens among the kept ones"),
    Variable("kept_tokens", (), "", "tokens kept of every image"),
    Variable("source_images", (), "", "images that the source has"),
    Variable("last_step", (), "", "last step that was trained"),
    Variable("diverged", (), "", "1 if training left the finite numbers and was frozen"),
    prepare=prepare,
)
def simulate(problem: Problem, key: jax.Array, prepared: Prepared) -> dict[str, Array]:
    """One run: initialise, pre-train, exchange the output layer, fine-tune, evaluate."""
    data, test = prepared.task
    network = draw_network(problem, stream(key, "init"), classes=problem.class_count)
    before = jnp.asarray(jnp.nan)
    if prepared.pretraining is not None:
        other, other_test = prepared.pretraining
        head = network.head
        network = draw_network(problem, stream(key, "init"), classes=problem.other_class_count)
        samples, epochs = problem.pretraining_samples, problem.pretraining_epochs
        run = train(problem, stream(key, "sampler"), network, other, samples, epochs, records=2)
        network = run.state.parameters
        before = accuracy(problem, network, other_test)
        network = network._replace(head=head)
    run = train(problem, stream(key, "batch"), network, data, problem.samples, problem.epochs, records=problem.records)
    network = run.state.parameters
    real = before.dtype
    return {
        **run.records,
        "step": run.step,
        "train_accuracy": accuracy(problem, network, data),
        "test_accuracy": accuracy(problem, network, test),
        "chance": jnp.asarray(1 / problem.class_count, real),
        "pretraining_accuracy": before,
        "relevant_share": jnp.sum(data.weight * jnp.mean(data.relevant, axis=-1)),
        "kept_tokens": jnp.asarray(problem.kept_tokens, real),
        "source_images": jnp.asarray(prepared.source_images, real),
        "last_step": run.last_step,
        "diverged": run.diverged,
    }
