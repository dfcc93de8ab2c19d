"""The experiments: their sizes are those of the specification, and all of them run, are drawn and can be judged."""

import contextlib
import json
import math
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes

from lemmata.lab.claims import INCONCLUSIVE, OUTCOMES, NotApplicable, examine
from lemmata.lab.grid import Grid, make_grid
from lemmata.lab.intervals import CannotFit
from lemmata.lab.runner import Options, Outcome, run
from lemmata.lab.verify import verify
from lemmata.theories import vit

EXPERIMENTS = vit.theory.experiments
NAMES = [
    "v1-zero-risk", "f1a-samples", "f3-samples-frozen", "f1a-samples-shared", "f1b-sigma", "v6-token-noise",
    "f2-iterations", "f2-step-size", "f4-attention", "v7-initial-model", "dynamics", "v8-losses", "v10-lucky-sets",
    "v24-initial-attention", "f5-sparsification", "v19-multiclass", "v20-patterns", "v21-heads", "v22-skip",
]  # fmt: skip
MEASURED = ["v10-lucky-sets", "v24-initial-attention"]
"""Experiments on the initial network."""
TRAINED = [name for name in NAMES if name not in MEASURED]
IMAGES = ("f6a-", "f6c-")
"""Experiments on images have tests of their own."""
PRESETS = ("smoke", "quick", "paper")

# The table of experiments at `quick`: seeds, fields of every cell, and for every axis its labels with their fields

CONSTANTS = {
    "dimension": 10, "patterns": 5, "value_width": 10, "key_width": 10, "token_noise": 0.01, "noise_law": "gaussian",
    "output_scale": 0.01, "output_rule": "given", "init": "assumption", "pattern_basis": "random",
    "label_balance": "exact", "shuffle": True, "fractions": "fixed", "noisy_fraction": 0.0, "value_error": 0.1,
    "attention_error": 0.2,
    "value_error_law": "random", "relevant_fraction": 0.4, "confusion_fraction": 0.1, "samples": 100, "tokens": 50,
    "neurons": 200, "output": "shared", "step_size": 0.1, "batch": 0, "batches": "epochs", "steps": 600,
    "stop": "zero_loss", "loss": "hinge", "margin": 1.0, "label_order": "true", "train_attention": 1,
    "test_samples": 200, "reduction": "none", "noise_radius": 0.0, "keep": 1.0, "classes": 2, "members": 1,
    "member_shares": None,
    "heads": 1, "skip": False, "attention_error_law": "random", "defect": "none", "balanced_signs": False,
    "free_queries": False, "clip_spectral": False, "uniform_attention": False,
}  # fmt: skip
"""The default setting of section 6, with m = 200."""

ATTENTION = {"trained": {"train_attention": 1}, "frozen": {"train_attention": 0}}
VARIANTS = {
    "shared": {"output": "shared", "step_size": 0.1},
    "per_token": {"output": "per_token", "step_size": 1.0},
}
F1 = {"neurons": 100, "output": "per_token", "step_size": 2.0}
F1_FRACTIONS = {
    0.30: {"relevant_fraction": 0.30, "confusion_fraction": 0.20},
    0.32: {"relevant_fraction": 0.32, "confusion_fraction": 0.18},
    0.34: {"relevant_fraction": 0.34, "confusion_fraction": 0.16},
    0.36: {"relevant_fraction": 0.36, "confusion_fraction": 0.14},
    0.40: {"relevant_fraction": 0.40, "confusion_fraction": 0.10},
    0.48: {"relevant_fraction": 0.48, "confusion_fraction": 0.02},
}
F2 = {
    "value_error": 0.1, "attention_error": 0.4, "confusion_fraction": 0.05, "tokens": 20, "neurons": 100, "samples": 40,
    "steps": 1500, "stop": "small_loss",
}  # fmt: skip
F4 = {
    "tokens": 50, "samples": 200, "relevant_fraction": 0.5, "confusion_fraction": 0.05, "neurons": 1000, "batch": 20,
    "steps": 400, "stop": "never",
}  # fmt: skip


