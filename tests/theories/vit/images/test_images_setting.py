"""The setting of the image experiment: what it derives, refuses and warns of."""

import numpy as np
import pytest

from lemmata.lab.errors import UserError
from lemmata.theories.vit.images.setting import ImageSetting, even_batch

PIXELS = np.linspace(0, 1, 12 * 4 * 4).reshape(12, 4, 4, 1)
LABELS = np.arange(12) % 3
GIVEN = {"image_source": "given", "pixels": PIXELS, "labels": LABELS, "samples": 6}


@pytest.mark.parametrize(("fraction", "kept"), [(0.656, 64), (42 / 64, 64), (0.8, 52), (1.0, 42), (0.3, 64)])
def test_forty_two_tokens_over_the_target_fraction_are_kept_and_at_most_all(fraction: float, kept: int) -> None:
    assert ImageSetting(relevant_fraction=fraction).kept_tokens == kept
    assert ImageSetting(relevant_fraction=fraction).problem().kept_tokens == kept


def test_patches_of_two_pixels_have_169_relevant_tokens_of_256() -> None:
    setting = ImageSetting(patch=2)
    assert (setting.relevant_tokens, setting.tokens, setting.kept_tokens) == (169, 256, 169)


def test_the_pair_is_told_apart_and_the_other_classes_are_for_pretraining() -> None:
    digits, cifar = ImageSetting(task="pair"), ImageSetting(task="pair", image_source="cifar10")
    assert digits.classes == (3, 8)
    assert cifar.classes == (2, 0)
    assert digits.other_classes == (0, 1, 2, 4, 5, 6, 7, 9)
    assert ImageSetting(**GIVEN, task="pair").other_classes == (2,)
    assert ImageSetting().other_classes == ()


def test_only_training_images_of_a_pair_have_backgrounds_that_depend_on_the_class() -> None:
    pair = ImageSetting(task="pair")
    assert (pair.plants, pair.test_plants) == ([0.9, 0.1], [0.5, 0.5])
    assert ImageSetting().plants == ImageSetting().test_plants == [1.0] * 10


@pytest.mark.parametrize(("samples", "batch"), [(150, 50), (1000, 50), (80, 40), (20, 20), (101, 33), (1, 1)])
def test_an_epoch_is_the_fewest_equal_batches_of_at_most_fifty(samples: int, batch: int) -> None:
    assert even_batch(samples, 50) == batch
    assert samples - batch * (samples // batch) < samples // batch


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"samples": 1797}, "1797 digits"),
        ({"task": "pair", "samples": 357}, "357 digits"),
        ({"task": "pair", "pretraining_samples": 1440}, "1440 digits"),
        ({"pretraining_samples": 10}, "there are none"),
        ({"heads": 5}, "divide width"),
        ({"samples": 20, "batch": 50}, "must not exceed samples"),
        ({"relevant_fraction": 0.0}, "greater than 0"),
        ({"relevant_fraction": 1.1}, "at most 1"),
        ({"image_source": "mnist"}, "one of digits, cifar10, given"),
        ({"patch": 8}, "one of 2, 4"),
        ({"pixels": PIXELS, "labels": LABELS}, "image_source = given"),
        ({"image_source": "given"}, "without the arrays"),
        ({**GIVEN, "pixels": PIXELS[0]}, "images, height, width, channels"),
        ({**GIVEN, "pixels": 255 * PIXELS}, "divide bytes by 255"),
        ({**GIVEN, "labels": LABELS[:5]}, "one entry for each of the 12"),
        ({**GIVEN, "labels": LABELS + 0.5}, "numbered 0, 1"),
        ({**GIVEN, "labels": LABELS - 1}, "numbered 0, 1"),
        ({**GIVEN, "labels": 0 * LABELS}, "at least two"),
        ({**GIVEN, "samples": 12}, "12 given images"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_in_one_sentence(fields: dict, words: str) -> None:
    with pytest.raises(UserError, match=words) as refused:
        ImageSetting(**fields)
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)


def test_every_image_but_one_may_be_used_for_training() -> None:
    assert ImageSetting(samples=1796).samples == 1796
    assert ImageSetting(task="pair", samples=356, pretraining_samples=1439).samples == 356


def test_what_sparsification_cannot_do_is_a_warning() -> None:
    photographs = {"image_source": "cifar10"}
    assert ImageSetting(**photographs, relevant_fraction=0.656).warnings() == []
    assert ImageSetting(**photographs).warnings() == []
    assert "out of reach" in ImageSetting(**photographs, relevant_fraction=0.5).warnings()[0]
    assert "as it is" in ImageSetting(**photographs, strategy="random").warnings()[0]


def test_the_stand_in_says_that_it_is_one() -> None:
    (said,) = ImageSetting().warnings()
    assert "stand-in" in said
    assert "not CIFAR-10" in said
