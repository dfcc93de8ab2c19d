"""First passage of sequences that grow like a power (Lemma E.10), and sequences of decaying increments (E.11)."""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float

import lemmata as lm

POWERS, SEQUENCES, ZETA = (2, 3), 200, 0.1
RATIO, FIRST = 2.0, 1e-3
"""c_2 / c_1, and η c_1 x_0^{q-1}, the first relative increment at the lower edge."""
NEAR, FAR = 1.05, 100.0
"""Least and largest v / x_0."""
CAP = 20_000
"""Steps after which a sequence counts as one that never arrives; at the lower edge the longest takes about 1000."""

DRAWS, STEPS, BLOCK = 100, 100_000, 1000
FACTORS, ROUNDING = (1.0, 0.5, 2.0), 1e-12


class Growth(NamedTuple):
    """x_{t+1} = x_t + η c x_t^q with c between c_1 and c_2 = 2 c_1, and its threshold v; c is in units of c_1."""

    power: int
    start: Float[np.ndarray, " sequence"]
    pace: Float[np.ndarray, " sequence"]
    """η c_1"""
    threshold: Float[np.ndarray, " sequence"]
    low: Float[np.ndarray, " sequence"]
    high: Float[np.ndarray, " sequence"]

    @property
    def upper(self) -> Float[np.ndarray, " sequence"]:
        """(1+ζ)/(ηc_1 x_0^{q-1}) + (1+ζ)^q (c_2/c_1) (ln(v/x_0)/ln(1+ζ) + 1)"""
        lead = (1 + ZETA) / (self.pace * self.start ** (self.power - 1))
        return lead + (1 + ZETA) ** self.power * RATIO * (self._stretches + 1)

    @property
    def lower(self) -> Float[np.ndarray, " sequence"]:
        """(x_0^{1-q} - v^{1-q}) / ((q-1) η c_2)"""
        less = 1 - self.power
        return (self.start**less - self.threshold**less) / ((self.power - 1) * RATIO * self.pace)

    @property
    def lower_printed(self) -> Float[np.ndarray, " sequence"]:
        """1/((1+ζ)^q ηc_2 x_0^{q-1}) - (1+ζ)^{1-q} (ln(v/x_0)/ln(1+ζ) + 1): the leading term knows no v."""
        lead = 1 / ((1 + ZETA) ** self.power * RATIO * self.pace * self.start ** (self.power - 1))
        return lead - (1 + ZETA) ** (1 - self.power) * (self._stretches + 1)

    @property
    def _stretches(self) -> Float[np.ndarray, " sequence"]:
        return np.log(self.threshold / self.start) / math.log(1 + ZETA)


def growths(seed: int, power: int) -> Growth:
    """200 sequences: a quarter at either edge, half anywhere between; every part has v/x_0 from 1.05 to 100."""
    start = 10 ** lm.generator(seed, "growth", str(power)).uniform(-1, 1, SEQUENCES)
    quarter = SEQUENCES // 4
    threshold = start * np.tile(np.geomspace(NEAR, FAR, quarter), 4)
    pace = FIRST / start ** (power - 1)
    low, high = np.ones(SEQUENCES), np.full(SEQUENCES, RATIO)
    low[quarter : 2 * quarter] = RATIO
    high[:quarter] = 1.0
    return Growth(power, start, pace, threshold, low, high)


def first_passages(growth: Growth, seed: int) -> Float[np.ndarray, " sequence"]:
    """The first t with x_t ≥ v; every increment is drawn anew. Sequences stay where they arrived."""
    rng = lm.generator(seed, "increments", str(growth.power))
    x = growth.start.copy()
    time = np.full(x.shape, math.inf)
    for t in range(1, CAP + 1):
        c = growth.low + (growth.high - growth.low) * rng.random(x.size)
        x = np.where(np.isinf(time), x + growth.pace * c * x**growth.power, x)
        time[np.isinf(time) & (x >= growth.threshold)] = t
        if np.isfinite(time).all():
            break
    return time


@lm.fact
def over_bound(
    bound: str, increment: float | None = None, far: bool = False, powers: Sequence[int] = POWERS, *, seed: int
) -> xr.DataArray:
    """T_v over a bound, at its worst over the sequences, for every q.

    `increment`: every one exactly that many ηc_1 x^q; `far`: v = 100 x_0.
    """
    worst = []
    for power in powers:
        growth = growths(seed, power)
        if increment is not None:
            growth = growth._replace(low=growth.low * 0 + increment, high=growth.high * 0 + increment)
        if far:
            growth = growth._replace(threshold=FAR * growth.start)
        ratio = first_passages(growth, seed) / getattr(growth, bound)
        worst.append(float(ratio.max() if bound == "upper" else ratio.min()))
    return xr.DataArray(worst, coords={"q": list(powers)})


class Violations(NamedTuple):
    """By how much x_t leaves its bounds at the worst step and draw, relative to the size of x."""

    below: float
    above: float


