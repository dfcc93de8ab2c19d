"""The experiments at the preset smoke: all of them run, are drawn and can be judged."""

import contextlib
import json

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from vit_experiment_table import EXPERIMENTS, MEASURED, NAMES, TRAINED, grid, stride

from lemmata.lab.claims import INCONCLUSIVE, OUTCOMES, NotApplicable, examine
from lemmata.lab.intervals import CannotFit
from lemmata.theories import vit

# Running them


@pytest.fixture
def data(name: str, smoke) -> xr.Dataset:
    """What the experiment of this name leaves at smoke size."""
    return smoke("vit").data(name)


SCALARS = {
    "reached_step", "small_loss_step", "last_step", "last_loss", "diverged", "test_hinge", "test_hinge_error",
    "test_error", "test_margin", "noise_norm", "similarity", "condition_slack", "untrained_test_hinge",
    "untrained_test_error", "relevant_share", "confusion_share", "neutral_share",
}  # fmt: skip
LOSS_PATH = {"step", "train_loss"}
ATTENTION_PATH = {"concentration", "complement", "confused", "lowest", "movement"}
NEURON_PATH = {
    "query_features", "key_features", "value_features", "alignment", "component", "square_norm", "persistence",
    "value_growth", "value_size", "group_output", "unsolved",
}  # fmt: skip
NEED_NEURONS = {"dynamics", "v21-heads"}
NEED_ATTENTION = {"f4-attention", "v8-losses", "v20-patterns", "v22-skip"} | NEED_NEURONS
EXTRA = {"v19-multiclass": {"class_displacement"}, "v20-patterns": {"member_cosine"}}


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_runs_at_smoke_without_failed_cells(name, data, smoke):
    labels = grid(name, "smoke").labels
    assert data.sizes["seed"] == 2
    assert {axis: data[axis].values.tolist() for axis in labels} == labels
    folder = smoke("vit").folder / "vit" / name
    assert (folder / "data.zarr").is_dir()
    record = json.loads((folder / "run.json").read_text())
    assert (record["experiment"], record["preset"], record["seeds"]) == (name, "smoke", [0, 1])
    assert record["failures"] == {}


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_leaves_every_declared_variable(name, data):
    if name in MEASURED:
        expected = {variable.name for variable in EXPERIMENTS[name].simulation.variables}
    else:
        expected = SCALARS | LOSS_PATH | EXTRA.get(name, set())
        expected |= ATTENTION_PATH if name in NEED_ATTENTION else set()
        expected |= NEURON_PATH if name in NEED_NEURONS else set()
    assert expected <= set(data.data_vars)
    axes = (*grid(name, "smoke").labels, "seed")
    for variable in EXPERIMENTS[name].simulation.variables:
        if variable.name in expected:
            assert data[variable.name].dims == (*axes, *variable.dims)
            assert data[variable.name].dtype == np.float32
    if name in NEED_ATTENTION:
        assert data["query"].values.tolist() == ["all", "relevant", "confusion", "neutral"]


def used_records(data: xr.Dataset) -> xr.DataArray:
    return data.step.notnull()


@pytest.mark.parametrize("name", TRAINED)
def test_absent_values_stand_only_after_the_stop_and_never_among_scalars(name, data):
    for scalar in SCALARS:
        assert data[scalar].notnull().all(), scalar
    used = used_records(data)
    assert used.isel(record=0).all()
    count = used.sum("record")
    assert (used == (xr.DataArray(np.arange(used.sizes["record"]), dims="record") < count)).all()
    paths = {"train_loss"} | ({"lowest", "movement"} if name in NEED_ATTENTION else set())
    for path in paths:
        assert (data[path].notnull() == used).all(), path
    if name in NEED_ATTENTION:
        for path in ("concentration", "complement", "confused"):
            for query in ("all", "relevant"):
                assert (data[path].sel(query=query).notnull() == used).all(), (path, query)
            assert not data[path].notnull().where(~used, False).any()


@pytest.mark.parametrize("name", TRAINED)
def test_steps_flags_and_passages_agree_with_the_records(name, data):
    used = used_records(data)
    last = used.sum("record") - 1
    assert (data.step.isel(record=0) == 0).all()
    assert (data.step.isel(record=last) == data.last_step).all()
    assert (data.train_loss.isel(record=last) == data.last_loss).all()
    assert np.isin(data.diverged.values, (0, 1)).all()
    widest = float(data.step.diff("record").max())
    assert widest <= max(stride(setting) for setting in grid(name, "smoke").cells.values())
    for passage, level in (("reached_step", 0.0), ("small_loss_step", 1e-3)):
        # the first record at or below the level; inf where there is none
        first = data.step.where(data.train_loss <= np.float32(level)).min("record").fillna(np.inf)
        assert (data[passage] == first).all()
    stop = EXPERIMENTS[name].preset("smoke").setting.stop
    full = EXPERIMENTS[name].preset("smoke").setting.steps
    ended = {
        "zero_loss": data.reached_step,
        "small_loss": data.small_loss_step,
        "never": xr.full_like(data.last_step, np.inf),
    }
    assert (data.last_step == np.minimum(ended[stop], full)).where(data.diverged == 0, True).all()


