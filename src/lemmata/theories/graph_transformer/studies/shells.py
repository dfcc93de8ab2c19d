"""What the proofs assume of shells, measured on drawn graphs without training (P18, P20, 9.5, 9.32)."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int

import lemmata as lm
from lemmata.theories.graph_transformer import data
from lemmata.theories.graph_transformer.margins import (
    Shells,
    core_distance,
    count_shells,
    mean_margins,
    winning_margins,
)
from lemmata.theories.graph_transformer.setting import Setting


def exchange_values(shells: Shells, label: np.ndarray, sizes: np.ndarray) -> Int[np.ndarray, "node distance pattern"]:
    """|D_* ∩ N_z||D_i \\ N_z| - |D_i ∩ N_z||D_* \\ N_z| for every node, distance and pattern i >= 3 (B.199)."""
    own = (1 - label) // 2
    relevant = np.take_along_axis(shells.members, own[:, None, None], axis=2)
    plain = shells.members[:, :, 2:]
    return relevant * (sizes[2:] - plain) - plain * (sizes[own][:, None, None] - relevant)


@lm.simulation(
    lm.Variable("count_margin", ("bin",), "Δ̄(z)", "mean winning margin"),
    lm.Variable("normalised_margin", ("bin",), "", "mean winning margin relative to the size of the shell"),
    lm.Variable("core_distance", (), "z_m", "distance with the largest mean margin"),
    lm.Variable("positive_first", (), "", "share of nodes with a positive margin at distance 1"),
    lm.Variable("relevant_share", (), "E[p_n]", "mean share of class-relevant nodes among the nodes at distance 1"),
    lm.Variable(
        "least_exchange", ("bin",), "", "(B.200): smallest value at z_m minus that at z, over nodes and patterns"
    ),
    lm.Variable("mean_exchange", ("bin",), "", "its mean over nodes and patterns"),
    lm.Variable("marked_share_error", ("bin",), "", "mean of | |(D_1 ∪ D_2) ∩ N_z|/|N_z| - γ_d |", True),
    lm.Variable("plain_share_error", ("bin",), "", "mean of | |D_i ∩ N_z|/|D_i| - |N_z|/N |, i >= 3", True),
    host=True,
)
def examine_shells(setting: Setting, seed: int) -> dict[str, Any]:
    """The margins of a graph, and how uniform its shells are (probe 13); bins beyond Z are 0. It needs M >= 3."""
    drawn, table = data.draw(setting, seed)
    cap, bins, room = data.depth(setting), setting.bins, setting.bin_room
    everything = [(np.arange(setting.nodes), table)]
    by_pattern = count_shells(everything, drawn.pattern, setting.patterns, cap).lumped(bins)
    shells = data.shells_of(table, drawn.pattern, cap).lumped(bins)
    delta, relative = winning_margins(shells, (1 - drawn.label) // 2)
    mean, share = mean_margins(delta, relative)
    core = core_distance(mean, bins)
    sizes = np.bincount(drawn.pattern, minlength=setting.patterns)
    values = exchange_values(by_pattern, drawn.label, sizes)
    gain = values[:, [core]] - values
    own = np.take_along_axis(shells.members, ((1 - drawn.label) // 2)[:, None, None], axis=2)[:, :, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        near = own[:, 1] / shells.size[:, 1]
        marked = np.abs(shells.members.sum(axis=2) / shells.size - setting.discriminative)
        plain = np.abs(by_pattern.members[:, :, 2:] / sizes[2:] - (shells.size / setting.nodes)[:, :, None])

    def padded(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, np.zeros(room - bins)]).astype(np.float32)

    return {
        "count_margin": padded(mean),
        "normalised_margin": padded(share),
        "core_distance": np.float32(core),
        "positive_first": np.float32(np.mean(delta[:, 1] > 0)),
        "relevant_share": np.float32(np.nanmean(near)),
        "least_exchange": padded(gain.min(axis=(0, 2))),
        "mean_exchange": padded(gain.mean(axis=(0, 2))),
        "marked_share_error": padded(_known_mean(marked)),
        "plain_share_error": padded(plain.mean(axis=(0, 2))),
    }


def _known_mean(values: np.ndarray) -> np.ndarray:
    known = np.isfinite(values)
    return np.where(known, values, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
