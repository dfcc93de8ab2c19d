"""One run of F4.1 or F4.8: ResNet-9 by SGD with momentum 0.9 and a cosine step, tested on either group."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array
from optax import sigmoid_binary_cross_entropy as cross_entropy

import lemmata as lm
from lemmata.theories.group_imbalance.images.data import Set, draw_sets
from lemmata.theories.group_imbalance.images.network import ResNet9, classify, draw_network
from lemmata.theories.group_imbalance.images.setting import ImageSetting

MOMENTUM = 0.9


class Prepared(NamedTuple):
    """The images of a run."""

    train: Set
    test: Set


@lm.piece("records", "batch_size")
def train(problem: ImageSetting, key: jax.Array, network: ResNet9, data: Set) -> lm.Run:
    """Epochs of mini-batches; the step size falls by half a cosine."""
    count = problem.samples + problem.extra
    steps = problem.epochs * (count // problem.batch_size)

    def batch_loss(network: ResNet9, batch: lm.Batch) -> Array:
        chosen: Any = batch.take(data)
        return jnp.sum(batch.weight * cross_entropy(classify(network, chosen.pixels)[0], chosen.label))

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        few = jax.tree.map(lambda part: part[: problem.batch_size], data)
        return {"train_loss": cross_entropy(classify(state.parameters, few.pixels)[0], few.label).mean()}

    def rate(t: Any) -> Array:
        return problem.step_size * (1 + jnp.cos(jnp.pi * t / jnp.maximum(steps, 1))) / 2

    optimiser = optax.chain(optax.add_decayed_weights(problem.weight_decay), optax.sgd(rate, momentum=MOMENTUM))
    batches = lm.epochs(key, count, data.label.shape[0], problem.batch_size)
    start, step = lm.descent(jax.grad(batch_loss), optimiser, batches)
    return lm.loop(step, start(network), probe, lm.record_steps(steps, problem.records))


@lm.piece("batch_size")
def test(problem: ImageSetting, network: ResNet9, data: Set, tested: Set) -> dict[str, Array]:
    """Accuracy, loss and the covariance norm of the penultimate features, by group."""
    known = classify(network, data.pixels[: problem.batch_size])[2]
    logits, features, _ = classify(network, tested.pixels, known)
    right = ((logits > 0) == (tested.label > 0.5)) * 1.0
    losses = cross_entropy(logits, tested.label)
    found = {"test_accuracy": right.mean(), "test_loss": losses.mean()}
    for name, mine in (("minority", tested.minority), ("majority", 1 - tested.minority)):
        share = mine / mine.sum()
        centred = (features - share @ features) * jnp.sqrt(share)[:, None]
        found[f"{name}_accuracy"] = share @ right
        found[f"{name}_loss"] = share @ losses
        found[f"{name}_feature_norm"] = jnp.linalg.norm(centred, 2) ** 2
    return found


def by_group(**measured: tuple[str, str]) -> list[lm.Variable]:
    """What is measured of the minority and of the majority: name -> symbol and words, with {} for the group."""
    pairs = [(group, *each) for group in ("minority", "majority") for each in measured.items()]
    return [lm.Variable(f"{group}_{name}", (), symbol, words.format(group)) for group, name, (symbol, words) in pairs]


def prepare(setting: ImageSetting, seed: int) -> Prepared:
    """Host work: read or render the images."""
    return Prepared(*draw_sets(setting, seed))


@lm.simulation(
    *lm.RUN,
    lm.Variable("train_loss", ("record",), "", "cross entropy on a batch of training images"),
    lm.Variable("test_accuracy", (), "", "accuracy on test images, half of each group"),
    lm.Variable("test_loss", (), "", "cross entropy on them"),
    *by_group(
        accuracy=("", "accuracy on test images of the {}"),
        loss=("", "cross entropy on test images of the {}"),
        feature_norm=("‖Σ‖", "covariance norm of the {}'s penultimate features"),
    ),
    prepare=prepare,
)
def simulate(problem: ImageSetting, key: jax.Array, prepared: Prepared) -> dict[str, Array]:
    """One run: initial network, training, test."""
    network = draw_network(problem, lm.stream(key, "init"))
    run = train(problem, lm.stream(key, "batch"), network, prepared.train)
    return {**run.results(), **test(problem, run.state.parameters, prepared.train, prepared.test)}