@pytest.mark.parametrize("name", sorted(NEED_ATTENTION - {"v21-heads"}))
def test_frozen_attention_does_not_move_and_trained_attention_does(name, data):
    path = data.concentration.sel(query="all")
    spread = path.max("record") - path.min("record")
    assert (spread.sel(attention="frozen") == 0).all()
    assert (spread.sel(attention="trained") > 0).all()


def test_neurons_are_followed_where_a_neuron_has_one_sign(smoke):
    data = smoke("vit").data("dynamics")
    used = used_records(data)
    for name in ("unsolved", "group_output"):
        recorded = data[name].notnull()
        assert not recorded.sel(variant="per_token").any()
        assert (recorded == used).sel(variant=["shared", "shared-b20"]).all()
    for name in ("query_features", "key_features", "value_features"):
        assert (data[name].notnull() == used).all()


@pytest.mark.parametrize("name", MEASURED)
def test_initial_networks_are_measured_everywhere(name, data):
    # without any error and noise there is no bound on the response to it
    unbounded = {"noise_ratio", "noise_ratio_without_error"}
    assert all(np.isfinite(data[str(name)]).all() for name in set(data.data_vars) - unbounded)


# Drawing them


def says_x(ax: Axes) -> bool:
    """The x axis has a label (its own, or that of a panel that shares the axis), or its ticks are words."""
    siblings = ax.get_shared_x_axes().get_siblings(ax)
    words = [tick.get_text() for tick in ax.get_xticklabels()]
    return any(other.get_xlabel() for other in siblings) or any(any(c.isalpha() for c in word) for word in words)


def says_y(ax: Axes) -> bool:
    return any(other.get_ylabel() for other in ax.get_shared_y_axes().get_siblings(ax))


@pytest.mark.parametrize("name", NAMES)
def test_the_figure_of_an_experiment_is_drawn_and_labelled(name, data, smoke):
    picture = (smoke("vit").folder / "vit" / name / "figure.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 5000
    figure = EXPERIMENTS[name].draw(data, vit.theory.claims)
    bars = [ax for ax in figure.axes if ax.get_label() == "<colorbar>"]
    panels = [ax for ax in figure.axes if ax not in bars]
    assert panels
    for ax in panels:
        assert says_x(ax)
        assert says_y(ax)
        assert ax.get_legend() is not None or ax.get_title()
        assert ax.has_data()
    for ax in bars:
        assert ax.get_ylabel() or ax.get_xlabel()


# Judging them

NUMBERS = ("predicted", "measured", "low", "high")


def test_all_claims_are_judged_at_smoke(smoke):
    rows = [row.json() for row in smoke("vit").rows]
    assert [row["claim"] for row in rows] == list(vit.theory.claims)
    for row in rows:
        assert row["outcome"] in OUTCOMES
        assert row["control"] in OUTCOMES
        assert row["expected"] in OUTCOMES
        assert row["preset"] == "smoke"
        assert row["note"]
        assert all(row[number] is None or isinstance(row[number], float) for number in NUMBERS), row
        assert ("accept_low" in row) == (row["relation"] == "in")
        assert json.loads(json.dumps(row, allow_nan=False)) == row


GATED = ["dynamics", "v7-initial-model", "v19-multiclass", "v20-patterns", "v21-heads", "v22-skip", "f5-sparsification"]


def passed(data: xr.Dataset) -> xr.Dataset:
    """The runs of a smoke preset as if they had passed their gates: arrived at their last step, loss around 0.4."""
    return data.assign(reached_step=data.last_step, test_hinge=data.test_hinge * 0.4 / data.test_hinge.mean())


@pytest.mark.parametrize("name", GATED)
def test_behind_the_gates_evidence_is_found_in_what_the_experiments_leave(name, data):
    claims = [claim for claim in vit.theory.claims.values() if claim.reads == (name,)]
    assert claims
    for claim in claims:
        finding = examine(claim, {name: passed(data)})
        for verdict in (finding.verdict, *(verdict for _, verdict in finding.controls)):
            assert "not converged" not in verdict.note, claim.name
            assert "not applicable" not in verdict.note, claim.name
            assert verdict.outcome != INCONCLUSIVE or "not measured in every seed" in verdict.note, claim.name


def test_every_evidence_control_and_gate_can_be_taken_at_smoke(smoke):
    for claim in vit.theory.claims.values():
        if set(claim.reads) <= set(NAMES):
            datasets = {name: smoke("vit").data(name) for name in claim.reads}
            datasets |= {name: passed(data) for name, data in datasets.items() if name in TRAINED}
            for evidence in (claim.evidence, *(control.evidence(claim.evidence) for control in claim.controls)):
                with contextlib.suppress(NotApplicable, CannotFit):
                    evidence(datasets)
            if claim.gate:
                for name in claim.evidence.reads:
                    claim.gate.check(datasets[name])
