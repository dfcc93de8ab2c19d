"""Reading a user's chain: K step matrices (.npz, a .csv for each step, arrays), or a table of observed transitions."""

import re
import warnings
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lemmata as lm
from lemmata.datasets.tables import read_table
from lemmata.theories.cot import transitions

COLUMNS = ("step", "from", "to", "count")
MOST = 300
"""States of a chain, and steps of a table."""


class Chain(NamedTuple):
    """The step matrices [K, M, M], what the theory says of them, and where they come from.

    The right output of a step is the most probable one, which is how the paper reads a chain (7.12). `leads` is the
    primacy of every step and state [K, M], `whole` is B, all steps composed; `counts` says how often each transition
    was observed, where that is known.
    """

    matrices: np.ndarray
    maps: np.ndarray
    leads: np.ndarray
    numbers: transitions.Numbers
    whole: np.ndarray
    files: list[Path]
    source: str
    counts: np.ndarray | None = None


def make_chain(matrices: np.ndarray, files: list[Path], source: str, counts: np.ndarray | None = None) -> Chain:
    """A chain; a tie for the most probable output is refused, since then no output is the right one."""
    maps = matrices.argmax(axis=2)
    leads = transitions.leads(matrices, maps)
    if (tied := np.argwhere(leads <= 0)).size:
        step, state = tied[0] + 1
        several = "has no single most probable output, so none is the right one"
        raise lm.UserError(f"Step {step} from state {state} {several}.")
    numbers, whole = transitions.describe(matrices, maps), transitions.compose(matrices)
    return Chain(matrices, maps, leads, numbers, whole, files, source, counts)


def read_chain(data: Any) -> Chain:
    """A chain from what a user has: a path, several paths, or arrays."""
    given = [data] if isinstance(data, (str, Path)) else data
    if not (isinstance(given, (list, tuple)) and given and all(isinstance(each, (str, Path)) for each in given)):
        try:
            steps = [np.asarray(step).astype(float, casting="same_kind") for step in given]
        except (TypeError, ValueError):
            raise lm.UserError("A chain is a file, or K square matrices of numbers.") from None
        return make_chain(_stack(steps, "The chain"), [], "The chain")
    paths = [Path(each) for each in given]
    for path in paths:
        if not path.is_file():
            raise lm.UserError(f"There is no file {path}.")
    first, name = paths[0], paths[0].name if len(paths) == 1 else "The chain"
    if len(paths) > 1:
        steps = _in_order({str(path.with_suffix("")): _matrix(path) for path in paths}, name)
    elif first.suffix == ".npz":
        steps = _arrays(first)
    elif (counts := _counts(first)) is not None:
        return make_chain(counts / counts.sum(axis=2, keepdims=True), paths, name, counts)
    else:
        steps = [_matrix(first)]
    return make_chain(_stack(steps, name), paths, name)


def _in_order(steps: dict[str, np.ndarray], source: str) -> list[np.ndarray]:
    """The steps by the numbers that their names end in, if all have one of their own; else as they are given."""
    numbered = {int(found.group()): step for name, step in steps.items() if (found := re.search(r"\d+$", name))}
    if not len(numbered) == len(steps) > 1:
        return list(steps.values())
    _refuse_missing(set(numbered), source, min(1, *numbered))
    return [numbered[number] for number in sorted(numbered)]


def _refuse_missing(steps: set[int], source: str, first: int = 1) -> None:
    last = max(steps)
    if (missing := next((step for step in range(first, last) if step not in steps), None)) is not None:
        raise lm.UserError(f"{source} has no step {missing}; it goes up to step {last}.")


def _arrays(path: Path) -> list[np.ndarray]:
    """The matrices of an .npz by the numbers in their names, or in the order of their names; or one array of all."""
    try:
        with np.load(path, allow_pickle=False) as content:
            arrays = {name: content[name].astype(float, casting="same_kind") for name in sorted(content.files)}
    except (TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile):
        raise lm.UserError(f"{path.name} is no .npz of numbers.") from None
    steps = _in_order(arrays, path.name)
    return list(steps[0]) if len(steps) == 1 and steps[0].ndim == 3 else steps


def _matrix(path: Path) -> np.ndarray:
    try:
        with warnings.catch_warnings(action="error"):  # of a file without a number
            return np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8-sig")
    except (ValueError, UserWarning) as error:
        why = str(error).split(";")[0]
        raise lm.UserError(f"{path.name} is no table of numbers separated by commas: {why}.") from None


def _stack(matrices: list[np.ndarray], name: str) -> np.ndarray:
    """Matrices of one chain, checked: square, of one size, rows that are probabilities."""
    if not matrices:
        raise lm.UserError(f"{name} has no step.")
    for k, shape in enumerate(map(np.shape, matrices), start=1):
        if len(shape) != 2 or shape[0] != shape[1] or not 2 <= shape[0] <= MOST:
            raise lm.UserError(f"Step {k} has shape {shape}; allowed is a square matrix of 2 to {MOST} rows.")
        if shape != matrices[0].shape:
            raise lm.UserError(f"Step {k} has shape {shape}, but step 1 has {matrices[0].shape}.")
    transitions.check_rows(np.stack(matrices))
    return np.stack(matrices)


def _counts(path: Path) -> np.ndarray | None:
    """Counts [K, M, M] of a table of observed transitions; None if no column has a name of theirs."""
    import pandas as pd

    table = read_table(path).rename(columns=lambda column: str(column).strip().lower())
    if not set(table) & set(COLUMNS):
        return None
    if missing := [column for column in COLUMNS if column not in table]:
        raise lm.UserError(f"{path.name} has no column {missing[0]}; a table has {', '.join(COLUMNS)}.")
    if (table.index != np.arange(len(table))).any():
        raise lm.UserError(f"{path.name} has rows with more entries than columns.")
    if table.empty:
        raise lm.UserError(f"{path.name} has no transitions.")
    found = table[list(COLUMNS)].apply(pd.to_numeric, errors="coerce").to_numpy(float)
    if not np.isfinite(found).all():
        raise lm.UserError(f"{path.name} has an entry that is not a number; its columns are {', '.join(COLUMNS)}.")
    if (found[:, :3] % 1).any() or found[:, :3].min() < 1 or found[:, 3].min() < 0:
        raise lm.UserError(f"{path.name} is not allowed: steps and states count from 1, and no count is negative.")
    for most, what in ((found[:, 0].max(), "steps"), (found[:, 1:3].max(), "states")):
        if most > MOST:
            raise lm.UserError(f"{path.name} has {most:.10g} {what}; allowed are at most {MOST}.")
    step, start, end = found[:, :3].astype(int).T
    _refuse_missing(set(step.tolist()), path.name)
    states = max(start.max(), end.max())
    counts = np.zeros((step.max(), states, states))
    np.add.at(counts, (step - 1, start - 1, end - 1), found[:, 3])
    if (empty := np.argwhere(counts.sum(axis=2) == 0)).size:
        k, i = empty[0] + 1
        raise lm.UserError(f"{path.name} has no transition of step {k} from state {i}.")
    return counts
