"""The prompts of a run: training batches, testing prompts in and out of domain, and those that are watched."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from lemmata.lab.simulation import stream
from lemmata.theories.icl.data import (
    Patterns,
    Prompts,
    World,
    all_tasks,
    draw_prompts,
    out_of_domain,
    seen,
    unseen,
)
from lemmata.theories.icl.setting import PromptSetting

WATCH, UNSEEN, SEEN, SHIFTED, FIXED, PRUNE, COIN = range(7)
"""Sub-keys of the stream `test`."""


def watched_prompts(problem: PromptSetting, key: jax.Array, world: World) -> Prompts:
    """The unseen-task exact prompts with α' = 0.8 that T^* is defined on (P2)."""
    return draw_prompts(
        jax.random.fold_in(stream(key, "test"), WATCH),
        world.patterns, world.q, unseen(problem, world.roles), 0.8, problem.watch_contexts,
        count=problem.watch_prompts, room=problem.watch_contexts, mode="exact",
    )  # fmt: skip


def testing_prompts(problem: PromptSetting, key: jax.Array, world: World, which: int) -> Prompts:
    """Testing prompts on unseen or on seen tasks."""
    tasks = (unseen if which == UNSEEN else seen)(problem, world.roles)
    return draw_prompts(
        jax.random.fold_in(stream(key, "test"), which),
        world.patterns, world.q, tasks, problem.test_fraction, problem.test_contexts,
        count=problem.test_prompts, room=problem.test_context_room, mode=problem.test_mode,
    )  # fmt: skip


def shifted_patterns(problem: PromptSetting, world: World) -> Patterns:
    """The patterns out of domain of this setting."""
    return out_of_domain(world.basis, problem.shift_relevant, problem.shift_irrelevant, problem.shift_amplitude)


def shifted_prompts(problem: PromptSetting, key: jax.Array, world: World, patterns: Patterns) -> Prompts:
    """Testing prompts on every task of patterns out of domain: the same draws whatever the patterns are."""
    return draw_prompts(
        jax.random.fold_in(stream(key, "test"), SHIFTED),
        patterns, world.q, all_tasks(patterns.relevant.shape[1]), problem.test_fraction, problem.test_contexts,
        count=problem.test_prompts, room=problem.test_context_room, mode=problem.test_mode,
    )  # fmt: skip


def training_prompts(problem: PromptSetting, key: jax.Array, world: World, count: int) -> Prompts:
    """A batch of training prompts; with shuffled labels every query label is a fair coin."""
    drawn = draw_prompts(
        key, world.patterns, world.q, seen(problem, world.roles), problem.fraction, problem.contexts,
        count=count, room=problem.context_room, training=True,
    )  # fmt: skip
    # beyond the five parts of the key that the prompts are drawn with
    coins = jax.random.rademacher(jax.random.fold_in(key, 5), (count,), drawn.label.dtype)
    return drawn._replace(label=jnp.where(problem.shuffled_labels > 0, coins, drawn.label))
