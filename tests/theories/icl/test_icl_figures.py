"""The figures of in-context learning: no warnings, labels, the prediction, and the numbers of the data."""

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

import lemmata as lm
from lemmata.lab.default_figures import default_figure
from lemmata.lab.figures import NEVER
from lemmata.lab.grid import make_grid
from lemmata.lab.judges import level_of
from lemmata.theories import icl
from lemmata.theories.icl.figures import mechanism, sweeps
from lemmata.theories.icl.tasks import coefficient_sum

EXPERIMENTS, CLAIMS = icl.theory.experiments, icl.theory.claims
PANELS = {
    **{"p1-default": 8, "f61-prompt": 1, "f62-mechanism": 4, "p11-lucky": 2, "p17-heads": 2, "p18-classes": 2},
    **{"p2-eta": 1, "p2-alpha": 2, "p2-beta": 1, "p2-patterns": 1, "p2-width": 1, "p2-delta": 1, "p6-patterns": 3},
    **{"e2-tasks": 2, "e1-context": 2, "p4-contexts": 4, "p5-shift": 6, "f64-baselines": 6, "f64-oracle-law": 1},
    **{"f65-pruning": 4, "f63a-gpt-shift": 2, "f63b-gpt-contexts": 4},
}
NAMES = list(PANELS)
KINDS = [name for name in NAMES if name not in ("p2-beta", "p2-patterns", "p2-width", "p2-delta")]
"""One experiment of every figure."""
SWEEPS = [name for name in NAMES if name.startswith("p2-")]
STEPS = (0.0, 10.0, 100.0, 200.0, 300.0, 400.0)
SIGNED = ("query_patterns", "key_patterns", "map_update", "value_coefficient", "output_growth", "coefficients")


SIZES = {
    **{"record": 7, "pattern": 6, "other": 6, "idi": 3, "other_idi": 3, "neuron": 16, "shown": 10, "context": 3},
    **{"input": 4, "basis_pattern": 12, "odr_pattern": 3},
}


def made_up(name: str) -> xr.Dataset:
    """Runs with the variables, axes and labels of a smoke preset and plausible numbers, without a simulation."""
    preset, simulation = EXPERIMENTS[name].preset("smoke"), EXPERIMENTS[name].simulation
    grid = make_grid(preset.setting, preset.axes)
    coordinates = {**grid.coordinates(), "seed": np.arange(3)}
    labels = {dim: np.asarray(values) for dim, values in simulation.labels.items()}
    sizes = {
        **SIZES,
        "head": getattr(preset.setting, "heads", 1),
        **{dim: len(v) for dim, v in labels.items()},
    }
    runs = [len(values) for values in coordinates.values()]
    data = xr.Dataset(
        {
            variable.name: ((*coordinates, *variable.dims), np.zeros([*runs, *(sizes[dim] for dim in variable.dims)]))
            for variable in simulation.variables
        },
        coords={**coordinates, **labels, **grid.fields()},
    )
    rng = np.random.default_rng(0)

    def invent(variable: xr.DataArray) -> xr.DataArray:
        low = -0.5 if variable.name in SIGNED else 0.05
        return variable.copy(data=rng.uniform(low, 0.9, variable.shape))

    data = data.map(invent)
    coin = lambda v: (v > 0.4) * 2.0 - 1  # noqa: E731
    shape = {
        "step": lambda v: 0 * v + xr.DataArray(np.resize((*STEPS, np.nan), v.sizes["record"]), dims="record"),
        "reached_step": lambda v: 400 * v,
        "unseen_error": lambda v: v * 0.5**v.test_contexts if "test_contexts" in v.dims else v,
        "prompts": lambda v: 0 * v + 2400,
        "active_hinge": lambda v: 0 * v + 1,
        "large": lambda v: (v > 0.4) * 1.0,
        "partner": lambda v: (v > 0.6) * 1.0,
        "lucky": lambda v: np.round(4 * v),
        "unsigned_lucky": lambda v: np.round(8 * v),
        "width": lambda v: 0 * v + 16,
        "label": coin,
        "context_label": coin,
    }
    return data.assign({key: make(data[key]) for key, make in shape.items() if key in data})


