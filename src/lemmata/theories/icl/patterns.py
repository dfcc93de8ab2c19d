"""Patterns out of domain (2.2): the paper's family, and what the theory asks of any other.

Patterns out of domain are rows of coefficients k of all d_x patterns (μ_1 .. μ_{M_1}, ν_1 .. ν_{M_2}).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

import lemmata as lm

Coefficients = Float[np.ndarray, "shifted dimension"]

DEFECT = "irrelevant span"
DEFECTS = ("none", DEFECT)
"""None, or the one whose relevant patterns out of domain lie in the span of the irrelevant ones."""
BRANCH_A = (45.0, 20.0, 6.35, 0.0, -45.0, -90.0, -135.0)
BRANCH_B = (70.0, 83.65, 135.0, 180.0)
SHIFTS = {
    **{f"{angle:g}": {"angle": angle} for angle in (*BRANCH_A, *BRANCH_B)},
    "defect": {"angle": 45.0, "defect": DEFECT},
}
"""The shifts of P5: angles of the reference family, both branches, and the defect."""
RADIUS = 0.82
"""a² + b² of the reference family, so that μ'_1 has the norm of a pattern."""


def reference_angle(a: float, b: float) -> float:
    """The angle of (a, b), in degrees; the point is moved onto the circle a² + b² = 0.82, which it must be near."""
    if not abs(a**2 + b**2 - RADIUS) <= 0.01:
        raise lm.UserError(f"a = {a:g}, b = {b:g} is not allowed: a² + b² = {a**2 + b**2:g} must be 0.82 within 0.01.")
    return math.degrees(math.atan2(b, a))


def coefficient_sum(angle: float) -> float:
    """S_1 = a + b of the reference family; S_2 = S_3 = √2."""
    return math.sqrt(2 * RADIUS) * math.sin(math.radians(angle + 45))


def branch_angle(total: float, branch: str = "A") -> float:
    """The angle with S_1 = total: from 45 degrees down (branch A), or up (branch B)."""
    largest = math.sqrt(2 * RADIUS)
    if not abs(total) <= largest:
        raise lm.UserError(f"total = {total:g} is not allowed: S_1 of the family is within ±{largest:.4f}.")
    away = 90 - math.degrees(math.asin(total / largest))
    return 45 - away if branch == "A" else 45 + away


def reference_family(patterns: int, dimension: int, angle: float) -> tuple[Coefficients, Coefficients]:
    """μ'_1 = 0.3 (μ_1 - μ_2) + a μ_5 + b μ_6, μ'_2 = (μ_1 + μ_2)/√2, μ'_3 = (μ_3 + μ_4)/√2; ν'_i = ν_i.

    With fewer than 6 or 3 patterns there is none: zeros.
    """
    odr, odi = np.zeros((3, dimension)), np.zeros((3, dimension))
    if patterns < 6 or dimension - patterns < 3:
        return odr, odi
    a, b = (math.sqrt(RADIUS) * f(math.radians(angle)) for f in (math.cos, math.sin))
    odr[0, [0, 1, 4, 5]] = 0.3, -0.3, a, b
    odr[1, :2] = odr[2, 2:4] = math.sqrt(0.5)
    odi[range(3), range(patterns, patterns + 3)] = 1
    return odr, odi


def require_family(patterns: int, irrelevant: int) -> None:
    """Refuse too few patterns for the reference family."""
    if patterns < 6 or irrelevant < 3:
        raise lm.UserError(
            f"patterns = {patterns}, irrelevant = {irrelevant} is not allowed here: out of domain there must be at "
            "least 6 relevant and 3 irrelevant patterns."
        )


def irrelevant_family(patterns: int, dimension: int) -> Coefficients:
    """A deliberate break: μ'_j = ν_{3+j}, in the span of the irrelevant patterns."""
    odr = np.zeros((3, dimension))
    odr[range(3), range(patterns + 3, patterns + 6)] = 1
    return odr


def shift_refusals(
    odr: np.ndarray | None, odi: np.ndarray | None, patterns: int, dimension: int, strict: bool = True
) -> Iterator[str]:
    """What is wrong with given patterns out of domain: their shape and number; if strict, norm, angles and span."""
    spans = {"odr": ("relevant", patterns), "odi": ("irrelevant", dimension - patterns)}
    for name, rows in (("odr", odr), ("odi", odi)):
        if rows is None:
            continue
        rows = np.asarray(rows, float)
        kind, most = spans[name]
        if rows.ndim != 2 or rows.shape[1] != dimension or not 1 <= len(rows) <= most:
            yield f"{name} has shape {rows.shape}; allowed are at most {most} rows of {dimension} coefficients."
            return
        gram = rows @ rows.T
        foreign = rows[:, patterns:] if name == "odr" else rows[:, :patterns]
        if not strict:
            continue
        if np.abs(np.sqrt(np.diag(gram)) - 1).max() > 1e-6:
            yield f"{name} is not allowed: its patterns must have the norm β, so squared coefficients that add up to 1."
        if np.abs(gram - np.diag(np.diag(gram))).max() > 1e-6:
            yield f"{name} is not allowed: its patterns must be orthogonal to each other."
        if np.abs(foreign).max(initial=0) > 1e-6:
            yield f"{name} is not allowed: its patterns must lie in the span of the {kind} patterns."
