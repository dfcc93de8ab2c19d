"""The figures of the graph transformer: no warnings, labels, predictions in their place, the numbers of the data."""

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
from lemmata.lab.grid import make_grid
from lemmata.lab.judges import level_of
from lemmata.lab.panels import NEVER
from lemmata.theories.graph_transformer import bounds, theory
from lemmata.theories.graph_transformer.figures import over_distance

PANELS = {
    "p1-width": 2, "p2-step": 3, "p6-sampler": 2, "p7-training": 6, "p10-known-core": 4, "p10-variants": 2,
    "p16-batch": 4,
    "f32-margins": 2, "p9-core": 6, "p17-variance": 1, "p18-mass": 1, "p19-sampling": 1, "p20-shells": 3,
    "e5-literal-graph": 2, "p21-absolute": 2, "p21-encodings": 1, "p21-graph": 4, "p21-graph-strict": 4, "p21-four": 4,
    "p21-gat": 4, "f33a-samples": 2, "f33b-samples": 3, "f34-noise": 3, "f35-attention": 4, "f36-gcn-samples": 2,
    "f37-gcn-iterations": 2, "b6a-iterations": 2, "p3-error": 2, "p8-blocks": 2,
}  # fmt: skip
KINDS = [name for name in PANELS if name not in ("p21-graph-strict", "p8-blocks")]
"""One experiment of every figure."""
PLAIN = ("f32-margins", "p10-variants", "p21-encodings")
"""A drawing, and default figures of experiments that no claim reads."""
SIZES = {"record": 3, "bin": 7, "pattern": 4, "other": 4, "redraw": 20, "watched": 12, "distance": 3}
SIGNED = ("distance_bias", "count_margin", "normalised_margin", "least_exchange", "mean_exchange", "value_opposition")
ARRIVALS = ("reached_step", "tight_step", "success_step", "trained_step")


def made_up(name: str) -> xr.Dataset:
    """Runs with the variables, axes and labels of a smoke preset and plausible numbers, without a simulation."""
    preset, simulation = theory.experiments[name].preset("smoke"), theory.experiments[name].simulation
    grid = make_grid(preset.setting, preset.axes)
    coordinates = {**grid.coordinates(), "seed": np.arange(2)}
    labels = {dim: np.asarray(values) for dim, values in simulation.labels.items()}
    sizes = {**SIZES, **{dim: len(values) for dim, values in labels.items()}}
    runs = [len(values) for values in coordinates.values()]
    rng = np.random.default_rng(0)
    found = {}
    for variable in simulation.variables:
        low = -0.5 if variable.name in SIGNED else 0.05
        numbers = rng.uniform(low, 0.9, [*runs, *(sizes[dim] for dim in variable.dims)])
        found[variable.name] = xr.DataArray(numbers, dims=(*coordinates, *variable.dims))
    shape: dict[str, Callable[[xr.DataArray], Any]] = {
        "step": lambda v: 0 * v + xr.DataArray([0.0, 2.0, 4.0], dims="record"),
        "time": lambda v: 0 * v + xr.DataArray([0.0, 0.2, 0.4], dims="record"),
        "bins_used": lambda v: 0 * v + 4,
        "core_distance": lambda v: 0 * v + 2,
        "full_loss": lambda v: 1e-3 * v,
        **dict.fromkeys(ARRIVALS, lambda v: 400 * v),
    }
    made = {key: shape[key](values) if key in shape else values for key, values in found.items()}
    used = {dim: values for dim, values in labels.items() if any(dim in values.dims for values in made.values())}
    return xr.Dataset(made, {**coordinates, **used}).assign_coords(grid.fields())


@pytest.fixture(scope="module")
def smoke() -> Callable[[str], xr.Dataset]:
    return functools.cache(made_up)


