"""The theorem at the width that follows from the explicit inequalities of its proof (X9)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.exp_regression import theorem as proof
from lemmata.theories.exp_regression.measures import claimed_decay, relative_square

INEQUALITIES = {
    "steps\n/ $T$": proof.time_used,
    "$\\|e\\|^2$\n/ bound": proof.contraction,
    "drift\n/ $D$": proof.drift_used,
    "$D$ / $R$": proof.radius_used,
    "step\n/ 0.01": proof.step_used,
    "kernel\n/ $\\lambda/4$": proof.kernel_distance,
}


def end_to_end(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """The error beside its bound until ε, and every inequality of the proof at its worst step."""
    problems = draw.labels_of(data, "problem")
    figure, axes = draw.panels(len(problems) + 1, width=5.0, height=4.3)
    for ax, problem in zip(axes, problems, strict=False):
        part = data.sel(problem=problem)
        T = draw.positive(part.predicted_steps)
        draw.paths(ax, part, relative_square(part), label="seeds and mean", clock=part.step / T)
        end = float((-claimed_decay(part) * T).median())
        grid = np.linspace(0, 1, 2)
        draw.predicted(ax, np.exp(grid * end), r"paper: at most $(1-m\eta\lambda/2)^t$", x=grid)
        draw.corrected(ax, np.exp(4 * grid * end), r"true rate $2m\eta\lambda$", x=grid)
        draw.moment(ax, 0.25, "$T/4$")
        draw.moment(ax, 1.0, "$T$", left=True)
        ax.set_xlim(-0.02, 1.05)
        draw.log_y(ax)
        ax.set_ylim(bottom=float(relative_square(part).min().fillna(1e-4)) / 10)
        draw.finish(ax, f"{problem}: error until $\\varepsilon$", r"$\|e(t)\|^2/\|e(0)\|^2$", "training step $t$ / $T$")
    last = axes[-1]
    ratios = lm.stack({name: ratio(data) for name, ratio in INEQUALITIES.items()}, "inequality")
    draw.groups(last, ratios.where(ratios > 0), "inequality", "problem", middle="median")
    draw.claimed(last, claims["x9-reached"], words="paper")
    draw.log_y(last)
    draw.finish(last, "inequalities of the proof, worst step", "left side / right side", legend=3)
    return figure
