"""The facts that the paper uses (Facts 4.4-4.10): series, norms, inequalities and tail bounds (Q20)."""

import math
from typing import Any

import numpy as np

import lemmata as lm

CASES = 200
MET = lm.at_most(1 + 1e-12)
"""Left side / right side is at most 1."""

SIDES = {
    "|e^x - 1|": lambda x: np.abs(np.expm1(x)),
    "|cosh x - 1|": lambda x: np.abs(np.cosh(x) - 1),
    "√(1 - x)": lambda x: np.sqrt(1 - x),
    "2x": lambda x: 2 * x,
    "2|x|": lambda x: 2 * np.abs(x),
    "|x|": np.abs,
    "x²": np.square,
    "x²/4": lambda x: x**2 / 4,
    "1 - x/2": lambda x: 1 - x / 2,
    "1 - x": lambda x: 1 - x,
}


@lm.fact
def excess(left: str, right: str, low: float = -0.1, high: float = 0.1, points: int = 2000) -> float:
    """The largest left side less right side over a grid."""
    x = np.linspace(low, high, points)
    return float(np.max(SIDES[left](x) - SIDES[right](x)))


@lm.fact
def rest(reach: float) -> dict[str, float]:
    """(e^x - 1 - x)/x² at its extremes over |x| ≤ reach."""
    x = np.linspace(-reach, reach, 2000)
    ratio = (np.expm1(x) - x) / x**2
    return {"least": float(ratio.min()), "largest": float(ratio.max())}


@lm.fact
def series(sinh_parity: int = 1) -> dict[str, Any]:
    """30 terms of exp, cosh and sinh against the functions on |x| ≤ 3; sinh has the odd terms."""
    x, k = np.linspace(-3, 3, 401), np.arange(30)
    orders = (k, 2 * k, 2 * k + sinh_parity)
    sums = [sum(x**order / math.factorial(order) for order in each.tolist()) for each in orders]
    return {"measured": np.stack(sums), "predicted": np.stack([np.exp(x), np.cosh(x), np.sinh(x)])}


