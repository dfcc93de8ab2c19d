"""The figures of the experiments: the measurement, and the document's prediction beside it."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PALETTE, RED, curve, heat, panels, trajectory
from lemmata.lab.fits import line, offset_power_law, power_law, threshold
from lemmata.lab.intervals import CannotFit
from lemmata.theories.vit.measures import half_thresholds, split_runs, success
from lemmata.theories.vit.training import SMALL_LOSS

MODE_NAMES = {"shared": "shared signs", "per_token": "per-token signs", "shared-b20": "shared signs, B = 20"}
ATTENTION_COLORS = {"trained": BLUE, "frozen": ORANGE}


def zero_risk(data: xr.Dataset) -> Figure:
    """Test hinge of every seed, true and shuffled labels."""
    figure, axes = panels(data.sizes["mode"], sharey=True)
    for ax, mode in zip(axes, data.mode.values, strict=True):
        for i, labels in enumerate(data.labels.values):
            values = data.test_hinge.sel(mode=mode, labels=labels).values
            ax.plot(np.full(values.size, i) + np.linspace(-0.12, 0.12, values.size), values, "o", color=PALETTE[i])
        ax.axhline(SMALL_LOSS, color=RED, linestyle="--", label="success: below 0.001")
        ax.set_yscale("symlog", linthresh=1e-4)
        ax.set_ylim(-2e-5, 10)
        ax.set_xlim(-0.5, 1.5)
        ax.set_xticks([0, 1], ["true labels\n(theorem: 0)", "shuffled labels\n(control)"])
        ax.set_title(MODE_NAMES[str(mode)])
        ax.legend(loc="center left")
    axes[0].set_ylabel("test hinge loss, one point per seed")
    return figure


def _sample_map(data: xr.Dataset, power: int, who: str) -> Figure:
    """Success rates over (alpha^-power, N), and N_50 with the predicted straight boundary."""
    figure, (left, right) = panels(2)
    alphas = data.relevant_fraction.values
    counts = data.samples.values
    order = np.argsort(alphas)[::-1]
    rates = success(data).mean("seed").transpose("relevant_fraction", "samples").values[order]
    image = heat(left, rates, [f"{a**-power:.1f}" for a in alphas[order]], [f"{n:g}" for n in counts])
    figure.colorbar(image, ax=left, label="success rate over seeds")
    left.set_xlabel(rf"$\alpha_*^{{-{power}}}$")
    left.set_ylabel("training samples $N$")
    left.set_title(f"{who}: success = test hinge < 0.001", fontsize=10)
    found = half_thresholds(data)
    x = np.asarray([a**-power for a in found])
    middle = np.asarray([t.estimate.value for t in found.values()])
    ends = np.asarray([[t.estimate.low, t.estimate.high] for t in found.values()])
    ends = np.clip(
        np.nan_to_num(ends, posinf=2 * counts.max(), neginf=counts.min() / 2), counts.min() / 2, 2 * counts.max()
    )
    measured = np.asarray([not t.censored for t in found.values()])
    if measured.any():
        spread = np.abs(ends[measured].T - middle[measured])
        right.errorbar(x[measured], middle[measured], spread, fmt="o", color=BLUE, capsize=3, label="measured $N_{50}$")
    for xi, t in zip(x, found.values(), strict=True):
        if t.censored:
            above = t.censored == "above"
            right.plot(xi, counts.max() if above else counts.min(), "^" if above else "v", color=GREY)
    if measured.any():
        constant = np.exp(np.mean(np.log(middle[measured] / x[measured])))
        grid = np.linspace(x.min(), x.max(), 50)
        right.plot(grid, constant * grid, "--", color=RED, label=rf"document: $N = C\,\alpha_*^{{-{power}}}$")
        right.legend()
    right.set_title(_fits(np.asarray(list(found))[measured], middle[measured]), fontsize=8)
    right.set_yscale("log", base=2)
    right.set_xlabel(rf"$\alpha_*^{{-{power}}}$")
    right.set_ylabel("$N_{50}$ (triangles: beyond the grid)")
    return figure


def _fits(alpha: np.ndarray, counts: np.ndarray) -> str:
    """The fits of N_50 that section 6 asks to report: pure power, offset square, and power of alpha_* - alpha_#."""
    try:
        pure = power_law(alpha, counts)
        offset = offset_power_law(alpha, counts, exponent=-2.0, nonnegative=True)
        margin = power_law(2 * alpha - 0.5, counts)  # alpha_# = 0.5 - alpha_* in these experiments
    except CannotFit as reason:
        return f"no fit: {reason}"
    return (
        rf"fits of $N_{{50}}$: $\alpha_*^{{{pure.exponent.value:.2f}}}$ ($R^2$ = {pure.r_squared:.2f}), "
        rf"$(\alpha_* - {offset.offset.value:.2f})^{{-2}}$ ($R^2$ = {offset.r_squared:.2f}),"
        "\n"
        rf"$(\alpha_* - \alpha_\#)^{{{margin.exponent.value:.2f}}}$ ($R^2$ = {margin.r_squared:.2f})"
    )


