"""Figures 7.7 and F.1 with the three-layer model: experiments, their figure and their claims."""

import numpy as np
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
COLORS = dict(zip((*GROUPS, "itself"), (draw.GREEN, draw.BLUE, draw.ORANGE, draw.RED, draw.GREY), strict=True))


def attention_groups(data: xr.Dataset) -> Figure:
    """The query's attention by group along training, by layer; a line style for every head, or kind of positions."""
    every = data if "positions" in data.dims else data.expand_dims("positions")
    kinds, heads = every.sizes["positions"], every.sizes["head"]
    figure, axes = draw.panels(every.sizes["layer"], sharey=True, width=6.2)
    for layer, ax in enumerate(axes):
        for (kind, head), line in zip(np.ndindex(kinds, heads), ("-", "--"), strict=False):
            name = f"head {head + 1}" if heads > 1 else every.positions.values[kind]
            groups = every.head_groups.isel(layer=layer, positions=kind, head=head)
            label, clock = f"{{}}, {name}", every.step.isel(positions=kind)
            draw.paths(ax, every, groups, "five_group", label, COLORS, clock=clock, spread="", linestyle=line)
        draw.from_zero(ax, 1.05)
        draw.finish(ax, f"layer {layer + 1}", "attention of the query", "training step $t$")
    return figure


ASKED = {
    "f77-two-heads": "Figure 7.7: Does some head of every layer attend to the same step and pattern?",
    "f1-sinusoidal": "Figure F.1: Does a single head with sinusoidal positions do so in every layer?",
}
asks = lm.asking(ASKED, kind=DeepSetting, simulation=train_deep, seeds=2, tiny=TINY, paper_seeds=3)
EXPERIMENTS = (
    asks("f77-two-heads", attention_groups)({"steps": 1500, "heads": 2}, paper={"steps": 3000}),
    asks("f1-sinusoidal", attention_groups)(
        {"steps": 1500, "heads": 1, "positions": "sinusoidal"},
        positions=["sinusoidal"],
        paper={"steps": 3000, "positions": ["sinusoidal", "orthonormal"]},
    ),
)


@lm.evidence()
def best_head(data: xr.Dataset, moment: str = "end", positions: str = "") -> dict[str, xr.DataArray]:
    """By layer, of the head that does best: the lead of (same, same) over the other groups, and its growth.

    Best is the head for which the worse of both criteria has the larger margin.
    """
    groups = lm.cells(data.head_groups, positions=positions) if positions else data.head_groups
    first = groups.isel(record=0)
    now = first if moment == "start" else lm.at_end(groups)
    same, start = (each.isel(five_group=0, drop=True) for each in (now, first))
    lead, growth = same - now.isel(five_group=slice(1, None)).max("five_group"), same / start
    chosen = xr.where(lead < growth - 2, lead, growth - 2).argmax("head")
    return {"lead": lead.isel(head=chosen), "growth": growth.isel(head=chosen)}


_LEADS = lm.at_least(0.0, by="every", strict=True)
_UNTRAINED = lm.Control("untrained network", moment="start")

CLAIMS = (
    lm.Claim("f77-heads", "Figure 7.7", "comparison", source="figure")
    .states("""In every layer some head has its largest attention on the same step and pattern, and at least twice as
        much as before training.""")
    .in_symbols(r"\max_h p_n^{(l,h)} > \max_{g \ne ==} s_g^{(l,h)}, \quad p_n^{(l,h)} \ge 2\, p_n^{(l,h)}(0)")
    .judged(best_head.of("f77-two-heads")(), lm.all_of(lead=_LEADS, growth=lm.at_least(2.0, by="every")), _UNTRAINED),
    lm.Claim("f1-layers", "Figure F.1", "comparison", source="figure")
    .states("With sinusoidal positions and one head the same step and pattern is the largest group in every layer.")
    .in_symbols(r"p_n^{(l)} > \max_{g \ne ==} s_g^{(l)}, \quad l = 1, 2, 3")
    .judged(best_head.of("f1-sinusoidal")(positions="sinusoidal"), lm.all_of(lead=_LEADS), _UNTRAINED),
)
