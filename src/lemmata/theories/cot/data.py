"""Prompts (section 2): what is prepared for a run, training prompts, and testing prompts.

In the basis of patterns μ_i, positions c_k and what is left, every column of a prompt is three one-hots: its input, its
step and its label. So prompts are indices here; `tokens` writes them out for the plain network. Testing patterns are
given by their coordinates, testing noise by its coordinates in the subspace that it is drawn from.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

import lemmata as lm
from lemmata.theories.cot import transitions
from lemmata.theories.cot.setting import PromptSetting, Setting
from lemmata.theories.cot.transitions import images, shift_maps, shifted_images

WATCHED = {"test_fraction": 0.8, "test_examples": 20, "trajectory": 0.5, "primacy": 0.8, "token_noise": 0.2}
"""The testing prompts that are watched along training (Figure 7.6), whatever else is tested afterwards."""
TASK, MARKS, OTHERS, PAIRING = range(4)
"""Parts of the key of a batch."""
WATCH, WATCH_TESTS, TEST, MEASURE, TIES, POOL = range(6)
"""Parts of the random stream `test`; the last is the pool of training tasks."""
NUMBERS = {
    "trajectory_probability": ("τ", "min-max trajectory probability of the testing examples"),
    "step_primacy": ("ρ", "primacy of their steps"),
    "label_probability": ("τ_o", "min-max input-label probability"),
    "label_primacy": ("ρ_o", "primacy of the composed steps"),
    "condition_share": ("", "share of inputs for which Condition 7.3.2 holds"),
}
"""What a run knows of its testing system, by variable."""


class System(NamedTuple):
    """What testing prompts are made of: patterns and noise directions by coordinates, transitions, the task."""

    patterns: Float[Any, "shown dimension"]
    noise: Float[Any, "directions dimension"]
    matrices: Float[Any, "steps shown shown"]
    images: Int[Any, "reached shown"]


class Prepared(NamedTuple):
    """What a run is made of: the basis (patterns, positions, the rest), systems watched and tested, their numbers."""

    basis: Float[Any, "dimension dimension"]
    watched: System
    tested: System
    maps: Int[Any, "steps shown"]
    numbers: dict[str, Any]
    entropy: Int[Any, " words"]


def orthonormal(columns: np.ndarray) -> np.ndarray:
    """The columns made orthonormal one after the other."""
    q, r = np.linalg.qr(columns)
    return q * np.sign(np.diag(r))


def haar(rng: np.random.Generator, size: int) -> np.ndarray:
    """A uniformly random orthogonal matrix."""
    return orthonormal(rng.normal(size=(size, size)))


def testing_patterns(
    setting: Setting, rng: np.random.Generator, law: str, noise_law: str, inside_noise: bool
) -> tuple[np.ndarray, np.ndarray]:
    """μ'_1, ..., μ'_{M'} as coordinates (2.1), and the directions that the noise of their tokens is drawn from."""
    M, d, shown = setting.patterns, setting.dimension, setting.test_patterns
    trained, unit, mixed = M + setting.reasoning_steps, np.eye(d), haar(rng, M)
    if law == "blind":  # the first pattern is the mean direction, the others a random completion
        mixed = orthonormal(np.column_stack([np.full(M, M**-0.5), rng.normal(size=(M, M - 1))])).T
    elif law == "given":
        mixed = orthonormal(np.concatenate([setting.given_patterns, rng.normal(size=(M - shown, M))]).T).T
    elif law == "identity":
        mixed = np.eye(M)
    outside = law == "outside"
    drawn = haar(rng, d - trained) @ unit[trained:] if outside else mixed @ unit[:M]
    chosen, others = drawn[:shown], drawn[shown:]
    if inside_noise:
        return chosen, chosen
    untrained = others if outside else unit[trained:]
    if noise_law == "untrained":
        return chosen, untrained
    return chosen, np.concatenate([others, *([unit[:trained]] if outside else [unit[M:trained], untrained])])


def draw_system(setting: Setting, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A testing task (the user's own, Example 1, or shifts along a random permutation) and its transition matrices.

    A task of `pairs` is drawn anew while votes coincide (2.4).
    """
    law, own = setting.transitions, setting.given_maps
    while True:
        maps = shift_maps(rng.permutation(setting.test_patterns), setting.reasoning_steps)
        maps = maps if own is None else np.asarray(own, int)
        if law == "given":
            return maps, np.asarray(setting.given_matrices, float)
        if law in ("example", "direct"):
            return transitions.EXAMPLE_MAPS, transitions.EXAMPLE if law == "example" else transitions.DIRECT
        if law != "pairs":
            runner = rng.integers(1, maps.shape[1], maps.shape) if setting.runner_up == "random" else np.ones_like(maps)
            return maps, transitions.even_matrices(maps, setting.step_probabilities(), setting.primacy, runner)
        matrices = transitions.pair_matrices(maps, *setting.pair_chances())
        if own is not None or not transitions.coincide(matrices, maps):
            return maps, matrices


def prepare(setting: Setting, seed: int) -> Prepared:
    """The host work of a run: a basis, testing patterns, a testing task and its transitions."""

    def system(maps: np.ndarray, matrices: np.ndarray, *laws: Any) -> System:
        patterns = testing_patterns(setting, lm.generator(seed, "testing patterns"), *laws)
        return System(*patterns, matrices, np.stack(images(maps)))

    K, shown, tau, rho = setting.reasoning_steps, setting.test_patterns, WATCHED["trajectory"], WATCHED["primacy"]
    maps, matrices = draw_system(setting, lm.generator(seed, "testing task"))
    numbers = transitions.describe(matrices, maps)
    watched_maps = shift_maps(lm.generator(seed, "watched task").permutation(shown), K)
    p = transitions.step_probabilities("uniform", tau, K)
    if transitions.infeasible(float(p[0]), rho, shown):  # from four steps on no even error has this primacy
        p = transitions.step_probabilities("single", tau, K)
    errs = transitions.even_matrices(watched_maps, p, rho, np.ones_like(watched_maps))
    said = zip(NUMBERS, (*numbers[:4], numbers.condition.mean()), strict=True)
    return Prepared(
        haar(lm.generator(seed, "basis"), setting.dimension),
        system(watched_maps, errs, "haar", "untrained", False),
        system(maps, matrices, setting.pattern_law, setting.noise_law, setting.defect == "noise inside"),
        maps,
        {name: np.asarray(value) for name, value in said},
        np.random.SeedSequence(seed).generate_state(4),
    )


class Prompts(NamedTuple):
    """Training prompts as indices: attended columns, the query (its input, its step) and the target.

    `position` is the positional encoding that a column or a query carries: its step, unless a defect makes all equal.
    """

    input: Int[Array, "prompts columns"]
    label: Int[Array, "prompts columns"]
    step: Int[Array, " columns"]
    position: Int[Array, " columns"]
    weight: Float[Array, "prompts columns"]
    query: Int[Array, " prompts"]
    query_step: Int[Array, " prompts"]
    query_position: Int[Array, " prompts"]
    target: Int[Array, " prompts"]


def random_order(marks: Float[Array, " patterns"]) -> Int[Array, " patterns"]:
    """The rank of every mark, equal ones in their order: a uniform permutation (eight times faster than sorting)."""
    number = jnp.arange(marks.shape[0])
    before = (marks < marks[:, None]) | ((marks == marks[:, None]) & (number < number[:, None]))
    return jnp.sum(before, axis=1)


def draw_tasks(problem: PromptSetting, key: jax.Array, pool_key: jax.Array, count: int, pool: Any) -> Array:
    """Where every pattern is after 0, ..., K steps, [count, K+1, M]: fresh tasks, or drawn from a pool of so many."""
    K, M = problem.reasoning_steps, problem.patterns
    task_key, mark_key = jax.random.fold_in(key, TASK), jax.random.fold_in(key, MARKS)
    number = jax.random.randint(task_key, (count,), 0, jnp.maximum(pool, 1))
    orders = K if problem.task_law == "independent" else 1

    def kept(number: Array) -> Array:
        return jax.random.uniform(jax.random.fold_in(pool_key, number), (orders, M))

    def one(marks: Array) -> Array:
        ranks = [random_order(row) for row in marks]
        if problem.task_law == "independent":
            return jnp.stack(images(ranks))
        order = jnp.zeros(M, int).at[ranks[0]].set(jnp.arange(M), unique_indices=True)
        return shifted_images(order, ranks[0], K)

    fresh = lambda: jax.random.uniform(mark_key, (count, orders, M))  # noqa: E731
    return jax.vmap(one)(jax.lax.cond(pool > 0, lambda: jax.vmap(kept)(number), fresh))


def balanced(key: jax.Array, count: int, steps: int, patterns: int) -> tuple[Array, Array]:
    """Step and query pattern of every prompt of a batch (2.3): all pairs equally often if they fit, else each marginal
    as even as possible, randomly paired."""
    slot = jnp.arange(count)
    if count % (steps * patterns) == 0:
        return slot % steps, slot // steps % patterns
    first, second, third = jax.random.split(key, 3)
    step = jax.random.permutation(first, steps)[slot % steps]
    pattern = jax.random.permutation(second, patterns)[slot % patterns]
    return step, jax.random.permutation(third, pattern)


def training_prompts(
    problem: Setting | PromptSetting, key: jax.Array, pool_key: jax.Array, count: int, pool: Any, equal: Any = 0
) -> Prompts:
    """A balanced batch of noise-free training prompts of fresh or pooled tasks."""
    K, M, room = problem.reasoning_steps, problem.patterns, problem.example_capacity
    task = draw_tasks(problem, key, pool_key, count, pool)
    k, x = balanced(jax.random.fold_in(key, PAIRING), count, K, M)
    other = x[:, None] + jax.random.randint(jax.random.fold_in(key, OTHERS), (count, room), 1, M)
    start = jnp.where(jnp.arange(room) < problem.matching, x[:, None], other % M)
    chain = jnp.take_along_axis(task, start[:, None, :], axis=2)  # [prompts, K+1, examples]
    own = jnp.take_along_axis(task, x[:, None, None], axis=2)[:, :, 0]

    def columns(of_examples: Array, of_query: Array) -> Array:
        return jnp.concatenate([of_examples.reshape(count, K * room), of_query], axis=1)

    used = jnp.broadcast_to((jnp.arange(room) < problem.examples) * 1.0, (count, K, room))
    step = jnp.concatenate([jnp.repeat(jnp.arange(K), room), jnp.arange(K - 1)])
    return Prompts(
        columns(chain[:, :-1], own[:, : K - 1]),
        columns(chain[:, 1:], own[:, 1:K]),
        step,
        step * (1 - equal),
        columns(used, (jnp.arange(K - 1) < k[:, None]) * 1.0),
        jnp.take_along_axis(own, k[:, None], axis=1)[:, 0],
        k,
        k * (1 - equal),
        jnp.take_along_axis(own, k[:, None] + 1, axis=1)[:, 0],
    )


@lm.piece(*("patterns", "reasoning_steps", "watch_prompts", "example_capacity", "task_law"), once=True)
def watched_prompts(problem: PromptSetting, key: jax.Array, equal: Any) -> Prompts:
    """Fresh prompts of fresh or pooled tasks that are watched along training."""
    keys = lm.stream(key, "test", WATCH), lm.stream(key, "test", POOL)
    return training_prompts(problem, *keys, problem.watch_prompts, problem.pool, equal)


def tokens(prompts: Prompts, basis: Float[Array, "dimension dimension"], patterns: int) -> tuple[Array, Array, Array]:
    """The columns p̃_i, the query p̃_query and the target z, written out in 2d, 2d and d numbers each."""
    pattern, encoding = basis.T[:patterns], basis.T[patterns:]
    attended = jnp.concatenate([pattern[prompts.input] + encoding[prompts.position], pattern[prompts.label]], axis=-1)
    asked = pattern[prompts.query] + encoding[prompts.query_position]
    return attended, jnp.concatenate([asked, jnp.zeros_like(asked)], axis=-1), pattern[prompts.target]


class Trials(NamedTuple):
    """Testing prompts: chains of testing patterns by example, which examples are there, truth, and noise."""

    chain: Int[Array, "prompts reached examples"]
    weight: Float[Array, "prompts examples"]
    truth: Int[Array, "prompts reached"]
    noise: Float[Array, "prompts reached examples directions"]


def draw_directions(
    key: jax.Array, prompts: int, steps: int, room: int, directions: int
) -> Float[Array, "prompts reached examples directions"]:
    """The direction of the noise of every testing token: uniform on the sphere of the subspace it is drawn from."""
    drawn = jax.random.normal(jax.random.split(key, 5)[4], (prompts, steps + 1, room, directions))
    return drawn / jnp.linalg.norm(drawn, axis=-1, keepdims=True)


def draw_trials(
    key: jax.Array, tested: System, noise: Array, length: Any, matching: Any, by_itself: Any = 0.0, queries: Any = None
) -> Trials:
    """Prompts of noisy, partly wrong examples (2.3): so many match the query, or each by itself with a probability.

    queries: the first pattern that is asked, and how many kinds there are.
    """
    shown, (count, reaches, room, _) = tested.images.shape[1], noise.shape
    first, kinds = (0, shown) if queries is None else queries
    query_key, match_key, other_key, chain_key, _ = jax.random.split(key, 5)
    query = first + jax.random.randint(query_key, (count,), 0, kinds)
    match = (jnp.arange(room) < matching) | (jax.random.uniform(match_key, (count, room)) < by_itself)
    other = (query[:, None] + jax.random.randint(other_key, (count, room), 1, shown)) % shown
    start, total = jnp.where(match, query[:, None], other), jnp.cumsum(tested.matrices, axis=2)
    ends = (total / total[:, :, -1:])[:, :, :-1]  # divided by itself the end is exactly 1

    def step(at: Array, k: Array) -> tuple[Array, Array]:
        draw = jax.random.uniform(jax.random.fold_in(chain_key, k), (count, room, 1))
        following = jnp.sum(draw >= ends[k, at], axis=2)
        return following, following

    later = jnp.moveaxis(jax.lax.scan(step, start, jnp.arange(reaches - 1))[1], 0, 1)
    weight = jnp.broadcast_to((jnp.arange(room) < length) * 1.0, (count, room))
    return Trials(jnp.concatenate([start[:, None], later], axis=1), weight, tested.images.T[query], noise)


def watched_trials(problem: Setting, key: jax.Array, watched: System) -> Trials:
    """The testing prompts of Figure 7.6."""
    length, own = WATCHED["test_examples"], lm.stream(key, "test", WATCH_TESTS)
    directions = draw_directions(own, problem.watch_tests, problem.reasoning_steps, length, watched.noise.shape[0])
    matching = round(WATCHED["test_fraction"] * length)
    return draw_trials(own, watched, WATCHED["token_noise"] * directions, length, matching)
