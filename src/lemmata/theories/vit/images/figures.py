"""The figures of the image experiments: accuracy with the chance level, F6b's heat map, and examples of the images."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.errors import UserError
from lemmata.lab.figures import GREY, PALETTE, curve, heat, legend_below, panels
from lemmata.theories.vit.images.data import Tokens, load_images, task_sets
from lemmata.theories.vit.images.setting import CANVAS, ImageSetting

TITLES = {"digits": "stand-in: scikit-learn digits", "cifar10": "CIFAR-10"}
Plot = Callable[[xr.Dataset], Figure]


def samples(image_source: str) -> Plot:
    """F6a and F6b: accuracy against N, and the share of runs above the median accuracy of the whole grid."""

    def plot(data: xr.Dataset) -> Figure:
        figure, (left, middle, right) = panels(3)
        counts, fractions = data.samples.values, data.relevant_fraction.values
        for fraction, color in zip(fractions, PALETTE, strict=False):
            chosen = data.test_accuracy.sel(relevant_fraction=fraction)
            curve(left, chosen, counts, rf"$\alpha_*$ = {fraction:g}", color)
        _accuracy(left, data)
        left.set_xscale("log")
        left.set_xticks(counts, [f"{n:g}" for n in counts])
        left.minorticks_off()
        left.set_xlabel("training images $N$")
        left.set_title(f"{TITLES[image_source]}\npaper: rises with $N$ and with $\\alpha_*$", fontsize=9)
        threshold = float(data.test_accuracy.median())
        rates = (data.test_accuracy >= threshold).mean("seed").transpose("relevant_fraction", "samples")
        image = heat(middle, rates.values, [f"{a:g}" for a in fractions], [f"{n:g}" for n in counts])
        figure.colorbar(image, ax=middle, label="success rate over seeds")
        middle.set_xlabel(r"fraction of label-relevant tokens $\alpha_*$")
        middle.set_ylabel("training images $N$")
        middle.set_title(f"success: accuracy at least {threshold:.3f}\n(the median over the whole grid)", fontsize=9)
        _examples(right, ImageSetting(image_source=image_source, samples=10, test_samples=1))
        return figure

    return plot


def spurious(image_source: str) -> Plot:
    """F6c: accuracy against the relevant fraction for every initial model."""

    def plot(data: xr.Dataset) -> Figure:
        figure, (left, right) = panels(2)
        names = {"poor, balanced": "poor, backgrounds uncorrelated (control)"}
        for initial, color in zip(data.variant.values, PALETTE, strict=False):
            chosen = data.test_accuracy.sel(variant=initial)
            style = {"linestyle": "--"} if initial in names else {}
            label = names.get(str(initial), f"{initial} initial model")
            curve(left, chosen, data.relevant_fraction.values, label, color, **style)
        _accuracy(left, data)
        left.set_xlabel(r"fraction of label-relevant tokens $\alpha_*$")
        title = f"{TITLES[image_source]}, two classes\npaper: rises with $\\alpha_*$, good above poor"
        left.set_title(title, fontsize=9)
        _examples(right, ImageSetting(image_source=image_source, task="pair", samples=10, test_samples=1))
        return figure

    return plot


def _accuracy(ax: Axes, data: xr.Dataset) -> None:
    """The axis of accuracies, with the level of guessing."""
    chance = float(data.chance.mean())
    ax.axhline(chance, color=GREY, linestyle=":", label=f"chance: {chance:.2g}")
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("test accuracy")
    legend_below(ax)


def _examples(ax: Axes, setting: ImageSetting, count: int = 5) -> None:
    """The first training images of seed 0, whole and with all background tokens dropped (white)."""
    try:
        original = load_images(setting)
    except UserError:  # the data are stored, the images are no longer there
        ax.set_visible(False)
        return
    whole = setting.relevant_tokens / setting.tokens
    rows = []
    for fraction in (whole, 1.0):
        chosen = setting.replace(relevant_fraction=fraction)
        tokens, _ = task_sets(original, chosen, seed=0)
        rows.append(np.concatenate(list(_canvases(tokens, count, setting.patch)), axis=1))
    montage = np.concatenate(rows, axis=0)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.imshow(montage if montage.shape[-1] == 3 else montage[..., 0], cmap="gray", vmin=0, vmax=1)
    ax.set_xticks([])
    side = CANVAS + 2
    ax.set_yticks([side / 2, 1.5 * side], [rf"$\alpha_*$ = {whole:.3f}", r"$\alpha_*$ = 1"])
    ax.tick_params(length=0)
    ax.set_title("training images of seed 0, whole and without background tokens", fontsize=9)


def _canvases(tokens: Tokens, count: int, patch: int) -> np.ndarray:
    """Tokens put back where they were, dropped ones white, with a white margin: [count, height, width, channels]."""
    per_side = CANVAS // patch
    channels = tokens.patches.shape[-1] // patch**2
    canvas = np.ones((count, per_side, per_side, patch, patch, channels))
    for i in range(count):
        pieces = tokens.patches[i].reshape(-1, patch, patch, channels)
        canvas[i, tokens.places[i] // per_side, tokens.places[i] % per_side] = pieces
    images = canvas.transpose(0, 1, 3, 2, 4, 5).reshape(count, CANVAS, CANVAS, channels)
    return np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=1.0)
