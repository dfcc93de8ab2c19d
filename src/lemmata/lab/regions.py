"""The region that a claim accepts, and how evidence is held against it: by whom it is decided and what is shown.

`lemmata.lab.judges` is the vocabulary that stands on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, NotApplicable, Verdict
from lemmata.lab.errors import UserError
from lemmata.lab.intervals import Estimate, mean_interval, median_interval, standard_error

RULES = {
    "interval": "95 % t interval over seeds",
    "mean": "mean over seeds",
    "median": "median over seeds",
    "clear": "mean over seeds with two standard errors to spare",
    "every": "every seed",
    "value": "value of the estimate",
}
"""Who decides, and how a row says it."""
Bound = float | Mapping[str, float]


@dataclass(frozen=True)
class Uncertain:
    """Evidence with its own standard error, for judges with `se`: labelled arrays without a dimension `seed`.

    lm.Uncertain(value, error)  # judged by lm.at_most(0.5, se=3)
    """

    value: xr.DataArray
    error: xr.DataArray


def _margin(verdict: Verdict) -> float:
    """How far inside the accepted region the measured value lies, relative to the size of the bounds."""
    if verdict.measured is None or math.isnan(verdict.measured):
        return -math.inf
    low = verdict.accept_low if verdict.accept_low is not None else verdict.predicted
    high = verdict.accept_high if verdict.accept_high is not None else verdict.predicted
    sides = []
    if verdict.relation in (">=", "in", "increasing") and low is not None:
        sides.append((verdict.measured - low) / (abs(low) or 1))
    if verdict.relation in ("<=", "in", "decreasing", "==") and high is not None:
        sides.append((high - verdict.measured) / (abs(high) or 1))
    return min(sides, default=0.0)


def combine(parts: list[tuple[str, Verdict]], fails_if: str) -> Verdict:
    """The verdict over several criteria: the one with the least margin is reported, all stand in the note."""
    if not parts:
        raise NotApplicable("there is nothing to compare")
    outcomes = [verdict.outcome for _, verdict in parts]
    failing = (FAILS in outcomes) if fails_if == "any" else all(outcome == FAILS for outcome in outcomes)
    outcome = FAILS if failing else HOLDS if all(o == HOLDS for o in outcomes) else INCONCLUSIVE
    rank = {FAILS: 0, INCONCLUSIVE: 1, HOLDS: 2}
    name, worst = min(parts, key=lambda part: (rank[part[1].outcome], _margin(part[1])))
    if len(parts) == 1:
        return worst if not name else Verdict(**{**worst.__dict__, "note": f"{name}: {worst.note}"})
    said = "; ".join(f"{label}: {verdict.note}" if label else verdict.note for label, verdict in parts)
    return Verdict(**{**worst.__dict__, "outcome": outcome, "note": said})


class Region:
    """The judge of `at_least`, `at_most` and `within`."""

    def __init__(
        self,
        relation: str,
        low: Bound,
        high: Bound,
        by: str,
        strict: bool,
        fails_if: str,
        predicted: float | None,
        se: float,
        floor: float,
    ) -> None:
        check_rule(by)
        for label in low if isinstance(low, Mapping) else high if isinstance(high, Mapping) else ("",):
            ends = self._limit(low, (f"={label}",)), self._limit(high, (f"={label}",))
            if not all(isinstance(end, (float, int, np.number)) for end in ends):
                raise UserError(f"A judge has the limits {ends[0]!r} and {ends[1]!r}; allowed are numbers.")
            if math.isnan(ends[0]) or math.isnan(ends[1]) or ends[0] > ends[1]:
                raise UserError(f"A judge has the limits {ends[0]:g} and {ends[1]:g}; the first may not be larger.")
        self.relation, self.low, self.high, self.by = relation, low, high, by
        self.strict, self.fails_if, self.predicted = strict, fails_if, predicted
        self.se, self.floor = se, floor

    def __call__(self, evidence: Any) -> Verdict:
        if isinstance(evidence, Uncertain):
            return self._in_standard_errors(evidence)
        assert not self.se, "a criterion in standard errors needs Uncertain evidence"
        if isinstance(evidence, Estimate):
            return self._estimate(evidence, ())
        if isinstance(evidence, Mapping):
            return combine([(name, self._estimate(evidence[name], (f"={name}",))) for name in evidence], self.fails_if)
        values = evidence if isinstance(evidence, xr.DataArray) else xr.DataArray(evidence)
        return self._each(values, self._decide)

    def _each(self, values: xr.DataArray, decide: Callable[[xr.DataArray, tuple[str, ...]], Verdict]) -> Verdict:
        """Decide every criterion, and all of them together."""
        dims = [str(dim) for dim in values.dims if dim != "seed"]
        entries = _entries(values, dims) if dims else [((), values)]
        return combine([(", ".join(labels), decide(entry, labels)) for labels, entry in entries], self.fails_if)

    def limits(self, label: str = "") -> tuple[float, float]:
        """The accepted range, of this label where there are several."""
        return self._limit(self.low, (f"={label}",)), self._limit(self.high, (f"={label}",))

    @property
    def words(self) -> str:
        labels = [label for bound in (self.low, self.high) if isinstance(bound, Mapping) for label in bound]
        if not labels:
            return self._wanted(*self.limits())
        return "; ".join(f"{label}: {self._wanted(*self.limits(label))}" for label in dict.fromkeys(labels))

    @property
    def rule(self) -> str:
        return f"{self.se:g} standard errors to spare" if self.se else RULES[self.by]

    @property
    def wanted(self) -> Verdict:
        """Where limits differ by label, no pair of numbers stands for all of them."""
        if isinstance(self.low, Mapping) or isinstance(self.high, Mapping):
            return Verdict(INCONCLUSIVE, self.relation, self.predicted, rule=self.rule)
        found = _Statistic("none", math.nan, rule=self.rule)
        return replace(self._verdict(INCONCLUSIVE, self.low, self.high, found), measured=None, note="")

    def _in_standard_errors(self, evidence: Uncertain) -> Verdict:
        """The value may lie beyond a limit by so many of its standard errors, or by the floor."""
        value, error = xr.broadcast(
            *(each.drop_vars("seed", errors="ignore") for each in (evidence.value, evidence.error))
        )
        both = xr.concat([value, error], "_part", coords="minimal", compat="override")
        return self._each(both.rename(_part="seed"), self._decide_in_errors)

    def _decide_in_errors(self, both: xr.DataArray, labels: tuple[str, ...]) -> Verdict:
        low, high = self._limit(self.low, labels), self._limit(self.high, labels)
        value, error = (float(number) for number in both.values)
        if math.isnan(value) or not error >= 0:
            return self._lost(low, high, "not measured")
        allowed = max(self.se * error, self.floor)
        outcome = HOLDS if self._inside(np.asarray([value]), low - allowed, high + allowed).all() else FAILS
        floor = f", at least {self.floor:g}" if self.floor else ""
        spare = f" to {self.se:g} standard errors of {error:.3g}{floor}"
        ends = value - self.se * error, value + self.se * error
        found = _Statistic("mean", value, *ends, self.rule, said="value")
        return self._verdict(outcome, low, high, found, spare)

    @staticmethod
    def _limit(bound: Bound, labels: tuple[str, ...]) -> float:
        if not isinstance(bound, Mapping):
            return bound
        known = [name for name in (label.partition("=")[2] for label in labels) if name in bound]
        if not known:
            raise KeyError(f"no bound for {', '.join(labels)}")
        return bound[known[0]]

    def _estimate(self, estimate: Estimate, labels: tuple[str, ...]) -> Verdict:
        assert self.by in ("interval", "value"), f"an estimate is decided by its interval or its value, not {self.by}"
        low, high = self._limit(self.low, labels), self._limit(self.high, labels)
        if math.isnan(estimate.value):
            return self._lost(low, high, "not measured")
        by_value = self.by == "value"
        outcome = self._of_range(np.asarray([estimate.value] if by_value else [estimate.low, estimate.high]), low, high)
        rule = RULES["value"] if by_value else "95 % interval of the estimate"
        said = "value" if estimate.statistic == "mean" else ""
        found = _Statistic(estimate.statistic, estimate.value, estimate.low, estimate.high, rule, said=said)
        return self._verdict(outcome, low, high, found)

    def _decide(self, values: xr.DataArray, labels: tuple[str, ...]) -> Verdict:
        low, high = self._limit(self.low, labels), self._limit(self.high, labels)
        seeds = np.atleast_1d(np.asarray(values.values, float))
        if seeds.size == 0 or np.isnan(seeds).any():
            return self._lost(low, high, "not measured in every seed")
        if "seed" not in values.dims:
            found = _Statistic("value", float(seeds[0]), rule="value")
            return self._verdict(HOLDS if self._inside(seeds, low, high).all() else FAILS, low, high, found)
        assert self.by != "value", "runs of several seeds have no single value"
        spare = ""
        if self.by == "every":
            worst = float(seeds[np.argmin(self._slack(seeds, low, high))])
            found = _Statistic("worst seed", worst, float(seeds.min()), float(seeds.max()), self.rule, seeds.size)
            outcome = HOLDS if self._inside(seeds, low, high).all() else FAILS
        else:
            estimate = median_interval(seeds) if self.by == "median" else mean_interval(seeds)
            ends = np.asarray([estimate.low, estimate.high])
            if self.by in ("mean", "median"):
                outcome = HOLDS if self._inside(np.asarray([estimate.value]), low, high).all() else FAILS
            else:
                if self.by == "clear":
                    half = 2 * standard_error(seeds)
                    ends = np.asarray([estimate.value - half, estimate.value + half])
                    spare = f", twice the standard error {half:.4g}"
                outcome = self._of_range(ends, low, high)
            name = "median" if self.by == "median" else "mean"
            found = _Statistic(name, estimate.value, float(ends[0]), float(ends[1]), self.rule, seeds.size)
        return self._verdict(outcome, low, high, found, spare)

    def _of_range(self, ends: np.ndarray, low: float, high: float) -> str:
        """Holds if all of a range lies inside, fails if none of it does."""
        if self._inside(ends, low, high).all():
            return HOLDS
        outside = ends[-1] < low or ends[0] > high or (self.strict and (ends[-1] == low or ends[0] == high))
        return FAILS if outside else INCONCLUSIVE

    def _inside(self, values: np.ndarray, low: float, high: float) -> np.ndarray:
        if not self.strict:
            return (values >= low) & (values <= high)
        return ((values > low) | (low == -math.inf)) & ((values < high) | (high == math.inf))

    @staticmethod
    def _slack(values: np.ndarray, low: float, high: float) -> np.ndarray:
        above = values - low if low > -math.inf else math.inf
        below = high - values if high < math.inf else math.inf
        return np.minimum(above, below)

    def _wanted(self, low: float, high: float) -> str:
        relation = {">=": f"{'>' if self.strict else '≥'} {low:.4g}", "<=": f"{'<' if self.strict else '≤'} {high:.4g}"}
        return relation.get(self.relation, f"in [{low:.4g}, {high:.4g}]")

    def _lost(self, low: float, high: float, why: str) -> Verdict:
        """What is not a number satisfies nothing."""
        lost = self._verdict(INCONCLUSIVE, low, high, _Statistic("none", math.nan, rule=self.rule))
        return replace(lost, note=why, lost=True)

    def _verdict(self, outcome: str, low: float, high: float, found: _Statistic, spare: str = "") -> Verdict:
        ranged = self.relation == "in"
        return Verdict(
            outcome,
            self.relation,
            self.predicted if ranged else (low if self.relation == ">=" else high),
            found.value,
            *found.ends(),
            f"{found.words()}, claimed {self._wanted(low, high)}{spare}",
            low if ranged else None,
            high if ranged else None,
            found.name,
            found.rule,
            found.seeds,
        )


@dataclass(frozen=True)
class _Statistic:
    """The number that decides, with its own interval or its range over seeds; how many seeds it is of, if known."""

    name: str
    value: float
    low: float = -math.inf
    high: float = math.inf
    rule: str = ""
    seeds: int | None = None
    said: str = ""
    """how a note calls it, if not by its name"""

    def ends(self) -> tuple[float | None, float | None]:
        """None where there is none: a single run has no spread."""
        if self.seeds == 1:
            return None, None
        return (self.low if self.low > -math.inf else None), (self.high if self.high < math.inf else None)

    def words(self) -> str:
        low, high = self.ends()
        if low is None and high is None:
            return f"{self.said or self.name} {self.value:.4g}"
        said = [("-∞" if low is None else f"{low:.4g}"), ("∞" if high is None else f"{high:.4g}")]
        if self.name == "worst seed":
            return f"worst seed {self.value:.4g}, all in [{', '.join(said)}]"
        return f"{self.said or self.name} {self.value:.4g} [{', '.join(said)}]"


def check_rule(by: str) -> None:
    if by not in RULES:
        raise UserError(f"A judge decides by '{by}'; allowed: {', '.join(RULES)}.")


def _entries(values: xr.DataArray, dims: list[str]) -> list[tuple[tuple[str, ...], xr.DataArray]]:
    """Every combination of the non-seed coordinates with its slice."""
    stacked = values.stack(_entry=dims)
    entries = []
    for i in range(stacked.sizes["_entry"]):
        entry = stacked.isel(_entry=i)
        labels = tuple(
            f"{dim}={v:.4g}" if isinstance(v := entry.coords[dim].item(), float) else f"{dim}={v}" for dim in dims
        )
        entries.append((labels, entry.drop_vars([*dims, "_entry"], errors="ignore")))
    return entries
