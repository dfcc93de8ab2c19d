"""The figures of teacher and student: no warnings, labels, and the predictions at the right values."""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

import lemmata as lm
from lemmata.lab.figures import NEVER
from lemmata.lab.grid import make_grid
from lemmata.theories.teacher_student.dynamics.limit import escape_integral
from lemmata.theories.teacher_student.dynamics.reduced import Task, at_score, quasi_scale
from lemmata.theories.teacher_student.experiments import exact, online, transfer
from lemmata.theories.teacher_student.figures import common

EXPERIMENTS = {e.name: e for e in (*exact.EXPERIMENTS, *online.EXPERIMENTS, *transfer.EXPERIMENTS)}
PANELS = {
    "p1-pattern": 4, "p3-along-run": 5, "p17-escape": 6, "t3-late": 6, "t3-dimension": 6, "c2-phases": 4,
    "c2-portrait": 1, "p1-temperature": 3, "exp-e1-blocks": 8, "exp-e2-curves": 10, "exp-e2-floor": 3, "t5-ood": 6,
}  # fmt: skip
"""Panels of a smoke preset."""
NAMES = list(PANELS)
CHEAP = ("c2-portrait", "c2-phases", "t3-late")
"""What is simulated here; the others have made-up numbers in the shape of their smoke preset."""
SIZES = {"record": 9, "key_token": 36, "query_token": 36}
ESCAPE, FITTED = 50.0, 5.0


def made_up(name: str) -> xr.Dataset:
    """Runs with the variables, axes and labels of a smoke preset and plausible numbers, without a simulation."""
    preset, simulation = EXPERIMENTS[name].preset("smoke"), EXPERIMENTS[name].simulation
    grid = make_grid(preset.setting, preset.axes)
    coordinates = {**grid.coordinates(), "seed": np.arange(2)}
    labels = {dim: np.asarray(values) for dim, values in simulation.labels.items()}
    sizes = {**SIZES, **{dim: len(v) for dim, v in labels.items()}}
    runs = [len(values) for values in coordinates.values()]
    rng = np.random.default_rng(0)
    data = xr.Dataset(
        {
            variable.name: (
                (*coordinates, *variable.dims),
                rng.uniform(0.05, 0.9, [*runs, *(sizes[dim] for dim in variable.dims)]),
            )
            for variable in simulation.variables
        },
        coords={**coordinates, **labels},
    )
    fields: dict[str, Callable[[Any], float]] = {
        "token_count": lambda s: s.tokens,
        "support_count": lambda s: s.support,
        "slope": lambda s: s.negative_slope,
        "eta": lambda s: s.step_size,
        "squared_norm": lambda s: s.strength or 4.0,
        "row_norms": lambda s: s.outputs,
        "separation": lambda s: (s.strength or 4.0) / (s.support * s.tokens**2),
    }
    for variable in fields.keys() & set(data):
        for cell, setting in grid.cells.items():
            data[variable].values[cell] = fields[variable](setting)
    steps = np.array([0, FITTED, ESCAPE, *(ESCAPE * 10.0 ** np.array([1, 2, 2.5, 3, 4])), np.nan])
    fixed = {
        "step": xr.DataArray(steps, dims="record"), "escape": ESCAPE, "fitted": FITTED, "diverged": 0.0, "floor": 0.05,
        "first_above": np.inf, "counted": 3.0, "worst_values": 1e-14, "worst_scores": 1e-14,
    }  # fmt: skip
    data = data.assign({key: 0 * data[key] + value for key, value in fixed.items() if key in data})
    late = data.step.where(data.step > 0, 1.0)
    falling = {"half_gap": -1.0, "ood_excess": -0.5, "ood_clean": -1.0, "score_error": -0.5, "mass": -0.5}
    data = data.assign({key: 0.5 * late**power for key, power in falling.items() if key in data})
    data["value"] = 1 + late**-0.5
    if "score_map" in data:
        inside = xr.DataArray(np.arange(36), dims="key_token") < data.token_count
        inside = inside & (xr.DataArray(np.arange(36), dims="query_token") < data.token_count)
        support = xr.DataArray(np.eye(36), dims=("key_token", "query_token")) / data.support_count
        data["target_map"] = support.where(inside).transpose(*data.target_map.dims)
        data["score_map"] = (0.6 * support + 0.01).where(inside).transpose(*data.score_map.dims)
    return data


