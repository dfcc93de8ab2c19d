r"""Claims: one statement of a paper, how it is judged, and the control that keeps the judge honest.

A claim is declared, not programmed:

    @lm.evidence("dynamics")
    def rise(data, queries, attention="trained"):
        "Attention on relevant tokens at the last record less that at the first."
        ...

    lm.Claim("v8-rise", "Proposition 2", "ordering", gate=CONVERGED)
    .states("Attention on relevant tokens rises by at least 0.03.")
    .in_symbols(r"\alpha(T) - \alpha(0) \ge 0.03")
    .judged(rise(["relevant"]), lm.at_least(0.03, by="every"), lm.Control("frozen attention", attention="frozen"))

*Evidence* is a named function of the data sets it reads, with arguments. A *control* is the same evidence with an
argument changed, or, where no argument says it, other evidence; the same judge must get it right, which means the
opposite of the claim's own outcome unless said. A *gate* must be passed by the intact cells for anything to be decided.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, get_args

import numpy as np
import xarray as xr

from lemmata.lab.errors import UserError, require_text
from lemmata.lab.intervals import CannotFit
from lemmata.lab.looks import in_notebook
from lemmata.lab.precision import numerics

HOLDS, FAILS, INCONCLUSIVE = "holds", "fails", "inconclusive"
OUTCOMES = (HOLDS, FAILS, INCONCLUSIVE)
OPPOSITE = {HOLDS: FAILS, FAILS: HOLDS}
Kind = Literal["identity", "bound", "scaling", "ordering", "limit", "comparison"]
Source = Literal["paper", "figure", "corrected", "derived"]
KINDS, SOURCES = get_args(Kind), get_args(Source)
"""Who says so: the paper's text, one of its figures or tables, our correction of it, or what follows from it."""


class NotApplicable(Exception):
    """Raised by evidence that cannot be taken (not converged, censored, vacuous here): the verdict is inconclusive.

    raise lm.NotApplicable("no run has converged")
    """


@dataclass(frozen=True)
class Verdict:
    """An outcome with its evidence.

        verdict: lm.Verdict = lm.at_least(0.5)(values)
        verdict.outcome, verdict.measured

    `relation` is one of ==, <=, >=, in, increasing, decreasing; `measured` is the criterion with the least margin, the
    number that decided, and `statistic` what it is; `low` and `high` are the range over seeds of a worst seed, the
    interval of anything estimated; `rule` says who decides; `accept_low` and `accept_high` are the accepted range of
    the relation `in`, `accept_high` the tolerance of ==. `seeds`: how many entered, 0 for a fact, None if the judge
    was not told. `lost`: a value is not a number, or a cell failed.
    """

    outcome: str
    relation: str
    predicted: float | None = None
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""
    accept_low: float | None = None
    accept_high: float | None = None
    statistic: str = "none"
    rule: str = ""
    seeds: int | None = None
    lost: bool = False

    def _repr_html_(self) -> str:
        return in_notebook("verdict", self)


STATISTICS = ("worst seed", "mean", "median", "value", "share", "largest difference", "none")
Judge = Callable[[Any], Verdict]