F5 = {
    "samples": 80, "tokens": 50, "value_error": 0.1, "attention_error": 0.5, "relevant_fraction": 0.6,
    "confusion_fraction": 0.05, "noisy_fraction": 0.3, "noisy_level": 0.3, "normalise": "yes", "output": "per_token",
    "neurons": 200, "step_size": 1.0, "batch": 0, "steps": 75, "stop": "never",
}  # fmt: skip
VARIANT = {"tokens": 40, "samples": 60, "neurons": 200, "step_size": 0.1}


def counts(*values: int) -> dict[float, dict[str, int]]:
    """Full batch up to N = 64, else B = 64."""
    return {n: {"samples": n, "batch": 0 if n <= 64 else 64} for n in values}


def values(field: str, *allowed: Any) -> dict[Any, dict[str, Any]]:
    return {value: {field: value} for value in allowed}


QUICK: dict[str, tuple[int, dict[str, Any], dict[str, dict[Any, dict[str, Any]]]]] = {
    "v1-zero-risk": (
        20,
        {"test_samples": 1000},
        {
            "variant": {
                "shared": {"output": "shared", "samples": 16, "step_size": 0.3, "batch": 0},
                "per_token": {"output": "per_token", "samples": 256, "step_size": 2.0, "batch": 64},
            },
            "label_order": values("label_order", "true", "shuffled"),
        },
    ),
    "f1a-samples": (5, F1, {"relevant_fraction": F1_FRACTIONS, "samples": counts(2, 4, 8, 16, 32, 64, 128)}),
    "f3-samples-frozen": (
        5,
        {**F1, "train_attention": 0},
        {"relevant_fraction": F1_FRACTIONS, "samples": counts(2, 4, 8, 16, 32, 64, 128)},
    ),
    "f1a-samples-shared": (
        5,
        {**F1, "output": "shared", "step_size": 0.3},
        {
            "relevant_fraction": {alpha: F1_FRACTIONS[alpha] for alpha in (0.32, 0.36, 0.48)},
            "samples": counts(2, 8, 32),
            "attention": ATTENTION,
        },
    ),
    "f1b-sigma": (
        3,
        {**F1, "relevant_fraction": 0.3, "confusion_fraction": 0.2},
        {
            "value_error": values("value_error", 0.0, 0.2, 0.6),
            "value_error_law": values("value_error_law", "random", "confuse"),
            "samples": counts(32, 64, 128, 256),
        },
    ),
    "v6-token-noise": (
        7,
        {**F1, "step_size": 1.0, "samples": 64, "normalise": "yes", "relevant_fraction": 0.36}
        | {"confusion_fraction": 0.14},
        {"token_noise": values("token_noise", 0.01, 0.1, 0.2, 0.3)},
    ),
    "f2-iterations": (
        5,
        F2,
        {
            "relevant_fraction": values("relevant_fraction", 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8),
            "variant": VARIANTS,
            "attention": ATTENTION,
        },
    ),
    "f2-step-size": (
        5,
        {**F2, "relevant_fraction": 0.4, "confusion_fraction": 0.1, "samples": 20},
        {
            "variant": {
                "shared 0.02": {"output": "shared", "step_size": 0.02},
                "shared 0.05": {"output": "shared", "step_size": 0.05},
                "shared 0.1": {"output": "shared", "step_size": 0.1},
                "shared 0.2": {"output": "shared", "step_size": 0.2},
                "shared 0.5": {"output": "shared", "step_size": 0.5},
                "per_token 0.25": {"output": "per_token", "step_size": 0.25},
                "per_token 0.5": {"output": "per_token", "step_size": 0.5},
                "per_token 1": {"output": "per_token", "step_size": 1.0},
                "per_token 2": {"output": "per_token", "step_size": 2.0},
            }
        },
    ),
    "f4-attention": (3, {**F4, "record_every": 4}, {"variant": VARIANTS, "attention": ATTENTION}),
    "v7-initial-model": (
        5,
        {"relevant_fraction": 0.36, "confusion_fraction": 0.14, "samples": 24, "neurons": 100},
        {
            "value_error": values("value_error", 0.0, 0.2, 0.4, 0.6),
            "value_error_law": values("value_error_law", "confuse", "random"),
            "attention_error": values("attention_error", 0.2, 0.0, 0.4),
        },
    ),
    "dynamics": (
        3,
        {},
        {
            "variant": {
                "shared": {**VARIANTS["shared"], "batch": 0},
                "per_token": {**VARIANTS["per_token"], "batch": 0},
                "shared-b20": {**VARIANTS["shared"], "batch": 20},
            },
            "attention": ATTENTION,
        },
    ),
    "v8-losses": (
        3,
        {**F4, "neurons": 200, "steps": 1000},
        {
            "loss": {
                "hinge margin 1": {"loss": "hinge", "margin": 1.0},
                "hinge margin 10": {"loss": "hinge", "margin": 10.0},
                "logistic": {"loss": "logistic"},
            },
            "attention": ATTENTION,
        },
    ),
    "v10-lucky-sets": (3, {"neurons": 1000}, {"defect": values("defect", "none", "shifted")}),
    "v24-initial-attention": (
        20,
        {"samples": 20, "tokens": 50, "noise_law": "ball", "normalise": "yes", "neurons": 50},
        {
            "variant": {
                "random 0": {"attention_error_law": "random", "attention_error": 0.0, "noise_radius": 0.0},
                "random 0.2": {"attention_error_law": "random", "attention_error": 0.2, "noise_radius": 0.05},
                "random 0.4": {"attention_error_law": "random", "attention_error": 0.4, "noise_radius": 0.05},
                "confuse 0": {"attention_error_law": "confuse", "attention_error": 0.0, "noise_radius": 0.0},
                "confuse 0.2": {"attention_error_law": "confuse", "attention_error": 0.2, "noise_radius": 0.05},
                "confuse 0.4": {"attention_error_law": "confuse", "attention_error": 0.4, "noise_radius": 0.05},
                "counter-example": {
                    "patterns": 3,
                    "pattern_basis": "canonical",
                    "attention_error": 0.4,
                    "relevant_fraction": 0.5,
                    "confusion_fraction": 0.0,
                    "init": "given",
                },
            }
        },
    ),
    "f5-sparsification": (
        8,
        F5,
        {
            "keep": values("keep", 1.0, 0.8, 0.7),
            "strategy": values("strategy", "random", "irrelevant", "noisy", "relevant"),
        },
    ),
    "v19-multiclass": (
        3,
        {
            "dimension": 12,
            "value_width": 12,
            "key_width": 12,
            "patterns": 7,
            "classes": 4,
            "tokens": 40,
            "samples": 80,
            "neurons": 400,
            "steps": 400,
        },
        {},
    ),
    "v20-patterns": (
        3,
        {
            **VARIANT,
            "dimension": 20,
            "value_width": 20,
            "key_width": 20,
            "members": 2,
            "member_spread": 0.3,
            "member_shares": [[0.7, 0.3]] * 5,
        },
        {"attention": ATTENTION},
    ),
    "v21-heads": (3, VARIANT, {"heads": values("heads", 1, 2, 4)}),
    "v22-skip": (3, {**VARIANT, "skip": True}, {"attention": ATTENTION}),
}


