"""Claims on the formulas alone come out as the register says, and their judges reject what is a little wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lemmata.lab.claims import FAILS, HOLDS, examine
from lemmata.theories.teacher_student.claims import late
from lemmata.theories.teacher_student.claims import value_scale as formulas
from lemmata.theories.teacher_student.claims.value_scale import (
    draw_states,
    identity_peak,
    peak,
    places,
    rises_after_fall,
    scores,
    value_scale,
)
from lemmata.theories.teacher_student.dynamics.reduced import Task, at_score, quasi_scale, start_scale

CLAIMS = {claim.name: claim for claim in (*formulas.CLAIMS, *late.CLAIMS) if not claim.reads}

# The register's rows: claim -> kind, expected outcome, outcomes of the controls

REGISTER = {
    "p4-value-scale": ("bound", HOLDS, [FAILS]),
    "p7-support-identity": ("identity", HOLDS, [FAILS]),
    "p7-off-support-identity": ("identity", HOLDS, [FAILS]),
    "p10-rise": ("ordering", HOLDS, [FAILS]),
    "p10-fall": ("ordering", HOLDS, [FAILS]),
    "p10-peak-identity": ("identity", HOLDS, [FAILS]),
    "p10-peak-relu": ("bound", HOLDS, [FAILS]),
    "p17-prefactor-limit": ("limit", HOLDS, [FAILS]),
    "p18a-identity": ("identity", HOLDS, [FAILS]),
}


def outcome(name, evidence):
    """What the claim's judge says of other evidence."""
    return CLAIMS[name].judge(evidence({})).outcome


def test_every_formula_of_the_register_is_a_claim():
    assert set(CLAIMS) == set(REGISTER)
    assert len(CLAIMS) == len(formulas.CLAIMS) + 1


@pytest.mark.parametrize("name", REGISTER)
def test_a_formula_is_declared_as_the_register_says(name):
    claim = CLAIMS[name]
    assert (claim.kind, claim.expected, [claim.expected_of(control) for control in claim.controls]) == REGISTER[name]
    assert claim.reads == ()
    assert claim.reference
    assert claim.formula
    assert claim.statement.endswith(".")


def test_every_formula_and_its_controls_come_out_as_expected_at_another_seed():
    findings = [examine(claim, {}, 1000) for claim in CLAIMS.values()]
    assert [finding.claim.name for finding in findings if not finding.as_expected] == []


# The value scale


@st.composite
def states(draw):
    D = draw(st.integers(2, 2000))
    K = draw(st.integers(1, D - 1))
    share = draw(st.floats(0.0, 1.0))
    return D, K, 1 / D + share * (1 / K - 1 / D), draw(st.floats(0.0, 1.0))


@settings(max_examples=100, deadline=None)
@given(state=states())
def test_the_value_scale_is_that_of_the_reduced_dynamics_and_in_its_range(state):
    D, K, p, slope = state
    task = Task(D, K, 1.0, slope, 1.0)
    found = value_scale(D, K, p, slope)
    assert found == pytest.approx(quasi_scale(task, at_score(task, p)), rel=1e-12)
    assert 1 - 1e-12 <= found < math.sqrt(D / K)


@pytest.mark.parametrize(("D", "K"), [(20, 1), (64, 2), (36, 4), (7, 6)])
def test_the_value_scale_at_both_ends(D, K):
    for slope in (0.0, 0.1, 1.0):
        assert value_scale(D, K, 1 / K, slope) == pytest.approx(1, abs=1e-12)
        assert value_scale(D, K, 1 / D, slope) == pytest.approx(start_scale(Task(D, K, 1.0, slope, 1.0)), rel=1e-12)
    assert value_scale(D, K, 1 / D, 1.0) == pytest.approx(1, abs=1e-12)
    assert value_scale(4, 2, 0.25, 0.0) == pytest.approx(1.0683098862, abs=1e-10)


def test_the_grids_leave_out_vacuous_cells_and_include_the_ends():
    rising, falling = (CLAIMS[name].evidence.value("least") for name in ("p10-rise", "p10-fall"))
    assert all(4 * math.pi * K < D for D, K in places(rising))
    assert {K for _, K in places(rising)} == set(formulas.SUPPORTS)
    assert (13, 1) in list(places(rising))
    assert (4, 1) not in list(places(falling))
    assert len(set(places())) == len(list(places()))
    grid = scores(36, 4)
    assert (grid[0], grid[-1]) == (1 / 36, 1 / 4)
    assert scores(36, 4, 2 / math.sqrt(36 * 4))[0] == pytest.approx(1 / 6)


# P7


def test_the_random_states_cover_what_the_register_says():
    s = draw_states(0)
    assert s.tokens.max() <= 200
    assert ((s.support >= 1) & (s.support < s.tokens)).all()
    assert ((1 / s.tokens < s.p) & (s.p < 1 / s.support)).all()
    assert s.deviation.min() == pytest.approx(-3, abs=0.05)
    assert s.deviation.max() == pytest.approx(1, abs=0.05)
    assert s.slope.min() < 0.01
    assert s.slope.max() > 0.99


