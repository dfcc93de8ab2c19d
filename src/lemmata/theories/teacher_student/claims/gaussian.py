"""Gaussian expectations in closed form (Lemmas E.1 to E.7), the bounds on them, and two inequalities (E.8, E.9).

Every expectation is E[u σ(v) σ'(w)] with u, v, w sums of the independent x_1 ~ N(0, a), x_2 ~ N(0, b), x_3 ~ N(0, c).
It is measured twice, neither time through the closed form. By quadrature: in the plane of v and w, where the rest of u
has mean zero, the integrand is r² times a function of the angle alone and E[r²] = 2, so that the angle is integrated by
Gauss and Legendre between the four kinks of σ and σ', to rounding. By Monte Carlo: 10^6 draws of the three normals, one
sample for all variances, slopes and lemmas. These comparisons at four standard errors are thereby strongly dependent:
a false alarm anywhere is less likely than the 2.6 % of as many independent ones.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float

import lemmata as lm
from lemmata.theories.teacher_student import gaussian as forms

SLOPES, BENT = (0.0, 0.1, 1.0), (0.0, 0.1)
"""κ, and those at which the angle counts: at κ = 1 it has no weight."""
DRAWS, CASES, NODES, ROUNDING = 20, 2000, 24, 1e-12
SAMPLES, BLOCK = 1_000_000, 50_000

Variances = Float[np.ndarray, "draw 3"]
Formula = Callable[[Any, Any, Any, float], Any]
AGREES = lm.all_of(quadrature=lm.equal(1e-8), monte_carlo=lm.at_most(4.0))
BOUNDED = {
    "e3": r"""F \le a_\kappa a, \quad
        F \ge \frac{(1+\kappa)^2a}{4}+\frac{(1-\kappa)^2a\sqrt{ab}}{2\pi(a+b)}, \quad
        F \ge a_\kappa a-\frac{(1-\kappa)^2b\sqrt{ab}}{2\pi(a+b)}, \quad
        F = \mathbb{E}[x_1\,\sigma(x_1)\,\sigma'(x_1+x_2)]""",
    "e5": r"""\max\left\{a_\kappa a,\,\frac{(1+\kappa)^2a}{4}+\frac{(1-\kappa)^2\sqrt{ab}}{2\pi}\right\} \le F_3 \le
        a_\kappa a+\frac{(1-\kappa)^2b\sqrt{ab}}{2\pi(a+b)} \le a_\kappa a+\frac{(1-\kappa)^2b}{4\pi}""",
    "e6": r"""F_4 \le a_\kappa a, \quad
        F_4 \ge \frac{(1+\kappa)^2a}{4}+\frac{(1-\kappa)^2a\sqrt{(a+b)c}}{2\pi(a+b+c)}, \quad
        F_4 \ge a_\kappa a-\frac{(1-\kappa)^2ac^{3/2}}{2\pi\sqrt{a+b}\,(a+b+c)}""",
}
"""The bounds of the lemmas that have some, in LaTeX."""


class Expectation(NamedTuple):
    """E[u σ(v) σ'(w)]: which of x_1, x_2, x_3 each sum has, and the closed form in (a, b, c, κ)."""

    factor: tuple[int, int, int]
    activated: tuple[int, int, int]
    sloped: tuple[int, int, int]
    closed: Formula

    @property
    def words(self) -> str:
        """The expectation as it is written."""
        u, v, w = ("+".join(f"x_{i + 1}" for i in range(3) if which[i]) for which in self[:3])
        return f"E[{f'({u})' if '+' in u else u} σ({v}) σ'({w})]"


