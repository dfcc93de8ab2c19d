"""Training by SGD on fresh prompts (section 4), what is measured of it, and the simulation of one run."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.theories.cot import data, network, probes
from lemmata.theories.cot.data import Prepared, Prompts, System
from lemmata.theories.cot.network import Factors, Parameters, attend, gradient, initialise, losses, weights
from lemmata.theories.cot.probes import GROUPS
from lemmata.theories.cot.setting import MOMENTS, READ, RELATIONS, Setting


@lm.piece(
    *("dimension", "patterns", "reasoning_steps", "batch", "records", "watch_prompts", "watch_tests"),
    *("example_capacity", "task_law", "simulator", "factored", "key_width"),
)
def train(problem: Setting, key: jax.Array, start: Parameters | None, basis: Array, watched: System) -> lm.Run:
    """SGD with a fresh balanced batch at every step, from W(0) if no start is given; W is kept at MOMENTS."""
    M, K, equal = problem.patterns, problem.reasoning_steps, problem.equal_positions
    pool_key, trials = lm.stream(key, "test", data.POOL), data.watched_trials(problem, key, watched)
    fresh = data.watched_prompts(problem, key, equal)

    def draw(key: jax.Array) -> Prompts:
        return data.training_prompts(problem, key, pool_key, problem.batch, problem.pool, equal)

    def batch_gradient(parameters: Parameters, prompts: Prompts) -> Any:
        W = weights(parameters)
        plain = problem.simulator == "plain"
        G = network.plain_gradient(W, prompts, basis, M) if plain else gradient(W, prompts, M, K)
        return Factors(parameters.query @ G.T, parameters.key @ G) if isinstance(parameters, Factors) else G

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        W = weights(state.parameters)
        attention = attend(W, fresh, M, K)
        tested, empty = probes.testing_groups(network.trial_table(W, watched, M, equal), trials)
        groups = {"train_groups": jnp.mean(probes.training_groups(attention, fresh), axis=0), "test_groups": tested}
        loss = jnp.mean(losses(attention, fresh, M))
        return {"train_loss": loss, **groups, "empty_share": empty, **probes.gains(W, M, K)}

    batches, trainable = lm.fresh(lm.stream(key, "batch"), draw), problem.train_attention
    begin, step = lm.descent(batch_gradient, optax.sgd(problem.step_size), batches, trainable=trainable)
    at = lm.record_steps(problem.steps, problem.records, problem.record_every)
    keep = jnp.round(jnp.asarray(MOMENTS) / problem.step_size).astype(jnp.int32)
    start = initialise(problem, key) if start is None else start
    return lm.loop(step, begin(start), probe, at, keep=keep)


def kept_weights(run: lm.Run) -> Float[Array, "moment tokens tokens"]:
    """W = 0, W at MOMENTS (NaN where a run has no record there) and W at the end."""
    last = weights(run.state.parameters)
    return jnp.concatenate([jnp.zeros_like(last)[None], weights(run.kept.parameters), last[None]])


@lm.piece(*("patterns", "reasoning_steps", "example_capacity", "task_law", "chunk"))
def measure(problem: Setting, key: jax.Array, run: lm.Run, pool: Any) -> dict[str, Array]:
    """η t of the records; loss, groups and mean projected gradient of every kept W, on fresh prompts of fresh tasks or
    of the pool."""
    M, K, kept = problem.patterns, problem.reasoning_steps, kept_weights(run)
    stream, pool_key = lm.stream(key, "test", data.MEASURE), lm.stream(key, "test", data.POOL)

    def chunk(number: Any) -> dict[str, Array]:
        part = jax.random.fold_in(stream, number)
        prompts = data.training_prompts(problem, part, pool_key, problem.chunk, pool, problem.equal_positions)
        order = jax.random.permutation(jax.random.fold_in(part, 1000), problem.chunk)
        target = jnp.where(problem.shuffled_targets > 0, prompts.target[order], prompts.target)
        prompts = prompts._replace(target=target)

        def one(W: Array) -> dict[str, Array]:
            attention = attend(W, prompts, M, K)
            groups = probes.training_groups(attention, prompts)
            p, off_step = groups[:, 0], groups[:, 2] + groups[:, 3]
            each = zip(MEASURED, (losses(attention, prompts, M), p, p * (1 - p) ** 2, off_step), strict=True)
            projected = probes.relations(gradient(W, prompts, M, K), M, K)
            return {**{name: jnp.mean(values) for name, values in each}, "projected": projected}

        return jax.lax.map(one, kept)

    empty = jax.tree.map(lambda of: jnp.zeros(of.shape, of.dtype), jax.eval_shape(chunk, 0))
    chunks = problem.measure_prompts // problem.chunk
    total = jax.lax.fori_loop(0, chunks, lambda i, sums: jax.tree.map(jnp.add, sums, chunk(i)), empty)
    return {"time": run.step * problem.step_size, **jax.tree.map(lambda sums: sums / chunks, total)}


def train_network(problem: Setting, key: jax.Array, prepared: Prepared) -> lm.Run:
    """Initialise and train."""
    given = lm.starting(None, like=lambda: initialise(problem, key))
    run = train(problem, key, given, prepared.basis, prepared.watched)
    lm.keep(network=run.state.parameters, initial=lambda: initialise(problem, key) if given is None else given)
    lm.keep(data=lambda: data.watched_prompts(problem, key, problem.equal_positions))
    lm.keep(basis=prepared.basis, system=prepared.tested)
    return run


R, MOMENT = ("record",), ("moment_read",)
GAINS = {
    "pattern_gain": ("u_μ", "pattern gain: own less other entries of the pattern block"),
    "step_gain": ("u_c", "step gain: the same of the position block (none for one step)"),
    "label_own": ("(0;μ_a)ᵀW(μ_a;0)", "mean entry between a label and the same query pattern"),
    "label_other": ("(0;μ_b)ᵀW(μ_a;0)", "mean entry between a label and another query pattern"),
    "pattern_step": ("(μ_i;0)ᵀWc_k", "entries between an input pattern and the query's step, root mean square"),
    "step_pattern": ("c_kᵀW(μ_j;0)", "entries between a step and the query's pattern, root mean square"),
    "label_step": ("(0;μ_a)ᵀWc_k", "entries between a label and the query's step, root mean square"),
}
MEASURED = {
    "moment_loss": ("ℓ", "loss on fresh prompts"),
    "moment_same_mass": ("p_n", "attention on columns of the same step and pattern"),
    "moment_curvature": ("p(1-p)²", "mean of p_n (1-p_n)²"),
    "moment_off_step": ("", "attention on other steps"),
}


@lm.simulation(
    *lm.RUN,
    lm.Variable("time", R, "ηt", "step size times training step of the record"),
    lm.Variable("train_loss", R, "ℓ", "loss on watched training prompts of fresh tasks"),
    lm.Variable("train_groups", ("record", "group"), "", "attention by group, training prompts"),
    lm.Variable("test_groups", ("record", "group"), "", "attention by group, testing prompts"),
    lm.Variable("empty_share", R, "", "share of watched testing prompts without a matching column"),
    *(lm.Variable(name, R, *of, name == "step_gain") for name, of in GAINS.items()),
    *(lm.Variable(name, MOMENT, *of, True) for name, of in MEASURED.items()),
    lm.Variable("projected", ("moment_read", "relation"), "p̃'ᵀ∇p̃", "mean projected gradient", True),
    lm.Variable("pool_loss", MOMENT, "", "loss on fresh prompts of the training tasks", True),
    labels={"group": GROUPS, "relation": RELATIONS, "moment_read": READ},
    prepare=data.prepare,
)
def simulate(problem: Setting, key: jax.Array, prepared: Prepared) -> dict[str, Array]:
    """One run: train with records, and measure the kept weights on many fresh prompts."""
    run = train_network(problem, key, prepared)
    pooled = {"pool_loss": measure(problem, key, run, problem.pool)["moment_loss"]} if problem.pooled else {}
    return {**run.results(), **measure(problem, key, run, 0), **pooled}
