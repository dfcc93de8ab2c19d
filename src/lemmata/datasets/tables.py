"""Tables of users: csv, parquet and npz files, as columns by name."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lemmata.lab.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

MISSING = ["?", "", "NA", "N/A", "nan", "NaN", "null", "None"]
KINDS = "csv (also .csv.gz, .tsv), parquet or npz"


def read_table(file: str | Path) -> pd.DataFrame:
    """The columns of a file, by its ending; words like ? and NA are missing values."""
    import pandas as pd

    path = Path(file)
    if not path.is_file():
        raise UserError(f"There is no file {path}.")
    endings = "".join(path.suffixes[-2:]).lower()
    try:
        if path.suffix == ".npz":
            return from_arrays(_arrays(path), path.name)
        if path.suffix in {".parquet", ".pq"}:
            return _parquet(path)
        if endings.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".data")):
            separator = "\t" if ".tsv" in endings else ","
            return pd.read_csv(path, sep=separator, na_values=MISSING, skipinitialspace=True)
    except UserError:
        raise
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{path.name} cannot be read as a table: {first}.") from None
    raise UserError(f"{path.name} is not allowed: a table is {KINDS}.")


def _parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise UserError(
            f'{path.name} is parquet, which needs the extra "tables": pip install "lemmata[tables]".'
        ) from None
    try:
        return pd.read_parquet(path)
    except Exception as error:  # pyarrow raises errors of its own
        raise UserError(f"{path.name} cannot be read as parquet: {str(error).splitlines()[0]}.") from None


def _arrays(path: Path) -> dict[str, np.ndarray]:
    with warnings.catch_warnings(), np.load(path, allow_pickle=False) as content:
        return {name: content[name] for name in content.files}


def from_arrays(arrays: Mapping[str, Any], name: str = "the data") -> pd.DataFrame:
    """Columns from arrays: every 1-D array of the common length, and the columns of a 2-D array `A` with `A_names`.

    Where there is an array of words `A_COLUMN` (- written _), that column holds codes into it, and -1 is missing.
    """
    import pandas as pd

    arrays = {key: np.asarray(value) for key, value in arrays.items()}
    rows = max((len(a) for a in arrays.values() if a.ndim), default=0)
    columns: dict[str, Any] = {}
    for key, array in arrays.items():
        if array.ndim == 1 and len(array) == rows:
            columns[key] = array
        elif array.ndim == 2 and len(array) == rows:
            names = arrays.get(f"{key}_names", [f"{key}_{i + 1}" for i in range(array.shape[1])])
            if len(names) != array.shape[1]:
                raise UserError(f"{name}: {key} has {array.shape[1]} columns, but {key}_names has {len(names)} names.")
            for i, column in enumerate(map(str, names)):
                words = arrays.get(f"{key}_{column.replace('-', '_')}")
                columns[column] = array[:, i] if words is None else _decoded(array[:, i], words)
    if not columns:
        raise UserError(f"{name} has no columns: no array of {rows or 'several'} rows.")
    return pd.DataFrame(columns)


def _decoded(codes: np.ndarray, words: np.ndarray) -> np.ndarray:
    known = (codes >= 0) & (codes < len(words))
    return np.where(known, words[np.where(known, codes, 0)], None)  # pyright: ignore[reportCallIssue, reportArgumentType]