ONE, TWO, PAIR, ALL = (1, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 1)
EXPECTATIONS = {
    "e1": Expectation(ONE, ONE, ONE, lambda a, b, c, slope: forms.f1(a, slope)),
    "e2": Expectation(ONE, PAIR, PAIR, lambda a, b, c, slope: forms.f2(a, b, slope)),
    "e3": Expectation(ONE, ONE, PAIR, lambda a, b, c, slope: forms.f3_own(a, b, slope)),
    "e4": Expectation(TWO, ONE, PAIR, lambda a, b, c, slope: forms.f3_other(a, b, slope)),
    "e5": Expectation(PAIR, ONE, PAIR, lambda a, b, c, slope: forms.f3(a, b, slope)),
    "e6": Expectation(ONE, PAIR, ALL, forms.f4),
    "e7": Expectation(TWO, ONE, ALL, forms.f5),
}
FORMULAS = {
    "e1": r"\frac{1+\kappa^2}{2}a",
    "e2": r"\frac{1+\kappa^2}{2}a",
    "e3": r"\frac{(1+\kappa)^2a}{4}+\frac{(1-\kappa)^2a}{2\pi}\left(\arctan\sqrt{a/b}+\frac{\sqrt{ab}}{a+b}\right)",
    "e4": r"\frac{(1-\kappa)^2b\sqrt{ab}}{2\pi(a+b)}",
    "e5": r"\frac{(1+\kappa)^2a}{4}+\frac{(1-\kappa)^2}{2\pi}(a\arctan\sqrt{a/b}+\sqrt{ab})",
    "e6": r"\frac{(1+\kappa)^2a}{4}+\frac{(1-\kappa)^2a}{2\pi}"
    r"\left(\arctan\sqrt{(a+b)/c}+\frac{\sqrt{(a+b)c}}{a+b+c}\right)",
    "e7": r"\frac{(1-\kappa)^2b\sqrt{a(b+c)}}{2\pi(a+b+c)}",
}
"""The closed forms, in LaTeX."""


def draw_variances(seed: int, purpose: str, count: int, reach: float) -> Variances:
    """Log-uniform variances in [1/reach, reach]."""
    return reach ** lm.generator(seed, purpose).uniform(-1, 1, (count, 3))


def quadrature(what: Expectation, variances: Variances, slope: float) -> Float[np.ndarray, " draw"]:
    """E[u σ(v) σ'(w)] = (1/π) ∫ of u σ(v) σ'(w) over the unit circle in the plane of v and w."""
    scale = np.sqrt(variances)
    u, v, w = (scale * which for which in (what.factor, what.activated, what.sloped))
    length = np.linalg.norm(v, axis=1, keepdims=True)
    first = v / length
    across = w - np.sum(w * first, 1, keepdims=True) * first
    reach = np.linalg.norm(across, axis=1, keepdims=True)
    second = across / np.where(reach > 0, reach, 1)  # where w is along v, any direction across it will do
    turn = np.arctan2(reach, np.sum(w * first, 1, keepdims=True))
    kinks = np.sort(np.concatenate([turn * i + math.pi * half for i in (0, 1) for half in (-0.5, 0.5)], 1) % math.tau)
    ends = np.concatenate([kinks, kinks[:, :1] + math.tau], 1)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half_length = np.diff(ends)[..., None] / 2  # (draw, piece, 1)
    angle = ends[:, :-1, None] + half_length * (1 + nodes)
    cosine, sine = np.cos(angle), np.sin(angle)
    of_factor = [np.sum(u * axis, 1)[:, None, None] for axis in (first, second)]
    bent = np.where(cosine < 0, slope, 1.0) * np.where(np.cos(angle - turn[..., None]) < 0, slope, 1.0)
    values = (of_factor[0] * cosine + of_factor[1] * sine) * length[..., None] * cosine * bent
    return np.sum(half_length * weights * values, (1, 2)) / math.pi


