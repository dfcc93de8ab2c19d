"""The facts that the paper uses (Facts 4.4-4.10): series, norms, inequalities and tail bounds (Q20)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import Judge, all_of, at_least, at_most, equal

CASES = 200
SLACK = 1 + 1e-12


def _worst(left: Callable[[Any], Any], right: Callable[[Any], Any], grid: np.ndarray) -> Evidence:
    """The largest left - right over a grid."""
    return lambda datasets: float(np.max(left(grid) - right(grid)))


def _grid(low: float, high: float, points: int = 2000) -> np.ndarray:
    """An even grid without 0, where both sides of most facts vanish."""
    grid = np.linspace(low, high, points)
    return grid[grid != 0]


SMALL = _grid(-0.1, 0.1)


def _remainder(reach: float) -> Evidence:
    """(e^x - 1 - x)/x² at its extremes over |x| ≤ reach."""

    def evidence(datasets: Datasets) -> dict[str, float]:
        x = _grid(-reach, reach)
        ratio = (np.expm1(x) - x) / x**2
        return {"least": float(ratio.min()), "largest": float(ratio.max())}

    return evidence


def _series(sinh_parity: int) -> Evidence:
    """30 terms of exp, cosh and sinh against the functions on |x| ≤ 3; sinh has the odd terms."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        x = _grid(-3, 3, 401)
        term = lambda k: x**k / math.factorial(k)  # noqa: E731
        sums = [
            sum(term(k) for k in range(30)),
            sum(term(2 * k) for k in range(30)),
            sum(term(2 * k + sinh_parity) for k in range(30)),
        ]
        return {"measured": np.stack(sums), "predicted": np.stack([np.exp(x), np.cosh(x), np.sinh(x)])}

    return evidence


def _cauchy(factor: float) -> Evidence:
    """Largest |<x, y>| / (factor ‖x‖ ‖y‖) over random and parallel pairs."""

    def evidence(datasets: Datasets) -> float:
        rng = np.random.default_rng(datasets.seed)
        x, y = rng.standard_normal((2, CASES, 7))
        y[: CASES // 4] = -3 * x[: CASES // 4]
        return float(
            np.max(np.abs(np.sum(x * y, 1)) / (factor * np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)))
        )

    return evidence


def _matrices(seed: int) -> list[np.ndarray]:
    """200 random 6 x 6 matrices, and 11ᵀ."""
    return [*np.random.default_rng(seed).standard_normal((CASES, 6, 6)), np.ones((6, 6))]


def _norms(factor: float) -> Evidence:
    """Largest ‖B‖/‖B‖_F and ‖B‖_F/(n max |B_ij|), right sides times `factor`."""

    def evidence(datasets: Datasets) -> dict[str, float]:
        matrices = _matrices(datasets.seed)
        spectral = max(np.linalg.norm(b, 2) / np.linalg.norm(b) for b in matrices)
        entries = max(np.linalg.norm(b) / (len(b) * np.abs(b).max()) for b in matrices)
        return {"spectral": float(spectral / factor), "entries": float(entries / factor)}

    return evidence


def _quadratic(factor: float) -> Evidence:
    """Largest xᵀBx / (factor ‖x‖² ‖B‖), the top eigenvector of a positive B included."""

    def evidence(datasets: Datasets) -> float:
        rng = np.random.default_rng(datasets.seed)
        found = []
        for b in _matrices(datasets.seed):
            x = rng.standard_normal(6)
            positive = b @ b.T
            top = np.linalg.eigh(positive)[1][:, -1]
            found += [x @ b @ x / (x @ x * np.linalg.norm(b, 2)), top @ positive @ top / np.linalg.norm(positive, 2)]
        return float(max(found) / factor)

    return evidence


def _weyl(factor: float) -> Evidence:
    """Largest (λ_min(A) - λ_min(A + E)) / (factor ‖E‖), E = -tI included."""

    def evidence(datasets: Datasets) -> float:
        rng = np.random.default_rng(datasets.seed)
        found = []
        for _ in range(CASES):
            a, e = (m + m.T for m in rng.standard_normal((2, 6, 6)))
            for change in (e, -0.7 * np.eye(6)):
                drop = np.linalg.eigvalsh(a)[0] - np.linalg.eigvalsh(a + change)[0]
                found.append(drop / np.linalg.norm(change, 2))
        return float(max(found) / factor)

    return evidence


