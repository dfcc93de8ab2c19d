"""What figures share: words, looks, scales that also take nothing or one value, levels read from claims, defaults."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

import lemmata as lm
from lemmata import figures as draw
from lemmata.lab.default_figures import default_figure
from lemmata.lab.panels import MARKERS, PALETTE, look


def test_labels_are_words_and_only_those_that_exist_are_taken() -> None:
    data = xr.Dataset(coords={"run": ["b", "a"], "size": [1.0, 2.5]})
    assert draw.labels_of(data, "size") == ["1.0", "2.5"]
    assert draw.present(data, "run", ["a", "c", "b"]) == ["a", "b"]
    assert draw.present(data, "run", ["c"]) == []
    assert [draw.word(each) for each in (2.0, "per_token", 0.25)] == ["2", "per token", "0.25"]
    assert [draw.word(each) for each in ("W_O trained", "$W_O$")] == ["$W_{O}$ trained", "$W_O$"]
    assert [draw.signed(each) for each in (-0.001, -1.234, 2)] == ["0.00", "−1.23", "2.00"]


def test_looks_differ_in_colour_and_in_marker_and_begin_again_after_the_last() -> None:
    looks = [look(i) for i in range(len(PALETTE))]
    assert len({each.color for each in looks}) == len({each.marker for each in looks}) == len(PALETTE) == len(MARKERS)
    again = [look(i) for i in range(2 * len(PALETTE))]
    assert again[len(PALETTE) + 1].color == looks[1].color
    assert len(set(again)) == 2 * len(PALETTE)


def _seen_by_deuteranopes(colour: str) -> np.ndarray:
    """Machado et al. (2009), severity 1, in linear RGB, then CIE Lab."""
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]) @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen
    f = np.cbrt(xyz / np.array([0.9505, 1.0, 1.089]))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_colours_can_be_told_apart_by_colour_blind_readers() -> None:
    seen = [_seen_by_deuteranopes(colour) for colour in PALETTE]
    apart = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i]]
    assert min(apart) > 12


@pytest.mark.parametrize("values", [[], [np.nan], [-1.0, 0.0]])
def test_a_logarithmic_axis_without_positive_values_has_no_scale(values: list[float]) -> None:
    _, (ax,) = draw.panels(1)
    ax.plot(range(len(values)), values)
    draw.log_y(ax)
    assert ax.get_yscale() == "linear"
    assert len(ax.get_yticks()) == 0


def test_a_logarithmic_axis_shows_one_value_in_its_middle_and_a_short_range_with_plain_numbers() -> None:
    figure, axes = draw.panels(3)
    for ax, values in zip(axes, ([2.0, 2.0], [1.0, 30.0], [1e-6, 1e6]), strict=True):
        ax.plot([0, 1], values)
        draw.log_y(ax)
    figure.draw_without_rendering()
    low, high = axes[0].get_ylim()
    assert (low, high) == pytest.approx((2 / 3, 6.0))
    written = [[label.get_text() for label in ax.get_yticklabels()] for ax in axes]
    assert {"1", "2", "5", "10", "20"} <= set(written[1])
    assert not {"1", "2", "5"} & set(written[2])


def test_more_panels_than_a_page_can_show_are_refused_and_empty_ones_hidden() -> None:
    with pytest.raises(AssertionError, match="30 panels"):
        draw.panels(30, rows=5)
    _, axes = draw.panels(5, rows=2)
    assert len(axes) == 5


@lm.fact
def one(value: float = 1.0) -> float:
    return value


def claim(judge: Any) -> lm.Claim:
    other = lm.Control("other", value=9.0)
    return lm.Claim("c", "Theorem 1", "bound").states("A statement.").judged(one(), judge, other)


def _legend(ax: Any) -> list[str]:
    return ax.get_legend_handles_labels()[1]


def test_the_level_of_a_claim_is_that_of_its_judge() -> None:
    _, (ax,) = draw.panels(1)
    draw.claimed(ax, claim(lm.at_least(0.8)))
    assert ax.lines[0].get_ydata()[0] == 0.8
    draw.claimed(
        ax, claim(lm.all_of(total=lm.at_most({"a": 3.0}), x=lm.equal(0))), part="total", label="a", words="at T"
    )
    assert ax.lines[1].get_ydata()[0] == 3.0
    draw.claimed(ax, claim(lm.within(1, 2)))
    draw.claimed(ax, claim(lm.at_most(5)), at=2)
    assert ax.lines[2].get_xdata()[0] == pytest.approx(1.58)
    assert set(_legend(ax)) == {"claimed: ≥ 0.8", "at T: ≤ 3", "claimed: 1 to 2", "claimed: ≤ 5"}


PATH = xr.Dataset(
    {
        "step": (("variant", "seed", "record"), np.tile([0.0, 1.0, 2.0], (2, 3, 1))),
        "loss": (
            ("variant", "seed", "record"),
            np.random.default_rng(0).uniform(size=(2, 3, 3)),
            {"long_name": "the loss"},
        ),
        "time": (("variant", "seed"), [[1.0, 2.0, np.inf], [3.0, 4.0, 5.0]]),
    },
    coords={"variant": ["a", "b"]},
)


def test_paths_have_a_line_a_label_and_a_seed_and_one_entry_of_the_legend_a_label() -> None:
    _, (ax,) = draw.panels(1)
    draw.paths(ax, PATH, "loss", "variant", "variant {}")
    assert _legend(ax) == ["variant a", "variant b"]
    assert len(ax.lines) == 2 * (3 + 1)
    mean = ax.lines[3]
    assert mean.get_ydata() == pytest.approx(PATH.loss.sel(variant="a").mean("seed").values)
    assert ax.lines[3].get_linestyle() != ax.lines[7].get_linestyle()


def test_an_empty_selection_draws_nothing() -> None:
    _, (ax,) = draw.panels(1)
    none = PATH.isel(variant=[])
    draw.paths(ax, none, "loss", "variant")
    draw.groups(ax, none.time, "variant")
    draw.paths(ax, none, "loss")
    assert all(not np.isfinite(line.get_ydata()).any() for line in ax.lines)


def test_runs_that_never_arrive_stand_at_the_edge_and_have_no_mean() -> None:
    _, (ax,) = draw.panels(1)
    draw.groups(ax, PATH.time, "variant")
    draw.finish(ax, "times", "steps")
    assert "never reached" in _legend(ax)
    bars = [line for line in ax.lines if line.get_linewidth() == 2]
    assert [bar.get_ydata()[0] for bar in bars] == [4.0]


def test_a_fit_is_called_a_fit_and_a_law_passes_through_the_data() -> None:
    _, (ax,) = draw.panels(1)
    x = np.array([1.0, 2.0, 4.0, 8.0])
    rows = np.array([1.0, 1.1, 0.9])[:, None] * x**-2
    exponent = draw.fit(ax, x, rows, draw.BLUE)
    assert exponent is not None
    assert exponent.value == pytest.approx(-2)
    assert _legend(ax)[0].startswith("fit: exponent −2.00")
    draw.law(ax, x, rows, x**-2, "paper: x^-2")
    assert ax.lines[1].get_ydata()[0] == pytest.approx(np.exp(np.log([1.0, 1.1, 0.9]).mean()))
    assert draw.fit(ax, x, rows * np.nan, draw.BLUE) is None


SWEEP = xr.Dataset(
    {
        "reached": (("alpha", "samples", "seed"), np.ones((2, 3, 2))),
        "error": (("alpha", "samples", "seed"), np.full((2, 3, 2), 0.5), {"long_name": "the error"}),
    },
    coords={"alpha": [0.1, 0.2], "samples": [1.0, 10.0, 100.0]},
)


def test_the_default_figure_draws_paths_sweeps_groups_and_maps() -> None:
    figure = default_figure(PATH)
    assert [ax.get_title() for ax in figure.axes] == ["loss", "time"]
    assert figure.axes[0].get_xlabel() == "training step $t$"
    assert figure.axes[0].get_ylabel() == "the loss"
    sweep, rates = default_figure(SWEEP, ("error", "reached")).axes[:2]
    assert sweep.get_xlabel() == "samples"
    assert _legend(sweep) == ["alpha 0.1", "alpha 0.2"]
    assert len(rates.images) == 1
    assert default_figure(xr.Dataset({"x": (("seed",), [1.0, 2.0])})).axes[0].lines


def test_a_shown_figure_has_the_level_of_the_claim_that_it_names() -> None:
    claims = {"c": claim(lm.at_most(0.7))}
    (ax,) = lm.show("error", levels={"error": "c"})(SWEEP, claims).axes
    assert "claimed: ≤ 0.7" in _legend(ax)
