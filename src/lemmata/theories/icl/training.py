"""Training by SGD on fresh prompts (section 4), evaluation, and the simulation of one run."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.shallow import Network
from lemmata.theories.icl import data, probes
from lemmata.theories.icl.data import Prompts, Watched, World
from lemmata.theories.icl.network import gradient, initialise, maps, neurons, run_forward
from lemmata.theories.icl.probes import ORDERS, RATE_LABELS, SIGNS, prune
from lemmata.theories.icl.setting import REGISTER, Setting


@lm.piece("batch", "context_capacity", "record_room", "track", "include_query")
def train(problem: Setting, key: jax.Array, network: Network, signs: Array, world: World, watched: Watched) -> lm.Run:
    """SGD with a fresh batch at every step."""
    loss, include = probes.LOSS, problem.include_query

    def batch_gradient(network: Network, prompts: Prompts) -> Network:
        return gradient(network, signs, prompts, lambda f: prompts.label * loss.slope(prompts.label * f), include)

    proof = probes.record_proof(problem, network, signs, world, watched) if problem.track == "proof" else None

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        now, exact = state.parameters, watched.exact
        probed = {"watch_hinge": jnp.mean(loss.value(exact.label * run_forward(now, signs, exact, include).output))}
        if problem.track == "mechanism":
            probed |= probes.record_mechanism(now, signs, world, watched, include)
        return probed | (proof(now) if proof else {})

    trainable = Network(1.0, 1.0, problem.train_attention, problem.train_attention)  # pyright: ignore[reportArgumentType]
    draw = functools.partial(data.training_prompts, problem, world=world, count=problem.batch)
    fresh = lm.fresh(lm.stream(key, "batch"), draw)
    start, step = lm.descent(batch_gradient, optax.sgd(problem.step_size), fresh, trainable=trainable)

    def below(level: Any) -> Any:
        return lambda probed: probed["watch_hinge"] < level

    left, reached = below(problem.leave_below), {"reached": below(problem.stop_at_loss)}
    return lm.loop(step, start(network), probe, _moments(problem), stop=left, passages=reached)


def _moments(problem: Setting) -> Array:
    """The steps of the records: even, or those of the register and the last."""
    room = problem.record_room
    even = lm.record_steps(problem.steps, room, problem.record_every)
    if room <= len(REGISTER):
        return even
    listed = jnp.asarray([*REGISTER, *[problem.steps] * (room - len(REGISTER))])
    return jnp.where(problem.register > 0, lm.without_repeats(jnp.minimum(listed, problem.steps)), even)


@lm.piece("include_query", once=True)
def evaluate(problem: Setting, network: Network, signs: Array, prompts: Prompts) -> dict[str, Array]:
    """What a network does with prompts: its scores, the first head's attention, outputs, how many prompts there are."""
    run = run_forward(network, signs, prompts, problem.include_query)
    scored, count = probes.scores(run, prompts), jnp.asarray(prompts.label.shape[0] * 1.0)
    return {**scored, "first_head": scored["concentration"][0], "output": run.output, "prompts": count}


@lm.piece("heads", once=True)
def describe(problem: Setting, before: Any, after: Any, world: World, on_matches: Array) -> dict[str, Array]:
    """What attention has learnt: how far it moved, its maps on the patterns, and the tasks that it was trained on.

    before, after: W_Q and W_K. on_matches: the attention of every head on contexts with the query's pattern.
    """
    used = world.roles * (jnp.arange(world.roles.shape[0]) < problem.seen)[:, None]
    counts = jnp.stack([jnp.sum(used > 0, axis=0), jnp.sum(used < 0, axis=0)]) * 1.0
    partner = probes.partners(world.roles, problem.seen)
    known = {
        "absent": jnp.asarray(jnp.nan),
        "attention_moved": jnp.max(jnp.stack([jnp.max(jnp.abs(a - b)) for a, b in zip(before, after, strict=True)])),
        "coverage_least": jnp.min(counts),
        "coverage_most": jnp.max(counts),
        "concentration_exponent": jnp.log(1 - jnp.max(on_matches)) / jnp.log(world.roles.shape[1]),
        "partner": partner,
    }
    if problem.heads > 1:
        return known | {"partner_ratio": jnp.full(2, jnp.nan)}
    blocks = jnp.stack([probes.block(matrix, world.patterns.relevant) for matrix in after])
    classes = jnp.sum(jnp.abs(world.roles[0])) > 2  # of several patterns: these have no partners
    ratio = jnp.where(classes, jnp.nan, probes.partner_ratio(blocks, partner))
    return known | {"partner_ratio": ratio, "query_patterns": blocks[0], "key_patterns": blocks[1]}


