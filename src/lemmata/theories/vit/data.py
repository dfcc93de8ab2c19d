"""The data model (2): token sequences in which discriminative patterns vote on a label.

Patterns μ_1..μ_M are orthonormal; with two classes μ_1 votes +1, μ_2 votes -1, and the others are neutral. With 2^k
classes (2.4) the first 2^k patterns are discriminative and labels lie in {±1}^k; with several members (2.3) a pattern
is a set of nearby unit vectors. Sample i depends on the key and on i alone, never on how many are drawn, and labels
come in balanced groups (± pairs), so every prefix is balanced.

Sparsification (2.5) says which tokens of a sample are kept; a dropped one is masked: neither query nor key. A strategy
is named by what it drops first. It gives every token a score; the `kept` tokens of largest score stay.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

import lemmata as lm
from lemmata.networks.orthonormal import orthonormal, orthonormalise
from lemmata.theories.vit.setting import STRATEGIES, Setting

RELEVANT = 0
"""Role of a token of the sample's own pattern; 1 .. classes-1 are the confusion patterns counted on from it, and the
roles from `classes` on are the neutral patterns themselves."""
MEMBERS, BASIS, VOTES, SHUFFLED = 2**31 - 4, 2**31 - 3, 2**31 - 2, 2**31 - 1
"""Sub-keys of a data stream besides those of the samples, which are 0, 1, 2, ..."""


class Data(NamedTuple):
    """Samples. `label` is what training sees, `vote` the true label (the majority vote of the tokens). Labels are ±1,
    or vectors in {±1}^k for 2^k classes. `weight` is the multiplicity of a token: 0 masks it."""

    tokens: Float[Array, "samples tokens dimension"]
    label: Float[Array, "samples ..."]
    vote: Float[Array, "samples ..."]
    pattern: Int[Array, "samples tokens"]
    weight: Float[Array, "samples tokens"]
    noise: Float[Array, "samples tokens"]

    def own(self) -> Int[Array, " samples"]:
        """The class, which is the index of the pattern that the true label names."""
        return class_of(self.vote)

    def classes(self) -> int:
        return 2 if self.vote.ndim == 1 else 2 ** self.vote.shape[1]

    def relevant(self) -> Float[Array, "samples tokens"]:
        """1 on S_*: kept tokens of the pattern that the true label names."""
        return (self.pattern == self.own()[:, None]) * (self.weight > 0) * 1.0

    def discriminative(self) -> Float[Array, "samples tokens"]:
        """1 on kept tokens of the patterns that vote."""
        return (self.pattern < self.classes()) * (self.weight > 0) * 1.0

    def confusion(self) -> Float[Array, "samples tokens"]:
        """1 on S_#: kept tokens of the other discriminative patterns."""
        return self.discriminative() - self.relevant()

    def neutral(self) -> Float[Array, "samples tokens"]:
        """1 on kept tokens of the non-discriminative patterns."""
        return (self.pattern >= self.classes()) * (self.weight > 0) * 1.0


def class_of(vote: Float[Array, "samples ..."]) -> Int[Array, " samples"]:
    """The class of a label: +1, -1 are 0, 1; (1, 1), (1, -1), (-1, 1), (-1, -1) are 0 to 3."""
    bits = (vote < 0) * 1
    if bits.ndim == 1:
        return bits
    return bits @ (2 ** jnp.arange(bits.shape[1])[::-1])


def label_of(own: Int[Array, " samples"], outputs: int) -> Float[Array, "samples ..."]:
    """The label of a class: the inverse of `class_of`."""
    bits = (own[:, None] >> jnp.arange(outputs)[::-1]) & 1
    labels = 1 - 2 * bits.astype(jnp.result_type(float))
    return labels[:, 0] if outputs == 1 else labels


