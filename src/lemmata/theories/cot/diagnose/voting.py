"""How many examples a chain needs: by the exact error of every vote (C10), and by simulation of both voters."""

import bisect
import functools
from typing import Any, NamedTuple

import numpy as np

import lemmata as lm
from lemmata.theories.cot import transitions, voters
from lemmata.theories.cot.transitions import images

VOTERS, STATES = 400, 30
"""Voters and outputs up to which a plurality is computed exactly; beyond, the rivals are taken one by one."""
BLOCKS = 10
"""Prompts are simulated in so many blocks, the unit of the intervals."""
LENGTHS = np.unique(np.round(np.geomspace(2, 1500, 16)).astype(int))


def vote_error(chances: np.ndarray, right: int, votes: int) -> float:
    """The probability that a plurality of so many votes is wrong: exact, or a bound by the sum over all rivals."""
    if votes <= VOTERS and len(chances) <= STATES:
        return voters.plurality_error(chances, votes, right)
    from scipy.special import ndtr

    p, rivals = chances[right], np.delete(chances, right)
    lead = (p - rivals) / np.sqrt(np.maximum(p + rivals - (p - rivals) ** 2, 1e-300))
    return float(min(ndtr(-np.sqrt(votes) * lead).sum(), 1.0))


def needed_votes(chances: np.ndarray, right: int, error: float) -> float:
    """The fewest votes with at most this error, by bisection; inf where the right output does not lead."""
    if transitions.primacy(chances[None], np.array([right]))[0] <= transitions.TOLERANCE:
        return np.inf
    votes = range(1, 2**22 + 1)
    found = bisect.bisect_left(votes, True, key=lambda n: vote_error(chances, right, n) <= error)
    return float(votes[found]) if found < len(votes) else np.inf


class Needs(NamedTuple):
    """Examples with which every vote for an input errs in at most the wanted share; inf: no number is enough."""

    cot: np.ndarray
    icl: np.ndarray


def needed_examples(system: Any, fraction: float, error: float) -> Needs:
    """Examples of a prompt by input. ICL, and the first step of CoT: exact. At step k about α' l Π A_j of l examples
    are still on the path (C10); others that come across it are left out."""

    matrices, maps = system

    @functools.cache
    def votes(k: int, state: int) -> float:
        return needed_votes(matrices[k, state], int(maps[k, state]), error)

    path, whole = images(maps), transitions.compose(matrices)
    cot = np.zeros(len(whole))
    for i in range(len(whole)):
        reaching = fraction
        for k, state in enumerate(int(at[i]) for at in path[:-1]):
            cot[i] = max(cot[i], np.ceil(votes(k, state) / reaching))
            reaching *= matrices[k, state, maps[k, state]]
    icl = [np.ceil(needed_votes(row, int(right), error) / fraction) for row, right in zip(whole, path[-1], strict=True)]
    return Needs(cot, np.array(icl))


class Simulated(NamedTuple):
    """Errors of the final answer by [length, block], both voters on the same prompts."""

    lengths: np.ndarray
    cot: np.ndarray
    icl: np.ndarray
    prompts: int

    def needed(self, who: str, error: float) -> lm.Estimate:
        """The length at which the error falls to the level, with the lengths of the ends of its interval."""
        shares = [lm.share_interval(row.sum() * self.prompts / BLOCKS, self.prompts) for row in getattr(self, who)]

        def crossed(end: str) -> float:
            at = voters.crossing(self.lengths, np.array([getattr(one, end) for one in shares]), error)
            return float(self.lengths[0]) if np.isnan(at) else at

        return lm.Estimate(crossed("value"), crossed("low"), crossed("high"))


def simulate_errors(
    system: Any, fraction: float, lengths: Any, prompts: int, rng: np.random.Generator, told: Any = lambda _: None
) -> Simulated:
    """Both ideal voters on as many fresh prompts of every length."""
    size, wrong = -(-prompts // BLOCKS), np.zeros((2, len(lengths), BLOCKS))
    for block in range(BLOCKS):
        cot, icl = voters.errors_by_length(rng, system, fraction, lengths, size)
        wrong[:, :, block] = cot[:, -1], icl
        told((block + 1) / BLOCKS)
    return Simulated(lengths, wrong[0], wrong[1], size * BLOCKS)
