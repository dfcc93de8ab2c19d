"""A trained network to look at: `lm.trained(simulate, setting, seed)` is one run with everything that it made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

import numpy as np
import xarray as xr

from lemmata.lab.errors import UserError
from lemmata.lab.keeping import Watching
from lemmata.lab.looks import in_notebook
from lemmata.lab.setting import Setting
from lemmata.lab.simulation import Simulation
from lemmata.lab.sweep import check_seeds


class Trained:
    """One run: `setting`, `seed`, `records` (a data set of all that the simulation returns), and what it named.

        t = lm.trained(vit.simulate, vit.Setting(samples=32, steps=200))
        isinstance(t, lm.Trained), dir(t)

    Usual names are `network` (trained), `initial`, `data` and `test`; `dir(t)` lists them all. Arrays are NumPy arrays,
    without room that the setting does not use. `t.save("run.npz")` writes it, `lm.trained("run.npz")` reads it again.
    """

    def __init__(self, setting: Setting, seed: int, records: xr.Dataset, made: Mapping[str, Any]) -> None:
        self.setting, self.seed, self.records, self._made = setting, seed, records, dict(made)

    def __getattr__(self, name: str) -> Any:
        made = self.__dict__.get("_made", {})
        if name in made:
            return made[name]
        raise AttributeError(f"This run has no '{name}'; it has {', '.join(sorted(made)) or 'named nothing'}.")

    def __dir__(self) -> list[str]:
        return ["setting", "seed", "records", "save", *self._made]

    def save(self, path: Path | str) -> None:
        """Write the run into one file, an `.npz` of arrays and a description: `t.save("run.npz")`."""
        from lemmata.lab.saved import write

        write(_npz(path), self.setting, self.seed, self.records, self._made)

    def __repr__(self) -> str:
        lines = [f"One run of {type(self.setting).__module__}, seed {self.seed}:"]
        lines += [f"  {name}: {words}" for name, words in self._contents()]
        return "\n".join([*lines, f"  records: {', '.join(map(str, self.records.data_vars))}"])

    def _repr_html_(self) -> str:
        return in_notebook("trained", self, list(self._contents()))

    def _contents(self) -> list[tuple[str, str]]:
        return [(name, _shape(value)) for name, value in self._made.items()]


@overload
def trained(simulate: Simulation, setting: Setting, seed: int = 0, *, network: Any = None) -> Trained: ...
@overload
def trained(simulate: Path | str) -> Trained: ...
def trained(
    simulate: Simulation | Path | str, setting: Setting | None = None, seed: int = 0, *, network: Any = None
) -> Trained:
    """Simulate one run and keep what it made; or read the run that `t.save(path)` wrote.

        t = lm.trained(vit.simulate, vit.Setting(samples=32, steps=200))
        t.network.output.shape, t.records.train_loss
        more = lm.trained(vit.simulate, t.setting, network=t.network)

    network: the network that training starts from, instead of the setting's initial one.
    """
    if isinstance(simulate, (str, Path)) and setting is None and network is None:
        from lemmata.lab.saved import read

        return Trained(*read(_npz(simulate)))
    if not isinstance(simulate, Simulation) or not isinstance(setting, Setting):
        raise UserError("lm.trained needs a simulation and a setting: lm.trained(vit.simulate, vit.Setting()).")
    if simulate.host:
        raise UserError(f"{simulate.name} is computed on the host: it has no network to look at.")
    check_seeds(seed, 1)
    watching = Watching(network)
    with watching as made:
        results = simulate(setting, seed)
    if network is not None and not watching.started:
        raise UserError(f"{simulate.name} starts from no given network.")
    variables = {v.name: v for v in simulate.variables if v.name in results}
    about = {name: {"symbol": v.symbol, "long_name": v.meaning} for name, v in variables.items()}
    records = xr.Dataset(
        {name: (v.dims, np.asarray(results[name]), about[name]) for name, v in variables.items()},
        coords={
            dim: list(simulate.labels[dim]) for v in variables.values() for dim in v.dims if dim in simulate.labels
        },
    )
    return Trained(setting, seed, records, made)


def _npz(path: Path | str) -> Path:
    if not isinstance(path, (str, Path)) or Path(path).suffix != ".npz":
        raise UserError(f"A run is saved in a file that ends in .npz, and {path!r} does not.")
    return Path(path)


def _shape(value: Any) -> str:
    fields = getattr(value, "_fields", None)
    if fields is not None:
        named = zip(fields, value, strict=True)
        return ", ".join(f"{name} {_shape(each)}" for name, each in named if each is not None)
    return str(np.shape(value)) if hasattr(value, "shape") else type(value).__name__
