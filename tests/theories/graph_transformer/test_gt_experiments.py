"""The experiments: their sizes are those of the register, simulations run, and what they leave can be judged."""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr

from lemmata.lab.grid import Grid, make_grid
from lemmata.lab.runner import Options, run
from lemmata.theories import graph_transformer
from lemmata.theories.graph_transformer import experiments
from lemmata.theories.graph_transformer.data import prepare
from lemmata.theories.graph_transformer.extensions import experiments as extensions
from lemmata.theories.graph_transformer.extensions.four_classes import simulate as simulate_four
from lemmata.theories.graph_transformer.extensions.whole_graphs import simulate as simulate_graphs
from lemmata.theories.graph_transformer.hand_made import experiments as hand_made
from lemmata.theories.graph_transformer.hand_made.data import count_margins
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.studies.random_samples import sample_shells, simulate_batches, simulate_sampler
from lemmata.theories.graph_transformer.studies.shells import examine_shells, vary_masses
from lemmata.theories.graph_transformer.training import simulate

CLAIMS = graph_transformer.theory.claims
ROOMS = (experiments, hand_made, extensions)
EXPERIMENTS = {one.name: one for room in ROOMS for one in room.EXPERIMENTS}
PRESETS = ("smoke", "quick", "paper")
FRACTIONS = [0.25, 0.3, 0.4, 0.5, 0.6, 0.8]
COUNTS = [10, 20, 40, 80, 160, 320, 640]

# Experiments at `quick`: seeds, fields of every cell, and for every axis its labels (with their fields)

