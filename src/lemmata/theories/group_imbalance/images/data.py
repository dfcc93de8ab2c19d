"""The images of F4.1 and F4.8: CelebA's hair colour in two groups, or rendered patterns with a known covariance.

Host work in NumPy from the run's seed. Image i of a group depends on the seed and on i alone, and the noise of an extra
image scales the same normals, so that cells of one seed are paired.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

import lemmata as lm
from lemmata.datasets import celeba
from lemmata.theories.group_imbalance.images.setting import GROUPS, ImageSetting

Array = np.ndarray


class Set(NamedTuple):
    """Images in random order, padded with empty ones."""

    pixels: Float[Any, "images side side colours"]
    label: Float[Any, " images"]
    minority: Float[Any, " images"]


def draw_sets(setting: ImageSetting, seed: int) -> tuple[Set, Set]:
    """Training images (majority, minority, extra ones) and as many test images of either group."""
    few, extra = setting.minority_samples, setting.extra
    parts, tests = [], []
    for group, name in enumerate(GROUPS):
        is_minority = float(name == setting.minority)
        count = few if is_minority else setting.samples - few
        pixels, label = draw_group(setting, group, count + setting.test_samples, seed)
        # test images come first, so that they are the same for every number of training images
        held, rest = setting.test_samples, slice(setting.test_samples, None)
        tests.append((pixels[:held], label[:held], np.full(held, is_minority)))
        parts.append((pixels[rest], label[rest], np.full(count, is_minority)))
        if is_minority and extra:
            noise = lm.generator(seed, "noise").standard_normal((extra, *pixels.shape[1:]))
            noisy = pixels[rest][:extra] + np.sqrt(setting.noise_variance) * noise
            parts.append((noisy, label[rest][:extra], np.ones(extra)))
    return _joined(parts, seed, setting.sample_room), _joined(tests, seed, 2 * setting.test_samples)


def _joined(parts: list[tuple[Array, Array, Array]], seed: int, room: int) -> Set:
    pixels, label, minority = (np.concatenate(each).astype(np.float32) for each in zip(*parts, strict=True))
    order = lm.generator(seed, "order").permutation(len(label))
    gap = room - len(label)

    def padded(part: Array) -> Array:
        return np.concatenate([part[order], np.zeros((gap, *part.shape[1:]), part.dtype)])

    return Set(padded(pixels), padded(label), padded(minority))


def draw_group(setting: ImageSetting, group: int, count: int, seed: int) -> tuple[Array, Array]:
    """So many images of one group with their labels."""
    if setting.image_source == "celeba":
        return _faces(setting, group, count, seed)
    return render(setting, group, count, seed)


def _faces(setting: ImageSetting, group: int, count: int, seed: int) -> tuple[Array, Array]:
    folder = celeba.find()
    names, (male, blond) = celeba.attributes(folder, "Male", "Blond_Hair")
    mine = np.flatnonzero(male == bool(group))
    if len(mine) < count:
        raise lm.UserError(f"CelebA at {folder} has {len(mine)} {GROUPS[group]} images, but {count} are asked for.")
    chosen = lm.generator(seed, "faces", GROUPS[group]).permutation(mine)[:count]
    return np.stack([celeba.pixels(folder, names[i], setting.side) for i in chosen]), blond[chosen].astype(float)


def render(setting: ImageSetting, group: int, count: int, seed: int) -> tuple[Array, Array]:
    """The stand-in: stripes whose direction is the group's, of random phase; a bright or dark disc is the label.

    A texture, four smooth waves with standard normal amplitudes times the group's spread, covers both: the covariance
    of a group is that of its texture and its phase.
    """
    streams = lm.generator(seed, "render", GROUPS[group])
    side = setting.side
    spread = (setting.first_spread, setting.second_spread)[group]
    numbers = streams.random((count, 3))  # a row an image: phase, label, whether the label is drawn anew
    amplitudes = lm.generator(seed, "texture", GROUPS[group]).standard_normal((count, 4, 3))
    label = (numbers[:, 1] < 0.5).astype(float)
    across, down = np.meshgrid(*[np.linspace(-1, 1, side)] * 2)
    waves = np.concatenate([np.cos(np.pi * np.stack([across, down])), np.sin(2 * np.pi * np.stack([across, down]))])
    stripes = np.sin(4 * np.pi * (down if group else across) + 2 * np.pi * numbers[:, 0, None, None])
    disc = (across**2 + down**2 < 0.25) * (2 * label - 1)[:, None, None]
    texture = np.einsum("nkc,kxy->nxyc", amplitudes, waves)
    pixels = 0.5 + (0.15 * stripes + 0.12 * disc)[..., None] + spread * texture
    seen = np.where(numbers[:, 2] < setting.label_noise, (numbers[:, 2] < setting.label_noise / 2).astype(float), label)
    return pixels, seen
