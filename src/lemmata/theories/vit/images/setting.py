"""The setting of the image experiment (7.F6): which images, how they are composed and sparsified, how one trains.

An image of 26 x 26 pixels lies on a canvas of 32 x 32, over a textured background or none; the canvas is cut into
patches, the tokens. The target fraction of label-relevant tokens is reached by dropping background tokens.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.datasets.digits import CLASS_SIZES
from lemmata.theories.vit.setting import count, share

CANVAS, FOREGROUND = 32, 26
PLACES = {4: ((1, 5), (0, 2, 3, 4, 6)), 2: ((0, 2, 4, 6), (0, 2, 4, 6))}
"""Patch size -> the offsets of the foreground along one axis and along the other."""
RELEVANT = {4: 42, 2: 169}
"""Patch size -> label-relevant patches (more than half foreground); at these offsets the same in every image."""
PAIRS = {"digits": (3, 8), "cifar10": (2, 0), "given": (0, 1)}
"""The two classes of the task `pair`: 3 against 8, bird against airplane, or the first two of the user's own."""


def even_batch(samples: int, batch: int) -> int:
    """An epoch is ceil(N / B) batches of this size: all images are seen also where B does not divide N (80: 2 x 40)."""
    return samples // math.ceil(samples / batch)


class ImageSetting(lm.Setting):
    """One image problem; the defaults are the stand-in (a)."""

    image_source: str = lm.choice("digits", "source of the images", "digits", "cifar10", "given")
    task: str = lm.choice("all", "classes to tell apart: all, or two with correlated backgrounds", "all", "pair")
    strategy: str = lm.choice(
        "spurious", "tokens dropped first: background ones, or any at random", "spurious", "random"
    )
    patch: int = lm.choice(4, "patch size", 2, 4)

    samples: int = lm.number(150, "N", "training images", low=1, high=50_000, integer=True)
    relevant_fraction: float = share(1.0, "α_*", "target fraction of label-relevant tokens", open_ends="low")
    plants_first: float = share(0.9, "", "share of the first class's training images on plants (task pair)")
    plants_second: float = share(0.1, "", "share of the second class's training images on plants (task pair)")
    epochs: int = count(40, "", "training epochs", high=10_000)
    pretraining_samples: int = count(
        0, "", "images of the other classes for the initial model (0: random initial model)", high=50_000
    )
    pretraining_epochs: int = count(0, "", "epochs on them", high=10_000)
    step_size: float = lm.number(1e-3, "η", "step size of AdamW", low=0, open_ends="low")
    weight_decay: float = lm.number(1e-2, "", "weight decay of AdamW", low=0)

    test_samples: int = lm.size(400, "", "test images, at most", high=10_000)
    batch: int = lm.size(50, "B", "mini-batch size, at most")
    width: int = lm.size(48, "", "width of a token inside the network")
    heads: int = lm.size(4, "", "attention heads")
    blocks: int = lm.size(5, "", "transformer blocks")
    records: int = lm.size(3, "", "records of the training loss", low=2)

    pixels: Any = lm.array("", "for image_source = given: [images, height, width, channels], values in [0, 1]")
    labels: Any = lm.array("", "for image_source = given: [images], classes numbered from 0")

    tokens = lm.fixed(lambda self: (CANVAS // self.patch) ** 2)
    relevant_tokens = lm.fixed(lambda self: RELEVANT[self.patch])
    source_classes = lm.fixed(lambda self: 10 if self.image_source != "given" else int(self.labels.max()) + 1)
    """How many classes the source has: those of the task, and those of pre-training."""
    class_count = lm.fixed(lambda self: len(self.classes))
    batch_size = lm.fixed(lambda self: even_batch(self.samples, self.batch))
    sample_room = lm.fixed(lambda self: lm.capacity(self.samples))
    token_values = lm.fixed(lambda self: self.patch**2 * self.channels)
    """Numbers of a patch."""

    @lm.fixed
    def kept_tokens(self) -> int:
        """rint(relevant tokens / α_*), half to even after removing floating noise; at most all of them."""
        return min(self.tokens, int(np.rint(round(self.relevant_tokens / self.relevant_fraction, 9))))

    @property
    def classes(self) -> tuple[int, ...]:
        """The source's classes to tell apart; they become 0, 1, ..."""
        return PAIRS[self.image_source] if self.task == "pair" else tuple(range(self.source_classes))

    @property
    def other_classes(self) -> tuple[int, ...]:
        """The classes of pre-training."""
        return tuple(c for c in range(self.source_classes) if c not in self.classes)

    @property
    def plants(self) -> list[float]:
        """Share of each class's training images on plants."""
        return [self.plants_first, self.plants_second] if self.task == "pair" else [1.0] * len(self.classes)

    @property
    def test_plants(self) -> list[float]:
        """The same of the test images: of a pair half and half."""
        return [0.5, 0.5] if self.task == "pair" else self.plants

    @property
    def channels(self) -> int:
        return {"digits": 1, "cifar10": 3}.get(self.image_source) or self.pixels.shape[-1]

    def refusals(self, given: list[str]) -> Iterator[str]:
        if self.image_source == "given":
            yield from self._given_refusals()
        elif self.pixels is not None or self.labels is not None:
            what = f"pixels and labels are not allowed with image_source = {self.image_source}"
            yield f"{what}: they need image_source = given."
        yield from self.indivisible("heads", "width")
        yield from self.exceeding("batch", "samples", given)
        if self.image_source != "cifar10":  # how many images of CIFAR-10 there are is known when its files are read
            yield from self._too_many()
        if self.pretraining_samples and not self.other_classes:
            what = f"pretraining_samples = {self.pretraining_samples} is not allowed with task = {self.task}"
            yield f"{what}: pre-training uses the classes that the task leaves over, and there are none."

    def _given_refusals(self) -> Iterator[str]:
        if self.pixels is None or self.labels is None:
            yield "image_source = given is not allowed without the arrays pixels and labels."
        elif self.pixels.ndim != 4 or min(self.pixels.shape) < 1:
            yield f"pixels has shape {self.pixels.shape}; it is [images, height, width, channels], none of them 0."
        elif self.pixels.min() < 0 or self.pixels.max() > 1:
            yield "pixels has values outside [0, 1]; divide bytes by 255."
        elif self.labels.shape != self.pixels.shape[:1]:
            yield f"labels has shape {self.labels.shape}; it has one entry for each of the {len(self.pixels)} images."
        elif (self.labels != np.rint(self.labels)).any() or self.labels.min() < 0 or self.labels.max() < 1:
            yield "labels are classes numbered 0, 1, ..., at least two of them."

    def _too_many(self) -> Iterator[str]:
        what = "digits" if self.image_source == "digits" else "given images"
        sizes = CLASS_SIZES if self.image_source == "digits" else np.bincount(self.labels.astype(int))
        for field, classes in (("samples", self.classes), ("pretraining_samples", self.other_classes)):
            asked, there = getattr(self, field), int(sum(sizes[c] for c in classes))
            if there and asked >= there:
                refused = f"{field} = {asked} is not allowed: there are {there} {what} of these classes"
                yield f"{refused}, and at least one of them is for the test."

    def warnings(self) -> list[str]:
        sentences = []
        if self.image_source == "digits":
            sentences.append("the images are the built-in stand-in (scikit-learn digits), not CIFAR-10.")
        whole = self.relevant_tokens / self.tokens
        if self.relevant_fraction < round(whole, 3):
            out = f"relevant_fraction = {self.relevant_fraction:g} is out of reach: whole images have {whole:.3f}"
            sentences.append(f"{out}, and all their tokens are kept.")
        if self.strategy == "random" and self.kept_tokens < self.tokens:
            sentences.append("tokens dropped at random leave the relevant fraction as it is.")
        return sentences
