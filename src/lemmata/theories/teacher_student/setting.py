"""One learning problem: teacher (section 2), student (3) and algorithm (4)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import lemmata as lm
from lemmata.theories.teacher_student import teachers
from lemmata.theories.teacher_student.gaussian import mean_square_slope

SEPARATED = 0.005
"""The largest separation number χ = ‖V*‖²/(K D²) at which phases 1 and 2 count as separated."""


def largest_value_step(tokens: Any, support: Any, slope: Any) -> Any:
    """2K/(a_κD): above this step size the values are unstable once p is near 1/K (2.5)."""
    return 2 * support / (mean_square_slope(slope) * tokens)


def largest_score_step(tokens: Any, support: Any, slope: Any, strength: Any) -> Any:
    """2DK²/(a_κ‖V*‖²): above this step size the equality of the scores inside a support is unstable (2.5)."""
    return 2 * tokens * support**2 / (mean_square_slope(slope) * strength)


class Setting(lm.Setting):
    """A teacher σ(V*XS*), a student, and how it is trained.

    `dynamics` chooses between training and the exact theory; all four leave the same variables.
    """

    dimension: int = lm.size(10, "d", "feature dimension of a token")
    tokens: int = lm.size(20, "D", "tokens (patches, nodes, groups)", low=2)
    outputs: int = lm.size(10, "M", "outputs of a token")
    support: int = lm.size(3, "K", "tokens that an output column averages")
    negative_slope: float = lm.number(1.0, "κ", "slope of σ below 0: identity 1, ReLU 0", low=0, high=1)
    step_size: float = lm.number(0.05, "η", "step size", low=0, open_ends="low")
    steps: int = lm.number(3000, "T", "training steps", low=0, high=10**16, integer=True)
    escapes: float = lm.number(0.0, "T/T*", "training time in units of T* (0: `steps` counts)", low=0)
    first_escape: float = lm.number(0.0, "", "time of the first record after the start, in units of T*", low=0)
    strength: float = lm.number(0.0, "‖V*‖²", "squared norm to which V* is rescaled (0: as drawn)", low=0)
    label_noise: float = lm.number(1.0, "σ_ξ", "standard deviation of the label noise", low=0)
    kink: float = lm.number(1.0, "σ'(0)", "slope of σ at 0", low=0, high=1)
    initial_scale: float = lm.number(0.0, "", "standard deviation of the initial weights of online SGD", low=0)
    start_scale: float = lm.number(0.0, "C_1(0)", "initial multiple of V*")
    start_gap: float = lm.number(0.0, "c(0)", "initial gap of the logits between support and rest", low=0)
    train_attention: float = lm.number(1.0, "", "attention trained (1) or frozen (0)", low=0, high=1)
    train_values: float = lm.number(1.0, "", "values trained (1) or frozen (0)", low=0, high=1)
    temperature: float = lm.number(1.0, "", "the softmax divides by this times √D", low=0, open_ends="low")
    batch: int = lm.size(100, "N", "fresh samples of a step of online SGD")
    test_samples: int = lm.size(100, "Ñ", "fixed samples of the out-of-distribution batch", low=2)
    records: int = lm.size(30, "", "room for records", low=2)
    token_room: int = lm.size(0, "", "room for tokens in the stored score matrix (0: as many as tokens)", low=0)
    height: int = lm.size(0, "h", "rows of the grid of patches of teacher=cnn_2d (0: a square grid)", low=0)

    dynamics: str = lm.choice(
        "population",
        "gradient descent on the exact population loss, the exact recursion of (C_1, C_2, C_3), its continuous limit "
        "in ηt, or online SGD on fresh samples",
        *("population", "recursion", "limit", "online"),
    )
    student: str = lm.choice(
        "position",
        "attention from positions alone, from [X; P], with separate keys and queries over [X; P], or from positions "
        "with separate keys and queries",
        *("position", "full", "standard", "factored"),
    )
    teacher: str = lm.choice("gcn", "which scores S*", *teachers.TEACHERS)
    graph: str = lm.choice("cycle", "graph of teacher=gcn", *teachers.GRAPHS)
    value_law: str = lm.choice("teacher", "how V* is drawn", *teachers.VALUE_LAWS)
    normalise_rows: bool = lm.flag(False, "scale every row of V* to norm 1")
    positions: str = lm.choice("haar", "orthogonal positional encodings P", *teachers.POSITIONS)
    start: str = lm.choice(
        "limit", "first step from W_V = 0: the one-sided derivative along V*, or with σ'(0)", "limit", "slope"
    )
    spacing: str = lm.choice("log", "steps of the records", "log", "even", "decades", "tenths")
    track: str = lm.choice(
        "scalars", "what is recorded: the scalars, or also outputs on test data and the scores", "scalars", "outputs"
    )
    defect: str = lm.choice("none", "a broken assumption", "none", *teachers.DEFECTS)

    adjacency: Any = lm.array("A", "adjacency matrix for graph=given")
    supports: Any = lm.array("G", "support of every column, D rows of K indices, for teacher=supports")
    given_scores: Any = lm.array("S*", "score matrix for teacher=scores")
    given_values: Any = lm.array("V*", "value matrix for value_law=given")
    given_positions: Any = lm.array("P", "orthogonal matrix for positions=given")

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from teachers.refusals(self)
        reduced = self.dynamics in ("recursion", "limit")
        if self.dynamics != "online" and self.student != "position":
            yield f"dynamics = {self.dynamics} is exact for student=position only, not for student = {self.student}."
        if self.dynamics == "limit" and self.start == "slope":
            yield "start = slope is a convention of the first step, which dynamics=limit does not have."
        if self.dynamics != "online" and self.initial_scale > 0:
            yield f"initial_scale = {self.initial_scale} needs dynamics=online; the exact dynamics start at C_1 V*."
        if reduced and self.defect != "none":
            yield f"dynamics = {self.dynamics} has no defect = {self.defect}: its pattern would not be kept."
        if self.dynamics == "online" and self.defect not in ("none", "coloured_inputs"):
            yield f"dynamics = online has no defect = {self.defect}; use dynamics=population."
        if self.dynamics == "online" and self.student != "position" and self.start_gap + abs(self.start_scale) > 0:
            yield f"start_gap and start_scale need student=position, not {self.student}."
        if self.dynamics != "limit" and self.escapes == 0 and self.steps >= 2**31:
            yield f"steps = {self.steps} are too many to be taken one by one; use dynamics=limit."
        if self.first_escape > 0 and self.first_escape >= self.escapes:
            yield f"first_escape = {self.first_escape} must be less than escapes = {self.escapes}."
        if 0 < self.token_room < self.tokens:
            yield f"token_room = {self.token_room} is less than tokens = {self.tokens}."
        if self.support == self.tokens and (self.dynamics == "limit" or self.escapes > 0):
            yield "support = tokens leaves attention nothing to learn and no T*; use dynamics=recursion and steps."

    # the recursion reads D and K as numbers: one program for all of them
    @lm.derived
    def token_count(self) -> float:
        return float(self.tokens)

    @lm.derived
    def support_count(self) -> float:
        return float(self.support)

    @lm.derived
    def softmax_rows(self) -> float:
        """1 where the rows of S add to 1 (a defect), 0 where its columns do."""
        return float(self.defect == "row_softmax")

    @lm.derived
    def first_slope(self) -> float:
        """σ'(0) where the convention of the first step asks for it, else none: the one-sided derivative."""
        return self.kink if self.start == "slope" else math.nan

    @lm.fixed
    def map_room(self) -> int:
        """Rows of the stored score matrix, if there is one."""
        return (self.token_room or self.tokens) if self.track == "outputs" else 0

    def warnings(self) -> list[str]:
        D, K, sentences = self.tokens, self.support, []
        if K == D:
            sentences.append("support = tokens: uniform attention is already optimal.")
        elif D <= 2 * K:
            sentences.append("tokens ≤ 2 support, so T* = 0: times in units of T* count in units of KD²/(η‖V*‖²).")
        if self.dynamics != "limit":
            values = largest_value_step(D, K, self.negative_slope)
            if self.step_size > values:
                sentences.append(f"step_size is above 2K/(a_κ D) = {values:.3g}: the values are unstable.")
            strength = teachers.known_strength(self)
            scores = largest_score_step(D, K, self.negative_slope, strength) if strength > 0 else math.inf
            if self.step_size > scores:
                limit = f"2DK²/(a_κ‖V*‖²) = {scores:.3g}"
                sentences.append(f"step_size is above {limit}: equal scores in a support are unstable.")
        zero = self.initial_scale == 0 and self.start_scale == 0
        if self.kink == 0 and zero and (self.start == "slope" or self.dynamics == "online"):
            sentences.append("σ'(0) = 0 and W_V = 0: the student never moves.")
        return sentences
