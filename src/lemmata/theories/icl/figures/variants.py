"""Two heads (P17), and classes of two patterns (P18)."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.icl.claims.variants import SHARP

HEADS = {"independent": "independent\n$W_O$", "equal": "equal blocks\nof $W_O$", "frozen": "both heads\nfrozen"}
KINDS = ("trained", "frozen")
ATTENTION = r"attention on $\mathcal{N}_*$, unseen tasks"


def heads(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Concentration of both heads of every seed by variant, before and after training; error and hinge."""
    figure, (left, right) = draw.panels(2)
    after = data.concentration
    sharp = {"better head": after.max("head"), "worse head": after.min("head")}
    sharp["before training"] = data.initial_concentration.mean("head")
    draw.groups(left, lm.stack(sharp, "which"), "variant", "which", words=HEADS)
    draw.predicted(left, SHARP, f"paper: each head; claimed: ≥ {SHARP:g}", **draw.CLAIMED)
    draw.claimed(left, claims["p17-each-head-corrected"], words="corrected, better head")
    draw.from_zero(left, 1.05)
    draw.finish(left, "attention of both heads", ATTENTION)
    losses = lm.stack({"sign error": data.unseen_error, "hinge loss": data.unseen_hinge}, "loss")
    draw.groups(right, losses, "variant", "loss", words=HEADS)
    for part in ("error", "hinge"):
        draw.claimed(right, claims["p17-error"], part, words=f"paper: solved; claimed, {part}")
    draw.loss_scale(right)
    draw.finish(right, "error and hinge loss with two heads", "on unseen tasks, at the end")
    return figure


def classes(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Two patterns in each class: error beside the share of prompts without a match, and concentration."""
    figure, (left, right) = draw.panels(2)
    words = {name: f"$l_{{ts}}$ = {name}" for name in data.test_length.values.tolist()}
    kinds = lm.stack({f"error, {kind} attention": data.unseen_error.sel(attention=kind) for kind in KINDS}, "kind")
    draw.groups(left, kinds, "test_length", "kind", words=words)
    for i, length in enumerate(words):
        level = float(data.unseen_no_match.sel(attention="trained", test_length=length).mean())
        label = None if i else "paper: at most the share without a match"
        draw.predicted(left, level, label, at=i)
    draw.claimed(left, claims["p18-long"], words=f"claimed at {list(words.values())[-1]}", at=len(words) - 1)
    draw.loss_scale(left)
    draw.finish(left, "errors beside prompts without a match", "share of unseen-task prompts")
    sharp = {f"{kind} attention": data.concentration.sel(attention=kind).isel(head=0) for kind in KINDS}
    sharp["before training"] = data.initial_concentration.sel(attention="trained").isel(head=0)
    draw.groups(right, lm.stack(sharp, "kind"), "test_length", "kind", words=words)
    draw.claimed(right, claims["p18-concentration"], words="paper: the same mechanism; claimed")
    draw.from_zero(right, 1.05)
    draw.finish(right, "attention on contexts with the query's pattern", ATTENTION)
    return figure
