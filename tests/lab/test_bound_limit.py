"""A limit that depends on the inputs: more samples than there are nodes cannot be run."""

from __future__ import annotations

from typing import Any

import pytest

from lemmata.lab.bounds import bound, parameter


@bound(
    "(1)", limit=lambda nodes, **_: nodes, nodes=parameter(100, "N", "nodes", low=1, integer=True),
    C=parameter(1.0, "C", "constant"),
)  # fmt: skip
def samples(nodes: Any, C: Any) -> Any:
    return C * nodes**0.5


@bound("(2)", logarithmic=True, limit=lambda power: 10.0 ** (power - 1), power=parameter(2.0, "p", "power"))
def always_beyond(power: Any) -> Any:
    return power


@bound("(3)", limit=50.0, x=parameter(1.0, "x", "anything"))
def fixed(x: Any) -> Any:
    return x


@pytest.mark.parametrize(
    ("nodes", "C", "vacuous"), [(100, 9, False), (100, 10, False), (100, 11, True), (400, 11, False)]
)
def test_a_bound_is_vacuous_beyond_the_limit_of_its_inputs(nodes, C, vacuous):
    answer = samples.evaluate(nodes=nodes, C=C)
    assert answer["vacuous"] == vacuous
    assert answer["value"] == pytest.approx(C * nodes**0.5)
    assert (f"more than {nodes} cannot be run" in answer["note"]) == vacuous


def test_the_limit_sees_defaults_as_well():
    assert samples.evaluate(C=10.5)["vacuous"]
    assert not samples.evaluate()["vacuous"]


def test_the_limit_of_a_logarithm_is_one_of_the_value():
    answer = always_beyond.evaluate(power=3.0)
    assert answer["vacuous"]
    assert "more than 100 cannot be run" in answer["note"]


@pytest.mark.parametrize(("x", "vacuous"), [(49.0, False), (50.0, False), (51.0, True)])
def test_a_number_is_a_limit_for_all_inputs(x, vacuous):
    assert fixed.evaluate(x=x)["vacuous"] == vacuous
