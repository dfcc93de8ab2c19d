"""Population gradient descent, the exact recursion and its limit: the pattern, the phases, the late rates."""

from __future__ import annotations

import math
from typing import Any

from lemmata.theories.teacher_student.along import check_run
from lemmata.theories.teacher_student.experiments.common import SLOPES, experiment
from lemmata.theories.teacher_student.figures import exact as figures
from lemmata.theories.teacher_student.phases import escape_rates

PATTERN = {
    "tokens": 24, "support": 3, "features": 5, "outputs": 3, "value_law": "scaled_rows", "strength": 26.0,
    "steps": 3000, "records": 30,
}  # fmt: skip
"""The sizes of p1-pattern."""
CASES: dict[str, dict[str, Any]] = {
    "cnn": {"teacher": "cnn"},
    "regular": {"teacher": "gcn", "graph": "regular"},
    "sts": {"teacher": "sts"},
    "supports": {"teacher": "supports"},
    "recursion": {"teacher": "cnn", "dynamics": "recursion"},
    "equal_sum": {"teacher": "cnn", "value_law": "equal_rows"},
    "row_softmax": {"teacher": "sts", "defect": "row_softmax"},
    **{
        name: {"teacher": "supports", "defect": name}
        for name in ("skew_positions", "extra_support", "uneven_weights", "coloured_inputs")
    },
}
REDUCED: dict[str, Any] = {"outputs": 2, "features": 2, "value_law": "two_rows", "teacher": "supports"}
"""Two orthogonal rows of V* with 0.9 and 0.1 of ‖V*‖²; the recursion needs no S*."""


def _run(tokens: int, support: int, strength: float, step_size: float, **more: Any) -> dict[str, Any]:
    return {"tokens": tokens, "support": support, "strength": strength, "step_size": step_size, **more}


