"""Training by SGD with a fresh sample of every node at every step (section 4), and the simulation of one run."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer import probes
from lemmata.theories.graph_transformer.data import World, prepare
from lemmata.theories.graph_transformer.network import Parameters, gradient, initialise, run_sampled, tokens_of
from lemmata.theories.graph_transformer.sampling import SAMPLER, draw_tokens
from lemmata.theories.graph_transformer.setting import SUCCESS, TIGHT, TRAINED, Setting

LOOKED_AT = ("scores", "records", "track", "watch", "test_from", "test_draws")
FINAL = {
    "loss": "hinge loss",
    "other_loss": "hinge loss on nodes that are not discriminative",
    "accuracy": "accuracy",
    "other_accuracy": "accuracy on nodes that are not discriminative",
}
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
R, G = ("record",), ("record", "group")


@lm.piece("bin_room", "batch", "single_pass", "fresh_samples", *SAMPLER, *LOOKED_AT)
def train(
    problem: Setting, key: jax.Array, world: World, parameters: Parameters, signs: Array, watched: probes.Watched
) -> lm.Run:
    """Plain SGD on the labelled nodes; the last state, records and first passages."""
    tokens = probes.all_tokens(problem, world, watched)
    before = run_sampled(parameters, signs, tokens, problem.scores)
    start = probes.remember_start(parameters, signs, world, watched, before)

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        now: Parameters = state.parameters
        if problem.watch == "full":
            by_all = probes.full(problem, now, signs, world, watched).answer
            return probes.losses(world, watched, by_all) | {"distance_bias": now.encoding}
        # a sampler that draws by the encoding is watched on the samples of its encoding now
        moving = problem.draw == "encoding"
        seen = probes.draw_watched(problem, key, world, now.encoding) if moving else watched
        seen_tokens = probes.all_tokens(problem, world, seen) if moving else tokens
        run = run_sampled(now, signs, seen_tokens, problem.scores)
        answers = run.answer.reshape(watched.keys.shape[0], -1)
        probed = probes.losses(world, watched, answers) | {"distance_bias": now.encoding}
        if problem.track in ("masses", "proof"):
            probed |= probes.masses(problem, now, world, seen, seen_tokens, run)
        if problem.track == "proof":
            probed |= probes.follow_proof(problem, start, now, signs, world, seen, run)
        return probed

    go, step = lm.descent(
        step_gradient(problem, world, signs, watched),
        optax.sgd(problem.step_size),
        step_batches(problem, key, world),
        trainable=lambda t: trainable(problem, t),
    )
    passages = {
        "reached": lambda probed: probed["loss"] < problem.tolerance,
        "tight": lambda probed: probed["loss"] < TIGHT,
        "success": lambda probed: probed["loss"] < SUCCESS,
        "trained": lambda probed: probed["train_clean_loss"] < TRAINED,
    }

    def stop(probed: Mapping[str, Array]) -> Array:
        return (probed["loss"] < problem.stop_loss) | (probed["train_clean_loss"] < problem.stop_train_loss)

    at = lm.record_steps(problem.steps, problem.records, problem.record_every)
    return lm.loop(step, go(parameters), probe, at, stop=stop, passages=passages)


def step_batches(problem: Setting, key: jax.Array, world: World) -> lm.Batches:
    """Which labelled nodes a step sees, as places in the order, and the key of its samples."""
    room = world.order.shape[0]
    if not problem.batch:
        scheme = lm.full(problem.labelled, room)
    elif problem.single_pass:
        scheme = lm.one_pass(problem.labelled, room, problem.batch)
    else:
        scheme = lm.epochs(lm.stream(key, "batch"), problem.labelled, room, problem.batch)
    return lm.with_key(scheme, lm.stream(key, "sampler"))


def step_gradient(problem: Setting, world: World, signs: Array, watched: probes.Watched) -> Any:
    """The gradient of the batch loss; without fresh samples every node keeps its first watched one."""
    loss = hinge(problem.margin)

    def batch_gradient(parameters: Parameters, drawn: tuple[lm.Batch, jax.Array]) -> Parameters:
        batch, key = drawn
        places = jnp.arange(world.order.shape[0]) if batch.rows is None else batch.rows
        rows = world.order[places]
        if problem.fresh_samples:
            keys, weight = draw_tokens(problem, key, world, rows, parameters.encoding)
        else:
            keys, weight = watched.keys[0, places], watched.weight[0, places]
        tokens = tokens_of(world, rows, keys, weight, problem.bins)
        return gradient(parameters, signs, tokens, loss.push(world.taught[rows], batch.weight), problem.scores)

    return batch_gradient


def trainable(problem: Setting, t: Any) -> Parameters:
    """0/1 multipliers of every update: models, frozen parts, and the first steps in which W_O alone is trained."""
    later = (t >= problem.pretraining) * 1.0
    qk = later * problem.update_attention
    free = jnp.where(jnp.arange(problem.bin_room) == 0, 1.0 - problem.freeze_zero_bin, 1.0)
    b = later * problem.update_encoding * free
    v = later * problem.train_values * problem.value_columns
    return Parameters(Network(problem.train_output, v, qk, qk), b, qk)  # pyright: ignore[reportArgumentType]


@lm.piece("scores", "include_self", "test_draws", once=True)
def finish(
    problem: Setting, step: Array, parameters: Parameters, signs: Array, world: World, watched: probes.Watched
) -> dict[str, Array]:
    """Sampled and full evaluation of the trained network, how its margins y F are spread, and clocks of the records."""
    run = run_sampled(parameters, signs, probes.all_tokens(problem, world, watched), problem.scores)
    by_sample = run.answer.reshape(watched.keys.shape[0], -1)
    by_all = probes.full(problem, parameters, signs, world, watched).answer
    on_sample, on_all = probes.losses(world, watched, by_sample), probes.losses(world, watched, by_all)
    label, clean = world.label[watched.node], world.clean[watched.node]
    margins = jnp.where(watched.tested, label * by_all[0], jnp.nan)
    return {
        "time": step * problem.step_size,
        "epoch": step * problem.seen / problem.labelled,
        "trained_parameters": jnp.asarray(problem.trained_parameters, step.dtype),
        **{f"final_{name}": on_sample[name] for name in FINAL},
        **{f"full_{name}": on_all[name] for name in FINAL},
        "flipped": jnp.sum(watched.tested * (label != clean)) / jnp.sum(watched.tested),
        "margin_quantile": jnp.nanquantile(margins, jnp.asarray(QUANTILES)),
    }


def train_network(problem: Setting, key: jax.Array, world: World) -> tuple[Parameters, Array, probes.Watched, lm.Run]:
    """Initial parameters, output weights, what was watched, and the run."""
    parameters, signs = initialise(problem, key, world.directions)
    parameters = lm.starting(parameters, {"neurons": problem.neurons, "bins": problem.bins})
    watched = probes.draw_watched(problem, key, world)
    return parameters, signs, watched, train(problem, key, world, parameters, signs, watched)


PATH = (
    lm.Variable("time", R, "η t", "training step times step size"),
    lm.Variable("epoch", R, "", "passes over the labelled nodes"),
    lm.Variable("loss", R, "", "hinge loss on test nodes (none: all are labelled)", True),
    lm.Variable("other_loss", R, "", "hinge loss on test nodes that are not discriminative", True),
    lm.Variable("marked_loss", R, "", "hinge loss on discriminative test nodes", True),
    lm.Variable("clean_loss", R, "", "hinge loss on test nodes with clean labels", True),
    lm.Variable("accuracy", R, "", "accuracy on test nodes", True),
    lm.Variable("other_accuracy", R, "", "accuracy on test nodes that are not discriminative", True),
    lm.Variable("train_loss", R, "", "hinge loss on labelled nodes", True),
    lm.Variable("train_clean_loss", R, "", "hinge loss on labelled nodes with clean labels", True),
    lm.Variable("distance_bias", ("record", "bin"), "b_z", "distance encoding"),
)
PASSAGES = (
    lm.Variable("reached_step", (), "T", "first record with loss below the tolerance (inf: never)"),
    lm.Variable("tight_step", (), "T", "first record with loss below .01 (inf: never)"),
    lm.Variable("success_step", (), "T", "first record with loss below 1e-3 (inf: never)"),
    lm.Variable("trained_step", (), "T", "first record with clean training loss below .1 (inf: never)"),
)
ENDS = tuple(
    lm.Variable(f"{how}_{name}", (), "", f"{what} at the end, {words}", True)
    for how, words in (("final", "sampled"), ("full", "all candidates as keys"))
    for name, what in FINAL.items()
)
FACTS = (
    lm.Variable("flipped", (), "ε̂_0", "share of test nodes whose label is flipped", True),
    lm.Variable("margin_quantile", ("quantile",), "y F", "quantiles of the margins of test nodes", True),
    lm.Variable("count_margin", ("bin",), "Δ̄(z)", "mean winning margin; the last bin lumps larger distances"),
    lm.Variable("normalised_margin", ("bin",), "", "mean winning margin relative to the size of the shell"),
    lm.Variable("reached_bins", ("bin",), "", "1 for bins that the candidates of a labelled node reach"),
    lm.Variable("largest_shell", ("bin",), "δ_z", "size of the largest shell"),
    lm.Variable("node_count", (), "N", "nodes of the graph"),
    lm.Variable("core_distance", (), "z_m", "distance with the largest mean margin"),
    lm.Variable("positive_share", (), "", "share of nodes with a positive margin at the core distance"),
    lm.Variable("lonely", (), "", "labelled nodes without any candidate"),
    lm.Variable("bins_used", (), "Z", "bins of the encoding"),
    lm.Variable("trained_parameters", (), "", "numbers that are trained"),
)
MASSES = (
    lm.Variable("relevant_mass", G, "", "attention on class-relevant keys, labelled nodes", True),
    lm.Variable("confusing_mass", G, "", "attention on confusing keys", True),
    lm.Variable("core_ratio", R, "", "relevant share of the decisive attention in the core shell, other nodes", True),
    lm.Variable("confusion_ratio", R, "ε_S", "share of confusing keys among the decisive ones in the core shell", True),
    lm.Variable("undecided", R, "", "share of other nodes without a decisive key in the core shell", True),
    lm.Variable("bin_mass", ("record", "group", "bin"), "α(N_z)", "attention on every bin", True),
    lm.Variable("entropy", G, "", "entropy of attention", True),
    lm.Variable("predicted_mass", ("record", "group", "error"), "p_n", "relevant mass by Definition B.2.3", True),
)
PROOF = (
    lm.Variable("key_norm", ("record", "pattern"), "‖q_j‖", "norm of the mean key of a pattern"),
    lm.Variable("query_norm", ("record", "pattern"), "‖r_j‖", "norm of the mean query of a pattern"),
    lm.Variable("cross_logits", ("record", "pattern", "other"), "⟨W_K μ_i, W_Q μ_j⟩", "logit of key i and query j"),
    lm.Variable("lucky_along", ("record", "crowd", "pattern"), "W_O,i p̂_j", "mean over a group of neurons", True),
    lm.Variable("lucky_along_size", ("record", "crowd", "pattern"), "|W_O,i p̂_j|", "mean size over the group", True),
    lm.Variable("norm_ratio", R, "", "mean squared row norm of W_O, unlucky over lucky neurons", True),
    lm.Variable("persistence", ("record", "crowd"), "", "active share of the pairs of a neuron and a node", True),
    lm.Variable("active_fraction", R, "", "share of active neurons, mean over nodes"),
    lm.Variable("active_fraction_alike", R, "", "the same with the first row of the initial W_O in every row"),
    lm.Variable("lucky_count", ("record", "crowd"), "", "size of the group of neurons"),
    lm.Variable("value_along_first", R, "⟨W_V μ_1, p_1(0)⟩", "value of the first pattern along its initial one"),
    lm.Variable("value_moved", ("record", "pattern"), "‖dV_j‖", "how far the value of a pattern has moved"),
    lm.Variable("value_opposition", R, "⟨dV_1, dV_2⟩", "product of the moves of both discriminative values"),
    lm.Variable("lucky_value", ("record", "label"), "W_O,i dV_j", "mean over the lucky neurons of the label", True),
    lm.Variable("coefficient_negative", ("record", "label"), "V_i^(j) < 0", "share of lucky neurons", True),
    lm.Variable("coefficient_positive", ("record", "label"), "V_i^(j) > 0", "share of lucky neurons", True),
    lm.Variable("drift_ov", R, "", "change of W_O^T W_O - W_V W_V^T"),
    lm.Variable("drift_qk", R, "", "change of W_Q W_Q^T - W_K W_K^T"),
)

LABELS = {**probes.LABELS, "quantile": tuple(map(str, QUANTILES))}


@lm.simulation(*lm.RUN, *PATH, *MASSES, *PROOF, *PASSAGES, *ENDS, *FACTS, labels=LABELS, prepare=prepare)
def simulate(problem: Setting, key: jax.Array, world: World) -> dict[str, Array]:
    """One run: draw, initialise, train, evaluate."""
    initial, signs, watched, run = train_network(problem, key, world)
    used = {"neurons": problem.neurons, "bins": problem.bins}
    lm.keep(used, network=run.state.parameters, initial=initial, signs=(signs, "neurons"), data=world, test=watched)
    if problem.draw == "encoding":
        watched = probes.draw_watched(problem, key, world, run.state.parameters.encoding)
    ends = finish(problem, run.step, run.state.parameters, signs, world, watched)
    return {**run.results(), **ends, **world.facts}
