"""The images of E4 as patches: host work in NumPy from the run's seed.

MNIST is resized from 28 x 28 to 27 x 27; the stand-in's digits lie, enlarged to 20 x 20, on an empty canvas.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

import lemmata as lm
from lemmata.datasets import digits, mnist
from lemmata.datasets.images import Images, resized
from lemmata.theories.teacher_student.mnist.setting import CANVAS, GRID, GROUPS, PATCH, POOL, TOKENS, MnistSetting
from lemmata.theories.teacher_student.teachers import pooling_2d

MEAN, DEVIATION = 0.1307, 0.3081
"""Of MNIST's training pixels."""
DIGIT, CORNER, HELD_OUT = 20, 3, 5
"""Of the stand-in: side of an enlarged digit, where it begins on the canvas, and one image in so many for the test."""


class Chosen(NamedTuple):
    """Training and test images of one seed, pixels in [0, 1]."""

    train: Float[np.ndarray, "image canvas canvas"]
    train_labels: Int[np.ndarray, " image"]
    test: Float[np.ndarray, "test canvas canvas"]
    test_labels: Int[np.ndarray, " test"]


class Prepared(NamedTuple):
    """What a run starts from. `pooled` are the group means of the patches, all that the teacher sees of an image."""

    inputs: Float[Any, "feature image token"]
    pooled: Float[Any, "feature image group"]
    labels: Int[Any, " image"]
    test_pooled: Float[Any, "feature test group"]
    test_labels: Int[Any, " test"]
    energy: Float[Any, " token"]
    example: Float[Any, "canvas canvas"]
    is_digits: Float[Any, ""]


def group_of_token() -> Int[np.ndarray, " token"]:
    """j(i): the pooling group of every patch, both counted row by row."""
    row, column = np.divmod(np.arange(TOKENS), GRID)
    return row // POOL * (GRID // POOL) + column // POOL


def target_scores() -> Float[np.ndarray, "token token"]:
    """S*: 1/K where two patches lie in the same group (Example 2.1)."""
    return pooling_2d(GRID, GRID, POOL)


def boundary() -> np.ndarray:
    """Which patches lie in the first or the last row of patches (key rows 1-9 and 73-81)."""
    row = np.arange(TOKENS) // GRID
    return (row == 0) | (row == GRID - 1)


def patches(canvas: Float[np.ndarray, "image canvas canvas"]) -> Float[np.ndarray, "feature image token"]:
    """X feature first: patches row by row, pixels of a patch row by row."""
    grid = canvas.reshape(-1, GRID, PATCH, GRID, PATCH)
    return np.ascontiguousarray(grid.transpose(2, 4, 0, 1, 3).reshape(PATCH**2, len(canvas), TOKENS))


def pool(inputs: Float[np.ndarray, "feature image token"]) -> Float[np.ndarray, "feature image group"]:
    """Mean patch of every group: average pooling before the activation, which a convolution without bias allows."""
    side = GRID // POOL
    return inputs.reshape(*inputs.shape[:2], side, POOL, side, POOL).mean((3, 5)).reshape(*inputs.shape[:2], GROUPS)


def load(setting: MnistSetting) -> Images:
    """The images that the setting names."""
    return digits.load(DIGIT) if setting.resolved_source == "digits" else mnist.load(mnist.find())


def on_canvas(pixels: Float[np.ndarray, "image height width channel"]) -> Float[np.ndarray, "image canvas canvas"]:
    """27 x 27 pixels: by bilinear interpolation, or (the stand-in) with an empty margin."""
    if pixels.shape[1] != DIGIT:
        return resized(pixels, CANVAS)[..., 0]
    canvas = np.zeros((len(pixels), CANVAS, CANVAS), pixels.dtype)
    canvas[:, CORNER : CORNER + DIGIT, CORNER : CORNER + DIGIT] = pixels[..., 0]
    return canvas


@functools.lru_cache(maxsize=2)
def choose(images: Images, samples: int, test_samples: int, seed: int) -> Chosen:
    """As many images as asked for, or as there are; kept, since the cells of one seed share them.

    Which ones is decided by the seed. A source without a split of its own gives test images from the back.
    """
    draws = lm.generator(seed, "images")
    order = draws.permutation(len(images.train_labels))
    if len(images.test_labels):
        test, pixels, labels = draws.permutation(len(images.test_labels)), images.test_pixels, images.test_labels
    else:
        held = max(1, len(order) // HELD_OUT)
        order, test, pixels, labels = order[:-held], order[-held:][::-1], images.train_pixels, images.train_labels
    train, test = order[:samples], test[:test_samples]
    first = on_canvas(images.train_pixels[train]), images.train_labels[train]
    return Chosen(*first, on_canvas(pixels[test]), labels[test])


def prepare(setting: MnistSetting, seed: int) -> Prepared:
    """The images of a run as patches."""
    chosen = choose(load(setting), setting.samples, setting.test_samples, seed)

    def scaled(canvas: np.ndarray) -> np.ndarray:
        values = (canvas - MEAN) / DEVIATION if setting.scaling == "standard" else canvas
        return patches(values.astype(np.float32))

    inputs, test = scaled(chosen.train), scaled(chosen.test)
    energy, example = np.mean(np.sum(inputs**2, axis=0), axis=0), chosen.train[0].astype(np.float32)
    is_digits = np.asarray(setting.resolved_source == "digits", np.float32)
    taught = inputs, pool(inputs), chosen.train_labels
    return Prepared(*taught, pool(test), chosen.test_labels, energy, example, is_digits)