@functools.lru_cache(maxsize=2)
def _decaying(seed: int) -> dict[float, Violations]:
    """x_{t+1} = x_t + f c_1 e^{-c_2 x_t} over all steps, for the multiples f of the increments; the lemma has f = 1."""
    rng = lm.generator(seed, "decaying increments")
    first = 10 ** rng.uniform(-3, -1, DRAWS)  # c_1 c_2 e^{-c_2 x_0}
    c2 = 10 ** rng.uniform(-0.5, 0.5, DRAWS)
    x0 = rng.uniform(-2, 2, DRAWS)
    c1 = first * np.exp(c2 * x0) / c2
    factors = np.asarray(FACTORS)[:, None]
    x = np.tile(x0, (len(FACTORS), 1))
    below = above = np.full(x.shape, -np.inf)
    path = np.empty((BLOCK, *x.shape))
    for start in range(0, STEPS, BLOCK):
        for i in range(BLOCK):
            x = x + factors * c1 * np.exp(-c2 * x)
            path[i] = x
        t = np.arange(start + 1, start + BLOCK + 1)[:, None]
        low = (np.log(c1 * c2 * t + np.exp(c2 * x0)) / c2)[:, None]
        high = first / c2 + low
        size = np.maximum(np.abs(path), 1)
        below = np.maximum(below, ((low - path) / size).max(0))
        above = np.maximum(above, ((path - high) / size).max(0))
    return {f: Violations(float(below[k].max()), float(above[k].max())) for k, f in enumerate(FACTORS)}


@lm.fact
def left(side: str, factor: float = 1.0, *, seed: int) -> float:
    """By how much x_t leaves its bound on one side, relative to its size, with this multiple of the increments."""
    return getattr(_decaying(seed)[factor], side)


SEQUENCES_OF = (
    "200 sequences each for q = 2, 3, both edges included, ηc_1x_0^{q-1} = 0.001, c_2 = 2c_1, v/x_0 in [1.05, 100]"
)

CLAIMS = (
    lm.Claim("lem-e10-upper", "Lemma E.10", "bound")
    .states(f"""A sequence with increments between ηc_1x^q and ηc_2x^q passes v no later than the bound (ζ = 0.1):
        {SEQUENCES_OF}.""")
    .in_symbols(r"""T_v \le \frac{1+\zeta}{\eta
        c_1x_0^{q-1}}+(1+\zeta)^q\,\frac{c_2}{c_1}\left(\frac{\ln(v/x_0)}{\ln(1+\zeta)}+1\right)""")
    .judged(
        over_bound("upper"), lm.at_most(1.0), lm.Control("increments ¼ηc_1x^q, v = 100x_0", increment=0.25, far=True)
    ),
    lm.Claim("lem-e10-lower", "Lemma E.10, safe form (9.14)", "bound", corrects="lem-e10-lower-printed")
    .states(f"""A sequence with increments between ηc_1x^q and ηc_2x^q does not pass v earlier than at the largest
        continuous pace: {SEQUENCES_OF}.""")
    .in_symbols(r"T_v \ge \frac{x_0^{1-q}-v^{1-q}}{(q-1)\eta c_2}")
    .judged(over_bound("lower"), lm.at_least(1.0), lm.Control("increments 2ηc_2x^q", increment=2 * RATIO)),
    lm.Claim("lem-e10-lower-printed", "Lemma E.10, as printed (9.14)", "bound")
    .states("""As printed: a sequence with increments between ηc_1x^q and ηc_2x^q does not pass v earlier than a bound
        whose leading term does not know v (ζ = 0.1); it cannot hold where v is close to x_0.""")
    .in_symbols(r"""T_v \ge \frac{1}{(1+\zeta)^q\eta
        c_2x_0^{q-1}}-(1+\zeta)^{1-q}\left(\frac{\ln(v/x_0)}{\ln(1+\zeta)}+1\right)""")
    .judged(
        over_bound("lower_printed"),
        lm.at_least(1.0),
        lm.Control("q = 2, increments exactly ηc_2x², v = 100x_0", increment=RATIO, far=True, powers=(2,)),
        expected=lm.FAILS,
    ),
    lm.Claim("lem-e11-lower", "Lemma E.11", "bound")
    .states("""x_{t+1} = x_t + c_1 e^{-c_2 x_t} stays above its logarithm at each of 10^5 steps, in 100 draws with
        c_1c_2e^{-c_2x_0} ≤ 0.1.""")
    .in_symbols(r"x_t \ge \frac{1}{c_2}\ln(c_1c_2t+e^{c_2x_0})")
    .judged(left("below"), lm.at_most(ROUNDING), lm.Control("increments ½c_1e^{-c_2x}", factor=0.5)),
    lm.Claim("lem-e11-upper", "Lemma E.11", "bound")
    .states("""x_{t+1} = x_t + c_1 e^{-c_2 x_t} stays below its logarithm plus its first increment at each of 10^5
        steps, in 100 draws.""")
    .in_symbols(r"x_t \le c_1e^{-c_2x_0}+\frac{1}{c_2}\ln(c_1c_2t+e^{c_2x_0})")
    .judged(left("above"), lm.at_most(ROUNDING), lm.Control("increments 2c_1e^{-c_2x}", factor=2.0)),
)
