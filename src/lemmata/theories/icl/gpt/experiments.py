"""Figures 6.3(A) and 6.3(B) with the causal transformer: one training, whose tests are axes."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.icl.experiments import TINY_PROMPTS
from lemmata.theories.icl.gpt.training import GptSetting, simulate
from lemmata.theories.icl.tasks import coefficient_sum

REPORTED = 0.01
"""The paper: the error is below this for S_1 >= 1."""


def shift(data: xr.Dataset) -> Figure:
    """Error against S_1 on both branches, one panel for each amplitude."""
    figure, axes = draw.panels(data.sizes["shift_amplitude"], sharey=True)
    branches = {"A": data.isel(angle=data.angle <= 45), "B": data.isel(angle=data.angle >= 45)}
    for ax, amplitude in zip(axes, data.shift_amplitude.values, strict=True):
        for i, (branch, values) in enumerate(branches.items()):
            sums, cell = (
                [coefficient_sum(float(angle)) for angle in values.angle],
                values.sel(shift_amplitude=amplitude),
            )
            how = {"x": sums, "color": draw.look(i).color}
            label = rf"branch {branch}, queries with $\mu'_1$"
            draw.curves(ax, cell.shift_error, "angle", label=f"branch {branch}, all queries", **how)
            first = cell.query_error.isel(odr_pattern=0)
            draw.curves(ax, first, "angle", label=label, linestyle=":", marker="", spread="", **how)
        draw.predicted(ax, [REPORTED] * 2, rf"paper: below {REPORTED:g} for $S_1\geq1$", [1, coefficient_sum(45)])
        draw.corrected(ax, float(data.unseen_error.mean()), "measured in domain, unseen tasks", color=draw.GREY)
        draw.loss_scale(ax, top=1.0)
        title = f"out of domain, $K'$ = {amplitude:g} ({_trained(data)})"
        draw.finish(ax, title, "sign error (mean; points: seeds)", r"coefficient sum $S_1$ of $\mu'_1$")
    return figure


def contexts(data: xr.Dataset) -> Figure:
    """Error against the number of contexts, in and out of domain, a panel for each α', with what is possible."""
    figure, axes = draw.panels(data.sizes["test_fraction"], rows=2, sharey=True)
    fine = np.linspace(data.test_contexts.values.min(), data.test_contexts.values.max(), 100)
    domains = {"in domain": data.unseen_error.isel(shift_amplitude=0, drop=True)}
    for amplitude in data.shift_amplitude.values:
        domains[f"out of domain, K'={amplitude:g}"] = data.shift_error.sel(shift_amplitude=amplitude, drop=True)
    error = lm.stack(domains, "domain")
    for ax, alpha in zip(axes, data.test_fraction.values, strict=True):
        draw.curves(ax, error.sel(test_fraction=alpha), "test_contexts", "domain")
        absent = (1 - alpha / 2) ** fine
        label = r"predicted: $\pi/2$ to $\pi=(1-\alpha'/2)^l$"
        ax.fill_between(fine, absent / 2, absent, color=draw.GREY, alpha=0.2, linewidth=0, label=label)
        draw.predicted(ax, (1 - alpha) ** fine / 2, r"told all patterns: $(1-\alpha')^l/2$", fine)
        draw.loss_scale(ax, top=1.0)
        title = rf"$\alpha'$ = {alpha:g} ({_trained(data)})"
        draw.finish(ax, title, "sign error (mean; points: seeds)", r"contexts of a testing prompt $l_{ts}$")
    return figure


def _trained(data: xr.Dataset) -> str:
    """How far training got."""
    return f"{float(data.last_step.max()):g} steps, hinge on seen tasks {float(data.seen_hinge.mean()):.2g}"


ASKED = {
    "f63a-gpt-shift": """Theorem 6.3.4, Figure 6.3(A): Does a GPT-2-style model work on new patterns, by their
        coefficient sum S_1 and by the amplitude K'?""",
    "f63b-gpt-contexts": """Theorem 6.3.3, Figure 6.3(B): How long must a prompt be for a GPT-2-style model that has
        been trained at one length only?""",
}
"""Where each experiment stands in the paper, and what it asks."""
TINY = {**TINY_PROMPTS, "width": 8, "blocks": 2, "heads": 2}
SETTING = {"steps": 600, "record_every": 150, "records": 5, "test_prompts": 1200}
PAPER = {"steps": 10_000, "record_every": 2500, "test_prompts": 2400}
AMPLITUDES = [0.5, 5.0]
"""K': the largest amplitude that training shows, and the one that the paper states (9.18)."""

asks = lm.asking(ASKED, kind=GptSetting, simulation=simulate, tiny=TINY, seeds=2, paper=PAPER, paper_seeds=5)
EXPERIMENTS = (
    asks("f63a-gpt-shift", shift)(
        SETTING,
        shift_amplitude=AMPLITUDES,
        angle=list(range(-135, 226, 15)),
        smoke={"record_every": 3, "angle": [-135, -45, 45, 135, 225]},
    ),
    asks("f63b-gpt-contexts", contexts)(
        {**SETTING, "test_context_room": 40},
        shift_amplitude=AMPLITUDES,
        test_fraction=[0.2, 0.4, 0.6, 0.8],
        test_contexts=[2, 5, 10, 20, 30, 40],
        smoke={"record_every": 3, "test_contexts": [2, 40]},
    ),
)
