"""Labelled images, whatever their source: pixels in [0, 1] with channels last, classes numbered from 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Images:
    """Training and test images. A source without a split of its own has no test images: whoever uses it draws some."""

    train_pixels: Float[np.ndarray, "train height width channels"]
    train_labels: Int[np.ndarray, " train"]
    test_pixels: Float[np.ndarray, "test height width channels"]
    test_labels: Int[np.ndarray, " test"]
    class_names: tuple[str, ...]
    source: str

    @property
    def channels(self) -> int:
        return self.train_pixels.shape[-1]


def unsplit(pixels: np.ndarray, labels: np.ndarray, class_names: tuple[str, ...], source: str) -> Images:
    """Images of a source that does not say which are for testing."""
    pixels, labels = pixels.astype(np.float32), labels.astype(np.int32)
    return Images(pixels, labels, pixels[:0], labels[:0], class_names, source)


def resized(pixels: Float[np.ndarray, "images height width channels"], size: int) -> np.ndarray:
    """The images as size x size, by bilinear interpolation between pixel centres."""
    from scipy.ndimage import zoom

    _, height, width, _ = pixels.shape
    if (height, width) == (size, size):
        return pixels
    factors = (1, size / height, size / width, 1)
    return np.asarray(zoom(pixels, factors, order=1, mode="nearest", grid_mode=True))
