"""A trained network to look at: `lm.trained(simulate, setting, seed)` is one run with everything that it made.

A simulation names what it makes, `lm.keep({"samples": problem.samples}, data=data, signs=(signs, "neurons"))`. The
counts say how much of an axis is used where a program has room for more; axes are known by the shapes that the fields
of a NamedTuple are annotated with, or by the shape beside an array. Outside `lm.trained`, naming costs nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any, get_type_hints

import jax
import numpy as np
import xarray as xr

from lemmata.lab.errors import UserError
from lemmata.lab.setting import Setting
from lemmata.lab.simulation import Simulation


class _Thread(threading.local):
    kept: dict[str, Any] | None = None


_here = _Thread()


def keep(counts: Mapping[str, Any] | None = None, /, **made: Any) -> None:
    """Name what a run has made, for `lm.trained`; `counts`: how many entries of an axis are used, by its name."""
    if _here.kept is not None:
        used = {axis: int(count) for axis, count in (counts or {}).items()}
        _here.kept |= {name: _cut(value, used) for name, value in made.items()}


class Trained:
    """One run: `setting`, `seed`, `records` (a data set of all that the simulation returns), and what it named.

    Usual names are `network` (trained), `initial`, `data` and `test`; `dir(t)` lists them all. Arrays are NumPy arrays,
    without room that the setting does not use.
    """

    def __init__(self, setting: Setting, seed: int, records: xr.Dataset, made: Mapping[str, Any]) -> None:
        self.setting, self.seed, self.records, self._made = setting, seed, records, dict(made)

    def __getattr__(self, name: str) -> Any:
        made = self.__dict__.get("_made", {})
        if name in made:
            return made[name]
        raise AttributeError(f"This run has no '{name}'; it has {', '.join(sorted(made)) or 'named nothing'}.")

    def __dir__(self) -> list[str]:
        return ["setting", "seed", "records", *self._made]

    def __repr__(self) -> str:
        lines = [f"One run of {type(self.setting).__module__}, seed {self.seed}:"]
        lines += [f"  {name}: {_shape(value)}" for name, value in self._made.items()]
        return "\n".join([*lines, f"  records: {', '.join(map(str, self.records.data_vars))}"])


def trained(simulate: Simulation, setting: Setting, seed: int = 0) -> Trained:
    """Simulate one run and keep what it made.

    t = lm.trained(vit.simulate, vit.Setting(samples=32, steps=200))
    t.network.output.shape, t.records.train_loss
    """
    if not isinstance(simulate, Simulation) or not isinstance(setting, Setting):
        raise UserError("lm.trained needs a simulation and a setting: lm.trained(vit.simulate, vit.Setting()).")
    if simulate.host:
        raise UserError(f"{simulate.name} is computed on the host: it has no network to look at.")
    before, _here.kept = _here.kept, {}
    try:
        results = simulate(setting, seed)
        made = _here.kept
    finally:
        _here.kept = before
    variables = {v.name: v for v in simulate.variables if v.name in results}
    about = {name: {"symbol": v.symbol, "long_name": v.meaning} for name, v in variables.items()}
    records = xr.Dataset(
        {name: (v.dims, np.asarray(results[name]), about[name]) for name, v in variables.items()},
        coords={
            dim: list(simulate.labels[dim]) for v in variables.values() for dim in v.dims if dim in simulate.labels
        },
    )
    return Trained(setting, seed, records, made)


def _cut(value: Any, counts: Mapping[str, int]) -> Any:
    """The same on the host, with the axes of annotated fields cut to what is used."""
    fields = getattr(value, "_fields", None)
    if fields is not None:
        hints = get_type_hints(type(value), include_extras=True)
        return type(value)(
            *(_cut_field(each, hints.get(name), counts) for name, each in zip(fields, value, strict=True))
        )
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str):
        return _cut_array(value[0], value[1], counts)
    return jax.tree.map(np.asarray, value)


def _cut_field(value: Any, hint: Any, counts: Mapping[str, int]) -> Any:
    names = getattr(hint, "dim_str", None)
    if names is None or not hasattr(value, "shape"):
        return _cut(value, counts)
    return _cut_array(value, names, counts)


def _cut_array(value: Any, names: str, counts: Mapping[str, int]) -> np.ndarray:
    return np.asarray(value)[tuple(_slices(names.split(), np.ndim(value), counts))]


def _slices(names: list[str], dims: int, counts: Mapping[str, int]) -> Iterator[slice]:
    """One slice per dimension; a name that stands for several (`...`, `*heads`) stands for those that are left over."""
    for name in names:
        if name == "..." or name.startswith("*"):
            yield from [slice(None)] * (dims - len(names) + 1)
        else:
            yield slice(counts.get(name))


def _shape(value: Any) -> str:
    fields = getattr(value, "_fields", None)
    if fields is not None:
        named = zip(fields, value, strict=True)
        return ", ".join(f"{name} {_shape(each)}" for name, each in named if each is not None)
    return str(np.shape(value)) if hasattr(value, "shape") else type(value).__name__