def samples_trained(data: xr.Dataset) -> Figure:
    return _sample_map(data, 2, "attention trained")


def samples_frozen(data: xr.Dataset) -> Figure:
    return _sample_map(data, 4, "attention frozen")


def samples_shared(data: xr.Dataset) -> Figure:
    """Success rate against N: with shared signs there is no transition."""
    figure, axes = panels(data.sizes["attention"], sharey=True)
    for ax, attention in zip(axes, data.attention.values, strict=True):
        for alpha, color in zip(data.relevant_fraction.values, PALETTE, strict=False):
            chosen = success(data).sel(relevant_fraction=alpha, attention=attention).mean("seed")
            ax.plot(data.samples, chosen, "o-", color=color, label=rf"$\alpha_*={alpha:g}$")
        ax.set_xscale("log", base=2)
        ax.set_ylim(-0.05, 1.05)
        ax.axhline(0.5, color=GREY, linestyle=":")
        ax.set_xlabel("training samples $N$")
        ax.set_title(f"shared signs, attention {attention}")
        ax.legend()
    axes[0].set_ylabel("success rate (document: a transition)")
    return figure


def samples_sigma(data: xr.Dataset) -> Figure:
    """Success rates over (sigma, N) for both error modes, with the predicted boundary through N_50 at sigma = 0."""
    figure, axes = panels(data.sizes["error"], sharey=True)
    counts, sigmas = data.samples.values, data.value_error.values
    image = None
    for ax, error in zip(axes, data.error.values, strict=True):
        runs = success(data).sel(error=error)
        image = heat(
            ax, runs.mean("seed").transpose("value_error", "samples").values,
            [f"{s:g}" for s in sigmas], [f"{n:g}" for n in counts],
        )  # fmt: skip
        start = threshold(counts, runs.isel(value_error=0).transpose("seed", "samples").values)
        if not start.censored:
            boundary = np.log2(start.estimate.value * (1 - sigmas) ** -2.0)
            height = (boundary - np.log2(counts[0])) / np.log2(counts[1] / counts[0])
            ax.plot(range(len(sigmas)), height, "--", color=RED, label=r"document: $N \propto (\Theta(1)-\sigma)^{-2}$")
            ax.legend(loc="lower right")
        ax.set_ylim(-0.5, len(counts) - 0.5)
        ax.set_xlabel(r"initial value error $\sigma$")
        ax.set_title(f"error directions: {error}")
    axes[0].set_ylabel("training samples $N$")
    if image is not None:
        figure.colorbar(image, ax=axes, label="success rate over seeds")
    return figure


def token_noise(data: xr.Dataset) -> Figure:
    figure, (ax,) = panels(1)
    for row in data.test_hinge.transpose("seed", "token_noise").values:
        ax.plot(data.token_noise, row, ".", color=BLUE, alpha=0.4)
    ax.plot(data.token_noise, data.test_hinge.median("seed"), "o-", color=BLUE, label="median over seeds")
    ax.axhline(SMALL_LOSS, color=RED, linestyle="--", label="success: below 0.001")
    ax.axhline(3e-3, color=RED, linestyle=":", label="claimed to be exceeded at $c_0=0.3$")
    ax.set_yscale("symlog", linthresh=1e-4)
    ax.set_ylim(-2e-5, 0.2)
    ax.set_xlabel("token noise $c_0$ (standard deviation)")
    ax.set_ylabel("test hinge loss at $N=64$")
    ax.legend()
    return figure


def iterations(data: xr.Dataset) -> Figure:
    """Mean T_eps against 1/alpha with straight-line fits, trained and frozen attention."""
    figure, axes = panels(data.sizes["mode"])
    x = 1 / data.relevant_fraction.values
    for ax, mode in zip(axes, data.mode.values, strict=True):
        for attention in data.attention.values:
            times = data.small_loss_step.sel(mode=mode, attention=attention)
            color = ATTENTION_COLORS[str(attention)]
            curve(ax, times, x, f"attention {attention}", color, linestyle="none")
            _straight(ax, x, times.transpose("seed", "relevant_fraction").values, color)
        ax.set_xlabel(r"$1/\alpha_*$")
        ax.set_ylabel(r"steps $T_\varepsilon$ to training loss 0.001")
        ax.set_title(MODE_NAMES[str(mode)])
        ax.set_ylim(bottom=0)
        ax.legend()
    return figure


def _straight(ax: Axes, x: np.ndarray, times: np.ndarray, color: str) -> None:
    try:
        fit = line(x, times)
    except CannotFit:
        return
    grid = np.linspace(x.min(), x.max(), 2)
    label = f"document: linear (fit, $R^2$ = {fit.r_squared:.3f})"
    ax.plot(grid, fit.intercept.value + fit.slope.value * grid, "--", color=color, label=label)


