"""One run of experiment F6: an initial model (random, or pre-trained on other classes), fine-tuning with AdamW, test.

Pre-training and fine-tuning are the same compiled loop on different images; fine-tuning starts with a new output layer
and a new optimiser. An initial model depends on the seed and on few fields of the setting; it is trained once and kept
for the other cells that start from it.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.datasets.images import Images
from lemmata.theories.vit.images.data import Tokens, load_images, pretraining_sets, task_sets
from lemmata.theories.vit.images.network import DeepTransformer, classify, draw_network
from lemmata.theories.vit.images.setting import ImageSetting, even_batch


class Prepared(NamedTuple):
    """What a run starts from: its images, its initial model (None: random), and what is known of them beforehand."""

    train: Tokens
    test: Tokens
    initial: DeepTransformer | None
    known: dict[str, Any]


def outputs(network: DeepTransformer, data: Tokens, heads: int) -> Float[Array, "image class"]:
    """The outputs of a whole set, at most a thousand images at a time: activations are large."""

    def one(image: tuple[Array, Array]) -> Array:
        return classify(network, image[0][None], image[1][None], heads=heads)[0][0]

    return jax.lax.map(one, (data.patches, data.places), batch_size=even_batch(len(data.label), 1000))


def weighted_accuracy(outputs: Float[Array, "image class"], data: Tokens) -> Float[Array, ""]:
    """The share of images whose largest output is that of their class."""
    return jnp.sum(data.weight * (jnp.argmax(outputs, axis=-1) == data.label))


@lm.piece("heads")
def train(
    problem: ImageSetting,
    key: jax.Array,
    network: DeepTransformer,
    data: Tokens,
    samples: Any,
    epochs: Any,
    *,
    batch: int,
    records: int,
) -> lm.Run:
    """Cross-entropy on the first `samples` images for so many epochs of samples // batch steps."""
    cross_entropy = optax.softmax_cross_entropy_with_integer_labels

    def batch_loss(network: DeepTransformer, batch: lm.Batch) -> Array:
        chosen: Any = batch.take(data)
        scores, _ = classify(network, chosen.patches, chosen.places, heads=problem.heads)
        return jnp.sum(batch.weight * cross_entropy(scores, chosen.label))

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        scores = outputs(state.parameters, data, problem.heads)
        return {
            "train_loss": jnp.sum(data.weight * cross_entropy(scores, jnp.asarray(data.label))),
            "train_accuracy": weighted_accuracy(scores, data),
        }

    start, step = lm.descent(
        jax.grad(batch_loss),
        optax.adamw(problem.step_size, weight_decay=problem.weight_decay),
        lm.epochs(key, samples, data.label.shape[0], batch),
    )
    return lm.loop(step, start(network), probe, lm.record_steps(epochs * (samples // batch), records))


@lm.piece("heads")
def accuracy(problem: ImageSetting, network: DeepTransformer, data: Tokens) -> Array:
    return weighted_accuracy(outputs(network, data, problem.heads), data)


TASK_FIELDS = ("samples", "relevant_fraction", "strategy", "plants_first", "plants_second", "epochs", "records")
"""The fields that an initial model does not depend on."""


@functools.lru_cache(maxsize=64)
def pretrained(
    images: Images, setting: ImageSetting, seed: int, precision: np.dtype
) -> tuple[DeepTransformer, np.ndarray]:
    """The initial model after pre-training and its test accuracy; `precision` only tells two programs apart."""
    problem, key = setting.problem(), jax.random.key(seed)
    data, test = pretraining_sets(images, setting, seed)
    samples, epochs = setting.pretraining_samples, setting.pretraining_epochs
    with jax.default_matmul_precision("highest"):
        network = draw_network(problem, lm.stream(key, "init"), classes=len(setting.other_classes))
        sizes = {"batch": even_batch(samples, setting.batch), "records": setting.records}
        run = train(problem, lm.stream(key, "sampler"), network, data, samples, epochs, **sizes)
        network, test_accuracy = jax.device_get((run.state.parameters, accuracy(problem, run.state.parameters, test)))
    return jax.device_put(network), test_accuracy


def prepare(setting: ImageSetting, seed: int) -> Prepared:
    """Host work: compose the images, and train the initial model where no earlier cell has."""
    images, real = load_images(setting), jnp.result_type(float)
    train, test = task_sets(images, setting, seed)
    initial, before = None, np.nan
    if setting.pretraining_samples:
        defaults = {name: setting.declaration(name).default for name in TASK_FIELDS}
        initial, before = pretrained(images, setting.replace(**defaults), seed, real)
    known = {
        "chance": 1 / len(setting.classes),
        "pretraining_accuracy": before,
        "relevant_share": train.weight @ train.relevant.mean(axis=-1),
        "kept_tokens": setting.kept_tokens,
        "source_images": len(images.train_labels) + len(images.test_labels),
    }
    known = {name: np.asarray(value, real) for name, value in known.items()}
    train, test, known = jax.device_put((train, test, known))
    return Prepared(train, test, initial, known)


@lm.simulation(
    *lm.RUN,
    lm.Variable("train_loss", ("record",), "", "cross-entropy on the training images"),
    lm.Variable("train_accuracy", ("record",), "", "share of the training images that are classified right"),
    lm.Variable("test_accuracy", (), "", "share of the test images that are classified right"),
    lm.Variable("chance", (), "", "accuracy of guessing: 1 / number of classes"),
    lm.Variable("pretraining_accuracy", (), "", "test accuracy on the classes of pre-training, after it", True),
    lm.Variable("relevant_share", (), "α_*", "realised fraction of label-relevant tokens among the kept ones"),
    lm.Variable("kept_tokens", (), "", "tokens kept of every image"),
    lm.Variable("source_images", (), "", "images that the source has"),
    prepare=prepare,
)
def simulate(problem: ImageSetting, key: jax.Array, prepared: Prepared) -> dict[str, Array]:
    """One run: the initial model with a new output layer, fine-tuning, test."""
    network = draw_network(problem, lm.stream(key, "init"), classes=problem.class_count)
    if prepared.initial is not None:
        network = prepared.initial._replace(head=network.head)
    start = (lm.stream(key, "batch"), network, prepared.train, problem.samples, problem.epochs)
    run = train(problem, *start, batch=problem.batch_size, records=problem.records)
    return {**run.results(), "test_accuracy": accuracy(problem, run.state.parameters, prepared.test), **prepared.known}
