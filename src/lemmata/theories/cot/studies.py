"""Trained models on testing prompts (C7 to C16, figures 7.2 to 7.5), and ideal voters without a model (C10, Example 1).

How a model is tested (length, α', transitions, patterns, noise, weights of which moment) are fields that training does
not read, so that run R is trained once for all of these cells.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import lemmata as lm
from lemmata.theories.cot import data, probes, transitions, voters
from lemmata.theories.cot.data import Prepared, System, Trials
from lemmata.theories.cot.network import answer_chain, answer_directly, trial_table
from lemmata.theories.cot.setting import Setting
from lemmata.theories.cot.training import kept_weights, train_network

TESTED = ("patterns", "reasoning_steps", "test_patterns", "test_prompts", "test_capacity")
VOTES = 5000
"""Prompts of a length for the ideal voter."""
STOP = 0.03
"""Lengths are tried until the error is below this."""
STEP, LENGTH = ("reasoning_step",), ("length_number",)


@lm.piece("reasoning_steps", "test_prompts", "test_capacity", once=True)
def draw_noise(problem: Setting, key: jax.Array, directions: Array) -> Array:
    """The direction of the noise of every token of testing prompts, drawn once for all cells of a seed."""
    sizes = problem.test_prompts, problem.reasoning_steps, problem.test_capacity, directions.shape[0]
    return data.draw_directions(lm.stream(key, "test", data.TEST), *sizes)


def asked_trials(problem: Setting, key: jax.Array, tested: System, noise: Array, length: Any, matching: Any) -> Trials:
    """Testing prompts as the setting asks for them, with noise in these directions."""
    own, noise = lm.stream(key, "test", data.TEST), problem.noise_norm * noise
    return data.draw_trials(own, tested, noise, length, matching, problem.by_itself, problem.asked)


@lm.piece(*TESTED, once=True)
def answer(problem: Setting, key: jax.Array, run: lm.Run, tested: System, noise: Array) -> dict[str, Array]:
    """Errors of model and voters, by step and in the end; attention on S_k*; what W knows of the testing patterns."""
    M, shown, ties = problem.patterns, problem.test_patterns, lm.stream(key, "test", data.TIES)
    W = kept_weights(run)[problem.read]
    table = trial_table(W, tested, M, problem.equal_positions)
    trials = asked_trials(problem, key, tested, noise, problem.test_examples, problem.test_matching)
    chains, truth = answer_chain(table, trials), trials.truth[:, 1:]
    voted, blind = (probes.vote_chain(ties, trials, shown, blind=blind) for blind in (False, True))
    direct, voted_direct = answer_directly(table, trials), probes.vote_directly(ties, trials, shown)
    block, known, wrong = W[:M, :M], tested.patterns[:, :M], (chains.outputs != truth) * 1.0
    gains = probes.gains(W, M, problem.reasoning_steps)
    return {
        **{name: gains[name] for name in ("pattern_gain", "step_gain")},
        "cot_error": jnp.mean(wrong, axis=0),
        "voter_error": jnp.mean((voted != truth) * 1.0, axis=0),
        "blind_voter_error": jnp.mean((blind != truth) * 1.0, axis=0),
        "icl_error": jnp.mean((direct != truth[:, -1]) * 1.0),
        "icl_voter_error": jnp.mean((voted_direct != truth[:, -1]) * 1.0),
        "concentration": jnp.nanmean(chains.concentration, axis=0),
        "agreement": jnp.mean((chains.outputs == voted) * 1.0),
        "first_row": jnp.max(jnp.abs(known[0] @ block)),
        "first_column": jnp.max(jnp.abs(block @ known[0])),
        "own_gain": jnp.einsum("ja,ab,jb->j", known, block, known),
        "gain_factor": 1 - jnp.sum(known, axis=1) ** 2 / M,
        "prompts": jnp.asarray(1.0 * truth.shape[0]),
        "prompt_error": jnp.mean(wrong, axis=1),
    }


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
    run, noise = train_network(problem, key, prepared), draw_noise(problem, key, prepared.tested.noise)
    tested = answer(problem, key, run, prepared.tested, noise)
    left = () if problem.track == "prompts" else ("prompt_error",)
    return {**{name: value for name, value in tested.items() if name not in left}, **prepared.numbers}


@lm.host_piece(lambda *given: (jax.ShapeDtypeStruct((given[-1].shape[0],), jnp.result_type(float)),) * 2)
def count_votes(entropy: Any, matrices: Any, maps: Any, fraction: Any, lengths: Any) -> tuple[np.ndarray, ...]:
    """The lengths, and the ideal voter's CoT error (mean over steps) at each."""
    exact = np.asarray(matrices, float) / np.sum(matrices, axis=2, keepdims=True, dtype=float)
    rng = np.random.default_rng(entropy)
    cot, _ = voters.errors_by_length(rng, (exact, maps), float(fraction), lengths, VOTES, STOP)
    return lengths * 1.0, cot.mean(axis=1)


