"""Reading a user's chain: K step matrices (.npz, or one .csv for each step), or a table of observed transitions."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import lemmata as lm
from lemmata.theories.cot.transitions import check_rows

COLUMNS = ("step", "from", "to", "count")


def read_chain(files: Sequence[str | Path]) -> tuple[np.ndarray, np.ndarray | None]:
    """The step matrices [K, M, M], and how often each transition was observed where the file is a table of counts."""
    paths = [Path(file) for file in files]
    for path in paths:
        if not path.is_file():
            raise lm.UserError(f"There is no file {path}.")
    if len(paths) == 1 and paths[0].suffix == ".npz":
        return _stack(_arrays(paths[0]), paths[0].name), None
    if len(paths) == 1 and (rows := _table(paths[0])):
        counts = count_transitions(rows, paths[0].name)
        return counts / counts.sum(axis=2, keepdims=True), counts
    return _stack([_matrix(path) for path in paths], "the chain"), None


def _arrays(path: Path) -> list[np.ndarray]:
    """The matrices of an .npz, in the order of their names; or the one array of all steps."""
    try:
        with np.load(path, allow_pickle=False) as content:
            arrays = [np.asarray(content[name], float) for name in sorted(content.files)]
    except (ValueError, OSError, EOFError) as error:
        raise lm.UserError(f"{path.name} is no .npz of numbers: {error}") from None
    return list(arrays[0]) if len(arrays) == 1 and arrays[0].ndim == 3 else arrays


def _matrix(path: Path) -> np.ndarray:
    try:
        return np.loadtxt(path, delimiter=",", ndmin=2)
    except (ValueError, UnicodeDecodeError) as error:
        raise lm.UserError(f"{path.name} is no table of numbers separated by commas: {error}") from None


def _stack(matrices: list[np.ndarray], name: str) -> np.ndarray:
    """Matrices of one chain, checked: square, of one size, rows that are probabilities."""
    if not matrices:
        raise lm.UserError(f"{name} has no step.")
    for k, matrix in enumerate(matrices, start=1):
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
            raise lm.UserError(f"Step {k} has shape {matrix.shape}; allowed is a square matrix of at least 2 rows.")
        if matrix.shape != matrices[0].shape:
            raise lm.UserError(f"Step {k} has shape {matrix.shape}, but step 1 has {matrices[0].shape}.")
    chain = np.stack(matrices)
    check_rows(chain)
    return chain


def _table(path: Path) -> list[dict[str, str]]:
    """The rows of a table of observed transitions; empty if the file is something else."""
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = csv.DictReader(stream)
            names = [name.strip().lower() for name in rows.fieldnames or ()]
            if set(COLUMNS) - set(names):
                return []
            return [dict(zip(names, row.values(), strict=False)) for row in rows]
    except UnicodeDecodeError:
        raise lm.UserError(f"{path.name} is no text.") from None


def count_transitions(rows: list[dict[str, str]], name: str) -> np.ndarray:
    """Counts [K, M, M] of a table with the columns step, from, to, count; steps and states are counted from 1."""
    try:
        found = np.array([[float(row[column]) for column in COLUMNS] for row in rows])
    except (TypeError, ValueError):
        raise lm.UserError(f"{name} has an entry that is not a number; its columns are {', '.join(COLUMNS)}.") from None
    places = found[:, :3]
    if (places != np.round(places)).any() or places.min() < 1 or found[:, 3].min() < 0:
        raise lm.UserError(f"{name} is not allowed: steps and states are counted from 1, and no count is negative.")
    step, start, end = places.astype(int).T - 1
    missing = sorted(set(range(step.max() + 1)) - set(step.tolist()))
    if missing:
        raise lm.UserError(f"{name} has no transition of step {missing[0] + 1}.")
    states = max(start.max(), end.max()) + 1
    counts = np.zeros((step.max() + 1, states, states))
    np.add.at(counts, (step, start, end), found[:, 3])
    empty = np.argwhere(counts.sum(axis=2) == 0)
    if empty.size:
        k, i = empty[0]
        raise lm.UserError(f"{name} has no transition of step {k + 1} from state {i + 1}.")
    return counts