@lm.piece("include_query", once=True)
def prune_network(
    problem: Setting, key: jax.Array, network: Network, signs: Array, prompts: Prompts, by_output: Any
) -> dict[str, Array]:
    """What pruning costs on prompts, by the norms of the neurons or (`by_output` = 1) by the row norms of W_O."""
    run, rows = run_forward(network, signs, prompts, problem.include_query), neurons(network)
    outputs = jnp.linalg.norm(network.output, axis=1)
    norms = jnp.where(by_output > 0, outputs, jnp.linalg.norm(rows, axis=1))
    pruned = prune(lm.stream(key, "test", data.PRUNE), rows, norms, signs, run, prompts)
    return {**pruned, "output_norm": jnp.sort(outputs), "output_sign": jnp.sign(signs)}


def seen_hinge(problem: Setting, key: jax.Array, network: Network, signs: Array, world: World) -> Array:
    """The hinge loss on seen tasks with the contexts of training: a run counts as trained however it is tested."""
    return evaluate(problem, network, signs, data.trained_prompts(problem, key, world))["hinge"]


def train_network(problem: Setting, key: jax.Array) -> tuple[World, Network, Network, Array, lm.Run]:
    """Draw everything and train: the world, the initial and the trained network, the output layer and the run."""
    world = data.draw_world(problem, key)
    drawn, signs = initialise(problem, key)
    network = lm.starting(drawn)
    run = train(problem, key, network, signs, world, data.draw_watched(problem, key, world))
    return world, network, run.state.parameters, signs, run


MATCHES = ("no_match", "error_match", "error_no_match")
LEARNT = ("attention_moved", "coverage_least", "coverage_most", "concentration_exponent", "partner_ratio")
ERRORS = {"error": "sign error", "hinge": "hinge loss"}
UNSEEN_ERRORS = (
    *(lm.Variable(f"unseen_{what}", (), "", f"{meaning} on unseen tasks") for what, meaning in ERRORS.items()),
    lm.Variable("unseen_no_match", (), "", "share of these prompts without a context of the query's pattern"),
    lm.Variable("unseen_error_match", (), "", "sign error on those with one", True),
    lm.Variable("unseen_error_no_match", (), "", "sign error on those without", True),
)
BLOCKS = {
    "neuron_norm": ("‖r_i‖", "norm of a neuron"),
    "feature_norm": ("‖r_{i,d_x}‖", "norm of its feature block"),
    "feature_cosine": ("cos(r_{i,d_x}, μ̄)", "cosine of its feature block with the mean pattern"),
    "label_norm": ("‖r_{i,d_y}‖", "norm of its label block"),
    "label_cosine": ("cos(r_{i,d_y}, sign(a_i) q)", "cosine of its label block with ±q"),
}
"""Of every neuron, and of the ones that figure 6.2 shows."""
SEEN_HINGE = lm.Variable("seen_hinge", (), "", "hinge loss on seen tasks, with the contexts of training")
R = ("record",)
PAIR, IRRELEVANT = ("record", "pattern", "other"), ("record", "idi", "other_idi")
MAPS = ("query", "key")
GROUPS = ("large", "small")
GROWTH = ("lucky", "plus", "minus")


