"""The images of experiment F6 as tokens: foreground over background, cut into patches, sparsified (2.5, 7.F6).

All of it is host work in NumPy from the run's seed. Image i of a set depends on the seed and on i alone, so that the
cells of one seed are paired: more training images extend the same set, a larger target fraction drops more tokens of
the same images. A dropped token is not stored: every token carries its place on the canvas.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

import lemmata as lm
from lemmata.datasets import cifar10, digits
from lemmata.datasets.images import Images, resized, unsplit
from lemmata.theories.vit.data import score
from lemmata.theories.vit.images.setting import CANVAS, FOREGROUND, PLACES, ImageSetting

GREEN = (0.6, 1.0, 0.4)


class Chosen(NamedTuple):
    """Images of one set; `label` counts the task's classes from 0."""

    pixels: Float[np.ndarray, "image height width channels"]
    label: Int[np.ndarray, " image"]


class Tokens(NamedTuple):
    """Images as tokens, padded with empty images of weight 0; the weights of the others are equal and add up to 1."""

    patches: Float[np.ndarray, "image token values"]
    places: Int[np.ndarray, "image token"]
    relevant: Float[np.ndarray, "image token"]
    label: Int[np.ndarray, " image"]
    weight: Float[np.ndarray, " image"]


def load_images(setting: ImageSetting) -> Images:
    """The images that the setting names."""
    if setting.image_source == "digits":
        return digits.load(FOREGROUND)
    if setting.image_source == "cifar10":
        return cifar10.load(cifar10.find())
    names = tuple(f"class {c}" for c in range(setting.source_classes))
    return unsplit(setting.pixels, setting.labels, names, "given images")


def task_sets(images: Images, setting: ImageSetting, seed: int) -> tuple[Tokens, Tokens]:
    """Training and test images of the task, for the run with this seed."""
    train, test = split(images, setting.classes, "samples", setting, seed)
    room, kept = lm.capacity(setting.samples), setting.kept_tokens
    return (
        tokenise(train, setting.plants, setting, room, kept, seed, "train"),
        tokenise(test, setting.test_plants, setting, setting.test_samples, kept, seed, "test"),
    )


def pretraining_sets(images: Images, setting: ImageSetting, seed: int) -> tuple[Tokens, Tokens]:
    """Training and test images of the other classes: on an empty canvas, with all their tokens."""
    train, test = split(images, setting.other_classes, "pretraining_samples", setting, seed)
    room, kept, empty = lm.capacity(setting.pretraining_samples), setting.tokens, [0.0] * len(setting.other_classes)
    return (
        tokenise(train, empty, setting, room, kept, seed, "pretraining"),
        tokenise(test, empty, setting, setting.test_samples, kept, seed, "pretraining test"),
    )