@lm.piece(*TESTED, once=True)
def answer_lengths(
    problem: Setting, key: jax.Array, run: lm.Run, tested: System, noise: Array, lengths: Any
) -> tuple[Array, Array]:
    """The mean CoT error of the model at every length that there is room for, until it is below `STOP`, and NaN beyond;
    attention on S_k* at the first of them."""
    table = trial_table(kept_weights(run)[problem.read], tested, problem.patterns, problem.equal_positions)

    def one(length: Array) -> tuple[Array, Array]:
        matching = jnp.where(problem.by_itself > 0, 0, jnp.ceil(problem.test_fraction * length * (1 - 1e-6)))
        trials = asked_trials(problem, key, tested, noise, length, matching)
        chains = answer_chain(table, trials)
        return jnp.mean((chains.outputs != trials.truth[:, 1:]) * 1.0), jnp.nanmean(chains.concentration, axis=0)

    def following(arrived: Array, length: Array) -> tuple[Array, tuple[Array, Array]]:
        beyond = arrived | (length > problem.test_capacity)
        absent = jnp.asarray(jnp.nan), jnp.full(problem.reasoning_steps, jnp.nan)
        error, attended = jax.lax.cond(beyond, lambda: absent, lambda: one(length))
        return arrived | (error < STOP), (error, attended)

    errors, attended = jax.lax.scan(following, jnp.asarray(False), lengths)[1]
    return errors, attended[0]


@lm.simulation(
    lm.Variable("lengths", LENGTH, "l_ts", "examples of a testing prompt"),
    lm.Variable("voter_error", LENGTH, "", "CoT error of the ideal voter, mean over steps", True),
    lm.Variable("model_error", LENGTH, "", "CoT error of the model, mean over steps", True),
    lm.Variable("concentration", STEP, "", "attention of the model on S_k* at every CoT step, shortest prompts", True),
    prepare=data.prepare,
)
def search_length(problem: Setting, key: jax.Array, prepared: Prepared) -> dict[str, Any]:
    """Errors of the ideal voter on a grid of lengths, and, where `track` asks for it, of the trained model."""
    system, lengths = prepared.tested, voters.LENGTHS
    voted = count_votes(prepared.entropy, system.matrices, prepared.maps, problem.test_fraction, lengths)
    model: Any = [np.full(n, np.nan, jnp.result_type(float)) for n in (len(lengths), problem.reasoning_steps)]
    if problem.track == "prompts":
        noise = draw_noise(problem, key, system.noise)
        model = answer_lengths(problem, key, train_network(problem, key, prepared), system, noise, lengths)
    names = "lengths", "voter_error", "model_error", "concentration"
    return dict(zip(names, (*voted, *model), strict=True))


@lm.simulation(
    lm.Variable("voter_error", STEP, "", "CoT error of the ideal voter at every step"),
    lm.Variable("icl_voter_error", (), "", "ICL error of the ideal voter"),
    lm.Variable("condition_share", (), *data.NUMBERS["condition_share"]),
    host=True,
)
def vote_only(setting: Setting, seed: int) -> dict[str, Any]:
    """Both ideal voters at one length; no model."""
    maps, matrices = data.draw_system(setting, lm.generator(seed, "testing task"))
    lengths, rng = np.array([setting.test_examples]), lm.generator(seed, "votes")
    cot, icl = voters.errors_by_length(rng, (matrices, maps), setting.test_fraction, lengths, setting.test_prompts)
    share = transitions.describe(matrices, maps).condition.mean()
    return {"voter_error": cot[0], "icl_voter_error": icl[0], "condition_share": share}