@lm.simulation(
    *lm.RUN,
    lm.Variable("watch_hinge", R, "", "hinge loss on the watched unseen-task exact prompts"),
    lm.Variable("query_norm", R, "‖W_Q p_query‖", "mean norm of mapped queries out of domain"),
    lm.Variable("key_norm", R, "‖W_K p_i‖", "mean norm of mapped contexts out of domain"),
    lm.Variable("query_projection", R, "", "mean projection of mapped queries on their own pattern, out of domain"),
    lm.Variable("key_projection", R, "", "mean projection of mapped contexts on their own pattern, out of domain"),
    lm.Variable("attention_same", R, "", "attention on contexts with the query's pattern, out of domain"),
    lm.Variable("attention_other", R, "", "attention on the other contexts, out of domain"),
    *(lm.Variable(f"shown_{name}", ("record", "shown"), *of) for name, of in BLOCKS.items()),
    lm.Variable("unseen_hinge_path", R, "", "hinge loss on unseen tasks along training"),
    lm.Variable("unseen_error_path", R, "", "sign error on unseen tasks along training"),
    lm.Variable("seen_hinge_path", R, "", "hinge loss on seen tasks along training"),
    lm.Variable("seen_error_path", R, "", "sign error on seen tasks along training"),
    lm.Variable("concentration_path", R, "", "attention on contexts with the query's pattern, unseen tasks"),
    lm.Variable("least_attention", R, "1 - γ_t", "smallest attention on them of any fixed training prompt"),
    lm.Variable("active_hinge", R, "", "share of fixed training prompts with loss"),
    *(lm.Variable(f"{map}_patterns", PAIR, f"G^{map[0].upper()}", f"{map} map on relevant patterns") for map in MAPS),
    *(lm.Variable(f"{map}_irrelevant", IRRELEVANT, "", f"{map} map on irrelevant patterns") for map in MAPS),
    lm.Variable("key_pattern_norm", ("record", "pattern"), "‖W_K(μ_j;0)‖", "norm of mapped patterns"),
    lm.Variable("key_label_norm", R, "‖W_K(0;q)‖", "norm of the mapped label"),
    lm.Variable("mapped_sum", ("record", "map", "part"), "W(Σμ;0)/|Σμ|", "where W_Q, W_K send the sum of all patterns"),
    lm.Variable("map_update", ("record", "map", "pattern", "other"), "", "-gradient of W_Q, W_K on relevant patterns"),
    lm.Variable("negated_update", ("record", "map"), "", "mean own update with all query labels negated"),
    lm.Variable("irrelevant_update", ("record", "map"), "", "mean size of what W μ_j gains along ν_k"),
    lm.Variable("label_gradient", ("record", "map"), "", "largest gradient entry of the label columns"),
    lm.Variable("value_coefficient", ("record", "sign"), "V_i m/(β²(1-γ))", "mean coefficient, normalised, by sign"),
    lm.Variable("negated_value_coefficient", ("record", "sign"), "", "the same with all query labels negated"),
    lm.Variable("output_growth", ("record", "growth"), "ΔW_O(μ̄;±q)", "mean growth of W_O along its direction"),
    lm.Variable("zeta", R, "ζ_t", "smallest positive hidden value"),
    lm.Variable("active_share", ("record", "size"), "Pr(h_i > 0)", "share of active neurons, large and small"),
    lm.Variable("own_active", R, "", "share of own lucky neurons that are active"),
    lm.Variable("all_active", R, "", "share of W on +1 prompts and U on -1 prompts that is active"),
    *(lm.Variable(f"planted_{who}_active", R, "", "the same with planted rows of W_O") for who in ("own", "all")),
    lm.Variable("lucky_share", R, "|W ∪ U|/m", "share of neurons that are lucky for some prompt"),
    *(lm.Variable(name, ("record", "neuron"), *of) for name, of in BLOCKS.items()),
    lm.Variable("large", ("record", "neuron"), "i ∈ L", "1 for large neurons (Otsu)"),
    lm.Variable("large_share", R, "|L|/m", "share of large neurons"),
    lm.Variable("norm_ratio", R, "", "median norm of large over median norm of small neurons"),
    lm.Variable("output_sign", ("neuron",), "sign a_i", "sign of the output weight"),
    lm.Variable("partner", ("pattern", "other"), "", "1 where two patterns form a training task"),
    lm.Variable("reached_step", (), "T*", "first record with watch_hinge below stop_at_loss (inf: never)"),
    lm.Variable("last_watch_hinge", (), "", "hinge loss on the watched prompts at the last step"),
    *UNSEEN_ERRORS,
    lm.Variable("unseen_margin", (), "mean z F", "mean margin on unseen tasks"),
    *(lm.Variable(f"seen_{what}", (), "", f"{meaning} on seen tasks") for what, meaning in ERRORS.items()),
    *(lm.Variable(f"shifted_{what}", (), "", f"{meaning} out of domain", True) for what, meaning in ERRORS.items()),
    lm.Variable("shifted_concentration", (), "", "attention on contexts with the query's pattern, out of domain", True),
    lm.Variable("concentration", ("head",), "", "attention on contexts with the query's pattern, unseen tasks"),
    lm.Variable("initial_concentration", ("head",), "", "the same before training"),
    lm.Variable("attention_moved", (), "", "largest change of an entry of W_Q or W_K"),
    lm.Variable("coverage_least", (), "", "fewest training tasks that map a pattern to a sign (Condition 6.3.2)"),
    lm.Variable("coverage_most", (), "", "most training tasks that map a pattern to a sign"),
    lm.Variable("concentration_exponent", (), "-C", "log(1 - concentration) / log M_1, of the better head"),
    lm.Variable("partner_ratio", ("map",), "G_jk/G_jj", "mean entry of task partners over the own entry", True),
    lm.Variable("pruned_hinge", ("order", "rate"), "", "hinge loss after pruning, unseen tasks", True),
    lm.Variable("pruned_error", ("order", "rate"), "", "sign error after pruning, unseen tasks", True),
    lm.Variable("large_hinge", (), "", "hinge loss without the small neurons"),
    lm.Variable("large_error", (), "", "sign error without the small neurons"),
    lm.Variable("pruned_large_share", (), "|L|/m", "share of large neurons when pruned"),
    labels={
        "map": MAPS,
        "part": ("along", "across"),
        "sign": SIGNS,
        "growth": GROWTH,
        "size": GROUPS,
        "order": ORDERS,
        "rate": RATE_LABELS,
    },
)
def simulate(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """One run: draw, initialise, train, evaluate on unseen and seen tasks and out of domain, and describe."""
    world, network, trained, signs, run = train_network(problem, key)
    new = data.testing_prompts(problem, key, world, data.UNSEEN)
    lm.keep({"contexts": problem.test_contexts}, test=new)
    lm.keep({"contexts": problem.contexts}, data=lambda: data.trained_prompts(problem, key, world))
    lm.keep({"tasks": problem.total}, world=world)
    lm.keep(network=trained, initial=network, signs=signs)
    on_new = evaluate(problem, trained, signs, new)
    on_old = evaluate(problem, trained, signs, data.testing_prompts(problem, key, world, data.SEEN))
    known = describe(problem, maps(network), maps(trained), world, on_new["concentration"])
    results = {
        **run.results(),
        "last_watch_hinge": run.last["watch_hinge"],
        **{f"unseen_{name}": on_new[name] for name in ("error", "hinge", "margin", *MATCHES)},
        **{f"seen_{name}": on_old[name] for name in ("error", "hinge")},
        "concentration": on_new["concentration"],
        "initial_concentration": evaluate(problem, network, signs, new)["concentration"],
        **{name: known[name] for name in (*LEARNT, *(("partner",) if problem.track == "proof" else ()))},
    }
    there = dict.fromkeys(("error", "hinge", "first_head"), known["absent"])
    if problem.shiftable:
        there = evaluate(problem, trained, signs, data.draw_shifted(problem, key, world)[0])
    results |= {f"shifted_{name}": there[name] for name in ("error", "hinge")}
    results["shifted_concentration"] = there["first_head"]
    if problem.track == "proof":
        pruned = prune_network(problem, key, trained, signs, new, 0)
        results |= {name: pruned[name] for name in pruned if name != "output_norm"}
    return results
