"""Gaussian expectations in closed form (Lemmas E.1 to E.7); x_1 ~ N(0, a), x_2 ~ N(0, b), x_3 ~ N(0, c) independent.

One formula serves compiled code and the host: arrays of JAX stay there, anything else is NumPy's.
"""

import math
from types import SimpleNamespace
from typing import Any

from lemmata.lab.arrays import library_of

FUNCTIONS = ("sqrt", "exp", "expm1", "log1p", "arctan", "arctan2", "minimum", "maximum", "where")
xp: Any = SimpleNamespace(**{f: lambda *values, f=f: getattr(library_of(*values), f)(*values) for f in FUNCTIONS})
"""These functions of NumPy, or of JAX where one of the arguments is an array of it."""


def mean_square_slope(slope: Any) -> Any:
    """a_κ = (1 + κ²) / 2 = E[σ'(x)²] for a centred x."""
    return (1 + slope**2) / 2


def even_part(slope: Any) -> Any:
    """(1 + κ)² / 4: what products of σ and σ' have beside the angle."""
    return (1 + slope) ** 2 / 4


def angle_part(slope: Any) -> Any:
    """(1 - κ)² / (2π): the weight of the angle."""
    return (1 - slope) ** 2 / (2 * math.pi)


def root_angle(above: Any, below: Any) -> Any:
    """arctan √(above / below), also for below = 0."""
    return xp.arctan2(xp.sqrt(above), xp.sqrt(below))


def f1(a: Any, slope: Any) -> Any:
    """F_1 = E[x_1 σ(x_1) σ'(x_1)] (E.1)."""
    return mean_square_slope(slope) * a


def f2(a: Any, b: Any, slope: Any) -> Any:
    """F_2 = E[x_1 σ(x_1 + x_2) σ'(x_1 + x_2)] (E.2); it does not depend on b."""
    return mean_square_slope(slope) * a + 0 * b


def f3_own(a: Any, b: Any, slope: Any) -> Any:
    """E[x_1 σ(x_1) σ'(x_1 + x_2)] (E.3)."""
    return even_part(slope) * a + angle_part(slope) * a * (root_angle(a, b) + xp.sqrt(a * b) / (a + b))


def f3_other(a: Any, b: Any, slope: Any) -> Any:
    """E[x_2 σ(x_1) σ'(x_1 + x_2)] (E.4)."""
    return angle_part(slope) * b * xp.sqrt(a * b) / (a + b)


def f3(a: Any, b: Any, slope: Any, angle: Any = None) -> Any:
    """F_3 = E[(x_1 + x_2) σ(x_1) σ'(x_1 + x_2)] (E.5); `angle` is arctan √(a/b), if it is known."""
    turn = root_angle(a, b) if angle is None else angle
    return even_part(slope) * a + angle_part(slope) * (a * turn + xp.sqrt(a * b))


def f4(a: Any, b: Any, c: Any, slope: Any, angle: Any = None) -> Any:
    """F_4 = E[x_1 σ(x_1 + x_2) σ'(x_1 + x_2 + x_3)] (E.6); `angle` is arctan √((a + b)/c), if it is known."""
    turn = root_angle(a + b, c) if angle is None else angle
    return even_part(slope) * a + angle_part(slope) * a * (turn + xp.sqrt((a + b) * c) / (a + b + c))


def f5(a: Any, b: Any, c: Any, slope: Any) -> Any:
    """F_5 = E[x_2 σ(x_1) σ'(x_1 + x_2 + x_3)] (E.7)."""
    return angle_part(slope) * b * xp.sqrt(a * (b + c)) / (a + b + c)