def grid(name: str, preset: str) -> Grid:
    chosen = EXPERIMENTS[name].preset(preset)
    return make_grid(chosen.setting, chosen.axes)


def stride(setting: Any) -> int:
    """Steps between two records: more than `record_every` where the records would not reach the last step."""
    return max(setting.record_every, math.ceil(setting.steps / (setting.records - 1)))


def test_every_experiment_read_by_a_claim_is_checked_here():
    assert set(NAMES) == set(QUICK)
    assert set(NAMES) <= set(EXPERIMENTS)
    read = {name for claim in vit.theory.claims.values() for name in claim.reads if not name.startswith(IMAGES)}
    assert read <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_has_three_presets_and_says_what_it_asks(name):
    experiment = EXPERIMENTS[name]
    assert set(experiment.presets) == set(PRESETS)
    assert experiment.name == name
    assert experiment.question.endswith("?")
    assert experiment.reference


@pytest.mark.parametrize("name", NAMES)
def test_the_quick_preset_is_that_of_the_specification(name):
    seeds, fields, axes = QUICK[name]
    assert EXPERIMENTS[name].preset("quick").seeds == seeds
    found = grid(name, "quick")
    assert {axis: list(labels) for axis, labels in axes.items()} == found.labels
    for cell, setting in found.cells.items():
        expected = CONSTANTS | fields
        for labels, i in zip(axes.values(), cell, strict=True):
            expected |= list(labels.values())[i]
        actual = {field: getattr(setting, field) for field in expected}
        if (shares := actual.pop("member_shares")) is not None:
            assert shares.tolist() == expected["member_shares"]
            expected = {**expected, "member_shares": None}
        assert {**actual, "member_shares": None} == pytest.approx(expected), found.describe(cell)


