"""Prompts (section 2): patterns in and out of domain, contexts and queries, training batches and testing prompts.

An input is x = μ_j + κ ν_k. A prompt has context examples (x_i; f(x_i) q) of one task f and a query (x; 0), whose label
z = f(x) is to be found. All patterns are orthogonal and have norm β. Below: what a run is made of (`World`), how
prompts are drawn from it, and which prompts a run sees: in training, in testing, and along training (`Watched`).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

import lemmata as lm
from lemmata.networks.orthonormal import orthonormal
from lemmata.theories.icl.setting import PromptSetting, Setting
from lemmata.theories.icl.tasks import count_tasks, require_family, shuffle_roles

WATCH, UNSEEN, SEEN, SHIFTED, FIXED, PRUNE, COIN, TRAINED = range(8)
"""Parts of the random stream `test`; the last is SEEN, with the contexts of training."""


class Patterns(NamedTuple):
    """Relevant patterns μ_j and irrelevant patterns ν_k, in or out of domain; the largest amplitude of the ν_k."""

    relevant: Float[Array, "dimension relevant"]
    irrelevant: Float[Array, "dimension irrelevant"]
    amplitude: Float[Array, ""]


class Tasks(NamedTuple):
    """Tasks as rows of roles (+1, -1, 0 for every pattern); those from `first` to `last` - 1 are drawn."""

    roles: Float[Array, "tasks relevant"]
    first: Int[Array, ""]
    last: Int[Array, ""]


class World(NamedTuple):
    """What all prompts of a run share: patterns, label embedding, tasks with the training tasks first."""

    basis: Float[Array, "dimension dimension"]
    patterns: Patterns
    q: Float[Array, " label_dimension"]
    roles: Float[Array, "tasks relevant"]


class Prompts(NamedTuple):
    """Prompts with what is known about them: z, the patterns of contexts and query, labels and roles of the contexts.

    `weight` is 1 for a context and 0 for room that is not used; `task` is the number of the task that was drawn.
    """

    contexts: Float[Array, "prompts contexts width"]
    query: Float[Array, "prompts width"]
    weight: Float[Array, "prompts contexts"]
    label: Float[Array, " prompts"]
    pattern: Int[Array, "prompts contexts"]
    query_pattern: Int[Array, " prompts"]
    context_label: Float[Array, "prompts contexts"]
    role: Float[Array, "prompts contexts"]
    task: Int[Array, " prompts"]

    def matches(self) -> Bool[Array, "prompts contexts"]:
        """N_*: the contexts that hold the query's pattern."""
        return (self.pattern == self.query_pattern[:, None]) & (self.weight > 0)

    def columns(self) -> tuple[Float[Array, "prompts tokens width"], Float[Array, "prompts tokens"]]:
        """The columns of P, the query last, with their weights."""
        tokens = jnp.concatenate([self.contexts, self.query[:, None]], axis=1)
        return tokens, jnp.concatenate([self.weight, jnp.ones_like(self.weight[:, :1])], axis=1)


@lm.piece("dimension", "basis", once=True)
def draw_basis(problem: PromptSetting, key: jax.Array) -> Float[Array, "dimension dimension"]:
    """All patterns μ_1 .. μ_{M_1}, ν_1 .. ν_{M_2} as columns of norm β."""
    if problem.basis == "canonical":
        return problem.pattern_norm * jnp.eye(problem.dimension)
    return problem.pattern_norm * orthonormal(key, problem.dimension, problem.dimension)


def out_of_domain(basis: Array, odr: Any, odi: Any, amplitude: Any) -> Patterns:
    """Linear combinations of the patterns, by rows of coefficients."""
    return Patterns(basis @ jnp.asarray(odr).T, basis @ jnp.asarray(odi).T, jnp.asarray(amplitude))


