"""The ideal voters (3.3): what the trained model does when its attention is complete, without any training.

Chain of thought: at every step the plurality of what the examples did from the current pattern. In-context learning:
the plurality of the final outputs of the examples with the query's input. Ties are broken at random, and so is the
answer where nobody votes. Examples are exchangeable and the chain is Markov, so that counts by pattern are all that
matters: prompts of thousands of examples cost as much as short ones. How often one vote is wrong is also known exactly
(C10). Host work in NumPy.
"""

from typing import Any

import numpy as np

LENGTHS = np.round(5 * 1.35 ** np.arange(20)).astype(int)
"""Lengths at which the required length is looked for: 20 of them, from 5 by factors of 1.35."""
SPREAD = 10
"""Standard deviations of the right output's votes that are looked at: what lies beyond is below rounding."""


def matches(fraction: float, length: Any) -> Any:
    """⌈α' l⌉ examples have the query's input; less the rounding of a product that is whole."""
    return np.ceil(np.round(fraction * np.asarray(length, float), 9)).astype(int)


def plurality(rng: np.random.Generator, counts: np.ndarray) -> np.ndarray:
    """The most frequent entry of every row, ties at random."""
    return np.argmax(counts + 0.5 * rng.random(counts.shape), axis=-1)


def vote(
    rng: np.random.Generator, system: Any, length: int, matching: int, query: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Errors of both voters, 0 or 1, on a fresh prompt for every query [prompts, steps] and [prompts]: `matching` of
    its `length` examples have the query's input."""
    matrices, maps = system
    patterns, prompts = matrices.shape[1], len(query)
    rows = np.arange(prompts)
    mixture = (matrices[0].sum(axis=0) - matrices[0]) / (patterns - 1)  # first outputs of the other examples
    mine = rng.multinomial(matching, _rows(matrices[0][query]))
    others = rng.multinomial(length - matching, _rows(mixture[query]))
    chosen, right = plurality(rng, mine), maps[0][query]
    wrong = [chosen != right]
    for matrix, step in zip(matrices[1:], maps[1:], strict=True):
        from_mine, from_others = (rng.multinomial(counts, _rows(matrix)) for counts in (mine, others))
        chosen = plurality(rng, from_mine[rows, chosen] + from_others[rows, chosen])
        right = step[right]
        wrong.append(chosen != right)
        mine, others = from_mine.sum(axis=1), from_others.sum(axis=1)
    return np.stack(wrong, axis=1) * 1.0, (plurality(rng, mine) != right) * 1.0


def _rows(rows: np.ndarray) -> np.ndarray:
    """Rows that sum to one to the last bit, as NumPy wants them."""
    return rows / rows.sum(axis=-1, keepdims=True)


def errors_by_length(
    rng: np.random.Generator, system: Any, fraction: float, lengths: np.ndarray, prompts: int, stop: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Error of every CoT step, and of ICL, of a system (matrices, maps) at every length, all inputs alike often.

    From the first mean CoT error below `stop` on: NaN.
    """
    steps, patterns, _ = system[0].shape
    cot, icl = np.full((len(lengths), steps), np.nan), np.full(len(lengths), np.nan)
    for i, length in enumerate(lengths):
        query = rng.integers(patterns, size=prompts)
        wrong, wrong_icl = vote(rng, system, int(length), int(matches(fraction, length)), query)
        cot[i], icl[i] = wrong.mean(axis=0), wrong_icl.mean()
        if cot[i].mean() < stop:
            break
    return cot, icl


def crossing(places: np.ndarray, values: np.ndarray, level: float, logs: bool = True) -> float:
    """Where falling values reach a level, interpolated between places (in log-log); inf: never, NaN: before all."""
    below = np.flatnonzero(values <= level)
    if not below.size or below[0] == 0:
        return np.nan if below.size else np.inf
    x, y = (each[below[0] - 1 : below[0] + 1][::-1] for each in (places, values))
    if logs and x[1] > 0:
        return float(np.exp(np.interp(np.log(level), np.log(np.maximum(y, 1e-6)), np.log(x))))
    return float(np.interp(level, y, x))


def plurality_error(chances: np.ndarray, voters: int, right: int = 0) -> float:
    """The probability that `right` does not win the plurality of so many votes with these chances, ties at random.

    Exact: multinomial counts are independent Poisson counts given their sum; a tie with t others is won with
    probability 1/(t+1) = ∫ y^t dy, and the sum over all counts is a coefficient of a product of polynomials, taken by
    fast Fourier transforms.
    """
    n, p = voters, float(chances[right])
    if n == 0:
        return 1 - 1 / len(chances)
    reach = SPREAD * (np.sqrt(n * p * (1 - p)) + 1)
    own = np.arange(max(0, int(n * p - reach)), min(n, int(n * p + reach)) + 1)
    counts, points = np.arange(n + 1), n + 64
    fewer, as_many = counts < own[:, None], counts == own[:, None]
    kinds, many = np.unique(np.delete(chances, right), return_counts=True)
    nodes, weights = np.polynomial.legendre.leggauss(len(chances) // 2 + 1)
    won = 0.0
    for y, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        product = np.ones((len(own), points // 2 + 1), complex)
        for chance, times in zip(kinds, many, strict=True):  # fewer votes than `right`, or as many with weight y
            product *= np.fft.rfft(_poisson(counts, n * chance) * (fewer + y * as_many), points, axis=1) ** times
        others = np.fft.irfft(product, points, axis=1)[np.arange(len(own)), n - own]  # all other votes together
        won += weight * float(_poisson(own, n * p) @ others)
    return float(np.clip(1 - won / _poisson(n, n), 0.0, 1.0))


def _poisson(counts: Any, mean: float) -> Any:
    """The chances of these counts: e^-mean mean^count / count!"""
    from scipy.special import gammaln, xlogy  # its `stats` take four times as long to import

    return np.exp(xlogy(counts, mean) - gammaln(np.asarray(counts) + 1) - mean)


def pairwise_error(p: Any, rho: Any, voters: Any) -> Any:
    """Φ(-√n ρp / √((2-ρ)p - ρ²p²)): the right output against the runner-up alone (C10)."""
    from scipy.special import ndtr

    p, rho = np.asarray(p, float), np.asarray(rho, float)
    return ndtr(-np.sqrt(voters) * rho * p / np.sqrt((2 - rho) * p - (rho * p) ** 2))
