"""A trained network tested otherwise, and a random one (P4, P5, P11, figures 6.1, 6.3(A), 6.5).

How it is tested (`test_fraction`, `test_contexts`, `test_mode`, the shift `angle` and `defect`) are fields of the
setting. The seed draws the same prompts whatever they are, as far as they can be the same.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.shallow import Network
from lemmata.theories.icl import data, probes, training
from lemmata.theories.icl.data import Patterns, Prompts, World
from lemmata.theories.icl.network import initialise, maps, run_forward
from lemmata.theories.icl.probes import ORDERS, RATE_LABELS, SIGNS
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.training import ERRORS, MATCHES, SEEN_HINGE, evaluate, seen_hinge, train_network


@lm.simulation(*training.UNSEEN_ERRORS, lm.Variable("prompts", (), "", "testing prompts"), SEEN_HINGE)
def answer_prompts(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train, and test on unseen tasks (P4)."""
    world, _, trained, signs, _ = train_network(problem, key)
    tested = evaluate(problem, trained, signs, data.testing_prompts(problem, key, world, data.UNSEEN))
    errors = {f"unseen_{name}": tested[name] for name in ("error", "hinge", *MATCHES)}
    return {**errors, "prompts": tested["prompts"], "seen_hinge": seen_hinge(problem, key, trained, signs, world)}


MOMENTS = ("start", "end")
SCORES = ERRORS | {"concentration": "attention on contexts with the query's pattern"}


@lm.piece("include_query", once=True)
def try_shift(
    problem: Setting, before: Network, after: Network, signs: Array, prompts: Prompts, patterns: Patterns
) -> dict[str, Array]:
    """Error, hinge and concentration out of domain, in total and by the query's pattern, before and after training."""
    tested: dict[str, list[Array]] = {}
    for network in (before, after):
        run = run_forward(network, signs, prompts, problem.include_query)
        total, each = probes.scores(run, prompts), probes.scores_by_query(run, prompts, patterns.relevant.shape[1])
        for name in each:
            tested.setdefault(f"shift_{name}", []).append(total[name].reshape(()))
            tested.setdefault(f"query_{name}", []).append(each[name])
    return {name: jnp.stack(values) for name, values in tested.items()}


