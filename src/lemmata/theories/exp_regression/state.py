"""The state of a run: what is fixed before the first step, and what changes with every step."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Array, Float

from lemmata.networks.kernels import Spectrum
from lemmata.theories.exp_regression.network import Weights

NONE = -1e37
"""Not judged or not reached yet: finite, in float32 too, since a state that is not finite counts as diverged."""


class Constants(NamedTuple):
    """What is fixed before the first step."""

    start: Spectrum
    """of H(0)."""
    limit: Spectrum
    """of H^cts."""
    kernel: Float[Array, "points points"]
    limit_kernel: Float[Array, "points points"]
    projections: Float[Array, ""]
    """The empirical B."""
    eta: Float[Array, ""]
    rate: Float[Array, ""]
    """κ² m η."""
    residual: Float[Array, " points"]
    """e(0)."""
    document: Float[Array, ""]
    """B by the setting's source."""
    predicted: Float[Array, ""]
    """T of Q17 with λ of H^cts; inf where the kernel is singular."""
    steps: Array


class State(NamedTuple):
    """A run between two steps. `extremes` are running maxima of what `_judged` gives."""

    weights: Weights
    values: Float[Array, "points neurons"]
    """φ(<w_r, x_i>)."""
    outputs: Float[Array, " points"]
    done: Float[Array, ""]
    """Steps taken."""
    drift: Float[Array, ""]
    """Largest ‖w_r(s) - w_r(0)‖ up to now: the R of the bounds."""
    hit: Float[Array, ""]
    """First step with ‖e‖² ≤ ε (NONE: not yet)."""
    peak: Float[Array, ""]
    compared: Float[Array, ""]
    """‖e‖² at the step `compare_step`."""
    stopped: Array
    diverged: Array
    extremes: dict[str, Array]
