"""Training on images: dropped tokens cost nothing and change nothing, padding is invisible, models are learned."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import lemmata as lm
from lemmata.lab.ensemble import GPU, simulate_runs
from lemmata.lab.precision import numerics
from lemmata.lab.runner import Options, run
from lemmata.theories.vit.images import training
from lemmata.theories.vit.images.data import Tokens, load_images, task_sets
from lemmata.theories.vit.images.experiments import EXPERIMENTS
from lemmata.theories.vit.images.network import ABSENT, classify, draw_network
from lemmata.theories.vit.images.setting import ImageSetting
from lemmata.theories.vit.images.training import accuracy, prepare, simulate, train

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
SMALL = BY_NAME["f6a-images"].presets["smoke"].setting
PAIR = BY_NAME["f6c-spurious"].presets["smoke"].setting.replace(pretraining_samples=20, pretraining_epochs=1)
THEORY = lm.Theory(
    dict.fromkeys(("title", "authors", "question", "answer"), "") | {"name": "images", "headlines": []},
    ImageSetting, simulate, EXPERIMENTS, (),
)  # fmt: skip


def test_gathering_the_kept_tokens_equals_masking_the_dropped_ones() -> None:
    with numerics("float64"):
        problem = SMALL.problem()
        network = draw_network(problem, jax.random.key(0), classes=10)
        images = load_images(SMALL)
        whole, _ = task_sets(images, SMALL.replace(relevant_fraction=0.656), 0)
        few, _ = task_sets(images, SMALL.replace(relevant_fraction=1.0), 0)
        mask = np.zeros(whole.places.shape)
        np.put_along_axis(mask, few.places, 1.0, axis=1)
        used = whole.weight > 0
        gathered, _ = classify(network, *(jnp.asarray(x[used]) for x in few[:2]), heads=2)
        masked, _ = classify(network, *(jnp.asarray(x[used]) for x in whole[:2]), heads=2, mask=jnp.asarray(mask[used]))
        np.testing.assert_allclose(gathered, masked, rtol=1e-12, atol=1e-12)
        all_tokens, _ = classify(network, *(jnp.asarray(x[used]) for x in whole[:2]), heads=2)
        assert np.abs(all_tokens - masked).max() > 1e-4


def test_the_place_of_a_token_counts_and_their_order_does_not() -> None:
    with numerics("float64"):
        network = draw_network(SMALL.problem(), jax.random.key(0), classes=10)
        tokens, _ = task_sets(load_images(SMALL), SMALL, 0)
        patches, places = (jnp.asarray(x[:3]) for x in tokens[:2])
        plain, _ = classify(network, patches, places, heads=2)
        turned, _ = classify(network, patches[:, ::-1], places[:, ::-1], heads=2)
        moved, _ = classify(network, patches, places[:, ::-1], heads=2)
        np.testing.assert_allclose(plain, turned, rtol=1e-12, atol=1e-12)
        assert np.abs(plain - moved).max() > 1e-6


def padded(data: Tokens, extra: int) -> Tokens:
    """The same images with more empty ones, filled with what must never be read."""
    pad = lambda leaf: np.concatenate([leaf, np.ones((extra, *leaf.shape[1:]), leaf.dtype)])  # noqa: E731
    return Tokens(*map(pad, data[:4]), np.concatenate([data.weight, np.zeros(extra, np.float32)]))


def test_training_and_testing_do_not_depend_on_the_room_for_images() -> None:
    problem, key = SMALL.problem(), jax.random.key(0)
    network = draw_network(problem, key, classes=10)
    data, test = task_sets(load_images(SMALL), SMALL, 0)
    results = []
    for extra in (0, 7):
        run = train(problem, key, network, padded(data, extra), 20, 1, batch=2, records=3)
        results.append((run.records, accuracy(problem, run.state.parameters, padded(test, extra))))
    (first, accuracy_first), (second, accuracy_second) = results
    for name in ("train_loss", "train_accuracy"):
        np.testing.assert_allclose(first[name], second[name], rtol=1e-5)
    np.testing.assert_allclose(accuracy_first, accuracy_second, rtol=1e-6)
    assert first["train_loss"][2] < first["train_loss"][0]


def test_two_kinds_of_image_that_differ_in_brightness_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 2
    pixels = 0.3 * rng.random((60, 8, 8, 1)) + 0.6 * labels[:, None, None, None]
    setting = SMALL.replace(image_source="given", pixels=pixels, labels=labels, samples=20, epochs=40, step_size=3e-3)
    results = simulate(setting, 0)
    assert results["test_accuracy"] == pytest.approx(1.0)
    assert results["train_accuracy"][-1] == pytest.approx(1.0)
    assert results["chance"] == 0.5
    assert results["last_step"] == 400


def test_an_initial_model_is_trained_once_for_all_the_cells_that_start_from_it(monkeypatch) -> None:
    training.pretrained.cache_clear()
    trained = []
    original = training.pretraining_sets
    monkeypatch.setattr(training, "pretraining_sets", lambda *given: trained.append(given) or original(*given))
    first = prepare(PAIR, 3)
    again = prepare(PAIR.replace(relevant_fraction=0.656, plants_first=0.5, samples=18), 3)
    assert len(trained) == 1
    assert first.initial is again.initial
    prepare(PAIR, 4)
    prepare(PAIR.replace(pretraining_samples=18), 3)
    prepare(PAIR.replace(step_size=2e-3), 3)
    assert len(trained) == 4


def test_fine_tuning_starts_from_the_pretrained_model_with_a_new_output_layer() -> None:
    prepared = prepare(PAIR, 0)
    assert prepared.initial is not None
    assert prepared.initial.head.matrix.shape == (8, 10)
    assert (np.asarray(prepared.initial.head.matrix)[:, 8:] == 0).all()  # room for the other two of ten classes
    assert (np.asarray(prepared.initial.head.bias)[8:] < -1e8).all()
    drawn = draw_network(PAIR.problem(), lm.stream(jax.random.key(0), "init"), classes=8)
    assert np.abs(prepared.initial.embedding.matrix - drawn.embedding.matrix).max() > 1e-4
    before = simulate(PAIR.replace(epochs=0), jax.random.key(0), prepared)
    scratch = simulate(PAIR.replace(epochs=0), jax.random.key(0), prepared._replace(initial=drawn))
    assert np.isfinite(before["pretraining_accuracy"])
    assert before["last_step"] == 0
    assert before["train_loss"][0] != scratch["train_loss"][0]


def test_an_output_without_a_class_changes_no_loss_and_has_no_gradient() -> None:
    scores, label = np.random.default_rng(0).normal(size=(3, 8)).astype(np.float32), np.array([0, 5, 7])
    cross_entropy = optax.softmax_cross_entropy_with_integer_labels
    loss = jax.jit(jax.value_and_grad(lambda scores: jnp.sum(cross_entropy(scores, label))))
    padded = np.pad(scores, ((0, 0), (0, 2)), constant_values=ABSENT)
    (few, d_few), (many, d_many) = loss(scores), loss(padded)
    np.testing.assert_allclose(few, many, rtol=1e-6)
    np.testing.assert_allclose(d_few, d_many[:, :8], rtol=1e-6)
    np.testing.assert_array_equal(d_many[:, 8:], 0)


def test_runs_stacked_for_a_gpu_equal_single_runs() -> None:
    stacked = simulate_runs(simulate, [(PAIR, 0), (PAIR, 1)], GPU, "float32")
    for seed, found in enumerate(stacked):
        single = simulate(PAIR, seed)
        for name in ("train_loss", "test_accuracy", "pretraining_accuracy", "relevant_share"):
            np.testing.assert_allclose(found[name], single[name], rtol=2e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("name", ["f6a-images", "f6c-spurious"])
def test_a_stand_in_experiment_runs_and_draws_its_figure(name: str, smoke) -> None:
    found = smoke("vit")
    assert (found.folder / "vit" / name / "figure.png").stat().st_size > 10_000
    data = found.data(name)
    assert np.all(np.isfinite(data.test_accuracy))
    np.testing.assert_allclose(data.relevant_share.mean("seed").values.ravel().min(), 42 / 64, rtol=1e-5)
    np.testing.assert_allclose(data.relevant_share.mean("seed").values.ravel().max(), 1.0, rtol=1e-5)
    assert set(data.kept_tokens.values.ravel()) == {42, 64}
    assert np.all(data.source_images == 1797)
    assert np.isfinite(data.pretraining_accuracy).all() == (name == "f6c-spurious")


@pytest.mark.parametrize("name", ["f6a-cifar10", "f6c-cifar10"])
def test_without_cifar10_an_experiment_names_the_folder_and_writes_no_data(name: str, monkeypatch) -> None:
    monkeypatch.setenv("LEMMATA_DATA", "/nowhere")
    with pytest.raises(lm.UserError, match="There is no CIFAR-10 at /nowhere/cifar10"):
        run(THEORY, name, Options(preset="smoke"))
    assert not list(Path("results").rglob("data.zarr"))


@pytest.mark.parametrize("preset", ["smoke", "quick", "paper"])
def test_the_sizes_of_the_specification_stand_in_the_presets(preset: str) -> None:
    for experiment in EXPERIMENTS:
        setting = experiment.presets[preset].setting
        if preset != "smoke":
            assert (setting.width, setting.heads, setting.blocks, setting.patch, setting.batch) == (48, 4, 5, 4, 50)
            assert (setting.step_size, setting.weight_decay) == (1e-3, 1e-2)
    axes = BY_NAME["f6a-images"].presets[preset].axes
    expected = {"smoke": {18: 1, 20: 1}, "quick": {150: 40, 600: 20}, "paper": {150: 40, 300: 30, 600: 20}}[preset]
    assert {n: fields["epochs"] for n, fields in axes["samples"].items()} == expected
    initial = BY_NAME["f6c-spurious"].presets["quick"].axes["variant"]
    shown = {name: tuple(fields.values()) for name, fields in initial.items()}
    assert shown == {"good": (1000, 15, 0.9, 0.1), "poor": (80, 60, 0.9, 0.1), "poor, balanced": (80, 60, 0.5, 0.5)}
