"""The one-layer transformer against classical predictors, prompt by prompt (figure 6.4), and the oracle by itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.shallow import Network
from lemmata.theories.icl import data
from lemmata.theories.icl.data import Prompts
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.studies.predictors import BASELINES, consult_oracle, fit_estimators, predict
from lemmata.theories.icl.training import SEEN_HINGE, evaluate, seen_hinge, train_network

DOMAINS = ("in-domain", "out of domain")
PREDICTORS = ("one-layer", "oracle", *BASELINES)
AUDITED = 10
"""Prompts of every domain on which scikit-learn's estimators are fitted too."""


class Asked(NamedTuple):
    """What predictors are asked, with the answers that need no fit: of the network and the oracle."""

    prompts: Prompts
    network: Float[Array, " prompts"]
    oracle: Float[Array, " prompts"]


@lm.piece(once=True)
def ask(problem: Setting, key: jax.Array, prompts: Prompts) -> dict[str, Array]:
    """The oracle's answers, their error, and how many there are."""
    coin = jax.random.rademacher(lm.stream(key, "test", data.COIN), prompts.label.shape)
    answers = consult_oracle(prompts, coin)
    wrong = (answers != prompts.label) * 1.0
    return {"answers": answers, "oracle_error": jnp.mean(wrong), "prompts": jnp.asarray(len(wrong) * 1.0)}


def _scored(length: Any, dimension: Any, *asked: Asked) -> dict[str, jax.ShapeDtypeStruct]:
    each = (len(DOMAINS), len(PREDICTORS))
    shapes = {"prompt_error": each, "prompt_error_match": each, "prompt_no_match": each[:1]}
    shapes["agreement"] = (len(BASELINES),)
    return {name: jax.ShapeDtypeStruct(shape, asked[0].network.dtype) for name, shape in shapes.items()}


@lm.host_piece(_scored)
def score_predictors(length: Any, dimension: Any, *asked: Asked) -> dict[str, np.ndarray]:
    """Fit every baseline to the contexts of every prompt, in every domain, and count the errors of all predictors."""
    length, dimension = int(length), int(dimension)
    wrong, agreed, matched = [], [], []
    for prompts, network, oracle in asked:
        features, labels = prompts.contexts[:, :length, :dimension], prompts.context_label[:, :length]
        points: Any = features, labels, prompts.query[:, :dimension]
        answers = {"one-layer": np.sign(network), "oracle": oracle, **predict(*points)}
        audited = fit_estimators(*(part[:AUDITED] for part in points))
        agreed.append([np.mean(audited[name] == answers[name][:AUDITED]) for name in BASELINES])
        wrong.append([answers[name] != prompts.label for name in PREDICTORS])
        matched.append([np.any(prompts.matches(), axis=1)])
    return {
        "prompt_error": np.mean(wrong, axis=2),
        "prompt_error_match": np.mean(np.asarray(wrong) & matched, axis=2),
        "prompt_no_match": np.mean(~np.asarray(matched), axis=2)[:, 0],
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
    inside = data.testing_prompts(problem, key, world, data.UNSEEN)
    outside, _ = data.draw_shifted(problem, key, world)
    asked = [
        Asked(prompts, evaluate(problem, network, signs, prompts)["output"], ask(problem, key, prompts)["answers"])
        for prompts in (inside, outside)
    ]
    scored = score_predictors(problem.test_contexts, problem.dimension, *asked)
    return {**scored, "seen_hinge": seen_hinge(problem, key, network, signs, world)}


@lm.simulation(
    lm.Variable("oracle_error", (), "", "error of the oracle predictor on unseen tasks"),
    lm.Variable("prompts", (), "", "testing prompts"),
)
def ask_oracle(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Ask the predictor that is told all patterns; nothing is trained."""
    prompts = data.testing_prompts(problem, key, data.draw_world(problem, key), data.UNSEEN)
    asked = ask(problem, key, prompts)
    return {name: asked[name] for name in ("oracle_error", "prompts")}
