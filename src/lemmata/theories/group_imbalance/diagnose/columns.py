"""A user's table as the theory's data: inputs x with a constant, labels in {0, 1}, groups that training never sees."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

import lemmata as lm
from lemmata.datasets.tables import from_arrays, read_table

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 100
"""Rows a group needs; those of smaller groups are left out and counted."""
RARE = 0.005
"""Words that fewer than this share of the rows (or 30 rows) have count as one word, `rare`."""
WORDS = 100
"""A column of text with more words than this is a name, not a category, and is left out."""


class Columns(NamedTuple):
    """The data in the theory's form; the first column of x is 1."""

    x: Float[np.ndarray, "rows inputs"]
    y: Float[np.ndarray, " rows"]
    members: Int[np.ndarray, " rows"]
    groups: list[str]
    names: list[str]
    positive: str
    """The value of the label that is 1."""
    source: str
    files: list[Path]
    notes: list[str]

    def counts(self) -> Int[np.ndarray, " groups"]:
        return np.bincount(self.members, minlength=len(self.groups))


def read_columns(data: Any, label: str | None, group: str | None, ignore: Sequence[str]) -> Columns:
    """From a file, a table or columns by name, where `label` and `group` name two, or from arrays (x, y, groups)."""
    import pandas as pd

    files: list[Path] = []
    if isinstance(data, tuple):
        frame = _from_tuple(data)
        label, group, source = "label", "group", "the data"
    elif isinstance(data, (str, Path)):
        frame, source, files = read_table(data), Path(data).name, [Path(data)]
    elif isinstance(data, pd.DataFrame):
        frame, source = data, "the table"
    elif isinstance(data, dict):
        frame, source = from_arrays(data), "the data"
    else:
        raise lm.UserError("Give one table: a file, a DataFrame, a dict of columns, or arrays (x, y, groups).")
    for option, name in (("label", label), ("group", group)):
        if name is None:
            raise lm.UserError(f"--{option} is missing: it names a column of {source} ({_listed(frame.columns)}).")
    for name in (label, group, *ignore):
        if name not in frame.columns:
            raise lm.UserError(f"{source} has no column {name}; it has {_listed(frame.columns)}.")
    if label == group:
        raise lm.UserError("--label and --group are not allowed to be the same column.")
    return _prepare(frame.drop(columns=list(ignore)), str(label), str(group), source, files)


def _from_tuple(arrays: tuple[Any, ...]) -> pd.DataFrame:
    import pandas as pd

    if len(arrays) != 3:
        raise lm.UserError(f"Arrays are given as (x, y, groups), not as {len(arrays)} of them.")
    x, y, groups = (np.asarray(array) for array in arrays)
    if x.ndim != 2 or y.shape != (len(x),) or groups.shape != (len(x),):
        raise lm.UserError(f"x, y, groups have shapes {x.shape}, {y.shape}, {groups.shape}; (n, d), (n), (n) is meant.")
    columns = {f"x{i + 1}": x[:, i] for i in range(x.shape[1])}
    return pd.DataFrame(columns | {"label": y, "group": groups})


def _listed(names: Any, most: int = 20) -> str:
    return ", ".join([str(name) for name in list(names)[:most]] + ["..."] * (len(names) > most))


def _prepare(table: pd.DataFrame, label: str, group: str, source: str, files: list[Path]) -> Columns:
    notes = []
    known: Any = table.replace([np.inf, -np.inf], np.nan)
    empty = known.columns[known.isna().all()].difference([label, group])
    if len(empty):
        notes.append(f"Columns without a value are left out: {_listed(empty)}.")
    frame: Any = known.drop(columns=empty).dropna()
    whole = len(frame)
    if whole < len(table):
        notes.append(f"{len(table) - whole} of {len(table)} rows have missing values and are left out.")
    sizes = frame[group].astype(str).value_counts()
    kept = sorted(sizes.index[sizes >= FEWEST])
    if len(kept) < len(sizes):
        small = [f"{name} ({count})" for name, count in sizes.items() if count < FEWEST]
        notes.append(f"Groups with fewer than {FEWEST} rows are left out: {_listed(small)}.")
        frame = frame[frame[group].astype(str).isin(kept)]
    if not 2 <= len(kept) <= 12:
        raise lm.UserError(
            f"--group {group} has {len(kept)} values with at least {FEWEST} rows (of {whole} rows without missing "
            "values); from 2 to 12 can be compared."
        )
    values = sorted(frame[label].unique(), key=str)
    if len(values) != 2:
        raise lm.UserError(f"--label {label} has {len(values)} values ({_listed(values, 5)}), but the theory has two.")
    y = (frame[label] == values[1]).to_numpy(float)
    members = np.searchsorted(kept, frame[group].astype(str).to_numpy())
    for index, name in enumerate(kept):
        if len(np.unique(y[members == index])) < 2:
            raise lm.UserError(f"All rows of group {name} have the same label, so its risk cannot be fitted.")
    x, names, more = _inputs(frame.drop(columns=[label, group]))
    return Columns(x, y, members, kept, names, str(values[1]), source, files, notes + more)


def _inputs(frame: pd.DataFrame) -> tuple[np.ndarray, list[str], list[str]]:
    """Numbers standardised, words one-hot without the most frequent one; what follows from other columns is dropped."""
    import pandas as pd

    parts, names, notes = [np.ones(len(frame))], ["constant"], []
    constant = [name for name, column in frame.items() if column.astype(str).nunique() == 1]
    if constant:
        notes.append(f"Columns with a single value are left out: {_listed(constant)}.")
    for name, column in frame.drop(columns=constant).items():
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            values = column.to_numpy(float)
            values = values / abs(values).max()  # the square of a huge number is infinite
            parts.append((values - values.mean()) / values.std())
            names.append(str(name))
            continue
        words = column.astype(str)
        sizes = words.value_counts()
        if len(sizes) > WORDS:
            numeric: Any = pd.to_numeric(words, errors="coerce")
            other: Any = words[numeric.isna()]
            mixed = (
                f"words ({_listed(other.unique(), 3)}) in {len(other)} of its {len(words)} rows, numbers in the others"
            )
            said = mixed if 0 < len(other) < len(words) / 2 else f"{len(sizes)} different words"
            notes.append(f"Column {name} has {said}, and is left out.")
            continue
        words = words.where(words.map(sizes) >= max(30, RARE * len(frame)), "rare")
        for word in list(words.value_counts().index)[1:]:
            parts.append((words == word).to_numpy(float))
            names.append(f"{name}={word}")
    x = np.stack(parts, 1)
    keep = _independent(x)
    if len(keep) < 2:
        raise lm.UserError("No column is left to predict the label from.")
    if len(keep) < x.shape[1]:
        gone = [names[i] for i in range(x.shape[1]) if i not in set(keep)]
        notes.append(f"Columns that follow from others are left out: {_listed(gone)}.")
    return x[:, keep], [names[i] for i in keep], notes


def _independent(x: np.ndarray) -> list[int]:
    """The columns that are no linear combination of those before them."""
    left = abs(np.diag(np.linalg.qr(x, mode="r"))) / np.linalg.norm(x, axis=0)
    return np.flatnonzero(left > 1e-3).tolist()
