"""The real-data companions: rendered images, CelebA's layout, ResNet-9, and Adult."""

import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lemmata as lm
from lemmata.datasets import celeba
from lemmata.theories.group_imbalance.images.data import draw_sets, render
from lemmata.theories.group_imbalance.images.network import classify, draw_network
from lemmata.theories.group_imbalance.images.setting import ImageSetting
from lemmata.theories.group_imbalance.images.training import simulate

TINY: Any = {"samples": 40, "batch": 10, "epochs": 1, "width": 2, "side": 8, "test_samples": 20}


def adult():
    """The folder with Adult, or a skipped test."""
    places = [os.environ.get("LEMMATA_DATA", ""), str(Path(__file__).parents[4] / "shared" / "data")]
    for place in places:
        if place and (Path(place) / "tabular" / "adult.npz").is_file():
            return Path(place)
    pytest.skip("Adult is not there: set LEMMATA_DATA to a folder with tabular/adult.npz")


def test_the_texture_of_a_rendered_group_has_the_covariance_it_was_given():
    setting = ImageSetting(first_spread=0.1, second_spread=0.3, side=8)
    spreads = []
    for group in (0, 1):
        pixels, _ = render(setting, group, 4000, 0)
        # the mean over the image sees neither stripes nor discs of both labels, but the waves' own mean and the disc
        across = np.linspace(-1, 1, 8)
        wave = np.sin(2 * np.pi * (across[:, None] if not group else across[None, :])) * np.ones((8, 8))
        spreads.append(np.einsum("nxyc,xy->nc", pixels, wave).std() / (wave**2).sum())
    assert spreads[1] / spreads[0] == pytest.approx(3, rel=0.05)


def test_rendered_labels_are_the_disc_but_for_their_noise():
    noisy, clean = (render(ImageSetting(label_noise=share), 0, 4000, 0)[1] for share in (0.2, 0.0))
    pixels, label = render(ImageSetting(label_noise=0.0, first_spread=0.0), 0, 200, 0)
    middle = pixels[:, 8, 8, 0] - pixels[:, 0, 8, 0]  # the same stripe phase differs; the disc decides on average
    assert middle[label == 1].mean() > middle[label == 0].mean() + 0.1
    assert (noisy != clean).mean() == pytest.approx(0.1, abs=0.02)
    assert clean.mean() == pytest.approx(0.5, abs=0.03)


def test_cells_of_one_seed_share_their_test_images_and_extra_images_are_noisy_minority_ones():
    few, many = ImageSetting(**TINY), ImageSetting(**{**TINY, "samples": 80})
    np.testing.assert_array_equal(draw_sets(few, 3)[1].pixels, draw_sets(many, 3)[1].pixels)
    plain, extra = (draw_sets(ImageSetting(**TINY, extra=8, noise_variance=v), 0)[0] for v in (0.0, 0.04))
    np.testing.assert_array_equal(plain.label, extra.label)
    changed = abs(plain.pixels - extra.pixels).max((1, 2, 3)) > 0
    assert changed.sum() == 8
    assert (extra.minority[changed] == 1).all()
    assert (extra.pixels - plain.pixels)[changed].std() == pytest.approx(0.2, rel=0.05)
    assert extra.minority.sum() == 8 + 8
    assert extra.pixels.any((1, 2, 3)).sum() == 48


def test_the_network_has_the_parameters_of_resnet_9():
    network = draw_network(ImageSetting(width=64).problem(), jax.random.key(0))
    shapes = [layer.filters.weight.shape[:2] for layer in network.convolutions]
    assert shapes == [(64, 3), (128, 64), (128, 128), (128, 128), (256, 128), (512, 256), (512, 512), (512, 512)]
    assert network.head.weight.shape == (1, 512)


def test_known_statistics_of_the_same_batch_change_nothing_and_each_image_is_then_on_its_own():
    network = draw_network(ImageSetting(width=2).problem(), jax.random.key(0))
    pixels = jnp.asarray(np.random.default_rng(0).random((6, 8, 8, 3)), jnp.float32)
    logits, features, known = jax.jit(classify)(network, pixels)
    tested = jax.jit(classify)
    np.testing.assert_allclose(tested(network, pixels, known)[0], logits, rtol=1e-5, atol=1e-6)
    alone = tested(network, pixels.at[2:].set(0.5), known)[0]
    np.testing.assert_allclose(alone[:2], logits[:2], rtol=1e-4, atol=1e-5)
    assert abs(alone - logits)[2:].min() > 1e-3
    assert features.shape == (6, 16)


def test_a_run_learns_and_reports_both_groups():
    found = simulate(ImageSetting(**{**TINY, "epochs": 20, "fraction": 0.5}), 0)  # the programs of smoke
    path = np.asarray(found["train_loss"])
    assert path[-1] < 0.6 * path[0]
    assert float(found["test_accuracy"]) == pytest.approx(
        (float(found["minority_accuracy"]) + float(found["majority_accuracy"])) / 2, abs=1e-6
    )
    assert float(found["test_accuracy"]) > 0.6


