"""The exponents of the iteration count (P2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import within
from lemmata.lab.measures import log_slopes, on_law

AXES = {
    "p2-eta": "step_size",
    "p2-alpha": "fraction",
    "p2-beta": "pattern_norm",
    "p2-patterns": "relevant_patterns",
    "p2-width": "neurons",
    "p2-delta": "initial_scale",
}
_GRID = np.array([4.0, 6, 8, 12, 16])
PATTERNS_SLOPE = float(np.polyfit(np.log(_GRID), np.log(_GRID * np.sqrt(np.log(_GRID))), 1)[0])
"""The exponent of M_1 √log M_1 on the grid of p2-patterns: 1.25."""


def _slopes(name: str, *, backwards: bool = False, law: float | None = None) -> Evidence:
    """The exponent of T* in the axis, one per seed; `law`: residuals put on that exponent."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        times, along = datasets[name].reached_step, AXES[name]
        if backwards:
            times = times.assign_coords({along: times[along].values[::-1]})
        return log_slopes(times if law is None else on_law(times, along, law), along)

    return evidence


def _exponent(name: str, statement: str, formula: str, judge: Any, controls: tuple[Control, ...], **more: Any) -> Claim:
    reference = "(6.10), corrected" if name.endswith("-corrected") else "(6.10)"
    experiment = more.pop("reads")
    return Claim(
        name=name, reference=reference, kind="scaling", statement=statement, formula=formula, reads=(experiment,),
        evidence=_slopes(experiment), judge=judge, controls=controls, **more,
    )  # fmt: skip


CLAIMS = (
    _exponent(
        "p2-iterations-eta",
        "The number of iterations is inversely proportional to the step size.",
        "T* ∝ η^-1",
        within(-1.15, -0.85, predicted=-1.0),
        (Control("η values in reversed order", _slopes("p2-eta", backwards=True)),),
        reads="p2-eta",
    ),
    _exponent(
        "p2-iterations-alpha",
        "It grows as α^(-2/3) when decisive contexts become rare.",
        "T* ∝ α^(-2/3)",
        within(-2 / 3 - 0.25, -2 / 3 + 0.25, predicted=-2 / 3),
        (Control("α values in reversed order", _slopes("p2-alpha", backwards=True)),),
        reads="p2-alpha",
    ),
    _exponent(
        "p2-iterations-beta",
        "As stated: it grows as β^(-2/3) when patterns become short.",
        "T* ∝ β^(-2/3)",
        within(-2 / 3 - 0.25, -2 / 3 + 0.25, predicted=-2 / 3),
        (Control("T* put on β^(-2/3)", _slopes("p2-beta", law=-2 / 3), HOLDS),),
        reads="p2-beta",
        expected=FAILS,
    ),
    _exponent(
        "p2-iterations-beta-corrected",
        "Corrected: it falls with an exponent between -2.3 and -1.4.",
        "T* ∝ β^-1.9",
        within(-2.3, -1.4),
        (Control("T* put on β^(-2/3)", _slopes("p2-beta", law=-2 / 3)),),
        reads="p2-beta",
    ),
    _exponent(
        "p2-iterations-patterns",
        "As stated: it grows as M_1 √log M_1, exponent 1.25 on the grid.",
        "T* ∝ M_1 √log M_1",
        within(PATTERNS_SLOPE - 0.25, PATTERNS_SLOPE + 0.25, predicted=PATTERNS_SLOPE),
        (Control("T* put on M_1 √log M_1", _slopes("p2-patterns", law=PATTERNS_SLOPE), HOLDS),),
        reads="p2-patterns",
        expected=FAILS,
    ),
    _exponent(
        "p2-iterations-patterns-corrected",
        "Corrected: it grows with an exponent between 0.2 and 0.8.",
        "T* ∝ M_1^0.45",
        within(0.2, 0.8),
        (Control("T* put on M_1 √log M_1", _slopes("p2-patterns", law=PATTERNS_SLOPE)),),
        reads="p2-patterns",
    ),
    _exponent(
        "p2-iterations-width",
        "As stated: it does not depend on the width.",
        "T* ∝ m^0",
        within(-0.25, 0.25, predicted=0.0),
        (Control("T* put on a constant", _slopes("p2-width", law=0.0), HOLDS),),
        reads="p2-width",
        expected=FAILS,
    ),
    _exponent(
        "p2-iterations-width-corrected",
        "Corrected: with output weights ±1/m it grows with an exponent between 0.6 and 1.2.",
        "T* ∝ m^0.9",
        within(0.6, 1.2),
        (Control("T* put on a constant", _slopes("p2-width", law=0.0)),),
        reads="p2-width",
    ),
)
