"""Experiment E4: images as patches, the convolutional teacher, its student, and the claims on hand-made data."""

import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy.ndimage import map_coordinates

import lemmata as lm
from lemmata.datasets import digits
from lemmata.datasets.images import Images, unsplit
from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, Finding, examine
from lemmata.lab.errors import UserError
from lemmata.lab.runner import Options, run
from lemmata.theories.teacher_student.mnist import data as real
from lemmata.theories.teacher_student.mnist.claims import CLAIMS, record_from_which_above
from lemmata.theories.teacher_student.mnist.experiments import EXPERIMENTS, VARIANTS
from lemmata.theories.teacher_student.mnist.figures import basins
from lemmata.theories.teacher_student.mnist.setting import MnistSetting
from lemmata.theories.teacher_student.mnist.training import (
    Teacher,
    hidden,
    initialise,
    outputs,
    probes,
    recorded_steps,
    shuffled,
    simulate,
)
from lemmata.theories.teacher_student.network import Weights, batch_gradient, position_scores, respond

EXPERIMENT = EXPERIMENTS[0]
SMOKE = EXPERIMENT.presets["smoke"].setting
THEORY = lm.Theory(
    dict.fromkeys(("title", "authors", "question", "answer"), "") | {"name": "real", "headlines": []},
    MnistSetting, simulate, EXPERIMENTS, CLAIMS,
)  # fmt: skip
BY_NAME = {claim.name: claim for claim in CLAIMS}


@pytest.fixture
def real_mnist(monkeypatch) -> None:
    home = Path(os.environ.get("LEMMATA_DATA", Path(__file__).parents[4] / "shared" / "data"))
    if not (home / "mnist").is_dir():
        pytest.skip(f"{home / 'mnist'} is not there")
    monkeypatch.setenv("LEMMATA_DATA", str(home))


def random_images(count: int = 5) -> np.ndarray:
    return np.random.default_rng(0).random((count, 27, 27)).astype(np.float32)


# Images as patches


def test_patches_and_their_pixels_are_counted_row_by_row():
    canvas = np.arange(27 * 27.0).reshape(1, 27, 27)
    x = real.patches(canvas)
    assert x.shape == (9, 1, 81)
    assert x[:, 0, 0].tolist() == [0, 1, 2, 27, 28, 29, 54, 55, 56]
    assert x[0, 0, 1] == 3
    assert x[0, 0, 9] == 3 * 27
    assert x[8, 0, 80] == 27 * 27 - 1


def test_the_target_scores_join_the_nine_patches_of_a_pooling_group():
    target = real.target_scores()
    assert np.flatnonzero(target[:, 0]).tolist() == [0, 1, 2, 9, 10, 11, 18, 19, 20]
    assert np.flatnonzero(target[:, 40]).tolist() == [30, 31, 32, 39, 40, 41, 48, 49, 50]
    assert set(np.unique(target)) == {0, 1 / 9}
    np.testing.assert_allclose(target.sum(0), 1)
    np.testing.assert_array_equal(target, target.T)


def test_the_boundary_is_key_rows_1_to_9_and_73_to_81():
    assert (np.flatnonzero(real.boundary()) + 1).tolist() == [*range(1, 10), *range(73, 82)]


def test_mnist_is_resized_by_bilinear_interpolation_between_pixel_centres():
    pixels = np.random.default_rng(1).random((2, 28, 28, 1))
    centres = (np.arange(27) + 0.5) * 28 / 27 - 0.5
    by_hand = [map_coordinates(p[..., 0], np.meshgrid(centres, centres, indexing="ij"), order=1) for p in pixels]
    np.testing.assert_allclose(real.on_canvas(pixels), by_hand, atol=1e-12)


def test_a_digit_of_the_stand_in_lies_at_rows_and_columns_3_to_22_of_an_empty_canvas():
    pixels = digits.load(20).train_pixels[:4]
    canvas = real.on_canvas(pixels)
    assert canvas.shape == (4, 27, 27)
    np.testing.assert_array_equal(canvas[:, 3:23, 3:23], pixels[..., 0])
    assert canvas.sum() == pytest.approx(pixels.sum())


