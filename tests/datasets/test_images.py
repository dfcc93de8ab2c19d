"""Image sources: what a loader promises of pixels, labels and sizes."""

import numpy as np

from lemmata.datasets import digits
from lemmata.datasets.images import resized


def test_the_digits_are_all_there_in_the_unit_interval_and_enlarged() -> None:
    images = digits.load(26)
    assert images.train_pixels.shape == (1797, 26, 26, 1)
    assert images.train_pixels.dtype == np.float32
    assert images.train_pixels.min() >= 0
    assert images.train_pixels.max() <= 1
    assert images.channels == 1
    assert len(images.test_labels) == 0
    assert "stand-in" in images.source
    assert tuple(np.bincount(images.train_labels)) == digits.CLASS_SIZES


def test_an_enlarged_digit_is_the_original_between_its_pixels() -> None:
    from sklearn.datasets import load_digits

    original = load_digits().images / 16  # pyright: ignore[reportAttributeAccessIssue]
    large = digits.load(24).train_pixels[..., 0]
    # 8 -> 24 puts the centre of original pixel i exactly on pixel 3 i + 1
    np.testing.assert_allclose(large[:, 1::3, 1::3], original, atol=1e-6)
    np.testing.assert_allclose(large[:, 2:21:3, 1], (2 * original[:, :7, 0] + original[:, 1:, 0]) / 3, atol=1e-6)


def test_resizing_leaves_constant_images_constant_and_same_sizes_alone() -> None:
    constant = np.full((2, 32, 32, 3), 0.25, np.float32)
    assert resized(constant, 26).shape == (2, 26, 26, 3)
    np.testing.assert_allclose(resized(constant, 26), 0.25, atol=1e-6)
    assert resized(constant, 32) is constant
