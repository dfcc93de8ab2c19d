"""What is recorded along training: the mechanism (figure 6.2), and everything that the proof speaks about."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from lemmata.lab.simulation import piece, stream
from lemmata.networks.neurons import group_mean
from lemmata.networks.shallow import Network
from lemmata.theories.icl import probes
from lemmata.theories.icl.data import Patterns, Prompts, World
from lemmata.theories.icl.network import attention_on, neurons, run_forward
from lemmata.theories.icl.neurons import find_lucky, lucky_activity, neuron_blocks, otsu
from lemmata.theories.icl.prompts import (
    FIXED,
    SEEN,
    UNSEEN,
    shifted_patterns,
    shifted_prompts,
    testing_prompts,
    training_prompts,
    watched_prompts,
)
from lemmata.theories.icl.setting import Setting

LUCKY_PROMPTS = 600
SHOWN = 5
"""Neurons of each sign of a_i that figure 6.2 shows."""


class Watched(NamedTuple):
    """Prompts that are looked at along training; those that `track` does not ask for are None."""

    exact: Prompts
    unseen: Prompts | None
    seen: Prompts | None
    fixed: Prompts | None
    shifted: Prompts | None
    shifted_patterns: Patterns | None


@piece("watch_prompts", "watch_contexts", once=True)
def draw_exact(problem: Setting, key: jax.Array, world: World) -> Prompts:
    """The prompts that T^* is defined on."""
    return watched_prompts(problem, key, world)


def draw_watched(problem: Setting, key: jax.Array, world: World) -> Watched:
    """The prompts that `train` looks at. Where only the hinge is recorded, they do not depend on how it is tested."""
    exact = draw_exact(problem, key, world)
    return Watched(exact, *[None] * 5) if problem.track == "hinge" else draw_tracked(problem, key, world, exact)


@piece("context_room", "test_prompts", "test_context_room", "test_mode", "track", once=True)
def draw_tracked(problem: Setting, key: jax.Array, world: World, exact: Prompts) -> Watched:
    """With those that figure 6.2 or the proof is about."""
    proof = problem.track == "proof"
    patterns = shifted_patterns(problem, world) if problem.track == "mechanism" else None
    return Watched(
        exact,
        testing_prompts(problem, key, world, UNSEEN) if proof else None,
        testing_prompts(problem, key, world, SEEN) if proof else None,
        training_prompts(problem, jax.random.fold_in(stream(key, "test"), FIXED), world, problem.test_prompts)
        if proof
        else None,
        None if patterns is None else shifted_prompts(problem, key, world, patterns),
        patterns,
    )


def _shown(signs: Array) -> Array:
    """The first neurons of each sign of a_i."""
    return jnp.concatenate([jnp.argsort(-jnp.sign(signs))[:SHOWN], jnp.argsort(jnp.sign(signs))[:SHOWN]])


def record_mechanism(network: Network, signs: Array, world: World, watched: Watched, include: bool) -> dict[str, Array]:
    """What figure 6.2 shows: projections and attention out of domain, and some neurons."""
    prompts, patterns = watched.shifted, watched.shifted_patterns
    assert prompts is not None
    assert patterns is not None
    run = run_forward(network, signs, prompts, include)
    matched = jnp.any(prompts.matches(), axis=1)
    same = probes.mean_where(attention_on(run, prompts.matches() * 1.0), matched)[0]
    blocks = neuron_blocks(neurons(network), signs, world)
    shown = _shown(signs)
    return {
        **probes.projections(network, prompts, patterns),
        "attention_same": same,
        "attention_other": 1 - same,
        **{f"shown_{name}": value[shown] for name, value in blocks.items()},
    }


def record_proof(
    problem: Setting, initial: Network, signs: Array, world: World, watched: Watched
) -> Callable[[Network], dict[str, Array]]:
    """The probe of everything that the proof speaks about; the lucky neurons are those of the initial network."""
    fixed, include = watched.fixed, problem.include_query
    unseen_prompts, seen_prompts = watched.unseen, watched.seen
    assert fixed is not None
    assert unseen_prompts is not None
    assert seen_prompts is not None
    some = jax.tree.map(lambda leaf: leaf[:LUCKY_PROMPTS], fixed)
    first = run_forward(initial, signs, some, include)
    lucky = find_lucky(initial, signs, some, first, world)
    factor = signs.shape[0] / problem.pattern_norm**2

    def probe(network: Network) -> dict[str, Array]:
        run = run_forward(network, signs, fixed, include)
        few = run_forward(network, signs, some, include)
        blocks = neuron_blocks(neurons(network), signs, world)
        large = otsu(blocks["neuron_norm"])
        groups = jnp.stack([large, ~large]) * 1.0
        attention = attention_on(run, fixed.matches() * 1.0)[0]
        matched = jnp.any(fixed.matches(), axis=1)
        sharp = probes.mean_where(attention, matched)
        hidden = run.hidden[:, 0]
        planted = lucky_activity(probes.planted_activity(network, signs, world, few), some, lucky)
        medians = jnp.nanmedian(jnp.where(groups > 0, blocks["neuron_norm"], jnp.nan), axis=1)
        tested = {
            f"{name}_{what}": value
            for name, prompts in (("unseen", unseen_prompts), ("seen", seen_prompts))
            for what, value in probes.scores(run_forward(network, signs, prompts, include), prompts).items()
            if what in ("error", "hinge", "concentration")
        }
        coefficients = probes.value_coefficients(run, signs, fixed, world)
        negated = probes.value_coefficients(run, signs, fixed, world, negated=True)
        return {
            "unseen_hinge_path": tested["unseen_hinge"],
            "unseen_error_path": tested["unseen_error"],
            "seen_hinge_path": tested["seen_hinge"],
            "seen_error_path": tested["seen_error"],
            "concentration_path": tested["unseen_concentration"][0],
            "least_attention": jnp.min(jnp.where(matched, attention, 1.0)),
            "active_hinge": jnp.mean(fixed.label * run.output < 1),
            **probes.pattern_blocks(network, world),
            **probes.updates(network, signs, fixed, world, include),
            "value_coefficient": coefficients * factor / sharp,
            "negated_value_coefficient": negated * factor / sharp,
            "output_growth": probes.output_growth(initial.output, network.output, signs, lucky.union[0], world),
            "zeta": jnp.min(jnp.where(hidden > 0, hidden, jnp.inf)),
            "active_share": group_mean(jnp.mean((hidden > 0) * 1.0, axis=0), groups),
            **lucky_activity(few.hidden[:, 0] > 0, some, lucky),
            **{f"planted_{name}": value for name, value in planted.items()},
            "lucky_share": jnp.mean(jnp.any(lucky.union, axis=0) * 1.0),
            **blocks,
            "large": large * 1.0,
            "large_share": jnp.mean(large * 1.0),
            "norm_ratio": medians[0] / medians[1],
        }

    return probe
