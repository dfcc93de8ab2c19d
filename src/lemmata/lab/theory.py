"""Experiments and theories: the named questions of a document, and the card that ties everything together."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from lemmata.lab import registry
from lemmata.lab.bounds import Bound
from lemmata.lab.claims import Claim
from lemmata.lab.errors import UserError, require_text, unknown
from lemmata.lab.grid import Axes
from lemmata.lab.looks import in_notebook
from lemmata.lab.setting import Setting
from lemmata.lab.simulation import Simulation
from lemmata.lab.sources import digest_from, digest_of
from lemmata.lab.suggestions import wrong_item
from lemmata.lab.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Preset:
    """The size of an experiment: base setting, axes, number of seeds.

    lm.Preset(Setting(steps=100), {"step_size": [0.1, 0.2]}, seeds=5)
    """

    setting: Setting
    axes: Axes
    seeds: int

    def __post_init__(self) -> None:
        if isinstance(self.seeds, bool) or not isinstance(self.seeds, int) or not 1 <= self.seeds <= 2**32:
            raise UserError(f"seeds = {self.seeds!r} is not allowed: it is how many seeds to run, from 1 to {2**32}.")


def make_presets(
    kind: type[Setting],
    setting: Mapping[str, Any],
    axes: Axes,
    seeds: int,
    *,
    tiny: Mapping[str, Any],
    smoke: Mapping[str, Any] | None = None,
    paper: Mapping[str, Any] | None = None,
    paper_seeds: int = 20,
) -> dict[str, Preset]:
    """The presets of an experiment from its `quick` setting and axes.

    `smoke` has the tiny sizes, which the experiments of a theory share so that they share their programs, and 2 seeds.
    `smoke` and `paper` change `quick`: what is the name of an axis replaces it, anything else is a field.
    """

    def preset(base: Mapping[str, Any], changes: Mapping[str, Any], seeds: int) -> Preset:
        fields = {name: value for name, value in changes.items() if name not in axes}
        return Preset(kind(**{**base, **fields}), {name: changes.get(name, axes[name]) for name in axes}, seeds)

    return {
        "smoke": preset({**setting, **tiny}, smoke or {}, 2),
        "quick": preset(setting, {}, seeds),
        "paper": preset(setting, paper or {}, max(seeds, paper_seeds)),
    }


@dataclass(frozen=True)
class Experiment:
    """A named question. `name` begins with the specification's row id.

        asked: lm.Experiment = vit.theory.experiments["f4-attention"]
        asked.presets["smoke"].setting

    `plot(data)` or `plot(data, claims)` draws measurement and prediction; without one the default figure is drawn.
    `table(data)` gives a table instead of a figure. `precision` is the simulation's unless given.
    """

    name: str
    question: str
    reference: str
    simulation: Simulation
    presets: Mapping[str, Preset]
    plot: Callable[..., Figure] | None = None
    table: Callable[[xr.Dataset], Table] | None = None
    precision: str = ""

    def __post_init__(self) -> None:
        for what in ("question", "reference"):
            require_text(f"The {what} of the experiment {self.name}", getattr(self, what))
        object.__setattr__(self, "precision", self.precision or self.simulation.precision)

    def _repr_html_(self) -> str:
        return in_notebook("experiment", self)

    def preset(self, name: str) -> Preset:
        if name not in self.presets:
            raise unknown("preset", name, self.presets, self.name)
        return self.presets[name]

    def draw(self, data: xr.Dataset, claims: Mapping[str, Claim]) -> Figure:
        """Its figure of these data; `claims` are the theory's, whose levels it may draw."""
        if self.plot is None:
            from lemmata.lab.default_figures import default_figure

            return default_figure(data)
        return self.plot(data, claims) if "claims" in inspect.signature(self.plot).parameters else self.plot(data)


