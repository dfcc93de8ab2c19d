"""The built-in stand-in for photographs: scikit-learn's 1,797 handwritten digits of 8 x 8 pixels, enlarged."""

from __future__ import annotations

import functools

import numpy as np

from lemmata.datasets.images import Images, resized, unsplit

SIDE, DARKEST = 8, 16
"""Pixels along one side of a bundled digit, and their largest value."""


CLASS_SIZES = (178, 182, 177, 183, 181, 182, 181, 179, 174, 180)
"""How many there are of every digit, known without loading them."""


@functools.cache
def load(size: int = 26) -> Images:
    """The ten digits, enlarged to size x size by bilinear interpolation."""
    from sklearn.datasets import load_digits

    flat, labels = load_digits(return_X_y=True)
    pixels = np.asarray(flat).reshape(-1, SIDE, SIDE, 1) / DARKEST
    names = tuple(str(digit) for digit in range(10))
    return unsplit(resized(pixels, size), np.asarray(labels), names, "stand-in: scikit-learn digits")
