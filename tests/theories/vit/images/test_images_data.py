"""The images of F6: where the foreground lies, which tokens are relevant and kept, what the seed decides."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lemmata as lm
from lemmata.datasets import digits
from lemmata.datasets.images import Images
from lemmata.lab.errors import UserError
from lemmata.theories.vit.images.data import (
    compose,
    cut,
    load_images,
    on_plants,
    pretraining_sets,
    split,
    task_sets,
    textures,
)
from lemmata.theories.vit.images.setting import CANVAS, FOREGROUND, PLACES, RELEVANT, ImageSetting

TEN = ImageSetting(samples=30, test_samples=40)
PAIR = ImageSetting(task="pair", samples=200, pretraining_samples=80)
DIGITS = digits.load(FOREGROUND)


@pytest.mark.parametrize("patch", [2, 4])
def test_at_every_allowed_place_the_same_number_of_patches_is_relevant(patch: int) -> None:
    one, other = PLACES[patch]
    for top, left in [*itertools.product(one, other), *itertools.product(other, one)]:
        foreground = np.zeros((1, CANVAS, CANVAS, 1))
        foreground[:, top : top + FOREGROUND, left : left + FOREGROUND] = 1
        assert np.sum(cut(foreground, patch).mean(-1) > 0.5) == RELEVANT[patch]


def test_a_place_outside_the_rule_would_have_another_number_of_relevant_patches() -> None:
    foreground = np.zeros((1, CANVAS, CANVAS, 1))
    foreground[:, 1 : 1 + FOREGROUND, 5 : 5 + FOREGROUND] = 1
    assert np.sum(cut(foreground, 4).mean(-1) > 0.5) == 49


def test_the_foreground_stands_at_the_allowed_places_in_both_orders() -> None:
    white = np.ones((400, FOREGROUND, FOREGROUND, 1))
    canvas, foreground = compose(white, np.zeros(400, bool), 4, 0, "train")
    np.testing.assert_array_equal(canvas[..., 0], foreground)
    corners = {tuple(np.argwhere(image)[0]) for image in foreground}
    one, other = PLACES[4]
    assert corners == {*itertools.product(one, other), *itertools.product(other, one)}
    assert np.all(foreground.sum((1, 2)) == FOREGROUND**2)


def test_plants_show_around_the_foreground_and_zeros_where_there_are_none() -> None:
    dark = np.zeros((6, FOREGROUND, FOREGROUND, 1))
    plants = np.array([True, False] * 3)
    canvas, foreground = compose(dark, plants, 4, 0, "train")
    assert np.all(canvas[~plants] == 0)
    assert np.all(canvas[foreground == 1] == 0)
    assert np.all(canvas[plants].mean((1, 2, 3)) > 0.02)


def test_the_amplitude_of_plants_falls_as_one_over_the_frequency() -> None:
    field = textures(400, 1, np.random.default_rng(0))[..., 0]
    assert field.min() >= 0
    assert field.max() <= 1
    amplitude = np.sqrt(np.mean(np.abs(np.fft.fft2(field)) ** 2, axis=0))[0, 1:16]
    slope = np.polyfit(np.log(np.arange(1, 16)), np.log(amplitude), 1)[0]
    assert slope == pytest.approx(-1, abs=0.05)


def test_coloured_plants_are_green() -> None:
    red, green, blue = textures(3, 3, np.random.default_rng(0)).mean((0, 1, 2))
    assert green > red > blue


@given(st.lists(st.integers(0, 1), min_size=1, max_size=60), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_in_every_prefix_the_share_of_a_class_on_plants_is_right_to_one_image(
    labels: list[int], first: float, second: float
) -> None:
    label = np.asarray(labels)
    plants = on_plants(label, [first, second])
    for count, (c, share) in itertools.product(range(1, len(label) + 1), enumerate((first, second))):
        members = label[:count] == c
        assert abs(np.sum(plants[:count] & members) - share * np.sum(members)) < 1 + 1e-6


def test_ninety_and_ten_of_a_hundred_training_images_lie_on_plants_and_half_of_the_test_images() -> None:
    train, test = split(DIGITS, PAIR.classes, "samples", PAIR, 0)
    plants = on_plants(train.label, PAIR.plants)
    assert [np.sum(plants & (train.label == c)) for c in (0, 1)] == [90, 10]
    plants = on_plants(test.label, PAIR.test_plants)
    assert [abs(2 * np.sum(plants & (test.label == c)) - np.sum(test.label == c)) <= 1 for c in (0, 1)] == [True, True]


# Which images


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and bool(np.all(a == b))


def shared(a: np.ndarray, b: np.ndarray) -> int:
    """How many images of one set are in the other."""
    return len({image.tobytes() for image in a} & {image.tobytes() for image in b})


def test_training_and_test_images_of_a_run_are_balanced_and_have_none_in_common() -> None:
    train, test = split(DIGITS, TEN.classes, "samples", TEN, 0)
    assert np.bincount(train.label).tolist() == [3] * 10
    assert np.bincount(test.label).tolist() == [4] * 10
    assert shared(train.pixels, test.pixels) == 0


def test_more_training_images_extend_the_same_set_and_leave_the_test_set_alone() -> None:
    few, test = split(DIGITS, TEN.classes, "samples", TEN, 0)
    many, same_test = split(DIGITS, TEN.classes, "samples", TEN.replace(samples=600), 0)
    assert same(many.pixels[:30], few.pixels)
    assert same(test.pixels, same_test.pixels)


def test_a_pair_trains_on_a_hundred_of_each_class_and_is_tested_on_all_others() -> None:
    train, test = split(DIGITS, PAIR.classes, "samples", PAIR, 0)
    assert np.bincount(train.label).tolist() == [100, 100]
    assert np.bincount(test.label).tolist() == [83, 74]
    assert shared(train.pixels, test.pixels) == 0
    own = DIGITS.train_pixels[DIGITS.train_labels == 3]
    assert shared(train.pixels[train.label == 0], own) == 100


def test_pretraining_images_are_of_the_other_classes_on_an_empty_canvas_with_all_tokens() -> None:
    train, test = pretraining_sets(DIGITS, PAIR.replace(relevant_fraction=1.0), 0)
    assert train.patches.shape[1:] == (64, 16)
    assert same(train.places[0], np.arange(64))
    assert np.bincount(train.label[train.weight > 0]).tolist() == [10] * 8
    assert len(set(test.label.tolist())) == 8
    corner = train.patches[:80].reshape(80, 8, 8, 4, 4)
    on_edges = np.stack([corner[:, 0, :, 0], corner[:, -1, :, -1]])
    # the foreground reaches at most one of two opposite edges, so the other one is empty
    assert np.all(on_edges.max((2, 3)).min(0) == 0)


def test_another_seed_gives_other_images_and_the_same_seed_the_same_ones() -> None:
    setting = TEN.replace(relevant_fraction=0.8)
    first, _ = task_sets(DIGITS, setting, 0)
    second, _ = task_sets(DIGITS, setting, 1)
    assert not same(first.patches, second.patches)
    assert not same(first.places, second.places)
    again, _ = task_sets(DIGITS, setting, 0)
    assert same(first.patches, again.patches)
    assert same(first.places, again.places)


def test_a_source_with_its_own_test_images_is_split_as_it_says() -> None:
    rng = np.random.default_rng(0)
    pixels, labels = rng.random((40, 32, 32, 3), np.float32), np.arange(40) % 10
    images = Images(pixels[:30], labels[:30], pixels[30:], labels[30:], ("",) * 10, "made up")
    train, test = split(images, TEN.classes, "samples", TEN, 0)
    assert (len(train.label), len(test.label)) == (30, 10)
    assert np.bincount(test.label).tolist() == [1] * 10
    assert train.pixels.shape == (30, FOREGROUND, FOREGROUND, 3)
    with pytest.raises(UserError, match="samples = 31 is not allowed: made up has 30"):
        split(images, TEN.classes, "samples", TEN.replace(samples=31), 0)


def test_images_given_from_python_are_a_source() -> None:
    pixels, labels = np.random.default_rng(0).random((9, 5, 5, 3)), np.arange(9) % 3
    setting = ImageSetting(image_source="given", pixels=pixels, labels=labels, samples=6, test_samples=9)
    train, test = task_sets(load_images(setting), setting, 0)
    assert train.patches.shape == (setting.problem().sample_room, 42, 48)
    assert (np.sum(train.weight > 0), np.sum(test.weight > 0)) == (6, 3)


# Tokens


def test_whole_images_have_42_of_64_relevant_tokens_and_sparsified_ones_42_of_fewer() -> None:
    for fraction, kept in ((0.656, 64), (0.8, 52), (1.0, 42)):
        tokens, _ = task_sets(DIGITS, TEN.replace(relevant_fraction=fraction), 0)
        used = tokens.weight > 0
        assert tokens.places.shape[1] == kept
        assert np.all(tokens.relevant[used].sum(1) == 42)
        assert np.sum(tokens.weight) == pytest.approx(1)


def test_tokens_dropped_at_random_leave_the_relevant_fraction_as_it_is() -> None:
    tokens, _ = task_sets(DIGITS, TEN.replace(strategy="random", samples=600), 0)
    assert tokens.relevant[tokens.weight > 0].mean() == pytest.approx(42 / 64, abs=0.01)


def test_a_sparsified_image_is_the_whole_image_with_tokens_left_out_in_nested_order() -> None:
    whole, _ = task_sets(DIGITS, TEN.replace(relevant_fraction=0.656), 0)
    some, _ = task_sets(DIGITS, TEN.replace(relevant_fraction=0.8), 0)
    few, _ = task_sets(DIGITS, TEN.replace(relevant_fraction=1.0), 0)
    for i in range(30):
        assert same(whole.places[i], np.arange(64))
        for tokens in (some, few):
            assert same(tokens.patches[i], whole.patches[i][tokens.places[i]])
            assert same(tokens.relevant[i], whole.relevant[i][tokens.places[i]])
        assert set(few.places[i]) < set(some.places[i])


def test_an_image_depends_on_the_seed_and_its_index_alone() -> None:
    few, test = task_sets(DIGITS, TEN, 0)
    many, same_test = task_sets(DIGITS, TEN.replace(samples=60), 0)
    assert same(few.patches[:30], many.patches[:30])
    assert same(test.patches, same_test.patches)


def test_patches_are_cut_row_by_row() -> None:
    canvas = np.arange(CANVAS * CANVAS, dtype=float).reshape(1, CANVAS, CANVAS, 1)
    patches = cut(canvas, 4)
    assert patches.shape == (1, 64, 16)
    np.testing.assert_array_equal(patches[0, 9].reshape(4, 4), canvas[0, 4:8, 4:8, 0])


def test_the_examples_of_a_figure_show_the_images_that_are_trained_on() -> None:
    from lemmata.theories.vit.images.figures import _canvases

    tokens, _ = task_sets(DIGITS, TEN.replace(relevant_fraction=0.656), 0)
    train, _ = split(DIGITS, TEN.classes, "samples", TEN, 0)
    canvas, _ = compose(train.pixels, on_plants(train.label, TEN.plants), 4, 0, "train")
    np.testing.assert_allclose(_canvases(tokens, 3, 4)[:, 1:-1, 1:-1], canvas[:3], atol=1e-6)
    assert lm.generator(0, "a").random() != lm.generator(0, "b").random()
