"""How many examples are needed (C7, C10), and Example 1 (figure 7.1): ideal voters, and the model beside them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import lemmata as lm
from lemmata.theories.cot import data, transitions, voters
from lemmata.theories.cot.data import Prepared, System
from lemmata.theories.cot.network import answer_chain, trial_table
from lemmata.theories.cot.setting import Setting
from lemmata.theories.cot.studies.chains import TESTED, asked_trials, draw_noise
from lemmata.theories.cot.training import train_network

VOTES = 5000
"""Prompts of a length for the ideal voter."""
STOP = 0.03
"""Lengths are tried until the error is below this."""


def _shapes(entropy: Any, matrices: Any, maps: Any, fraction: Any, lengths: Any) -> Any:
    return (jax.ShapeDtypeStruct((lengths.shape[0],), jnp.result_type(float)),) * 3


@lm.host_piece(_shapes)
def count_votes(entropy: Any, matrices: Any, maps: Any, fraction: Any, lengths: Any) -> tuple[np.ndarray, ...]:
    """The lengths, the ideal voter's CoT error (mean over steps) at each, and as many absent values."""
    exact = np.asarray(matrices, float) / np.sum(matrices, axis=2, keepdims=True, dtype=float)
    rng = np.random.default_rng(entropy)
    cot, _ = voters.errors_by_length(rng, exact, maps, float(fraction), lengths, VOTES, STOP)
    return lengths * 1.0, cot.mean(axis=1), np.full(len(lengths), np.nan)


@lm.piece(*TESTED, once=True)
def answer_lengths(problem: Setting, key: jax.Array, kept: Array, tested: System, noise: Array, lengths: Any) -> Array:
    """The mean CoT error of the model at every length that there is room for, until it is below `STOP`; NaN beyond."""
    table = trial_table(kept[problem.read], tested, problem.patterns)

    def one(length: Array) -> Array:
        matching = jnp.ceil(problem.test_fraction * length * (1 - 1e-6))
        trials = asked_trials(problem, key, tested, noise, length, matching)
        outputs = answer_chain(table, trials, problem.equal_positions).outputs
        return jnp.mean((outputs != trials.truth[:, 1:]) * 1.0)

    def following(arrived: Array, length: Array) -> tuple[Array, Array]:
        beyond = arrived | (length > problem.test_capacity)
        error = jax.lax.cond(beyond, lambda: jnp.asarray(jnp.nan), lambda: one(length))
        return arrived | (error < STOP), error

    return jax.lax.scan(following, jnp.asarray(False), lengths)[1]


LENGTH = ("length_number",)


@lm.simulation(
    lm.Variable("lengths", LENGTH, "l_ts", "examples of a testing prompt"),
    lm.Variable("voter_error", LENGTH, "", "CoT error of the ideal voter, mean over steps", True),
    lm.Variable("model_error", LENGTH, "", "CoT error of the model, mean over steps", True),
    prepare=data.prepare,
)
def search_length(problem: Setting, key: jax.Array, prepared: Prepared) -> dict[str, Any]:
    """Errors of the ideal voter on a grid of lengths, and, where `track` asks for it, of the trained model."""
    system, lengths = prepared.tested, voters.LENGTHS
    given = prepared.entropy, system.matrices, prepared.maps, problem.test_fraction
    grid, voted, model = count_votes(*given, lengths)
    if problem.track == "prompts":
        noise = draw_noise(problem, key, system.noise)
        model = answer_lengths(problem, key, train_network(problem, key, prepared)[1], system, noise, lengths)
    return {"lengths": grid, "voter_error": voted, "model_error": model}


@lm.simulation(
    lm.Variable("cot_voter_error", ("reasoning_step",), "", "CoT error of the ideal voter at every step"),
    lm.Variable("icl_voter_error", (), "", "ICL error of the ideal voter"),
    lm.Variable("condition_share", (), "", "share of inputs for which Condition 7.3.2 holds"),
    host=True,
)
def vote_only(setting: Setting, seed: int) -> dict[str, Any]:
    """Both ideal voters at one length; no model."""
    maps, matrices = data.draw_system(setting, lm.generator(seed, "testing task"))
    lengths, rng = np.array([setting.test_examples]), lm.generator(seed, "votes")
    cot, icl = voters.errors_by_length(rng, matrices, maps, setting.test_fraction, lengths, setting.test_prompts)
    share = transitions.describe(matrices, maps).condition.mean()
    return {"cot_voter_error": cot[0], "icl_voter_error": icl[0], "condition_share": share}