def small_source(count: int = 50) -> Images:
    pixels = np.broadcast_to((np.arange(count) / 100)[:, None, None, None], (count, 28, 28, 1))
    return unsplit(pixels, np.arange(count) % 10, tuple("0123456789"), "test")


def test_a_source_without_a_split_keeps_a_fifth_for_the_test_whatever_is_trained_on():
    few, many = (real.choose(small_source(), samples, 8, seed=0) for samples in (20, 1000))
    assert (len(few.train), len(many.train), len(few.test)) == (20, 40, 8)
    np.testing.assert_array_equal(few.test, many.test)
    np.testing.assert_array_equal(few.train, many.train[:20])
    kinds = [np.round(part[:, 0, 0] * 100).astype(int).tolist() for part in (many.train, many.test)]
    assert not set(kinds[0]) & set(kinds[1])
    assert many.train_labels.tolist() == [k % 10 for k in kinds[0]]
    assert real.choose(small_source(), 20, 8, seed=1).train_labels.tolist() != few.train_labels.tolist()


def test_a_source_with_a_split_is_tested_on_its_own_test_images():
    whole = small_source(30)
    source = Images(
        whole.train_pixels[:20], whole.train_labels[:20], whole.train_pixels[20:], whole.train_labels[20:], (), ""
    )
    chosen = real.choose(source, 100, 100, seed=0)
    assert sorted(np.round(chosen.train[:, 0, 0] * 100)) == list(range(20))
    assert sorted(np.round(chosen.test[:, 0, 0] * 100)) == list(range(20, 30))


def test_the_background_is_minus_0_424_where_pixels_are_standardised_and_0_where_not():
    for scaling, background in (("standard", -0.1307 / 0.3081), ("unit", 0.0)):
        prepared = real.prepare(SMOKE.replace(scaling=scaling), 0)
        np.testing.assert_allclose(prepared.inputs[:, :, 0], background, rtol=1e-6)
        assert prepared.energy[0] == pytest.approx(9 * background**2, rel=1e-5)
    np.testing.assert_allclose(prepared.inputs.sum((0, 2))[0], prepared.example.sum(), rtol=1e-5)


# Teacher and student


def native_network(teacher: Teacher, images: np.ndarray, slope: float) -> tuple[np.ndarray, np.ndarray]:
    """Strided convolution, average pooling, activation, linear layer: computed pixel by pixel."""
    layer = np.zeros((len(teacher.kernels), len(images), 9, 9))
    for m, kernel in enumerate(np.asarray(teacher.kernels, float).reshape(-1, 3, 3)):
        for i in range(9):
            for j in range(9):
                layer[m, :, i, j] = (images[:, 3 * i : 3 * i + 3, 3 * j : 3 * j + 3] * kernel).sum((1, 2))
    pooled = np.stack(
        [layer[:, :, 3 * a : 3 * a + 3, 3 * b : 3 * b + 3].mean((2, 3)) for a in range(3) for b in range(3)], axis=-1
    )
    active = np.where(pooled > 0, pooled, slope * pooled)
    return active, np.einsum("mng,mgc->nc", active, np.asarray(teacher.matrix, float)) + np.asarray(teacher.bias)


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_the_teacher_is_the_native_network_and_its_layer_is_the_bilinear_teacher(slope):
    images = random_images() - 0.5
    teacher = initialise(SMOKE.problem(), jax.random.key(0))[0]
    inputs = real.patches(images)
    layer = hidden(teacher.kernels, real.pool(inputs), slope)
    active, logits = native_network(teacher, images, slope)
    np.testing.assert_allclose(layer, active, atol=1e-5)
    np.testing.assert_allclose(outputs(teacher, real.pool(inputs), slope), logits, atol=1e-5)
    spread = layer[..., real.group_of_token()]
    bilinear = respond(teacher.kernels, jnp.asarray(real.target_scores()), jnp.asarray(inputs), slope)
    np.testing.assert_allclose(spread, bilinear, atol=1e-5)


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_the_gradient_on_real_patches_is_that_of_autodiff(slope):
    prepared = real.prepare(SMOKE, 0)
    _, positions, weights = initialise(SMOKE.problem(), jax.random.key(0))
    np.testing.assert_allclose(positions.T @ positions, np.eye(81), atol=1e-5)
    assert np.all(weights.attention == 0)
    key = jax.random.key(1)
    weights = Weights(30 * weights.values, jax.random.normal(key, (81, 81)))
    inputs = jnp.asarray(prepared.inputs[:, :20])
    labels = jax.random.normal(key, (SMOKE.kernels, 20, 81))

    def loss(weights):
        found = respond(weights.values, position_scores(weights.attention, positions), inputs, slope)
        return 0.5 * jnp.sum((found - labels) ** 2) / 20

    for found, wanted in zip(
        batch_gradient(weights, positions, inputs, labels, slope), jax.grad(loss)(weights), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=2e-4 * float(jnp.abs(wanted).max()))


