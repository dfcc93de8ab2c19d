"""The settings of in-context learning: prompts (section 2), the one-layer transformer (3.1 to 3.3) and training (4)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.icl import tasks
from lemmata.theories.icl.tasks import DEFECTS, irrelevant_family, reference_family, shift_refusals

REACHED = 0.2
"""The hinge loss on watched prompts below which training is done (P2)."""
REGISTER = (0, 10, 50, 100, 150, 200, 225, 250, 275, 300, 350, 400, 600)
"""Steps of the records that the claims register reads."""
POSITIVE: Any = {"low": 0, "open_ends": "low"}


class PromptSetting(lm.Setting):
    """The prompts of training and testing, whatever network sees them."""

    pattern_norm: float = lm.number(3.0, "β", "norm of every pattern", low=1)
    amplitude: float = lm.number(0.5, "K", "largest amplitude of the irrelevant part", low=0)
    fraction: float = lm.number(
        0.8, "α", "probability that a training context holds a decisive pattern", high=1, **POSITIVE
    )
    test_fraction: float = lm.number(
        0.8, "α'", "probability that a testing context holds a decisive pattern", high=1, **POSITIVE
    )
    shift_amplitude: float = lm.number(5.0, "K'", "largest amplitude of the irrelevant part out of domain", low=0)
    angle: float = lm.number(45.0, "θ", "angle of the reference family out of domain, in degrees")
    steps: int = lm.number(1500, "T", "training steps", low=0, high=10**6, integer=True)
    record_every: int = lm.number(1, "", "steps between two records, at least", low=1, high=10**6, integer=True)
    contexts: int = lm.number(20, "l_tr", "context examples of a training prompt", low=1, high=4096, integer=True)
    test_contexts: int = lm.number(20, "l_ts", "context examples of a testing prompt", low=1, high=4096, integer=True)
    rounds: int = lm.number(1, "U", "rounds of the cyclic training tasks", low=1, integer=True)
    task_count: int = lm.number(6, "n", "number of training tasks for tasks=subsampled", low=1, integer=True)

    dimension: int = lm.size(30, "d_x", "feature dimension, M_1 + M_2", low=3)
    label_dimension: int = lm.size(30, "d_y", "dimension of the label embedding")
    patterns: int = lm.size(6, "M_1", "relevant patterns", low=2, high=300)
    irrelevant: int = lm.size(24, "M_2", "irrelevant patterns")
    class_size: int = lm.size(1, "|A|", "patterns of each class of a task")
    batch: int = lm.size(120, "B", "prompts of a training step")
    context_room: int = lm.size(0, "", "room for the contexts of a training prompt (0: as many as there are)", low=0)
    task_room: int = lm.size(0, "", "room for the tasks (0: as many as there are)", low=0)
    test_context_room: int = lm.size(0, "", "room for those of a testing prompt (0: as many as there are)", low=0)
    records: int = lm.size(2, "", "room for records", low=2)
    test_prompts: int = lm.size(2400, "", "testing prompts", low=2)
    watch_prompts: int = lm.size(960, "", "unseen-task exact prompts that are watched along training", low=2)
    watch_contexts: int = lm.size(40, "", "context examples of such a prompt")

    basis: str = lm.choice("random", "patterns: a random orthogonal basis, or unit vectors", "random", "canonical")
    tasks: str = lm.choice(
        "cyclic", "training tasks: cyclic, some of these, one of the two disconnected sets, or given", *tasks.SETS
    )
    test_mode: str = lm.choice("iid", "contexts of testing prompts: independent, or exact counts", "iid", "exact")
    label_order: str = lm.choice("true", "query labels in training: true, or fair coins", "true", "shuffled")
    defect: str = lm.choice(
        "none",
        "a broken assumption: relevant patterns out of domain in the span of the irrelevant ones",
        *DEFECTS,
    )
    strict: bool = lm.flag(True, "refuse an amplitude above 1/2 and shifted patterns that break the theory")

    given_tasks: Any = lm.array("", "training tasks for tasks=given: pairs of patterns counted from 1 (n x 2)")
    label_embedding: Any = lm.array("q", "embedding of the label +1 (d_y; default the first unit vector)")
    odr: Any = lm.array("k", "relevant patterns out of domain, as coefficients of all d_x patterns (M_1' x d_x)")
    odi: Any = lm.array("", "irrelevant patterns out of domain, as coefficients of all d_x patterns (M_2' x d_x)")

    @property
    def token_width(self) -> int:
        return self.dimension + self.label_dimension

    @lm.fixed
    def shiftable(self) -> int:
        """Whether prompts out of domain can be drawn: the reference family needs 6 relevant and 3 other patterns."""
        family = self.patterns >= 6 and self.irrelevant >= 3
        return int(self.class_size == 1 and (family or (self.odr is not None and self.odi is not None)))

    def ordered_tasks(self) -> list[tasks.Task]:
        """All tasks, the training tasks first (which of them are subsampled depends on the seed)."""
        if self.tasks in ("cyclic", "subsampled"):
            return tasks.set_tasks(self.patterns, self.class_size)
        listed: Any = {"swaps": tasks.SWAPS, "triangles": tasks.TRIANGLES}.get(self.tasks, self.given_tasks)
        return tasks.seen_first([(int(a), int(b)) for a, b in listed], self.patterns)

    def training_tasks(self) -> list[tasks.Task]:
        """The tasks that are trained on."""
        return self.ordered_tasks()[: self.seen]

    @lm.derived
    def roles(self) -> np.ndarray:
        """The roles of all d_x patterns in every task, the training tasks first; room that is not used is 0."""
        roles = np.zeros((max(self.task_room, self.total), self.dimension))
        roles[: self.total, : self.patterns] = tasks.task_roles(self.ordered_tasks(), self.patterns)
        return roles

    @lm.derived
    def total(self) -> int:
        """How many tasks there are."""
        return tasks.count_tasks(self.patterns, self.class_size)

    @lm.derived
    def seen(self) -> int:
        """How many of the tasks are trained on."""
        if self.tasks == "given":
            return len(self.given_tasks)
        if self.class_size > 1:
            return self.patterns
        return {"cyclic": self.rounds * self.patterns, "subsampled": self.task_count}.get(self.tasks, 6)

    @lm.derived
    def subsample(self) -> int:
        return int(self.tasks == "subsampled")

    @lm.derived
    def q(self) -> np.ndarray:
        """The embedding of the label +1."""
        return np.eye(self.label_dimension)[0] if self.label_embedding is None else self.label_embedding

    @lm.derived
    def shuffled_labels(self) -> int:
        return int(self.label_order == "shuffled")

    @lm.derived
    def shift_relevant(self) -> np.ndarray:
        """The relevant patterns out of domain; with the defect they lie in the span of the irrelevant ones."""
        if self.shiftable and self.defect != "none":
            return irrelevant_family(self.patterns, self.dimension)
        return reference_family(self.patterns, self.dimension, self.angle)[0] if self.odr is None else self.odr

    @lm.derived
    def shift_irrelevant(self) -> np.ndarray:
        return reference_family(self.patterns, self.dimension, self.angle)[1] if self.odi is None else self.odi

    @lm.fixed
    def context_capacity(self) -> int:
        """The contexts that the programs of training have room for."""
        return self.context_room or self.contexts

    @lm.fixed
    def test_capacity(self) -> int:
        """The contexts that the programs of testing have room for."""
        return self.test_context_room or self.test_contexts

    def refusals(self, given: list[str]) -> Iterator[str]:
        if self.patterns + self.irrelevant != self.dimension:
            basis = f"together they are a basis and add up to dimension = {self.dimension}"
            yield f"patterns + irrelevant = {self.patterns + self.irrelevant} is not allowed: {basis}."
        decisive = 2 * self.class_size
        if decisive > self.patterns:
            yield f"class_size = {self.class_size} is not allowed: two disjoint classes need {decisive} patterns."
        elif tasks.count_tasks(self.patterns, self.class_size) > 10**5:
            yield f"class_size = {self.class_size} is not allowed here: there are more than 100000 tasks."
        for name in ("fraction", "test_fraction"):
            if decisive == self.patterns and getattr(self, name) < 1:
                must = f"with {self.patterns} patterns every one is decisive, so it must be 1"
                yield f"{name} = {getattr(self, name):g} is not allowed: {must}."
        if self.strict and self.amplitude > 0.5:
            yield f"amplitude = {self.amplitude:g} is not allowed: the theory needs at most 1/2 (unless strict=false)."
        if self.label_embedding is not None:
            yield from self.misshapen("label_embedding", (self.label_dimension,))
            if not np.any(self.label_embedding):
                yield "label_embedding is not allowed: it must not be zero."
        for room, count in (("context_room", "contexts"), ("test_context_room", "test_contexts")):
            if 0 < getattr(self, room) < getattr(self, count):
                yield f"{room} = {getattr(self, room)} is not allowed: it must hold {count} = {getattr(self, count)}."
        yield from self._task_refusals()
        if (self.odr is None) != (self.odi is None) and self.class_size == 1 and not self.shiftable:
            yield "odr and odi must be given together: the reference family, for the other one, needs 6 and 3 patterns."
        yield from shift_refusals(self.odr, self.odi, self.patterns, self.dimension, self.strict)
        if self.defect != "none" and (self.irrelevant < 6 or self.odr is not None or not self.shiftable):
            needs = "class_size = 1, at least 6 relevant and 6 irrelevant patterns, and no odr of your own"
            yield f"defect = {self.defect} is not allowed here: it is for {needs}."
        if self.odr is not None and len(self.odr) < (2 if self.test_fraction == 1 else 3):
            yield f"odr has {len(self.odr)} patterns; allowed are at least 3 (2 with test_fraction = 1)."

    def _task_refusals(self) -> Iterator[str]:
        if self.tasks == "cyclic" and not self.rounds < self.patterns:
            yield f"rounds = {self.rounds} is not allowed: it is less than patterns = {self.patterns}."
        if self.tasks == "subsampled" and not self.task_count < tasks.count_tasks(self.patterns):
            every = tasks.count_tasks(self.patterns)
            yield f"task_count = {self.task_count} is not allowed: it is less than the number of all tasks, {every}."
        if self.tasks in ("swaps", "triangles") and self.patterns != 6:
            yield f"tasks = {self.tasks} is not allowed: it is a set of tasks on patterns = 6."
        if self.class_size > 1 and (self.tasks != "cyclic" or self.rounds != 1):
            yield "class_size above 1 is not allowed here: it has the training tasks of tasks=cyclic, rounds=1 only."
        if self.tasks != "given" and self.given_tasks is not None:
            yield f"given_tasks is not allowed with tasks = {self.tasks}: set tasks = given."
        if self.tasks == "given":
            given: np.ndarray = np.empty(0) if self.given_tasks is None else self.given_tasks
            if given.ndim != 2 or given.shape[1] != 2 or given.shape[0] < 1:
                yield f"given_tasks has shape {given.shape}; allowed are pairs, (n, 2)."
                return
            pairs = [tuple(pair) for pair in given.tolist()]
            if len(set(pairs)) < len(pairs):
                yield "given_tasks is not allowed: a task occurs twice."
            try:
                tasks.task_roles(pairs, self.patterns)
            except lm.UserError as error:
                yield str(error)

    def warnings(self) -> list[str]:
        sentences = []
        least = 1.0 if self.odr is None else float(np.min(np.sum(self.odr, axis=1, dtype=float)))
        if least < 1:
            sentences.append(f"odr has a coefficient sum {least:g}; the theory asks for at least 1.")
        if self.class_size == 1:
            balanced = tasks.check_condition(self.training_tasks(), self.patterns).satisfied
            if not balanced or (self.tasks == "subsampled" and self.task_count != self.patterns):
                sentences.append("the training tasks do not satisfy Condition 6.3.2.")
        return sentences


class Setting(PromptSetting):
    """The one-layer transformer on such prompts; the defaults are those of the specification."""

    initial_scale: float = lm.number(0.1, "δ", "diagonal of the initial attention and value maps", high=0.2, **POSITIVE)
    step_size: float = lm.number(1.0, "η", "step size", **POSITIVE)
    stop_at_loss: float = lm.number(
        REACHED, "", "training is done (T*) when the hinge on the watched prompts is below this", **POSITIVE
    )
    train_attention: int = lm.number(1, "", "1: keys and queries are trained; 0: frozen", low=0, high=1, integer=True)

    neurons: int = lm.size(200, "m", "hidden neurons", low=2)
    key_width: int = lm.size(60, "m_a", "rows of the key and query maps")
    value_width: int = lm.size(60, "m_b", "rows of the value map")
    heads: int = lm.size(1, "H", "attention heads")

    a_scale: str = lm.choice("1/m", "size of the output layer", "1/m", "1/sqrt(m)")
    include_query: bool = lm.flag(False, "the query is among the keys too (appendix of the paper)")
    equal_heads: bool = lm.flag(False, "all heads start with the same block of W_O")
    stop: str = lm.choice(
        "never", "leave when the hinge on the watched prompts is below stop_at_loss, or never", "never", "reached"
    )
    track: str = lm.choice(
        "hinge",
        "recorded along training: the hinge on the watched prompts; what figure 6.2 shows; what the proof is about",
        *("hinge", "mechanism", "proof"),
    )
    moments: str = lm.choice("even", "records at even steps, or at those of the register", "even", "register")

    @lm.derived
    def leave_below(self) -> float:
        """The hinge on the watched prompts below which training is left."""
        return self.stop_at_loss if self.stop == "reached" else -math.inf

    @lm.derived
    def register(self) -> int:
        return int(self.moments == "register")

    @lm.fixed
    def record_room(self) -> int:
        """The records that the programs of training have room for."""
        return max(self.records, len(REGISTER) + 1 if self.register else 0)

    @lm.derived
    def equal_blocks(self) -> int:
        return int(self.equal_heads)

    @lm.derived
    def output_size(self) -> float:
        """The size of every entry of the output layer."""
        return 1 / (self.neurons if self.a_scale == "1/m" else math.sqrt(self.neurons))

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from super().refusals(given)
        if self.equal_heads and self.heads == 1:
            yield "equal_heads = true is not allowed: there is one head only."
        if self.track != "hinge" and (self.heads > 1 or self.class_size > 1):
            yield f"track = {self.track} is not allowed: it speaks of one head and one pattern in each class."
        if self.track != "hinge" and not self.value_width == self.key_width == self.token_width:
            yield f"track = {self.track} is not allowed: it needs value_width = key_width = {self.token_width}."
        if self.track == "mechanism" and not self.shiftable:
            yield "track = mechanism is not allowed: it reads prompts out of domain, which need 6 and 3 patterns."

    def warnings(self) -> list[str]:
        sentences = super().warnings()
        if self.step_size > 1:
            sentences.append(f"step_size = {self.step_size:g} is above 1, the paper's largest.")
        return sentences
