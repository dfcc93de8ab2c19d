"""When records are taken: evenly or in a geometric sequence, from the first step to the last."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lemmata.lab.precision import numerics
from lemmata.lab.training import record_steps


def used(at: np.ndarray) -> np.ndarray:
    """The steps before the first unused record; nothing is used after it."""
    count = int(np.argmax(at < 0)) if (at < 0).any() else len(at)
    assert np.all(at[count:] == -1)
    return at[:count]


_steps = partial(jax.jit, static_argnames=("records", "spacing"))(record_steps)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("spacing", ["even", "log"])
@settings(max_examples=60, deadline=None)
@given(steps=st.integers(0, 10**6), records=st.sampled_from([2, 3, 7, 50, 601]), every=st.integers(1, 1000))
@example(steps=0, records=2, every=1)
@example(steps=1, records=601, every=1)
@example(steps=600, records=601, every=1)
@example(steps=10**6, records=601, every=1)
def test_records_start_at_zero_rise_strictly_and_end_with_the_last_step(precision, spacing, steps, records, every):
    with numerics(precision):
        at = used(np.asarray(_steps(steps, records, every, spacing)))
    assert at[0] == 0
    assert at[-1] == steps
    assert np.all(np.diff(at) > 0)
    if spacing == "even" and len(at) > 2:
        gaps = np.diff(at)
        assert np.all(gaps[:-1] == gaps[0])
        assert gaps[-1] <= gaps[0]
        assert gaps[0] >= every
        assert gaps[0] == every or gaps[0] == -(-steps // (records - 1))


def test_even_records_keep_their_distance_where_there_is_room():
    assert record_steps(10, 8, 3).tolist() == [0, 3, 6, 9, 10, -1, -1, -1]
    assert record_steps(9, 4, 3).tolist() == [0, 3, 6, 9]
    assert record_steps(10, 4, 3).tolist() == [0, 4, 8, 10]
    assert record_steps(2, 4).tolist() == [0, 1, 2, -1]


def test_logarithmic_records_are_geometric_once_they_are_apart():
    at = np.asarray(record_steps(10**5, 41, spacing="log"))
    assert at[:4].tolist() == [0, 1, 2, 3]
    ratios = (at[21:] + 1) / (at[20:-1] + 1)
    np.testing.assert_allclose(ratios, (10**5 + 1) ** (1 / 40), rtol=0.01)


def test_an_unknown_spacing_is_refused():
    with pytest.raises(AssertionError, match="linear"):
        record_steps(10, 3, spacing="linear")