def draw_roles(problem: PromptSetting, key: jax.Array) -> Float[Array, "tasks relevant"]:
    """All tasks, the training tasks first; a random subset of the cycle is new for every seed."""
    count = count_tasks(problem.patterns, problem.class_size)
    padded = jnp.asarray(problem.roles, jnp.result_type(float))[:, : problem.patterns]
    roles = padded[:count]
    if problem.class_size == 1:  # in classes of several patterns there is nothing to subsample
        roles = jnp.where(problem.subsample > 0, shuffle_roles(key, roles), roles)
    return jnp.concatenate([roles, padded[count:]])


@lm.piece("dimension", "patterns", "class_size", "basis", once=True)
def draw_world(problem: PromptSetting, key: jax.Array) -> World:
    """Patterns and tasks of a run."""
    basis = draw_basis(problem, lm.stream(key, "data"))
    roles = draw_roles(problem, lm.stream(key, "sampler"))
    patterns = Patterns(basis[:, : problem.patterns], basis[:, problem.patterns :], jnp.asarray(problem.amplitude))
    return World(basis, patterns, jnp.asarray(problem.q, basis.dtype), roles)


def seen(problem: PromptSetting, roles: Array) -> Tasks:
    """The training tasks."""
    return Tasks(roles, jnp.asarray(0), jnp.asarray(problem.seen))


def unseen(problem: PromptSetting, roles: Array) -> Tasks:
    """The tasks that are not trained on; all of them where every task is."""
    return Tasks(roles, jnp.where(problem.seen < problem.total, problem.seen, 0), jnp.asarray(problem.total))


def all_tasks(relevant: int) -> Tasks:
    """Every ordered pair of so many patterns."""
    a, b = jnp.triu_indices(relevant, 1)
    rows = jnp.eye(relevant)[a] - jnp.eye(relevant)[b]
    return Tasks(jnp.concatenate([rows, -rows]), jnp.asarray(0), jnp.asarray(2 * len(rows)))