G1: dict[str, Any] = {
    "generator": "chapter", "nodes": 1000, "patterns": 10, "dimension": 20, "feature_noise": 0.01, "degree": 120,
    "discriminative": 0.4, "confusion": 0.05, "label_noise": 0.0, "intra_degree": -1, "key_width": 20,
    "value_width": 20,
    "neurons": 400, "key_error": 0.2, "value_error": 0.1, "output_scale": 0.01, "bins": 4, "step_size": 0.1,
    "labelled": 400, "batch": 100, "sample": 60, "shells": "near", "reach": 2, "include_self": True, "model": "gt",
    "margin": 1.0, "record_every": 10, "test_draws": 3, "init": "assumption", "draw": "uniform",
}  # fmt: skip
SUCCESS: dict[str, Any] = {**G1, "test_from": 640, "watch": "full", "stop": "success", "steps": 300, "test_draws": 1}
REACHED: dict[str, Any] = {**G1, "labelled": 800, "steps": 500, "stop": "tight", "tolerance": 0.05}
GCN = {"model": "gcn", "shells": "core"}
FLIPPED = {
    f"eps_0={e:g}": {"step_size": 0.2, "steps": 300, "label_noise": e, "key_error": 0.2} for e in (0.05, 0.1, 0.2)
}
CYCLE = {
    "generator": "cycle",
    "shells": "whole",
    "sample": 40,
    "batch": 50,
    "neurons": 200,
    "step_size": 0.1,
    "steps": 400,
}
ON_CYCLES = {
    "GT+PE": {"model": "gt", "defect": "none"}, "no PE": {"model": "no_pe"},
    "z=1": {"model": "no_pe", "shells": "single", "distance": 1}, "core": {"model": "no_pe", "shells": "core"},
    "permuted": {"model": "gt", "defect": "distances"},
}  # fmt: skip
CYCLES = {"+-+-": (480, 240, 3), "++--++--": (480, 240, 5), "+++---+++---": (720, 360, 7)}
BLOCKS = {
    "generator": "blocks",
    "nodes": 600,
    "labelled": 300,
    "bins": 5,
    "steps": 600,
    "sample": 30,
    "batch": 50,
    "neurons": 200,
    "shells": "whole",
}
CORES = {
    f"{name} {model}": {**CYCLE, "sequence": name, "nodes": n, "labelled": known, "bins": z, **fields}
    for name, (n, known, z) in CYCLES.items()
    for model, fields in ON_CYCLES.items()
} | {
    f"{name} {model}": {**BLOCKS, **fields, **ON_CYCLES[model]}
    for name, fields in (
        ("G2", {"degree": 40, "heterophily": False}), ("G2, heterophilous", {"degree": 8, "heterophily": True}),
    )
    for model in ("GT+PE", "permuted")
}  # fmt: skip
ABSOLUTE: dict[str, Any] = {
    "generator": "structures", "structure": "clusters", "nodes": 480, "labelled": 240, "positions": "laplacian",
    "position_width": 7,
    "positions_in_values": 0.0, "key_width": 27, "value_width": 27, "shells": "whole", "sample": 80, "batch": 50,
    "neurons": 200, "steps": 400, "model": "no_pe", "step_size": 0.1,
}  # fmt: skip
FOUR: dict[str, Any] = {
    "nodes": 480, "patterns": 12, "labelled": 240, "batch": 50, "sample": 40, "neurons": 200, "bins": 5, "steps": 1000,
    "step_size": 0.1, "first": "++--++--", "second": "+-+-+-+-",
}  # fmt: skip
GRAPHS: dict[str, Any] = {
    "samples": 400, "test_samples": 200, "neurons": 100, "bins": 4, "batch": 40, "readout": "mean", "step_size": 0.5,
    "steps": 400, "layer_balance": "independent",
}  # fmt: skip
NEAR = {"model": "no_pe", "shells": "single", "distance": 1}
QUICK: dict[str, tuple[int, dict[str, Any], dict[str, Any]]] = {
    "p1-width": (5, {**G1, "steps": 300, "record_every": 50}, {"neurons": [1, 4, 20, 50, 100, 400]}),
    "p2-step": (20, {
        "nodes": 300, "degree": 36, "sample": 40, "neurons": 100, "labelled": 300, "batch": 0, "fresh_samples": False,
        "record_every": 1, "stop": "trained", "confusion": 0.05,
    }, {"variant": {
        **{f"eta={e:g}": {"step_size": e, "steps": t, "label_noise": 0.0, "key_error": 0.2}
           for e, t in ((0.4, 150), (0.2, 300), (0.1, 600), (0.05, 1200))},
        **FLIPPED,
        **{f"delta={d:g}": {"step_size": 0.2, "steps": 300, "label_noise": 0.0, "key_error": d}
           for d in (0.0, 0.1, 0.4)},
    }}),
    "p6-sampler": (3, {**G1, "confusion": 0.2, "shells": "core", "model": "no_pe", "steps": 300}, {"variant": {
        **{f"beta={name}": {"preference": value, "draw": "biased"}
           for name, value in (("1", 1), ("3", 3), ("10", 10), ("1/3", 1 / 3), ("1/10", 0.1))},
        "beta=10, apart": {"preference": 10, "draw": "biased_apart"},
    }}),
    "p7-training": (3, {**G1, "track": "proof"}, {"variant": {
        "intact": {"steps": 600, "train_attention": 1, "train_encoding": 1, "train_values": 1, "train_output": 1,
                   "margin": 1},
        "margin 10": {"steps": 600, "margin": 10},
        "frozen": {"steps": 600, "train_attention": 0, "train_encoding": 0, "margin": 1},
        "frozen, margin 10": {"steps": 600, "train_attention": 0, "train_encoding": 0, "margin": 10},
        "frozen values": {"steps": 300, "train_values": 0, "train_attention": 1},
        "only head": {"steps": 300, "train_values": 0, "train_attention": 0, "train_encoding": 0, "train_output": 1},
        "permuted": {"steps": 600, "defect": "labels"}, "literal init": {"steps": 300, "init": "literal"},
    }}),
    "p10-known-core": (3, {**G1, "steps": 400}, {"variant": {
        "GT+PE": {"model": "gt", "shells": "near"}, "no PE": {"model": "no_pe", "shells": "near"},
        "GT core": {"model": "no_pe", "shells": "core"}, "GCN core": GCN, "GCN": {"model": "gcn", "shells": "near"},
        "permuted": {"model": "gt", "shells": "near", "defect": "distances"},
    }}),
    "p10-variants": (3, {**G1, "steps": 400}, {"variant": {
        "as usual": {}, "whole graph": {"shells": "whole"}, "all candidates": {"draw": "all"},
        "by strata": {"draw": "stratified"}, "by the encoding": {"draw": "encoding"},
        "GCN frozen at its start": {"model": "frozen_init", "shells": "core"},
        "exact initial weights": {"init": "identity"}, "Gaussian initial weights": {"init": "gaussian"},
        "W_O scaled by rows": {"row_norm": True}, "W_O trained first": {"pretraining": 100},
    }}),
    "p16-batch": (3, {**G1, "steps": 150, "test_draws": 1, "record_every": 50}, {}),
    "f32-margins": (1, {}, {"label": [1, -1]}),
    "p9-core": (3, {}, {"variant": CORES}),
    "p17-variance": (3, {"nodes": 1000, "bins": 3, "discriminative": 0.4}, {"generator": ["chapter", "ring"]}),
    "p18-mass": (3, {"confusion": 0.05}, {"variant": {
        **{f"G2 {g:g}": {"generator": "blocks", "nodes": 600, "degree": 40, "discriminative": g}
           for g in (0.2, 0.3, 0.4, 0.6, 0.8)},
        **{f"G1 {g:g}": {"generator": "chapter", "nodes": 1000, "discriminative": g} for g in (0.25, 0.4, 0.6, 0.8)},
    }}),
    "p19-sampling": (3, {**G1, "include_self": False}, {"variant": {
        **{f"whole, {k}": {"shells": "whole", "sample": k} for k in (20, 60)},
        **{f"core, {k}": {"shells": "single", "distance": 1, "sample": k} for k in (20, 60)},
    }}),
    "p20-shells": (3, {}, {"graph": {
        "+++---+++---": {"generator": "cycle", "sequence": "+++---+++---", "nodes": 720, "bins": 7},
        "++--++--": {"generator": "cycle", "sequence": "++--++--", "nodes": 480, "bins": 5},
        "G2": {"generator": "blocks", "nodes": 600, "degree": 40, "heterophily": False},
    }}),
    "e5-literal-graph": (3, {**G1}, {"intra_degree": [0, -1]}),
    "initial-norms": (3, {**G1}, {"init": ["assumption", "identity", "literal", "gaussian"]}),
    "f33a-samples": (5, SUCCESS, {"discriminative": FRACTIONS, "labelled": COUNTS}),
    "f33b-samples": (15, SUCCESS, {"variant": {
        **{f"{e:g}": {"confusion": e, "defect": "none"} for e in (0.0, 0.1, 0.2, 0.3, 0.4)},
        **{f"{e:g}, permuted": {"confusion": e, "defect": "training_labels"} for e in (0.0, 0.1, 0.2)},
    }, "labelled": COUNTS}),
    "f34-noise": (3, {**G1, "confusion": 0.0, "steps": 600}, {"label_noise": [0.0, 0.05, 0.1, 0.2]}),
    "f35-attention": (3, {
        **G1, "discriminative": 0.2, "confusion": 0.0, "on_infeasible": "cap", "steps": 800, "track": "masses",
    }, {"margin": [1.0, 10.0], "intra_degree": [-1, 0]}),
    "f36-gcn-samples": (5, {**SUCCESS, **GCN, "confusion": 0.2, "steps": 1000}, {"variant": {
        **{f"{g:g}, {n}": {"discriminative": g, "labelled": n, "defect": "none"} for g in FRACTIONS for n in COUNTS},
        "0.4, 640, permuted": {"discriminative": 0.4, "labelled": 640, "defect": "training_labels"},
    }}),
    "f37-gcn-iterations": (3, {**REACHED, **GCN, "confusion": 0.2}, {"discriminative": FRACTIONS}),
    "p3-error": (5, SUCCESS, {"value_error": [0.0, 0.1, 0.2, 0.4], "labelled": COUNTS}),
    "p8-blocks": (3, {"generator": "blocks", "nodes": 600, "degree": 40, "labelled": 300, "steps": 600}, {"variant": {
        "GT core": {"model": "no_pe", "shells": "single", "distance": 1}, "GT+PE": {"model": "gt", "shells": "whole"},
        "GCN core": {"model": "gcn", "shells": "single", "distance": 1},
    }, "discriminative": FRACTIONS}),
    "b6a-iterations": (10, REACHED, {"variant": {
        "GT core": {"model": "no_pe", "shells": "core"}, "GT+PE": {"model": "gt", "shells": "near"}, "GCN core": GCN,
    }, "discriminative": FRACTIONS}),
    "p21-absolute": (5, ABSOLUTE, {"variant": {
        "with PE": {"position_scale": 1.0, "defect": "none"}, "PE zeroed": {"position_scale": 0.0},
        "patterns permuted": {"position_scale": 1.0, "defect": "patterns"},
    }}),
    "p21-encodings": (3, {**ABSOLUTE, "position_width": 9, "key_width": 29, "value_width": 29}, {"variant": {
        f"{name}, {how}": {"structure": structure, "positions": name, **fields}
        for how, fields in (
            ("with", {"position_scale": 1.0}), ("zeroed", {"position_scale": 0.0}),
            ("permuted", {"defect": "patterns"}),
        )
        for name, structure in (("walk", "cycles"), ("degree", "degrees"), ("centroid", "rings"))
    }}),
    "p21-graph": (10, GRAPHS, {"train_encoding": [1, 0]}),
    "p21-graph-strict": (3, {**GRAPHS, "layer_balance": "strict", "step_size": 1.0, "steps": 3000},
                         {"train_encoding": [1, 0]}),
    "p21-four": (10, FOUR, {"variant": {
        "per coordinate": {"loss": "coordinates", "defect": "none"}, "joint": {"loss": "joint", "defect": "none"},
        "permuted": {"loss": "coordinates", "defect": "distances"},
    }}),
    "p21-gat": (3, {}, {"variant": {
        **{f"G1, {s}": {"generator": "chapter", "nodes": 1000, "labelled": 400, "steps": 300, "scores": s, **NEAR}
           for s in ("dot", "additive")},
        **{f"{name}, {s}": {**CYCLE, "sequence": name, "nodes": 480, "scores": s, **NEAR}
           for s in ("dot", "additive") for name in ("+-+-", "++--++--")},
        "++--++--, z=4": {**CYCLE, "sequence": "++--++--", "nodes": 480, "scores": "dot", **NEAR, "distance": 4},
    }}),
}  # fmt: skip
NAMES = list(QUICK)