def experiment(
    name: str,
    *,
    reference: str,
    question: str,
    kind: type[Setting],
    simulation: Simulation,
    seeds: int,
    setting: Mapping[str, Any] | None = None,
    axes: Mapping[str, Any] | None = None,
    plot: Callable[..., Figure] | None = None,
    table: Callable[[xr.Dataset], Table] | None = None,
    tiny: Mapping[str, Any] | None = None,
    smoke: Mapping[str, Any] | None = None,
    paper: Mapping[str, Any] | None = None,
    paper_seeds: int = 20,
    precision: str = "",
) -> Experiment:
    """An experiment whose presets come from its `quick` setting and axes (`make_presets`).

        lm.experiment(
            "margin", reference="Theorem 3", question="Does the direction converge?", kind=Setting,
            simulation=simulate, axes={"loss": ["logistic", "squared"]}, seeds=5,
        )

    A theory gives its own `kind`, `simulation` and `tiny` once, with `functools.partial`.
    """
    sizes = {"tiny": tiny or {}, "smoke": smoke, "paper": paper, "paper_seeds": paper_seeds}
    presets = make_presets(kind, setting or {}, axes or {}, seeds, **sizes)
    return Experiment(name, question, reference, simulation, presets, plot, table, precision)


def asking(questions: Mapping[str, str], **common: Any) -> Callable[..., Callable[..., Experiment]]:
    """`lm.experiment` for the experiments of a table, name -> "reference: question"; `common` is what they share.

        asks = lm.asking({"margin": "Theorem 3: Does the direction converge?"}, kind=Setting, simulation=simulate)
        asks("margin", draw_margin, seeds=5)({"samples": 20}, loss=["logistic", "squared"], smoke={"samples": 4})

    First come the name, the plot and how it is run, then the setting, the axes by name, and what presets change.
    """

    def asks(name: str, plot: Callable[..., Figure] | None = None, **run: Any) -> Callable[..., Experiment]:
        reference, question = " ".join(questions[name].split()).split(": ", 1)
        shared = {**common, "reference": reference, "question": question, "plot": plot, **run}

        def asked(
            setting: Mapping[str, Any] | None = None, *, smoke: Any = None, paper: Any = None, **axes: Any
        ) -> Any:
            presets = {key: sizes for key, sizes in (("smoke", smoke), ("paper", paper)) if sizes is not None}
            return experiment(name, setting=setting, axes=axes, **{**shared, **presets})

        return asked

    return asks


LONGEST = 100
"""Letters of a name."""
REPLICATE = "replicate"
"""The folder beside those of the theories, for further blocks of seeds."""


def _check_name(what: str, name: Any) -> None:
    """Names of theories and experiments are names of folders, that of a claim stands behind a slash."""
    if what == "bounds":
        return
    fits = isinstance(name, str) and 0 < len(name) <= LONGEST
    if fits and what == "claims":
        fits = "/" not in name
    elif fits:
        fits = re.fullmatch(r"[\w][\w.+-]*", name) is not None
    if fits and what == "theories":
        fits = "." not in name and name.casefold() != REPLICATE  # else a file of the results folder, or that folder
    if not fits:
        signs, than = ("'_' and '-'", f", not '{REPLICATE}'") if what == "theories" else ("'_', '-' and '.'", "")
        raise UserError(
            f"{name!r} is not allowed as a name of {what}: a name has letters, digits, {signs}, begins with a letter "
            f"or digit, is not empty{than} and not longer than {LONGEST}."
        )


def _check_part(what: str, fits: bool, part: Any, allowed: str) -> None:
    """Refuse a part of a theory that is of another kind than it must be."""
    if not fits:
        raise UserError(f"{what} of this theory cannot be {part!r}: give {allowed}.")


