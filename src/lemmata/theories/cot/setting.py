"""The settings of chain-of-thought inference: prompts and transitions (section 2), the model (3.1), training (4)."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.cot import transitions
from lemmata.theories.cot.voters import matches

MOMENTS = (50, 100, 200, 500, 1000, 2000, 8000)
"""η t at which the weights are kept, where a run has a record there."""
READ = ("0", *map(str, MOMENTS), "end")
"""The weights that can be tested: W = 0, those kept along training, and the last."""
PATTERN_LAWS = ("haar", "identity", "blind", "outside", "given")
DEFECTS = ("none", "equal positions", "noise inside")
RELATIONS = ("same pattern, same step", "same pattern, other step", "other pattern, same step", "other, other")
"""How two columns are related whose projected gradient is taken (5.4)."""
SHARE: Any = {"low": 0, "high": 1, "open_ends": "low"}


class PromptSetting(lm.Setting):
    """Patterns, tasks and training prompts, whatever network sees them."""

    fraction: float = lm.number(0.4, "α", "share of training examples with the query's input", **SHARE)
    examples: int = lm.number(20, "l_tr", "examples of a training prompt", low=1, high=4096, integer=True)
    pool: int = lm.number(0, "n", "number of training tasks (0: a fresh task for every prompt)", low=0, integer=True)
    step_size: float = lm.number(1.0, "η", "step size", low=0, open_ends="low")
    steps: int = lm.number(2000, "T", "training steps", low=0, high=10**6, integer=True)
    record_every: int = lm.number(5, "", "steps between two records, at least", low=1, high=10**6, integer=True)

    dimension: int = lm.size(30, "d_X", "dimension of a pattern", low=3)
    patterns: int = lm.size(20, "M", "training patterns", low=2)
    reasoning_steps: int = lm.size(3, "K", "reasoning steps")
    batch: int = lm.size(240, "B", "prompts of a training step")
    records: int = lm.size(251, "", "room for records", low=2)
    watch_prompts: int = lm.size(1000, "", "fresh training prompts that are watched along training")
    example_room: int = lm.size(0, "", "room for the examples of a training prompt (0: as many as there are)", low=0)

    task_law: str = lm.choice("shift", "training tasks: cyclic shifts, or any permutations", "shift", "independent")

    @lm.derived
    def matching(self) -> int:
        """How many training examples have the query's input."""
        return max(1, round(self.fraction * self.examples))

    @lm.fixed
    def pooled(self) -> bool:
        """Whether training tasks come from a pool."""
        return self.pool > 0

    @lm.fixed
    def example_capacity(self) -> int:
        """The examples that the programs of training have room for."""
        return self.example_room or self.examples

    def refusals(self, given: list[str]) -> Iterator[str]:
        need = self.patterns + self.reasoning_steps
        if self.dimension < need:
            yield f"dimension = {self.dimension} is not allowed: it is at least patterns + reasoning_steps = {need}."
        if self.task_law == "shift" and self.patterns <= self.reasoning_steps:
            more = f"shift tasks need more than reasoning_steps = {self.reasoning_steps}"
            yield f"patterns = {self.patterns} is not allowed: {more}, or some step is the identity."
        if 0 < self.example_room < self.examples:
            yield f"example_room = {self.example_room} is not allowed: it must hold examples = {self.examples}."

    def warnings(self) -> list[str]:
        sentences = []
        if self.fraction > 0.95:
            sentences.append(f"fraction = {self.fraction:g} is close to 1: then only positions are learnt.")
        if self.examples < math.ceil(1 / self.fraction):
            sentences.append(f"examples = {self.examples} is below 1/fraction, which the theory asks for.")
        return sentences