def test_sixteen_tokens_name_one_of_four_classes_and_four_confuse():
    (setting,) = grid("v19-multiclass", "quick").cells.values()
    assert (setting.relevant_tokens, setting.confusion_tokens) == (16, 4)


def test_sparsification_keeps_thirty_five_of_fifty_tokens_of_unit_norm():
    settings = grid("f5-sparsification", "quick").cells.values()
    assert {setting.kept_tokens for setting in settings} == {50, 40, 35}
    assert all(setting.unit_tokens for setting in settings)


def test_the_counter_example_mixes_the_features_of_two_patterns():
    # W_Q mu_1 = q_1 + 0.4 q_3, W_K mu_3 = q_3 + 0.4 q_1, and nothing else
    setting = list(grid("v24-initial-attention", "quick").cells.values())[-1]
    expected = np.eye(10)
    expected[2, 0] = 0.4
    assert (setting.query_map == expected).all()
    assert (setting.key_map == expected.T).all()
    assert (setting.value_map == np.eye(10)).all()
    # half of the tokens are mu_1 where y = +1, all others mu_3
    assert (setting.relevant_tokens, setting.confusion_tokens, setting.patterns) == (25, 0, 3)


def test_token_noise_is_swept_on_unit_norm_tokens():
    assert all(setting.unit_tokens for setting in grid("v6-token-noise", "quick").cells.values())


def test_the_fractions_with_enough_slack_at_quick_are_those_of_the_register():
    found = grid("f1a-samples", "quick")
    slacks = {found.labels["relevant_fraction"][i]: setting.condition_slack for (i, _), setting in found.cells.items()}
    assert [alpha for alpha, slack in slacks.items() if slack >= 0.05] == [0.34, 0.36, 0.40, 0.48]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", NAMES)
def test_every_cell_is_valid_and_no_batch_exceeds_its_samples(name, preset):
    found = grid(name, preset)
    assert len(found.cells) == math.prod(found.shape) > 0
    assert EXPERIMENTS[name].preset(preset).seeds >= 2
    for cell, setting in found.cells.items():
        assert 0 <= setting.batch <= setting.samples, found.describe(cell)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", [name for name in TRAINED if name != "f5-sparsification"])
def test_first_passages_are_seen_at_every_step_of_full_batches_and_within_ten_of_mini_batches(name, preset):
    for setting in grid(name, preset).cells.values():
        assert stride(setting) <= (10 if setting.batch else 1)


