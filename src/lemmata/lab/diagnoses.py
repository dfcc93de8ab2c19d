"""Diagnoses: a theory's tools for users' own data. What was measured to help comes first, the theory's numbers after.

A theory declares kinds on its card, `"diagnose": {KIND: "module:function"}`, with the module named from the theory's
folder. The function takes the user's data (what was given: a path or name, several of them, or an object of Python),
options of its own as keywords, each `Annotated[type, "its help"]` with a default, and `seed` and `progress` if it wants
them; it returns a `Diagnosis`. Command line and `lm.diagnose` are made from that.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
import io
import math
import time
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lemmata.lab.errors import UserError, unknown
from lemmata.lab.files import folder_given, write_json, write_whole, writing
from lemmata.lab.intervals import Estimate
from lemmata.lab.tables import Table, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLLOW, AVOID, NO_DIFFERENCE = "follow", "avoid", "no difference"
Told = Callable[[float], None]
"""Called along long work with the share that is done."""


@dataclass(frozen=True)
class Finding:
    """A piece of advice and what following it gained on the user's own data.

        gain = lm.Estimate(0.1, low=0.05, high=0.15)
        lm.Finding("use attention", gain, "accuracy", ("attention", "mean"), splits=5, text="It gains 10 %.")

    `gain` is the mean over splits of the first of `compared` less the second, with the interval that decides; None
    where nothing could be measured, and `text` says why.
    """

    advice: str
    gain: Estimate | None
    unit: str
    compared: tuple[str, str]
    splits: int
    text: str

    @property
    def does(self) -> str:
        """`follow` if the whole interval is above 0, `avoid` if it is below, else `no difference`."""
        if self.gain is not None and self.gain.low > 0:
            return FOLLOW
        return AVOID if self.gain is not None and self.gain.high < 0 else NO_DIFFERENCE

    def json(self) -> dict[str, Any]:
        gain = {name: None if self.gain is None else getattr(self.gain, name) for name in ("value", "low", "high")}
        return {
            "advice": self.advice,
            "does": self.does,
            "gain": gain.pop("value"),
            **gain,
            "unit": self.unit,
            "compared": list(self.compared),
            "splits": self.splits,
            "text": self.text,
        }


@dataclass(frozen=True)
class Assumption:
    """Something the theory assumes, and whether these data have it (None: cannot be told).

    lm.Assumption("balanced", holds=True, value=0.52, text="Both labels are about as frequent.")
    """

    name: str
    holds: bool | None
    value: Any
    text: str


@dataclass(frozen=True)
class Diagnosis:
    """What was found in a user's data. `print(found.text)`; `found.figure()`; a notebook shows both.

        found: lm.Diagnosis = lm.diagnose("graph", "cora.npz")
        print(found.text)

    `quantities` are the theory's numbers: numbers and words, lists of rows (dicts with the same keys) as tables, and
    lists of sentences.
    """

    kind: str
    source: str
    sizes: Mapping[str, int]
    findings: Sequence[Finding]
    quantities: Mapping[str, Any]
    assumptions: Sequence[Assumption]
    draw: Callable[[], Figure] = field(repr=False)
    files: Sequence[Path] = ()
    seconds: float = 0.0

    def figure(self) -> Figure:
        return self.draw()

    @property
    def text(self) -> str:
        """Findings first, then the theory's quantities, then its assumptions."""
        lines = [f"{self.source}: {_sizes(self.sizes)}", "", "What to do, as measured on these data"]
        lines += [f"  {MARKS[one.does]} {one.text}" for one in self.findings] or ["  nothing was measured"]
        lines += ["", "What the theory measures"]
        for name, value in self.quantities.items():
            lines += _lines(_words(name), value)
        lines += ["", "What the theory assumes"]
        lines += [f"  {HOLDS[one.holds]}: {one.text}" for one in self.assumptions] or [
            "  nothing that could be looked at"
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return "".join(_html(self))

    def json(self, figure: str | None = None) -> dict[str, Any]:
        """Plain values, null for what is not known; `figure`: where its picture lies."""
        digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in self.files]
        return plain(
            {
                "kind": self.kind,
                "input": {"files": [str(file) for file in self.files], "sha256": digests, "sizes": dict(self.sizes)},
                "findings": [one.json() for one in self.findings],
                "quantities": dict(self.quantities),
                "assumptions": [vars(one) for one in self.assumptions],
                "figure": figure,
                "seconds": round(self.seconds, 3),
                "version": importlib.metadata.version("lemmata"),
            }
        )

    def write(self, folder: Path) -> dict[str, Any]:
        """Write figure.png and diagnosis.json, and return what the latter holds."""
        picture = _png(self.figure())
        content = self.json(str(folder / "figure.png"))
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / "figure.png", picture)
        write_json(folder / "diagnosis.json", content)
        return content


def kinds() -> dict[str, tuple[str, str, str]]:
    """Every kind of diagnosis that a theory's card declares, with the theory, its module and the function."""
    from lemmata.lab.registry import cards

    declared = ((card["name"], kind, place) for card in cards() for kind, place in card.get("diagnose", {}).items())
    return {kind: (theory, *place.split(":")) for theory, kind, place in sorted(declared, key=lambda one: one[1])}


