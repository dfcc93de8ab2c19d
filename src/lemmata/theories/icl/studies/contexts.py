"""A trained network on testing prompts of other lengths and shares of decisive contexts (P4).

How it is tested (`test_fraction`, `test_contexts`, `test_mode`) are fields of the setting. The seed draws the same
prompts whatever they are, as far as they can be the same.
"""

from __future__ import annotations

import jax
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.shallow import Network
from lemmata.theories.icl.data import UNSEEN, testing_prompts
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.training import MATCHES, SEEN_HINGE, evaluate, seen_hinge, train_network


@lm.simulation(
    lm.Variable("unseen_error", (), "", "sign error on unseen tasks"),
    lm.Variable("unseen_hinge", (), "", "hinge loss on unseen tasks"),
    lm.Variable("unseen_no_match", (), "", "share of these prompts without a context of the query's pattern"),
    lm.Variable("unseen_error_match", (), "", "sign error on those with one", True),
    lm.Variable("unseen_error_no_match", (), "", "sign error on those without", True),
    lm.Variable("prompts", (), "", "testing prompts"),
    SEEN_HINGE,
)
def answer_prompts(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train, and test on unseen tasks (P4)."""
    world, _, signs, run = train_network(problem, key)
    trained: Network = run.state.parameters
    tested = evaluate(problem, trained, signs, testing_prompts(problem, key, world, UNSEEN))
    errors = {f"unseen_{name}": tested[name] for name in ("error", "hinge", *MATCHES)}
    return {**errors, "prompts": tested["prompts"], "seen_hinge": seen_hinge(problem, key, trained, signs, world)}
