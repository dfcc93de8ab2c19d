"""A trained network on patterns out of domain (P5, figure 6.3(A)): errors and attention, before and after training.

The shift (`angle`, `defect`) is a field of the setting. The seed draws the same prompts whatever it is.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.shallow import Network
from lemmata.theories.icl import probes
from lemmata.theories.icl.data import Patterns, Prompts, draw_shifted, require_shiftable, trained_prompts
from lemmata.theories.icl.network import maps, run_forward
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.training import SEEN_HINGE, describe, evaluate, train_network

MOMENTS = ("start", "end")


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
    lm.Variable("shift_error", ("moment",), "", "sign error out of domain"),
    lm.Variable("shift_hinge", ("moment",), "", "hinge loss out of domain"),
    lm.Variable(
        "shift_concentration", ("moment",), "", "attention on contexts with the query's pattern, out of domain"
    ),
    lm.Variable("query_error", ("moment", "odr_pattern"), "", "sign error by the query's pattern"),
    lm.Variable("query_hinge", ("moment", "odr_pattern"), "", "hinge loss by the query's pattern"),
    lm.Variable("query_concentration", ("moment", "odr_pattern"), "", "attention by the query's pattern"),
    lm.Variable("query_patterns", ("pattern", "other"), "G^Q", "query map on relevant patterns"),
    lm.Variable("key_patterns", ("pattern", "other"), "G^K", "key map on relevant patterns"),
    lm.Variable("partner", ("pattern", "other"), "", "1 where two patterns form a training task"),
    SEEN_HINGE,
    labels={"moment": MOMENTS},
)
def shift_patterns(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train, and test on shifted patterns (P5)."""
    require_shiftable(problem)
    world, network, signs, run = train_network(problem, key)
    trained: Network = run.state.parameters
    known = evaluate(problem, trained, signs, trained_prompts(problem, key, world))
    learnt = describe(problem, maps(network), maps(trained), world, known["concentration"])
    return {
        **try_shift(problem, network, trained, signs, *draw_shifted(problem, key, world)),
        **{name: learnt[name] for name in ("query_patterns", "key_patterns", "partner")},
        "seen_hinge": known["hinge"],
    }
