"""A trained model on testing prompts (C7 to C16, figures 7.2 to 7.5): CoT, ICL, and ideal voters on the same ones.

How it is tested (length, α', transitions, patterns, noise, weights of which moment) are fields that training does not
read, so that run R is trained once for all of these cells.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

import lemmata as lm
from lemmata.theories.cot import data, probes
from lemmata.theories.cot.data import Prepared, System
from lemmata.theories.cot.network import answer_chain, answer_directly, trial_table
from lemmata.theories.cot.setting import Setting
from lemmata.theories.cot.training import train_network

TESTED = ("patterns", "reasoning_steps", "test_patterns", "test_prompts", "test_capacity")


@lm.piece("reasoning_steps", "test_prompts", "test_capacity", once=True)
def draw_noise(problem: Setting, key: jax.Array, directions: Array) -> Array:
    """The direction of the noise of every token of testing prompts, drawn once for all cells of a seed."""
    sizes = problem.test_prompts, problem.reasoning_steps, problem.test_capacity, directions.shape[0]
    return data.draw_directions(lm.stream(key, "test", data.TEST), *sizes)


def asked_trials(
    problem: Setting, key: jax.Array, tested: System, noise: Array, length: Any, matching: Any
) -> data.Trials:
    """Testing prompts as the setting asks for them, with noise in these directions."""
    return data.draw_trials(
        lm.stream(key, "test", data.TEST),
        tested,
        problem.noise_norm * noise,
        length=length,
        matching=matching,
        fraction=problem.test_fraction,
        independent=problem.independent_matches,
        first=problem.first_query,
        kinds=problem.query_count,
    )


@lm.piece(*TESTED, once=True)
def answer(problem: Setting, key: jax.Array, kept: Array, tested: System, noise: Array) -> dict[str, Array]:
    """Errors of model and voters, by step and in the end; attention on S_k*; what W knows of the testing patterns."""
    M, shown, equal = problem.patterns, problem.test_patterns, problem.equal_positions
    W = kept[problem.read]
    table = trial_table(W, tested, M)
    trials = asked_trials(problem, key, tested, noise, problem.test_examples, problem.test_matching)
    ties = lm.stream(key, "test", data.TIES)
    truth = trials.truth[:, 1:]
    chains = answer_chain(table, trials, equal)
    voted = probes.vote_chain(ties, trials, shown)
    blind = probes.vote_chain(ties, trials, shown, blind=True)
    direct, voted_direct = answer_directly(table, trials, equal), probes.vote_directly(ties, trials, shown)
    there = 1 - chains.empty
    wrong = (chains.outputs != truth) * 1.0
    block, known = W[:M, :M], tested.patterns[:, :M]
    own = jnp.einsum("ja,ab,jb->j", known, block, known)
    u = probes.gains(W, M, problem.reasoning_steps)
    return {
        "cot_error": jnp.mean(wrong, axis=0),
        "voter_error": jnp.mean((voted != truth) * 1.0, axis=0),
        "blind_voter_error": jnp.mean((blind != truth) * 1.0, axis=0),
        "icl_error": jnp.mean((direct != truth[:, -1]) * 1.0),
        "icl_voter_error": jnp.mean((voted_direct != truth[:, -1]) * 1.0),
        "concentration": jnp.sum(chains.concentration * there, axis=0) / jnp.sum(there, axis=0),
        "agreement": jnp.mean((chains.outputs == voted) * 1.0),
        "pattern_gain": u["pattern_gain"],
        "step_gain": u["step_gain"],
        "first_row": jnp.max(jnp.abs(known[0] @ block)),
        "first_column": jnp.max(jnp.abs(block @ known[0])),
        "own_gain": own,
        "gain_factor": 1 - jnp.sum(known, axis=1) ** 2 / M,
        "prompts": jnp.asarray(1.0 * truth.shape[0]),
        "prompt_error": jnp.mean(wrong, axis=1),
    }


STEP = ("reasoning_step",)


@lm.simulation(
    lm.Variable("cot_error", STEP, "", "CoT error of every step"),
    lm.Variable("voter_error", STEP, "", "the same of the ideal voter"),
    lm.Variable("blind_voter_error", STEP, "", "the same of a voter that ignores inputs"),
    lm.Variable("icl_error", (), "R_ICL", "ICL error"),
    lm.Variable("icl_voter_error", (), "", "the same of the ideal voter"),
    lm.Variable("concentration", STEP, "", "attention on S_k* at every CoT step", True),
    lm.Variable("agreement", (), "", "share of (prompt, step) pairs with the same output of model and ideal voter"),
    lm.Variable("pattern_gain", (), "u_μ", "pattern gain of the tested weights"),
    lm.Variable("step_gain", (), "u_c", "step gain of the tested weights", True),
    lm.Variable("first_row", (), "max|μ'_1ᵀG|", "largest component of the pattern block before the first pattern"),
    lm.Variable("first_column", (), "max|Gμ'_1|", "largest component of the pattern block after it"),
    lm.Variable("own_gain", ("test_pattern",), "μ'_jᵀGμ'_j", "pattern logit of testing patterns with themselves"),
    lm.Variable("gain_factor", ("test_pattern",), "1-(Σλ_ji)²/M", "what of u_μ testing patterns must get"),
    lm.Variable("prompts", (), "", "testing prompts"),
    lm.Variable("prompt_error", ("prompt",), "", "CoT error of every prompt, mean over steps"),
    *(lm.Variable(name, (), *of) for name, of in data.NUMBERS.items()),
    prepare=data.prepare,
)
def answer_trials(problem: Setting, key: jax.Array, prepared: Prepared) -> dict[str, Array]:
    """Train, and test by CoT and by ICL."""
    _, kept, _ = train_network(problem, key, prepared)
    noise = draw_noise(problem, key, prepared.tested.noise)
    tested = answer(problem, key, kept, prepared.tested, noise)
    if problem.track != "prompts":
        tested = {name: value for name, value in tested.items() if name != "prompt_error"}
    return {**tested, **prepared.numbers}
