"""The data model (2.1, 2.2): token sequences in which two discriminative patterns vote on a binary label.

Patterns mu_1..mu_M are orthonormal; mu_1 votes +1, mu_2 votes -1, the others are neutral. Sample i depends on the key
and on i alone, never on how many are drawn, and labels come in +- pairs, so every prefix is balanced.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from lemmata.lab.setting import Problem
from lemmata.lab.simulation import piece

RELEVANT, CONFUSION = 0, 1
"""Roles of a token; 2, 3, ... are the neutral patterns mu_3, mu_4, ..."""


BASIS, VOTES, SHUFFLED = 2**31 - 3, 2**31 - 2, 2**31 - 1
"""Sub-keys of a data stream besides those of the samples, which are 0, 1, 2, ..."""


class Data(NamedTuple):
    """Samples. `label` is what training sees, `vote` the true label (the majority vote of the tokens)."""

    tokens: Float[Array, "samples tokens dimension"]
    label: Float[Array, " samples"]
    vote: Float[Array, " samples"]
    pattern: Int[Array, "samples tokens"]
    weight: Float[Array, "samples tokens"]
    noise: Float[Array, "samples tokens"]

    def relevant(self) -> Float[Array, "samples tokens"]:
        """1 on S_*: kept tokens of the pattern that the true label names."""
        own = jnp.where(self.vote > 0, 0, 1)[:, None]
        return (self.pattern == own) * (self.weight > 0) * 1.0

    def confusion(self) -> Float[Array, "samples tokens"]:
        """1 on S_#: kept tokens of the other discriminative pattern."""
        other = jnp.where(self.vote > 0, 1, 0)[:, None]
        return (self.pattern == other) * (self.weight > 0) * 1.0

    def neutral(self) -> Float[Array, "samples tokens"]:
        """1 on kept tokens of the non-discriminative patterns."""
        return (self.pattern >= 2) * (self.weight > 0) * 1.0


def orthonormalise(matrix: Float[Array, "rows columns"]) -> Float[Array, "rows columns"]:
    """Q of the QR decomposition with positive diagonal of R; Haar distributed for a Gaussian matrix."""
    q, r = jnp.linalg.qr(matrix)
    return q * jnp.sign(jnp.diag(r))


def orthonormal(key: jax.Array, rows: int, columns: int) -> Float[Array, "rows columns"]:
    """A uniformly random matrix with orthonormal columns."""
    return orthonormalise(jax.random.normal(key, (rows, columns)))


@piece("dimension", "patterns", "pattern_basis", once=True)
def draw_patterns(problem: Problem, key: jax.Array) -> Float[Array, "dimension patterns"]:
    """The pattern matrix U_mu = [mu_1 .. mu_M]."""
    if problem.pattern_basis == "canonical":
        return jnp.eye(problem.dimension, problem.patterns)
    return orthonormal(jax.random.fold_in(key, BASIS), problem.dimension, problem.patterns)


@piece("dimension", "patterns", "tokens", "balance", "shuffle", "fractions", "noise", "reduction", once=True)
def draw(problem: Problem, key: jax.Array, basis: Array, *, count: int) -> Data:
    """`count` samples of the document's generator (steps 2 to 7 of 2.2)."""
    if problem.reduction == "patterns":
        return _pattern_samples(problem, basis)
    vote = _labels(problem, jax.random.fold_in(key, VOTES), count)
    shuffled = _labels(problem, jax.random.fold_in(key, SHUFFLED), count)
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(count))
    data = jax.vmap(lambda k, y: _sample(problem, k, y, basis))(keys, vote)
    return data._replace(label=jnp.where(problem.shuffled_labels > 0, shuffled, vote))


