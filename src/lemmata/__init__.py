"""Lemmata: a laboratory for provable learning.

Names are loaded when first used, so that `lemmata list` and `--help` answer at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lemmata.lab.batches import Batch, Batches, epochs, fresh, full, independent, one_pass
    from lemmata.lab.bounds import Bound, bound, parameter
    from lemmata.lab.claims import Claim, Control, NotApplicable, Verdict
    from lemmata.lab.engines import open_engine
    from lemmata.lab.errors import UserError
    from lemmata.lab.judges import all_of, at_least, at_most, decreasing, equal, increasing, within
    from lemmata.lab.registry import load
    from lemmata.lab.setting import Problem, Setting, array, choice, derived, fixed, flag, number, size
    from lemmata.lab.simulation import Simulation, Variable, host_piece, piece, simulation, stream
    from lemmata.lab.sweep import sweep
    from lemmata.lab.theory import Experiment, Preset, Theory
    from lemmata.lab.thresholds import find_threshold
    from lemmata.lab.training import descent, loop, record_steps

_ROOMS = {
    "batches": "Batch Batches epochs fresh full independent one_pass",
    "bounds": "Bound bound parameter",
    "claims": "Claim Control NotApplicable Verdict",
    "engines": "open_engine",
    "errors": "UserError",
    "judges": "all_of at_least at_most decreasing equal increasing within",
    "registry": "load",
    "setting": "Problem Setting array choice derived fixed flag number size",
    "simulation": "Simulation Variable host_piece piece simulation stream",
    "sweep": "sweep",
    "theory": "Experiment Preset Theory",
    "thresholds": "find_threshold",
    "training": "descent loop record_steps",
}
_HOME = {name: f"lemmata.lab.{room}" for room, names in _ROOMS.items() for name in names.split()}

__all__ = [
    "Batch", "Batches", "Bound", "Claim", "Control", "Experiment", "NotApplicable", "Preset", "Problem", "Setting",
    "Simulation", "Theory", "UserError", "Variable", "Verdict", "all_of", "array", "at_least", "at_most", "bound",
    "choice", "decreasing", "derived", "descent", "epochs", "equal", "find_threshold", "fixed", "flag", "fresh", "full",
    "host_piece", "increasing", "independent", "load", "loop", "number", "one_pass", "open_engine", "parameter",
    "piece", "record_steps", "simulation", "size", "stream", "sweep", "within",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lemmata' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)