def grid(name: str, preset: str) -> Grid:
    chosen = EXPERIMENTS[name].preset(preset)
    return make_grid(chosen.setting, chosen.axes)


def test_the_experiments_are_those_of_the_register() -> None:
    assert set(EXPERIMENTS) == set(NAMES)
    assert set(NAMES) <= set(graph_transformer.theory.experiments)
    assert {read for claim in CLAIMS.values() for read in claim.reads} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_sizes_at_quick_are_those_of_the_register(name: str) -> None:
    seeds, fields, axes = QUICK[name]
    preset, found = EXPERIMENTS[name].preset("quick"), grid(name, "quick")
    assert preset.seeds == seeds
    assert {axis: set(labels) for axis, labels in found.labels.items()} == {
        axis: set(labels) for axis, labels in axes.items()
    }
    for cell, setting in found.cells.items():
        expected = dict(fields)
        for (axis, labels), i in zip(found.labels.items(), cell, strict=True):
            label = labels[i]
            expected |= axes[axis][label] if isinstance(axes[axis], Mapping) else {axis: label}
        if expected.get("labelled", 400) < expected.get("batch", 0) or name.startswith("f33") or name.startswith("f36"):
            expected.pop("batch", None)
        given = {field: getattr(setting, field) for field in expected}
        assert given == expected, found.describe(cell)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", NAMES)