def split(
    images: Images, classes: Sequence[int], field: str, setting: ImageSetting, seed: int
) -> tuple[Chosen, Chosen]:
    """Training images, as many as `field` says, and test images of these classes, balanced as far as they last. A
    source without a split of its own is shuffled by the seed; within a class training images are then taken from the
    front and test images from the back, so that the test set is the same for every number of training images."""
    shuffle = lm.generator(seed, "split", field)

    def groups(labels: np.ndarray) -> list[np.ndarray]:
        return [shuffle.permutation(np.flatnonzero(labels == c)) for c in classes]

    count = getattr(setting, field)
    pools = groups(images.train_labels)
    train = _in_turn(pools)
    own = len(images.test_labels) > 0
    if count > len(train) - (not own):
        there = f"{images.source} has {len(train)} training images of these classes"
        rest = "" if own else ", at least one of them for the test"
        raise lm.UserError(f"{field} = {count} is not allowed: {there}{rest}.")
    train = train[:count]
    if own:
        test = _in_turn(groups(images.test_labels))
    else:
        back = _in_turn([pool[::-1] for pool in pools])
        test = back[~np.isin(back, train)]
    test = test[: setting.test_samples]
    if not len(test):
        raise lm.UserError(f"{images.source} has no test images of the classes that the setting asks for.")
    number = {c: i for i, c in enumerate(classes)}

    def chosen(pixels: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> Chosen:
        return Chosen(resized(pixels[rows], FOREGROUND), np.asarray([number[c] for c in labels[rows]], np.int32))

    tests = (images.test_pixels, images.test_labels) if own else (images.train_pixels, images.train_labels)
    return chosen(images.train_pixels, images.train_labels, train), chosen(*tests, test)


def _in_turn(groups: Sequence[np.ndarray]) -> np.ndarray:
    """One of each group in turn, while they last."""
    rank = np.concatenate([np.arange(len(group)) for group in groups])
    which = np.concatenate([np.full(len(group), i) for i, group in enumerate(groups)])
    return np.concatenate(groups)[np.lexsort((which, rank))]


def tokenise(
    chosen: Chosen, plants: Sequence[float], setting: ImageSetting, room: int, kept: int, seed: int, name: str
) -> Tokens:
    """Compose, cut and sparsify one set. `plants`: the share of each class on plants; `room`: images with padding."""
    canvas, foreground = compose(chosen.pixels, on_plants(chosen.label, plants), setting.patch, seed, name)
    patches = cut(canvas, setting.patch)
    relevant = np.mean(cut(foreground[..., None], setting.patch), axis=-1) > 0.5
    uniform = lm.generator(seed, name, "drop").random(relevant.shape)
    worth = score(setting.strategy, uniform, background=1.0 - relevant)  # pyright: ignore[reportArgumentType]
    order = np.argsort(-np.asarray(worth, jnp.result_type(float)), axis=-1, kind="stable")
    places = np.sort(order[:, :kept], axis=-1)
    count = len(places)

    def padded(values: np.ndarray, dtype: type) -> np.ndarray:
        return np.pad(values.astype(dtype), [(0, room - count), *[(0, 0)] * (values.ndim - 1)])

    return Tokens(
        padded(np.take_along_axis(patches, places[..., None], axis=1), np.float32),
        padded(places, np.int32),
        padded(np.take_along_axis(relevant, places, axis=1), np.float32),
        padded(chosen.label, np.int32),
        padded(np.full(count, 1 / count), np.float32),
    )


def on_plants(label: Int[np.ndarray, " image"], shares: Sequence[float]) -> Bool[np.ndarray, " image"]:
    """Which images lie on plants: of the first k of a class floor(k share), spread evenly."""
    plants = np.zeros(len(label), bool)
    for c, share in enumerate(shares):
        members = np.flatnonzero(label == c)
        so_far = np.floor(np.round(share * np.arange(len(members) + 1), 9))
        plants[members] = np.diff(so_far) > 0
    return plants


def compose(
    pixels: Float[np.ndarray, "image height width channels"], plants: np.ndarray, patch: int, seed: int, name: str
) -> tuple[Float[np.ndarray, "image canvas canvas channels"], Float[np.ndarray, "image canvas canvas"]]:
    """The images at random places on canvases of plants or of zeros; and 1 where the canvas shows the image."""
    count, channels = len(pixels), pixels.shape[-1]
    canvas = textures(count, channels, lm.generator(seed, name, "plants")) * plants[:, None, None, None]
    foreground = np.zeros(canvas.shape[:-1])
    draws = lm.generator(seed, name, "places").random((count, 3))
    one, other = (np.asarray(p)[(draws[:, i] * len(p)).astype(int)] for i, p in enumerate(PLACES[patch]))
    turned = draws[:, 2] < 0.5
    corners = zip(np.where(turned, other, one), np.where(turned, one, other), strict=True)
    for i, (top, left) in enumerate(corners):
        place = (i, slice(top, top + FOREGROUND), slice(left, left + FOREGROUND))
        canvas[place], foreground[place] = pixels[i], 1.0
    return canvas, foreground


def textures(count: int, channels: int, draws: np.random.Generator) -> np.ndarray:
    """Procedural plants: noise whose amplitude falls as 1/frequency, as in photographs, stretched over [0, 1]. Grey, or
    (three channels) a green of that brightness."""
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(CANVAS), np.fft.fftfreq(CANVAS)))
    frequency[0, 0] = np.inf  # no mean
    waves = np.fft.fft2(draws.standard_normal((count, CANVAS, CANVAS))) / frequency
    field = np.fft.ifft2(waves).real
    low, high = (reach(field, axis=(1, 2), keepdims=True) for reach in (np.min, np.max))
    return ((field - low) / (high - low))[..., None] * np.asarray(GREEN if channels == 3 else [1.0] * channels)


def cut(
    canvas: Float[np.ndarray, "image canvas canvas channels"], patch: int
) -> Float[np.ndarray, "image patch values"]:
    """The patches of every canvas, row by row."""
    count, side, _, channels = canvas.shape
    grid = canvas.reshape(count, side // patch, patch, side // patch, patch, channels)
    return grid.transpose(0, 1, 3, 2, 4, 5).reshape(count, -1, patch * patch * channels)
