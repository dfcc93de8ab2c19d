"""The setting of exponential regression: data (2), network and initialisation (3), step size and stopping (4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.networks.activations import ACTIVATIONS
from lemmata.theories.exp_regression.bounds import PROJECTION_SOURCES

DATA_LAWS = ("sphere", "ball", "orthonormal", "random_labels", "teacher", "clustered", "given")
STEPS = ("practical", "theory", "given")
SHIFTS = ("random", "point", "pair")
FLOOR = 1e-20
"""Below this ‖e‖² there is only rounding."""
SINGULAR_STEP = (
    "the kernel is numerically singular (λ ≤ 1e-12 λ_max): the paper's step size does not exist, it is taken as 0 and "
    "nothing is trained; fewer points, more dimensions or step=practical."
)
ROUNDING = 1e-12
"""Points may exceed the unit ball by rounding."""


class Setting(lm.Setting):
    """One learning problem of the paper; the defaults are those of the specification."""

    neurons: int = lm.number(1024, "m", "width: number of hidden neurons", low=1, high=2**20, integer=True)
    weight_scale: float = lm.number(1.0, "σ", "standard deviation of the initial weights", low=0, open_ends="low")
    step_constant: float = lm.number(0.5, "c", "practical step: m η λ_max(H(0))", low=0, open_ends="low")
    step_size: float = lm.number(0.01, "η", "step size for step=given", low=0, open_ends="low")
    steps: int = lm.number(600, "T", "cap on the training steps", low=0, high=10**7, integer=True)
    least_steps: int = lm.number(
        0, "", "with horizon=predicted, train at least this long", low=0, high=10**7, integer=True
    )
    compare_step: int = lm.number(
        20, "", "step at which the error is compared with the linearised dynamics", low=1, high=10**7, integer=True
    )
    tolerance: float = lm.number(1e-3, "ε", "wanted squared error ‖F - y‖²", low=0, high=0.1, open_ends="low high")
    failure_probability: float = lm.number(0.05, "δ", "failure probability", low=0, high=0.1, open_ends="low")
    tail_constant: float = lm.number(10.0, "C", "constant of the paper's B", low=0, open_ends="low")
    pair_angle: float = lm.number(
        0.5, "θ", "angle between the partners of data_law=clustered", low=0, high=np.pi, open_ends="low high"
    )
    pair_ratio: float = lm.number(0.5, "ρ", "x_2 = ρ x_1 for pair=parallel", low=0, high=1, open_ends="low")
    least_target: float = lm.number(0.0, "", "smallest size of a random target", low=0, high=1)
    radius: float = lm.number(1e-4, "R", "perturbation of the weights (q6)", low=0, high=0.38, open_ends="low")
    factor: float = lm.number(1.0, "", "the perturbation is this times R (q6)", low=0, open_ends="low")
    data_seed: int = lm.number(-1, "", "seed of the data (-1: that of the run)", low=-1, high=2**31 - 1, integer=True)
    weight_samples: int = lm.number(
        10**6, "", "weights drawn by Monte Carlo (q3), a multiple of 10000", low=10**4, high=10**9, integer=True
    )
    trained: int = lm.number(1, "", "1: the weights are trained; 0: frozen", low=0, high=1, integer=True)

    samples: int = lm.size(10, "n", "data points")
    dimension: int = lm.size(10, "d", "input dimension")
    neuron_room: int = lm.size(
        0, "", "room for neurons: widths up to it share one program (0: next power of two, at least 1024)", low=0
    )
    records: int = lm.size(60, "", "records along training, log-spaced", low=2)
    teacher_neurons: int = lm.size(4, "k", "neurons of the teacher")

    data_law: str = lm.choice("sphere", "where the data come from", *DATA_LAWS)
    pair: str = lm.choice(
        "none", "the second point: its own, ρ times the first, or minus the first", "none", "parallel", "antipodal"
    )
    normalise: bool = lm.flag(False, "divide given inputs by their largest norm if it exceeds 1")
    rescale: bool = lm.flag(False, "divide given targets by their largest size if it exceeds 1")
    activation: str = lm.choice("exp", "activation φ", *ACTIVATIONS)
    scale: str = lm.choice("one", "output scale κ: 1 or 1/sqrt(m)", "one", "inv_sqrt_m", symbol="κ")
    init: str = lm.choice(
        "coupled", "initial weights: pairs of opposite sign, independent, or given", "coupled", "independent", "given"
    )
    step: str = lm.choice("practical", "step size: c/(κ² m λ_max), the paper's, or given", *STEPS)
    projection_source: str = lm.choice(
        "paper", "where the B of the paper's step size comes from", *PROJECTION_SOURCES, symbol="B"
    )
    horizon: str = lm.choice(
        "given", "train for `steps`, or for the predicted T (at least least_steps, at most steps)", "given", "predicted"
    )
    stop: str = lm.choice(
        "tolerance", "leave at ‖F - y‖² ≤ ε, at 1e-20 (rounding), or never", "tolerance", "rounding", "never"
    )
    track: str = lm.choice(
        "loss", "watched at every step: the loss, or every bound too; or recorded by point", "loss", "bounds", "points"
    )
    compare: str = lm.choice(
        "nothing",
        "compare with separate runs of the points, or with gradient flow of the first one",
        *("nothing", "separate", "flow"),
    )
    shift: str = lm.choice("random", "direction of the perturbation (q6)", *SHIFTS)

    inputs: Any = lm.array("x", "points for data_law=given (n x d)")
    targets: Any = lm.array("y", "targets for data_law=given (n)")
    weights: Any = lm.array("W(0)", "initial weights for init=given (m x d)")
    output_signs: Any = lm.array("a", "output signs ±1 for init=given (m)")

    @lm.derived
    def output_scale(self) -> float:
        """κ."""
        return 1.0 if self.scale == "one" else self.neurons**-0.5

    @lm.derived
    def rules(self) -> dict[str, int]:
        """Choices that compiled code selects by number, so that they share its programs."""
        return {
            "step": STEPS.index(self.step),
            "projection_source": PROJECTION_SOURCES.index(self.projection_source),
            "predicted": int(self.horizon == "predicted"),
            "shift": SHIFTS.index(self.shift),
        }

    @lm.derived
    def wanted_square(self) -> float:
        """The ‖e‖² at which a run stops; -1: never."""
        return {"tolerance": self.tolerance, "rounding": FLOOR, "never": -1.0}[self.stop]

    @lm.derived
    def pair_factor(self) -> float:
        """x_2 / x_1 where the second point is tied to the first; 0: it is not."""
        return {"none": 0.0, "parallel": self.pair_ratio, "antipodal": -1.0}[self.pair]

    @lm.derived
    def given_inputs(self) -> np.ndarray | None:
        """The user's points, none of them longer than 1."""
        if self.data_law != "given":
            return None
        largest = float(np.max(np.linalg.norm(self.inputs, axis=1)))
        return np.asarray(self.inputs, float) / (largest if largest > 1 + ROUNDING else 1.0)

    @lm.derived
    def given_targets(self) -> np.ndarray | None:
        """The user's targets, none of them larger than 1."""
        if self.data_law != "given":
            return None
        largest = float(np.max(np.abs(self.targets)))
        return np.asarray(self.targets, float) / (largest if largest > 1 else 1.0)

    @lm.derived
    def given_weights(self) -> np.ndarray | None:
        return np.asarray(self.weights, float) if self.init == "given" else None

    @lm.derived
    def given_output_signs(self) -> np.ndarray | None:
        return np.asarray(self.output_signs, float) if self.init == "given" else None

    @lm.fixed
    def capacity(self) -> int:
        """Room for neurons, an even number."""
        if self.neuron_room:
            return max(2, self.neuron_room + self.neuron_room % 2)
        # narrow networks share one program: compiling another takes longer than the neurons that are not used
        return max(1024, 1 << (self.neurons - 1).bit_length())

    def warnings(self) -> list[str]:
        unstable = "beyond it the linearised dynamics is unstable; expect a catapult or divergence."
        silent = "the kernel is singular (λ = 0) and the theory says nothing."
        sentences = {
            f"step_constant is at least 2: {unstable}": self.step == "practical" and self.step_constant >= 2,
            f"pair_ratio = 1 repeats the first point: {silent}": self.pair == "parallel" and self.pair_ratio == 1,
            f"inputs contain a zero or a repeated row: {silent}": self._degenerate(),
            f"on data like these {SINGULAR_STEP}": self._crowded(),
        }
        return [sentence for sentence, warned in sentences.items() if warned]

    def _degenerate(self) -> bool:
        """Whether the user's points contain a zero or a repeated row."""
        x = self.given_inputs
        return x is not None and (bool(np.any(np.all(x == 0, axis=1))) or len(np.unique(x, axis=0)) < len(x))

    def _crowded(self) -> bool:
        """Whether the paper's step meets a limit kernel (of as many points of the sphere) singular in float64."""
        if self.step != "theory" or self.data_law in ("orthonormal", "given"):
            return False
        x = np.random.default_rng(0).standard_normal((min(self.samples, 500), self.dimension))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        kernel = (x @ x.T) * np.exp(self.weight_scale**2 * (1 + x @ x.T))
        values = np.linalg.eigvalsh(kernel)
        return bool(values[0] <= 1e-12 * values[-1])

    def refusals(self, given: list[str]) -> Iterator[str]:
        clustered, printed = self.data_law == "clustered", self.activation == "exp" and self.scale == "one"
        crowded = self.data_law == "orthonormal" and self.samples > self.dimension
        lone = self.samples < 2 or self.data_law == "given"
        endless = self.horizon == "predicted" and self.least_steps > self.steps
        rules = {
            ("neurons", "init = coupled needs an even width"): self.neurons % 2 and self.init == "coupled",
            ("neuron_room", f"it must not be less than neurons = {self.neurons}"): 0 < self.neuron_room < self.neurons,
            ("samples", f"data_law = orthonormal has at most dimension = {self.dimension} points"): crowded,
            ("weight_samples", "it must be a multiple of 10000"): self.weight_samples % 10**4,
            ("samples", "data_law = clustered needs an even number of points"): clustered and self.samples % 2,
            ("dimension", "data_law = clustered needs dimension at least 2"): clustered and self.dimension < 2,
            ("pair", "it needs two random points"): lone and self.pair != "none",
            ("track", "the bounds are those of exp"): self.track == "bounds" and self.activation != "exp",
            ("compare", "it needs activation = exp and scale = one"): self.compare != "nothing" and not printed,
            ("step", "the paper's is for activation = exp and scale = one"): self.step == "theory" and not printed,
            ("least_steps", f"it must not exceed steps = {self.steps}"): endless,
        }
        for (name, why), broken in rules.items():
            if broken:
                yield f"{name} = {getattr(self, name)} is not allowed: {why}."
        if self.data_law == "given":
            yield from self.misshapen("inputs", (self.samples, self.dimension))
            yield from self.misshapen("targets", (self.samples,))
            yield from self._out_of_bounds()
        if self.init == "given":
            yield from self.misshapen("weights", (self.neurons, self.dimension))
            yield from self.misshapen("output_signs", (self.neurons,))
            if not np.all(np.abs(self.output_signs) == 1):
                yield "output_signs is not allowed: every output sign is 1 or -1."

    def _out_of_bounds(self) -> Iterator[str]:
        """Where ‖x_i‖ ≤ 1 or |y_i| ≤ 1 is broken, and where the paper's step does not exist."""
        largest = float(np.max(np.linalg.norm(self.inputs, axis=1)))
        if largest > 1 + ROUNDING and not self.normalise:
            yield f"inputs has a row of norm {largest:.6g}: norms are at most 1; normalise=True divides by the largest."
        size = float(np.max(np.abs(self.targets)))
        if size > 1 and not self.rescale:
            yield f"targets has an entry of size {size:.6g}: sizes are at most 1; rescale=True divides by the largest."
        if self.step == "theory" and self._degenerate():
            yield (
                "step = theory is not allowed here: inputs contain a zero or a repeated row, so the kernel is singular "
                "(λ = 0) and the paper's step size does not exist."
            )
