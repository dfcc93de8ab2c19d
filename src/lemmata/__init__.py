"""Lemmata: a laboratory for provable learning.

Names are loaded when first used, so that `lemmata list` and `--help` answer at once.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lemmata.lab import figures
    from lemmata.lab.batches import Batch, Batches, epochs, fresh, full, independent, one_pass, with_key
    from lemmata.lab.bounds import Bound, bound, option, parameter
    from lemmata.lab.claims import (
        FAILS,
        HOLDS,
        INCONCLUSIVE,
        Claim,
        Control,
        Evidence,
        Gate,
        NotApplicable,
        Verdict,
        evidence,
        fact,
    )
    from lemmata.lab.declarations import array, choice, flag, number, size
    from lemmata.lab.default_figures import show
    from lemmata.lab.diagnoses import Assumption, Diagnosis, Finding, diagnose
    from lemmata.lab.doors import replicate, run, verify
    from lemmata.lab.engines import open_engine
    from lemmata.lab.errors import AssumptionWarning, FailedCells, UserError
    from lemmata.lab.fits import Threshold, line, offset_power_law, power_law, slope, threshold
    from lemmata.lab.generators import generator
    from lemmata.lab.intervals import CannotFit, Estimate, mean_interval, share_interval, spearman
    from lemmata.lab.judges import all_of, at_least, at_most, decreasing, equal, increasing, stating, within
    from lemmata.lab.keeping import keep, starting
    from lemmata.lab.measures import at, at_end, cells, log_slope, log_slopes, on_law, ratio_of_means, stack
    from lemmata.lab.precision import numerics
    from lemmata.lab.regions import Uncertain
    from lemmata.lab.registry import load
    from lemmata.lab.setting import Problem, Setting, capacity, derived, fixed
    from lemmata.lab.simulation import Simulation, Variable, host_piece, piece, simulation, stream
    from lemmata.lab.sweep import sweep
    from lemmata.lab.tables import Table
    from lemmata.lab.theory import Experiment, Preset, Theory, asking, experiment
    from lemmata.lab.thresholds import find_threshold
    from lemmata.lab.trained import Trained, trained
    from lemmata.lab.training import RUN, Run, descent, loop, record_steps, without_repeats

_ROOMS = {
    "batches": "Batch Batches epochs fresh full independent one_pass with_key",
    "bounds": "Bound bound option parameter",
    "claims": "FAILS HOLDS INCONCLUSIVE Claim Control Evidence Gate NotApplicable Verdict evidence fact",
    "declarations": "array choice flag number size",
    "default_figures": "show",
    "diagnoses": "Assumption Diagnosis Finding diagnose",
    "engines": "open_engine",
    "doors": "replicate run verify",
    "errors": "AssumptionWarning FailedCells UserError",
    "fits": "Threshold line offset_power_law power_law slope threshold",
    "generators": "generator",
    "intervals": "CannotFit Estimate mean_interval share_interval spearman",
    "judges": "all_of at_least at_most decreasing equal increasing stating within",
    "keeping": "keep starting",
    "measures": "at at_end cells log_slope log_slopes on_law ratio_of_means stack",
    "precision": "numerics",
    "regions": "Uncertain",
    "registry": "load",
    "setting": "Problem Setting capacity derived fixed",
    "simulation": "Simulation Variable host_piece piece simulation stream",
    "sweep": "sweep",
    "tables": "Table",
    "theory": "Experiment Preset Theory asking experiment",
    "thresholds": "find_threshold",
    "trained": "Trained trained",
    "training": "RUN Run descent loop record_steps without_repeats",
}
__version__: str
_HOME = {name: f"lemmata.lab.{room}" for room, names in _ROOMS.items() for name in names.split()}

__all__ = [
    "FAILS",
    "HOLDS",
    "INCONCLUSIVE",
    "RUN",
    "Assumption",
    "AssumptionWarning",
    "Batch",
    "Batches",
    "Bound",
    "CannotFit",
    "Claim",
    "Control",
    "Diagnosis",
    "Estimate",
    "Evidence",
    "Experiment",
    "FailedCells",
    "Finding",
    "Gate",
    "NotApplicable",
    "Preset",
    "Problem",
    "Run",
    "Setting",
    "Simulation",
    "Table",
    "Theory",
    "Threshold",
    "Trained",
    "Uncertain",
    "UserError",
    "Variable",
    "Verdict",
    "all_of",
    "array",
    "asking",
    "at",
    "at_end",
    "at_least",
    "at_most",
    "bound",
    "capacity",
    "cells",
    "choice",
    "decreasing",
    "derived",
    "descent",
    "diagnose",
    "epochs",
    "equal",
    "evidence",
    "experiment",
    "fact",
    "figures",
    "find_threshold",
    "fixed",
    "flag",
    "fresh",
    "full",
    "generator",
    "host_piece",
    "increasing",
    "independent",
    "keep",
    "line",
    "load",
    "log_slope",
    "log_slopes",
    "loop",
    "mean_interval",
    "number",
    "numerics",
    "offset_power_law",
    "on_law",
    "one_pass",
    "open_engine",
    "option",
    "parameter",
    "piece",
    "power_law",
    "ratio_of_means",
    "record_steps",
    "replicate",
    "run",
    "share_interval",
    "show",
    "simulation",
    "size",
    "slope",
    "spearman",
    "stack",
    "starting",
    "stating",
    "stream",
    "sweep",
    "threshold",
    "trained",
    "verify",
    "with_key",
    "within",
    "without_repeats",
]


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


if not TYPE_CHECKING:  # a type checker would believe in every name

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return importlib.metadata.version("lemmata")
        if name == "figures":
            return importlib.import_module("lemmata.lab.figures")
        if name not in _HOME:
            raise AttributeError(f"module 'lemmata' has no attribute '{name}'")
        return getattr(importlib.import_module(_HOME[name]), name)