def test_shuffling_gives_every_image_an_order_of_its_own_and_keeps_patches_whole():
    inputs = jnp.asarray(real.patches(random_images(40)))
    found = np.asarray(shuffled(jax.random.key(0), inputs))
    before, after = (np.moveaxis(np.asarray(x), 0, -1) for x in (inputs, found))
    places = np.argmin(np.abs(after[:, :, None] - before[:, None]).sum(-1), axis=-1)
    assert np.all(np.sort(places) == np.arange(81))
    np.testing.assert_array_equal(after, np.take_along_axis(before, places[..., None], axis=1))
    assert len({tuple(row) for row in places}) == 40
    assert np.abs(places.mean(0) - 40).max() < 20


def test_shuffled_and_ordered_runs_have_the_same_teacher_and_first_student():
    prepared = real.prepare(SMOKE, 0)
    both = [simulate(SMOKE.replace(patch_order=p), jax.random.key(0), prepared) for p in ("ordered", "shuffled")]
    for name in ("teacher_accuracy", "energy", "example"):
        np.testing.assert_array_equal(both[0][name], both[1][name])
    for name in ("cosine", "loss"):
        np.testing.assert_allclose(both[0][name][0], both[1][name][0], rtol=1e-3)
    assert abs(both[0]["loss"][3] / both[1]["loss"][3] - 1) > 1e-3


def test_probes_of_the_teacher_itself_are_perfect_and_of_no_attention_uniform():
    kernels = jax.random.normal(jax.random.key(0), (16, 9))
    energy = jnp.arange(81.0)
    target = jnp.asarray(real.target_scores())
    perfect = probes(3 * kernels, target, kernels, energy)
    for name in ("cosine", "row_cosine", "group_mass", "interior_mass", "boundary_mass"):
        assert perfect[name] == pytest.approx(1, abs=1e-5), name
    assert perfect["score_error"] == 0
    uniform = probes(-kernels, jnp.full((81, 81), 1 / 81), kernels, energy)
    assert uniform["cosine"] == pytest.approx(-1, abs=1e-5)
    np.testing.assert_allclose(uniform["relative_mass"], 1 / 9, rtol=1e-5)
    assert np.isnan(uniform["mass_energy"])
    assert uniform["score_error"] == pytest.approx(np.sqrt(81 / 9 - 1), rel=1e-5)


def test_mass_is_counted_by_key_row():
    scores = np.full((81, 81), 0.0)
    scores[0] = 1.0  # every output looks at the first patch, which lies in the group of nine of them
    found = probes(jnp.ones((2, 9)), jnp.asarray(scores), jnp.ones((2, 9)), jnp.asarray(scores[:, 0]))
    assert found["relative_mass"].tolist() == [9.0] + [0.0] * 80
    assert found["group_mass"] == pytest.approx(1 / 9)
    assert found["boundary_mass"] == pytest.approx(9 / 18)
    assert found["interior_mass"] == 0
    assert found["mass_energy"] == pytest.approx(1, abs=1e-5)


