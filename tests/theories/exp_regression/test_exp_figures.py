"""The figures of exponential regression: no warnings, labels, the prediction, whatever became of the runs."""

import warnings
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import NEVER
from lemmata.theories import exp_regression
from lemmata.theories.exp_regression import measures
from lemmata.theories.exp_regression.figures import step_size, width

EXPERIMENTS = exp_regression.theory.experiments
NAMES = list(EXPERIMENTS)
CLAIMS = exp_regression.theory.claims


def draw(name: str, data: xr.Dataset, layout: bool = False, rendered: bool = True) -> Figure:
    """The figure as when it is saved, but laid out only if that is asked for; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = EXPERIMENTS[name].draw(data, CLAIMS)
        if not layout:
            figure.set_layout_engine("none")
        if rendered:
            figure.draw_without_rendering()
    return figure


def panels(figure: Figure) -> list[Axes]:
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>" and ax.axison]


def says_x(ax: Axes) -> bool:
    """The x axis has a label (its own, or that of a panel that shares the axis), or its ticks are words."""
    siblings = ax.get_shared_x_axes().get_siblings(ax)
    words = [tick.get_text() for tick in ax.get_xticklabels()]
    return any(other.get_xlabel() for other in siblings) or any(any(c.isalpha() for c in word) for word in words)


def says_y(ax: Axes) -> bool:
    return bool(ax.get_ylabel() or ax.get_title())


SAID = ("paper", "exact", "linearised", "claimed", "guaranteed", "closed-form", "B$", "what can be run")


def predictions(figure: Figure) -> list[Any]:
    """What stands beside the measurement: the lines whose words say that they are predicted or claimed."""
    lines: list[Any] = [line for ax in panels(figure) for line in ax.get_lines()]
    return [line for line in lines if any(word in str(line.get_label()) for word in SAID)]


def test_every_experiment_has_a_figure_of_its_own():
    plots = [experiment.plot for experiment in EXPERIMENTS.values()]
    assert None not in plots
    assert len(set(plots)) == len(plots)


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_drawn_without_warnings_labelled_and_with_the_prediction(name, data_of):
    figure = draw(name, data_of(name), layout=True)
    for ax in panels(figure):
        assert says_x(ax)
        assert says_y(ax)
        assert ax.has_data()
        legend = ax.get_legend()
        if legend is not None:  # it covers nothing
            assert legend.get_window_extent().y1 <= ax.get_window_extent().y0
    for ax in figure.axes:
        if ax.get_label() == "<colorbar>":
            assert ax.get_ylabel()
    assert [line for line in predictions(figure) if np.size(line.get_xdata())]


@pytest.mark.parametrize("name", NAMES)
def test_an_axis_narrowed_to_one_value_is_still_drawn(name, data_of):
    data = data_of(name)
    axes = list(EXPERIMENTS[name].preset("smoke").axes)
    for axis in axes or ["seed"]:
        narrow = data.isel({axis: [-1], "seed": [0]})
        assert any(ax.has_data() for ax in draw(name, narrow, rendered=False).axes)


SOME = ["x1-kernel", "q7-initial", "x2-modes", "x3-drift", "x6-phase-map", "x4-frontier-lambda", "q21-flow"]


@pytest.mark.parametrize("name", SOME)
def test_failed_cells_leave_a_gap(name, data_of):
    data = data_of(name).copy(deep=True)
    axes = list(EXPERIMENTS[name].preset("smoke").axes)
    for variable in data.data_vars.values():
        variable[dict.fromkeys(axes, 0)] = np.nan
    assert any(ax.has_data() for ax in draw(name, data).axes)


TIMED = ["x2-convergence", "x5-initialisation", "x7-activations", "x9-theorem", "x4-frontier-n", "x4-frontier-lambda"]


@pytest.mark.parametrize("name", TIMED)
def test_runs_that_never_arrive_are_shown_as_such(name, data_of):
    data = data_of(name)
    never = draw(name, data.assign(reached_step=xr.full_like(data.reached_step, np.inf)))
    words = [word for ax in panels(never) for word in ax.get_legend_handles_labels()[1]]
    assert NEVER in words
    # on a singular kernel nothing is predicted either
    both = {step: xr.full_like(data.reached_step, np.inf) for step in ("reached_step", "predicted_steps")}
    assert draw(name, data.assign(both)).axes


def test_the_frontier_is_the_width_at_which_the_success_arrives():
    labels = ["2", "4", "8", "8 frozen"]
    hits = xr.DataArray(
        np.array([[np.inf, 5.0, 5.0, np.inf], [np.inf, np.inf, 5.0, np.inf]])[..., None] * np.ones(10),
        coords={"samples": [5.0, 10.0], "variant": labels}, dims=["samples", "variant", "seed"],
    )  # fmt: skip
    hits = hits.assign_coords(neurons=("variant", [2.0, 4, 8, 8]), trained=("variant", [1, 1, 1, 0]))
    figure = width.points(xr.Dataset({"reached_step": hits, "predicted_steps": xr.full_like(hits, 9.0)}))
    left, right = figure.axes
    line = next(line for line in right.get_lines() if "seeds" in str(line.get_label()))
    np.testing.assert_array_equal(line.get_xydata(), [[5, 4], [10, 8]])
    assert "exponent 1.00" in str(line.get_label())
    law = next(line for line in right.get_lines() if "at most 2" in str(line.get_label()))
    np.testing.assert_allclose(np.asarray(law.get_xydata(), float), [[5, 4], [10, 16]])
    curves = [line for line in left.get_lines() if str(line.get_label()).startswith("$n$")]
    np.testing.assert_array_equal([line.get_ydata() for line in curves], [[0, 1, 1], [0, 0, 1]])


def test_the_phase_map_shows_the_share_of_every_class():
    shape = {"neurons": [16.0], "step_constant": [1.0, 3.0, 5.0, 6.0]}

    def runs(*values: float) -> xr.DataArray:
        return xr.DataArray(np.array([values])[..., None] * np.ones(3), shape, ["neurons", "step_constant", "seed"])

    data = xr.Dataset(
        {"peak_ratio": runs(1, 50, 9, 30), "final_ratio": runs(0, 1e-9, 9, 0.5), "diverged": runs(0, 0, 1, 0)}
    )
    axes = panels(step_size.phase_map(data))
    shown = {ax.get_title(): np.asarray(ax.images[0].get_array())[0].tolist() for ax in axes}
    assert shown == {"monotone": [1, 0, 0, 0], "catapult": [0, 1, 0, 0], "diverged or unfinished": [0, 0, 1, 1]}
    for ax in axes:
        edge = next(line for line in ax.get_lines() if line.get_linestyle() == "--")
        assert np.asarray(edge.get_xdata())[0] == 0.5


def test_the_claimed_rate_is_a_straight_line_in_its_own_time(data_of):
    data = data_of("q16-samplers")
    ax = draw("q16-samplers", data).axes[0]
    bound = next(line for line in ax.get_lines() if "at most" in str(line.get_label()))
    x, y = np.asarray(bound.get_xydata()).T
    np.testing.assert_allclose(np.log(y), -x, atol=1e-12)
    part = data.isel(data_law=0, seed=0)
    t = float(part.step.isel(record=-1))
    claimed = (1 - float(part.rate * part.limit_least) / 2) ** t
    np.testing.assert_allclose(np.exp(-float(measures.claimed_decay(part)) * t), claimed, rtol=1e-12)


def test_floors_are_those_of_the_singular_kernels():
    found = {key: round(value, 3) for key, value in measures.FLOORS.items()}
    assert found == {("parallel", "relu"): 0.392, ("antipodal", "cosh"): 0.605, ("antipodal", "sinh"): 0.125}
