"""The one-layer transformer against classical predictors, prompt by prompt (figure 6.4)."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from lemmata.lab.setting import Problem
from lemmata.lab.simulation import Variable, piece, simulation, stream
from lemmata.networks.shallow import Network
from lemmata.theories.icl.baselines import BASELINES, consult_oracle, fit_estimators, predict
from lemmata.theories.icl.data import Prompts, World, all_tasks, draw_prompts, unseen
from lemmata.theories.icl.network import run_forward
from lemmata.theories.icl.prompts import shifted_patterns
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.shift import require_shift
from lemmata.theories.icl.training import train_network
from lemmata.theories.icl.variations import seen_hinge, words

DOMAINS = ("in-domain", "out of domain")
LENGTHS = (5, 10, 20, 40)
PREDICTORS = ("one-layer", "oracle", *BASELINES)
ORACLE_FRACTIONS, ORACLE_LENGTHS, ORACLE_PROMPTS = (0.2, 0.4), (2, 5, 10), 4000
AUDITED = 10
"""Prompts of every cell on which scikit-learn's estimators are fitted too."""


@piece("test_prompts", "include_query", "test_mode", once=True)
def try_prompts(
    problem: Problem, key: jax.Array, length: Any, network: Network, signs: Array, world: World, *, shifted: bool
) -> tuple[Prompts, Array]:
    """Testing prompts of some length, in the room of the longest, and the network's answers F."""
    if shifted:
        patterns = shifted_patterns(problem, world)
        tasks = all_tasks(patterns.relevant.shape[1])
    else:
        patterns, tasks = world.patterns, unseen(problem, world.roles)
    prompts = draw_prompts(
        key, patterns, world.q, tasks, problem.test_fraction, length,
        count=problem.test_prompts, room=max(LENGTHS), mode=problem.test_mode,
    )  # fmt: skip
    return prompts, run_forward(network, signs, prompts, problem.include_query).output


@piece("patterns", once=True)
def oracle_prompts(problem: Problem, key: jax.Array, fraction: Any, length: Any, world: World) -> Prompts:
    return draw_prompts(
        key, world.patterns, world.q, unseen(problem, world.roles), fraction, length,
        count=ORACLE_PROMPTS, room=max(ORACLE_LENGTHS),
    )  # fmt: skip


def _ask_oracle(rng: np.random.Generator, prompts: Prompts, length: int) -> np.ndarray:
    known = (prompts.pattern[:, :length], prompts.context_label[:, :length], prompts.query_pattern, prompts.roles)
    return consult_oracle(rng, *(np.asarray(part) for part in known))


_CELL = ("domain", "length", "predictor")


@simulation(
    Variable("prompt_error", _CELL, "", "sign error of every predictor on the same prompts"),
    Variable("prompt_error_match", _CELL, "", "share of prompts that have a match and the wrong answer"),
    Variable("prompt_no_match", ("domain", "length"), "", "share of prompts without a context of the query's pattern"),
    Variable("oracle_error", ("oracle_alpha", "oracle_length"), "", "error of the oracle predictor"),
    Variable("agreement", ("baseline",), "", "share of audited prompts with the answer of scikit-learn's estimator"),
    Variable("seen_hinge", (), "", "hinge loss on seen tasks"),
    labels={
        "domain": DOMAINS, "length": words(LENGTHS), "predictor": PREDICTORS, "baseline": BASELINES,
        "oracle_alpha": words(ORACLE_FRACTIONS), "oracle_length": words(ORACLE_LENGTHS),
    },
    host=True,
)  # fmt: skip
def compare(setting: Setting, seed: int) -> dict[str, Any]:
    """Train once; ask every predictor on the same prompts of every length, in and out of domain."""
    require_shift(setting.patterns, setting.irrelevant)
    problem, key = setting.problem(), jax.random.key(seed)
    world, _, signs, run = train_network(problem, key)
    network: Network = run.state.parameters
    rng = np.random.default_rng(seed)
    test = stream(key, "test")
    shape = (len(DOMAINS), len(LENGTHS), len(PREDICTORS))
    errors, with_match, no_match = np.empty(shape), np.empty(shape), np.empty(shape[:2])
    agreed = []
    for d, n in np.ndindex(shape[:2]):
        length = LENGTHS[n]
        cell = jax.random.fold_in(test, int(100 + d * len(LENGTHS) + n))
        prompts, outputs = jax.device_get(try_prompts(problem, cell, length, network, signs, world, shifted=bool(d)))
        dimension = world.basis.shape[0]
        points = prompts.contexts[:, :length, :dimension], prompts.context_label[:, :length]
        query = prompts.query[:, :dimension]
        answers = {"one-layer": np.sign(outputs), "oracle": _ask_oracle(rng, prompts, length)}
        answers |= predict(*points, query)
        audited = fit_estimators(*(part[:AUDITED] for part in (*points, query)))
        agreed.append([np.mean(audited[name] == answers[name][:AUDITED]) for name in BASELINES])
        matched = np.any(np.asarray(prompts.matches()), axis=1)
        wrong = np.stack([answers[name] != prompts.label for name in PREDICTORS])
        errors[d, n], with_match[d, n] = wrong.mean(axis=1), (wrong & matched).mean(axis=1)
        no_match[d, n] = np.mean(~matched)
    oracle = np.empty((len(ORACLE_FRACTIONS), len(ORACLE_LENGTHS)))
    for f, n in np.ndindex(oracle.shape):
        cell = jax.random.fold_in(test, int(200 + f * len(ORACLE_LENGTHS) + n))
        drawn = jax.device_get(oracle_prompts(problem, cell, ORACLE_FRACTIONS[f], ORACLE_LENGTHS[n], world))
        oracle[f, n] = np.mean(_ask_oracle(rng, drawn, ORACLE_LENGTHS[n]) != drawn.label)
    return {
        "prompt_error": errors,
        "prompt_error_match": with_match,
        "prompt_no_match": no_match,
        "oracle_error": oracle,
        "agreement": np.mean(agreed, axis=0),
        "seen_hinge": np.asarray(seen_hinge(problem, key, network, signs, world)),
    }
