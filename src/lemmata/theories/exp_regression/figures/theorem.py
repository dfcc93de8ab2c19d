"""The theorem where every one of its explicit conditions is met (X9)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, PREDICTED, dodge, legend_below, log_y, panels
from lemmata.theories.exp_regression.figures import common
from lemmata.theories.exp_regression.figures.common import coloured, positive, seeds_at
from lemmata.theories.exp_regression.probes import SMALL_STEP


def theorem(data: xr.Dataset) -> Figure:
    """Every explicit condition met: the error beside its bound, the hitting time, and every inequality of the proof."""
    cases = [str(case) for case in data.problem.values]
    figure, axes = panels(len(cases) + 2, width=4.4, height=4.2)
    for ax, case in zip(axes, cases, strict=False):
        part = data.sel(problem=case)
        time = part.step / part.predicted_steps.where(np.isfinite(part.predicted_steps) & (part.predicted_steps > 0))
        error = common.relative_square(part)
        bound = -common.claimed_decay(part) * part.predicted_steps
        grid = np.linspace(0, 1, 2)
        for i in range(part.sizes["seed"]):
            label = "seeds" if i == 0 else None
            ax.plot(time.isel(seed=i), error.isel(seed=i), color=BLUE, linewidth=1.3, alpha=0.8, label=label)
            end = float(bound.isel(seed=i))
            if np.isfinite(end):
                words = r"bound $(1-m\eta\lambda/2)^t$" if i == 0 else None
                ax.plot(grid, np.exp(grid * end), label=words, **PREDICTED)
        ax.axvline(1.0, color="black", linestyle="-.", linewidth=0.9, label="$T$")
        ax.axvline(0.25, color=GREEN, linestyle="-.", linewidth=0.9, label=r"$T/4$: true rate $2m\eta\lambda$")
        ax.set_xlim(-0.02, 1.05)
        log_y(ax)
        ax.set_xlabel("training step $t$ / $T$")
        ax.set_ylabel(r"$\|e(t)\|^2/\|e(0)\|^2$")
        ax.set_title(f"{case}, until $\\varepsilon$", fontsize=10)
    hits, proof = axes[-2:]
    scaled = 4 * data.reached_step / data.predicted_steps.where(data.predicted_steps > 0)
    for i, case in enumerate(cases):
        seeds_at(hits, i, scaled.sel(problem=case), BLUE, "seeds and median" if i == 0 else None)
    hits.axhline(1.0, label="true rate: 1", **PREDICTED)
    hits.axhspan(0.97, 1.03, color=GREY, alpha=0.2, linewidth=0, label="claimed: 0.97 to 1.03")
    hits.axhline(4.0, color="black", linestyle="-.", linewidth=0.9, label="paper: at most 4 ($T$)")
    hits.set_yscale("log", base=2)
    hits.set_ylim(0.85, 5)
    hits.set_yticks([1, 2, 4], ["1", "2", "4"])
    common.names_axis(hits, [f"{case}" for case in cases])
    hits.set_ylabel(r"4 × steps to $\varepsilon$ / $T$")
    hits.set_title("hitting time", fontsize=10)
    groups = (
        ("$\\|e\\|^2$\n/ bound", data.contraction.sel(rate_of="limit")),
        ("drift\n/ $D$", data.largest_drift / data.drift_bound),
        ("$D$ / $R$", data.drift_bound / data.ball_radius),
        ("step\n/ 0.01", data.step_length / SMALL_STEP),
        ("kernel\n/ $\\lambda/4$", 4 * data.kernel_error / data.limit_least),
    )
    for (case, color), x in zip(coloured(cases), dodge(len(cases), 0.5), strict=True):
        for i, (_, values) in enumerate(groups):
            seeds_at(
                proof, i + x, positive(values.sel(problem=case).values), color, f"{case}" if i == 0 else None, 0.06
            )
    common.bound_line(proof, names=[name for name, _ in groups])
    log_y(proof)
    proof.set_title("inequalities of the proof, worst step", fontsize=10)
    for ax in axes:
        legend_below(ax, 2)
    return figure