def test_records_are_at_0_1_100_every_300_steps_and_the_last():
    assert recorded_steps(6000, 23, 300).tolist() == [0, 1, 100, *range(300, 6001, 300)]
    assert recorded_steps(12, 6, 4).tolist() == [0, 1, 4, 8, 12, -1]
    assert recorded_steps(700, 8, 100).tolist() == [0, 1, 100, 140, 280, 420, 560, 700]


def test_plain_gradient_descent_goes_down_steadily_and_more_slowly_than_adam():
    leaky = SMOKE.replace(negative_slope=0.1, steps=200, every=50)
    sgd, adam = (np.asarray(simulate(leaky.replace(optimiser=name), 0)["loss"]) for name in ("sgd", "adam"))
    assert np.all(np.diff(sgd) < 0)
    assert sgd[-1] < 0.8 * sgd[0]
    assert adam[-1] < 0.5 * sgd[-1]


def test_a_short_run_on_mnist_goes_the_way_that_the_specification_saw(real_mnist):
    short = MnistSetting(samples=500, test_samples=200, steps=300, every=300, records=5, batch=50)
    assert short.warnings() == []
    found = simulate(short, 0)
    assert found["is_digits"] == 0
    assert found["train_images"] == 500
    assert found["loss"][3] < 0.4 * found["loss"][0]
    assert found["interior_mass"][3] > 1.2 * found["boundary_mass"][3]
    assert found["energy"][40] > 5 * found["energy"][0]


# The setting and the experiment


def test_without_a_folder_for_mnist_auto_takes_the_stand_in_and_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("LEMMATA_DATA", str(tmp_path))
    setting = MnistSetting()
    assert "scikit-learn digits" in setting.warnings()[0]
    assert setting.values()["image_source"] == "digits"
    (tmp_path / "mnist").mkdir()
    assert MnistSetting().warnings() == []
    assert setting.values()["image_source"] == "mnist"
    with pytest.raises(UserError, match=f"There is no MNIST at {tmp_path / 'mnist'}"):
        run(THEORY, "exp-e4-mnist", Options("smoke", changes=["image_source=auto"]))


def test_mnist_that_is_asked_for_and_absent_is_a_sentence_naming_the_place(monkeypatch):
    monkeypatch.setenv("LEMMATA_DATA", "/nowhere")
    with pytest.raises(UserError, match="There is no MNIST at /nowhere/mnist"):
        simulate(MnistSetting(image_source="mnist"), 0)
    monkeypatch.delenv("LEMMATA_DATA")
    with pytest.raises(UserError, match="LEMMATA_DATA is not set"):
        real.load(MnistSetting(image_source="mnist"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"negative_slope": 1.5}, "negative_slope = 1.5"),
        ({"step_size": 0.0}, "step_size = 0"),
        ({"image_source": "cifar10"}, "auto, mnist, digits"),
        ({"samples": 50, "batch": 60}, "batch = 60 is not allowed: it must not exceed samples = 50"),
        ({"samples": 50, "teacher_batch": 51}, "teacher_batch = 51"),
        ({"patch_order": "random"}, "ordered, shuffled"),
        ({"records": 3}, "records = 3"),
    ],
)
def test_bad_values_are_refused_in_one_sentence(given: dict[str, Any], said: str):
    with pytest.raises(UserError) as refused:
        MnistSetting(**given)
    assert said in str(refused.value)