def _geometric(first: int) -> Evidence:
    """2000 terms of Σ x^i from i = first against 1/(1 - x)."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        x = np.linspace(0, 0.9, 91)
        return {"measured": sum(x**i for i in range(first, 2000)), "predicted": 1 / (1 - x)}

    return evidence


def _hoeffding(factor: float) -> Evidence:
    """Largest exact tail of Bin(50, ½) over 2 e^{-factor 2t²/50}, t = 1, ..., 20."""

    def evidence(datasets: Datasets) -> float:
        from scipy.stats import binom

        t = np.arange(1, 21)
        tail = 2 * binom.sf(25 + t - 1, 50, 0.5)
        return float(np.max(tail / (2 * np.exp(-factor * 2 * t**2 / 50))))

    return evidence


def _bernstein(factor: float) -> Evidence:
    """Largest exact upper tail of Bin(200, 0.1) over exp(-factor (t²/2)/(18 + 0.9t/3)), t = 1, ..., 20."""

    def evidence(datasets: Datasets) -> float:
        from scipy.stats import binom

        t = np.arange(1, 21)
        return float(np.max(binom.sf(20 + t - 1, 200, 0.1) / np.exp(-factor * (t**2 / 2) / (18 + 0.9 * t / 3))))

    return evidence


def _chi_square_tails(factor: float) -> Evidence:
    """Largest exact tail of χ²_k beyond `factor` times its deviation, over e^{-t}."""

    def evidence(datasets: Datasets) -> dict[str, float]:
        from scipy.stats import chi2

        k, t = np.meshgrid([4, 10, 100], [0.5, 1, 3, 6], indexing="ij")
        above = chi2.sf(k + factor * (2 * np.sqrt(k * t) + 2 * t), k)
        below = chi2.cdf(k - factor * 2 * np.sqrt(k * t), k)
        return {"above": float(np.max(above / np.exp(-t))), "below": float(np.max(below / np.exp(-t)))}

    return evidence


def _chi_square_share(degrees: int | None = None, complement: bool = False) -> Evidence:
    """Pr[|X - k| ≤ k/2] for X ~ χ²_k, k = ⌈16 ε^-2 ln(2/δ)⌉ or given; or of the complement."""

    def evidence(datasets: Datasets) -> float:
        from scipy.stats import chi2

        k = degrees or math.ceil(16 / 0.25 * math.log(2 / 0.05))
        inside = float(chi2.cdf(1.5 * k, k) - chi2.cdf(0.5 * k, k))
        return 1 - inside if complement else inside

    return evidence


def _fact(
    name: str, reference: str, kind: str, statement: str, evidence: Evidence, judge: Judge, *controls: Control,
    expected: str = HOLDS,
) -> Claim:  # fmt: skip
    return Claim(
        name=f"q20-{name}", reference=reference, kind=kind, statement=statement, evidence=evidence, judge=judge,
        controls=controls, expected=expected,
    )  # fmt: skip


def _difference(right: Callable[[Any], Any], grid: np.ndarray = SMALL) -> Evidence:
    return _worst(lambda x: np.abs(np.expm1(x)), right, grid)


CLAIMS = (
    _fact(
        "exponential",
        "Fact 4.7, as printed",
        "bound",
        "|e^x - 1| ≤ 2x for |x| ≤ 0.1.",
        _difference(lambda x: 2 * x),
        at_most(0.0),
        Control("x ≥ 0", _difference(lambda x: 2 * x, SMALL[SMALL > 0]), HOLDS),
        expected=FAILS,
    ),
    _fact(
        "exponential-corrected",
        "Fact 4.7, erratum 11",
        "bound",
        "|e^x - 1| ≤ 2|x| for |x| ≤ 0.1.",
        _difference(lambda x: 2 * np.abs(x)),
        at_most(0.0),
        Control("≤ |x|", _difference(np.abs)),
    ),
    _fact(
        "cosh",
        "Fact 4.7",
        "bound",
        "|cosh x - 1| ≤ x² for |x| ≤ 0.1.",
        _worst(lambda x: np.abs(np.cosh(x) - 1), np.square, SMALL),
        at_most(0.0),
        Control("≤ x²/4", _worst(lambda x: np.abs(np.cosh(x) - 1), lambda x: x**2 / 4, SMALL)),
    ),
    _fact(
        "remainder",
        "Fact 4.7",
        "bound",
        "(e^x - 1 - x)/x² lies in [0.4837, 0.5171] for |x| ≤ 0.1.",
        _remainder(0.1),
        all_of(least=at_least(0.4837), largest=at_most(0.5171)),
        Control("|x| ≤ 0.2", _remainder(0.2)),
    ),
    _fact(
        "taylor",
        "Fact 4.4",
        "identity",
        "30 terms of the series of exp, cosh and sinh equal the functions on |x| ≤ 3, to 1e-12.",
        _series(1),
        equal(1e-12, relative=True),
        Control("cosh's terms for sinh", _series(0)),
    ),
    _fact(
        "cauchy",
        "Fact 4.5",
        "bound",
        "|<x, y>| ≤ ‖x‖ ‖y‖ in 200 cases, parallel vectors included.",
        _cauchy(1.0),
        at_most(SLACK),
        Control("right side times 0.9", _cauchy(0.9)),
    ),
    _fact(
        "norms",
        "Fact 4.6, erratum 11",
        "bound",
        "‖B‖ ≤ ‖B‖_F ≤ n max |B_ij| in 200 cases and for 11ᵀ.",
        _norms(1.0),
        all_of(spectral=at_most(SLACK), entries=at_most(SLACK)),
        Control("right sides times 0.9", _norms(0.9)),
    ),
    _fact(
        "quadratic-form",
        "Fact 4.6",
        "bound",
        "xᵀBx ≤ ‖x‖² ‖B‖ in 200 cases, the top eigenvector of a positive B included.",
        _quadratic(1.0),
        at_most(SLACK),
        Control("right side times 0.9", _quadratic(0.9)),
    ),
    _fact(
        "weyl",
        "Fact 4.6",
        "bound",
        "λ_min(A + E) ≥ λ_min(A) - ‖E‖ in 200 cases, E = -tI included.",
        _weyl(1.0),
        at_most(SLACK),
        Control("0.9 ‖E‖", _weyl(0.9)),
    ),
    _fact(
        "root",
        "Fact 4.7",
        "bound",
        "√(1 - x) ≤ 1 - x/2 on [0, 1].",
        _worst(lambda x: np.sqrt(1 - x), lambda x: 1 - x / 2, np.linspace(0, 1, 1001)),
        at_most(0.0),
        Control("≤ 1 - x", _worst(lambda x: np.sqrt(1 - x), lambda x: 1 - x, np.linspace(0, 1, 1001))),
    ),
    _fact(
        "geometric",
        "Fact 4.7",
        "identity",
        "Σ x^i = 1/(1 - x) on [0, 0.9], to 1e-12 with 2000 terms.",
        _geometric(0),
        equal(1e-12, relative=True),
        Control("sum from i = 1", _geometric(1)),
    ),
    _fact(
        "hoeffding",
        "Fact 4.9",
        "bound",
        "The exact two-sided tail of Bin(50, ½) is at most 2e^{-2t²/50}, t = 1, ..., 20.",
        _hoeffding(1.0),
        at_most(1.0),
        Control("exponent doubled", _hoeffding(2.0)),
    ),
    _fact(
        "bernstein",
        "Fact 4.8",
        "bound",
        "The exact upper tail of Bin(200, 0.1) is at most exp(-(t²/2)/(18 + 0.3t)), t = 1, ..., 20.",
        _bernstein(1.0),
        at_most(1.0),
        Control("exponent doubled", _bernstein(2.0)),
    ),
    _fact(
        "laurent-massart-tails",
        "Fact 4.10",
        "bound",
        "Pr[X - k ≥ 2√(kt) + 2t] and Pr[k - X ≥ 2√(kt)] are at most e^{-t} for X ~ χ²_k, k = 4, 10, 100.",
        _chi_square_tails(1.0),
        all_of(above=at_most(1.0), below=at_most(1.0)),
        Control("both deviations quartered", _chi_square_tails(0.25)),
    ),
    _fact(
        "laurent-massart",
        "Fact 4.10, corollary as printed",
        "bound",
        "Pr[|X - k| ≤ εk] ≤ δ for ε = 0.5, δ = 0.05, k = ⌈16ε^-2 ln(2/δ)⌉.",
        _chi_square_share(),
        at_most(0.05),
        Control("the complementary event", _chi_square_share(complement=True), HOLDS),
        expected=FAILS,
    ),
    _fact(
        "laurent-massart-corrected",
        "Fact 4.10, erratum 11",
        "bound",
        "The same probability is at least 1 - δ.",
        _chi_square_share(),
        at_least(0.95),
        Control("k = 4", _chi_square_share(4)),
    ),
)
