"""What the theory says of a chain: for which inputs Condition 7.3.2 holds, how many examples CoT and ICL need, where it
is weakest. The right output of a step is the most probable one, which is how the paper reads a chain (7.12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.cot import plurality, transitions, voters

MOST = 3000
"""Voters for which a plurality is computed exactly; beyond, the Gaussian of the two leaders."""


@dataclass(frozen=True)
class Input:
    """One input of a chain: its path, whether Condition 7.3.2 holds, and how many examples both kinds need."""

    path: tuple[int, ...]
    condition: bool
    favourite: int
    step_primacy: tuple[float, ...]
    cot_examples: float
    icl_examples: float


@dataclass(frozen=True)
class Diagnosis:
    """A chain, its numbers and its inputs; the errors of both voters by length with their standard errors."""

    matrices: np.ndarray
    maps: np.ndarray
    numbers: transitions.Numbers
    inputs: tuple[Input, ...]
    weakest: tuple[int, int]
    lengths: np.ndarray
    cot_error: np.ndarray
    icl_error: np.ndarray
    prompts: int


def likely_maps(matrices: np.ndarray) -> np.ndarray:
    """f_k: the most probable output of every state; a tie for it is refused, since then no output is the right one."""
    maps = matrices.argmax(axis=2)
    for k, (matrix, step) in enumerate(zip(matrices, maps, strict=True), start=1):
        lead = transitions.primacy(matrix, step)
        if lead.min() <= 0:
            state = int(lead.argmin()) + 1
            raise lm.UserError(
                f"Step {k} from state {state} has no single most probable output, so none is the right one."
            )
    return maps


def vote_error(chances: np.ndarray, right: int, voters_count: int) -> float:
    """The probability that a plurality of so many votes is wrong: exact, or of the two leaders for very many."""
    if voters_count <= MOST:
        return plurality.plurality_error(chances, voters_count, right)
    second = np.delete(chances, right).max()
    p, rho = chances[right], 1 - second / chances[right]
    return float(plurality.pairwise_error(p, rho, voters_count)) if rho > 0 else 1.0


def needed_votes(chances: np.ndarray, right: int, error: float) -> float:
    """The fewest votes with at most this error, by bisection; inf where the right output does not lead."""
    if transitions.primacy(chances[None], np.array([right]))[0] <= transitions.TOLERANCE:
        return np.inf
    high = 1
    while vote_error(chances, right, high) > error:
        high *= 2
        if high > 2**22:
            return np.inf
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if vote_error(chances, right, middle) <= error else (middle, high)
    return float(high)


def needed_examples(matrices: np.ndarray, path: np.ndarray, fraction: float, error: float) -> float:
    """Examples of a CoT prompt such that every step errs in at most `error` (C10).

    About α' l Π A_j of l examples are still on the path at step k; others that come across it are left out, so that it
    is on the safe side.
    """
    needed, reaching = 0.0, fraction
    for matrix, start, end in zip(matrices, path[:-1], path[1:], strict=True):
        needed = max(needed, needed_votes(matrix[start], int(end), error) / reaching)
        reaching *= matrix[start, end]
    return float(np.ceil(needed))


def diagnose(
    matrices: np.ndarray,
    fraction: float = 0.8,
    error: float = 0.05,
    seed: int = 0,
    prompts: int = 4000,
    counts: np.ndarray | None = None,
) -> Diagnosis:
    """Everything about one chain: exact votes by input, and both ideal voters simulated by length."""
    for name, value in (("alpha'", fraction), ("error", error)):
        if not 0 < value <= 1:
            raise lm.UserError(f"{name} = {value:g} is not allowed: it is above 0 and at most 1.")
    maps = likely_maps(matrices)
    numbers, whole, right = (
        transitions.describe(matrices, maps),
        transitions.compose(matrices),
        transitions.answers(maps),
    )
    inputs = []
    for i in range(matrices.shape[1]):
        path = [i]
        for step in maps:
            path.append(int(step[path[-1]]))
        lead = [transitions.primacy(A, f)[state] for A, f, state in zip(matrices, maps, path[:-1], strict=True)]
        votes = needed_votes(whole[i], int(right[i]), error)
        inputs.append(
            Input(
                tuple(path),
                bool(numbers.condition[i]),
                int(whole[i].argmax()),
                tuple(float(value) for value in lead),
                needed_examples(matrices, np.asarray(path), fraction, error),
                float(np.ceil(votes / fraction)),
            )
        )
    leads = np.stack([transitions.primacy(A, f) for A, f in zip(matrices, maps, strict=True)])
    weakest = np.unravel_index(leads.argmin(), leads.shape)
    lengths = np.unique(np.round(np.geomspace(4, 1500, 14)).astype(int))
    rng = np.random.default_rng(seed)
    cot, icl = voters.errors_by_length(rng, matrices, maps, fraction, lengths, prompts)
    return Diagnosis(
        matrices, maps, numbers, tuple(inputs), (int(weakest[0]), int(weakest[1])), lengths, cot[:, -1], icl, prompts
    )


def quantities(found: Diagnosis) -> dict[str, Any]:
    """The theory's numbers, and a row for every input; states and steps are counted from 1."""
    rows = [
        {
            "input": i + 1,
            "answer": each.path[-1] + 1,
            "most probable answer": each.favourite + 1,
            "condition 7.3.2": each.condition,
            "examples for CoT": each.cot_examples,
            "examples for ICL": each.icl_examples if np.isfinite(each.icl_examples) else None,
        }
        for i, each in enumerate(found.inputs)
    ]
    return {
        "tau": found.numbers.trajectory,
        "rho": found.numbers.primacy,
        "tau_o": found.numbers.label_probability,
        "rho_o": found.numbers.label_primacy,
        "share of inputs with condition 7.3.2": float(found.numbers.condition.mean()),
        "limit of the ICL error": 1 - float(found.numbers.condition.mean()),
        "weakest step": found.weakest[0] + 1,
        "weakest state": found.weakest[1] + 1,
        "inputs": rows,
    }


def advice(found: Diagnosis) -> dict[str, Any]:
    """Whether examples should show their steps: ICL less CoT error (last step) at the longest simulated prompt."""
    cot, icl = found.cot_error[-1], found.icl_error[-1]
    spread = 1.96 * float(np.sqrt((cot * (1 - cot) + icl * (1 - icl)) / found.prompts))
    gain = float(icl - cot)
    does = "no difference" if abs(gain) <= spread else "follow" if gain > 0 else "avoid"
    failing = len(found.inputs) - int(found.numbers.condition.sum())
    text = f"Condition 7.3.2 fails for {failing} of {len(found.inputs)} inputs: " + (
        "their answers stay wrong without the steps, however many examples there are."
        if failing
        else "the steps only save examples."
    )
    return {
        "advice": "show the steps of the examples", "does": does, "gain": gain, "low": gain - spread,
        "high": gain + spread, "unit": f"error at {found.lengths[-1]} examples", "compared": ["ICL", "CoT"],
        "splits": 1, "text": text,
    }  # fmt: skip
