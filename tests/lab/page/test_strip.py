"""The strip of a claim puts values where they belong, at every scale."""

from __future__ import annotations

from typing import Any

import pytest
from page_cases import row

from lemmata.lab.page.strip import Strip, make_strip
from lemmata.lab.rows import Row


def drawn(**changes: Any) -> Strip:
    strip = make_strip(Row.read(row(**changes)))
    assert strip is not None
    return strip


def test_the_strip_puts_values_where_they_belong() -> None:
    strip = drawn()
    assert strip.interval
    (control, shape), (low, high), start = strip.controls[0], strip.interval, strip.band[0]
    assert shape == "diamond"
    assert control < start < low < strip.measured < high < start + strip.band[1]
    below = drawn(relation="<=", outcome="fails")
    assert below.interval
    assert sum(below.band) < below.interval[0]
    inside = drawn(relation="in", accept_low=1.0, accept_high=1.6, predicted=1.3)
    assert inside.interval
    assert inside.predicted
    assert inside.band[0] < inside.predicted < inside.measured < sum(inside.band) < inside.interval[1]
    rising = drawn(relation="increasing", predicted=0.0)
    assert rising.interval
    assert rising.band[0] < rising.interval[0]


def test_a_control_far_away_does_not_squeeze_the_interval() -> None:
    near = drawn()
    control = {"case": "broken", "outcome": "fails", "expected": "fails", "measured": -1e8, "note": ""}
    far = drawn(controls=[control])
    assert far.interval
    assert near.interval
    assert far.interval[1] - far.interval[0] > near.interval[1] - near.interval[0]
    assert far.controls == [(2.0, "left")], "an arrow at the left edge"
    assert ("diamond", "control −100\u202f000\u202f000 (off the scale, left)") in far.legend
    assert not any("off the scale" in words for _, words in near.legend)


@pytest.mark.parametrize(("measured", "low", "high", "bound"), [
    (0.0, 0.0, 0.0, 0.0), (1e-9, 0.0, 2e-9, 1e-3), (1e12, 9e11, 2e12, 5.0),
    (-3.0, -3.5, -2.5, -3.0), (1.0, None, None, 1.0), (5e-324, None, None, 0.0),
])  # fmt: skip
def test_the_strip_is_drawn_within_its_width_at_every_scale(
    measured: float, low: float | None, high: float | None, bound: float
) -> None:
    strip = make_strip(Row.read(row(measured=measured, low=low, high=high, predicted=bound, controls=[])))
    if strip is None:
        assert measured == 5e-324, "only where floating point has no room between the values is there nothing to draw"
        return
    places = [*strip.band[:1], sum(strip.band), strip.measured, *(strip.interval or ()), *(at for at, _ in strip.ticks)]
    assert all(0 <= place <= 100.01 for place in places)
    labels = [label for _, label in strip.ticks]
    assert 1 <= len(labels) <= 7
    assert len(set(labels)) == len(labels)


def test_an_identity_and_what_was_not_measured_have_no_strip() -> None:
    assert make_strip(Row.read(row(relation="==", predicted=1.5, low=1.5, high=1.5))) is None
    assert make_strip(Row.read(row(measured=None))) is None
    assert make_strip(Row.read(row(measured=1e308, low=-1e308, high=1e308))) is None