def test_sparsified_training_runs_for_seventy_five_steps_without_a_stop():
    for preset in ("quick", "paper"):
        found = {(s.steps, s.stop, s.batch) for s in grid("f5-sparsification", preset).cells.values()}
        assert found == {(75, "never", 0)}


def test_figure_2_4_is_recorded_every_four_steps_and_the_dynamics_at_every_step():
    for preset in ("quick", "paper"):
        assert {stride(setting) for setting in grid("f4-attention", preset).cells.values()} == {4}
        assert {stride(setting) for setting in grid("dynamics", preset).cells.values()} == {1}


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("f1")])
@pytest.mark.parametrize("preset", ["quick", "paper"])
def test_batches_are_full_up_to_sixty_four_samples(name, preset):
    for setting in grid(name, preset).cells.values():
        assert setting.batch == (0 if setting.samples <= 64 else 64)


@pytest.mark.parametrize("name", NAMES)
def test_the_paper_preset_is_at_least_as_large_as_quick(name):
    quick, paper = (EXPERIMENTS[name].preset(preset) for preset in ("quick", "paper"))
    assert paper.seeds >= quick.seeds
    for size in ("tokens", "neurons", "samples", "test_samples", "steps"):
        assert getattr(paper.setting, size) >= getattr(quick.setting, size)
    for axis, labels in grid(name, "quick").labels.items():
        assert set(labels) <= set(grid(name, "paper").labels[axis])


def test_all_smoke_presets_share_one_set_of_sizes():
    sizes = set()
    for name in NAMES:
        assert EXPERIMENTS[name].preset("smoke").seeds == 2
        for setting in grid(name, "smoke").cells.values():
            sizes.add((setting.tokens, setting.neurons, setting.records, setting.test_samples, setting.steps))
            assert setting.samples <= 8
    assert len(sizes) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_smoke_preset_asks_the_same_question_as_quick(name):
    smoke, quick = grid(name, "smoke"), grid(name, "quick")
    assert list(smoke.labels) == list(quick.labels)
    kept = ("stop", "loss", "track", "normalise", "relevant_fraction", "confusion_fraction", "value_error")
    settings = [EXPERIMENTS[name].preset(preset).setting for preset in ("smoke", "quick")]
    assert len({tuple(getattr(setting, field) for field in kept) for setting in settings}) == 1


# Running them


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Options:
    return Options(preset="smoke", out=tmp_path_factory.mktemp("smoke"))


@pytest.fixture(scope="module")
def outcomes(options: Options) -> dict[str, Outcome]:
    """Every experiment at smoke size, run when first asked for and kept."""

    class Outcomes(dict):
        def __missing__(self, name: str) -> Outcome:
            self[name] = run(vit.theory, name, options)
            return self[name]

    return Outcomes()


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
def test_an_experiment_runs_at_smoke_without_failed_cells(name, outcomes, options):
    outcome = outcomes[name]
    found = grid(name, "smoke")
    assert outcome.failed == 0
    assert outcome.failures == {}
    sizes = {axis: len(labels) for axis, labels in found.labels.items()} | {"seed": 2}
    assert {dim: outcome.data.sizes[dim] for dim in sizes} == sizes
    for axis, labels in found.labels.items():
        assert outcome.data[axis].values.tolist() == labels
    assert outcome.path == options.directory / "vit" / name
    assert (outcome.path / "data.zarr").is_dir()
    record = json.loads((outcome.path / "run.json").read_text())
    assert (record["experiment"], record["preset"], record["seeds"]) == (name, "smoke", [0, 1])


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_leaves_every_declared_variable(name, outcomes):
    data = outcomes[name].data
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
def test_absent_values_stand_only_after_the_stop_and_never_among_scalars(name, outcomes):
    data = outcomes[name].data
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
def test_steps_flags_and_passages_agree_with_the_records(name, outcomes):
    data = outcomes[name].data
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
def test_frozen_attention_does_not_move_and_trained_attention_does(name, outcomes):
    data = outcomes[name].data
    path = data.concentration.sel(query="all")
    spread = path.max("record") - path.min("record")
    assert (spread.sel(attention="frozen") == 0).all()
    assert (spread.sel(attention="trained") > 0).all()