def test_every_cell_of_every_preset_is_valid(name: str, preset: str) -> None:
    experiment, found = EXPERIMENTS[name], grid(name, preset)
    assert set(experiment.presets) == set(PRESETS)
    assert experiment.question.endswith("?")
    assert experiment.reference
    assert len(found.cells) == math.prod(found.shape) > 0
    assert list(found.labels) == list(grid(name, "quick").labels)
    for setting in found.cells.values():
        if isinstance(setting, Setting) and preset != "smoke":
            # the last record is at the last step, and each is `record_every` steps after the one before
            assert (setting.records - 1) * setting.record_every >= setting.steps, found
    if preset == "paper":
        assert experiment.preset(preset).seeds >= experiment.preset("quick").seeds
    if preset == "smoke" and name != "f32-margins":
        assert experiment.preset(preset).seeds == 2


def test_paper_runs_have_the_documents_step_size_and_the_same_flow_time() -> None:
    for name in (
        "p1-width",
        "p7-training",
        "p10-known-core",
        "p9-core",
        "f34-noise",
        "f35-attention",
        "f33a-samples",
        "b6a-iterations",
    ):
        quick, paper = grid(name, "quick"), grid(name, "paper")
        assert quick.labels == paper.labels
        for cell, setting in quick.cells.items():
            slow = paper.cells[cell]
            assert (slow.step_size, slow.steps) == (
                0.01,
                pytest.approx(10 * setting.steps * (2 if name == "f33a-samples" else 1)),
            )
            assert slow.record_every == 10 * setting.record_every