def find(kind: str) -> Callable[..., Diagnosis]:
    """The function that makes diagnoses of this kind."""
    from lemmata.lab.registry import load_room

    known = kinds()
    if not isinstance(kind, str) or kind not in known:
        raise unknown("diagnosis", kind, known)
    theory, module, function = known[kind]
    return getattr(load_room(theory, module), function)


class Option(typing.NamedTuple):
    """A parameter of a diagnosis: its type, what it means, and its default."""

    type: Any
    meaning: str
    default: Any


def options(function: Callable[..., Diagnosis]) -> tuple[str, dict[str, Option]]:
    """What the data may be, in words, and the options of this kind by name (all but `seed` and `progress`)."""
    hints = typing.get_type_hints(function, include_extras=True)
    first, *rest = inspect.signature(function).parameters.values()
    own = {one.name: one for one in rest if one.name not in {"seed", "progress"}}
    found = {
        name: Option(typing.get_args(hints[name])[0], hints[name].__metadata__[0], one.default)
        for name, one in own.items()
    }
    return hints[first.name].__metadata__[0], found


def diagnose(
    kind: str, data: Any, *, seed: int = 0, out: str | Path | None = None, progress: Told | None = None, **given: Any
) -> Diagnosis:
    """Diagnose data of one's own: `kind` as in `lemmata diagnose`, data a path, a name or an object of Python.

        found = lm.diagnose("graph", "cora.npz", seed=1)
        print(found.text)

    Further arguments are the options of that kind. With `out`, figure.png and diagnosis.json are written there.
    """
    function = find(kind)
    accepted = inspect.signature(function).parameters
    for name in given:
        if name not in options(function)[1]:
            raise unknown("option", name, options(function)[1], f"diagnose {kind}")
    folder = folder_given("out", out)
    if progress is not None and not callable(progress):
        raise UserError(f"progress = {progress!r} is not allowed: give a function.")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise UserError(f"seed = {seed} is not allowed: seed is an integer from 0 to {2**32 - 1}.")
    common = {"seed": seed, "progress": progress or (lambda share: None)}
    began = time.monotonic()
    found = function(data, **given, **{name: value for name, value in common.items() if name in accepted})
    found = replace(found, seconds=time.monotonic() - began)
    if folder is not None:
        found.write(folder)
    return found


MARKS = {FOLLOW: "+", AVOID: "-", NO_DIFFERENCE: "="}
HOLDS = {True: "holds", False: "does not hold", None: "cannot be told"}


def _words(name: str) -> str:
    return name.replace("_", " ")


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{_words(name)} {value}" for name, value in sizes.items())


def _is_table(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], Mapping)


def _is_sentences(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(one, str) for one in value)


def _cell(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(_cell(one) for one in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(name)} {_cell(one)}" for name, one in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and abs(value) >= 1000):
        return f"{value:.0f}"
    return shown(value)


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """A row a line; what has a `..._low` and `..._high` beside it is shown with its interval."""
    heads = [head for head in rows[0] if not (head.endswith(("_low", "_high")) and head.rpartition("_")[0] in rows[0])]

    def cell(row: Mapping[str, Any], head: str) -> str:
        low, high = row.get(f"{head}_low"), row.get(f"{head}_high")
        known = low is not None and high is not None and math.isfinite(low) and math.isfinite(high)
        return f"{_cell(row[head])} [{low:.3g}, {high:.3g}]" if known else _cell(row[head])

    return Table(name, [_words(head) for head in heads], [[cell(row, head) for head in heads] for row in rows])


def _lines(name: str, value: Any) -> Iterator[str]:
    """A quantity as lines of text: a table, sentences, or one line."""
    if _is_table(value):
        table = _table(name, value)
        rows = [list(table.columns), *table.rows]
        widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
        yield f"  {name}"
        yield from ("    " + "  ".join(str(c).rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows)
    elif _is_sentences(value):
        yield from (f"  {sentence}" for sentence in value)
    else:
        yield f"  {name} {_cell(value)}"


def _html(found: Diagnosis) -> Iterator[str]:
    from base64 import b64encode

    yield f"<h3>{escape(found.source)}</h3><p>{escape(_sizes(found.sizes))}</p><h4>What to do, as measured</h4><ul>"
    yield from (f"<li>{escape(one.does)}: {escape(one.text)}</li>" for one in found.findings)
    yield "</ul><h4>What the theory measures</h4>"
    for name, value in found.quantities.items():
        if _is_table(value):
            yield _table(_words(name), value).html()
        else:
            yield from (f"<p>{escape(line.strip())}</p>" for line in _lines(_words(name), value))
    yield "<h4>What the theory assumes</h4><ul>"
    yield from (f"<li>{HOLDS[one.holds]}: {escape(one.text)}</li>" for one in found.assumptions)
    yield f"</ul><img alt='figure' src='data:image/png;base64,{b64encode(_png(found.figure())).decode()}'>"


def _png(figure: Figure) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, dpi=150)
    return stream.getvalue()


def plain(value: Any) -> Any:
    """JSON's own values; None for a number that is none."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