def step_size(data: xr.Dataset) -> Figure:
    """T_eps against the step size, with the document's exponent and gradient flow's."""
    found = split_runs(data, "small_loss_step")
    figure, axes = panels(len(found))
    for ax, (mode, times) in zip(axes, found.items(), strict=True):
        x = times.step_size.values
        curve(ax, times, x, "measured", BLUE, linestyle="none")
        start = float(times.isel(step_size=0).mean("seed"))
        ax.plot(x, start * (x / x[0]) ** -0.6, "--", color=RED, label=r"document: $\eta^{-3/5}$")
        ax.plot(x, start * (x / x[0]) ** -1.0, "-", color=GREEN, label=r"gradient flow: $\eta^{-1}$")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(x, [f"{eta:g}" for eta in x])
        ax.minorticks_off()
        ax.set_yticks([t for t in (20, 50, 100, 200, 500, 1000) if t < 1.3 * start])
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_xlabel(r"step size $\eta$")
        ax.set_ylabel(r"steps $T_\varepsilon$ to training loss 0.001")
        ax.set_title(MODE_NAMES[mode])
        ax.legend()
    return figure


def attention_curves(data: xr.Dataset) -> Figure:
    """Concentration by type of query along training, with its complement, T_0 and the document's limit."""
    figure, axes = panels(data.sizes["mode"], sharey=True)
    for ax, mode in zip(axes, data.mode.values, strict=True):
        part = data.sel(mode=mode, attention="trained")
        frozen = data.sel(mode=mode, attention="frozen")
        for query, color in zip(part["query"].values, (BLUE, GREEN, RED, GREY), strict=True):
            trajectory(ax, part.step, part.concentration.sel(query=query), f"on relevant, {query} queries", color)
        trajectory(ax, part.step, part.complement.sel(query="all"), "on all others, all queries", BLUE, linestyle=":")
        trajectory(ax, frozen.step, frozen.concentration.sel(query="all"), "frozen attention", ORANGE)
        ax.axhline(1.0, color="black", linestyle="--", label="document: limit 1")
        reached = float(part.zero_loss_step.mean("seed"))
        if np.isfinite(reached):
            ax.axvline(reached, color="black", linewidth=0.8, linestyle="-.", label="$T_0$: training loss 0 (mean)")
        ax.set_xlabel("training step $t$")
        ax.set_title(MODE_NAMES[str(mode)])
        ax.set_ylim(0, 1.05)
    axes[0].set_ylabel("mean attention mass")
    axes[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def dynamics(data: xr.Dataset) -> Figure:
    """Training loss and concentration, step by step, for every mode."""
    figure, (left, right) = panels(2)
    for mode, color in zip(data.mode.values, PALETTE, strict=False):
        part = data.sel(mode=mode, attention="trained")
        frozen = data.sel(mode=mode, attention="frozen")
        name = MODE_NAMES[str(mode)]
        trajectory(left, part.step, part.train_loss, name, color)
        trajectory(left, frozen.step, frozen.train_loss, f"{name}, frozen", color, linestyle=":")
        trajectory(right, part.step, part.concentration.sel(query="relevant"), f"{name}, relevant queries", color)
        trajectory(right, part.step, part.concentration.sel(query="all"), f"{name}, all queries", color, linestyle="--")
    right.axhline(1.0, color="black", linestyle="--", label="document: limit 1 for every query")
    left.set_ylabel("training hinge loss")
    right.set_ylabel("attention on label-relevant tokens")
    right.set_ylim(0, 1.05)
    for ax in (left, right):
        ax.set_xlabel("training step $t$ (up to $T_0$)")
        ax.legend(fontsize=7)
    return figure


def initial_model(data: xr.Dataset) -> Figure:
    """T_0 against sigma for both error modes and every delta."""
    figure, axes = panels(data.sizes["error"], sharey=True)
    for ax, error in zip(axes, data.error.values, strict=True):
        for delta, color in zip(sorted(data.attention_error.values), PALETTE, strict=False):
            times = data.zero_loss_step.sel(error=error, attention_error=delta)
            curve(ax, times, data.value_error.values, rf"$\delta$ = {delta:g}", color)
        ax.set_xlabel(r"initial value error $\sigma$")
        ax.set_title(f"error directions: {error}")
        ax.legend(title="document: rises")
    axes[0].set_ylabel("steps $T_0$ to training loss 0")
    return figure


def losses(data: xr.Dataset) -> Figure:
    """All-query concentration for losses that saturate and losses that do not."""
    figure, (ax,) = panels(1, width=6.4)
    for loss, color in zip(data.loss.values, PALETTE, strict=False):
        for attention, style in (("trained", "-"), ("frozen", ":")):
            part = data.sel(loss=loss, attention=attention)
            trajectory(
                ax, part.step, part.concentration.sel(query="all"), f"{loss}, {attention}", color, linestyle=style
            )
    ax.axhline(1.0, color="black", linestyle="--", label="document: limit 1")
    ax.set_ylim(0, 1.05)
    ax.set_xlabel("training step $t$")
    ax.set_ylabel("attention on label-relevant tokens, all queries")
    ax.legend(fontsize=7)
    return figure
