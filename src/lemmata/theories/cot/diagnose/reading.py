"""Reading a user's chain: K step matrices (.npz, a .csv for each step, arrays), or a table of observed transitions."""

import csv
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.cot import transitions

COLUMNS = ("step", "from", "to", "count")


@dataclass(frozen=True)
class Chain:
    """The step matrices [K, M, M], how often each transition was observed where that is known, and the files.

    The right output of a step is the most probable one, which is how the paper reads a chain (7.12).
    """

    matrices: np.ndarray
    counts: np.ndarray | None
    files: list[Path]
    source: str

    @cached_property
    def maps(self) -> np.ndarray:
        """f_k; a tie for the most probable output is refused, since then no output is the right one."""
        maps = self.matrices.argmax(axis=2)
        if (tied := np.argwhere(transitions.leads(self.matrices, maps) <= 0)).size:
            step, state = tied[0] + 1
            several = "has no single most probable output, so none is the right one"
            raise lm.UserError(f"Step {step} from state {state} {several}.")
        return maps

    @cached_property
    def leads(self) -> np.ndarray:
        """The primacy of every step and state [K, M]."""
        return transitions.leads(self.matrices, self.maps)

    @cached_property
    def numbers(self) -> transitions.Numbers:
        """τ, ρ, τ_o, ρ_o, and Condition 7.3.2 by input."""
        return transitions.describe(self.matrices, self.maps)

    @cached_property
    def whole(self) -> np.ndarray:
        """B: all steps composed."""
        return transitions.compose(self.matrices)


def read_chain(data: Any) -> Chain:
    """A chain from what a user has: a path, several paths, or arrays."""
    given = [data] if isinstance(data, (str, Path)) else data
    if not (isinstance(given, (list, tuple)) and given and all(isinstance(each, (str, Path)) for each in given)):
        try:
            steps = [np.asarray(step, float) for step in given]
        except (TypeError, ValueError):
            raise lm.UserError("A chain is a file, or K square matrices of numbers.") from None
        return Chain(_stack(steps, "the chain"), None, [], "the chain")
    paths = [Path(each) for each in given]
    for path in paths:
        if not path.is_file():
            raise lm.UserError(f"There is no file {path}.")
    first, name = paths[0], paths[0].name if len(paths) == 1 else "the chain"
    if len(paths) == 1 and first.suffix == ".npz":
        return Chain(_stack(_arrays(first), name), None, paths, name)
    if len(paths) == 1 and (rows := _table(first)) is not None:
        counts = count_transitions(rows, name)
        return Chain(counts / counts.sum(axis=2, keepdims=True), counts, paths, name)
    return Chain(_stack([_matrix(path) for path in paths], name), None, paths, name)


def _arrays(path: Path) -> list[np.ndarray]:
    """The matrices of an .npz by the numbers in their names, or in the order of their names; or one array of all."""
    try:
        with np.load(path, allow_pickle=False) as content:
            arrays = {name: np.asarray(content[name], float) for name in sorted(content.files)}
    except (ValueError, OSError, EOFError) as error:
        raise lm.UserError(f"{path.name} is no .npz of numbers: {error}") from None
    numbered = {int(found.group()): arrays[name] for name in arrays if (found := re.search(r"\d+$", name))}
    steps = list(arrays.values())
    if len(numbered) == len(steps) > 1:
        steps = [numbered[number] for number in sorted(numbered)]
        _refuse_missing({number - min(numbered) for number in numbered}, path.name, min(numbered))
    return list(steps[0]) if len(steps) == 1 and steps[0].ndim == 3 else steps


def _refuse_missing(steps: set[int], name: str, first: int = 1) -> None:
    missing = sorted(set(range(max(steps) + 1)) - steps)
    if missing:
        raise lm.UserError(f"{name} has no step {missing[0] + first}; it goes up to step {max(steps) + first}.")


def _matrix(path: Path) -> np.ndarray:
    try:
        return np.loadtxt(path, delimiter=",", ndmin=2)
    except (ValueError, UnicodeDecodeError) as error:
        raise lm.UserError(f"{path.name} is no table of numbers separated by commas: {error}") from None


def _stack(matrices: list[np.ndarray], name: str) -> np.ndarray:
    """Matrices of one chain, checked: square, of one size, rows that are probabilities."""
    if not matrices:
        raise lm.UserError(f"{name} has no step.")
    first = matrices[0].shape
    for k, shape in enumerate((matrix.shape for matrix in matrices), start=1):
        if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 2:
            raise lm.UserError(f"Step {k} has shape {shape}; allowed is a square matrix of at least 2 rows.")
        if shape != first:
            raise lm.UserError(f"Step {k} has shape {shape}, but step 1 has {first}.")
    transitions.check_rows(np.stack(matrices))
    return np.stack(matrices)


def _table(path: Path) -> list[dict[str, str]] | None:
    """The rows of a table of observed transitions; None if the file is something else."""
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = csv.DictReader(stream)
            names = [name.strip().lower() for name in rows.fieldnames or ()]
            if not set(names) & set(COLUMNS):
                return None
            missing = [name for name in COLUMNS if name not in names]
            if missing:
                raise lm.UserError(f"{path.name} has no column {missing[0]}; a table has {', '.join(COLUMNS)}.")
            return [dict(zip(names, row.values(), strict=False)) for row in rows]
    except UnicodeDecodeError:
        raise lm.UserError(f"{path.name} is no text.") from None


def count_transitions(rows: list[dict[str, str]], name: str) -> np.ndarray:
    """Counts [K, M, M] of a table with the columns step, from, to, count; steps and states are counted from 1."""
    if not rows:
        raise lm.UserError(f"{name} has no transitions.")
    try:
        found = np.array([[float(row[column]) for column in COLUMNS] for row in rows])
    except (TypeError, ValueError):
        raise lm.UserError(f"{name} has an entry that is not a number; its columns are {', '.join(COLUMNS)}.") from None
    places = found[:, :3]
    if not np.isfinite(found).all() or (places % 1).any() or places.min() < 1 or found[:, 3].min() < 0:
        raise lm.UserError(f"{name} is not allowed: steps and states are counted from 1, and no count is negative.")
    step, start, end = places.astype(int).T - 1
    _refuse_missing(set(step.tolist()), name)
    counts = np.zeros((step.max() + 1, *[max(start.max(), end.max()) + 1] * 2))
    np.add.at(counts, (step, start, end), found[:, 3])
    if (empty := np.argwhere(counts.sum(axis=2) == 0)).size:
        k, i = empty[0] + 1
        raise lm.UserError(f"{name} has no transition of step {k} from state {i}.")
    return counts