def given(tokens: Any, label: Any, pattern: Any, *, mask: Any = None, noise: Any = None) -> Data:
    """The user's own samples as `Data`, checked: labels ±1, patterns counted from 0, a mask that keeps some token;
    noise: the distance of every token from its pattern, where it is known (for the strategy `noisy`)."""
    tokens, label, pattern = np.asarray(tokens, float), np.asarray(label, float), np.asarray(pattern)
    fits = tokens.ndim == 3 and label.ndim in (1, 2)
    if not fits or pattern.shape != tokens.shape[:2] or label.shape[:1] != tokens.shape[:1]:
        raise lm.UserError(
            f"tokens {tokens.shape}, label {label.shape} and pattern {pattern.shape} do not fit: allowed are "
            "(samples, tokens, dimension), (samples,) or (samples, coordinates), and (samples, tokens)."
        )
    if not np.isfinite(tokens).all():
        raise lm.UserError("tokens is not allowed: it must be an array of finite numbers.")
    mask = np.ones(pattern.shape) if mask is None else np.asarray(mask, float)
    noise = np.zeros(pattern.shape) if noise is None else np.asarray(noise, float)
    for name, values in (("mask", mask), ("noise", noise)):
        if values.shape != pattern.shape:
            raise lm.UserError(f"{name} has shape {values.shape}; allowed is {pattern.shape}.")
    uncounted = (pattern < 0) | (pattern != np.rint(pattern))
    for values, wrong, refusal in (
        (pattern, uncounted, "pattern = {:g} is not allowed: patterns are integers counted from 0."),
        (label, ~np.isin(label, (-1, 1)), "label = {:g} is not allowed: a label is +1 or -1."),
        (mask, ~(mask >= 0), "mask = {:g} is not allowed: it is 0, or the multiplicity of a token."),
        (np.arange(len(mask)), ~(mask > 0).any(-1), "mask is not allowed: it keeps no token of sample {}."),
    ):
        if wrong.any():
            raise lm.UserError(refusal.format(values[wrong][0]))
    return Data(*(jnp.asarray(values) for values in (tokens, label, label, pattern.astype(int), mask, noise)))


@lm.piece("dimension", "patterns", "pattern_basis", once=True)
def draw_patterns(problem: Setting, key: jax.Array) -> Float[Array, "dimension patterns"]:
    """The pattern matrix U_μ = [μ_1 .. μ_M]; with layer norm, what layer norm makes of orthonormal patterns."""
    if problem.pattern_basis == "canonical":
        basis = jnp.eye(problem.dimension, problem.patterns)
    else:
        basis = orthonormal(jax.random.fold_in(key, BASIS), problem.dimension, problem.patterns)
    return jnp.where(problem.layer_tokens > 0, _unit(_centred(basis.T)).T, basis)


@lm.piece("dimension", "patterns", "members", once=True)
def draw_members(problem: Setting, key: jax.Array, basis: Array) -> Float[Array, "dimension patterns members"]:
    """The members of every pattern set: μ_{l,b} = normalise(μ_l + ε u_{l,b}); a plain pattern is its only member. All u
    are orthonormal to each other and to the μ_l (2.3)."""
    if problem.members == 1:
        return basis[:, :, None]
    m, b = problem.patterns, problem.members
    normals = jax.random.normal(jax.random.fold_in(key, MEMBERS), (problem.dimension, m * b))
    # QR keeps the first M columns, which are orthonormal already
    directions = orthonormalise(jnp.concatenate([basis, normals], axis=1))[:, m:].reshape(-1, m, b)
    return (basis[:, :, None] + problem.member_spread * directions) / jnp.sqrt(1 + problem.member_spread**2)


def _centred(tokens: Array) -> Array:
    return tokens - jnp.mean(tokens, axis=-1, keepdims=True)


def _unit(tokens: Array) -> Array:
    return tokens / jnp.linalg.norm(tokens, axis=-1, keepdims=True)


@lm.piece(
    *("dimension", "patterns", "tokens", "label_balance", "shuffle", "fractions", "noise_law", "reduction"),
    *("classes", "outputs"),
    once=True,
)
def draw(problem: Setting, key: jax.Array, members: Array, *, count: int) -> Data:
    """`count` samples of the paper's generator (steps 2 to 7 of 2.2, and 2.3, 2.4). members: the vectors μ_{l,b}
    [dimension, patterns, members], or plain patterns [dimension, patterns]."""
    members = members if members.ndim == 3 else members[:, :, None]
    if problem.reduction == "patterns":
        return _pattern_samples(problem, members[:, :, 0])
    own = _classes(problem, jax.random.fold_in(key, VOTES), count)
    shuffled = (own + _shifts(problem.classes, jax.random.fold_in(key, SHUFFLED), count)) % problem.classes
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(count))
    tokens, pattern, noise = jax.vmap(lambda k, y: _sample(problem, k, y, members))(keys, own)
    label = label_of(jnp.where(problem.shuffled_labels > 0, shuffled, own), problem.outputs)
    return Data(tokens, label, label_of(own, problem.outputs), pattern, jnp.ones(pattern.shape), noise)