class Setting(PromptSetting):
    """The one-layer attention model, and how it is tested; the defaults are those of the specification."""

    test_fraction: float = lm.number(0.8, "α'", "share of testing examples with the query's input", **SHARE)
    test_examples: int = lm.number(20, "l_ts", "examples of a testing prompt", low=1, high=10**5, integer=True)
    token_noise: float = lm.number(0.2, "ν", "norm of the noise of a testing token", low=0, high=math.sqrt(2) / 2)
    trajectory: float = lm.number(0.5, "τ", "probability that a testing example is right at every step", **SHARE)
    primacy: float = lm.number(0.8, "ρ", "lead of the right output over the runner-up", **SHARE)
    wrong_step: int = lm.number(1, "k", "transitions=single: the step with all the error", low=1, integer=True)
    first_right: float = lm.number(0.6, "a", "transitions=pairs: first step right", low=0, high=1)
    unsure_right: float = lm.number(0.55, "b_u", "transitions=pairs: second step right, from u", low=0, high=1)
    sure_right: float = lm.number(0.6407895, "b_s", "transitions=pairs: second step right, from s", low=0, high=1)
    last_right: float = lm.number(0.76, "c", "transitions=pairs: third step right", low=0, high=1)
    initial_scale: float = lm.number(0.01, "ξ", "standard deviation of the entries of W(0)", low=0)
    train_attention: int = lm.number(1, "", "1: W is trained; 0: frozen", low=0, high=1, integer=True)
    measure_prompts: int = lm.number(2000, "", "prompts of loss and gradients at kept weights", low=1, integer=True)

    test_patterns: int = lm.size(10, "M'", "testing patterns", low=2)
    test_prompts: int = lm.size(500, "", "testing prompts")
    test_room: int = lm.size(0, "", "room for the examples of a testing prompt (0: as many as there are)", low=0)
    watch_tests: int = lm.size(200, "", "testing prompts that are watched along training")
    chunk: int = lm.size(1000, "", "of the measured prompts, how many at once", low=1)
    key_width: int = lm.size(64, "m", "rows of W_K and W_Q where they are trained separately")

    transitions: str = lm.choice("uniform", "how the steps of testing examples err", *transitions.CONSTRUCTORS)
    runner_up: str = lm.choice("next", "the second most probable output: the next pattern, or any", "next", "random")
    pattern_law: str = lm.choice(
        "haar", "testing patterns: in the span of the training ones, these, their mean first, outside", *PATTERN_LAWS
    )
    noise_law: str = lm.choice(
        "untrained", "noise orthogonal to all patterns and positions, or to those tested", "untrained", "perp_tsr"
    )
    test_mode: str = lm.choice("exact", "matching testing examples: an exact count, or independent", "exact", "iid")
    queries: str = lm.choice("all", "testing queries: any pattern, the first, or any other", "all", "first", "others")
    moment: str = lm.choice("end", "η t of the weights that are tested", *READ)
    label_order: str = lm.choice("true", "targets of the measured gradients: true, or shuffled", "true", "shuffled")
    simulator: str = lm.choice("reduced", "training on one-hots (exact), or on the tokens", "reduced", "plain")
    factored: bool = lm.flag(False, "train W_K and W_Q separately")
    defect: str = lm.choice("none", "a broken assumption", *DEFECTS)
    track: str = lm.choice("errors", "of testing: mean errors, or also those of every prompt", "errors", "prompts")

    step_weights: Any = lm.array("w", "transitions=weighted: share of the error of every step (K, sum 1)")
    given_matrices: Any = lm.array("A", "transitions=given: the step matrices (K x M' x M')")
    given_maps: Any = lm.array("f", "the testing task as permutations, counted from 0 (K x M'; default a random shift)")
    given_patterns: Any = lm.array("Λ", "pattern_law=given: testing patterns by their coefficients (M' x M)")

    @lm.derived
    def test_matching(self) -> int:
        """How many testing examples have the query's input for sure."""
        return int(matches(self.test_fraction, self.test_examples)) if self.test_mode == "exact" else 0

    @lm.derived
    def by_itself(self) -> float:
        """The probability with which any other one has it."""
        return self.test_fraction if self.test_mode == "iid" else 0.0

    @lm.derived
    def noise_norm(self) -> float:
        return 2.0 if self.defect == "noise inside" else self.token_noise

    @lm.derived
    def equal_positions(self) -> int:
        return int(self.defect == "equal positions")

    @lm.derived
    def shuffled_targets(self) -> int:
        return int(self.label_order == "shuffled")

    @lm.derived
    def read(self) -> int:
        """Which of the weights `READ` is tested."""
        return READ.index(self.moment)

    @lm.derived
    def asked(self) -> np.ndarray:
        """The first pattern that is asked, and how many kinds there are."""
        shown = self.test_patterns
        return np.array({"all": (0, shown), "first": (0, 1), "others": (1, shown - 1)}[self.queries])

    @lm.fixed
    def test_capacity(self) -> int:
        """The examples that the programs of testing have room for."""
        return self.test_room or self.test_examples

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from super().refusals(given)
        K, shown = self.reasoning_steps, self.test_patterns
        if shown > self.patterns:
            yield f"test_patterns = {shown} is not allowed: it is at most patterns = {self.patterns}."
        free = self.dimension - self.patterns - K
        if self.pattern_law == "outside" and free < shown:
            need = f"patterns + reasoning_steps + test_patterns = {self.dimension - free + shown}"
            yield f"dimension = {self.dimension} is not allowed: patterns outside the span need at least {need}."
        elif self.token_noise and self.noise_law == "untrained" and free == (self.pattern_law == "outside") * shown:
            more = f"no direction is left for it, dimension = {self.dimension} must be larger"
            yield f"token_noise = {self.token_noise:g} is not allowed: {more}."
        if self.test_room and self.test_room < self.test_examples:
            yield f"test_room = {self.test_room} is not allowed: it must hold test_examples = {self.test_examples}."
        if self.measure_prompts % self.chunk:
            yield f"measure_prompts = {self.measure_prompts} is not allowed: it is a multiple of chunk = {self.chunk}."
        if self.factored and (self.initial_scale == 0 or self.key_width <= 2 * self.dimension):
            need = f"initial_scale > 0 (0 is a saddle) and key_width above 2 dimension = {2 * self.dimension}"
            yield f"factored = true is not allowed here: it needs {need}."
        steps = {f"{moment}": moment / self.step_size for moment in MOMENTS}
        recorded = [t for t, at in steps.items() if at == round(at) <= self.steps and at % self.record_every == 0]
        if self.moment not in ("0", "end", *recorded):
            yield f"moment = {self.moment} is not allowed: training has no record at that η t."
        yield from self._array_refusals()
        yield from self._transition_refusals()

    def step_probabilities(self) -> np.ndarray:
        """The probability of the right output at every step of `uniform`, `weighted` and `single`."""
        given = self.trajectory, self.reasoning_steps, self.wrong_step, self.step_weights
        return transitions.step_probabilities(self.transitions, *given)

    def pair_chances(self) -> tuple[float, float, float, float]:
        """a, b_u, b_s and c of `pairs`."""
        return self.first_right, self.unsure_right, self.sure_right, self.last_right

    def _array_refusals(self) -> Iterator[str]:
        K, shown, own, weights = self.reasoning_steps, self.test_patterns, self.given_patterns, self.step_weights
        together = (("given_patterns", "pattern_law", "given"), ("given_matrices", "transitions", "given"))
        for name, choice, needs in (*together, ("step_weights", "transitions", "weighted")):
            if (getattr(self, choice) == needs) != (getattr(self, name) is not None):
                yield f"{name} and {choice} = {needs} go together: give both or neither."
        maps, matrices = self.given_maps, self.given_matrices
        if maps is not None and (maps.shape != (K, shown) or (np.sort(maps, axis=1) != np.arange(shown)).any()):
            yield f"given_maps must be {K} permutations of 0, ..., {shown - 1}, one for each reasoning step."
        elif matrices is not None and matrices.shape != (K, shown, shown):
            yield f"given_matrices has shape {matrices.shape}; allowed is {(K, shown, shown)}."
        elif matrices is not None and maps is None:
            yield "given_maps is missing: matrices of your own come with the task that they err about."
        elif matrices is not None and maps is not None:
            try:
                transitions.check_rows(matrices)
                transitions.check_primacy(matrices, maps.astype(int))
            except lm.UserError as error:
                yield str(error)
        if own is not None and own.shape != (shown, self.patterns):
            yield f"given_patterns has shape {own.shape}; allowed is {(shown, self.patterns)}."
        elif own is not None and not np.allclose(own @ own.T, np.eye(shown), atol=1e-6):
            yield "given_patterns is not allowed: its rows must be orthonormal."
        if weights is not None and (weights.shape != (K,) or weights.min() < 0 or abs(weights.sum() - 1) > 1e-9):
            yield f"step_weights is not allowed: it has one share of at least 0 for each of {K} steps, with sum 1."

    def _transition_refusals(self) -> Iterator[str]:
        K, shown, law = self.reasoning_steps, self.test_patterns, self.transitions
        if law in ("uniform", "weighted", "single"):
            if shown <= K and self.given_maps is None:
                yield f"test_patterns = {shown} is not allowed: shift tasks need more than reasoning_steps = {K}."
            if law == "single" and self.wrong_step > K:
                yield f"wrong_step = {self.wrong_step} is not allowed: there are {K} reasoning steps."
            elif law != "weighted" or np.shape(self.step_weights) == (K,):
                for k, p in enumerate(self.step_probabilities(), start=1):
                    if reason := transitions.infeasible(float(p), self.primacy, shown):
                        numbers = f"trajectory = {self.trajectory:g}, primacy = {self.primacy:g}"
                        yield f"{numbers} are not feasible: {reason}, step {k}."
        if law == "pairs" and (K != 3 or shown % 2 or shown < 4):
            yield "transitions = pairs is not allowed: it needs reasoning_steps = 3 and test_patterns even, from 4."
        elif law == "pairs":
            maps = transitions.shift_maps(np.arange(shown), K)  # the primacy is the same for every task
            if transitions.leads(transitions.pair_matrices(maps, *self.pair_chances()), maps).min() <= 0:
                names = "first_right, unsure_right, sure_right, last_right"
                yield f"{names} = {self.pair_chances()} are not allowed: at some step the right output does not lead."
        if law in ("example", "direct") and (K, shown) != (2, 2):
            yield f"transitions = {law} is not allowed: Example 1 has reasoning_steps = test_patterns = 2."

    def warnings(self) -> list[str]:
        sentences = super().warnings()
        if self.step_size > 1:
            sentences.append(f"step_size = {self.step_size:g} is above 1; the theory asks for less.")
        if self.test_examples > self.examples:
            sentences.append("test_examples exceeds examples; the paper tests with at most as many.")
        return sentences