@pytest.mark.parametrize(
    ("name", "sides"),
    [("p7-support-identity", formulas.support_sides), ("p7-off-support-identity", formulas.off_support_sides)],
)
def test_an_identity_with_a_millionth_more_deviation_fails(name, sides, monkeypatch):
    assert outcome(name, sides()) == HOLDS
    # relative agreement too: an absolute 1e-12 is not met by small numbers alone
    both = sides()({})
    assert np.max(np.abs(both["measured"] / both["predicted"] - 1)) < 1e-8
    exact = draw_states(0)
    monkeypatch.setattr(formulas, "draw_states", lambda seed: exact._replace(deviation=exact.deviation + 1e-6))
    assert outcome(name, sides()) == FAILS


# P10


@pytest.mark.parametrize(("D", "K", "value"), [(36, 4, 2.0), (400, 4, 5.5)])
def test_the_overshoot_of_the_identity(D, K, value):
    assert identity_peak(D, K)[1] == value
    position, height = peak(D, K, 1.0)
    assert height == pytest.approx(value, abs=1e-12)
    assert position == pytest.approx(1 / math.sqrt(D * K), rel=1e-6)


def test_a_second_peak_is_counted():
    assert rises_after_fall(np.array([1.0, 2.0, 3.0])) == 0
    assert rises_after_fall(np.array([3.0, 2.0, 1.0])) == 0
    assert rises_after_fall(np.array([1.0, 3.0, 2.0])) == 0
    assert rises_after_fall(np.array([1.0, 3.0, 2.0, 2.5, 1.0, 4.0])) == 2


def test_a_bumpy_scale_has_no_single_peak_and_neither_rises_nor_falls(monkeypatch):
    bumpy = lambda D, K, p, slope: value_scale(D, K, p, slope) * (1 + 5e-3 * np.sin(300 * np.log(p)))  # noqa: E731
    monkeypatch.setattr(formulas, "value_scale", bumpy)
    for name in ("p10-rise", "p10-fall", "p10-peak-identity", "p10-peak-relu"):
        assert examine(CLAIMS[name], {}).verdict.outcome == FAILS, name


@pytest.mark.parametrize(
    ("name", "power"), [("p10-peak-identity", 1.002), ("p10-peak-relu", 0.8), ("p10-peak-relu", 1.3)]
)
def test_a_peak_elsewhere_fails(name, power, monkeypatch):
    moved = lambda D, K, p, slope: value_scale(D, K, p * power, slope)  # noqa: E731
    monkeypatch.setattr(formulas, "value_scale", moved)
    assert examine(CLAIMS[name], {}).verdict.outcome == FAILS


def test_neither_the_rise_nor_the_fall_reaches_beyond_the_peak():
    assert outcome("p10-fall", CLAIMS["p10-fall"].evidence.changed(reach=1 / 3)) == FAILS
    assert outcome("p10-rise", CLAIMS["p10-rise"].evidence.changed(reach=4.0)) == FAILS


# P17


@pytest.mark.parametrize(
    ("ratio", "values"),
    [
        (5.0, (1.0436142, 2.4066574, 2.5522235)), (9.0, (1.1885317, 2.6664532, 2.8175143)),
        (20.0, (1.1797217, 2.4948035, 2.6169418)), (1e3, (1.0117997, 1.3408356, 1.3573548)),
    ],
)  # fmt: skip
def test_the_prefactor_of_the_escape_gives_the_oracles(ratio, values):
    for slope, value in zip((1.0, 0.1, 0.0), values, strict=True):
        assert late.prefactor(ratio, slope) == pytest.approx(value, abs=1e-7)


@pytest.mark.parametrize("slope", [1.0, 0.5, 0.1, 0.0])
def test_the_quadrature_of_the_escape_is_right_at_a_large_ratio(slope):
    """The same integral over ln(p/δ) instead of ln p, by panels of Gauss and Legendre, K = 1."""
    D = 1e9
    ends = np.linspace(math.log(1 / (D - 1)), 0.0, 201)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(ends)[:, None] / 2
    odds = np.exp(ends[:-1, None] + half * (1 + nodes))
    p, delta = odds / (1 + odds), 1 / (1 + odds)
    Q = delta**2 + (D - 1) * p**2
    turn = (1 - slope) ** 2 / (2 * math.pi)
    A = p**2 * ((1 + slope) ** 2 / 4 + turn * np.arctan(math.sqrt(D - 1) * p / delta))
    B = turn * p * delta / math.sqrt(D - 1)
    scale = (A + B) * (D - 1) / (p * (1 + slope**2) / 2 * Q)
    integrand = (D - 1) * Q / (scale * A * delta**3) * p * delta
    assert late.prefactor(D, slope) == pytest.approx(np.sum(half * weights * integrand) / D**2, rel=1e-9)


def test_a_limit_two_per_cent_away_fails():
    assert outcome("p17-prefactor-limit", late.prefactor_limit({1.0: 1.02})) == FAILS
    assert outcome("p17-prefactor-limit", late.prefactor_limit({0.0: 0.98})) == FAILS


def test_the_product_identity_fails_at_any_other_slope():
    assert outcome("p18a-identity", formulas.product(1.0)) == HOLDS
    assert outcome("p18a-identity", formulas.product(0.999)) == FAILS
