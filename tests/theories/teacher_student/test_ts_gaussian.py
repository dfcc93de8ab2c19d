"""The lemmas of section E: closed forms, bounds and sequences come out as the register says, wrong ones do not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lemmata.lab.claims import FAILS, HOLDS, examine
from lemmata.lab.generators import generator
from lemmata.theories.teacher_student.claims import gaussian as lemmas
from lemmata.theories.teacher_student.claims import sequences
from lemmata.theories.teacher_student.claims.gaussian import (
    ALL,
    EXPECTATIONS,
    ONE,
    PAIR,
    TWO,
    Expectation,
    excess_of,
    monte_carlo,
    quadrature,
)
from lemmata.theories.teacher_student.claims.sequences import Growth, first_passages, growths

CLAIMS = {claim.name: claim for claim in (*lemmas.CLAIMS, *sequences.CLAIMS)}

# The register's rows: claim -> kind, expected outcome, outcomes of the controls

REGISTER = {
    "lem-e1-closed-form": ("identity", HOLDS, [FAILS]),
    "lem-e2-closed-form": ("identity", HOLDS, [FAILS]),
    "lem-e1-leaky-constant": ("identity", FAILS, [HOLDS]),
    "lem-e3-closed-form": ("identity", HOLDS, [FAILS]),
    "lem-e5-closed-form": ("identity", HOLDS, [FAILS]),
    "lem-e6-closed-form": ("identity", HOLDS, [FAILS]),
    "lem-e4-closed-form": ("identity", HOLDS, [FAILS]),
    "lem-e7-closed-form": ("identity", HOLDS, [FAILS]),
    "lem-e3b-bounds": ("bound", HOLDS, [FAILS]),
    "lem-e5b-bounds": ("bound", HOLDS, [FAILS]),
    "lem-e6b-bounds": ("bound", HOLDS, [FAILS]),
    "lem-e8-inequality": ("bound", HOLDS, [FAILS]),
    "lem-e9-inequality": ("bound", HOLDS, [FAILS]),
    "lem-e10-upper": ("bound", HOLDS, [FAILS]),
    "lem-e10-lower": ("bound", HOLDS, [FAILS]),
    "lem-e10-lower-printed": ("bound", FAILS, [HOLDS]),
    "lem-e11-lower": ("bound", HOLDS, [FAILS]),
    "lem-e11-upper": ("bound", HOLDS, [FAILS]),
}


def test_every_lemma_of_the_register_is_a_claim():
    assert set(CLAIMS) == set(REGISTER)
    assert len(CLAIMS) == len(lemmas.CLAIMS) + len(sequences.CLAIMS)


@pytest.mark.parametrize("name", REGISTER)
def test_a_lemma_is_declared_as_the_register_says(name):
    claim = CLAIMS[name]
    assert (claim.kind, claim.expected, [claim.expected_of(control) for control in claim.controls]) == REGISTER[name]
    assert claim.reads == ()
    assert claim.reference
    assert claim.formula
    assert claim.statement.endswith(".")


def test_every_lemma_and_its_controls_come_out_as_expected_at_another_seed():
    findings = [examine(claim, {}, 1000) for claim in CLAIMS.values()]
    assert [finding.claim.name for finding in findings if not finding.as_expected] == []


# Quadrature

VARIANCES = st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=3).map(lambda row: np.array([row]))
SLOPE = st.floats(0.0, 1.0)
UNUSED = (lambda a, b, c, slope: a,)


@pytest.mark.parametrize("slope", [0.0, 0.1, 1.0])
def test_quadrature_gives_the_known_integrals(slope):
    a, b = 0.7, 2.3
    variances = np.array([[a, b, 1.1]])
    half = (1 + slope**2) / 2
    known = [
        (Expectation(ONE, ONE, TWO, *UNUSED), (1 + slope) ** 2 / 4 * a),  # independent: E[xσ(x)] E[σ'(y)]
        (Expectation(TWO, ONE, TWO, *UNUSED), (1 - slope) ** 2 * math.sqrt(a * b) / (2 * math.pi)),  # E[σ(x)] E[yσ'(y)]
        (Expectation(ONE, ONE, ONE, *UNUSED), half * a),
        (Expectation(ALL, ONE, ONE, *UNUSED), half * a),
        (Expectation(PAIR, TWO, TWO, *UNUSED), half * b),
    ]
    for what, value in known:
        assert quadrature(what, variances, slope)[0] == pytest.approx(value, abs=1e-13)


@pytest.mark.parametrize(
    ("name", "relu", "leaky"),
    [
        ("e1", 0.5, 0.505), ("e2", 0.5, 0.505), ("e5", 0.5730357170, 0.5641589308), ("e6", 0.4545774715, 0.4682077520),
        ("e7", 0.1186270906, 0.0960879434), ("e3", 0.4229829977, 0.4426162281), ("e4", 0.1500527194, 0.1215427027),
    ],
)  # fmt: skip
def test_quadrature_gives_the_oracles_of_the_specification(name, relu, leaky):
    for slope, value in ((0.0, relu), (0.1, leaky)):
        found = quadrature(EXPECTATIONS[name], np.array([[1.0, 2.0, 3.0]]), slope)[0]
        assert found == pytest.approx(value, abs=1e-10)


@settings(max_examples=60, deadline=None)
@given(variances=VARIANCES, slope=SLOPE, name=st.sampled_from(sorted(EXPECTATIONS)))
def test_quadrature_is_the_closed_form_at_any_variances_and_slope(variances, slope, name):
    what = EXPECTATIONS[name]
    scale = variances.max()
    assert quadrature(what, variances, slope)[0] == pytest.approx(what.closed(*variances[0], slope), abs=1e-13 * scale)


@settings(max_examples=30, deadline=None)
@given(variances=VARIANCES, factor=st.floats(0.01, 100.0), name=st.sampled_from(sorted(EXPECTATIONS)))
def test_quadrature_is_homogeneous_and_for_the_identity_the_covariance(variances, factor, name):
    what = EXPECTATIONS[name]
    scale = variances.max()
    once, scaled = (quadrature(what, v, 0.3)[0] for v in (variances, factor * variances))
    assert scaled == pytest.approx(factor * once, abs=1e-13 * factor * scale)
    covariance = np.sum(variances[0] * np.array(what.factor) * what.activated)
    assert quadrature(what, variances, 1.0)[0] == pytest.approx(covariance, abs=1e-13 * scale)


def test_the_monte_carlo_mean_is_that_of_the_activation_itself():
    rng = generator(5, "lemma sample")
    z = np.concatenate([rng.standard_normal((3, lemmas.BLOCK)) for _ in range(lemmas.SAMPLES // lemmas.BLOCK)], 1)
    variances = lemmas.draw_variances(5, "lemma variances", lemmas.DRAWS, 10.0)
    x1, x2, x3 = z * np.sqrt(variances[7])[:, None]
    pair, whole = x1 + x2, x1 + x2 + x3
    values = x1 * np.where(pair >= 0, pair, 0.1 * pair) * np.where(whole >= 0, 1.0, 0.1)
    mean, error = monte_carlo("e6", 5, 0.1)
    assert mean[7] == pytest.approx(values.mean(), rel=1e-10)
    assert error[7] == pytest.approx(values.std() / 1000, rel=1e-10)


# Judges that can fail


def off_by(name, share, monkeypatch):
    """Every value of a closed form off by this share."""
    what = EXPECTATIONS[name]
    wrong = what._replace(closed=lambda a, b, c, slope: what.closed(a, b, c, slope) * (1 + share))
    monkeypatch.setitem(EXPECTATIONS, name, wrong)


@pytest.mark.parametrize("name", sorted(EXPECTATIONS))
def test_a_closed_form_that_is_off_by_a_millionth_fails(name, monkeypatch):
    off_by(name, 1e-6, monkeypatch)
    verdict = examine(CLAIMS[f"lem-{name}-closed-form"], {}, 0).verdict
    assert verdict.outcome == FAILS
    assert "quadrature: largest difference" in verdict.note


def test_a_sample_that_disagrees_fails_although_the_quadrature_agrees():
    taken = {"quadrature": {"measured": [1.0], "predicted": [1.0]}, "monte_carlo": 4.01}
    assert CLAIMS["lem-e1-closed-form"].judge(taken).outcome == FAILS


@settings(max_examples=50, deadline=None)
@given(values=st.lists(st.floats(0.1, 10.0), min_size=1, max_size=6), gap=st.floats(1e-9, 1.0))
def test_a_violation_is_positive_exactly_where_the_order_is_broken(values, gap):
    low = np.array(values)
    assert excess_of([(low, low * (1 + gap))]) < 0
    assert excess_of([(low, low * 2), (low * (1 + gap), low)]) == pytest.approx(gap, rel=1e-5)


@pytest.mark.parametrize(("name", "side"), [("e3", -1), ("e3", 1), ("e5", -1), ("e5", 1), ("e6", -1), ("e6", 1)])
def test_bounds_reject_a_quantity_that_is_three_per_mille_off(name, side, monkeypatch):
    claim = CLAIMS[f"lem-{name}b-bounds"]
    closed = claim.evidence.changed(form="closed")
    assert claim.judge(closed({})).outcome == HOLDS
    off_by(name, side * 0.003, monkeypatch)
    assert claim.judge(closed({})).outcome == FAILS


@pytest.mark.parametrize("name", ["lem-e8-inequality", "lem-e9-inequality"])
def test_a_correction_of_nine_tenths_is_not_enough(name):
    assert CLAIMS[name].judge(CLAIMS[name].evidence.changed(correction=0.9)({})).outcome == FAILS


# Sequences


def growth(power: int, pace: float, threshold: float, c: float) -> Growth:
    one = np.ones(1)
    return Growth(power, one, pace * one, threshold * one, c * one, c * one)


def test_first_passages_by_hand(monkeypatch):
    # 1, 1.1, 1.221: 1.1 is reached in the first step, 1.2 in the second
    assert first_passages(growth(2, 0.1, 1.1, 1.0), 0) == 1
    assert first_passages(growth(2, 0.1, 1.2, 1.0), 0) == 2
    # 1, 1.2, 1.5456
    assert first_passages(growth(3, 0.1, 1.5, 2.0), 0) == 2
    monkeypatch.setattr(sequences, "CAP", 10)
    assert first_passages(growth(2, 0.1, 100.0, 0.01), 0) == math.inf


def test_the_bounds_on_a_first_passage_by_hand():
    at = growth(2, 1e-3, 1.1, 2.0)
    assert at.upper == pytest.approx(1100 + 1.21 * 2 * 2)
    assert at.lower == pytest.approx((1 - 1 / 1.1) / 2e-3)
    assert at.lower_printed == pytest.approx(1 / (1.21 * 2e-3) - 2 / 1.1)
    cubic = growth(3, 1e-3, 1.1, 2.0)
    assert cubic.lower == pytest.approx((1 - 1 / 1.21) / 4e-3)
    assert cubic.lower_printed == pytest.approx(1 / (1.331 * 2e-3) - 2 / 1.21)


@pytest.mark.parametrize("power", [2, 3])
def test_the_sequences_cover_both_edges_and_all_thresholds(power):
    drawn = growths(3, power)
    assert drawn.start.size == 200
    assert np.allclose(drawn.pace * drawn.start ** (power - 1), 1e-3)
    ratio = drawn.threshold / drawn.start
    for edge in (drawn.high == 1, drawn.low == 2, drawn.low < drawn.high):
        assert edge.sum() >= 50
        assert ratio[edge].min() == pytest.approx(1.05)
        assert ratio[edge].max() == pytest.approx(100)
    # a printed lower bound that is not positive would be met by anything
    assert drawn.lower_printed.min() > 300


def test_a_sequence_five_per_cent_beyond_the_upper_edge_breaks_the_lower_bound():
    claim = CLAIMS["lem-e10-lower"]
    assert claim.judge(claim.evidence.changed(increment=1.05 * sequences.RATIO)({})).outcome == FAILS


def test_sequences_that_never_arrive_break_the_upper_bound(monkeypatch):
    monkeypatch.setattr(sequences, "CAP", 50)
    assert examine(CLAIMS["lem-e10-upper"], {}).verdict.outcome == FAILS
    assert examine(CLAIMS["lem-e10-lower"], {}).verdict.outcome == HOLDS


def test_the_bounds_on_decaying_increments_are_sharp(monkeypatch):
    monkeypatch.setattr(sequences, "STEPS", 20_000)
    monkeypatch.setattr(sequences, "FACTORS", (1.0, 0.9, 1.2))
    right, less, more = sequences._decaying.__wrapped__(1).values()
    assert max(right) < 0
    assert less.below > 0
    assert less.above < 0
    assert more.above > 0
    assert more.below < 0