@pytest.fixture(scope="module")
def smoke() -> dict[str, xr.Dataset]:
    return {name: made_up(name) for name in NAMES}


def draw(name: str, data: xr.Dataset, layout: bool = False) -> Figure:
    """The figure as when it is saved, but laid out only if that is asked for; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = EXPERIMENTS[name].draw(data, CLAIMS)
        if not layout:
            figure.set_layout_engine("none")
        figure.draw_without_rendering()
    return figure


@pytest.fixture(scope="module")
def drawn(smoke: dict[str, xr.Dataset]) -> Callable[[str], Figure]:
    """The figures of made-up data, each drawn once and laid out as when it is saved."""
    return functools.cache(lambda name: draw(name, smoke[name], layout=True))


def shown(figure: Figure) -> list[Axes]:
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]


def line(ax: Axes, words: str) -> Line2D:
    """The line of a legend entry that begins with these words."""
    for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
        if label.startswith(words):
            return handle if isinstance(handle, Line2D) else getattr(handle, "lines")[0]  # noqa: B009
    raise AssertionError(f"{words} is not among {ax.get_legend_handles_labels()[1]}")


def values(found: Line2D) -> np.ndarray:
    return np.asarray(found.get_ydata(), float)


def words_x(ax: Axes) -> bool:
    return bool(ax.get_xlabel()) or any(any(c.isalpha() for c in tick.get_text()) for tick in ax.get_xticklabels())


def says(ax: Axes) -> str:
    """All words of a panel."""
    return " ".join([ax.get_title(), *ax.get_legend_handles_labels()[1], *(text.get_text() for text in ax.texts)])


@pytest.mark.parametrize("name", KINDS)
def test_a_figure_is_drawn_without_warnings_labelled_and_with_the_prediction(name, drawn):
    figure = drawn(name)
    assert len(shown(figure)) == PANELS[name]
    assert figure.get_size_inches()[0] < 13
    assert all(float(text.get_fontsize()) >= 7.5 for text in figure.findobj(Text) if text.get_text())
    for ax in shown(figure):
        assert ax.get_title()
        assert ax.has_data() or ax.texts
        assert any(word in says(ax) for word in ("paper", "claimed", "corrected", "exact", "predicted"))
        if name == "f61-prompt":
            continue
        assert words_x(ax)
        assert ax.get_ylabel()
        legend = ax.get_legend()
        assert legend is not None
        words = [text.get_window_extent() for text in legend.get_texts()]
        assert max(box.y1 for box in words) <= ax.xaxis.get_tightbbox().y0  # pyright: ignore[reportOptionalMemberAccess]
        assert legend.get_window_extent().x0 >= 0


@pytest.mark.parametrize("name", KINDS)
def test_axes_narrowed_to_one_value_and_one_seed_are_still_drawn(name, smoke):
    """By the figure of the experiment, or, where it needs what is gone, by the default one, as in `lemmata run`."""
    axes = [*EXPERIMENTS[name].preset("smoke").axes, "seed"]
    data = smoke[name].isel({axis: [-1] for axis in axes})
    try:
        assert draw(name, data).axes
    except (KeyError, ValueError, lm.NotApplicable):
        assert name in ("p1-default", "p18-classes", "e1-context", "p4-contexts", "p5-shift")
        assert default_figure(data).axes


@pytest.mark.parametrize("name", ["p1-default", "f61-prompt", "p11-lucky", "p2-alpha"])
def test_failed_cells_leave_a_gap(name, smoke):
    data = smoke[name].copy(deep=True)
    axes = list(EXPERIMENTS[name].preset("smoke").axes)
    for variable in data.data_vars.values():
        variable[dict.fromkeys(axes, 0)] = np.nan
    assert draw(name, data).axes


@pytest.mark.parametrize("name", SWEEPS)
def test_runs_that_never_arrive_stand_at_the_edge_and_have_no_law(name, smoke):
    never = smoke[name].assign(reached_step=xr.full_like(smoke[name].reached_step, np.inf))
    labels = draw(name, never).axes[0].get_legend_handles_labels()[1]
    assert NEVER in labels
    assert not any("fit" in label or "paper" in label for label in labels)


def test_iterations_on_a_law_are_fitted_by_it_and_the_claimed_one_goes_through_their_centre():
    sizes = np.array([1.0, 2.0, 4.0])
    times = xr.DataArray(
        100 * sizes**-2.0 * np.array([[0.9], [1.0], [1 / 0.9]]), {"step_size": sizes}, ["seed", "step_size"]
    )
    ax = sweeps.iterations(xr.Dataset({"reached_step": times})).axes[0]
    fit = line(ax, "fit")
    assert str(fit.get_label()).startswith("fit: exponent −2.00")
    np.testing.assert_allclose(values(fit)[[0, -1]], 100 * sizes[[0, -1]] ** -2.0)
    # the claimed exponent is -1, and both laws meet at the geometric centre x = 2
    np.testing.assert_allclose(values(line(ax, "paper")), 25 * (sizes / 2) ** -1.0)


def test_the_default_figure_shows_the_means_of_the_data_and_the_pruning_formula(smoke, drawn):
    data = smoke["p1-default"]
    intact = data.sel(variant="intact")
    axes = shown(drawn("p1-default"))
    known = np.isfinite(intact.step.values[0])
    measured = values(line(axes[0], "hinge loss, intact"))[known]
    np.testing.assert_allclose(measured, intact.unseen_hinge_path.mean("seed").values[known])
    np.testing.assert_allclose(values(line(axes[0], "paper")), level_of(CLAIMS["p1-unseen-hinge"].judge)[1])
    rates = intact.rate.values.astype(float)
    np.testing.assert_allclose(
        values(line(axes[7], "pruned: smallest")), intact.pruned_hinge.sel(order="smallest").mean("seed").values
    )
    share, margin = intact.pruned_large_share.values[:, None], intact.unseen_margin.values[:, None]
    formula = np.where(rates <= share, np.maximum(0, 1 - margin * (1 - rates / share)), np.nan)
    some = np.isfinite(formula).any(axis=0)
    np.testing.assert_allclose(values(line(axes[7], "formula"))[some], np.nanmean(formula[:, some], axis=0))
    # the linear bound δ (β²+1) α η t/(2m)
    delta = float(intact.key_patterns.isel(record=0).values.diagonal(axis1=1, axis2=2).mean())
    law = values(line(axes[6], "paper"))[known]
    np.testing.assert_allclose(law, delta * 10 * 0.8 * intact.step.values[0][known] / 32)


def test_the_prompt_is_written_as_patterns_with_the_attention_beside_it(smoke, drawn):
    row = np.zeros(12)
    row[[0, 10]] = 1, -0.3
    assert mechanism.decompose(row, patterns=6) == r"$\mu_{1}-0.30\,\nu_{5}$"
    data = smoke["f61-prompt"]
    words = [text.get_text() for text in drawn("f61-prompt").axes[0].texts]
    for share in data.attention.values[0]:
        assert f"attention\n{share:.3f}" in words


def test_label_blocks_of_negative_neurons_end_at_180_degrees(smoke):
    data = smoke["f62-mechanism"]
    aligned = data.assign(shown_label_cosine=xr.ones_like(data.shown_label_cosine))
    ax = shown(draw("f62-mechanism", aligned))[3]
    ends = {
        mark: [float(path[-1]) for path in (np.asarray(found.get_xdata(), float) for found in marked) if path.size]
        for mark in "^v"
        if (marked := [found for found in ax.get_lines() if found.get_marker() == mark])
    }
    assert ends == {"^": [0.0] * 5, "v": [180.0] * 5}


def test_lucky_neurons_stand_beside_their_binomial_law(drawn):
    from scipy.stats import binom

    left, right = drawn("p11-lucky").axes
    for ax, share in ((left, 1 / 8), (right, 1 / 4)):
        np.testing.assert_allclose(values(line(ax, "exact")), binom.pmf(np.arange(17), 16, share))


def test_the_worse_head_is_drawn_below_the_better_one(smoke, drawn):
    data = smoke["p17-heads"].isel(variant=0)
    left = drawn("p17-heads").axes[0]
    np.testing.assert_allclose(values(line(left, "better")), data.concentration.max("head"))
    np.testing.assert_allclose(values(line(left, "worse")), data.concentration.min("head"))


def test_errors_by_length_stand_in_the_band_of_absent_matches(smoke, drawn):
    data = smoke["p4-contexts"]
    ax = drawn("p4-contexts").axes[0]
    corners = ax.collections[0].get_paths()[0].vertices
    for length, share in ((1.0, 0.8), (5.0, 0.8**5)):
        ends = np.unique(corners[np.isclose(corners[:, 0], length), 1])
        np.testing.assert_allclose(ends[[0, -1]], [share / 2, share])
    measured = data.unseen_error.sel(attention="trained", test_mode="iid", test_fraction=0.4).mean("seed")
    np.testing.assert_allclose(values(line(ax, r"$\alpha'$ = 0.4")), measured)


def test_shifts_stand_at_their_coefficient_sum(smoke, drawn):
    data = smoke["p5-shift"]
    axes = drawn("p5-shift").axes
    part = data.sel(variant="U=1", moment="end")
    found = line(axes[0], "U=1, branch B")
    assert np.asarray(found.get_xdata(), float)[-1] == pytest.approx(coefficient_sum(135))
    assert values(found)[-1] == pytest.approx(float(part.shift_error.sel(shift="135").mean()))
    found = line(axes[3], "U=1, branch A")
    assert values(found)[0] == pytest.approx(float(part.query_hinge.sel(shift="45").isel(odr_pattern=0).mean()))


def test_the_required_length_is_the_shortest_that_suffices_and_never_reached_where_none_does():
    hinge = np.array([[[0.9], [0.3], [0.1], [0.9], [0.9]], [[0.9], [0.1], [0.3], [0.9], [0.9]]])
    fields = {
        "contexts": [1.0, 2, 4, 1, 2],
        "initial_scale": [0.2] * 3 + [0.1] * 2,
    }
    data = xr.Dataset(
        {"last_watch_hinge": (("seed", "variant", "fraction"), hinge)},
        {
            "variant": ["short, 1", "short, 2", "short, 4", "long, 1", "long, 2"],
            "fraction": [0.5],
            **{name: ("variant", numbers) for name, numbers in fields.items()},
        },
    )
    last = sweeps.training_contexts(data, CLAIMS).axes[1]
    assert values(line(last, "short budget")) == pytest.approx(3.0)
    assert np.isnan(values(line(last, "long budget"))).all()
    assert line(last, NEVER)
    # the claimed 1/α goes through the geometric mean of 4 and 2
    assert values(line(last, "paper")) == pytest.approx(8**0.5)


def test_the_oracle_is_beside_its_law(smoke, drawn):
    data = smoke["f64-oracle-law"]
    ax = drawn("f64-oracle-law").axes[0]
    np.testing.assert_allclose(values(line(ax, "exact")), 0.8**data.test_contexts.values / 2)
    measured = data.oracle_error.sel(test_fraction=0.2).mean("seed")
    np.testing.assert_allclose(values(line(ax, r"oracle, $\alpha'$ = 0.2")), measured)