def _classes(problem: Setting, key: jax.Array, count: int) -> Int[Array, " count"]:
    """Classes: in balanced groups, each in random order (`exact`: ± pairs for two), or independent (`bernoulli`)."""
    classes = problem.classes

    def one(key: jax.Array) -> Array:
        if classes == 2:
            return (jax.random.rademacher(key, ()) < 0) * 1
        return jax.random.randint(key, (), 0, classes)

    def group(key: jax.Array) -> Array:
        if classes == 2:
            return jnp.stack([one(key), 1 - one(key)])
        return jax.random.permutation(key, classes)

    index = jnp.arange(count)
    if problem.label_balance == "bernoulli":
        return jax.vmap(lambda i: one(jax.random.fold_in(key, i)))(index)
    groups = jax.vmap(lambda i: group(jax.random.fold_in(key, i)))(index // classes)
    return groups[index, index % classes]


def _shifts(classes: int, key: jax.Array, count: int) -> Int[Array, " count"]:
    """By how much shuffled labels are moved on, group of balanced samples by group: every shift once in as many groups
    as there are classes, in random order. So exactly half of the ± pairs are exchanged, and no signal is left."""
    group = jnp.arange(count) // classes
    orders = jax.vmap(lambda i: jax.random.permutation(jax.random.fold_in(key, i), classes))(group // classes)
    return orders[jnp.arange(count), group % classes]


def _sample(problem: Setting, key: jax.Array, own: Array, members: Array) -> tuple[Array, Array, Array]:
    """Tokens, patterns and noise norms of one sample of class `own`."""
    roles_key, uniform_key, noise_key, member_key = jax.random.split(key, 4)
    place, level, depth = jax.random.uniform(uniform_key, (3, problem.tokens))
    roles = (_fixed_roles if problem.fractions == "fixed" else _random_roles)(problem, roles_key)
    if problem.shuffle:
        roles = roles[jnp.argsort(place)]
    pattern = jnp.where(roles < problem.classes, (own + roles) % problem.classes, roles)
    centre = members[:, pattern, _members(problem, member_key, pattern, members.shape[2])].T
    tokens = centre + _noise(problem, jax.random.normal(noise_key, (problem.tokens, problem.dimension)), level, depth)
    tokens = jnp.where(problem.layer_tokens > 0, _centred(tokens), tokens)
    tokens = jnp.where(problem.unit_tokens > 0, _unit(tokens), tokens)
    return tokens, pattern, jnp.linalg.norm(tokens - centre, axis=-1)


def _members(problem: Setting, key: jax.Array, pattern: Array, count: int) -> Int[Array, " tokens"]:
    """Which member of its set every token is: independent, with the mixing proportions of its set."""
    if count == 1:
        return jnp.zeros_like(pattern)
    return jax.random.categorical(key, jnp.log(jnp.asarray(problem.shares))[pattern])


def _fixed_roles(problem: Setting, key: jax.Array) -> Int[Array, " tokens"]:
    """n_* relevant, n_# confusion, the rest spread over the neutral patterns with left-overs to the lowest indices.
    With more than two classes every confusion token has a uniformly random other class."""
    position = jnp.arange(problem.tokens)
    rest = position - problem.relevant_tokens - problem.confusion_tokens
    neutral = problem.classes + rest % (problem.patterns - problem.classes)
    confusion = jax.random.randint(key, (problem.tokens,), 1, problem.classes)
    return jnp.where(position < problem.relevant_tokens, RELEVANT, jnp.where(rest < 0, confusion, neutral))


def _random_roles(problem: Setting, key: jax.Array) -> Int[Array, " tokens"]:
    """Multinomial roles (Dirichlet-multinomial with `fraction_concentration` > 0); without a strict plurality redrawn.
    With two classes a lost vote swaps the roles; with more it is redrawn."""
    classes = problem.classes
    neutral = (1 - problem.relevant_fraction - problem.confusion_fraction) / (problem.patterns - classes)
    role, confusion = jnp.arange(problem.patterns), problem.confusion_fraction / (classes - 1)
    mean = jnp.where(role == RELEVANT, problem.relevant_fraction, jnp.where(role < classes, confusion, neutral))
    mean = jnp.maximum(mean, 1e-12)

    def attempt(key: jax.Array) -> Array:
        share_key, role_key = jax.random.split(key)
        given = problem.fraction_concentration
        concentration = jnp.where(given > 0, given, 1.0)
        shares = jnp.where(given > 0, jax.random.dirichlet(share_key, concentration * mean), mean)
        return jax.random.categorical(role_key, jnp.log(jnp.maximum(shares, 1e-30)), shape=(problem.tokens,))

    def lead(roles: Array) -> Array:
        """Votes for the sample's own pattern, less the most for another."""
        votes = jnp.sum(roles[:, None] == jnp.arange(classes), axis=0)
        return votes[RELEVANT] - jnp.max(votes[1:])

    def undecided(roles: Array) -> Array:
        return lead(roles) == 0 if classes == 2 else lead(roles) <= 0

    def redraw(state: tuple[jax.Array, Array]) -> tuple[jax.Array, Array]:
        key = jax.random.fold_in(state[0], 2)  # 0 and 1 are what `attempt` splits off
        return key, attempt(key)

    _, roles = jax.lax.while_loop(lambda state: undecided(state[1]), redraw, (key, attempt(key)))
    swapped = jnp.where(roles < 2, 1 - roles, roles)
    return jnp.where(lead(roles) > 0, roles, swapped)


def _noise(problem: Setting, normal: Array, level: Array, depth: Array) -> Float[Array, "tokens dimension"]:
    """Token noise from standard normals and uniforms: Gaussian, uniform in the ball, or on the sphere of radius τ."""
    if problem.noise_law == "gaussian":
        noisy = level[:, None] < problem.noisy_fraction
        return jnp.where(noisy, problem.noisy_level, problem.token_noise) * normal
    direction = normal / jnp.linalg.norm(normal, axis=-1, keepdims=True)
    # projecting to unit norm stretches the distance; this radius keeps (2.5) after it
    tau = problem.noise_radius
    radius = jnp.where(problem.unit_tokens > 0, tau * jnp.sqrt(1 - tau**2 / 4), tau)
    if problem.noise_law == "ball":
        radius = radius * depth[:, None] ** (1 / problem.dimension)
    return radius * direction


def _pattern_samples(problem: Setting, basis: Array) -> Data:
    """The exact reduction (oracle 8.3): one sample per label; its tokens are the patterns, weighted by counts."""
    roles = _fixed_roles(problem, jax.random.key(0))  # without confusion classes to choose from: nothing random
    counts = jnp.sum(roles[:, None] == jnp.arange(problem.patterns), axis=0) * 1.0
    swapped = jnp.concatenate([counts[:2][::-1], counts[2:]])
    vote = jnp.asarray([1.0, -1.0])
    tokens = jnp.broadcast_to(basis.T, (2, *basis.T.shape))
    pattern = jnp.broadcast_to(jnp.arange(problem.patterns), (2, problem.patterns))
    weight: Any = jnp.stack([counts, swapped])
    return Data(tokens, vote, vote, pattern, weight, jnp.zeros((2, problem.patterns)))


def score(strategy: str, uniform: Float[Array, "*samples tokens"], **known: Any) -> Float[Array, "*samples tokens"]:
    """The worth of every token. `uniform` in [0, 1) orders the tokens of a tier at random. known, as far as the
    strategy reads it: relevant, discriminative, background: 1 on tokens of that kind. noise: the distance of a token
    from its pattern. attention: w_{l,s} under a given model; token s is worth sum_l w_{l,s}."""
    return {
        "random": lambda: uniform,
        "irrelevant": lambda: known["relevant"] + uniform,
        "nondiscriminative": lambda: known["discriminative"] + uniform,
        "noisy": lambda: -known["noise"],
        "attention": lambda: jnp.sum(known["attention"], axis=-2),
        "relevant": lambda: uniform - known["relevant"],
        "spurious": lambda: uniform - known["background"],
    }[strategy]()


def keep_best(worth: Float[Array, "*samples tokens"], kept: int | Array) -> Float[Array, "*samples tokens"]:
    """1 on the `kept` tokens of largest worth, 0 on the others; of equal ones the first stays."""
    order = jnp.argsort(-worth, axis=-1)
    rank = jnp.argsort(order, axis=-1)
    return (rank < kept) * 1.0


@lm.piece(once=True)
def sparsify(problem: Setting, key: jax.Array, data: Data, attention: Array) -> Data:
    """Keep `kept_tokens` tokens of every sample and mask the others (2.5). attention: w_{l,s} of a given model, read by
    the strategy `attention` alone."""
    count, length = data.pattern.shape
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(count))
    uniform = jax.vmap(lambda k: jax.random.uniform(k, (length,)))(keys)
    read = {
        "relevant": data.relevant(),
        "discriminative": data.discriminative(),
        "noise": data.noise,
        "attention": attention * data.weight[:, :, None],  # a masked token is no query
    }
    worth = jnp.stack([score(strategy, uniform, **read) for strategy in STRATEGIES])[problem.dropped_first]
    worth = jnp.where(data.weight > 0, worth, -jnp.inf)  # nor kept again
    return data._replace(weight=data.weight * keep_best(worth, problem.kept_tokens))
