"""What figures share: labels that exist, colours, and logarithmic axes that also take nothing or one value."""

import numpy as np
import pytest
import xarray as xr

from lemmata.lab.figures import PALETTE, colour, labels_of, log_y, panels, present


def test_labels_are_words_and_only_those_that_exist_are_taken() -> None:
    data = xr.Dataset(coords={"run": ["b", "a"], "size": [1.0, 2.5]})
    assert labels_of(data, "size") == ["1.0", "2.5"]
    assert present(data, "run", ["a", "c", "b"]) == ["a", "b"]
    assert present(data, "run", ["c"]) == []


def test_colours_begin_again_after_the_last() -> None:
    assert [colour(i) for i in range(len(PALETTE))] == list(PALETTE)
    assert colour(len(PALETTE) + 1) == PALETTE[1]


@pytest.mark.parametrize("values", [[], [np.nan], [-1.0, 0.0]])
def test_a_logarithmic_axis_without_positive_values_has_no_scale(values: list[float]) -> None:
    _, (ax,) = panels(1)
    ax.plot(range(len(values)), values)
    log_y(ax)
    assert ax.get_yscale() == "linear"
    assert len(ax.get_yticks()) == 0


def test_a_logarithmic_axis_shows_one_value_in_its_middle_and_a_short_range_with_plain_numbers() -> None:
    figure, axes = panels(3)
    for ax, values in zip(axes, ([2.0, 2.0], [1.0, 30.0], [1e-6, 1e6]), strict=True):
        ax.plot([0, 1], values)
        log_y(ax)
    figure.draw_without_rendering()
    low, high = axes[0].get_ylim()
    assert (low, high) == pytest.approx((2 / 3, 6.0))
    written = [[label.get_text() for label in ax.get_yticklabels()] for ax in axes]
    assert {"1", "2", "5", "10", "20"} <= set(written[1])
    assert not {"1", "2", "5"} & set(written[2])