RUNS = {
    "R1": _run(20, 1, 2.0, 0.05),
    "R2": _run(64, 2, 4.0, 0.02),
    "R3": _run(36, 4, 10.0, 0.05),
    "wide": _run(64, 2, 819.2, 0.02),
    "fast": _run(64, 2, 160.0, 0.02),
    # started at δ = 0.01 with a step of twice the limit of stability: c = ln((D - K)(1 - δ)/(Kδ))
    "unstable": _run(20, 1, 2.0, 0.2, start_gap=math.log(19 * 0.99 / 0.01), escapes=0.0, steps=200),
    "frozen": _run(20, 1, 2.0, 0.05, train_attention=0.0),
    "twin": _run(20, 1, 2.0, 0.05, dynamics="population"),
}
"""The reference runs of 6.2, the broken ones, and the full-matrix twin of R1."""
SMALL_RUNS = {
    name: {**run, "tokens": 12, "strength": 20.0 * run["strength"]}
    for name, run in RUNS.items()
    if name not in ("wide", "fast")
}
FROZEN = {
    "none": {},
    "attention": {"train_attention": 0.0},
    "values": {"train_values": 0.0, "start_scale": 1.0},
}
LATE = {
    f"D={D}, K={K}, ‖V*‖²={strength}": {"tokens": D, "support": K, "strength": float(strength)}
    for D, K, strength in ((20, 1, 10), (20, 4, 10), (36, 4, 40), (64, 2, 40), (160, 2, 40), (30, 12, 10))
}
SWEEPS: dict[str, dict[str, dict[str, Any]]] = {
    "norm": {f"λ={factor:g}": _run(64, 2, 40 * factor**2, 0.05) for factor in (0.25, 0.5, 1.0)},
    "step": {f"η={step:g}": _run(64, 2, 4.0, step) for step in (0.0125, 0.025, 0.05)},
    "rows": {
        f"M={count}": _run(64, 2, 0.0, 0.05, outputs=count, features=4, value_law="gaussian", normalize_rows=True)
        for count in (1, 2, 4)
    },
    "ratio": {f"D={D}, K=D/20": _run(D, D // 20, 2.0, 0.05) for D in (20, 40, 80, 160)},
    # K = 1: η below 2K/(a_κD), the limit of stability, for every D
    "dimension": {f"D={D}, K=1": _run(D, 1, 4.0, 0.001) for D in (40, 100, 320, 1000)},
}
"""What T* depends on (P17), by sweep; the labels of all sweeps make one axis."""

EXPERIMENTS = (
    experiment(
        "p1-pattern",
        "Lemmas C.2, C.4, C.8",
        "Do the matrices keep the two-scalar pattern, for every teacher and every basis of positions?",
        figures.pattern,
        PATTERN,
        {"case": CASES, "negative_slope": SLOPES, "positions": ["haar", "dct"]},
        2,
        smoke={"case": {name: CASES[name] for name in ("cnn", "sts", "recursion", "equal_sum", "row_softmax")}},
        paper={"steps": 20_000},
        paper_seeds=5,
    ),
    experiment(
        "p3-along-run",
        "Lemmas C.2 to C.18",
        "Do the inequalities of the proof hold at every step from 0 to 3T*?",
        figures.along,
        {**REDUCED, "dynamics": "recursion", "escapes": 3.0, "records": 60},
        {"run": RUNS, "negative_slope": SLOPES},
        1,
        smoke={"run": SMALL_RUNS, "records": 8},
        paper={"records": 200},
        paper_seeds=1,
        simulation=check_run,
    ),
    experiment(
        "p17-escape",
        "Lemma C.17",
        "How does the end T* of the second phase scale?",
        figures.escape,
        {**REDUCED, "dynamics": "recursion", "steps": 0, "records": 2},
        {
            "sweep": {label: cell for cells in SWEEPS.values() for label, cell in cells.items()},
            "negative_slope": SLOPES,
        },
        1,
        smoke={"records": 2, "steps": 0, "negative_slope": [1.0]},
        paper_seeds=1,
    ),
    experiment(
        "t3-late",
        "Theorem 3.1",
        "At which rates, and with which constants, are teacher and loss approached?",
        figures.late,
        {**REDUCED, "dynamics": "limit", "escapes": 1e4, "first_escape": 1e2, "records": 42},
        {"size": LATE, "negative_slope": SLOPES, "frozen": FROZEN},
        1,
        smoke={"records": 8, "size": dict(list(LATE.items())[:2])},
        paper={"escapes": 1e8, "records": 122},
        paper_seeds=1,
    ),
    experiment(
        "t3-dimension",
        "Theorems 3.1 and 3.2",
        "Which powers of D do the late laws have?",
        figures.dimension,
        {
            **REDUCED, "support": 2, "strength": 4.0, "dynamics": "limit", "step_size": 1e-3, "steps": 10**15,
            "spacing": "decades", "records": 135,
        },
        {"tokens": [40, 80, 160, 320], "negative_slope": SLOPES},
        1,
        smoke={"records": 135, "steps": 10**15, "tokens": [40, 80], "negative_slope": [1.0]},
        paper={"tokens": [40, 80, 160, 320, 640, 1280]},
        paper_seeds=1,
    ),
    experiment(
        "c2-phases",
        "proof of Theorem 3.1; 9.9",
        "How fast does the score escape from 1/D: cubically, as printed?",
        figures.phases,
        {**REDUCED, "support": 1, "dynamics": "limit"},
        {
            "size": {
                "D=400": {"tokens": 400, "strength": 160.0},
                "D=10000": {"tokens": 10_000, "strength": 1e5},
            },
            "negative_slope": SLOPES,
        },
        1,
        paper_seeds=1,
        simulation=escape_rates,
    ),
    experiment(
        "c2-portrait",
        "extra: phase portrait",
        "Which way do C_1 and p take, when phases are separated and when they are not?",
        figures.portrait,
        {**REDUCED, "dynamics": "recursion", "escapes": 30.0, "records": 200, "tokens": 36, "support": 4},
        {
            "chi": {
                f"χ={chi:g}": {"strength": chi * 4 * 36**2} for chi in (0.0025, 0.025, 0.25, 1.0)
            },
            "negative_slope": SLOPES,
        },
        1,
        smoke={"records": 30, "negative_slope": [1.0]},
        paper={"records": 500},
        paper_seeds=1,
    ),
    experiment(
        "p1-temperature",
        "extra: another softmax temperature",
        "Does another temperature only change how fast attention moves?",
        figures.temperature,
        {**PATTERN, "teacher": "cnn", "negative_slope": 0.0, "steps": 20_000, "records": 60},
        {"temperature": [0.5, 1.0, 2.0], "dynamics": ["population", "recursion"]},
        1,
        paper={"steps": 100_000},
        paper_seeds=1,
    ),
)  # fmt: skip
