"""What a diagnosis says in words and as a figure: which distances to sample, and whether an encoding should help."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lemmata.theories.graph_transformer.diagnose.diagnosis import Core, Diagnosis

SMALL = 0.05
"""A normalised margin nearer than this to its chance value says little, however surely it is measured."""
SAMPLED = 20
"""Nodes that the paper samples from the whole graph (3.5.2)."""
CAVEAT = (
    "This is the theory's reading, not a guarantee for a trained network: margins tell whether the classes around a "
    "node vote for its own, not what else a network may draw from its neighbours' features."
)


def read(table: xr.Dataset, facts: dict[str, Any], core: Core, normalised_core: Core) -> tuple[str, ...]:
    """Sentences for the user, most important first."""
    distance = table.distance.values
    excess = (table.normalised - table.normalised_null).values
    outside = ((table.normalised < table.normalised_null_low) | (table.normalised > table.normalised_null_high)).values
    considered = np.isfinite(excess)
    strong = outside & (np.abs(excess) >= SMALL)
    if not strong.any():
        nothing = (
            f"Margins leave the null band at {_distances(distance[outside])}, but by less than {SMALL:g} of a shell"
            if outside.any()
            else "At no distance do shells agree with labels more than if labels were placed at random"
        )
        return (
            f"{nothing}: the neighbourhood says little about the label.",
            "A model that ignores the graph should do as well; no choice of distances or encoding should help much.",
            *_chance(core, normalised_core),
            CAVEAT,
        )
    most = np.max(np.abs(excess[strong]))
    worth = strong & (np.abs(excess) >= most / 2)
    said = [f"Sample from {_distances(distance[worth])}: there the normalised margin is farthest from chance."]
    negative = worth & (excess < 0)
    if negative.any():
        said.append(
            f"At {_distances(distance[negative])} it lies below chance: other classes prevail there. That is as "
            "informative, since the head can learn the opposite sign."
        )
    expected = SAMPLED * float(table.shell_size.values[worth].sum()) / facts["nodes"]
    if expected < 1:
        said.append(
            f"{SAMPLED} nodes drawn from the whole graph hold {expected:.2g} of these on average: sample by distance, "
            "or the network hardly ever sees them."
        )
    values = excess[considered]
    low, high = distance[considered][np.argmin(values)], distance[considered][np.argmax(values)]
    if values.min() < -SMALL < SMALL < values.max() or np.abs(values).max() >= 2 * np.abs(values).min():
        said.append(
            f"A distance encoding should help a sampler that reaches several distances: beyond chance the margin is "
            f"{values.max():+.2f} at distance {high} and {values.min():+.2f} at distance {low}, and without an "
            "encoding attention cannot tell them apart."
        )
    else:
        said.append(
            f"A distance encoding has little to tell apart: beyond chance the margin is between {values.min():+.2f} "
            f"and {values.max():+.2f} at every distance."
        )
    if core.distance != normalised_core.distance:
        said.append(
            f"By counts the core distance is {core.distance}, where shells are larger; a trained encoding follows the "
            f"normalised margin, largest at distance {normalised_core.distance}."
        )
    return (*said, *_chance(core, normalised_core), CAVEAT)


def _chance(core: Core, normalised_core: Core) -> tuple[str, ...]:
    """A core distance that labels placed at random would have as well."""
    names = [
        name for name, each in (("counts", core), ("normalised margin", normalised_core)) if not each.beyond_chance
    ]
    if not names:
        return ()
    return (
        f"The core distance by {' and by '.join(names)} is no evidence: its margin lies in the null band, so that "
        "large or few shells and unequal classes alone may give it.",
    )


def _distances(values: np.ndarray) -> str:
    """distance 1; distances 1 to 3, 5."""
    runs: list[list[int]] = []
    for z in values:
        if runs and z == runs[-1][-1] + 1:
            runs[-1].append(int(z))
        else:
            runs.append([int(z)])
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]} {'and' if len(run) == 2 else 'to'} {run[-1]}" for run in runs]
    return f"distance{'s' if len(values) > 1 else ''} {', '.join(parts)}"


def describe(diagnosis: Diagnosis) -> str:
    """The diagnosis as plain text."""
    facts, table = diagnosis.facts, diagnosis.table
    unlabelled = facts["nodes"] - facts["labelled"]
    lines = [
        f"{facts['source']}",
        f"  nodes {facts['nodes']}, edges {facts['edges']}, classes {facts['classes']}, features {facts['features']}"
        + (f"; {unlabelled} nodes without a label" if unlabelled else ""),
        f"  components {facts['components']}; {facts['unreachable']:.1%} of all pairs of nodes cannot reach each other",
    ]
    if np.isfinite(facts["homophily"]):
        lines.append(
            f"  edges within a class {facts['homophily']:.3f}, {facts['chance_homophily']:.3f} for random labels; "
            f"adjusted homophily {facts['adjusted_homophily']:.3f}"
        )
    balanced = "balanced" if facts["largest_gap"] <= facts["balance_limit"] else "not balanced"
    lines += [
        f"  class counts {', '.join(map(str, facts['class_counts']))}: {balanced} in the paper's sense "
        f"(largest gap to the average {facts['largest_gap']:.1f}, limit 10 √N = {facts['balance_limit']:.1f})",
        f"  discriminative nodes: {facts['discriminative']:.1%} of the labelled ones, found by their features "
        f"(cosine above {facts['threshold']:.4g})"
        if facts["discriminative_by"] == "features"
        else "  discriminative nodes: all labelled ones, since the features tell none",
        f"  measured from {'all ' if facts['roots'] == facts['labelled'] else ''}{facts['roots']} labelled nodes"
        + ("" if facts["roots"] == facts["labelled"] else f", a uniform sample of {facts['labelled']}"),
        "",
        f"{'z':>3} {'shell':>8} {'reached':>8} {'margin':>9} {'95 % interval':>22} {'null band':>19}"
        f" {'normal.':>8} {'95 % interval':>17} {'null band':>17} {'positive':>9}",
    ]
    for z in table.distance.values:
        row = {str(name): float(values) for name, values in table.sel(distance=z).data_vars.items()}
        lines.append(
            f"{z:>3} {_short(row['shell_size']):>8} {row['reached']:>8.1%} {_short(row['margin']):>9} "
            f"{_range(row, 'margin_', _short):>22} {_range(row, 'margin_null_', _short):>19}"
            f"{_mark(row, 'margin')}{row['normalised']:>7.3f} {_range(row, 'normalised_', '{:.3f}'.format):>17} "
            f"{_range(row, 'normalised_null_', '{:.3f}'.format):>17}{_mark(row, 'normalised')}{row['positive']:>8.1%}"
        )
    lines += [
        "",
        "shell, margin: means over the nodes measured; normal.: margin as a share of the shell, where there is one.",
        f"Interval: over {facts['blocks']} connected blocks; too narrow where shells reach far beyond a block.",
        f"Null band: 95 % of {facts['permutations']} permutations of the labels, at all distances at once, measured "
        f"from {facts['null_roots']} nodes. *: outside.",
        "",
        f"core distance by counts: {_core(diagnosis.core)}",
        f"core distance by normalised margin: {_core(diagnosis.normalised_core)}",
        "",
        *(f"- {sentence}" for sentence in diagnosis.reading),
    ]
    return "\n".join(lines)


def _range(row: dict[str, float], prefix: str, form: Callable[[float], str]) -> str:
    low, high = row[f"{prefix}low"], row[f"{prefix}high"]
    return f"[{form(low)}, {form(high)}]" if np.isfinite(low) else "-"


def _mark(row: dict[str, float], name: str) -> str:
    return "*" if row[name] < row[f"{name}_null_low"] or row[name] > row[f"{name}_null_high"] else " "


def _core(core: Core) -> str:
    how = {
        True: "separated from every other distance",
        False: "not separated from it",
        None: "too few blocks to say more",
    }
    second = (
        "no other distance to compare"
        if core.runner_up is None
        else f"{_short(core.lead or 0.0)} above distance {core.runner_up}, {how[core.separated]}"
    )
    where = "outside" if core.beyond_chance else "in"
    return f"{core.distance} (margin {_short(core.margin)}, {where} the null band; {second})"


def _short(value: float) -> str:
    """Three digits, and all of those before the point."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def draw(diagnosis: Diagnosis) -> Figure:
    """Margins with intervals and null bands, by counts and normalised, with core distances; and the sizes of shells."""
    from matplotlib.ticker import MaxNLocator

    from lemmata import figures

    table, facts = diagnosis.table, diagnosis.facts
    figure, axes = figures.panels(3, width=4.9, height=4.3)
    z = table.distance.values
    kinds = (
        ("margin", diagnosis.core, figures.BLUE, r"mean winning margin $\bar\Delta(z)$ (nodes)"),
        ("normalised", diagnosis.normalised_core, figures.ORANGE, r"normalised margin (share of the shell)"),
    )
    # distances that hardly any node reaches would set the scale
    shown = np.isfinite(table.normalised_null.values)
    for ax, (name, core, color, label) in zip(axes, kinds, strict=False):
        mean, low, high = (table[name + end].values for end in ("", "_low", "_high"))
        band = table[f"{name}_null_low"], table[f"{name}_null_high"]
        ax.fill_between(z, *band, color=figures.GREY, alpha=0.3, linewidth=0, label="null band: labels permuted")
        known = shown & np.isfinite(low)
        ends = np.stack([mean - low, high - mean])[:, known]
        ax.errorbar(z[known], mean[known], ends, color=color, linestyle="none", capsize=2.5, linewidth=1)
        ax.plot(z[shown], mean[shown], "o-", color=color, markersize=4.5, label="mean over nodes, 95 % interval")
        ax.axhline(0, color="black", linewidth=0.7)
        ax.axvline(core.distance, color="black", linestyle=":", linewidth=1.2, label=f"core distance {core.distance}")
        ax.set_ylabel(label)
    axes[2].bar(z, table.shell_size, color=figures.GREEN, alpha=0.75, label="mean size")
    axes[2].plot(z, table.largest_shell, ".", color=figures.GREY, label="largest")
    axes[2].set_yscale("log")
    axes[2].set_ylabel("nodes in the shell")
    titles = ("which distances vote for the label", "the same as a share of the shell", "how large shells are")
    for ax, title in zip(axes, titles, strict=True):
        ax.set_xlim(0.4, z[-1] + 0.6)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        figures.finish(ax, title, x="distance $z$", legend=1)
    homophily = f"adjusted homophily {facts['adjusted_homophily']:.2f}"
    figure.suptitle(f"{facts['source']}: {facts['nodes']} nodes, {facts['classes']} classes, {homophily}", fontsize=10)
    return figure