@lm.simulation(
    *(lm.Variable(f"shift_{what}", ("moment",), "", f"{meaning} out of domain") for what, meaning in SCORES.items()),
    *(
        lm.Variable(f"query_{what}", ("moment", "odr_pattern"), "", f"{meaning} by the query's pattern")
        for what, meaning in SCORES.items()
    ),
    lm.Variable("query_patterns", ("pattern", "other"), "G^Q", "query map on relevant patterns"),
    lm.Variable("key_patterns", ("pattern", "other"), "G^K", "key map on relevant patterns"),
    lm.Variable("partner", ("pattern", "other"), "", "1 where two patterns form a training task"),
    SEEN_HINGE,
    labels={"moment": MOMENTS},
)
def shift_patterns(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train, and test on shifted patterns (P5)."""
    data.require_shiftable(problem)
    world, initial, trained, signs, _ = train_network(problem, key)
    known = evaluate(problem, trained, signs, data.trained_prompts(problem, key, world))
    learnt = training.describe(problem, maps(initial), maps(trained), world, known["concentration"])
    return {
        **try_shift(problem, initial, trained, signs, *data.draw_shifted(problem, key, world)),
        **{name: learnt[name] for name in ("query_patterns", "key_patterns", "partner")},
        "seen_hinge": known["hinge"],
    }


TASKS = ("one cycle", "all tasks")


@lm.piece("include_query", once=True)
def exchange(problem: Setting, few: Network, every: Network, signs: Array, prompts: Prompts) -> Array:
    """Sign errors by whose W_Q, W_K and by whose other weights a network has."""
    pairs = [(attention, rest) for attention in (few, every) for rest in (few, every)]
    mixed = [rest._replace(query=attention.query, key=attention.key) for attention, rest in pairs]
    runs = [run_forward(network, signs, prompts, problem.include_query) for network in mixed]
    return jnp.stack([probes.scores(run, prompts)["error"] for run in runs]).reshape(2, 2)


@lm.simulation(
    lm.Variable("exchanged_error", ("attention_of", "rest_of"), "", "sign error out of domain with weights exchanged"),
    SEEN_HINGE,
    lm.Variable("every_hinge", (), "", "hinge loss of the network trained on all tasks"),
    labels={"attention_of": TASKS, "rest_of": TASKS},
)
def exchange_attention(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train on the setting's tasks and on all of them, exchange W_Q and W_K, test on shifted patterns (P5)."""
    data.require_shiftable(problem)
    everything = problem.replace(seen=problem.total)
    world, _, few, signs, _ = train_network(problem, key)
    every = train_network(everything, key)[2]
    return {
        "exchanged_error": exchange(problem, few, every, signs, data.draw_shifted(problem, key, world)[0]),
        "seen_hinge": seen_hinge(problem, key, few, signs, world),
        "every_hinge": seen_hinge(everything, key, every, signs, world),
    }


@lm.simulation(
    lm.Variable("pruned_hinge", ("order", "rate"), "", "hinge loss after pruning, out of domain", True),
    lm.Variable("pruned_error", ("order", "rate"), "", "sign error after pruning, out of domain", True),
    lm.Variable("output_norm", ("neuron",), "‖W_O,i‖", "norms of the rows of W_O, sorted"),
    SEEN_HINGE,
    labels={"order": ORDERS, "rate": RATE_LABELS},
)
def prune_neurons(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train, prune in every order and rate, and test out of domain (figure 6.5)."""
    data.require_shiftable(problem)
    world, _, trained, signs, _ = train_network(problem, key)
    pruned = training.prune_network(problem, key, trained, signs, data.draw_shifted(problem, key, world)[0], 1)
    tested = {name: pruned[name] for name in ("pruned_hinge", "pruned_error", "output_norm")}
    return tested | {"seen_hinge": seen_hinge(problem, key, trained, signs, world)}


@lm.piece("include_query", once=True)
def show_prompt(problem: Setting, key: jax.Array, network: Network, signs: Array, world: World) -> dict[str, Array]:
    """An exact prompt of an unseen task: one context with the query's pattern, one with the other decisive one."""
    test, tasks, length = lm.stream(key, "test"), data.unseen(problem, world.roles), 3
    of = (test, world.patterns, world.q, tasks, 2 / 3, length)
    prompt = data.draw_prompts(*of, count=1, room=length, mode="exact")
    run = run_forward(network, signs, prompt, problem.include_query)
    dimension = world.basis.shape[0]
    inputs = jnp.concatenate([prompt.contexts[0], prompt.query])[:, :dimension]
    return {
        "coefficients": inputs @ world.basis / problem.pattern_norm**2,
        "context_label": prompt.context_label[0],
        "attention": run.attention[0][0, 0, :length],
        "label": prompt.label[0],
        "output": run.output[0],
    }


@lm.simulation(
    lm.Variable(
        "coefficients", ("input", "basis_pattern"), "", "every input as a combination of all patterns, query last"
    ),
    lm.Variable("context_label", ("context",), "f(x_i)", "labels of the contexts"),
    lm.Variable("attention", ("context",), "attn_i", "attention of the query on the contexts"),
    lm.Variable("label", (), "z", "label of the query"),
    lm.Variable("output", (), "F", "output of the network"),
)
def illustrate(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train, and look at one prompt."""
    world, _, trained, signs, _ = train_network(problem, key)
    return show_prompt(problem, key, trained, signs, world)


@lm.piece("context_capacity", "include_query", once=True)
def count_lucky(problem: Setting, key: jax.Array, network: Network, signs: Array, world: World) -> dict[str, Array]:
    """|W_n| of a +1 prompt and |U_n| of a -1 prompt, with and without the condition on the sign of a_i."""
    test, tasks, sizes = lm.stream(key, "test"), data.seen(problem, world.roles), (problem.fraction, problem.contexts)
    prompts = data.draw_prompts(test, world.patterns, world.q, tasks, *sizes, count=2, room=problem.context_capacity)
    run = run_forward(network, signs, prompts, problem.include_query)
    lucky = probes.find_lucky(network, signs, prompts, run, world)
    return {
        "lucky": jnp.sum(lucky.own, axis=1) * 1.0,
        "unsigned_lucky": jnp.sum(lucky.unsigned, axis=1) * 1.0,
        "width": jnp.asarray(signs.shape[0] * 1.0),
    }


@lm.simulation(
    lm.Variable("lucky", ("sign",), "|W_n|, |U_n|", "lucky neurons of a +1 and of a -1 prompt"),
    lm.Variable("unsigned_lucky", ("sign",), "", "the same without the condition on the sign of a_i"),
    lm.Variable("width", (), "m", "hidden neurons"),
    labels={"sign": SIGNS},
)
def draw_lucky(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Lucky neurons at initialisation."""
    return count_lucky(problem, key, *initialise(problem, key), data.draw_world(problem, key))
