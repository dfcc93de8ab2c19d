"""Losses of a margin: what pushes an answer is the derivative of the weighted loss."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.networks.losses import hinge, linear, logistic


@pytest.mark.parametrize("loss", [hinge(), hinge(10.0), logistic(), linear()])
def test_the_push_is_the_derivative_of_the_weighted_loss_of_labelled_answers(loss) -> None:
    answer, label = jnp.asarray([-2.0, 0.3, 0.9, 1.5]), jnp.asarray([1.0, -1.0, 1.0, 1.0])
    weight = jnp.asarray([0.1, 0.2, 0.3, 0.4])
    expected = jax.grad(lambda f: jnp.sum(weight * loss.value(label * f)))(answer)
    np.testing.assert_allclose(loss.push(label, weight)(answer), expected, rtol=1e-6)
    np.testing.assert_allclose(loss.push(label)(answer), expected / weight, rtol=1e-6)
