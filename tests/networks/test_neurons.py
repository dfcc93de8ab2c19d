"""Probes of single neurons: cosines with directions and means over groups."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.networks.neurons import alignment, group_mean


def test_alignment_is_the_cosine_of_every_neuron_with_every_direction() -> None:
    rows = jnp.array([[3.0, 4.0, 0.0], [-2.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    directions = jnp.array([[5.0, 0.0], [0.0, 0.0], [0.0, 0.1]])
    expected = [[0.6, 0.0], [-1.0, 0.0], [3**-0.5, 3**-0.5]]
    np.testing.assert_allclose(alignment(rows, directions), expected, rtol=1e-6)


def test_alignment_with_or_of_nothing_is_zero() -> None:
    found = jax.jit(alignment)(jnp.array([[0.0, 0.0], [1.0, 0.0]]), jnp.array([[1.0, 0.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(found, [[0.0, 0.0], [1.0, 0.0]])


def test_group_means_are_over_the_members_of_each_group() -> None:
    values = np.arange(24.0).reshape(2, 3, 4)
    groups = np.array([[1.0, 0, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1]])
    found = group_mean(values, groups)
    assert found.shape == (3, 2, 3)
    for group, means in zip(groups, found, strict=True):
        np.testing.assert_allclose(means, values[..., group > 0].mean(axis=-1), rtol=1e-6)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_mean_over_nobody_is_nan_and_leaves_the_others_alone(compiled: bool) -> None:
    mean = jax.jit(group_mean) if compiled else group_mean
    found = mean(jnp.array([1.0, 2.0, 4.0]), jnp.array([[0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]))
    assert np.isnan(found[0])
    assert found[1] == 2.5