def test_the_presets_have_the_sizes_of_the_specification():
    quick, paper = (EXPERIMENT.presets[name] for name in ("quick", "paper"))
    s = quick.setting
    assert (s.image_source, s.samples, s.test_samples, s.steps, s.batch, s.kernels) == (
        "auto",
        8000,
        2000,
        8000,
        100,
        16,
    )
    assert (s.teacher_steps, s.teacher_step_size, s.teacher_batch, s.step_size) == (20 * 8000 // 64, 0.01, 64, 0.01)
    assert (s.scaling, s.optimiser, quick.seeds, paper.seeds) == ("standard", "adam", 5, 5)
    assert (paper.setting.samples, paper.setting.steps) == (60_000, 20_000)
    assert VARIANTS["shuffled"] == {"negative_slope": 0.0, "patch_order": "shuffled"}


def test_the_experiment_runs_without_any_file_and_draws_its_figure(smoke):
    found = smoke("teacher_student").data("exp-e4-mnist")
    (figure,) = smoke("teacher_student").folder.rglob("exp-e4-mnist/**/figure.png")
    assert figure.stat().st_size > 10_000
    assert np.all(found.is_digits == 1)
    assert found.step.isel(variant=0, seed=0).values[:5].tolist() == [0, 1, 4, 8, 12]
    np.testing.assert_allclose(found.scores.sum("key_token"), 1, rtol=1e-5)
    np.testing.assert_allclose(found.relative_mass.isel(record=0), 1 / 9, rtol=1e-5)
    assert np.all(np.isfinite(found.loss.isel(record=slice(5))))


# The claims on hand-made data

REGISTER = [("exp-e4-cosine", "bound"), ("exp-e4-loss", "bound"), ("exp-e4-mass", "ordering")]
COSINES = {
    "ReLU": [[0.0, 0.95, 0.85, 0.92, 0.97], [0.0, 0.8, 0.91, 0.95, 0.98]],
    "leaky": [[0.0, 0.8, 0.85, 0.92, 0.97]] * 2,
    "shuffled": [[0.0, 0.95, 0.95, 0.5, 0.3]] * 2,
}
RATIOS = {
    "ReLU": [[1, 1.2, 1.4, 2.0, 1.8], [1, 1.4, 1.6, 1.4, 1.3]],
    "leaky": [[1, 1.2, 1.3, 1.7, 1.4]] * 2,
    "shuffled": [[1, 1.6, 1.3, 1.0, 1.0], [1, 1.6, 0.9, 1.0, 1.0]],
}
LOSSES = {"ReLU": [8, 4, 3, 1, 0.4], "leaky": [8, 4, 3, 1, 0.7], "shuffled": [8, 7, 7, 7, 7]}


def world(digits: float = 0.0, accuracy: float = 0.65, cosines: Any = COSINES, ratios: Any = RATIOS) -> xr.Dataset:
    """Two seeds, five records and a sixth that is not used."""

    def path(values: Any) -> tuple[tuple[str, ...], np.ndarray]:
        table = np.asarray([np.broadcast_to(values[run], (2, 5)) for run in VARIANTS], float)
        return ("variant", "seed", "record"), np.pad(table, ((0, 0), (0, 0), (0, 1)), constant_values=np.nan)

    def single(value: float) -> tuple[tuple[str, ...], np.ndarray]:
        return ("variant", "seed"), np.full((3, 2), value)

    dims, masses = path(ratios)
    accuracies = np.full((3, 2), 0.65)
    accuracies[1, 1] = accuracy
    return xr.Dataset(
        {
            "cosine": path(cosines), "loss": path(LOSSES), "interior_mass": (dims, 0.3 * masses),
            "boundary_mass": (dims, np.where(np.isnan(masses), np.nan, 0.3)), "is_digits": single(digits),
            "teacher_accuracy": (("variant", "seed"), accuracies),
        },
        {"variant": list(VARIANTS), "seed": [0, 1]},
    )  # fmt: skip


def found(name: str, data: xr.Dataset) -> Finding:
    return examine(BY_NAME[name], {"exp-e4-mnist": data})


@pytest.mark.parametrize(("name", "kind"), REGISTER)
def test_a_claim_is_declared_as_the_register_says_and_comes_out_so_in_its_world(name, kind):
    claim = BY_NAME[name]
    assert (claim.kind, claim.reads, claim.expected) == (kind, ("exp-e4-mnist",), HOLDS)
    assert [claim.expected_of(control) for control in claim.controls] == [FAILS]
    finding = found(name, world())
    assert finding.as_expected
    assert "MNIST, teacher's accuracy 0.650 to 0.650" in finding.verdict.note


def test_there_are_no_other_claims():
    assert [claim.name for claim in CLAIMS] == [row[0] for row in REGISTER]


@pytest.mark.parametrize("name", BY_NAME)
def test_a_teacher_that_is_wrong_half_the_time_decides_nothing(name):
    finding = found(name, world(accuracy=0.49))
    assert finding.verdict.outcome == INCONCLUSIVE
    assert "has not learned enough" in finding.verdict.note
    assert found(name, world(accuracy=0.5)).verdict.outcome == HOLDS


def test_on_digits_the_cosine_is_not_judged_and_masses_are_compared_at_the_last_record():
    assert "MNIST only" in found("exp-e4-cosine", world(digits=1)).verdict.note
    assert found("exp-e4-cosine", world(digits=1)).verdict.outcome == INCONCLUSIVE
    assert found("exp-e4-loss", world(digits=1)).as_expected
    mass = found("exp-e4-mass", world(digits=1))
    assert mass.verdict.outcome == FAILS
    assert mass.verdict.measured == pytest.approx(1.3)
    low = {run: [0.0, 0.1, 0.2, 0.3, 0.4] for run in VARIANTS}
    rising = {"ReLU": [1, 1, 1, 1, 1.6], "leaky": [1, 1, 1, 1, 1.7], "shuffled": [1, 2, 2, 2, 1]}
    assert found("exp-e4-mass", world(digits=1, cosines=low, ratios=rising)).as_expected


def test_masses_are_compared_where_the_cosine_has_passed_for_good_and_the_control_at_the_same_record():
    data = world()
    records = record_from_which_above(data.cosine, 0.9)
    assert records.sel(variant="ReLU").values.tolist() == [3, 2]
    assert records.sel(variant="leaky").values.tolist() == [3, 3]
    assert np.all(records.sel(variant="shuffled") == 5)
    finding = found("exp-e4-mass", data)
    assert finding.verdict.measured == pytest.approx(1.6)
    # the record of the intact run, 3 and 2, not those at which the shuffled run itself had its best
    assert finding.controls[0][1].measured == pytest.approx(0.9)


def test_a_cosine_that_falls_back_at_the_end_leaves_the_masses_undecided():
    late = COSINES | {"leaky": [[0.0, 0.8, 0.95, 0.92, 0.89]] * 2}
    mass = found("exp-e4-mass", world(cosines=late))
    assert mass.verdict.outcome == INCONCLUSIVE
    assert "does not stay above 0.9" in mass.verdict.note
    assert found("exp-e4-cosine", world(cosines=late)).verdict.outcome == FAILS


def test_every_seed_must_meet_the_limits():
    one_low = COSINES | {"ReLU": [COSINES["ReLU"][0], [0.0, 0.8, 0.91, 0.95, 0.9]]}
    assert found("exp-e4-cosine", world(cosines=one_low)).verdict.outcome == FAILS
    small = RATIOS | {"leaky": [[1, 1, 1, 1.7, 1], [1, 1, 1, 1.5, 1]]}
    assert found("exp-e4-mass", world(ratios=small)).verdict.outcome == FAILS


def test_random_starts_report_the_share_of_runs_in_the_right_basin_with_its_interval():
    ends = xr.DataArray(
        [[1.0] * 9 + [0.0] * 3, [1.0] * 11 + [np.nan]],
        coords={"initial_scale": [0.01, 0.0001], "seed": range(12)},
        name="in_basin",
    )
    first, second = basins(ends.to_dataset()).rows
    assert first == ["0.01", 12.0, 0.75, pytest.approx(0.468, abs=1e-3), pytest.approx(0.911, abs=1e-3)]
    assert second[:3] == ["0.0001", 11.0, 1.0]  # a run without a value does not count