def test_the_axes_of_the_iteration_counts_share_one_cell() -> None:
    found = grid("p2-step", "quick")
    cells = dict(zip(found.labels["variant"], found.cells.values(), strict=True))
    common = cells["eta=0.2"]
    for case, setting in cells.items():
        field = {"eta": "step_size", "eps_0": "label_noise", "delta": "key_error"}[case.partition("=")[0]]
        assert getattr(setting, field) == float(case.partition("=")[2])
        same = {name: getattr(common, name) for name in (field, "steps")}
        assert setting.replace(**same) == common, case
        assert setting.step_size * setting.steps == pytest.approx(60)


# Running them

RUN = sorted({read for claim in CLAIMS.values() for read in claim.reads})


def test_the_experiments_that_claims_read_cover_every_simulation() -> None:
    simulations = (
        simulate, simulate_sampler, simulate_batches, simulate_four, simulate_graphs, examine_shells, sample_shells,
        count_margins, vary_masses,
    )  # fmt: skip
    assert {EXPERIMENTS[name].simulation.name for name in RUN} == {one.name for one in simulations}


@pytest.fixture(scope="module")
def found(smoke: Any) -> Callable[[str], xr.Dataset]:
    """The data of an experiment at smoke size."""
    made = smoke("graph_transformer")
    return functools.cache(lambda name: run(made.theory, name, Options("smoke", out=made.folder)).data.load())


