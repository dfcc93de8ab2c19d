"""Experiments and theories: the named questions of a document, and the card that ties everything together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from lemmata.lab.bounds import Bound
from lemmata.lab.claims import Claim
from lemmata.lab.errors import unknown
from lemmata.lab.grid import Axes
from lemmata.lab.setting import Setting
from lemmata.lab.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRESETS = ("smoke", "quick", "paper")


@dataclass(frozen=True)
class Preset:
    """The size of an experiment: base setting, axes, number of seeds."""

    setting: Setting
    axes: Axes
    seeds: int


@dataclass(frozen=True)
class Experiment:
    """A named question. `name` begins with the specification's row id; `plot` draws measurement and prediction."""

    name: str
    question: str
    reference: str
    simulation: Simulation
    presets: Mapping[str, Preset]
    plot: Callable[[xr.Dataset], Figure]
    precision: str = "float32"

    def preset(self, name: str) -> Preset:
        if name not in self.presets:
            raise unknown("preset", name, self.presets)
        return self.presets[name]


@dataclass(frozen=True)
class Theory:
    """One document: card, setting, simulation, experiments, claims, bounds.

    `card` has name, title, authors, question, answer and headlines (the claims that a plain `lemmata verify` checks).
    `source` is the theory's folder or file, hashed into the fingerprint of its data.
    """

    card: Mapping[str, Any]
    setting: type[Setting]
    simulate: Simulation
    experiments: dict[str, Experiment]
    claims: dict[str, Claim]
    bounds: dict[str, Bound] = field(default_factory=dict)
    source: Path | None = None

    def __init__(
        self,
        card: Mapping[str, Any],
        setting: type[Setting],
        simulate: Simulation,
        experiments: Iterable[Experiment],
        claims: Iterable[Claim],
        bounds: Iterable[Bound] = (),
        source: str | Path | None = None,
    ) -> None:
        named = {"experiments": experiments, "claims": claims, "bounds": bounds}
        for what, items in named.items():
            listed = list(items)
            table = {item.name: item for item in listed}
            assert len(table) == len(listed), f"two {what} share a name"
            object.__setattr__(self, what, table)
        object.__setattr__(self, "card", card)
        object.__setattr__(self, "setting", setting)
        object.__setattr__(self, "simulate", simulate)
        object.__setattr__(self, "source", None if source is None else Path(source))
        for claim in self.claims.values():
            missing = set(claim.reads) - self.experiments.keys()
            assert not missing, f"{claim.name} reads {missing}, which do not exist"
        assert set(card.get("headlines", ())) <= self.claims.keys(), "a headline names no claim"

    @property
    def name(self) -> str:
        return self.card["name"]

    def experiment(self, name: str) -> Experiment:
        if name not in self.experiments:
            raise unknown(f"experiment of {self.name}", name, self.experiments)
        return self.experiments[name]

    def claim(self, name: str) -> Claim:
        if name not in self.claims:
            raise unknown(f"claim of {self.name}", name, self.claims)
        return self.claims[name]

    def bound(self, name: str) -> Bound:
        if name not in self.bounds:
            raise unknown(f"bound of {self.name}", name, self.bounds)
        return self.bounds[name]


READERS = ("card.py", "claims", "figures", "judges", "measures", "report", "verify", "registry", "errors")
"""Rooms that only read data: a change in them leaves stored data valid."""


def source_hash(theory: Theory) -> str:
    """A digest of the sources that the theory's data depend on: its own, `lab` and `networks`."""
    package = Path(__file__).parent.parent
    roots = [package / "lab", package / "networks"] + ([theory.source] if theory.source else [])
    digest = hashlib.sha256()
    for root in roots:
        files = [root] if root.is_file() else sorted(root.rglob("*.py"))
        for file in files:
            relative = file.name if root.is_file() else file.relative_to(root).as_posix()
            if not root.is_file() and relative.startswith(READERS):
                continue
            digest.update(relative.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]
