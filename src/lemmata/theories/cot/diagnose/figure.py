"""The figure of a diagnosis: both errors by the number of examples, the composed steps, and the lead of every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lemmata.theories.cot import transitions
from lemmata.theories.cot.diagnose.reading import Chain
from lemmata.theories.cot.diagnose.voting import Simulated

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(chain: Chain, seen: Simulated, error: float, examples: int) -> Figure:
    """CoT and ICL by length with intervals; B with its right answers; primacy by step and state."""
    import xarray as xr

    from lemmata import figures

    figure, axes = figures.panels(3, width=5.2, height=4.5)
    kinds = ("cot", "CoT: steps shown", figures.BLUE), ("icl", "ICL: inputs and answers only", figures.RED)
    for who, words, color in kinds:
        errors = xr.DataArray(getattr(seen, who), {"length": seen.lengths}, ("length", "seed"))
        figures.curves(axes[0], errors, "length", label=words, color=color, spread="interval", markersize=3.5)
    condition, limit = chain.numbers.condition, 1 - float(chain.numbers.condition.mean())
    figures.predicted(axes[0], limit, f"where ICL must end: {limit:.2g} of the inputs fail")
    axes[0].axhline(error, color=figures.GREY, linestyle=":", label=f"error aimed at: {error:g}")
    figures.moment(axes[0], examples, f"{examples} examples", height=0.9)
    axes[0].set(xscale="log", ylim=(-0.02, None))
    figures.finish(axes[0], "measured: wrong answers (bars: 95 %)", "error of the answer", "examples of a prompt")
    _map(axes[1], chain.whole, "answer", "input", float(chain.whole.max()))
    for i, (answer, holds) in enumerate(zip(transitions.answers(chain.maps), condition, strict=True)):
        axes[1].plot(answer, i, "o" if holds else "X", color=figures.GREEN if holds else figures.RED, markersize=7)
    figures.finish(axes[1], "all steps composed; o: right answer leads, x: it does not")
    _map(axes[2], chain.leads, "state", "step", 1.0)
    k, state = np.unravel_index(chain.leads.argmin(), chain.leads.shape)
    axes[2].plot(state, k, "s", color=figures.RED, markersize=12, fillstyle="none", markeredgewidth=2)
    figures.finish(axes[2], "lead of the right output by step (red: weakest)")
    figure.suptitle(f"{chain.source}: {len(chain.maps)} steps, {chain.maps.shape[1]} states")
    return figure


def _map(ax: Axes, values: np.ndarray, x: str, y: str, top: float) -> None:
    """Values from 0 (white) as a map with its scale; rows and columns are counted from 1."""
    ax.grid(False)
    image = ax.imshow(values, cmap="Greys", vmin=0, vmax=top, aspect="auto")
    every = max(1, max(values.shape) // 20)
    for axis, count in ((ax.xaxis, values.shape[1]), (ax.yaxis, values.shape[0])):
        axis.set_ticks(range(0, count, every), [str(i + 1) for i in range(0, count, every)])
    ax.set(xlabel=x, ylabel=y)
    assert ax.figure is not None
    ax.figure.colorbar(image, ax=ax, fraction=0.046)
