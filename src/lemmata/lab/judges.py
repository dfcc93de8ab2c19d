"""Judges: the small vocabulary in which claims are decided.

A judge takes evidence, a labelled array whose dimension `seed` is resampled and whose other dimensions are separate
criteria that must all be met, and returns a verdict. Who decides is named by `by`:

- "interval": holds if the whole 95 % t interval over seeds meets the condition, fails if none of it does, else
  inconclusive (the design's default rule, and the default of every judge);
- "mean", "median": the seed mean or median decides, the interval is reported beside it;
- "clear": the seed mean with two standard errors to spare; inconclusive if that range straddles the limit;
- "every": every seed must meet the condition, the worst one is reported;
- "value": of an `Estimate` (a slope, a share), its value decides and its interval is reported beside it.

Evidence without a `seed` dimension is one number and decides by its value. Evidence in standard errors is `Uncertain`:
`at_most(0.5, se=3)` lets the value exceed 0.5 by three of its standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, Judge, NotApplicable, Verdict
from lemmata.lab.errors import UserError
from lemmata.lab.intervals import Estimate, mean_interval, median_interval, standard_error

RULES = ("interval", "mean", "median", "clear", "every", "value")
Bound = float | Mapping[str, float]
Range = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Uncertain:
    """Evidence with its own standard error, for judges with `se`: labelled arrays without a dimension `seed`."""

    value: xr.DataArray
    error: xr.DataArray


def at_least(
    bound: Bound, by: str = "interval", *, strict: bool = False, fails_if: str = "any", se: float = 0, floor: float = 0
) -> Judge:
    """Every criterion is >= bound (> if strict). A mapping gives one bound per label of the evidence's dimension.

    se: of `Uncertain` evidence, how many standard errors it may lie beyond the bound, or `floor` where that is more.
    fails_if: with "all", the claim fails only if every criterion does; some that do make it inconclusive.
    """
    return Region(">=", bound, math.inf, by, strict, fails_if, None, se, floor)


def at_most(
    bound: Bound, by: str = "interval", *, strict: bool = False, fails_if: str = "any", se: float = 0, floor: float = 0
) -> Judge:
    """Every criterion is <= bound (< if strict); otherwise like `at_least`."""
    return Region("<=", -math.inf, bound, by, strict, fails_if, None, se, floor)


def within(
    low: float | Range,
    high: float | None = None,
    by: str = "interval",
    *,
    predicted: float | None = None,
    se: float = 0,
    floor: float = 0,
) -> Judge:
    """Every criterion lies in [low, high]; or, with a mapping {label: (low, high)}, in the range of its label."""
    if isinstance(low, Mapping):
        lows, highs = ({label: ends[i] for label, ends in low.items()} for i in (0, 1))
        return Region("in", lows, highs, by, False, "any", predicted, se, floor)
    if high is None:
        raise UserError("The judge within needs both ends, or a mapping from labels to ends.")
    return Region("in", low, high, by, False, "any", predicted, se, floor)


def increasing(along: str, by: str = "interval", *, slack: float | None = None) -> Judge:
    """The values rise along a dimension: each step > 0, or >= -slack where a slack is given."""
    return Monotone("increasing", along, by, slack)


def decreasing(along: str, by: str = "interval", *, slack: float | None = None) -> Judge:
    """The values fall along a dimension."""
    return Monotone("decreasing", along, by, slack)


def equal(tolerance: float, *, relative: bool = False) -> Judge:
    """Two paths agree: evidence is {"measured": array, "predicted": array}; 0 means to the bit."""
    if not tolerance >= 0:
        raise UserError(f"The judge equal has the tolerance {tolerance}; allowed is a number at least 0.")

    def judge(evidence: Mapping[str, Any]) -> Verdict:
        measured, predicted = np.broadcast_arrays(
            np.asarray(evidence["measured"], float), np.asarray(evidence["predicted"], float)
        )
        if measured.size == 0:
            raise NotApplicable("there is nothing to compare")
        if np.isnan(measured).any() or np.isnan(predicted).any():
            raise NotApplicable("not measured everywhere")
        with np.errstate(all="ignore"):
            error = np.abs(measured - predicted) / (np.abs(predicted) if relative else 1)
        # inf - inf and 0 / 0 are no difference, inf / inf is a large one
        error = np.where(measured == predicted, 0.0, np.where(np.isnan(error), np.inf, error))
        worst = np.unravel_index(np.argmax(error), error.shape)
        largest = float(error[worst])
        outcome = HOLDS if largest <= tolerance else FAILS
        kind = "relative " if relative else ""
        note = f"largest {kind}difference {largest:.3g}, allowed {tolerance:.3g}, over {error.size} values"
        value = float(measured[worst])
        return Verdict(outcome, "==", float(predicted[worst]), value, value, value, note)

    return judge


def all_of(**judges: Judge) -> Judge:
    """Several criteria, each on its own part of the evidence (a mapping with the same names); all must hold."""
    return AllOf(judges)


@dataclass(frozen=True)
class AllOf:
    """The judge of `all_of`."""

    judges: Mapping[str, Judge]

    def __call__(self, evidence: Mapping[str, Any]) -> Verdict:
        return _combine([(name, judge(evidence[name])) for name, judge in self.judges.items()], "any")


def stating(judge: Judge) -> Judge:
    """The judge of evidence that comes with words, (evidence, words): they stand in its note."""
    return Stating(judge)


@dataclass(frozen=True)
class Stating:
    """The judge of `stating`."""

    judge: Judge

    def __call__(self, stated: tuple[Any, str]) -> Verdict:
        evidence, words = stated
        verdict = self.judge(evidence)
        return replace(verdict, note=f"{verdict.note}; {words}")


def level_of(judge: Judge, part: str = "", label: str = "") -> tuple[float, float]:
    """The limits of a judge: of one part of `all_of`, of one label where there are limits by label."""
    if isinstance(judge, Stating):
        return level_of(judge.judge, part, label)
    if isinstance(judge, AllOf):
        return level_of(judge.judges[part], "", label)
    if not isinstance(judge, Region):
        raise TypeError(f"{judge} has no level that could be drawn")
    return judge.limits(label)


def _margin(verdict: Verdict) -> float:
    """How far inside the accepted region the measured value lies, relative to the size of the bounds."""
    if verdict.measured is None or math.isnan(verdict.measured):
        return -math.inf
    low = verdict.accept_low if verdict.accept_low is not None else verdict.predicted
    high = verdict.accept_high if verdict.accept_high is not None else verdict.predicted
    sides = []
    if verdict.relation in (">=", "in", "increasing") and low is not None:
        sides.append((verdict.measured - low) / (abs(low) or 1))
    if verdict.relation in ("<=", "in", "decreasing") and high is not None:
        sides.append((high - verdict.measured) / (abs(high) or 1))
    return min(sides, default=0.0)


def _combine(parts: list[tuple[str, Verdict]], fails_if: str) -> Verdict:
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
        _check_rule(by)
        for label in low if isinstance(low, Mapping) else high if isinstance(high, Mapping) else ("",):
            ends = self._limit(low, (f"={label}",)), self._limit(high, (f"={label}",))
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
            return _combine([(name, self._estimate(evidence[name], (f"={name}",))) for name in evidence], self.fails_if)
        values = evidence if isinstance(evidence, xr.DataArray) else xr.DataArray(evidence)
        return self._each(values, self._decide)

    def _each(self, values: xr.DataArray, decide: Callable[[xr.DataArray, tuple[str, ...]], Verdict]) -> Verdict:
        """Decide every criterion, and all of them together."""
        dims = [str(dim) for dim in values.dims if dim != "seed"]
        entries = _entries(values, dims) if dims else [((), values)]
        return _combine([(", ".join(labels), decide(entry, labels)) for labels, entry in entries], self.fails_if)

    def limits(self, label: str = "") -> tuple[float, float]:
        """The accepted range, of this label where there are several."""
        return self._limit(self.low, (f"={label}",)), self._limit(self.high, (f"={label}",))

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
            return self._verdict(INCONCLUSIVE, low, high, math.nan, None, "not measured")
        allowed = max(self.se * error, self.floor)
        outcome = HOLDS if self._inside(np.asarray([value]), low - allowed, high + allowed).all() else FAILS
        estimate = Estimate(value, value - self.se * error, value + self.se * error)
        floor = f", at least {self.floor:g}" if self.floor else ""
        note = (
            f"{self._words(value, estimate, low, high, 'value')} to {self.se:g} standard errors of {error:.3g}{floor}"
        )
        return self._verdict(outcome, low, high, value, estimate, note)

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
            return self._verdict(INCONCLUSIVE, low, high, math.nan, estimate, "not measured")
        ends = [estimate.value] if self.by == "value" else [estimate.low, estimate.high]
        outcome = self._of_range(np.asarray(ends), low, high)
        words = self._words(estimate.value, estimate, low, high, "value")
        return self._verdict(outcome, low, high, estimate.value, estimate, words)

    def _decide(self, values: xr.DataArray, labels: tuple[str, ...]) -> Verdict:
        low, high = self._limit(self.low, labels), self._limit(self.high, labels)
        seeds = np.atleast_1d(np.asarray(values.values, float))
        has_seeds = "seed" in values.dims
        estimate = None
        if has_seeds:
            estimate = median_interval(seeds) if self.by == "median" else mean_interval(seeds)
        if seeds.size == 0 or np.isnan(seeds).any():
            return self._verdict(INCONCLUSIVE, low, high, math.nan, estimate, "not measured in every seed")
        inside = self._inside(seeds, low, high)
        if not has_seeds:
            point, outcome = float(seeds[0]), HOLDS if inside.all() else FAILS
        elif self.by == "every":
            point = float(seeds[np.argmin(self._slack(seeds, low, high))])
            outcome = HOLDS if inside.all() else FAILS
        elif self.by in ("mean", "median"):
            point = float(np.mean(seeds) if self.by == "mean" else np.median(seeds))
            outcome = HOLDS if self._inside(np.asarray([point]), low, high).all() else FAILS
        else:
            assert estimate is not None
            assert self.by != "value", "runs of several seeds have no single value"
            point = estimate.value
            ends = np.asarray([estimate.low, estimate.high])
            if self.by == "clear":
                half = 2 * standard_error(seeds)
                ends = np.asarray([point - half, point + half] if np.isfinite(half) else [-math.inf, math.inf])
            outcome = self._of_range(ends, low, high)
        note = self._words(point, estimate, low, high)
        if self.by == "clear" and has_seeds:
            note += f", twice the standard error {2 * standard_error(seeds):.4g}"
        return self._verdict(outcome, low, high, point, estimate, note)

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

    def _words(self, point: float, estimate: Any, low: float, high: float, who: str = "mean") -> str:
        if estimate is None:
            found = f"value {point:.4g}"
        elif self.by == "every" and who == "mean":
            found = f"worst seed {point:.4g} (mean {estimate.value:.4g} [{estimate.low:.4g}, {estimate.high:.4g}])"
        else:
            who = "median" if self.by == "median" else who
            found = f"{who} {point:.4g} [{estimate.low:.4g}, {estimate.high:.4g}]"
        relation = {">=": f"{'>' if self.strict else '≥'} {low:.4g}", "<=": f"{'<' if self.strict else '≤'} {high:.4g}"}
        wanted = relation.get(self.relation, f"in [{low:.4g}, {high:.4g}]")
        return f"{found}, claimed {wanted}"

    def _verdict(self, outcome: str, low: float, high: float, point: float, estimate: Any, note: str) -> Verdict:
        ranged = self.relation == "in"
        predicted = self.predicted if ranged else (low if self.relation == ">=" else high)
        return Verdict(
            outcome,
            self.relation,
            predicted,
            point,
            estimate.low if estimate is not None else None,
            estimate.high if estimate is not None else None,
            note,
            low if ranged else None,
            high if ranged else None,
        )


class Monotone:
    """The judge of `increasing` and `decreasing`: the smallest step between neighbours decides."""

    def __init__(self, relation: str, along: str, by: str, slack: float | None) -> None:
        _check_rule(by)
        self.relation, self.along, self.by, self.slack = relation, along, by, slack

    def __call__(self, values: xr.DataArray) -> Verdict:
        sign = 1 if self.relation == "increasing" else -1
        least = -self.slack if self.slack else 0.0
        by = self.by
        if by == "median" and "seed" in values.dims:
            # the steps of the medians, not the medians of the steps
            values, by = values.median("seed", skipna=False), "mean"
        before, after = (values.isel({self.along: part}) for part in (slice(None, -1), slice(1, None)))
        with np.errstate(invalid="ignore"):
            # two cells that never arrive (inf) are equal
            change = np.where(after.values == before.values, 0.0, after.values - before.values)
        steps = at_least(least, by, strict=self.slack is None)(sign * after.copy(data=change))
        path = values.mean([dim for dim in values.dims if dim != self.along]).values
        note = f"{self.by} along {self.along}: {', '.join(f'{value:.4g}' for value in np.atleast_1d(path))}"
        low, high = [None if end is None else sign * end for end in (steps.low, steps.high)][::sign]
        measured = None if steps.measured is None else sign * steps.measured
        return Verdict(steps.outcome, self.relation, sign * least + 0.0, measured, low, high, note)


def _check_rule(by: str) -> None:
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
