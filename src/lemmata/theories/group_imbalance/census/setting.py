"""The setting of the census experiments: which group is the minority, how many rows it has, what is added to them."""

from __future__ import annotations

from collections.abc import Iterator

import lemmata as lm

PAIRS = {
    "Female": ("sex", "Male"), "Male": ("sex", "Female"), "Black": ("race", "White"), "White": ("race", "Black")
}  # fmt: skip
"""The minority -> the column of groups and the majority."""


class CensusSetting(lm.Setting):
    """One problem on Adult: income above 50K, two groups, a fixed number of rows."""

    minority: str = lm.choice("Female", "the group that is the minority", *PAIRS)
    samples: int = lm.number(4000, "n", "training rows without the extra ones", low=100, high=40_000, integer=True)
    fraction: float = lm.number(0.2, "λ", "fraction of the minority", low=0, high=1, open_ends="low high")
    extra: int = lm.number(0, "", "minority rows that come once more, with noise", low=0, high=10_000, integer=True)
    noise_variance: float = lm.number(0.0, "δ²", "variance of the noise on every input of the extra rows", low=0)

    @property
    def minority_samples(self) -> int:
        """How many of the training rows are of the minority."""
        return max(2, round(self.fraction * self.samples))

    def refusals(self, given: list[str]) -> Iterator[str]:
        if self.extra > self.minority_samples:
            yield f"extra = {self.extra} is not allowed: the minority has {self.minority_samples} training rows."
