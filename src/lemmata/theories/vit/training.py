"""Algorithm 3: mini-batch SGD with a constant step on W_O, W_V, W_K, W_Q; and the simulation of one run.

The frozen-attention ("CNN") baseline multiplies the updates of W_K, W_Q by `train_attention` = 0.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

import lemmata as lm
from lemmata.networks import losses
from lemmata.networks.shallow import Network, Pass, attention, forward, gradient, products, run_forward
from lemmata.theories.vit import neurons, probes
from lemmata.theories.vit.data import Data, draw, draw_members, draw_patterns, sparsify
from lemmata.theories.vit.network import Features, aim, draw_signs, initial_errors, initialise, margins
from lemmata.theories.vit.setting import SMALL_LOSS, Setting

HALVES = 2**31 - 1
"""Sub-key of the batch lm.stream for the random halves of neurons; epochs and steps are 0, 1, 2, ..."""


class Watched(NamedTuple):
    """What is recorded besides the training data reads: test samples, initial features and patterns."""

    test: Data
    features: Features
    basis: Array


def training_loss(problem: Setting) -> losses.MarginLoss:
    """The loss that is trained on, as a function of the margin y F."""
    known = {"hinge": losses.hinge(problem.margin), "logistic": losses.logistic(), "linear": losses.linear()}
    return known[problem.loss]


def training_batches(problem: Setting, key: jax.Array) -> lm.Batches:
    """The batch scheme: all samples, epochs without replacement, i.i.d. or one pass."""
    if problem.batch == 0:
        return lm.full(problem.training_samples, problem.sample_room)
    if problem.batches == "epochs":
        return lm.epochs(key, problem.training_samples, problem.sample_room, problem.batch)
    if problem.batches == "iid":
        return lm.independent(key, problem.training_samples, problem.batch)
    return lm.one_pass(problem.training_samples, problem.sample_room, problem.batch)


@lm.piece("sample_room", "batch", "batches", "records", "each_step", "loss", "track", "skip", "test_samples")
def train(
    problem: Setting, key: jax.Array, network: Network, signs: Array, data: Data, watched: Watched | None = None
) -> lm.Run:
    """Train on the first `samples` rows of `data`; `watched` is what `track` = neurons reads besides."""
    data = jax.tree.map(lambda leaf: leaf[: problem.sample_room], data)
    loss = training_loss(problem)

    def batch_gradient(network: Network, batch: lm.Batch) -> Network:
        chosen: Data = batch.take(data)
        aimed, factor = aim(signs, chosen.label)

        def slope(outputs: Array) -> Array:
            return batch.weight * factor * loss.slope(factor * outputs)

        return gradient(network, aimed, chosen.tokens, chosen.weight, slope, problem.skip)

    trainable = Network(1.0, 1.0, problem.train_attention, problem.train_attention)  # pyright: ignore[reportArgumentType]
    start, step = lm.descent(
        batch_gradient, optax.sgd(problem.step_size), training_batches(problem, key), trainable=trainable
    )
    steps = problem.steps
    if problem.batch and problem.batches == "one_pass":
        steps = jnp.minimum(steps, jnp.maximum(problem.training_samples // problem.batch, 1))
    passages = {
        "reached": lambda probed: probed["train_loss"] <= 0,
        "small_loss": lambda probed: probed["train_loss"] <= SMALL_LOSS,
    }
    if problem.loss == "linear":  # unbounded below: zero is no solution
        passages = dict.fromkeys(passages, lambda probed: jnp.asarray(False))
    if problem.track == "neurons":
        passages["small_test"] = lambda probed: probed["test_loss"] < SMALL_LOSS
    return lm.loop(
        step,
        start(network),
        _probe(problem, key, network, signs, data, watched),
        lm.record_steps(steps, problem.records, problem.record_every),
        stop=lambda probed: probed["train_loss"] <= problem.stop_loss,
        passages=passages,
        each_step=bool(problem.each_step),
    )


def _probe(
    problem: Setting, key: jax.Array, initial: Network, signs: Array, data: Data, watched: Watched | None
) -> Callable[[Any, Any], dict[str, Array]]:
    """What is recorded along training: the loss, the attention too, or features and neurons as well (`track`)."""
    loss = training_loss(problem)
    weight = lm.full(problem.training_samples, problem.sample_room).draw((), jnp.asarray(0))[1].weight
    neuron_path = None
    if problem.track == "neurons":
        assert watched is not None, "neurons are recorded with their features and on test samples"
        neuron_path = _neuron_path(problem, key, initial, signs, data, weight, watched)

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        network = state.parameters
        margin = margins(network, signs, data.label, data.tokens, data.weight, problem.skip)
        probed = {"train_loss": jnp.sum(weight * loss.value(margin))}
        if problem.track != "loss":
            probed |= probes.attention_by_query(network, data, weight)
            moved = jax.tree.map(lambda a, b: jnp.max(jnp.abs(a - b)), network, previous.parameters)
            probed["movement"] = jnp.max(jnp.stack(jax.tree.leaves(moved)))
        if watched is not None and neuron_path is not None:
            probed |= {
                "margin_mean": jnp.sum(weight * margin),
                "margin_least": jnp.min(jnp.where(weight > 0, margin, jnp.inf)),
                "test_loss": jnp.mean(_test_hinge(problem, network, signs, watched.test)),
                **probes.feature_coordinates(network, watched.features, watched.basis, problem.skip),
                **neuron_path(network, (loss.value(margin) > 0) * 1.0),
            }
        return probed

    return probe


def _neuron_path(
    problem: Setting, key: jax.Array, initial: Network, signs: Array, data: Data, weight: Array, watched: Watched
) -> Callable[[Network, Array], dict[str, Array]]:
    """The neuron probe along training, with the lucky sets of the initial network; NaN unless a neuron has one sign."""
    shared = signs.ndim == 1
    if data.vote.ndim > 1:  # several classes: all is NaN, and only the shapes of what follows are read
        data = data._replace(label=data.label[:, 0], vote=data.vote[:, 0])
    sign = signs if shared else jnp.ones(signs.shape[-1])

    def run(network: Network) -> Pass:
        return run_forward(products(network, problem.skip), sign, data.tokens, data.weight, problem.skip)

    lucky = neurons.find_lucky(run(initial), sign, data, weight, jax.random.fold_in(key, HALVES))

    def path(network: Network, unsolved: Array) -> dict[str, Array]:
        features, basis = watched.features, watched.basis
        probed = neurons.neuron_probe(run(network), network, features, basis, sign, data, weight, unsolved, lucky)
        return probed if shared else jax.tree.map(lambda value: jnp.full_like(value, jnp.nan), probed)

    return path


def _test_hinge(problem: Setting, network: Network, signs: Array, test: Data) -> Array:
    """The hinge at margin 1 of every test sample, by the true labels."""
    test = jax.tree.map(lambda leaf: leaf[: problem.test_samples], test)
    return losses.hinge().value(margins(network, signs, test.vote, test.tokens, test.weight, problem.skip))


@lm.piece("test_samples", "reduction", "skip", once=True)
def evaluate(problem: Setting, network: Network, signs: Array, test: Data) -> dict[str, Array]:
    """Population risk on the test samples: hinge at margin 1, 0-1 error, smallest margin."""
    count = 2 if problem.reduction == "patterns" else problem.test_samples
    test = jax.tree.map(lambda leaf: leaf[:count], test)
    by_coordinate = test.vote * forward(network, signs, test.tokens, test.weight, problem.skip)
    by_coordinate = by_coordinate.reshape(count, -1)
    margin = jnp.sum(by_coordinate, axis=1)
    hinge = losses.hinge().value(margin)
    return {
        "test_hinge": jnp.mean(hinge),
        "test_hinge_error": jnp.std(hinge, ddof=min(1, count - 1)) / jnp.sqrt(count),
        "test_error": jnp.mean(jnp.any(by_coordinate <= 0, axis=1) * 1.0),
        "test_margin": jnp.min(margin),
    }


@lm.piece("skip", once=True)
def describe(
    problem: Setting,
    network: Network,
    trained: Network,
    features: Features,
    basis: Array,
    members: Array,
    signs: Array,
    data: Data,
) -> dict[str, Array]:
    """Statistics of the training data (probe 5.10) and the errors that the initial maps have achieved (probe 5.1;
    clipping and given maps change the declared ones). What training has moved, where the data model is general: neurons
    by class (V19), members of a set (V20)."""
    sigma, delta = initial_errors(network, features, basis, problem.skip)
    used = (jnp.arange(data.label.shape[0]) < problem.training_samples) * 1.0
    statistics = {
        "initial_value_error": sigma,
        "initial_attention_error": delta,
        "noise_norm": jnp.max(used[:, None] * (data.weight > 0) * data.noise),
        **probes.token_shares(data, used / problem.training_samples),
        **probes.similarities(data, used),
        "pattern_distance": probes.pattern_distance(members),
        "condition_slack": jnp.asarray(problem.condition_slack, sigma.dtype),
    }
    if signs.ndim == 3 and signs.shape[1] == 1:
        statistics["class_displacement"] = neurons.class_displacement(network, trained, features, signs)
    if members.ndim == 3:
        statistics["member_cosine"] = neurons.member_cosines(network, trained, members)
    return statistics


@lm.piece(once=True)
def attend(problem: Setting, network: Network, data: Data) -> Array:
    """The attention of a network on the data."""
    return attention(network, data.tokens, data.weight)


@lm.simulation(
    *lm.RUN,
    lm.Variable("train_loss", ("record",), "L(t)", "training loss"),
    lm.Variable("movement", ("record",), "", "largest parameter change since the previous record"),
    lm.Variable("margin_mean", ("record",), "mean y F", "mean margin on the training samples"),
    lm.Variable("margin_least", ("record",), "min y F", "smallest margin on the training samples"),
    lm.Variable("test_loss", ("record",), "", "hinge loss on the test samples along training"),
    *probes.ATTENTION,
    *probes.FEATURES,
    *neurons.NEURONS,
    lm.Variable("reached_step", (), "T_0", "first step with training loss 0 (inf: never)"),
    lm.Variable("small_loss_step", (), "T_ε", "first step with training loss at most 0.001 (inf: never)"),
    lm.Variable("small_test_step", (), "", "first step with test hinge below 0.001 (inf: never)"),
    lm.Variable("last_loss", (), "", "training loss at the last step"),
    lm.Variable("test_hinge", (), "", "hinge loss on the test samples"),
    lm.Variable("test_hinge_error", (), "", "standard error of the test hinge"),
    lm.Variable("test_error", (), "", "0-1 error on the test samples"),
    lm.Variable("test_margin", (), "min y F", "smallest margin on the test samples"),
    lm.Variable("untrained_test_hinge", (), "", "hinge loss of the initial network on the test samples"),
    lm.Variable("untrained_test_error", (), "", "0-1 error of the initial network on the test samples"),
    lm.Variable("class_displacement", ("own", "class"), "ΔW_O p_k", "mean displacement of a class's neurons", True),
    lm.Variable("member_cosine", ("pair",), "", "cosine of the displacements of W_Q on two members"),
    lm.Variable("initial_value_error", (), "σ", "achieved error of the initial value map"),
    lm.Variable("initial_attention_error", (), "δ", "achieved error of the initial key and query maps"),
    lm.Variable("noise_norm", (), "max |x - μ|", "largest distance of a kept training token from its pattern"),
    *probes.DATA,
    lm.Variable("condition_slack", (), "", "slack of condition (2.8)"),
    labels={"query": probes.QUERIES, **neurons.LABELS},
)
def simulate(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """One run: draw, initialise, sparsify, train, evaluate."""
    basis = draw_patterns(problem, lm.stream(key, "data"))
    members = draw_members(problem, lm.stream(key, "data"), basis) if problem.members > 1 else basis
    data = draw(problem, lm.stream(key, "data"), members, count=problem.drawn_room)
    test = draw(problem, lm.stream(key, "test"), members, count=problem.drawn_test_room)
    network, features = initialise(problem, lm.stream(key, "init"), basis)
    network = lm.starting(network)
    signs = draw_signs(problem, lm.stream(key, "init"))
    if problem.sparsified:
        scorer = network
        if problem.scored_by_training:  # trained on whole samples, as the practical method has it
            whole = train(problem, lm.stream(key, "batch"), network, signs, data, Watched(test, features, basis))
            scorer = whole.state.parameters
        data = sparsify(problem, lm.stream(key, "sampler", 0), data, attend(problem, scorer, data))
        test = sparsify(problem, lm.stream(key, "sampler", 1), test, attend(problem, scorer, test))
    run = train(problem, lm.stream(key, "batch"), network, signs, data, Watched(test, features, basis))
    trained: Network = run.state.parameters
    lm.keep({"samples": problem.samples}, data=data)
    lm.keep({"samples": problem.test_samples}, test=test)
    lm.keep(network=trained, initial=network, signs=signs, basis=basis)
    untrained = evaluate(problem, network, signs, test)
    return {
        **run.results(),
        "last_loss": run.last["train_loss"],
        **evaluate(problem, trained, signs, test),
        "untrained_test_hinge": untrained["test_hinge"],
        "untrained_test_error": untrained["test_error"],
        **describe(problem, network, trained, features, basis, members, signs, data),
    }