def draw(name: str, data: xr.Dataset, layout: bool = False) -> Figure:
    """The figure, laid out as when it is saved if that is asked for; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = theory.experiments[name].draw(data, theory.claims)
        if layout:
            figure.draw_without_rendering()
    return figure


@pytest.fixture(scope="module")
def drawn(smoke: Callable[[str], xr.Dataset]) -> Callable[[str], Figure]:
    """The figures of made-up data, each drawn once and laid out as when it is saved."""
    return functools.cache(lambda name: draw(name, smoke(name), layout=True))


def shown(figure: Figure) -> list[Axes]:
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]


def line(ax: Axes, words: str) -> Line2D:
    """The line of a legend entry that begins with these words."""
    for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
        if label.startswith(words):
            found = handle[0] if isinstance(handle, tuple) else handle
            assert isinstance(found, Line2D)
            return found
    raise AssertionError(f"{words} is not among {ax.get_legend_handles_labels()[1]}")


def values(found: Line2D) -> np.ndarray:
    return np.asarray(found.get_ydata(), float)


def places(found: Line2D) -> np.ndarray:
    return np.asarray(found.get_xdata(), float)


def predictions(ax: Axes) -> list[Line2D]:
    return [found for found in ax.get_lines() if found.get_linestyle() == "--" and np.size(found.get_xdata())]


def levels(ax: Axes) -> list[float]:
    """Heights of the predictions that are horizontal."""
    return sorted({float(values(found)[0]) for found in predictions(ax) if np.ptp(values(found)) == 0})


def words_x(ax: Axes) -> bool:
    return bool(ax.get_xlabel()) or any(any(c.isalpha() for c in tick.get_text()) for tick in ax.get_xticklabels())


@pytest.mark.parametrize("name", KINDS)
def test_a_figure_is_drawn_without_warnings_labelled_within_finite_axes_and_with_the_prediction(name, drawn):
    figure = drawn(name)
    assert len(shown(figure)) == PANELS[name]
    assert figure.get_figwidth() <= 10.7
    assert all(float(text.get_fontsize()) >= 7.5 for text in figure.findobj(Text) if text.get_text())
    told = [
        *(ax.get_title() for ax in figure.axes),
        *(t for ax in figure.axes for t in ax.get_legend_handles_labels()[1]),
    ]
    assert any(words.startswith(("paper", "claimed")) for words in told) or name in PLAIN
    for ax in shown(figure):
        assert np.isfinite([*ax.get_xlim(), *ax.get_ylim()]).all()
        assert ax.has_data()
        if name == "f32-margins":
            continue
        assert words_x(ax)
        assert ax.get_ylabel() or any(tick.get_text() for tick in figure.axes[0].get_yticklabels())
        legend = ax.get_legend()
        if legend is not None:
            top = max(text.get_window_extent().y1 for text in legend.get_texts())
            assert top <= ax.xaxis.get_tightbbox().y0 + 3  # pyright: ignore[reportOptionalMemberAccess]
            assert legend.get_window_extent().width <= 1.3 * ax.get_window_extent().width


@pytest.mark.parametrize("name", KINDS)
def test_one_seed_is_still_drawn_and_failed_cells_leave_a_gap(name, smoke):
    axes = list(theory.experiments[name].preset("smoke").axes)
    data = smoke(name).isel(seed=[-1] if axes else [0, 1]).copy(deep=True)
    for variable in data.data_vars.values():
        variable[dict.fromkeys(axes, 0) if axes else {"seed": 0}] = np.nan
    assert draw(name, data).axes


@pytest.mark.parametrize("name", ["p7-training", "p9-core", "f34-noise", "p21-four"])
def test_the_end_of_a_run_that_stopped_early_is_its_last_record(name, smoke):
    data = smoke(name).copy(deep=True)
    for variable in data.data_vars.values():
        if "record" in variable.dims:
            variable[{"record": -1, "seed": 0}] = np.nan
    figure = draw(name, data)
    if name == "f34-noise":
        off = values(line(figure.axes[1], "noisy test labels"))
        part = data.isel(label_noise=0)
        ends = np.array([part.loss.isel(seed=0, record=1), part.loss.isel(seed=1, record=2)])
        np.testing.assert_allclose(off, abs(ends - 2 * part.flipped))


@pytest.mark.parametrize("name", ["p2-step", "p6-sampler", "f37-gcn-iterations", "b6a-iterations"])
def test_runs_that_never_arrive_stand_at_the_edge_and_have_no_law(name, smoke):
    data = smoke(name)
    never = data.assign({key: xr.full_like(data[key], np.inf) for key in ARRIVALS})
    ax = draw(name, never).axes[1 if name == "p6-sampler" else 0]
    labels = ax.get_legend_handles_labels()[1]
    assert NEVER in labels
    assert not any("fit" in label or "paper" in label for label in labels)


def test_iterations_lie_on_the_corrected_exponents_and_the_printed_ones_cross_them(smoke):
    data = smoke("p2-step")
    times = 20 / (data.step_size * (1 - 2 * data.label_noise)) + 0 * data.trained_step
    left, middle, right = draw("p2-step", data.assign(trained_step=times)).axes
    eta = np.array([0.05, 0.1, 0.2, 0.4])
    np.testing.assert_allclose(places(line(left, "corrected")), eta)
    np.testing.assert_allclose(values(line(left, "corrected")), 20 / eta)
    # both laws meet at the geometric centre of the axis
    centre = np.exp(np.log(eta).mean())
    np.testing.assert_allclose(values(line(left, "paper")), 20 / centre * (eta / centre) ** -0.5)
    assert str(line(left, "fit").get_label()).startswith("fit: exponent −1.00")
    # the cell that all axes share stands at 1 - 2 ε_0 = 1 and at 1 - δ = .8
    np.testing.assert_allclose(places(line(middle, "corrected")), [0.6, 0.8, 0.9, 1.0])
    np.testing.assert_allclose(values(line(middle, "corrected")), 100 / np.array([0.6, 0.8, 0.9, 1.0]))
    np.testing.assert_allclose(places(line(right, "paper")), [0.6, 0.8, 0.9, 1.0])
    np.testing.assert_allclose(values(line(right, "corrected")), 100)


def test_minimal_counts_stand_beside_both_laws_and_absent_ones_at_the_edge():
    counts, gamma = np.array([10.0, 20, 40, 80]), np.array([0.25, 0.5, 0.8])
    minimal = np.array([20.0, 40, np.inf])
    loss = np.where(counts >= minimal[:, None], 1e-4, 0.5)
    data = xr.Dataset(
        {"full_loss": (("discriminative", "labelled", "seed"), np.repeat(loss[..., None], 2, axis=2))},
        {"discriminative": gamma, "labelled": counts, "seed": [0, 1]},
    )
    figure = draw("f33a-samples", data)
    ax = shown(figure)[1]
    x = np.sort(gamma**-2.0)
    np.testing.assert_allclose(places(line(ax, "measured")), x)
    np.testing.assert_allclose(values(line(ax, "measured")), [np.nan, 40, 20])
    np.testing.assert_allclose(places(line(ax, NEVER)), [0.8**-2])
    # the open constant is chosen so that the law passes through the centre of the two counts at γ_d^-2 = 4 and 16
    np.testing.assert_allclose(values(line(ax, r"paper: $|L|")), x * np.sqrt(40 / 4 * 20 / 16))
    term = np.asarray(bounds.samples(gamma_d=gamma[::-1]))
    np.testing.assert_allclose(values(line(ax, "paper (3.9)")), term * np.sqrt(40 / term[1] * 20 / term[2]))
    rates = shown(figure)[0].images[0].get_array()
    assert rates is not None
    np.testing.assert_allclose(np.asarray(rates), np.where(counts[:, None] >= minimal[::-1], 1.0, 0.0))


def test_iterations_of_a_gcn_are_judged_against_a_line_in_the_inverse_square():
    gamma = np.array([0.25, 0.4, 0.5, 0.8])
    times = np.stack([10 + 20 * gamma**-2.0] * 2)
    dims = ("seed", "discriminative")
    data = xr.Dataset({"reached_step": (dims, times), "tight_step": (dims, 2 * times)}, {"discriminative": gamma})
    left, right = draw("f37-gcn-iterations", data).axes
    found = line(left, "fit: slope 20, $R^2$ = 1.00")
    np.testing.assert_allclose(np.asarray(found.get_xydata()), [[0.8**-2, 10 + 20 * 0.8**-2], [16, 330]])
    slopes = np.diff(np.log(values(line(right, "paper")))) / np.diff(np.log(gamma))
    np.testing.assert_allclose(slopes, -2)


def test_the_gcn_is_compared_with_the_graph_transformer_seed_by_seed(smoke):
    data = smoke("b6a-iterations")
    times = data.reached_step.copy(deep=True)
    times.loc[{"variant": "GT core"}] = 50.0
    times.loc[{"variant": "GCN core"}] = 150.0
    times.loc[{"variant": "GCN core", "discriminative": 0.25, "seed": 0}] = np.inf
    right = draw("b6a-iterations", data.assign(reached_step=times)).axes[1]
    np.testing.assert_allclose(values(line(right, "geometric mean")), [np.nan, 3, 3])
    np.testing.assert_allclose(places(line(right, NEVER)), [0.25])


def test_the_loss_ends_beside_twice_the_flipped_labels(smoke):
    data = smoke("f34-noise")
    flipped = xr.full_like(data.flipped, 0.0) + data.label_noise + 0.01
    left, right, last = draw("f34-noise", data.assign(flipped=flipped)).axes
    np.testing.assert_allclose(levels(left), [0.02, 0.12, 0.22, 0.42])
    limits = [values(found)[0] for found in right.get_lines() if found.get_linestyle() == ":"]
    np.testing.assert_allclose(limits, [0.02, 0.03, 0.04, 0.06])
    slopes = np.diff(np.log(values(line(last, "paper")))) / np.diff(np.log(places(line(last, "paper"))))
    np.testing.assert_allclose(slopes, 3)


def test_attention_is_drawn_towards_its_limits(smoke, drawn):
    for ax in shown(drawn("f35-attention")):
        assert levels(ax) == [0.0, 1.0]
    data = smoke("p7-training")
    axes = shown(drawn("p7-training"))
    assert 1.0 in levels(axes[0])
    assert 0.95 in levels(axes[1])
    measured = data.relevant_mass.sel(variant="margin 10", group="other").mean("seed")
    np.testing.assert_allclose(values(line(axes[1], "margin 10")), measured)
    keys = data.key_norm.sel(variant="intact") / data.key_norm.sel(variant="intact").isel(record=0)
    lead = (keys.isel(pattern=0) - keys.isel(pattern=[2, 3]).mean("pattern")).mean("seed")
    np.testing.assert_allclose(values(line(axes[2], r"$\|q_1\|$")), lead)


def test_samplers_batches_and_shares_stand_beside_their_formulas(drawn):
    found = line(drawn("p6-sampler").axes[0], "paper")
    beta = places(found)
    np.testing.assert_allclose(values(found), 0.2 / (0.2 + 0.8 * beta))
    assert beta.min() == pytest.approx(0.1)
    axes = shown(drawn("p16-batch"))
    slopes = np.diff(np.log(values(line(axes[0], "paper")))) / np.diff(np.log(places(line(axes[0], "paper"))))
    np.testing.assert_allclose(slopes, -0.5)
    found = line(axes[2], "paper")
    np.testing.assert_allclose(values(found), np.exp(-places(found) / 4))
    np.testing.assert_allclose(np.asarray(line(drawn("p18-mass").axes[0], "paper").get_xydata()), [[0, 0], [1, 0.95]])


def test_samples_stand_beside_the_bound_of_their_size(smoke, drawn):
    sizes = smoke("p19-sampling")["sample"].values
    assert levels(drawn("p19-sampling").axes[0]) == pytest.approx(sorted({2 / size**2 for size in sizes}))


def test_the_variance_stands_beside_the_bound_of_its_graph(smoke):
    data = smoke("p17-variance")
    limits = xr.zeros_like(data.bound) + xr.DataArray(
        [1800.0, 0.018], {"generator": ["chapter", "ring"]}, ["generator"]
    )
    (ax,) = draw("p17-variance", data.assign(bound=limits)).axes
    assert levels(ax) == pytest.approx([0.018, 1800])


def test_the_node_of_figure_3_2_has_its_neighbours_on_two_circles_and_its_margins_written():
    margin = xr.DataArray([[[0.0, -2.0, 3.0]], [[0.0, 2.0, -3.0]]], dims=("label", "seed", "distance"))
    figure = draw("f32-margins", xr.Dataset({"margin": margin}, {"label": [1.0, -1.0], "seed": [0]}))
    for ax, wanted in zip(figure.axes, (("−2  (paper: −2)", "3  (paper: 3)"), ("2", "−3")), strict=True):
        written = [text.get_text() for text in ax.texts]
        for z, value in zip((1, 2), wanted, strict=True):
            assert rf"distance {z}: $\Delta_n({z})$ = {value}" in written
        for pattern, far in ((1, [1, 2, 2, 2, 2]), (2, [1, 1, 1, 2])):
            radii = np.linalg.norm(np.asarray(line(ax, rf"pattern $\mu_{pattern}$").get_xydata()), axis=1)
            np.testing.assert_allclose(np.sort(radii), far)


def test_the_encoding_stands_beside_the_margins_scaled_to_it(smoke):
    data = smoke("p9-core").copy(deep=True)
    margins = np.array([9.0, -4, 2, 8, 1, 0, 0])
    data["count_margin"][:] = margins
    data["distance_bias"][:] = np.array([5.0, -1, 0, 3, 1, 7, 7])
    ax = draw("p9-core", data).axes[0]
    np.testing.assert_allclose(values(line(ax, "paper"))[1:4], margins[1:4] * 3 / 8)
    np.testing.assert_array_equal(np.isfinite(values(line(ax, "paper"))), [False, True, True, True, *[False] * 3])


def test_only_bins_in_use_beyond_the_node_itself_are_drawn():
    values = xr.DataArray(np.ones((2, 5)), dims=("seed", "bin"))
    kept = over_distance(values, xr.DataArray([3, 4], dims="seed"))
    assert kept.bin.values.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(kept.notnull(), [[0, 1, 1, 0, 0], [0, 1, 1, 1, 0]])


def test_two_networks_have_two_core_distances(drawn):
    axes = shown(drawn("p21-four"))
    assert [float(places(line(ax, "paper"))[0]) for ax in axes[2:]] == [4.0, 2.0]


def test_the_levels_of_default_figures_are_those_of_their_claims(drawn):
    for ax, claim in zip(shown(drawn("p21-gat")), ("near", "zero-margin", "opposite"), strict=False):
        low, high = level_of(theory.claims[f"p21-gat-{claim}"].judge)
        assert values(line(ax, "claimed"))[0] == (low if np.isfinite(low) else high)


def test_exchanges_are_never_negative_in_the_paper_and_only_bins_in_use_are_drawn(smoke):
    data = smoke("p20-shells").copy(deep=True)
    data["least_exchange"][..., 5:] = 0
    data["mean_exchange"][..., 5:] = 0
    ax = draw("p20-shells", data).axes[0]
    assert levels(ax) == [0.0]
    smallest = line(ax, "smallest")
    np.testing.assert_allclose(places(smallest)[np.isfinite(values(smallest))], [1, 2, 3, 4])


def test_every_node_of_the_paper_has_a_positive_margin(drawn):
    assert values(line(drawn("e5-literal-graph").axes[1], "paper"))[0] == 1.0


def test_tables_have_the_computed_and_the_printed_numbers_side_by_side():
    dims = ("graph", "seed", "quantity")
    numbers = {"computed": (dims, [[[2.0, 1.0, 5.0]]]), "printed": (dims, [[[2.0, np.nan, 4.5]]])}
    labels = {"graph": ["cora"], "quantity": ["average", "largest gap", "10 √N"]}
    table = theory.experiments["tb8-balance"].table
    assert table is not None
    found = table(xr.Dataset(numbers, labels))
    assert isinstance(found, lm.Table)
    assert list(found.columns) == ["graph", "source", "average", "largest gap", "10 √N"]
    assert found.rows == [["Cora", "computed", "2.00", "1.00", "5.00"], ["Cora", "paper", "2.00", "–", "4.50"]]


def test_the_table_of_initial_weights_has_means_over_the_seeds():
    norms = np.array([[[1.0, 2, 3], [3, 4, 5]], [[1, 1, 1], [1, 1, 1]]])
    facts = {
        "pattern_distance": (("init", "seed"), [[1.0, 2.0]] * 2),
        "pattern_product": (("init", "seed"), [[0.0, 0.5]] * 2),
    }
    data = xr.Dataset(
        {"spectral_norm": (("init", "seed", "matrix"), norms), **facts}, {"init": ["assumption", "identity"]}
    )
    table = theory.experiments["initial-norms"].table
    assert table is not None
    assert table(data).rows == [["assumption", 2.0, 3.0, 4.0, 1.5, 0.25], ["identity", 1.0, 1.0, 1.0, 1.5, 0.25]]
