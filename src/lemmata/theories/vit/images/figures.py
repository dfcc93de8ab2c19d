"""The figures of the image experiments: accuracy with the chance level, F6b's heat map, and examples of the images."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.vit.images.data import Tokens, load_images, task_sets
from lemmata.theories.vit.images.setting import CANVAS, ImageSetting

TITLES = {"digits": "stand-in: scikit-learn digits", "cifar10": "CIFAR-10"}
ALPHA = r"fraction of label-relevant tokens $\alpha_*$"


def samples(data: xr.Dataset, image_source: str) -> Figure:
    """F6a: accuracy against N. F6b: the share of runs above the median of the grid, if that is larger than 2 x 2."""
    mapped = data.samples.size * data.relevant_fraction.size > 4
    figure, axes = draw.panels(3 if mapped else 2)
    left = axes[0]
    draw.curves(left, data.test_accuracy, "samples", "relevant_fraction", r"$\alpha_*$ = {}")
    draw.numbers(left, data.samples)
    _accuracy(left, data, f"{TITLES[image_source]}\npaper: rises with $N$ and with $\\alpha_*$", "training images $N$")
    if mapped:
        threshold = float(data.test_accuracy.median())
        draw.success_map(axes[1], (data.test_accuracy >= threshold) * 1.0, "relevant_fraction", "samples")
        title = f"success: accuracy at least {threshold:.3f}\n(the median over the whole grid)"
        draw.finish(axes[1], title, "training images $N$", ALPHA)
    _examples(axes[-1], ImageSetting(image_source=image_source, samples=10, test_samples=1))
    return figure


def spurious(data: xr.Dataset, image_source: str) -> Figure:
    """F6c: accuracy against the relevant fraction for every initial model."""
    figure, (left, right) = draw.panels(2)
    labels = {"good": "good initial model", "poor": "poor initial model"}
    names = [labels.get(str(each), "poor, backgrounds uncorrelated (control)") for each in data.variant.values]
    draw.curves(left, data.test_accuracy.assign_coords(variant=names), "relevant_fraction", "variant")
    title = f"{TITLES[image_source]}, two classes\npaper: rises with $\\alpha_*$, good above poor"
    _accuracy(left, data, title, ALPHA)
    _examples(right, ImageSetting(image_source=image_source, task="pair", samples=10, test_samples=1))
    return figure


def _accuracy(ax: Axes, data: xr.Dataset, title: str, x: str) -> None:
    """The axis of accuracies, with the level of guessing."""
    chance = float(data.chance.mean())
    draw.predicted(ax, chance, f"chance: {chance:.2g}", color=draw.GREY, linestyle=":")
    ax.set_ylim(0, 1.02)
    draw.finish(ax, title, "test accuracy", x)


def _examples(ax: Axes, setting: ImageSetting, count: int = 5) -> None:
    """The first training images of seed 0, whole and with all background tokens dropped (white)."""
    try:
        original = load_images(setting)
    except lm.UserError:  # the data are stored, the images are no longer there
        ax.set_visible(False)
        return
    whole = setting.relevant_tokens / setting.tokens
    sets = [task_sets(original, setting.replace(relevant_fraction=share), seed=0)[0] for share in (whole, 1.0)]
    montage = np.concatenate([np.concatenate(list(_canvases(each, count, setting.patch)), axis=1) for each in sets])
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.imshow(montage if montage.shape[-1] == 3 else montage[..., 0], cmap="gray", vmin=0, vmax=1)
    ax.set_xticks([])
    side = CANVAS + 2
    ax.set_yticks([side / 2, 1.5 * side], [rf"$\alpha_*$ = {whole:.3f}", r"$\alpha_*$ = 1"])
    ax.tick_params(length=0)
    draw.finish(ax, "training images of seed 0,\nwhole and without background tokens")


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