@pytest.mark.parametrize(
    ("fields", "sentence"), [({"extra": 9}, "extra = 9"), ({"side": 12}, "side = 12"), ({"batch": 50}, "batch")]
)
def test_image_settings_that_cannot_be_run_are_refused(fields, sentence):
    with pytest.raises(lm.UserError, match=sentence):
        ImageSetting(**{**TINY, **fields})


def test_the_stand_in_says_that_it_is_one():
    assert "stand-in" in ImageSetting(**TINY).warnings()[0]
    assert not ImageSetting(**TINY, image_source="celeba").warnings()


@pytest.fixture
def faces(tmp_path, monkeypatch):
    """A folder in CelebA's layout with 120 tiny images; the red channel tells blond hair."""
    from PIL import Image

    folder = tmp_path / "celeba" / celeba.FOLDER
    folder.mkdir(parents=True)
    lines = ["120", "Blond_Hair Male"]
    for i in range(120):
        blond, male = i % 3 == 0, i % 2 == 0
        shade = np.full((22, 18, 3), (200 if blond else 50, 10, 10), np.uint8)
        Image.fromarray(shade).save(folder / f"{i:06d}.png")
        lines.append(f"{i:06d}.png {1 if blond else -1} {1 if male else -1}")
    (tmp_path / "celeba" / celeba.ATTRIBUTES).write_text("\n".join(lines))
    monkeypatch.setenv("LEMMATA_DATA", str(tmp_path))
    return tmp_path


def test_celeba_is_read_from_its_public_layout(faces):
    train, test = draw_sets(ImageSetting(**TINY, image_source="celeba"), 0)
    assert train.pixels.shape[1:] == (8, 8, 3)
    assert train.minority.sum() == 8
    for each in (train, test):
        known = each.pixels.any((1, 2, 3))
        np.testing.assert_array_equal(each.pixels[known][:, 4, 4, 0] > 0.5, each.label[known] > 0.5)


def test_too_few_faces_and_damaged_layouts_are_one_sentence(faces):
    with pytest.raises(lm.UserError, match="but 100 are asked for"):
        draw_sets(ImageSetting(**{**TINY, "samples": 100, "test_samples": 20}, image_source="celeba"), 0)
    (faces / "celeba" / celeba.ATTRIBUTES).write_text("2\nBlond_Hair Male\n000001.png 1\n")
    with pytest.raises(lm.UserError, match="every attribute"):
        celeba.attributes(faces / "celeba", "Male")
    (faces / "celeba" / celeba.FOLDER / "bad.png").write_bytes(b"no picture")
    with pytest.raises(lm.UserError, match="no image"):
        celeba.pixels(faces / "celeba", "bad.png", 8)
    with pytest.raises(lm.UserError, match="not complete"):
        celeba.pixels(faces / "celeba", "gone.png", 8)


def test_without_celeba_the_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("LEMMATA_DATA", str(tmp_path))
    with pytest.raises(lm.UserError, match="celeba"):
        draw_sets(ImageSetting(**TINY, image_source="celeba"), 0)


def test_adult_is_fitted_with_two_groups(monkeypatch):
    from lemmata.theories.group_imbalance.census import CensusSetting
    from lemmata.theories.group_imbalance.census import simulate as fit_census

    monkeypatch.setenv("LEMMATA_DATA", str(adult()))
    few, half = (fit_census(CensusSetting(samples=2000, fraction=f), 0) for f in (0.02, 0.5))
    assert 0.85 < float(half["minority_accuracy"]) < 0.97  # 0.89 of women earn at most 50K
    assert float(few["minority_excess"]) > float(half["minority_excess"]) > 0
    assert float(few["minority_loss"]) > float(half["minority_loss"])
    with pytest.raises(lm.UserError, match="are asked for"):
        fit_census(CensusSetting(minority="Black", samples=20_000, fraction=0.5), 0)


def test_without_adult_the_file_is_named(tmp_path, monkeypatch):
    from lemmata.theories.group_imbalance.census import load

    monkeypatch.setenv("LEMMATA_DATA", str(tmp_path))
    with pytest.raises(lm.UserError, match=r"adult\.npz"):
        load("sex")


def test_adult_has_the_groups_that_its_authors_count(monkeypatch):
    from lemmata.theories.group_imbalance.diagnose.columns import read_columns

    found = read_columns(adult() / "tabular" / "adult.npz", "y", "sex", ["is_test"])
    assert len(found.y) == 45_222
    assert found.groups == ["Female", "Male"]
    assert any("3620 of 48842 rows" in note for note in found.notes)
