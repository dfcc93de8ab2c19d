"""The setting of the student on other data: which inputs, which responses, how many (2.4)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

import lemmata as lm
from lemmata.theories.teacher_student.data import LAWS, moments
from lemmata.theories.teacher_student.setting import Setting

RESPONSES = ("teacher", "independent", "worst", "worst_printed", "exact")


class TransferSetting(Setting):
    """A student of the exact dynamics, tested on other data."""

    test_law: str = lm.choice("exponential", "law of the entries of the test inputs", *LAWS)
    response: str = lm.choice(
        "teacher",
        "test responses: the teacher's with noise, independent of the inputs, the worst case of the proof "
        "with its sign corrected or as printed, or the exact worst case",
        *RESPONSES,
    )
    test_inputs: int = lm.size(50_000, "", "frozen test inputs", low=2)
    noise_draws: int = lm.size(400, "", "draws of the noise of a batch", low=2)
    budget: float = lm.number(100.0, "R", "root mean square of the exact worst case", low=0)
    whole_path: bool = lm.flag(True, "records along the whole path, or at T*, 10²T*, 10³T*, 2·10³T*, 10⁴T* only")

    @lm.derived
    def law_number(self) -> int:
        return LAWS.index(self.test_law)

    @lm.derived
    def response_number(self) -> int:
        return RESPONSES.index(self.response)

    @lm.derived
    def law_mean(self) -> Float[np.ndarray, " feature"]:
        return moments(self.test_law, self.dimension)[0]

    @lm.derived
    def law_covariance(self) -> Float[np.ndarray, "feature feature"]:
        return moments(self.test_law, self.dimension)[1]

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from super().refusals(given)
        if self.dynamics != "limit":
            yield f"dynamics = {self.dynamics} is not allowed here: the student follows dynamics=limit."
        if self.tokens <= 2 * self.support:
            yield f"tokens = {self.tokens} must be more than twice support = {self.support}: times are units of T*."
        if self.test_inputs < self.batch:
            yield f"test_inputs = {self.test_inputs} are fewer than batch = {self.batch}."
