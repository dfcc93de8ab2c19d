"""Settings: what a field accepts and says, and what a problem shows to compiled code."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lemmata as lm
from lemmata.lab.declarations import spell
from lemmata.lab.setting import capacity


class Problem(lm.Setting):
    """One field of every kind and range."""

    fraction: float = lm.number(0.5, "α", "fraction of good tokens", low=0, high=1, open_ends="low")
    noise: float = lm.number(0.0, "c", "noise level", low=0)
    gap: float = lm.number(0.5, "g", "gap", low=0, high=1, open_ends="low high")
    shift: float = lm.number(0.0, "s", "shift")
    samples: int = lm.number(64, "N", "training samples", low=1, high=4096, integer=True)
    width: int = lm.size(8, "m", "hidden neurons")
    batch: int = lm.size(0, "B", "mini-batch size (0: full)", low=0)
    loss: str = lm.choice("hinge", "training loss", "hinge", "logistic")
    order: int = lm.choice(2, "order of the method", 1, 2, 4)
    shuffle: bool = lm.flag(True, "tokens shuffled")
    weights: Any = lm.array("W", "initial weights")

    def refusals(self, given: list[str]) -> Iterator[str]:
        if "batch" in given and self.batch > self.samples:
            yield f"batch = {self.batch} is not allowed: it must not exceed samples = {self.samples}."

    @lm.derived
    def good(self) -> int:
        """Good tokens of 50."""
        return int(np.rint(round(self.fraction * 50, 9)))

    @lm.fixed
    def capacity(self) -> int:
        return capacity(self.samples)


def refusal(**fields: Any) -> str:
    """The sentence with which the setting refuses these fields."""
    with pytest.raises(lm.UserError) as caught:
        Problem(**fields)
    return str(caught.value)


# What a field accepts


def test_a_setting_stores_plain_python_values_of_the_declared_kinds():
    setting = Problem(fraction=np.float64(0.25), samples=np.int64(7), width=np.int32(3), noise=1, shift=np.float32(0.5))
    stored = {name: type(getattr(setting, name)) for name in ("fraction", "samples", "width", "noise", "shift")}
    assert stored == {"fraction": float, "samples": int, "width": int, "noise": float, "shift": float}
    assert (setting.fraction, setting.samples, setting.width, setting.shift) == (0.25, 7, 3, 0.5)


def test_a_refusal_names_the_field_its_value_its_meaning_and_what_is_allowed():
    said = refusal(fraction=1.5)
    assert said == (
        "fraction = 1.5 is not allowed: fraction (fraction of good tokens) is a number greater than 0 and at most 1."
    )
    assert refusal(samples=0) == (
        "samples = 0 is not allowed: samples (training samples) is an integer at least 1 and at most 4096."
    )
    assert refusal(noise=-1) == "noise = -1 is not allowed: noise (noise level) is a number at least 0."
    assert refusal(loss="squared") == ("loss = squared is not allowed: loss (training loss) is one of hinge, logistic.")
    assert refusal(shuffle="maybe") == (
        "shuffle = maybe is not allowed: shuffle (tokens shuffled) is one of false, true."
    )


@pytest.mark.parametrize("value", [1.0000001, 1 + 1e-12])
def test_a_refused_value_is_spelled_so_that_it_differs_from_the_bound(value):
    written = refusal(fraction=value).removeprefix("fraction = ").split(" is not allowed")[0]
    assert float(written) == value


def test_a_large_bound_is_spelled_in_full():
    class Long(lm.Setting):
        steps: int = lm.number(5, "T", "steps", low=0, high=1_234_567, integer=True)

    with pytest.raises(lm.UserError, match=r"at most 1234567\."):
        Long(steps=1_234_568)


@pytest.mark.parametrize(
    ("field", "inside", "outside"),
    [
        ("fraction", [1e-300, 1.0], [0.0, math.nextafter(1, 2), -1]),
        ("gap", [math.nextafter(0, 1), math.nextafter(1, 0)], [0, 1]),
        ("noise", [0.0, 1e300], [-1e-300]),
        ("samples", [1, 4096, 64.0], [0, 4097, 1.5]),
        ("width", [1, 10**6], [0, -1, 2.5]),
        ("batch", [0, 3], [-1]),
        ("order", [1, 4], [3, 2.0, True, "2"]),
        ("shuffle", [True, False], [1, 0, "true", None]),
        ("loss", ["hinge", "logistic"], ["Hinge", "", None, 0]),
    ],
)
def test_the_declared_range_is_accepted_and_nothing_beside_it(field, inside, outside):
    for value in inside:
        assert getattr(Problem(**{field: value}), field) == value
    for value in outside:
        assert f"{field} = " in refusal(**{field: value})


@pytest.mark.parametrize("field", ["fraction", "shift", "samples", "width"])
@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, "0.5", True, np.True_, None, [1], np.ones(1), np.asarray(1.0), 1j, b"1", 10**400],
    ids=lambda value: repr(value)[:12],
)
def test_what_is_no_finite_number_is_refused_with_a_sentence(field, value):
    assert refusal(**{field: value}).startswith(f"{field} = ")


def test_any_real_number_is_a_number():
    assert Problem(shift=Fraction(1, 4)).shift == 0.25


@given(st.integers(2**53, 2**62))
def test_an_integer_is_stored_to_the_last_digit(value):
    class Long(lm.Setting):
        data_seed: int = lm.number(0, "", "seed of the data", low=0, integer=True)

    assert Long(data_seed=value).data_seed == value
    assert Long.parse([f"data_seed={value}"]) == {"data_seed": value}


def test_an_unknown_field_suggests_the_nearest_one():
    setting = Problem()
    for attempt in (lambda: setting.replace(fractoin=0.2), lambda: Problem.parse(["fractoin=0.2"])):
        with pytest.raises(lm.UserError, match=r"^There is no field 'fractoin'; did you mean 'fraction'\?$"):
            attempt()


def test_a_field_like_no_other_gets_the_list_of_all():
    with pytest.raises(lm.UserError, match=r"known: batch, fraction, gap, .*, width\."):
        Problem().replace(zzzqqq=1)


# Arrays


def test_an_array_is_absent_until_given_and_refused_unless_finite_numbers():
    assert Problem().weights is None
    assert Problem(weights=[[1, 2], [3, 4]]).weights.shape == (2, 2)
    for bad in ([1.0, math.nan], [math.inf], ["a"], [None], [1j], [[1], [1, 2]]):
        assert "weights" in refusal(weights=bad)


def test_a_setting_does_not_change_when_the_users_array_does():
    mine = np.ones(3)
    setting = Problem(weights=mine)
    before = setting.values()
    mine[0] = 5
    assert setting.values() == before


def test_an_array_is_a_leaf_of_the_problem_and_recorded_by_its_digest():
    a, b = np.arange(4.0), np.arange(4.0) + 1e-12
    assert Problem(weights=a) == Problem(weights=a.copy())
    assert Problem(weights=a) != Problem(weights=b)
    assert Problem(weights=a) != Problem(weights=a.reshape(2, 2))
    assert any(leaf is not None and np.shape(leaf) == (4,) for leaf in jax.tree.leaves(Problem(weights=a).problem()))
    assert json.loads(json.dumps(Problem(weights=a).values()))["weights"]["shape"] == [4]


# The command line's assignments


def test_assignments_are_parsed_by_the_declared_kind():
    text = ["fraction=.25", "samples=1e2", "width= 16", "loss=logistic", "order=4", "shuffle=false", "shift=-2"]
    values = Problem.parse(text)
    assert values == {
        "fraction": 0.25, "samples": 100, "width": 16, "loss": "logistic", "order": 4, "shuffle": False, "shift": -2.0,
    }  # fmt: skip
    assert type(values["samples"]) is int
    assert values["shuffle"] is False


@pytest.mark.parametrize(("text", "value"), [("true", True), ("True", True), ("FALSE", False), (" true ", True)])
def test_a_flag_is_parsed_whatever_its_case(text, value):
    assert Problem.parse([f"shuffle={text}"]) == {"shuffle": value}


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("fraction", "'fraction' is not of the form name=value."),
        (
            "fraction=abc",
            "fraction = abc is not allowed: fraction (fraction of good tokens) is a number greater than 0",
        ),
        ("fraction=", "fraction =  is not allowed"),
        ("fraction=nan", "fraction = nan is not allowed"),
        ("fraction=inf", "fraction = inf is not allowed"),
        ("fraction=true", "fraction = true is not allowed"),
        ("samples=2.5", "samples = 2.5 is not allowed"),
        ("samples=5000", "samples = 5000 is not allowed"),
        ("shuffle=1", "shuffle = 1 is not allowed: shuffle (tokens shuffled) is one of false, true."),
        ("loss=hing", "loss = hing is not allowed: loss (training loss) is one of hinge, logistic."),
        ("weights=1", "weights is an array and can only be given from Python."),
    ],
)
def test_a_bad_assignment_is_refused_with_a_sentence(assignment, said):
    with pytest.raises(lm.UserError) as caught:
        Problem.parse([assignment])
    assert str(caught.value).startswith(said)


@given(st.floats(1e-9, 1), st.integers(1, 4096), st.sampled_from(["hinge", "logistic"]), st.booleans())
def test_a_value_survives_being_written_and_parsed(fraction, samples, loss, shuffle):
    text = [f"fraction={fraction!r}", f"samples={samples}", f"loss={loss}", f"shuffle={spell(shuffle)}"]
    setting = Problem(fraction=fraction, samples=samples, loss=loss, shuffle=shuffle)
    assert Problem().replace(**Problem.parse(text)) == setting


# Immutable, replaced, compared


def test_a_setting_is_frozen():
    setting = Problem()
    with pytest.raises(dataclasses.FrozenInstanceError):
        setting.fraction = 0.1  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(lm.UserError, match="by name"):
        Problem(0.1)  # pyright: ignore[reportCallIssue]


def test_replacing_gives_a_new_validated_setting_and_leaves_the_old_one():
    old = Problem(fraction=0.3)
    new = old.replace(samples=np.int64(9))
    assert (new.fraction, new.samples, old.samples) == (0.3, 9, 64)
    assert type(new.samples) is int
    with pytest.raises(lm.UserError, match="samples = 0 is not allowed"):
        old.replace(samples=0)


def test_cross_field_rules_see_the_fields_just_set():
    small = Problem(batch=32).replace(samples=16)
    assert (small.batch, small.samples) == (32, 16)
    with pytest.raises(lm.UserError, match=r"batch = 32 is not allowed: it must not exceed samples = 16\."):
        Problem(samples=16).replace(batch=32)
    assert "batch = 32" in refusal(samples=16, batch=32)


def test_a_field_set_to_its_default_counts_as_set():
    class Eager(lm.Setting):
        samples: int = lm.number(100, "N", "samples", low=1, integer=True)
        batch: int = lm.size(20, "B", "batch")

        def refusals(self, given: list[str]) -> Iterator[str]:
            if "batch" in given and self.batch > self.samples:
                yield "the batch exceeds the samples."

    assert Eager(samples=10).batch == 20
    with pytest.raises(lm.UserError):
        Eager(samples=10).replace(batch=20)
    with pytest.raises(lm.UserError):
        Eager(samples=10, batch=20)


def test_settings_are_equal_when_their_values_and_their_kind_are():
    class Other(Problem):
        """The same fields."""

    a, b = Problem(fraction=0.25), Problem().replace(fraction=0.25)
    assert a == b
    assert hash(a) == hash(b)
    assert len({a, b, Problem()}) == 2
    assert a != Problem(fraction=math.nextafter(0.25, 1))
    assert Other(fraction=0.25) != a
    assert a != "a setting"


def test_values_are_the_fields_and_survive_json():
    setting = Problem(fraction=0.1, shuffle=False)
    values = setting.values()
    assert list(values) == list(Problem.declarations())
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert Problem(**values) == setting


# The problem that compiled code reads


def test_numbers_and_derived_numbers_are_leaves_and_the_rest_is_static():
    problem = Problem(fraction=0.59, samples=20).problem()
    names = {"fraction", "noise", "gap", "shift", "samples", "good"}
    assert len(jax.tree.leaves(problem)) == len(names)
    doubled = jax.tree.map(lambda leaf: 2 * leaf, problem)
    assert (doubled.fraction, doubled.samples, doubled.good) == (1.18, 40, 60)
    assert dict(problem.static) == {
        "width": 8, "batch": 0, "loss": "hinge", "order": 2, "shuffle": True, "weights": None, "capacity": capacity(20),
    }  # fmt: skip


def test_counts_from_fractions_are_taken_in_float64():
    assert Problem(fraction=0.59).problem().good == 30
    assert np.rint(np.float32(0.59) * np.float32(50)) == 29


def test_a_piece_sees_all_numbers_but_only_the_static_fields_it_declares():
    problem = Problem().problem().only(["width"])
    assert (problem.width, problem.fraction, problem.good) == (8, 0.5, 25)
    with pytest.raises(AttributeError, match="does not declare the static field 'loss'"):
        problem.loss  # noqa: B018
    with pytest.raises(AttributeError):
        problem._anything  # noqa: B018
    assert dict(problem.static) == {"width": 8}

    @lm.piece("width")
    def reads_too_much(problem: lm.Problem) -> Any:
        return problem.width * problem.fraction * (problem.loss == "hinge")

    with pytest.raises(AttributeError, match="'loss'"):
        reads_too_much(Problem().problem())


def test_a_problem_survives_flattening():
    problem = Problem(fraction=0.3).problem()
    leaves, tree = jax.tree.flatten(problem)
    again = jax.tree.unflatten(tree, leaves)
    assert again.static == problem.static
    assert (again.fraction, again.capacity) == (0.3, problem.capacity)


def test_a_derived_value_may_not_shadow_a_field():
    with pytest.raises(AssertionError, match="samples"):

        class Shadow(Problem):  # pyright: ignore[reportUnusedClass]
            @lm.derived
            def samples(self) -> int:
                return 5

    with pytest.raises(AssertionError, match="width"):

        class Twice(lm.Setting):  # pyright: ignore[reportUnusedClass]
            width: int = lm.size(4, "m", "width")

            @lm.fixed
            def width(self) -> int:  # noqa: F811  # pyright: ignore[reportRedeclaration]
                return 5


def test_derived_and_fixed_values_are_attributes_of_the_setting_too():
    setting = Problem(fraction=0.59, samples=20)
    assert (setting.good, setting.capacity) == (30, capacity(20))
    assert Problem.good.__doc__ == "Good tokens of 50."
    assert set(Problem.derivations()) == {"good", "capacity"}
    assert not {"good", "capacity"} & setting.values().keys()
    again = pickle.loads(pickle.dumps(setting))
    assert again == setting
    assert again.good == 30


def test_a_subclass_inherits_derived_values_and_may_declare_them_anew():
    class Child(Problem):
        @lm.derived
        def good(self) -> int:
            return super().good + 1

        @lm.derived
        def absent(self) -> float | None:
            return None if self.noise == 0 else 1 / self.noise

    problem = Child(samples=20).problem()
    assert (problem.good, problem.capacity, problem.absent) == (26, capacity(20), None)
    assert len(jax.tree.leaves(problem)) + 1 == len(jax.tree.leaves(Child(noise=0.5).problem()))
    assert jax.jit(lambda problem: problem.absent * problem.good)(Child(noise=0.5).problem()) == 52
    assert Problem().problem().good == 25


@given(st.integers(1, 10**7))
def test_a_capacity_holds_the_count_and_wastes_little(count):
    room = capacity(count)
    assert room >= count
    assert count < 16 or room <= 1.3 * count
    assert capacity(room) == room


@given(st.integers(1, 10**6), st.integers(0, 1000))
def test_capacities_grow_with_the_count(count, more):
    assert capacity(count) <= capacity(count + more)


def test_few_capacities_serve_many_counts():
    assert len({capacity(count) for count in range(1, 4097)}) <= 37
