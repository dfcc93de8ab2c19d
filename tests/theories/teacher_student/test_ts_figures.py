"""The figures of teacher and student: no warnings, labels, and the predictions at the right values."""

import functools
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from ts_hand_made import ESCAPE, FITTED, made_up

from lemmata.lab.figures import NEVER
from lemmata.theories import teacher_student
from lemmata.theories.teacher_student.dynamics.limit import escape_integral
from lemmata.theories.teacher_student.dynamics.reduced import Task, at_score, quasi_scale

EXPERIMENTS, CLAIMS = teacher_student.theory.experiments, teacher_student.theory.claims
PANELS = {
    "p1-pattern": 3, "p3-along-run": 5, "p17-escape": 6, "t3-late": 6, "t3-dimension": 3, "c2-phases": 4,
    "c2-portrait": 1, "p1-temperature": 2, "exp-e1-blocks": 6, "exp-e2-curves": 6, "exp-e2-floor": 2, "t5-ood": 6,
}  # fmt: skip
"""Panels of a smoke preset."""
NAMES = list(PANELS)
REAL = ("c2-portrait", "c2-phases", "t3-late")
"""What is simulated; the others have made-up numbers in the shape of their smoke preset."""


@pytest.fixture(scope="module")
def seen(smoke) -> dict[str, xr.Dataset]:
    return {name: smoke("teacher_student").data(name) if name in REAL else made_up(name) for name in NAMES}