def simulated(name: str) -> xr.Dataset:
    experiment = EXPERIMENTS[name]
    preset = experiment.preset("smoke")
    return lm.sweep(experiment.simulation, preset.setting, preset.axes, 1, precision=experiment.precision)


@pytest.fixture(scope="module")
def smoke() -> dict[str, xr.Dataset]:
    return {name: simulated(name) if name in CHEAP else made_up(name) for name in NAMES}


def draw(name: str, data: xr.Dataset, layout: bool = False, render: bool = False) -> Figure:
    """The figure, rendered or laid out as when it is saved only if that is asked for; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = EXPERIMENTS[name].plot(data)
        if not layout:
            figure.set_layout_engine("none")
        if layout or render:
            figure.draw_without_rendering()
    return figure


@pytest.fixture(scope="module")
def drawn(smoke: dict[str, xr.Dataset]) -> Callable[[str], Figure]:
    return functools.cache(lambda name: draw(name, smoke[name]))


def shown(figure: Figure) -> list[Axes]:
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]


def lines(ax: Axes, words: str) -> list[Line2D]:
    """The lines of legend entries that begin with these words."""
    found = zip(*ax.get_legend_handles_labels(), strict=True)
    chosen = [handle for handle, label in found if label.startswith(words) and isinstance(handle, Line2D)]
    assert chosen, f"{words} is not among {ax.get_legend_handles_labels()[1]}"
    return chosen


def points(found: Line2D) -> np.ndarray:
    """x and y where both are known."""
    pairs = np.asarray(found.get_xydata(), float)
    return pairs[np.isfinite(pairs).all(axis=1)].T


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_has_its_panels_labelled_and_readable_with_a_prediction(name, drawn):
    axes = shown(drawn(name))
    assert len(axes) == PANELS[name]
    assert all(float(text.get_fontsize()) >= 7.5 for text in drawn(name).findobj(Text) if text.get_text())
    for ax in axes:
        assert ax.get_title()
        assert ax.get_xlabel() or any(any(c.isalpha() for c in tick.get_text()) for tick in ax.get_xticklabels())
        if ax.images or ax.get_title().endswith("norms of the blocks"):
            continue
        assert any(word.startswith(("paper", "derived")) for word in ax.get_legend_handles_labels()[1])


@pytest.mark.parametrize("name", ["exp-e1-blocks"])
def test_legends_stand_below_their_panels(name, smoke):
    for ax in shown(draw(name, smoke[name], layout=True)):
        legend = ax.get_legend()
        if legend is not None:
            below = ax.xaxis.get_tightbbox()
            assert below is not None
            assert legend.get_window_extent().y1 <= below.y0


@pytest.mark.parametrize("name", NAMES)
def test_axes_narrowed_to_one_value_and_one_seed_are_still_drawn(name, smoke):
    axes = [*EXPERIMENTS[name].preset("smoke").axes, "seed"]
    assert draw(name, smoke[name].isel({axis: [-1] for axis in axes}), render=True).axes


@pytest.mark.parametrize("name", ["p1-pattern", "exp-e2-curves", "t5-ood"])
def test_failed_cells_leave_a_gap(name, smoke):
    data = smoke[name].copy(deep=True)
    axes = list(EXPERIMENTS[name].preset("smoke").axes)
    for variable in data.data_vars.values():
        variable[dict.fromkeys(axes, 0)] = np.nan
    assert draw(name, data).axes


def test_the_recursion_is_drawn_where_it_was_run_and_only_there(smoke):
    data = smoke["exp-e2-curves"].sel(task=["GSLP"])
    words = {kind: draw("exp-e2-curves", data.sel(dynamics=[kind])).axes[0].get_legend_handles_labels()[1]
             for kind in ("online", "recursion")}  # fmt: skip
    assert "paper: the recursion" in words["recursion"]
    assert "paper: the recursion" not in words["online"]


def test_online_sgd_stands_beside_the_recursion_its_floor_and_the_late_law(smoke, drawn):
    first = smoke["exp-e2-curves"].sel(task="GSLP", dynamics="recursion").isel(seed=0)
    ax = shown(drawn("exp-e2-curves"))[5]
    x, exact = points(lines(ax, "paper: the recursion")[0])
    np.testing.assert_allclose(exact, first.excess.values[1:-1])
    np.testing.assert_allclose(points(lines(ax, "recursion + floor")[0])[1], exact + 0.05)
    x, law = points(lines(ax, "derived: $KD")[0])
    # K = 1, D = 20, η = 0.02
    np.testing.assert_allclose(law, 20 * 19 / (4 * 0.02 * x))


def test_score_maps_are_cropped_and_symmetric_around_zero(drawn):
    learned, target = shown(drawn("exp-e2-curves"))[3:5]
    for ax in (learned, target):
        image = ax.images[0]
        assert image.get_array().shape == (20, 20)  # pyright: ignore[reportOptionalMemberAccess]
        assert image.get_clim() == pytest.approx((-1 / 3, 1 / 3))
    assert "mean on support 0.210" in learned.get_title()


def test_the_phases_are_shaded_between_their_times(drawn):
    loss = shown(drawn("p3-along-run"))[0]
    edges = sorted({round(float(patch.get_x()), 6) for patch in loss.patches})  # pyright: ignore[reportAttributeAccessIssue]
    assert edges == [FITTED, ESCAPE] or edges[-2:] == [FITTED, ESCAPE]
    assert any(f"T^*$ = {ESCAPE:.0f}" in text.get_text() for text in loss.texts)


def test_a_violated_check_is_named_by_its_first_step(smoke):
    data = smoke["p3-along-run"].copy(deep=True)
    data["first_above"].loc[{"run": "unstable", "check": "plateau"}] = 17.0
    checks = shown(draw("p3-along-run", data))[2]
    assert [text.get_text() for text in checks.texts] == ["t=17"]
    assert int((np.asarray(checks.images[0].get_array()) == 2).sum()) == 1


def test_the_portrait_follows_the_stationary_curve(smoke, drawn):
    run = smoke["c2-portrait"].isel(seed=0, negative_slope=0, chi=0)
    ax = drawn("c2-portrait").axes[0]
    p, curve = points(lines(ax, "paper: $C_1^*")[0])
    task = Task(36.0, 4.0, float(run.squared_norm), 1.0, 0.05)
    np.testing.assert_allclose(curve, quasi_scale(task, at_score(task, p)))
    # the peak of the identity
    assert curve.max() == pytest.approx((1 + 3) / 2, rel=1e-3)
    late = run.where(run.step > run.escape, drop=True)
    np.testing.assert_allclose(late.value, np.interp(late.score, p, curve), rtol=0.02)


def test_late_runs_collapse_on_the_derived_laws(drawn):
    axes = shown(drawn("t3-late"))
    for rate, constant, power in zip(axes[:3], axes[3:], (-0.5, -0.5, -1.0), strict=True):
        x, y = points(lines(rate, "paper")[0])
        assert np.diff(np.log(y)) / np.diff(np.log(x)) == pytest.approx(power)
        assert points(lines(constant, "derived")[0])[1] == pytest.approx(1.0)
        for found in lines(constant, "D="):
            assert points(found)[1][-1] == pytest.approx(1.0, abs=0.01)
    assert all("slope −1.0" in str(found.get_label()) for found in lines(axes[2], "D="))


def test_escape_times_on_a_law_are_fitted_by_it_beside_the_quadrature(smoke):
    data = smoke["p17-escape"]
    law = data.assign(escape=3.0 / data.squared_norm)
    ax = draw("p17-escape", law).axes[0]
    assert "exponent −2.00" in str(lines(ax, "identity")[0].get_label())
    x, printed = points(lines(ax, "paper")[0])
    np.testing.assert_allclose(printed * x, printed[0] * x[0])
    x, found = points(lines(ax, "derived")[0])
    np.testing.assert_allclose(found, [escape_integral(Task(64.0, 2.0, norm**2, 1.0, 0.05)) / 0.05 for norm in x])


def test_runs_that_never_escape_stand_at_the_edge(smoke):
    data = smoke["p17-escape"]
    figure = draw("p17-escape", data.assign(escape=xr.full_like(data.escape, np.inf)))
    assert all(NEVER in ax.get_legend_handles_labels()[1] for ax in figure.axes[:5])


def test_powers_of_the_dimension_stand_beside_the_printed_and_the_corrected_one(smoke):
    data = smoke["t3-dimension"]
    exact_law = data.assign(excess=0 * data.excess + data.token_count**2.0)
    ax = draw("t3-dimension", exact_law).axes[3]
    assert "exponent 2.00" in str(lines(ax, "identity")[0].get_label())
    for words, power in (("paper", 4.0), ("corrected", 2.0)):
        x, y = points(lines(ax, words)[0])
        assert np.log(y[1] / y[0]) / np.log(x[1] / x[0]) == pytest.approx(power)


def test_the_escape_is_cubic_for_the_identity_alone(drawn):
    ax = drawn("c2-phases").axes[1]
    assert points(lines(ax, "paper")[0])[1] == pytest.approx(3.0)
    assert points(lines(ax, "identity")[0])[1] == pytest.approx(2.96, abs=0.05)
    assert points(lines(ax, "ReLU")[0])[1] == pytest.approx(2.17, abs=0.05)


def test_the_printed_sign_of_the_worst_case_is_marked_as_negative(smoke):
    data = smoke["t5-ood"].copy(deep=True)
    data["ood_excess"].loc[{"data": "worst_printed"}] *= -1
    ax = draw("t5-ood", data).axes[2]
    assert "negative" in str(lines(ax, "worst case as printed")[0].get_label())
    assert str(lines(ax, "worst case, sign corrected")[0].get_label()).endswith("slope −0.50")


def test_clean_losses_have_both_slopes_beside_them(drawn):
    ax = drawn("t5-ood").axes[0]
    for words, power in (("paper", -0.5), ("derived", -1.0)):
        x, y = points(lines(ax, words)[0])
        np.testing.assert_allclose(x, [1e2, 1e4])
        assert np.log(y[1] / y[0]) / np.log(100) == pytest.approx(power)
    assert "late slope −1.00" in str(lines(ax, "identity")[0].get_label())


def test_blocks_are_held_against_the_criteria_of_figure_1(drawn):
    *_, inactive, positional = shown(drawn("exp-e1-blocks"))
    for ax, limit in ((inactive, 0.02), (positional, 0.1)):
        assert points(lines(ax, "paper")[0])[0] == pytest.approx(limit)


def test_the_measured_floor_is_the_mean_of_the_second_half(smoke, drawn):
    cell = smoke["exp-e2-floor"].isel(batch=0, step_size=0)
    wanted = cell.excess.where(cell.step >= cell.step.max() / 2).mean("record")
    ax = drawn("exp-e2-floor").axes[1]
    x, y = points(lines(ax, "$N$")[0])
    np.testing.assert_allclose(x, 0.05)
    np.testing.assert_allclose(y, wanted)


def test_a_law_goes_through_the_centre_of_what_is_measured():
    ax = Figure().add_subplot()
    x = np.array([1.0, 2.0, 4.0])
    common.law(ax, x, [[0.5 * 8, 8, 2 * 8]], x**1.0, "law")
    np.testing.assert_allclose(points(lines(ax, "law")[0])[1], 8 * x / 2)