@lm.fact
def cauchy(right: float = 1.0, seed: int = 0) -> float:
    """Largest |<x, y>| / (right ‖x‖ ‖y‖) over random and parallel pairs."""
    x, y = np.random.default_rng(seed).standard_normal((2, CASES, 7))
    y[: CASES // 4] = -3 * x[: CASES // 4]
    bound = right * np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    return float(np.max(np.abs(np.sum(x * y, 1)) / bound))


def _matrices(seed: int) -> list[np.ndarray]:
    """200 random 6 x 6 matrices, and 11ᵀ."""
    return [*np.random.default_rng(seed).standard_normal((CASES, 6, 6)), np.ones((6, 6))]


@lm.fact
def norms(right: float = 1.0, seed: int = 0) -> dict[str, float]:
    """Largest ‖B‖/‖B‖_F and ‖B‖_F/(n max |B_ij|), right sides times `right`."""
    matrices = _matrices(seed)
    spectral = max(np.linalg.norm(b, 2) / np.linalg.norm(b) for b in matrices)
    entries = max(np.linalg.norm(b) / (len(b) * np.abs(b).max()) for b in matrices)
    return {"spectral": float(spectral / right), "entries": float(entries / right)}


@lm.fact
def quadratic_form(right: float = 1.0, seed: int = 0) -> float:
    """Largest xᵀBx / (right ‖x‖² ‖B‖), the top eigenvector of a positive B included."""
    rng = np.random.default_rng(seed)
    ratios = []
    for b in _matrices(seed):
        x = rng.standard_normal(6)
        positive = b @ b.T
        top = np.linalg.eigh(positive)[1][:, -1]
        ratios += [x @ b @ x / (x @ x * np.linalg.norm(b, 2)), top @ positive @ top / np.linalg.norm(positive, 2)]
    return float(max(ratios) / right)


@lm.fact
def weyl(right: float = 1.0, seed: int = 0) -> float:
    """Largest (λ_min(A) - λ_min(A + E)) / (right ‖E‖), E = -tI included."""
    rng = np.random.default_rng(seed)
    ratios = []
    for _ in range(CASES):
        a, e = (m + m.T for m in rng.standard_normal((2, 6, 6)))
        for change in (e, -0.7 * np.eye(6)):
            drop = np.linalg.eigvalsh(a)[0] - np.linalg.eigvalsh(a + change)[0]
            ratios.append(drop / np.linalg.norm(change, 2))
    return float(max(ratios) / right)


@lm.fact
def geometric_series(first: int = 0) -> dict[str, Any]:
    """2000 terms of Σ x^i from i = first against 1/(1 - x)."""
    x = np.linspace(0, 0.9, 91)
    return {"measured": sum(x**i for i in range(first, 2000)), "predicted": 1 / (1 - x)}


@lm.fact
def binomial_tail(bound: str, exponent: float = 1.0) -> float:
    """Largest exact tail over its bound at t = 1, ..., 20: Hoeffding's of Bin(50, ½), e^{-exponent 2t²/50} on either
    side, or Bernstein's above Bin(200, 0.1), exp(-exponent (t²/2)/(18 + 0.9t/3))."""
    from scipy.stats import binom

    t = np.arange(1, 21)
    hoeffding, bernstein = (50, 0.5, 2 * t**2 / 50), (200, 0.1, (t**2 / 2) / (18 + 0.9 * t / 3))
    n, p, powers = {"Hoeffding": hoeffding, "Bernstein": bernstein}[bound]
    return float(np.max(binom.sf(n * p + t - 1, n, p) / np.exp(-exponent * powers)))


@lm.fact
def chi_square_tails(deviation: float = 1.0) -> dict[str, float]:
    """Largest exact tail of χ²_k beyond `deviation` times its deviation, over e^{-t}."""
    from scipy.stats import chi2

    k, t = np.meshgrid([4, 10, 100], [0.5, 1, 3, 6], indexing="ij")
    above = chi2.sf(k + deviation * (2 * np.sqrt(k * t) + 2 * t), k)
    below = chi2.cdf(k - deviation * 2 * np.sqrt(k * t), k)
    return {"above": float(np.max(above / np.exp(-t))), "below": float(np.max(below / np.exp(-t)))}


@lm.fact
def chi_square_share(degrees: int = math.ceil(16 / 0.25 * math.log(2 / 0.05)), complement: bool = False) -> float:
    """Pr[|X - k| ≤ k/2] for X ~ χ²_k, k = ⌈16 ε^-2 ln(2/δ)⌉ or given; or of the complement."""
    from scipy.stats import chi2

    inside = float(chi2.cdf(1.5 * degrees, degrees) - chi2.cdf(0.5 * degrees, degrees))
    return 1 - inside if complement else inside


LESS = lm.Control("right side times 0.9", right=0.9)
DOUBLED = lm.Control("exponent doubled", exponent=2.0)

CLAIMS = (
    lm.Claim("q20-exponential", "Fact 4.7, as printed", "bound")
    .states("|e^x - 1| ≤ 2x for |x| ≤ 0.1.")
    .in_symbols(r"|e^x-1| \le 2x \quad (|x|\le0.1)")
    .judged(excess("|e^x - 1|", "2x"), lm.at_most(0.0), lm.Control("x ≥ 0", low=0.0), expected=lm.FAILS),
    lm.Claim("q20-exponential-corrected", "Fact 4.7, corrected", "bound", corrects="q20-exponential")
    .states("|e^x - 1| ≤ 2|x| for |x| ≤ 0.1.")
    .in_symbols(r"|e^x-1| \le 2|x| \quad (|x|\le0.1)")
    .judged(excess("|e^x - 1|", "2|x|"), lm.at_most(0.0), lm.Control("≤ |x|", right="|x|")),
    lm.Claim("q20-cosh", "Fact 4.7", "bound")
    .states("|cosh x - 1| ≤ x² for |x| ≤ 0.1.")
    .in_symbols(r"|\cosh x-1| \le x^2 \quad (|x|\le0.1)")
    .judged(excess("|cosh x - 1|", "x²"), lm.at_most(0.0), lm.Control("≤ x²/4", right="x²/4")),
    lm.Claim("q20-remainder", "Fact 4.7", "bound")
    .states("(e^x - 1 - x)/x² lies in [0.4837, 0.5171] for |x| ≤ 0.1.")
    .in_symbols(r"0.4837 \le \frac{e^x-1-x}{x^2} \le 0.5171 \quad (|x|\le0.1)")
    .judged(
        rest(0.1), lm.all_of(least=lm.at_least(0.4837), largest=lm.at_most(0.5171)), lm.Control("|x| ≤ 0.2", reach=0.2)
    ),
    lm.Claim("q20-taylor", "Fact 4.4", "identity")
    .states("30 terms of the series of exp, cosh and sinh equal the functions on |x| ≤ 3, to 1e-12.")
    .in_symbols(r"""e^x = \sum_i\frac{x^i}{i!},\ \cosh x = \sum_i\frac{x^{2i}}{(2i)!},\ \sinh x =
        \sum_i\frac{x^{2i+1}}{(2i+1)!}""")
    .judged(series(), lm.equal(1e-12, relative=True), lm.Control("cosh's terms for sinh", sinh_parity=0)),
    lm.Claim("q20-cauchy", "Fact 4.5", "bound")
    .states("|<x, y>| ≤ ‖x‖ ‖y‖ in 200 cases, parallel vectors included.")
    .in_symbols(r"|\langle x,y\rangle| \le \lVert x\rVert\,\lVert y\rVert")
    .judged(cauchy(), MET, LESS),
    lm.Claim("q20-norms", "Fact 4.6", "bound")
    .states("‖B‖ ≤ ‖B‖_F ≤ n max |B_ij| in 200 cases and for 11ᵀ.")
    .in_symbols(r"\lVert B\rVert \le \lVert B\rVert_F \le n\max_{i,j}|B_{ij}|")
    .judged(norms(), lm.all_of(spectral=MET, entries=MET), lm.Control("right sides times 0.9", right=0.9)),
    lm.Claim("q20-quadratic-form", "Fact 4.6", "bound")
    .states("xᵀBx ≤ ‖x‖² ‖B‖ in 200 cases, the top eigenvector of a positive B included.")
    .in_symbols(r"x^\top Bx \le \lVert x\rVert^2\,\lVert B\rVert")
    .judged(quadratic_form(), MET, LESS),
    lm.Claim("q20-weyl", "Fact 4.6", "bound")
    .states("λ_min(A + E) ≥ λ_min(A) - ‖E‖ in 200 cases, E = -tI included.")
    .in_symbols(r"\lambda_{\min}(A+E) \ge \lambda_{\min}(A)-\lVert E\rVert")
    .judged(weyl(), MET, lm.Control("0.9 ‖E‖", right=0.9)),
    lm.Claim("q20-root", "Fact 4.7", "bound")
    .states("√(1 - x) ≤ 1 - x/2 on [0, 1].")
    .in_symbols(r"\sqrt{1-x} \le 1-\frac{x}{2} \quad (0\le x\le1)")
    .judged(
        excess("√(1 - x)", "1 - x/2", low=0, high=1, points=1001), lm.at_most(0.0), lm.Control("≤ 1 - x", right="1 - x")
    ),
    lm.Claim("q20-geometric", "Fact 4.7", "identity")
    .states("Σ x^i = 1/(1 - x) on [0, 0.9], to 1e-12 with 2000 terms.")
    .in_symbols(r"\sum_{i=0}^{\infty}x^i = \frac{1}{1-x} \quad (0\le x\le0.9)")
    .judged(geometric_series(), lm.equal(1e-12, relative=True), lm.Control("sum from i = 1", first=1)),
    lm.Claim("q20-hoeffding", "Fact 4.9", "bound")
    .states("The exact two-sided tail of Bin(50, ½) is at most 2e^{-2t²/50}, t = 1, ..., 20.")
    .in_symbols(r"\Pr(|X-25| \ge t) \le 2e^{-2t^2/50}, \quad X \sim \mathrm{Bin}(50,1/2)")
    .judged(binomial_tail("Hoeffding"), lm.at_most(1.0), DOUBLED),
    lm.Claim("q20-bernstein", "Fact 4.8", "bound")
    .states("The exact upper tail of Bin(200, 0.1) is at most exp(-(t²/2)/(18 + 0.3t)), t = 1, ..., 20.")
    .in_symbols(r"\Pr(X-20 \ge t) \le \exp\left(-\frac{t^2/2}{18+0.3t}\right), \quad X \sim \mathrm{Bin}(200,0.1)")
    .judged(binomial_tail("Bernstein"), lm.at_most(1.0), DOUBLED),
    lm.Claim("q20-laurent-massart-tails", "Fact 4.10", "bound")
    .states("Pr[X - k ≥ 2√(kt) + 2t] and Pr[k - X ≥ 2√(kt)] are at most e^{-t} for X ~ χ²_k, k = 4, 10, 100.")
    .in_symbols(r"\Pr(X-k \ge 2\sqrt{kt}+2t) \le e^{-t},\ \Pr(k-X \ge 2\sqrt{kt}) \le e^{-t}, \quad X \sim \chi^2_k")
    .judged(
        chi_square_tails(),
        lm.all_of(above=lm.at_most(1.0), below=lm.at_most(1.0)),
        lm.Control("both deviations quartered", deviation=0.25),
    ),
    lm.Claim("q20-laurent-massart", "Fact 4.10, corollary as printed", "bound")
    .states("As printed: Pr[|X - k| ≤ εk] ≤ δ for X ~ χ²_k, ε = 0.5, δ = 0.05, k = ⌈16ε^-2 ln(2/δ)⌉.")
    .in_symbols(r"""\Pr(|X-k| \le \epsilon k) \le \delta, \quad X \sim \chi^2_k,\ k =
        \lceil16\epsilon^{-2}\ln(2/\delta)\rceil""")
    .judged(
        chi_square_share(), lm.at_most(0.05), lm.Control("the complementary event", complement=True), expected=lm.FAILS
    ),
    lm.Claim("q20-laurent-massart-corrected", "Fact 4.10, corrected", "bound", corrects="q20-laurent-massart")
    .states("Corrected: Pr[|X - k| ≤ εk] ≥ 1 - δ for X ~ χ²_k, ε = 0.5, δ = 0.05, k = ⌈16ε^-2 ln(2/δ)⌉.")
    .in_symbols(r"""\Pr(|X-k| \le \epsilon k) \ge 1-\delta, \quad X \sim \chi^2_k,\ k =
        \lceil16\epsilon^{-2}\ln(2/\delta)\rceil""")
    .judged(chi_square_share(), lm.at_least(0.95), lm.Control("k = 4", degrees=4)),
)