def draw(name: str, data: xr.Dataset, layout: bool = False, render: bool = False) -> Figure:
    """The figure, rendered or laid out as when it is saved only if that is asked for; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = EXPERIMENTS[name].draw(data, CLAIMS)
        if not layout:
            figure.set_layout_engine("none")
        if layout or render:
            figure.draw_without_rendering()
    return figure


@pytest.fixture(scope="module")
def drawn(seen: dict[str, xr.Dataset]) -> Callable[[str], Figure]:
    return functools.cache(lambda name: draw(name, seen[name]))


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
        if not ax.images and not ax.get_title().endswith("norms of the blocks"):
            known = ax.get_legend_handles_labels()[1]
            assert any(word.startswith(("paper", "derived")) for word in known), ax.get_title()


@pytest.mark.parametrize("name", ["exp-e1-blocks"])
def test_legends_stand_below_their_panels(name, seen):
    for ax in shown(draw(name, seen[name], layout=True)):
        legend = ax.get_legend()
        if legend is not None:
            below = ax.xaxis.get_tightbbox()
            assert below is not None
            assert legend.get_window_extent().y1 <= below.y0


@pytest.mark.parametrize("name", NAMES)
def test_axes_narrowed_to_one_value_and_one_seed_are_still_drawn(name, seen):
    axes = [*EXPERIMENTS[name].preset("smoke").axes, "seed"]
    assert draw(name, seen[name].isel({axis: [-1] for axis in axes}), render=True).axes


@pytest.mark.parametrize("name", ["p1-pattern", "exp-e2-curves", "t5-ood"])
def test_failed_cells_leave_a_gap(name, seen):
    data = seen[name].copy(deep=True)
    axes = list(EXPERIMENTS[name].preset("smoke").axes)
    for variable in data.data_vars.values():
        variable[dict.fromkeys(axes, 0)] = np.nan
    assert draw(name, data).axes


def test_the_recursion_is_drawn_where_it_was_run_and_only_there(seen):
    data = seen["exp-e2-curves"].sel(variant=["STS"])
    words = {kind: draw("exp-e2-curves", data.sel(dynamics=[kind])).axes[0].get_legend_handles_labels()[1]
             for kind in ("online", "recursion")}  # fmt: skip
    assert any(word.startswith("paper: the recursion") for word in words["recursion"])
    assert not any(word.startswith("paper: the recursion") for word in words["online"])


def test_online_sgd_stands_beside_the_recursion_and_over_recursion_plus_floor(seen):
    data = seen["exp-e2-curves"].sel(variant=["STS"])
    excess, ratio, *_ = shown(draw("exp-e2-curves", data))
    cell = data.isel(variant=0)
    assert lines(excess, "paper: the recursion")
    x, y = next(points(line) for line in excess.lines if line.get_linestyle() == "--" and points(line).size)
    known = cell.sel(dynamics="recursion").isel(seed=0).excess.values[1:-1]
    np.testing.assert_allclose(y, known)
    np.testing.assert_allclose(x, cell.step.isel(seed=0, dynamics=0).values[1:-1] / ESCAPE)
    late = cell.where(cell.step >= ESCAPE)
    wanted = (late.excess.sel(dynamics="online") / (late.excess.sel(dynamics="recursion") + 0.05)).mean("seed")
    np.testing.assert_allclose(points(lines(ratio, "STS")[0])[1], wanted.dropna("record"))


def test_learned_scores_stand_above_those_of_the_teacher_on_one_scale(drawn):
    *_, score, maps = shown(drawn("exp-e2-curves"))
    image = maps.images[0]
    tiles = np.asarray(image.get_array())
    assert image.get_clim() == (0, 1)
    assert [tick.get_text() for tick in maps.get_xticklabels()] == ["CNN ReLU", "GCN ReLU", "STS"]
    # the supports are the diagonal: 0.6/K + 0.01 of the learned ones, times K = 3
    assert tiles[10, 10] == pytest.approx(0.63)
    assert tiles[tiles.shape[0] // 2 + 10, 10] == pytest.approx(1.0)
    assert points(lines(score, "paper")[0])[0] == pytest.approx(0.01)


def test_the_phases_are_shaded_between_their_times(drawn):
    loss = shown(drawn("p3-along-run"))[0]
    edges = sorted({round(float(patch.get_x()), 6) for patch in loss.patches})  # pyright: ignore[reportAttributeAccessIssue]
    assert edges == [FITTED, ESCAPE] or edges[-2:] == [FITTED, ESCAPE]
    assert any(f"T^*$ = {ESCAPE:.0f}" in text.get_text() for text in loss.texts)


def test_a_violated_check_is_named_by_its_first_step(seen):
    data = seen["p3-along-run"].copy(deep=True)
    data["violated_step"].loc[{"variant": "unstable", "check": "plateau"}] = 17.0
    checks = shown(draw("p3-along-run", data))[2]
    assert [text.get_text() for text in checks.texts] == ["t=17"]
    assert int((np.asarray(checks.images[0].get_array()) == 2).sum()) == 1


def test_the_portrait_follows_the_stationary_curve(seen, drawn):
    run = seen["c2-portrait"].isel(seed=0, negative_slope=0, chi=0)
    ax = drawn("c2-portrait").axes[0]
    p, curve = points(lines(ax, "paper: $C_1^*")[0])
    task = Task(36.0, 4.0, float(run.squared_norm), 1.0, 0.05)
    np.testing.assert_allclose(curve, quasi_scale(task, at_score(task, p)))
    # the peak of the identity
    assert curve.max() == pytest.approx((1 + 3) / 2, rel=1e-3)
    late = run.where(run.step > run.escape_step, drop=True)
    np.testing.assert_allclose(late.value, np.interp(late.score, p, curve), rtol=0.02)


def test_late_runs_collapse_on_the_derived_laws(drawn):
    axes = shown(drawn("t3-late"))
    for rate, constant, power in zip(axes[:3], axes[3:], (-0.5, -0.5, -1.0), strict=True):
        x, y = points(lines(rate, "paper")[0])
        assert np.diff(np.log(y)) / np.diff(np.log(x)) == pytest.approx(power)
        assert points(lines(constant, "derived")[0])[1] == pytest.approx(1.0)
        for name in ("identity", "leaky", "ReLU"):
            assert points(lines(constant, name)[0])[1] == pytest.approx(1.0, abs=0.02)
    assert "slope −1.0" in str(lines(axes[2], "all sizes")[0].get_label())


def test_escape_times_on_a_law_are_fitted_by_it_beside_the_quadrature(seen):
    data = seen["p17-escape"]
    law = data.assign(escape_step=3.0 / data.squared_norm)
    ax = draw("p17-escape", law).axes[0]
    assert "exponent −2.00" in str(lines(ax, "fit, identity")[0].get_label())
    x, printed = points(lines(ax, "paper")[0])
    np.testing.assert_allclose(printed * x, printed[0] * x[0])
    x, found = points(lines(ax, "derived")[0])
    np.testing.assert_allclose(found, [escape_integral(Task(64.0, 2.0, norm**2, 1.0, 0.05)) / 0.05 for norm in x])


def test_runs_that_never_escape_stand_at_the_edge(seen):
    data = seen["p17-escape"]
    figure = draw("p17-escape", data.assign(escape_step=xr.full_like(data.escape_step, np.inf)))
    assert all(NEVER in ax.get_legend_handles_labels()[1] for ax in figure.axes[:5])


def test_powers_of_the_dimension_stand_beside_the_printed_and_the_corrected_one(seen):
    data = seen["t3-dimension"]
    exact_law = data.assign(excess=0 * data.excess + data.token_count**2.0)
    ax, _, summary = draw("t3-dimension", exact_law).axes
    measured = [line for line in summary.lines if line.get_marker() == "o" and len(points(line)[0])]
    assert points(measured[3])[1] == pytest.approx(2.0)
    for words, power in (("paper", 4.0), ("corrected", 2.0)):
        x, y = points(lines(ax, words)[0])
        assert np.log(y[1] / y[0]) / np.log(x[1] / x[0]) == pytest.approx(power)


def test_the_escape_is_cubic_for_the_identity_alone(drawn):
    ax = drawn("c2-phases").axes[1]
    assert points(lines(ax, "paper")[0])[1] == pytest.approx(3.0)
    assert points(lines(ax, "identity")[0])[1] == pytest.approx(2.96, abs=0.05)
    assert points(lines(ax, "ReLU")[0])[1] == pytest.approx(2.17, abs=0.05)


def test_the_printed_sign_of_the_worst_case_is_marked_as_negative(seen):
    data = seen["t5-ood"].copy(deep=True)
    data["ood_excess"].loc[{"test_data": "worst_printed"}] *= -1
    ax = draw("t5-ood", data).axes[2]
    assert "negative" in str(lines(ax, "worst case as printed")[0].get_label())
    assert str(lines(ax, "worst case, sign corrected")[0].get_label()).endswith("slope −0.50")


def test_clean_losses_have_both_slopes_beside_them(drawn):
    ax = drawn("t5-ood").axes[0]
    for words, power in (("paper", -0.5), ("derived", -1.0)):
        x, y = points(lines(ax, words)[0])
        np.testing.assert_allclose(x, [1e2, 1e4])
        assert np.log(y[1] / y[0]) / np.log(100) == pytest.approx(power)
    assert ax.get_title().endswith("then slope −1.00")


def test_blocks_are_held_against_the_criteria_of_figure_1(drawn):
    *_, inactive, positional = shown(drawn("exp-e1-blocks"))
    for ax, limit in ((inactive, 0.02), (positional, 0.1)):
        assert points(lines(ax, "paper")[0])[0] == pytest.approx(limit)


def test_the_measured_floor_is_the_mean_of_the_second_half(seen, drawn):
    cell = seen["exp-e2-floor"].isel(batch=0, step_size=0)
    wanted = cell.excess.where(cell.step >= cell.step.max() / 2).mean("record")
    path, ratio = drawn("exp-e2-floor").axes
    assert points(lines(path, "derived")[0])[1] == pytest.approx(0.05)
    np.testing.assert_allclose(points(lines(ratio, "every seed")[0])[0], wanted / 0.05)