@pytest.mark.parametrize("name", RUN)
def test_an_experiment_leaves_what_it_declares_and_nothing_is_absent(
    name: str, found: Callable[[str], xr.Dataset]
) -> None:
    data, simulation = found(name), EXPERIMENTS[name].simulation
    declared = {variable.name: variable for variable in simulation.variables}
    assert set(data.data_vars) <= set(declared)
    axes = tuple(EXPERIMENTS[name].preset("smoke").axes)
    used = data.step.notnull() if "step" in data else xr.DataArray(True)
    for variable, values in data.data_vars.items():
        assert values.dims == (*axes, "seed", *declared[str(variable)].dims), variable
        for dim in set(values.dims) & set(simulation.labels):
            assert values[dim].values.tolist() == list(simulation.labels[str(dim)])
        if not declared[str(variable)].optional:
            there = values.notnull()
            assert (there == used).all() if "record" in values.dims else there.all(), variable
        if not str(variable).endswith("_step"):
            assert not np.isinf(values).any(), variable
    if "diverged" in data:
        assert (data.diverged == 0).all()


def test_variants_of_the_training_differ_in_what_they_name_only(found: Callable[[str], xr.Dataset]) -> None:
    data = found("p7-training")
    assert {"relevant_mass", "persistence", "coefficient_negative", "active_fraction_alike"} <= set(data)
    start = data.isel(record=0)
    twins = start.sel(variant=["intact", "margin 10", "frozen", "frozen values", "only head"])
    for name in ("loss", "relevant_mass", "key_norm", "norm_ratio"):
        assert np.ptp(twins[name].values, axis=0).max() < 1e-6, name
    last = data.isel(record=2)
    for variant in ("frozen", "only head"):
        assert (last.distance_bias.sel(variant=variant) == 0).all()
        assert (last.key_norm.sel(variant=variant) == start.key_norm.sel(variant=variant)).all()
    for variant in ("frozen values", "only head"):
        assert (last.value_moved.sel(variant=variant) == 0).all()
    assert (last.value_moved.sel(variant=["intact", "frozen"]) > 0).any("pattern").all()
    assert (last.distance_bias.sel(variant="intact") != 0).any("bin").all()
    assert abs(data.time - 0.1 * data.step).max() < 1e-6


def test_only_the_training_with_proof_leaves_the_proofs_quantities(found: Callable[[str], xr.Dataset]) -> None:
    assert "relevant_mass" not in found("f33b-samples")
    assert {"loss", "full_loss", "largest_shell"} <= set(found("f33b-samples"))


def test_labels_that_are_permuted_for_training_leave_the_test_as_it_is(found: Callable[[str], xr.Dataset]) -> None:
    data = found("f33b-samples").isel(record=0)
    np.testing.assert_array_equal(data.loss.sel(variant="0.2"), data.loss.sel(variant="0.2, permuted"))
    ends = found("f33b-samples").isel(record=2).loss
    assert (ends.sel(variant="0.2") != ends.sel(variant="0.2, permuted")).any()


def test_graphs_are_prepared_with_their_own_margins(found: Callable[[str], xr.Dataset]) -> None:
    smoke = grid("p9-core", "smoke")
    cells = dict(zip(smoke.labels["variant"], smoke.cells.values(), strict=True))
    for case, core, bins, reached in (
        ("+-+- GT+PE", 2, 3, [0, 1, 1, 0, 0, 0, 0]), ("++--++-- z=1", 4, 5, [0, 1, 0, 0, 0, 0, 0]),
        ("++--++-- core", 4, 5, [0, 0, 0, 0, 1, 0, 0]), ("+++---+++--- permuted", 6, 7, [0, 1, 1, 1, 1, 1, 1]),
    ):  # fmt: skip
        facts = prepare(cells[case], 0).facts
        assert (facts["core_distance"], facts["bins_used"]) == (core, bins), case
        assert facts["reached_bins"].tolist() == reached, case
        assert not facts["count_margin"][bins:].any()
    assert (found("f32-margins").margin.sel(label=1).values == [[0, -2, 3]]).all()
    assert (found("e5-literal-graph").positive_first.sel(intra_degree=0) < 1).all()
    assert (found("e5-literal-graph").positive_first.sel(intra_degree=-1) == 1).all()
