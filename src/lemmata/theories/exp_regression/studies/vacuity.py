"""The paper's width, step size and number of steps beside what one would run (X8), on orthonormal data.

Orthonormal points have H^cts = e^{2σ²} I, so λ = λ_max = e^{2σ²}, and one neuron's kernel has summed variance
n (e^{8σ²} - e^{4σ²}).
"""

from __future__ import annotations

import math
from typing import Any

import lemmata as lm
from lemmata.theories.exp_regression import bounds
from lemmata.theories.exp_regression.setting import Setting


@lm.simulation(
    lm.Variable("log_width", (), "log10 m", "width by Lemma 9.2, constant 1"),
    lm.Variable("log_explicit_width", (), "log10 m", "width from the explicit conditions of the proof"),
    lm.Variable("log_step", (), "log10 η", "the paper's step size at that width"),
    lm.Variable("log_iterations", (), "log10 T", "the paper's number of steps"),
    lm.Variable("practical_width", (), "m", "width that brings the kernel within λ/4 in root mean square"),
    lm.Variable("practical_step", (), "η", "step c/(m λ_max) at that width"),
    lm.Variable("practical_iterations", (), "T", "steps that then suffice by Q17"),
    host=True,
    precision="float64",
)
def calculate(setting: Setting, seed: int) -> dict[str, float]:
    """The calculators at one setting."""
    n, sigma = setting.samples, setting.weight_scale
    of_B: dict[str, Any] = {"delta": setting.failure_probability, "sigma": sigma, "C": setting.tail_constant}
    lam = math.exp(2 * sigma**2)
    log_width = float(bounds.required_width(n, lam, **of_B))
    practical = float(bounds.width_for_kernel.function(1.0, lam, bounds.orthonormal_variance(n, sigma)))
    rate = setting.step_constant / lam
    return {
        "log_width": log_width,
        "log_explicit_width": bounds.explicit_width(n, lam, **of_B).ln_m / math.log(10),
        # η is proportional to 1/m, and T does not contain m
        "log_step": float(bounds.step_size(n, 1.0, lam, **of_B)) - log_width,
        "log_iterations": float(bounds.iterations(n, 1.0, lam, n, setting.tolerance, **of_B)),
        "practical_width": practical,
        "practical_step": rate / practical,
        "practical_iterations": float(bounds.step_count(rate, lam, n, setting.tolerance)),
    }
