"""The figure of E4: the paper's Figures 4 and 5, and where and when attention finds the groups."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, RED, legend_below, panels, trajectory
from lemmata.lab.measures import at_end
from lemmata.theories.teacher_student.mnist.data import boundary
from lemmata.theories.teacher_student.mnist.setting import CANVAS, GRID, GROUP, PATCH, TOKENS

COLORS = {"ReLU": BLUE, "leaky": ORANGE, "shuffled": GREY}
SHARP = 0.9
"""The cosine that the paper reports as passed."""


def mnist(data: xr.Dataset) -> Figure:
    """Training in the upper row; scores and an image in the lower one."""
    figure, axes = panels(8, rows=2, width=4.3, height=4.0)
    loss, cosine, mass, energy, target, relu, leaky, example = axes
    _over_steps(loss, data, "loss", r"training loss $\frac{1}{2}\|f^* - TF\|_F^2$")
    loss.set_yscale("log")
    loss.set_title("Figure 4(a)", fontsize=10)
    _over_steps(cosine, data, "cosine", r"cosine of $W_V$ and $V^*$")
    cosine.axhline(SHARP, label="paper: rises above 0.9", **PREDICTED)
    cosine.set_ylim(min(0.0, float(data.cosine.min())), 1.02)
    cosine.set_title("Figure 4(b)", fontsize=10)
    _masses(mass, data)
    for ax in (loss, cosine, mass):
        ax.set_xlabel("training step $t$")
        legend_below(ax)
    _energies(energy, data)
    first = data.isel(seed=0)
    _scores(target, first.target_scores.isel(variant=0), "Figure 5(a): the teacher's $S^*$")
    for ax, variant, letter in ((relu, "ReLU", "b"), (leaky, "leaky", "c")):
        image = _scores(ax, first.scores.sel(variant=variant), f"Figure 5({letter}): learned $S$, {variant}")
    figure.colorbar(image, ax=[target, relu, leaky], location="bottom", shrink=0.4, aspect=40, label="score")
    _example(example, first.example.isel(variant=0))
    figure.suptitle(_source(data), fontsize=11)
    return figure


def _source(data: xr.Dataset) -> str:
    name = "stand-in: scikit-learn digits, no MNIST" if bool(data.is_digits.max()) else "MNIST"
    images, accuracy = int(data.train_images.min()), data.teacher_accuracy.sel(variant=["ReLU", "leaky"])
    said = f"teacher's test accuracy {100 * float(accuracy.min()):.0f} to {100 * float(accuracy.max()):.0f} %"
    return f"{name}, {images} training images; {said} (paper: about 71 %)"


def _over_steps(ax: Axes, data: xr.Dataset, name: str, label: str) -> None:
    for variant, color in COLORS.items():
        words = "ReLU, patches shuffled" if variant == "shuffled" else variant
        trajectory(ax, data.step.sel(variant=variant), data[name].sel(variant=variant), words, color)
    ax.set_ylabel(label)


def _masses(ax: Axes, data: xr.Dataset) -> None:
    """Relative mass over time: solid inside, dashed in the first and last row of patches."""
    for variant, color in COLORS.items():
        part = data.sel(variant=variant)
        trajectory(ax, part.step, part.interior_mass, f"{variant}, interior", color)
        trajectory(ax, part.step, part.boundary_mass, f"{variant}, boundary", color, linestyle="--")
    ax.axhline(GROUP / TOKENS, color="black", linewidth=1, linestyle=":", label="uniform: $K/D$")
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("relative mass within the group")
    ax.set_title("interior against the first and last row of patches", fontsize=10)


def _energies(ax: Axes, data: xr.Dataset) -> None:
    """Relative mass of every patch at the end against its energy, ReLU."""
    part = data.sel(variant="ReLU")
    mass, edge = at_end(part.relative_mass), boundary()
    for which, color, word in ((~edge, GREEN, "interior"), (edge, RED, "boundary")):
        for i in range(data.sizes["seed"]):
            x, y = (values.isel(seed=i).transpose("token").values[which] for values in (part.energy, mass))
            ax.plot(x, y, ".", color=color, alpha=0.7, label=word if i == 0 else None)
    ax.axhline(1.0, label="the teacher", **PREDICTED)
    ax.set_xlabel(r"energy of the patch $E\|x_i\|^2$")
    ax.set_ylabel("relative mass after training, ReLU")
    correlation = float(at_end(part.mass_energy).mean("seed"))
    ax.set_title(f"mass and energy: correlation {correlation:.2f}", fontsize=10)
    ax.legend(loc="best", fontsize=7.5)


def _scores(ax: Axes, scores: xr.DataArray, title: str) -> AxesImage:
    """A score matrix on the scale of S*; ticks where the first and the last row of patches end."""
    ax.grid(False)
    image = ax.imshow(scores.values, cmap="Reds", vmin=0, vmax=1 / GROUP, interpolation="nearest")
    ax.set_xlabel("output (query)")
    ax.set_ylabel("patch (key)")
    ax.set_title(title, fontsize=10)
    ticks = [0, GRID - 1, TOKENS // 2, TOKENS - GRID, TOKENS - 1]
    ax.set_xticks(ticks, [str(tick + 1) for tick in ticks], fontsize=8)
    ax.set_yticks(ticks, [str(tick + 1) for tick in ticks], fontsize=8)
    return image


def _example(ax: Axes, pixels: xr.DataArray) -> None:
    ax.grid(False)
    ax.imshow(pixels.values, cmap="gray", vmin=0, vmax=1)
    for top in (0, CANVAS - PATCH):
        ax.add_patch(Rectangle((-0.5, top - 0.5), CANVAS, PATCH, fill=False, edgecolor=RED, linewidth=2, clip_on=False))
    edges = np.arange(PATCH, CANVAS, PATCH) - 0.5
    ax.hlines(edges, -0.5, CANVAS - 0.5, color=GREY, linewidth=0.4)
    ax.vlines(edges, -0.5, CANVAS - 0.5, color=GREY, linewidth=0.4)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_title("Figure 5(d): patches 1-9 and 73-81", fontsize=10)