@functools.lru_cache(maxsize=2)
def _sample_sums(seed: int) -> dict[str, Float[np.ndarray, "2 draw 3"]]:
    """Sums over the sample of uv and of (uv)², by how many of v and w are negative: u σ(v) σ'(w) = uv κ^that."""
    variances = draw_variances(seed, "lemma variances", DRAWS, 10.0)
    normals = lm.generator(seed, "lemma sample")
    sums = {name: np.zeros((2, DRAWS, 3)) for name in EXPECTATIONS}
    for _ in range(SAMPLES // BLOCK):
        z = normals.standard_normal((3, BLOCK))
        for i, scale in enumerate(np.sqrt(variances)):
            x1, x2, x3 = z * scale[:, None]
            values = {ONE: x1, TWO: x2, PAIR: x1 + x2, ALL: x1 + x2 + x3}
            below = {which: (value < 0).astype(np.intp) for which, value in values.items()}
            for name, what in EXPECTATIONS.items():
                product = values[what.factor] * values[what.activated]
                negative = below[what.activated] + below[what.sloped]
                sums[name][0, i] += np.bincount(negative, product, 3)
                sums[name][1, i] += np.bincount(negative, product**2, 3)
    return sums


def monte_carlo(name: str, seed: int, slope: float) -> tuple[Float[np.ndarray, " draw"], Float[np.ndarray, " draw"]]:
    """Mean of u σ(v) σ'(w) over the sample, and its standard error."""
    total, square = _sample_sums(seed)[name]
    power = slope ** np.arange(3)
    mean = total @ power / SAMPLES
    return mean, np.sqrt((square @ power**2 / SAMPLES - mean**2) / SAMPLES)


def formula_of(name: str, form: str) -> Formula:
    """A closed form as it is ("closed"), or wrong.

    "printed": the constant (1+κ)²/2 of the leaky case (9.8). "inverted": the arctangent of E.3, E.5 or E.6 inverted,
    arctan(1/x) = π/2 - arctan x. "negative": -κ for κ.
    """
    closed = EXPECTATIONS[name].closed

    def formula(a: Any, b: Any, c: Any, slope: float) -> Any:
        if form == "printed":
            return (1 + slope) ** 2 / 2 * a
        if form == "inverted":
            angle = np.arctan(np.sqrt((a + b) / c if name == "e6" else a / b))
            return closed(a, b, c, slope) + forms.angle_part(slope) * a * (math.pi / 2 - 2 * angle)
        return closed(a, b, c, -slope if form == "negative" else slope)

    return formula


@lm.fact
def compared(name: str, slopes: Sequence[float] = SLOPES, form: str = "closed", *, seed: int) -> dict[str, Any]:
    """A formula against quadrature and, in standard errors, Monte Carlo."""
    variances = draw_variances(seed, "lemma variances", DRAWS, 10.0)
    a, b, c = variances.T
    predicted = np.stack([formula_of(name, form)(a, b, c, slope) for slope in slopes])
    measured = np.stack([quadrature(EXPECTATIONS[name], variances, slope) for slope in slopes])
    means, errors = np.stack([monte_carlo(name, seed, slope) for slope in slopes], 1)
    away = xr.DataArray(np.max(np.abs(means - predicted) / errors, 1), coords={"κ": list(slopes)})
    return {"quadrature": {"measured": measured, "predicted": predicted}, "monte_carlo": away}


def closed_form(name: str, control: lm.Control) -> lm.Claim:
    """A closed form is that of its lemma."""
    what = EXPECTATIONS[name].words
    left = what.replace("E", r"\mathbb{E}", 1).replace(" σ", r"\,\sigma")
    return (
        lm.Claim(f"lem-{name}-closed-form", f"Lemma E.{name[1:]}", "identity")
        .states(f"""The closed form of {what}, x_1, x_2, x_3 centred normals of variances a, b, c: against
            quadrature to 1e-8 and against 10^6 draws within 4 standard errors, for κ = 0, 0.1, 1 and 20 draws of the
            variances.""")
        .in_symbols(f"{left} = {FORMULAS[name]}")
        .judged(compared(name), AGREES, control)
    )


def pairs_around(name: str, value: Any, a: Any, b: Any, c: Any, slope: float) -> list[tuple[Any, Any]]:
    """The bounds of Lemma E.3, E.5 or E.6 on a value."""
    whole, even, turn = forms.mean_square_slope(slope) * a, forms.even_part(slope) * a, forms.angle_part(slope)
    if name == "e3":
        part = turn * np.sqrt(a * b) / (a + b)
        return [(even + part * a, value), (whole - part * b, value), (value, whole)]
    if name == "e5":
        above = whole + turn * b * np.sqrt(a * b) / (a + b)
        return [(whole, value), (even + turn * np.sqrt(a * b), value), (value, above), (above, whole + turn * b / 2)]
    part = turn * a / (a + b + c)
    low = even + part * np.sqrt((a + b) * c)
    return [(low, value), (whole - part * c**1.5 / np.sqrt(a + b), value), (value, whole)]


def excess_of(pairs: list[tuple[Any, Any]]) -> float:
    """By how much a smaller side exceeds the larger one, relative to that: at most 0 where the order holds."""
    return float(max(np.max((small - large) / np.abs(large)) for small, large in pairs))


@lm.fact
def violation(name: str, form: str = "quadrature", *, seed: int) -> xr.DataArray:
    """The worst violation of the bounds on the expectation by quadrature, or on a formula in its place."""
    variances = draw_variances(seed, "bound variances", CASES, 100.0)
    a, b, c = variances.T

    def worst(slope: float) -> float:
        if form == "quadrature":
            value = quadrature(EXPECTATIONS[name], variances, slope)
        else:
            value = formula_of(name, form)(a, b, c, slope)
        return excess_of(pairs_around(name, value, a, b, c, slope))

    return xr.DataArray([worst(slope) for slope in BENT], coords={"κ": list(BENT)})


def bounds(name: str) -> lm.Claim:
    """The bounds of a lemma hold; those of E.5 stand beside another expectation in the paper (9.14)."""
    reference = f"Lemma E.{name[1:]}, bounds" + (" (9.14)" if name == "e5" else "")
    control = lm.Control("arctangent of the inverse in the bounded quantity", form="inverted")
    return (
        lm.Claim(f"lem-{name}b-bounds", reference, "bound")
        .states(f"""The bounds on {EXPECTATIONS[name].words}, taken by quadrature, hold in 2000 draws of the variances
            for κ = 0 and 0.1, to a relative 1e-12.""")
        .in_symbols(BOUNDED[name])
        .judged(violation(name), lm.at_most(ROUNDING), control)
    )


@lm.fact
def fraction(name: str, correction: float = 1.0, *, seed: int) -> float:
    """The worst violation of E.8 or of E.9 (a > b) with this multiple of the correction term."""
    a, b, c = draw_variances(seed, "fractions", CASES, 100.0).T
    if name == "e8":
        return excess_of([(c / a - correction * b * c / a**2, c / (a + b))])
    a = a + b
    return excess_of([(c / (a - b), c / a + correction * b * c / (a - b) ** 2)])


def inequality(name: str, words: str, formula: str) -> lm.Claim:
    """An inequality of fractions holds."""
    return (
        lm.Claim(f"lem-{name}-inequality", f"Lemma E.{name[1:]}", "bound")
        .states(f"{words}, without a violation in 2000 draws.")
        .in_symbols(formula)
        .judged(fraction(name), lm.at_most(ROUNDING), lm.Control("correction term halved", correction=0.5))
    )


PRINTED = lm.Control("constant (1+κ)²/2, κ = 0.1", form="printed", slopes=(0.1,))
INVERSE = lm.Control("arctangent of the inverse, κ = 0 and 0.1", form="inverted", slopes=BENT)
NEGATIVE = lm.Control("-κ for κ, κ = 0.1", form="negative", slopes=(0.1,))

CLAIMS = (
    closed_form("e1", PRINTED),
    closed_form("e2", PRINTED),
    lm.Claim("lem-e1-leaky-constant", "Lemma E.1, leaky case as printed (9.8)", "identity")
    .states("E[x_1 σ(x_1) σ'(x_1)] = (1+κ)²/2 a at κ = 0.1; the right constant is (1+κ²)/2.")
    .in_symbols(r"\mathbb{E}[x_1\sigma(x_1)\sigma'(x_1)] = \frac{(1+\kappa)^2}{2}a")
    .judged(compared("e1", (0.1,), "printed"), AGREES, lm.Control("κ = 0", slopes=(0.0,)), expected=lm.FAILS),
    *(closed_form(name, INVERSE) for name in ("e3", "e5", "e6")),
    *(closed_form(name, NEGATIVE) for name in ("e4", "e7")),
    *map(bounds, BOUNDED),
    inequality("e8", "c/(a+b) ≥ c/a - bc/a² for positive a, b, c", r"\frac{c}{a+b} \ge \frac{c}{a}-\frac{bc}{a^2}"),
    inequality(
        "e9", "c/(a-b) ≤ c/a + bc/(a-b)² for a > b > 0, c > 0", r"\frac{c}{a-b} \le \frac{c}{a}+\frac{bc}{(a-b)^2}"
    ),
)
