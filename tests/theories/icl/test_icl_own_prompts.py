"""Prompts of the user's own."""

import numpy as np
import pytest

from lemmata.lab.errors import UserError
from lemmata.theories.icl import data as sampler

OWN = {
    "features": np.arange(24.0).reshape(2, 3, 4), "labels": np.array([[1, -1, 1], [-1, -1, 1]]),
    "query": np.ones((2, 4)), "answer": np.array([1, -1]), "q": np.array([2.0, 0.0]),
}  # fmt: skip


def test_own_prompts_are_contexts_with_their_labels_and_a_query_without() -> None:
    prompts = sampler.given(**OWN, pattern=[[0, 1, 0], [2, 2, 0]], query_pattern=[0, 1])
    np.testing.assert_array_equal(prompts.contexts[..., :4], OWN["features"])
    np.testing.assert_array_equal(prompts.contexts[..., 4], 2 * OWN["labels"])
    np.testing.assert_array_equal(prompts.query, np.tile([1, 1, 1, 1, 0, 0], (2, 1)))
    np.testing.assert_array_equal(prompts.matches(), [[True, False, True], [False, False, False]])
    assert not np.any(sampler.given(**OWN).matches()), "nothing is known to match"


WRONG = {
    "query": (np.ones((2, 5)), "do not fit"),
    "labels": (np.array([[1, -1, 0], [1, 1, 1]]), "labels is not allowed: a label is +1 or -1, not 0."),
    "answer": (np.array([1, 2]), "answer is not allowed: a label is +1 or -1, not 2."),
    "features": (np.full((2, 3, 4), np.nan), "must be arrays of finite numbers."),
    "q": (np.ones((1, 2)), "do not fit"),
}


@pytest.mark.parametrize("name", WRONG)
def test_own_prompts_that_do_not_fit_are_refused_in_one_sentence(name: str) -> None:
    value, words = WRONG[name]
    with pytest.raises(UserError) as refusal:
        sampler.given(**{**OWN, name: value})
    assert words in str(refusal.value)


def test_patterns_of_own_prompts_must_fit_too() -> None:
    with pytest.raises(UserError, match=r"pattern \(2, 2\) and query_pattern \(2,\) do not fit"):
        sampler.given(**OWN, pattern=[[0, 1], [1, 0]], query_pattern=[0, 1])