@dataclass(frozen=True)
class Evidence:
    """A function of the data sets of the experiments it reads, with the values of its further arguments.

    taken: lm.Evidence = rise(["relevant"])  # `rise` was decorated with @lm.evidence("dynamics")
    """

    function: Callable[..., Any]
    reads: tuple[str, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    precision: str = ""

    @property
    def name(self) -> str:
        return self.function.__name__.strip("_")

    @property
    def words(self) -> str:
        """What it is: the first paragraph of the function's docstring."""
        return " ".join((inspect.getdoc(self.function) or "").split("\n\n")[0].split())

    def __call__(self, datasets: Mapping[str, xr.Dataset], seed: int = 0) -> Any:
        """Take it; a function with an argument `seed` is given that of `lemmata verify`."""
        given = [datasets[name] for name in self.reads]
        draws = {"seed": seed} if "seed" in inspect.signature(self.function).parameters else {}
        if not self.precision:
            return self.function(*given, **{**draws, **self.arguments})
        with numerics(self.precision):
            return self.function(*given, **{**draws, **self.arguments})

    def changed(self, **arguments: Any) -> Evidence:
        """The same with other values of some arguments."""
        unknown = arguments.keys() - self._parameters().keys()
        if unknown:
            raise UserError(f"The evidence {self.name} has no argument {sorted(unknown)[0]}.")
        return replace(self, arguments={**self.arguments, **arguments})

    def value(self, argument: str) -> Any:
        """The value of an argument, its default if none is given."""
        return self.arguments.get(argument, self._parameters()[argument].default)

    def _parameters(self) -> dict[str, inspect.Parameter]:
        """What may be given beside the data sets."""
        return dict(list(inspect.signature(self.function).parameters.items())[len(self.reads) :])


@dataclass(frozen=True)
class Reading:
    """What `evidence` makes of a function: called with the function's further arguments it gives `Evidence`."""

    function: Callable[..., Any]
    reads: tuple[str, ...]
    precision: str = ""

    def __call__(self, *values: Any, **arguments: Any) -> Evidence:
        found = Evidence(self.function, self.reads, {}, self.precision)
        names = [name for name, p in found._parameters().items() if p.kind is not p.KEYWORD_ONLY]
        return found.changed(**dict(zip(names, values, strict=False)), **arguments)

    def of(self, *reads: str) -> Reading:
        """The same of other experiments."""
        return replace(self, reads=reads)


def evidence(*reads: str, precision: str = "") -> Callable[[Callable[..., Any]], Reading]:
    """Declare evidence: the decorated function takes the data sets of these experiments, then its arguments.

        @lm.evidence("dynamics")
        def rise(data, attention="trained"):
            "The rise of the attention."
            path = lm.cells(data, attention=attention).concentration
            return lm.at_end(path) - path.isel(record=0)

    precision: that in which it computes with JAX, if it does. An argument `seed` is given by the laboratory, for
    evidence that draws random numbers of its own.
    """
    return lambda function: Reading(function, reads, precision)


def fact(function: Callable[..., Any]) -> Reading:
    """Declare evidence that reads no experiment.

    @lm.fact
    def exponent():
        "The exponent of the closed form."
        return lm.Estimate(-2.0, -2.0, -2.0)
    """
    return Reading(function, ())


class Control:
    """A case that the claim's judge must get right.

        lm.Control("frozen attention", attention="frozen")  # the claim's evidence with this argument changed
        lm.Control("an exact law", exact_law())  # other evidence

    `expected`: the outcome it must give, the opposite of the claim's if not given.
    """

    def __init__(self, case: str, other: Evidence | None = None, /, *, expected: str = "", **changed: Any) -> None:
        if (other is None) == (not changed):
            raise UserError(f"The control '{case}' needs an argument that is changed, or other evidence.")
        require_text("The case of a control", case)
        self.case, self.other, self.expected, self.changed = case, other, expected, changed

    def evidence(self, claimed: Evidence) -> Evidence:
        """What is judged in its place."""
        return self.other or claimed.changed(**self.changed)


@dataclass(frozen=True)
class Gate:
    """What must be so in the intact cells, in every run of the data sets that a claim's own evidence reads.

        lm.Gate("not converged", lambda data: data.last_loss < 0.01, {"attention": "trained"})

    `passed` maps a data set to a labelled array of booleans; `intact` are labels of axes (an axis that a data set
    lacks is left out), `reason` is the note of a claim that cannot be decided.
    """

    reason: str
    passed: Callable[[xr.Dataset], xr.DataArray]
    intact: Mapping[str, Any] = field(default_factory=dict)

    def check(self, data: xr.Dataset) -> None:
        """Refuse data of which the intact cells do not pass."""
        for axis, labels in self.intact.items():
            if axis in data.dims:
                wanted = [label for label in np.atleast_1d(labels) if label in data[axis].values]
                if not wanted:
                    raise NotApplicable(f"not in this preset: {axis} = {labels}")
                data = data.sel({axis: wanted})
        if not bool(self.passed(data).all()):
            raise NotApplicable(self.reason)


class Claim:
    r"""One statement of the paper, in words and in symbols, with what judges it.

        claim = (
            lm.Claim("v8-rise", "Proposition 2", "ordering")
            .states("Attention on relevant tokens rises.")
            .in_symbols(r"\Delta\alpha > 0.03")
            .judged(rise(), lm.at_least(0.03), lm.Control("frozen attention", attention="frozen"))
        )

    `name` begins with the specification's row id. `source`: paper, figure, corrected or derived; `corrects`: the claim
    that this one puts right; `gate`: what must be so before anything can be said.
    """

    statement = formula = ""
    expected = HOLDS
    evidence: Evidence
    judge: Judge
    controls: tuple[Control, ...]

    def __init__(
        self,
        name: str,
        reference: str,
        kind: Kind,
        *,
        source: Source | Literal[""] = "",
        corrects: str = "",
        gate: Gate | None = None,
    ) -> None:
        self.name, self.reference, self.kind, self.corrects, self.gate = name, reference, kind, corrects, gate
        require_text(f"The reference of the claim {name}", reference)
        self.source = source or ("corrected" if corrects else "paper")
        for what, value, allowed in (("kind", kind, KINDS), ("source", self.source, SOURCES)):
            if value not in allowed:
                raise UserError(f"The claim {name} has the {what} '{value}'; allowed: {', '.join(allowed)}.")

    def states(self, statement: str) -> Self:
        """In words; how they are broken into lines does not matter."""
        self.statement = " ".join(statement.split())
        return self

    def in_symbols(self, formula: str) -> Self:
        """As a formula: LaTeX without $ signs, of what is judged."""
        self.formula = " ".join(formula.split())
        return self

    def judged(self, evidence: Evidence, judge: Judge, *controls: Control, expected: str = HOLDS) -> Self:
        """By this judge of this evidence; `expected` is the outcome that the specification gives."""
        self.evidence, self.judge, self.controls, self.expected = evidence, judge, controls, expected
        if not isinstance(evidence, Evidence):
            raise UserError(
                f"The evidence of {self.name} is no evidence: decorate its function with @lm.evidence(...)."
            )
        if not callable(judge):
            raise UserError(f"The judge of {self.name} is {judge!r}, no judge: give lm.at_least(...) or a like one.")
        if expected not in OUTCOMES or not any(self.expected_of(control) != expected for control in controls):
            raise UserError(f"The claim {self.name} has no control that its judge must answer differently.")
        return self

    def __repr__(self) -> str:
        return f"Claim({self.name})"

    def _repr_html_(self) -> str:
        return in_notebook("claim", self)

    @property
    def reads(self) -> tuple[str, ...]:
        """The experiments that it and its controls read."""
        others = [name for control in self.controls for name in control.evidence(self.evidence).reads]
        return tuple(dict.fromkeys([*self.evidence.reads, *others]))

    def expected_of(self, control: Control) -> str:
        """The outcome that this control must give."""
        expected = control.expected or OPPOSITE.get(self.expected, "")
        if expected not in OUTCOMES:
            raise UserError(f"The control '{control.case}' of {self.name} does not say which outcome it must give.")
        return expected

    def changed_by(self, control: Control) -> dict[str, tuple[Any, Any]] | None:
        """Which arguments of the evidence the control changes, from what to what; None if it is other evidence."""
        if control.other is not None:
            return None
        return {name: (self.evidence.value(name), value) for name, value in control.changed.items()}


@dataclass(frozen=True)
class Finding:
    """What examining a claim gave: its verdict and every control's verdict."""

    claim: Claim
    verdict: Verdict
    controls: tuple[tuple[Control, Verdict], ...]

    @property
    def worst_control(self) -> tuple[Control, Verdict]:
        """The control that came out wrong, or the first."""
        wrong = [pair for pair in self.controls if pair[1].outcome != self.claim.expected_of(pair[0])]
        return (wrong or list(self.controls))[0]

    @property
    def as_expected(self) -> bool:
        control, verdict = self.worst_control
        return self.verdict.outcome == self.claim.expected and verdict.outcome == self.claim.expected_of(control)


def examine(claim: Claim, datasets: Mapping[str, xr.Dataset], seed: int = 0) -> Finding:
    """Judge the claim and its controls on these data sets; `seed` is for evidence that draws random numbers."""
    judge = functools.partial(_judge, claim, datasets, seed)
    controls = tuple((control, judge(control.evidence(claim.evidence))) for control in claim.controls)
    return Finding(claim, judge(claim.evidence), controls)


def _judge(claim: Claim, datasets: Mapping[str, xr.Dataset], seed: int, evidence: Evidence) -> Verdict:
    try:
        if claim.gate is not None:
            for name in claim.evidence.reads:
                claim.gate.check(datasets[name])
        verdict = claim.judge(_taken(evidence, datasets, seed))
    except (NotApplicable, CannotFit) as reason:
        return undecided(claim, str(reason))
    assert verdict.outcome in OUTCOMES
    assert verdict.statistic in STATISTICS
    if verdict.lost and any(_never_arrives(datasets[name]) for name in evidence.reads):
        # a ratio or an exponent of times has no value where a run never arrives (inf): nothing was lost
        verdict = replace(verdict, note=f"{verdict.note}: some runs never arrive", lost=False)
    seeds = verdict.seeds
    if seeds is None:
        seeds = max((datasets[name].sizes.get("seed", 0) for name in evidence.reads), default=0)
    return replace(verdict, note=verdict.note.strip(), rule=verdict.rule or rule_of(claim.judge), seeds=seeds)


def _taken(evidence: Evidence, datasets: Mapping[str, xr.Dataset], seed: int) -> Any:
    found = evidence({name: _unchanging(datasets[name]) for name in evidence.reads}, seed)
    if found is None or isinstance(found, str):
        raise TypeError(f"the evidence {evidence.name} gives {found!r}, no values")
    kind = getattr(found, "dtype", np.dtype(float))
    if kind.kind not in "fiub":
        raise TypeError(f"the evidence {evidence.name} gives values of type {kind}, no real numbers")
    return found


def _unchanging(data: xr.Dataset) -> xr.Dataset:
    """The same data for one evidence: what it does with them is not seen by the next, nor by whoever gave them."""
    return data.map(_read_only, keep_attrs=True)


def _read_only(values: xr.DataArray) -> xr.DataArray:
    view = values.to_numpy().view()
    view.flags.writeable = False
    return values.copy(data=view)


def _never_arrives(data: xr.Dataset) -> bool:
    return any(bool(np.isinf(values).any()) for values in data.data_vars.values())


def undecided(claim: Claim, reason: str, lost: bool = False) -> Verdict:
    """The verdict where nothing was judged; what its judge asks for is still said."""
    return replace(wanted_by(claim.judge), note=reason, rule=rule_of(claim.judge), seeds=0, lost=lost)


def rule_of(judge: Judge) -> str:
    """Who decides, in words."""
    return getattr(judge, "rule", "") or _own_words(judge)


def wanted_by(judge: Judge) -> Verdict:
    """The verdict before anything is measured: the relation, and the limits if they are one pair of numbers."""
    return getattr(judge, "wanted", Verdict(INCONCLUSIVE, "==", 0.0))


def words_of(judge: Judge) -> str:
    """What must be so, in words."""
    return getattr(judge, "words", "") or _own_words(judge)


def _own_words(judge: Judge) -> str:
    return (judge.__doc__ or "a rule of its own").strip().split("\n")[0]