def test_neurons_are_followed_where_a_neuron_has_one_sign(outcomes):
    data = outcomes["dynamics"].data
    used = used_records(data)
    for name in ("unsolved", "group_output"):
        recorded = data[name].notnull()
        assert not recorded.sel(variant="per_token").any()
        assert (recorded == used).sel(variant=["shared", "shared-b20"]).all()
    for name in ("query_features", "key_features", "value_features"):
        assert (data[name].notnull() == used).all()


@pytest.mark.parametrize("name", MEASURED)
def test_initial_networks_are_measured_everywhere(name, outcomes):
    data = outcomes[name].data
    # without any error and noise there is no bound on the response to it
    unbounded = {"noise_ratio", "noise_ratio_without_error"}
    assert all(np.isfinite(data[str(name)]).all() for name in set(data.data_vars) - unbounded)


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_run_again_gives_the_stored_data(name, outcomes, options):
    first = outcomes[name]
    again = run(vit.theory, name, options)
    assert again.data.identical(first.data)


# Drawing them


def says_x(ax: Axes) -> bool:
    """The x axis has a label (its own, or that of a panel that shares the axis), or its ticks are words."""
    siblings = ax.get_shared_x_axes().get_siblings(ax)
    words = [tick.get_text() for tick in ax.get_xticklabels()]
    return any(other.get_xlabel() for other in siblings) or any(any(c.isalpha() for c in word) for word in words)


def says_y(ax: Axes) -> bool:
    return any(other.get_ylabel() for other in ax.get_shared_y_axes().get_siblings(ax))


@pytest.mark.parametrize("name", NAMES)
def test_the_figure_of_an_experiment_is_drawn_and_labelled(name, outcomes):
    picture = (outcomes[name].path / "figure.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 5000
    figure = EXPERIMENTS[name].draw(outcomes[name].data, vit.theory.claims)
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


def test_all_claims_can_be_judged_at_smoke(outcomes, options):
    read = {name for claim in vit.theory.claims.values() for name in claim.reads}
    claims = [claim for claim in vit.theory.claims.values() if set(claim.reads) <= set(NAMES)]
    for name in read & set(NAMES):
        assert outcomes[name].failed == 0
    rows = [row.json() for row in verify([(vit.theory, claims)], options).rows]
    assert [row["claim"] for row in rows] == [claim.name for claim in claims]
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
def test_behind_the_gates_evidence_is_found_in_what_the_experiments_leave(name, outcomes):
    data = passed(outcomes[name].data)
    claims = [claim for claim in vit.theory.claims.values() if claim.reads == (name,)]
    assert claims
    for claim in claims:
        finding = examine(claim, {name: data})
        for verdict in (finding.verdict, *(verdict for _, verdict in finding.controls)):
            assert "not converged" not in verdict.note, claim.name
            assert "not applicable" not in verdict.note, claim.name
            assert verdict.outcome != INCONCLUSIVE or "not measured in every seed" in verdict.note, claim.name


def test_every_evidence_control_and_gate_can_be_taken_at_smoke(outcomes):
    for claim in vit.theory.claims.values():
        if set(claim.reads) <= set(NAMES):
            datasets = {
                name: passed(outcomes[name].data) if name in TRAINED else outcomes[name].data for name in claim.reads
            }
            for evidence in (claim.evidence, *(control.evidence(claim.evidence) for control in claim.controls)):
                with contextlib.suppress(NotApplicable, CannotFit):
                    evidence(datasets)
            if claim.gate:
                for name in claim.evidence.reads:
                    claim.gate.check(datasets[name])
