"""Figures 6.3(A) and 6.3(B) with the causal transformer."""

from functools import partial

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.icl.experiments import TINY_PROMPTS
from lemmata.theories.icl.gpt.training import (
    GptSetting,
    contexts_gpt,
    shift_gpt,
)
from lemmata.theories.icl.tasks import coefficient_sum

REPORTED = 0.01
"""The paper: the error is below this for S_1 >= 1."""


def shift(data: xr.Dataset) -> Figure:
    """Error against S_1 on both branches, one panel for each amplitude."""
    figure, axes = draw.panels(data.sizes["odi_amplitude"], sharey=True)
    sums = np.asarray([coefficient_sum(45 - float(turn)) for turn in data.turn.values])
    first = data.query_error.sel(odr_pattern="μ'_1")
    for ax, amplitude in zip(axes, data.odi_amplitude.values, strict=True):
        cell = {"odi_amplitude": amplitude}
        draw.curves(ax, data.shift_error.sel(cell), "turn", "branch", "branch {}, all queries", x=sums, linestyle="-")
        how = {"linestyle": ":", "marker": "", "spread": ""}
        draw.curves(ax, first.sel(cell), "turn", "branch", r"branch {}, queries with $\mu'_1$", x=sums, **how)
        draw.predicted(ax, [REPORTED] * 2, rf"paper: below {REPORTED:g} for $S_1\geq1$", [1, sums.max()])
        draw.corrected(ax, float(data.unseen_error.mean()), "measured in domain, unseen tasks", color=draw.GREY)
        draw.loss_scale(ax, top=1.0)
        title = f"out of domain, $K'$ = {amplitude} ({_trained(data)})"
        draw.finish(ax, title, "sign error (mean; points: seeds)", r"coefficient sum $S_1$ of $\mu'_1$")
    return figure


def contexts(data: xr.Dataset) -> Figure:
    """Error against the number of contexts, in and out of domain, a panel for each α', with what is possible."""
    figure, axes = draw.panels(data.sizes["test_alpha"], rows=2, sharey=True)
    lengths = data.length.values.astype(float)
    fine = np.linspace(lengths.min(), lengths.max(), 100)
    domains = ["in domain" if name == "in" else f"out of domain, {name}" for name in data.domain.values]
    error = data.error.assign_coords(domain=domains)
    for ax, alpha in zip(axes, data.test_alpha.values, strict=True):
        draw.curves(ax, error.sel(test_alpha=alpha), "length", "domain", x=lengths)
        absent = (1 - float(alpha) / 2) ** fine
        label = r"predicted: $\pi/2$ to $\pi=(1-\alpha'/2)^l$"
        ax.fill_between(fine, absent / 2, absent, color=draw.GREY, alpha=0.2, linewidth=0, label=label)
        draw.predicted(ax, (1 - float(alpha)) ** fine / 2, r"told all patterns: $(1-\alpha')^l/2$", fine)
        draw.loss_scale(ax, top=1.0)
        title = rf"$\alpha'$ = {alpha} ({_trained(data)})"
        draw.finish(ax, title, "sign error (mean; points: seeds)", r"contexts of a testing prompt $l_{ts}$")
    return figure


def _trained(data: xr.Dataset) -> str:
    """How far training got."""
    return f"{float(data.last_step.max()):g} steps, hinge on seen tasks {float(data.seen_hinge.mean()):.2g}"


experiment = partial(
    lm.experiment,
    kind=GptSetting,
    setting={"steps": 600, "record_every": 150, "records": 5, "test_prompts": 1200},
    seeds=2,
    tiny={**TINY_PROMPTS, "width": 8, "blocks": 2, "heads": 2},
    smoke={"record_every": 3},
    paper={"steps": 10_000, "record_every": 2500, "test_prompts": 2400},
    paper_seeds=5,
)

EXPERIMENTS = (
    experiment(
        "f63a-gpt-shift",
        reference="Theorem 6.3.4, Figure 6.3(A)",
        question="Does a GPT-2-style model work on new patterns, by their coefficient sum S_1 and by the amplitude K'?",
        simulation=shift_gpt,
        plot=shift,
    ),
    experiment(
        "f63b-gpt-contexts",
        reference="Theorem 6.3.3, Figure 6.3(B)",
        question="How long must a prompt be for a GPT-2-style model that has been trained at one length only?",
        simulation=contexts_gpt,
        plot=contexts,
    ),
)
