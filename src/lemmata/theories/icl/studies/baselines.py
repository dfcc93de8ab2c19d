"""The one-layer transformer against classical predictors, prompt by prompt (figure 6.4), and the oracle by itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

import lemmata as lm
from lemmata.networks.shallow import Network
from lemmata.theories.icl import data
from lemmata.theories.icl.data import Prompts, World
from lemmata.theories.icl.network import run_forward
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.studies.predictors import BASELINES, consult_oracle, fit_estimators, predict
from lemmata.theories.icl.training import SEEN_HINGE, seen_hinge, train_network

DOMAINS = ("in-domain", "out of domain")
PREDICTORS = ("one-layer", "oracle", *BASELINES)
AUDITED = 10
"""Prompts of every domain on which scikit-learn's estimators are fitted too."""


class Asked(NamedTuple):
    """What predictors are asked, in every domain, with the answers that need no fit: of the network and the oracle."""

    features: Float[Array, "domains prompts contexts dimension"]
    labels: Float[Array, "domains prompts contexts"]
    query: Float[Array, "domains prompts dimension"]
    label: Float[Array, "domains prompts"]
    matched: Bool[Array, "domains prompts"]
    network: Float[Array, "domains prompts"]
    oracle: Float[Array, "domains prompts"]


def _oracle(key: jax.Array, prompts: Prompts) -> Float[Array, " prompts"]:
    coin = jax.random.fold_in(lm.stream(key, "test"), data.COIN)
    return consult_oracle(prompts, jax.random.rademacher(coin, prompts.label.shape))


@lm.piece("test_prompts", "test_capacity", "test_mode", "include_query", "dimension", once=True)
def ask(problem: Setting, key: jax.Array, network: Network, signs: Array, world: World) -> Asked:
    """Testing prompts on unseen tasks and out of domain."""

    def one(prompts: Prompts) -> Asked:
        return Asked(
            prompts.contexts[:, :, : problem.dimension],
            prompts.context_label,
            prompts.query[:, : problem.dimension],
            prompts.label,
            jnp.any(prompts.matches(), axis=1),
            jnp.sign(run_forward(network, signs, prompts, problem.include_query).output),
            _oracle(key, prompts),
        )

    inside = one(data.testing_prompts(problem, key, world, data.UNSEEN))
    outside = one(data.shifted_prompts(problem, key, world, data.shifted_patterns(problem, world)))
    return jax.tree.map(lambda *parts: jnp.stack(parts), inside, outside)


def _scored(length: Any, asked: Asked) -> dict[str, jax.ShapeDtypeStruct]:
    each = (len(DOMAINS), len(PREDICTORS))
    shapes = {"prompt_error": each, "prompt_error_match": each, "prompt_no_match": each[:1]}
    shapes["agreement"] = (len(BASELINES),)
    return {name: jax.ShapeDtypeStruct(shape, asked.network.dtype) for name, shape in shapes.items()}


@lm.host_piece(_scored)
def score_predictors(length: Any, asked: Asked) -> dict[str, np.ndarray]:
    """Fit every baseline to the contexts of every prompt, and count the errors of all predictors."""
    length = int(length)
    wrong, agreed = [], []
    for domain in range(len(DOMAINS)):
        features, labels, query, label, _, network, oracle = (np.asarray(part[domain]) for part in asked)
        points = features[:, :length], labels[:, :length], query
        answers = {"one-layer": network, "oracle": oracle, **predict(*points)}
        audited = fit_estimators(*(part[:AUDITED] for part in points))
        agreed.append([np.mean(audited[name] == answers[name][:AUDITED]) for name in BASELINES])
        wrong.append([answers[name] != label for name in PREDICTORS])
    matched = np.asarray(asked.matched)
    return {
        "prompt_error": np.mean(wrong, axis=2),
        "prompt_error_match": np.mean(wrong & matched[:, None], axis=2),
        "prompt_no_match": np.mean(~matched, axis=1),
        "agreement": np.mean(agreed, axis=0),
    }


_CELL = ("domain", "predictor")


@lm.simulation(
    lm.Variable("prompt_error", _CELL, "", "sign error of every predictor on the same prompts"),
    lm.Variable("prompt_error_match", _CELL, "", "share of prompts that have a match and the wrong answer"),
    lm.Variable("prompt_no_match", ("domain",), "", "share of prompts without a context of the query's pattern"),
    lm.Variable("agreement", ("baseline",), "", "share of audited prompts with the answer of scikit-learn's estimator"),
    SEEN_HINGE,
    labels={"domain": DOMAINS, "predictor": PREDICTORS, "baseline": BASELINES},
)
def compare(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Any]:
    """Train; ask every predictor on the same prompts, in and out of domain."""
    data.require_shiftable(problem)
    world, _, signs, run = train_network(problem, key)
    network: Network = run.state.parameters
    scored = score_predictors(problem.test_contexts, ask(problem, key, network, signs, world))
    return {**scored, "seen_hinge": seen_hinge(problem, key, network, signs, world)}


@lm.piece("test_prompts", "test_capacity", "test_mode", once=True)
def try_oracle(problem: Setting, key: jax.Array, world: World) -> dict[str, Array]:
    """The error of the oracle on unseen tasks."""
    prompts = data.testing_prompts(problem, key, world, data.UNSEEN)
    wrong = _oracle(key, prompts) != prompts.label
    return {"oracle_error": jnp.mean(wrong * 1.0), "prompts": jnp.asarray(problem.test_prompts * 1.0)}


@lm.simulation(
    lm.Variable("oracle_error", (), "", "error of the oracle predictor on unseen tasks"),
    lm.Variable("prompts", (), "", "testing prompts"),
)
def ask_oracle(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Ask the predictor that is told all patterns; nothing is trained."""
    return try_oracle(problem, key, data.draw_world(problem, key))
