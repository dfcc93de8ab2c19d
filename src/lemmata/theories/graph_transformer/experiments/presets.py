"""How the experiments are made: the sizes that their presets share, and the graphs that several of them train on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import lemmata as lm
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.training import simulate

RECORDS = 61
"""Room for records, the same in most experiments, so that they share their programs."""
FRACTIONS = [0.25, 0.3, 0.4, 0.5, 0.6, 0.8]
TINY = {
    "nodes": 96, "patterns": 5, "dimension": 8, "degree": 8, "neurons": 12, "key_width": 8, "value_width": 8,
    "labelled": 48, "batch": 10, "sample": 8, "steps": 4, "record_every": 2, "records": 3, "test_from": 0,
    "test_draws": 2, "track": "proof",
}  # fmt: skip
"""The sizes of every smoke preset, so that they share their programs."""
SMALL = {name: TINY[name] for name in ("nodes", "labelled", "degree", "sample", "batch", "neurons", "steps")}
"""Those that variants have values of their own for."""
APART = {"track": "losses"}
"""The smoke preset of an experiment whose training is a program of its own, which is then smaller."""
SLOW = {"step_size": 0.01, "record_every": 100}
"""The paper's step size: ten times the steps for the same η t."""


def cycle(sequence: str, cluster: int = 60) -> dict[str, Any]:
    """G3 with its training defaults (2.4): the whole graph is sampled, half of the nodes are labelled."""
    nodes = cluster * len(sequence)
    return {
        "generator": "cycle", "sequence": sequence, "nodes": nodes, "labelled": nodes // 2,
        "bins": len(sequence) // 2 + 1, "shells": "whole", "sample": 40, "batch": 50, "neurons": 200,
    }  # fmt: skip


BLOCKS = {
    "generator": "blocks", "nodes": 600, "degree": 40, "labelled": 300, "bins": 5, "shells": "whole", "sample": 30,
    "batch": 50, "neurons": 200,
}  # fmt: skip
"""G2 with its training defaults (2.3)."""
CYCLES = {"+-+-": cycle("+-+-", 120), "++--++--": cycle("++--++--"), "+++---+++---": cycle("+++---+++---")}
CORE = {"shells": "core"}
NEXT = {"shells": "single", "distance": 1}
"""The core of a planted block graph in the sense of its proof: distance 1 (P18); all that a GAT attends to."""

experiment = partial(lm.experiment, kind=Setting, simulation=simulate, tiny=TINY, seeds=3)
"""Three seeds at `quick` unless said."""


def with_fields(variants: Mapping[str, Mapping[str, Any]], **fields: Any) -> dict[str, dict[str, Any]]:
    """Variants with fields changed in all of them; a function makes the value from the variant's own one."""
    changed = {}
    for label, variant in variants.items():
        new = {name: value(variant.get(name)) if callable(value) else value for name, value in fields.items()}
        changed[label] = {**variant, **new}
    return changed


def ten_times(variants: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The paper's preset of variants that have numbers of steps of their own."""
    return {**SLOW, "variant": with_fields(variants, steps=lambda steps: 10 * steps)}
