"""Four classes, and other initialisations."""

from collections.abc import Mapping

import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.vit.figures import SUCCESS, UP_TO
from lemmata.theories.vit.training import SMALL_LOSS


def multiclass(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Displacements of the neurons of a class along the class patterns, and the loss."""
    figure, (left, right) = draw.panels(2, width=6.0, height=4.2)
    table = data.class_displacement
    classes = list(range(1, table.sizes["own"] + 1))
    table = table.assign_coords({"own": classes, "class": classes})
    draw.groups(left, table, "class", "own", "neurons of class {}", words={k: f"$p_{k}$" for k in classes})
    draw.predicted(left, 0, r"paper: own $>0>$ opposite ($k+k'=5$), adjacent $\approx 0$")
    draw.finish(left, "(A.217)-(A.224)", r"mean displacement $\Delta W_{O,i}\,p_k$", "pattern of class $k$")
    draw.paths(right, data, "train_loss", label="training loss")
    start = 0 * data.last_step
    right.plot(data.last_step, data.test_hinge, "o", color=draw.RED, markersize=5, label="test hinge, trained")
    right.plot(start, data.untrained_test_hinge, "o", color=draw.GREY, markersize=5, label="test hinge, untrained")
    draw.claimed(right, claims["v19-multiclass-risk"], "hinge", words="paper: 0; claimed of the test")
    draw.loss_scale(right, 1e-4)
    draw.finish(right, f"loss with {len(classes)} classes", "hinge loss", UP_TO)
    return figure


def initialisations(data: xr.Dataset) -> Figure:
    """T_0, risk, concentration and sharpness of the attention for every initialisation that the paper names."""
    figure, axes = draw.panels(4, width=4.0, height=4.8, sharey=True)
    times, risk, mass, tokens = axes
    draw.groups(times, data.reached_step, "variant", sideways=True)
    draw.groups(risk, data.test_hinge, "variant", sideways=True)
    for ax, name in ((mass, "concentration"), (tokens, "attended")):
        values, before = data[name].sel(query="relevant"), "before training"
        ends = lm.stack({before: values.isel(record=0), "after": lm.at_end(values)}, "moment")
        draw.groups(ax, ends, "variant", "moment", color={before: draw.GREY}, sideways=True)
    times.invert_yaxis()
    draw.finish(times, "training time", "initial model", "steps $T_0$ to training loss 0", legend=1)
    risk.axvline(SMALL_LOSS, label=SUCCESS, **draw.PREDICTED)
    draw.finish(risk, "risk", x="test hinge loss", legend=1)
    mass.axvline(1.0, label="paper: limit 1", **draw.PREDICTED)
    blind = float(data.relevant_share.mean())
    mass.axvline(blind, label=r"$\alpha_*$: attention that ignores relevance", **draw.CLAIMED)
    mass.set_xlim(0, 1.05)
    draw.finish(mass, "attention of relevant queries", x="attention on label-relevant tokens", legend=1)
    tokens.axvline(1.0, label="saturated softmax: one token", **draw.CLAIMED)
    tokens.set_xlim(left=0)
    draw.finish(tokens, "sharpness of the attention", x="effective number of attended tokens $e^H$", legend=1)
    return figure