def batch_slots(key: jax.Array, tasks: Tasks, count: int) -> tuple[Int[Array, " count"], Float[Array, " count"]]:
    """Task and query sign of every prompt of a training batch: all (task, sign) pairs equally often.

    Slots that are left over go to a random subset of the pairs.
    """
    number = tasks.last - tasks.first
    pairs = 2 * tasks.roles.shape[0]
    marks = jnp.where(jnp.arange(pairs) < 2 * number, jax.random.uniform(key, (pairs,)), jnp.inf)
    order = jnp.argsort(marks)
    slot, even = jnp.arange(count), (count // (2 * number)) * 2 * number
    pair = jnp.where(slot < even, slot % (2 * number), order[jnp.maximum(slot - even, 0) % pairs])
    return tasks.first + pair // 2, 1.0 - 2 * (pair % 2)


def testing_slots(key: jax.Array, tasks: Tasks, count: int) -> tuple[Int[Array, " count"], Float[Array, " count"]]:
    """Task and query sign of testing prompts: uniform tasks, balanced signs."""
    return jax.random.randint(key, (count,), tasks.first, tasks.last), 1.0 - 2 * (jnp.arange(count) % 2)


def draw_prompts(
    key: jax.Array,
    patterns: Patterns,
    q: Float[Array, " label_dimension"],
    tasks: Tasks,
    fraction: Any,
    length: Any,
    *,
    count: int,
    room: int,
    mode: str = "iid",
    training: bool = False,
) -> Prompts:
    """`count` prompts of `length` contexts (2.3).

    mode: `iid` draws every context's pattern by itself, decisive with probability `fraction`; `exact` has
    ceil(fraction l / 2) contexts of the query's pattern, as many of the other class (or the rest), all others without.
    Context i depends on the key and on i alone, never on the room.
    """
    slot_key, query_key, role_key, coin_key, part_key = jax.random.split(key, 5)
    task, label = (batch_slots if training else testing_slots)(slot_key, tasks, count)
    roles = tasks.roles[task]
    own = roles == label[:, None]
    query_pattern = _pick(_uniform(query_key, count, 1), own * 1.0)[:, 0]
    if mode == "iid":
        pattern = _iid(role_key, roles, fraction, room)
    else:
        pattern = _exact(role_key, roles, label, query_pattern, fraction, length, room)
    role = jnp.take_along_axis(roles, pattern, axis=1)
    coin = jax.random.rademacher(coin_key, (room, count), role.dtype).T
    context_label = jnp.where(role == 0, coin, role)
    x = _inputs(part_key, patterns, jnp.concatenate([query_pattern[:, None], pattern], axis=1))
    y = jnp.concatenate([jnp.zeros((count, 1), role.dtype), context_label], axis=1)[:, :, None] * q
    tokens = jnp.concatenate([x, y.astype(x.dtype)], axis=2)
    weight = jnp.broadcast_to((jnp.arange(room) < length) * 1.0, (count, room)).astype(x.dtype)
    return Prompts(tokens[:, 1:], tokens[:, 0], weight, label, pattern, query_pattern, context_label, role, task)


def _uniform(key: jax.Array, prompts: int, draws: int, low: float = 0.0) -> Float[Array, "prompts draws"]:
    """Uniform numbers in [low, 1), the same first ones however many are drawn: every bit depends on its place alone."""
    return jax.random.uniform(key, (draws, prompts), minval=low).T


def _inputs(key: jax.Array, patterns: Patterns, index: Int[Array, "prompts inputs"]) -> Array:
    """x = μ_j + κ ν_k with k uniform and κ ~ U(-K, K), independent for every input."""
    pattern_key, size_key = jax.random.split(key)
    other = jax.random.randint(pattern_key, index.shape[::-1], 0, patterns.irrelevant.shape[1]).T
    kappa = patterns.amplitude * _uniform(size_key, *index.shape, low=-1.0)
    return patterns.relevant.T[index] + kappa[:, :, None] * patterns.irrelevant.T[other]


def _pick(
    uniform: Float[Array, "prompts draws"], mass: Float[Array, "prompts relevant"]
) -> Int[Array, "prompts draws"]:
    """A pattern for every uniform number, with probability proportional to its mass."""
    total = jnp.cumsum(mass, axis=1)
    # divided by itself the end is exactly 1, so that a pattern without mass is never picked
    ends = total / total[:, -1:]
    return jnp.sum(uniform[:, :, None] >= ends[:, None, :-1], axis=2)


def _iid(key: jax.Array, roles: Array, fraction: Any, room: int) -> Array:
    """Every context by itself: α over the decisive patterns, the rest over the others, both uniform."""
    decisive = jnp.abs(roles)
    number = jnp.sum(decisive, axis=1, keepdims=True)
    others = jnp.maximum(roles.shape[1] - number, 1)
    mass = fraction * decisive / number + (1 - fraction) * (1 - decisive) / others
    return _pick(_uniform(key, roles.shape[0], room), mass)


def _exact(
    key: jax.Array, roles: Array, label: Array, query_pattern: Array, fraction: Any, length: Any, room: int
) -> Array:
    """⌈α' l/2⌉ contexts with the query's pattern, as many of the other class, the rest without; in random order."""
    other_key, rest_key, place_key = jax.random.split(key, 3)
    shape = (roles.shape[0], room)
    matching = jnp.ceil(fraction * length / 2 * (1 - 1e-6))  # less the rounding of a product that is whole
    opposite = jnp.minimum(matching, length - matching)
    place = jnp.where(jnp.arange(room) < length, _uniform(place_key, *shape), jnp.inf)
    rank = jnp.argsort(jnp.argsort(place, axis=1), axis=1)  # a random order of the first `length` positions
    other = _pick(_uniform(other_key, *shape), (roles == -label[:, None]) * 1.0)
    neutral = roles == 0
    # where every pattern is decisive nothing is left to draw; the mass only has to be positive
    mass = jnp.where(jnp.any(neutral, axis=1, keepdims=True), neutral, True) * 1.0
    rest = _pick(_uniform(rest_key, *shape), mass)
    return jnp.where(rank < matching, query_pattern[:, None], jnp.where(rank < matching + opposite, other, rest))


def training_prompts(problem: PromptSetting, key: jax.Array, world: World, count: int) -> Prompts:
    """A batch of training prompts; with shuffled labels every query label is a fair coin."""
    sizes: Any = {"count": count, "room": problem.context_capacity, "training": True}
    tasks = seen(problem, world.roles)
    drawn = draw_prompts(key, world.patterns, world.q, tasks, problem.fraction, problem.contexts, **sizes)
    # beyond the five parts of the key that the prompts are drawn with
    coins = jax.random.rademacher(jax.random.fold_in(key, 5), (count,), drawn.label.dtype)
    return drawn._replace(label=jnp.where(problem.shuffled_labels > 0, coins, drawn.label))


@lm.piece(once=True)
def draw_tests(
    problem: PromptSetting,
    key: jax.Array,
    world: World,
    which: Any,
    fraction: Any,
    length: Any,
    *,
    count: int,
    room: int,
    mode: str,
) -> Prompts:
    """Prompts in domain, on unseen or on seen tasks, with this share of decisive contexts and of this length.

    These two are arguments, since what a network is trained on must not depend on how it is tested.
    """
    known, new, old = seen(problem, world.roles), unseen(problem, world.roles), (which == TRAINED) | (which == SEEN)
    tasks = Tasks(world.roles, jnp.where(old, known.first, new.first), jnp.where(old, known.last, new.last))
    key = jax.random.fold_in(lm.stream(key, "test"), jnp.where(which == TRAINED, SEEN, which))
    return draw_prompts(key, world.patterns, world.q, tasks, fraction, length, count=count, room=room, mode=mode)


def testing_prompts(problem: PromptSetting, key: jax.Array, world: World, which: int) -> Prompts:
    """Testing prompts on unseen or on seen tasks."""
    sizes: Any = {"count": problem.test_prompts, "room": problem.test_capacity, "mode": problem.test_mode}
    return draw_tests(problem, key, world, which, problem.test_fraction, problem.test_contexts, **sizes)


def trained_prompts(problem: PromptSetting, key: jax.Array, world: World) -> Prompts:
    """Testing prompts on seen tasks with the contexts of training."""
    sizes: Any = {"count": problem.test_prompts, "room": problem.context_capacity, "mode": "iid"}
    return draw_tests(problem, key, world, TRAINED, problem.fraction, problem.contexts, **sizes)


def draw_exact(problem: PromptSetting, key: jax.Array, world: World) -> Prompts:
    """The unseen-task exact prompts with α' = 0.8 that T* is defined on (P2)."""
    count, room = problem.watch_prompts, problem.watch_contexts
    return draw_tests(problem, key, world, WATCH, 0.8, room, count=count, room=room, mode="exact")


def require_shiftable(problem: PromptSetting) -> None:
    """Refuse a setting that has no prompts out of domain."""
    if not problem.shiftable:
        require_family(problem.patterns, problem.irrelevant)
        size = problem.class_size
        raise lm.UserError(f"class_size = {size} is not allowed here: out of domain classes have one pattern.")


def shifted_patterns(problem: PromptSetting, world: World) -> Patterns:
    """The patterns out of domain of this setting."""
    return out_of_domain(world.basis, problem.shift_relevant, problem.shift_irrelevant, problem.shift_amplitude)


def shifted_prompts(problem: PromptSetting, key: jax.Array, world: World, patterns: Patterns) -> Prompts:
    """Testing prompts on every task of patterns out of domain: the same draws whatever the patterns are."""
    key, tasks = jax.random.fold_in(lm.stream(key, "test"), SHIFTED), all_tasks(patterns.relevant.shape[1])
    sizes: Any = {"count": problem.test_prompts, "room": problem.test_capacity, "mode": problem.test_mode}
    return draw_prompts(key, patterns, world.q, tasks, problem.test_fraction, problem.test_contexts, **sizes)


@lm.piece("test_prompts", "test_capacity", "test_mode", once=True)
def draw_shifted(problem: PromptSetting, key: jax.Array, world: World) -> tuple[Prompts, Patterns]:
    """Testing prompts out of domain, and their patterns."""
    patterns = shifted_patterns(problem, world)
    return shifted_prompts(problem, key, world, patterns), patterns


class Watched(NamedTuple):
    """Prompts that are looked at along training; those that `track` does not ask for are None."""

    exact: Prompts
    unseen: Prompts | None = None
    seen: Prompts | None = None
    fixed: Prompts | None = None
    shifted: Prompts | None = None
    shifted_patterns: Patterns | None = None


@lm.piece("context_capacity", "test_prompts", once=True)
def draw_fixed(problem: PromptSetting, key: jax.Array, world: World) -> Prompts:
    """A batch of training prompts that stays the same."""
    return training_prompts(problem, lm.stream(key, "test", FIXED), world, problem.test_prompts)


def draw_watched(problem: Setting, key: jax.Array, world: World) -> Watched:
    """The prompts that `train` looks at. Where only the hinge is recorded, they do not depend on how it is tested."""
    exact = draw_exact(problem, key, world)
    if problem.track == "mechanism":
        prompts, patterns = draw_shifted(problem, key, world)
        return Watched(exact, shifted=prompts, shifted_patterns=patterns)
    if problem.track == "proof":
        new, old = (testing_prompts(problem, key, world, which) for which in (UNSEEN, SEEN))
        return Watched(exact, new, old, draw_fixed(problem, key, world))
    return Watched(exact)


def given(
    features: Any, labels: Any, query: Any, answer: Any, q: Any, *, pattern: Any = None, query_pattern: Any = None
) -> Prompts:
    """The user's own prompts, checked: context features and labels ±1, query features, its label ±1, the embedding q.

    pattern, query_pattern: what the contexts and the query hold, as integers, where it is known (for concentration).
    """
    features, labels, query = np.asarray(features, float), np.asarray(labels, float), np.asarray(query, float)
    answer, q = np.asarray(answer, float), np.asarray(q, float)
    shape = features.shape[:2]
    fits = features.ndim == 3 and labels.shape == shape and query.shape == (shape[0], features.shape[2])
    if not fits or answer.shape != shape[:1] or q.ndim != 1:
        raise lm.UserError(
            f"features {features.shape}, labels {labels.shape}, query {query.shape}, answer {answer.shape} and "
            f"q {q.shape} do not fit: allowed are (prompts, contexts, dimension), (prompts, contexts), "
            "(prompts, dimension), (prompts,) and (label dimension,)."
        )
    if not (np.isfinite(features).all() and np.isfinite(query).all() and np.isfinite(q).all()):
        raise lm.UserError("features, query and q must be arrays of finite numbers.")
    for name, values in (("labels", labels), ("answer", answer)):
        wrong = values[~np.isin(values, (-1, 1))]
        if wrong.size:
            raise lm.UserError(f"{name} is not allowed: a label is +1 or -1, not {wrong[0]:g}.")
    known = pattern is not None and query_pattern is not None
    pattern = np.asarray(pattern, int) if known else np.zeros(shape, int)
    query_pattern = np.asarray(query_pattern, int) if known else np.full(shape[0], -1)
    if pattern.shape != shape or query_pattern.shape != shape[:1]:
        shapes = f"pattern {pattern.shape} and query_pattern {query_pattern.shape}"
        raise lm.UserError(f"{shapes} do not fit: allowed are {shape} and {shape[:1]}.")
    contexts = np.concatenate([features, labels[:, :, None] * q], axis=2)
    asked = np.concatenate([query, np.zeros((shape[0], len(q)))], axis=1)
    unknown = np.zeros(shape), np.zeros(shape[0], int)
    columns = (contexts, asked, np.ones(shape), answer, pattern, query_pattern, labels, *unknown)
    return Prompts(*map(jnp.asarray, columns))