def _labels(problem: Problem, key: jax.Array, count: int) -> Float[Array, " count"]:
    """Labels: +- pairs in random order inside the pair (`exact`), or fair coins (`bernoulli`)."""
    sign = lambda i: jax.random.rademacher(jax.random.fold_in(key, i), (), jnp.result_type(float))  # noqa: E731
    index = jnp.arange(count)
    if problem.balance == "bernoulli":
        return jax.vmap(sign)(index)
    return jax.vmap(sign)(index // 2) * jnp.where(index % 2 == 0, 1.0, -1.0)


def _sample(problem: Problem, key: jax.Array, vote: Array, basis: Array) -> Data:
    """One sample with the given true label."""
    roles_key, uniform_key, noise_key = jax.random.split(key, 3)
    place, level, depth = jax.random.uniform(uniform_key, (3, problem.tokens))
    roles = _fixed_roles(problem) if problem.fractions == "fixed" else _random_roles(problem, roles_key)
    if problem.shuffle:
        roles = roles[jnp.argsort(place)]
    own = jnp.where(vote > 0, 0, 1)
    pattern = jnp.where(roles == RELEVANT, own, jnp.where(roles == CONFUSION, 1 - own, roles))
    noise = _noise(problem, jax.random.normal(noise_key, (problem.tokens, problem.dimension)), level, depth)
    tokens = basis.T[pattern] + noise
    norm = jnp.linalg.norm(tokens, axis=-1, keepdims=True)
    tokens = jnp.where(problem.unit_tokens > 0, tokens / norm, tokens)
    radius = jnp.linalg.norm(tokens - basis.T[pattern], axis=-1)
    return Data(tokens, vote, vote, pattern, jnp.ones(problem.tokens), radius)


def _fixed_roles(problem: Problem) -> Int[Array, " tokens"]:
    """n_* relevant, n_# confusion, the rest spread over mu_3..mu_M with left-overs to the lowest indices."""
    position = jnp.arange(problem.tokens)
    rest = position - problem.relevant_tokens - problem.confusion_tokens
    neutral = 2 + rest % (problem.patterns - 2)
    return jnp.where(position < problem.relevant_tokens, RELEVANT, jnp.where(rest < 0, CONFUSION, neutral))


def _random_roles(problem: Problem, key: jax.Array) -> Int[Array, " tokens"]:
    """Multinomial roles (Dirichlet-multinomial with `spread` > 0); ties are redrawn, a lost vote swaps the roles."""
    neutral = (1 - problem.relevant_fraction - problem.confusion_fraction) / (problem.patterns - 2)
    mean = jnp.concatenate(
        [
            jnp.stack([jnp.asarray(problem.relevant_fraction), jnp.asarray(problem.confusion_fraction)]),
            jnp.full(problem.patterns - 2, neutral),
        ]
    ).astype(jnp.result_type(float))
    mean = jnp.maximum(mean, 1e-12)

    def attempt(key: jax.Array) -> Array:
        share_key, role_key = jax.random.split(key)
        spread = jnp.where(problem.spread > 0, problem.spread, 1.0)
        shares = jnp.where(problem.spread > 0, jax.random.dirichlet(share_key, spread * mean), mean)
        return jax.random.categorical(role_key, jnp.log(jnp.maximum(shares, 1e-30)), shape=(problem.tokens,))

    def votes(roles: Array) -> Array:
        return jnp.sum(roles == RELEVANT) - jnp.sum(roles == CONFUSION)

    def redraw(state: tuple[jax.Array, Array]) -> tuple[jax.Array, Array]:
        key = jax.random.fold_in(state[0], 2)  # 0 and 1 are what `attempt` splits off
        return key, attempt(key)

    _, roles = jax.lax.while_loop(lambda state: votes(state[1]) == 0, redraw, (key, attempt(key)))
    swapped = jnp.where(roles == RELEVANT, CONFUSION, jnp.where(roles == CONFUSION, RELEVANT, roles))
    return jnp.where(votes(roles) > 0, roles, swapped)


def _noise(problem: Problem, normal: Array, level: Array, depth: Array) -> Float[Array, "tokens dimension"]:
    """Token noise from standard normals and uniforms: Gaussian, uniform in the ball, or on the sphere of radius tau."""
    if problem.noise == "gaussian":
        noisy = level[:, None] < problem.noisy_fraction
        return jnp.where(noisy, problem.noisy_level, problem.token_noise) * normal
    direction = normal / jnp.linalg.norm(normal, axis=-1, keepdims=True)
    # projecting to unit norm stretches the distance; this radius keeps (2.5) after it
    tau = problem.noise_radius
    radius = jnp.where(problem.unit_tokens > 0, tau * jnp.sqrt(1 - tau**2 / 4), tau)
    if problem.noise == "ball":
        radius = radius * depth[:, None] ** (1 / problem.dimension)
    return radius * direction


def _pattern_samples(problem: Problem, basis: Array) -> Data:
    """The exact reduction (oracle 8.3): one sample per label; its tokens are the patterns, weighted by counts."""
    roles = _fixed_roles(problem)
    counts = jnp.sum(roles[:, None] == jnp.arange(problem.patterns), axis=0) * 1.0
    swapped = jnp.concatenate([counts[:2][::-1], counts[2:]])
    vote = jnp.asarray([1.0, -1.0])
    tokens = jnp.broadcast_to(basis.T, (2, *basis.T.shape))
    pattern = jnp.broadcast_to(jnp.arange(problem.patterns), (2, problem.patterns))
    weight: Any = jnp.stack([counts, swapped])
    return Data(tokens, vote, vote, pattern, weight, jnp.zeros((2, problem.patterns)))