@dataclass(frozen=True, repr=False)
class Theory:
    """One paper: card, setting, simulation, experiments, claims, bounds.

        theory = lm.Theory(card, Setting, simulate, [experiment], [claim])
        lm.verify(theory)

    `card` has name, title, authors, question, answer and headlines (the claims that a plain `lemmata verify` checks);
    `venue`, `link` and `numbers` (a sentence on whose numbers the references are) may be added.
    `source` is the theory's folder or file.
    """

    card: Mapping[str, Any]
    setting: type[Setting]
    simulate: Simulation
    experiments: dict[str, Experiment]
    claims: dict[str, Claim]
    bounds: dict[str, Bound] = field(default_factory=dict)
    source: Path | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    """data files that were read when it was loaded, with their digests"""

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
        kinds = {"experiments": Experiment, "claims": Claim, "bounds": Bound}
        own = isinstance(setting, type) and issubclass(setting, Setting)
        _check_part("The card", isinstance(card, Mapping), card, "a dictionary")
        _check_part("The setting", own, setting, "a class derived from lm.Setting")
        _check_part("The simulation", isinstance(simulate, Simulation), simulate, "what @lm.simulation(...) makes")
        for what, items in named.items():
            _check_part(f"The {what}", isinstance(items, Iterable), items, "a list")
            listed = list(items)
            for item in listed:
                _check_part(f"One of the {what}", isinstance(item, kinds[what]), item, f"a lm.{kinds[what].__name__}")
            table = {item.name: item for item in listed}
            for item in listed:
                _check_name(what, item.name)
            if len(table) < len(listed):
                raise UserError(f"Two {what} of this theory share a name; each needs its own.")
            object.__setattr__(self, what, table)
        object.__setattr__(self, "card", card)
        object.__setattr__(self, "setting", setting)
        object.__setattr__(self, "simulate", simulate)
        object.__setattr__(self, "inputs", {})
        object.__setattr__(self, "source", None if source is None else Path(source))
        for claim in self.claims.values():
            if not (claim.statement and hasattr(claim, "evidence")):
                raise UserError(f"The claim {claim.name} is not complete: say what it states and how it is judged.")
            for name in claim.reads:
                if name not in self.experiments:
                    raise unknown("experiment", name, self.experiments, claim.name)
            if claim.corrects and claim.corrects not in self.claims:
                raise unknown("claim", claim.corrects, self.claims, claim.name)
        missing = {"name", "title", "authors", "question", "answer", "headlines"} - card.keys()
        if missing:
            raise UserError(f"The card of this theory lacks {', '.join(sorted(missing))}.")
        _check_name("theories", card["name"])
        for what in ("title", "authors", "question", "answer"):
            require_text(f"The {what} on the card", card[what])
        for name in card["headlines"]:
            if name not in self.claims:
                raise unknown("claim", name, self.claims, "the headlines")

    @property
    def name(self) -> str:
        return self.card["name"]

    @property
    def typed(self) -> str:
        """What names it on the command line: its name, or the user's file."""
        return str(self.source) if self.source is not None and self.source.is_file() else self.name

    @property
    def in_shell(self) -> bool:
        """Whether a command can name it: one that is given in Python has no name there and no file."""
        return self.source is not None or registry.has(self.name)

    def __repr__(self) -> str:
        counts = f"{len(self.experiments)} experiments, {len(self.claims)} claims, {len(self.bounds)} bounds"
        return f"<theory {self.name}: {self.card['title']}; {counts}>"

    def _repr_html_(self) -> str:
        return in_notebook("theory", self)

    def digest(self) -> str:
        """A digest of the sources that its verdicts and figures depend on: all that its own module reaches."""
        if self.source is not None:
            return digest_from(self.source / "__init__.py" if self.source.is_dir() else self.source)
        drawn = [each for e in self.experiments.values() for each in (e.plot, e.table) if each is not None]
        judged = [claim.evidence.function for claim in self.claims.values()]
        return digest_of(self.simulate.function, *drawn, *judged)

    def experiment(self, name: str) -> Experiment:
        if name not in self.experiments:
            raise self._wrong("experiment", name)
        return self.experiments[name]

    def claim(self, name: str) -> Claim:
        if name not in self.claims:
            raise self._wrong("claim", name)
        return self.claims[name]

    def bound(self, name: str) -> Bound:
        if name not in self.bounds:
            raise self._wrong("bound", name)
        return self.bounds[name]

    def place_of(self, name: str) -> str:
        """Where the user's file names an experiment, as sentences end with it; empty for a theory of ours."""
        if self.source is None or not self.source.is_file():
            return ""
        lines = self.source.read_text(encoding="utf-8").splitlines()
        found = [number for number, line in enumerate(lines, 1) if f'"{name}"' in line or f"'{name}'" in line]
        own = [number for number in found if "evidence" not in lines[number - 1]]
        return f" ({self.source.name}:{(own or found or [1])[0]})"

    def readers(self, experiment: str) -> list[str]:
        """The claims that read an experiment."""
        return [claim.name for claim in self.claims.values() if experiment in claim.reads]

    def _wrong(self, kind: str, name: str) -> UserError:
        related = {
            "experiment": {each: self.readers(each) for each in self.experiments},
            "claim": {each.name: list(each.reads) for each in self.claims.values()},
            "bound": dict.fromkeys(self.bounds, ()),
            "setting": dict.fromkeys(self.setting.declarations(), ()),
        }
        return wrong_item(kind, name, self.typed, related)
