"""Figures 7.7 and F.1 with the three-layer model: experiments, their figure and their claims."""

from functools import partial

import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.cot.deep.training import DeepSetting, train_deep
from lemmata.theories.cot.probes import GROUPS

TINY = {
    **{"dimension": 24, "patterns": 10, "batch": 20, "steps": 12, "watch_prompts": 20, "examples": 6},
    **{"record_every": 4, "records": 4},
}
PAPER = {"steps": 3000, "record_every": 100, "records": 31}
COLORS = dict(zip((*GROUPS, "itself"), (draw.GREEN, draw.BLUE, draw.ORANGE, draw.RED, draw.GREY), strict=True))


def attention_groups(data: xr.Dataset) -> Figure:
    """The query's attention by group, a panel for every layer: along training where that is recorded, else its ends."""
    run = data.isel(positions=0, drop=True) if "positions" in data.dims else data
    groups, heads = run.head_groups, range(run.sizes["head"])
    figure, axes = draw.panels(groups.sizes["layer"], sharey=True, width=6.2)
    words = {label: label.replace(", ", ",\n") for label in groups.five_group.values.tolist()}
    for layer, ax in enumerate(axes):
        mine, parts, colors = groups.isel(layer=layer), {}, {}
        for head, line in zip(heads, ("-", "--"), strict=False):
            if data.sizes["record"] > 2:
                label = f"{{}}, head {head + 1}"
                draw.paths(ax, run, mine.isel(head=head), "five_group", label, COLORS, spread="", linestyle=line)
                continue
            untrained, trained = (f"head {head + 1}, {when}" for when in ("untrained", "trained"))
            parts |= {untrained: mine.isel(head=head, record=0), trained: lm.at_end(mine.isel(head=head))}
            colors |= {untrained: draw.GREY, trained: draw.PALETTE[head]}
        if parts:
            draw.groups(ax, lm.stack(parts, "weights"), "five_group", "weights", "{}", colors, words=words)
        draw.from_zero(ax, 1.05)
        draw.finish(ax, f"layer {layer + 1}", "attention of the query", "" if parts else "training step $t$")
    return figure


experiment = partial(
    lm.experiment,
    kind=DeepSetting,
    simulation=train_deep,
    plot=attention_groups,
    seeds=2,
    tiny=TINY,
    paper=PAPER,
    paper_seeds=3,
)

EXPERIMENTS = (
    experiment(
        "f77-two-heads",
        reference="Figure 7.7",
        question="Does some head of every layer attend to the same step and pattern?",
        setting={"steps": 1500, "heads": 2},
    ),
    experiment(
        "f1-sinusoidal",
        reference="Figure F.1",
        question="Does a single head with sinusoidal positions do so in every layer?",
        setting={"steps": 1500, "heads": 1, "positions": "sinusoidal"},
        axes={"positions": ["sinusoidal"]},
        paper={**PAPER, "positions": ["sinusoidal", "orthonormal"]},
    ),
)


def _at(groups: xr.DataArray, moment: str) -> xr.DataArray:
    return groups.isel(record=0) if moment == "start" else lm.at_end(groups)


@lm.evidence("f77-two-heads")
def best_head(data: xr.Dataset, moment: str = "end") -> dict[str, xr.DataArray]:
    """By layer, of the head that does best: the lead of (same, same) over the other groups, and its growth.

    Best is the head for which the worse of both criteria has the larger margin.
    """
    now, first = _at(data.head_groups, moment), data.head_groups.isel(record=0)
    same, start = now.isel(five_group=0, drop=True), first.isel(five_group=0, drop=True)
    lead, growth = same - now.isel(five_group=slice(1, None)).max("five_group"), same / start
    chosen = xr.where(lead < growth - 2, lead, growth - 2).argmax("head")
    return {"lead": lead.isel(head=chosen), "growth": growth.isel(head=chosen)}


@lm.evidence("f1-sinusoidal")
def lead(data: xr.Dataset, moment: str = "end") -> xr.DataArray:
    """By layer, the lead of (same, same) over the other groups."""
    now = _at(lm.cells(data.head_groups, positions="sinusoidal").isel(head=0, drop=True), moment)
    return now.isel(five_group=0, drop=True) - now.isel(five_group=slice(1, None)).max("five_group")


_UNTRAINED = lm.Control("untrained network", moment="start")

CLAIMS = (
    lm.Claim("f77-heads", "Figure 7.7", "comparison", source="figure")
    .states("""In every layer some head has its largest attention on the same step and pattern, and at least twice as
        much as before training.""")
    .judged(
        best_head(),
        lm.all_of(lead=lm.at_least(0.0, by="every", strict=True), growth=lm.at_least(2.0, by="every")),
        _UNTRAINED,
    ),
    lm.Claim("f1-layers", "Figure F.1", "comparison", source="figure")
    .states("With sinusoidal positions and one head the same step and pattern is the largest group in every layer.")
    .judged(lead(), lm.at_least(0.0, by="every", strict=True), _UNTRAINED),
)
