"""How many examples are needed (C7, C10) and Example 1 (figure 7.1): ideal voters by counts, and the model beside them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import lemmata as lm
from lemmata.theories.cot import data, voters
from lemmata.theories.cot.data import Prepared, System
from lemmata.theories.cot.network import answer_chain, trial_table
from lemmata.theories.cot.setting import Setting
from lemmata.theories.cot.studies.chains import TESTED, asked_trials
from lemmata.theories.cot.training import train_network

VOTES = 5000
"""Prompts of a length for the ideal voter."""
STOP = 0.03
"""Lengths are tried until the error is below this."""
LENGTHS = voters.length_grid()
REAL = jax.ShapeDtypeStruct


def _shapes(entropy: Any, matrices: Any, maps: Any, fraction: Any, lengths: Any, many: Any, stop: Any) -> Any:
    kind = jnp.result_type(float)
    return REAL((lengths.shape[0], matrices.shape[0]), kind), REAL((lengths.shape[0],), kind)


@lm.host_piece(_shapes)
def count_votes(
    entropy: Any, matrices: Any, maps: Any, fraction: Any, lengths: Any, many: Any, stop: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Errors of both ideal voters at every length."""
    rng, exact = np.random.default_rng(entropy), np.asarray(matrices, float)
    exact = exact / exact.sum(axis=2, keepdims=True)
    return voters.errors_by_length(rng, exact, maps, float(fraction), lengths, int(many), float(stop))


@lm.piece(*TESTED, once=True)
def answer_lengths(problem: Setting, key: jax.Array, kept: Array, tested: System, lengths: Array) -> Array:
    """The mean CoT error of the model at every length that there is room for; NaN beyond."""
    table = trial_table(kept[problem.read], tested, problem.patterns)
    room = problem.test_capacity

    def one(length: Array) -> Array:
        matching = jnp.ceil(problem.test_fraction * length * (1 - 1e-6))
        trials = asked_trials(problem, key, tested, length, matching)
        outputs = answer_chain(table, trials, problem.equal_positions).outputs
        error = jnp.mean((outputs != trials.truth[:, 1:]) * 1.0)
        return jnp.where(length <= room, error, jnp.nan)

    return jax.lax.map(one, lengths)


LENGTH = ("length_number",)


@lm.simulation(
    lm.Variable("lengths", LENGTH, "l_ts", "examples of a testing prompt"),
    lm.Variable("voter_error", LENGTH, "", "CoT error of the ideal voter, mean over steps", True),
    lm.Variable("model_error", LENGTH, "", "CoT error of the model, mean over steps", True),
    prepare=data.prepare,
)
def search_length(problem: Setting, key: jax.Array, prepared: Prepared) -> dict[str, Any]:
    """Errors of the ideal voter on a grid of lengths, and, where `track` asks for it, of the trained model."""
    entropy, system, lengths = prepared.entropy, prepared.tested.matrices, np.asarray(LENGTHS)
    cot, _ = count_votes(entropy, system, prepared.maps, problem.test_fraction, lengths, VOTES, STOP)
    means, grid, absent = summarise(problem, cot, lengths)
    if problem.track != "prompts":
        return {"lengths": grid, "voter_error": means, "model_error": absent}
    _, kept, _ = train_network(problem, key, prepared)
    found = answer_lengths(problem, key, kept, prepared.tested, lengths)
    return {"lengths": grid, "voter_error": means, "model_error": found}


@lm.piece(once=True)
def summarise(problem: Setting, cot: Array, lengths: Array) -> tuple[Array, Array, Array]:
    """The mean over steps, the lengths, and a column of the same length without values."""
    return jnp.mean(cot, axis=1), lengths * 1.0, jnp.full(lengths.shape[0], jnp.nan)


@lm.simulation(
    lm.Variable("cot_voter_error", ("reasoning_step",), "", "CoT error of the ideal voter at every step"),
    lm.Variable("icl_voter_error", (), "", "ICL error of the ideal voter"),
    lm.Variable("condition_share", (), "", "share of inputs for which Condition 7.3.2 holds"),
    prepare=data.prepare,
)
def vote_only(problem: Setting, key: jax.Array, prepared: Prepared) -> dict[str, Any]:
    """Both ideal voters at one length; no model."""
    lengths, many = one_length(problem)
    given = prepared.tested.matrices, prepared.maps, problem.test_fraction
    cot, icl = count_votes(prepared.entropy, *given, lengths, many, 0.0)
    first = first_row(problem, cot, icl)
    return {
        "cot_voter_error": first[0],
        "icl_voter_error": first[1],
        **{n: prepared.numbers[n] for n in ("condition_share",)},
    }


@lm.piece("test_prompts", once=True)
def one_length(problem: Setting) -> tuple[Array, Array]:
    return jnp.asarray([problem.test_examples]), jnp.asarray(problem.test_prompts)


@lm.piece(once=True)
def first_row(problem: Setting, cot: Array, icl: Array) -> tuple[Array, Array]:
    return cot[0], icl[0]
