"""The setting of experiment E4: which images, how they are scaled, and how teacher and student train.

An image of 27 x 27 pixels is cut into 9 x 9 patches of 3 x 3 pixels, the tokens; 3 x 3 patches are one pooling group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lemmata as lm
from lemmata.datasets import mnist

CANVAS, PATCH, POOL = 27, 3, 3
"""Pixels along one side of an image, of a patch, and patches along one side of a pooling group."""
GRID = CANVAS // PATCH
FEATURES, TOKENS, GROUPS, GROUP = PATCH**2, GRID**2, (GRID // POOL) ** 2, POOL**2
"""d = 9 pixels of a patch, D = 81 patches, 9 groups of K = 9 patches."""
EXTRA = 2
"""Records besides those at a fixed stride: steps 1 and 100."""


class MnistSetting(lm.Setting):
    """One teacher and one student on handwritten digits; the defaults are the specification's."""

    image_source: str = lm.choice(
        "auto",
        "images: mnist is read from $LEMMATA_DATA/mnist, digits are scikit-learn's; auto takes what is there",
        *("auto", "mnist", "digits"),
    )
    scaling: str = lm.choice(
        "standard", "pixels: standardised by MNIST's mean and deviation, or left in [0, 1]", "standard", "unit"
    )
    patch_order: str = lm.choice(
        "ordered",
        "order of the patches that the student sees: the teacher's, or another one in every image",
        *("ordered", "shuffled"),
    )
    optimiser: str = lm.choice("adam", "optimiser of the student", "adam", "sgd")

    negative_slope: float = lm.number(0.0, "κ", "negative slope of the activation (0: ReLU)", low=0, high=1)
    steps: int = lm.number(6000, "T", "training steps of the student", low=1, high=10_000_000, integer=True)
    step_size: float = lm.number(0.01, "η", "step size of the student", low=0, open_ends="low")
    initial_scale: float = lm.number(0.01, "", "deviation of the student's initial values W_V", low=0)
    every: int = lm.number(300, "", "steps between records", low=1, integer=True)
    # 20 epochs of 8000 images in batches of 64; fewer images are seen more often
    teacher_steps: int = lm.number(2500, "", "training steps of the teacher", low=0, high=10_000_000, integer=True)
    teacher_step_size: float = lm.number(0.01, "", "step size of the teacher", low=0, open_ends="low")

    samples: int = lm.size(8000, "N", "training images, at most", high=70_000)
    test_samples: int = lm.size(
        2000,
        "",
        "held-out images for the teacher's accuracy, at most (a fifth, of a source without a split)",
        high=10_000,
    )
    kernels: int = lm.size(16, "M", "kernels of the teacher")
    batch: int = lm.size(100, "B", "mini-batch of the student, at most")
    teacher_batch: int = lm.size(64, "", "mini-batch of the teacher, at most")
    records: int = lm.size(23, "", "records, at most", low=2 + EXTRA)

    @property
    def resolved_source(self) -> str:
        """Where the images come from: `auto` is MNIST where there is a folder for it."""
        return self.image_source if self.image_source != "auto" else "mnist" if mnist.available() else "digits"

    def values(self) -> dict[str, Any]:
        """With the source that `auto` stands for: stored data of one are not those of the other."""
        return super().values() | {"image_source": self.resolved_source}

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from self.exceeding("batch", "samples", given)
        yield from self.exceeding("teacher_batch", "samples", given)

    def warnings(self) -> list[str]:
        if self.resolved_source == "mnist":
            return []
        why = ": there is no folder $LEMMATA_DATA/mnist" if self.image_source == "auto" else ""
        return [f"the images are the built-in stand-in (scikit-learn digits), not MNIST{why}."]
