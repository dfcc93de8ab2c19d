"""The setting of the image experiments (F4.1, F4.8): which images, how many of the minority, what is added to them."""

from __future__ import annotations

from collections.abc import Iterator

import lemmata as lm

GROUPS = ("female", "male")
"""The groups; in the rendered stand-in the second one has the wider covariance, as males have in the paper."""


class ImageSetting(lm.Setting):
    """One image problem; the defaults are those of the rendered stand-in."""

    image_source: str = lm.choice("rendered", "source of the images", "rendered", "celeba")
    minority: str = lm.choice("male", "the group that is the minority", "male", "female")

    samples: int = lm.number(400, "n", "training images without the extra ones", low=20, high=200_000, integer=True)
    fraction: float = lm.number(0.2, "λ", "fraction of the minority", low=0, high=1, open_ends="low high")
    extra: int = lm.number(0, "", "minority images that come once more, with noise", low=0, high=50_000, integer=True)
    noise_variance: float = lm.number(0.0, "δ²", "variance of the noise on every pixel of the extra images", low=0)
    first_spread: float = lm.number(0.1, "", "stand-in: deviation of the first group's texture", low=0)
    second_spread: float = lm.number(0.2, "", "stand-in: deviation of the second group's texture", low=0)
    label_noise: float = lm.number(0.05, "", "stand-in: share of labels that are drawn anew", low=0, high=1)
    epochs: int = lm.number(5, "", "training epochs", low=1, high=1000, integer=True)
    step_size: float = lm.number(0.05, "η", "step size, falling by a cosine to 0", low=0, open_ends="low")
    weight_decay: float = lm.number(5e-4, "", "weight decay", low=0)

    side: int = lm.size(16, "", "pixels along one side", low=8, high=256)
    width: int = lm.size(4, "", "channels of the first layer (the common ResNet-9: 64)", low=2)
    batch: int = lm.size(50, "B", "mini-batch size, at most", low=2)
    test_samples: int = lm.size(100, "", "test images of each group", high=10_000)
    records: int = lm.size(3, "", "records of the training loss", low=2)

    @lm.fixed
    def batch_size(self) -> int:
        return min(self.batch, self.samples)

    @lm.fixed
    def sample_room(self) -> int:
        """Room for the training images."""
        return lm.capacity(self.samples + self.extra)

    @property
    def minority_samples(self) -> int:
        """How many of the training images are of the minority."""
        return max(1, round(self.fraction * self.samples))

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from self.exceeding("batch", "samples", given)
        if self.extra > self.minority_samples:
            yield f"extra = {self.extra} is not allowed: the minority has {self.minority_samples} training images."
        if self.side % 8:
            yield f"side = {self.side} is not allowed: it is a multiple of 8, since it is halved three times."

    def warnings(self) -> list[str]:
        if self.image_source == "rendered":
            return ["the images are the rendered stand-in, not CelebA: their numbers say nothing about faces."]
        return []
