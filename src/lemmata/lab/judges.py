"""Judges: the small vocabulary in which claims are decided.

A judge takes evidence, a labelled array whose dimension `seed` is resampled and whose other dimensions are separate
criteria that must all be met, and returns a verdict. Who decides is named by `by`:

- "interval": holds if the whole 95 % t interval over seeds meets the condition, fails if none of it does, else
  inconclusive (the design's default rule, and the default of every judge);
- "mean", "median": the seed mean or median decides, the interval is reported beside it;
- "clear": the seed mean with two standard errors to spare; inconclusive if that range straddles the limit;
- "every": every seed must meet the condition, the worst one is reported with the range over seeds;
- "value": of an `Estimate` (a slope, a share), its value decides and its interval is reported beside it.

What decides is what a verdict shows: the statistic, its own interval or range, and the rule in words.
Evidence without a `seed` dimension is one number and decides by its value. Evidence in standard errors is `Uncertain`:
`at_most(0.5, se=3)` lets the value exceed 0.5 by three of its standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, Judge, NotApplicable, Verdict, rule_of, wanted_by, words_of
from lemmata.lab.errors import UserError
from lemmata.lab.regions import RULES, Bound, Region, check_rule, combine

Rule = Literal["interval", "mean", "median", "clear", "every", "value"]
Range = Mapping[str, tuple[float, float]]


def at_least(
    bound: Bound, by: Rule = "interval", *, strict: bool = False, fails_if: str = "any", se: float = 0, floor: float = 0
) -> Judge:
    """Every criterion is >= bound (> if strict). A mapping gives one bound per label of the evidence's dimension.

        lm.at_least(0.9, by="every")

    se: of `Uncertain` evidence, how many standard errors it may lie beyond the bound, or `floor` where that is more.
    fails_if: with "all", the claim fails only if every criterion does; some that do make it inconclusive.
    """
    return Region(">=", bound, math.inf, by, strict, fails_if, None, se, floor)


def at_most(
    bound: Bound, by: Rule = "interval", *, strict: bool = False, fails_if: str = "any", se: float = 0, floor: float = 0
) -> Judge:
    """Every criterion is <= bound (< if strict); otherwise like `at_least`.

    lm.at_most(0.05)
    """
    return Region("<=", -math.inf, bound, by, strict, fails_if, None, se, floor)


def within(
    low: float | Range,
    high: float | None = None,
    by: Rule = "interval",
    *,
    predicted: float | None = None,
    se: float = 0,
    floor: float = 0,
) -> Judge:
    """Every criterion lies in [low, high]; or, with a mapping {label: (low, high)}, in the range of its label.

    lm.within(-2.2, -1.8)
    """
    if isinstance(low, Mapping):
        lows, highs = ({label: ends[i] for label, ends in low.items()} for i in (0, 1))
        return Region("in", lows, highs, by, False, "any", predicted, se, floor)
    if high is None:
        raise UserError("The judge within needs both ends, or a mapping from labels to ends.")
    return Region("in", low, high, by, False, "any", predicted, se, floor)


def increasing(along: str, by: Rule = "interval", *, slack: float | None = None) -> Judge:
    """The values rise along a dimension: each step > 0, or >= -slack where a slack is given.

    lm.increasing("samples", by="mean")
    """
    return Monotone("increasing", along, by, slack)


def decreasing(along: str, by: Rule = "interval", *, slack: float | None = None) -> Judge:
    """The values fall along a dimension: `lm.decreasing("samples")`; otherwise like `lm.increasing`."""
    return Monotone("decreasing", along, by, slack)


def equal(tolerance: float, *, relative: bool = False) -> Judge:
    """Two paths agree: evidence is {"measured": array, "predicted": array}; 0 means to the bit.

    lm.equal(1e-6, relative=True)
    """
    if not tolerance >= 0:
        raise UserError(f"The judge equal has the tolerance {tolerance}; allowed is a number at least 0.")
    return Equal(tolerance, relative)


@dataclass(frozen=True)
class Equal:
    """The judge of `equal`: the largest difference decides."""

    tolerance: float
    relative: bool

    @property
    def words(self) -> str:
        return f"equal to {self.tolerance:g}{' of the value' * self.relative}" if self.tolerance else "equal to the bit"

    @property
    def rule(self) -> str:
        return f"largest {'relative ' * self.relative}difference over all values"

    @property
    def wanted(self) -> Verdict:
        return Verdict(INCONCLUSIVE, "==", 0.0, accept_high=self.tolerance, rule=self.rule)

    def __call__(self, evidence: Mapping[str, Any]) -> Verdict:
        measured, predicted = np.broadcast_arrays(
            np.asarray(evidence["measured"], float), np.asarray(evidence["predicted"], float)
        )
        if measured.size == 0:
            raise NotApplicable("there is nothing to compare")
        if np.isnan(measured).any() or np.isnan(predicted).any():
            return replace(self.wanted, note="not measured everywhere", lost=True)
        with np.errstate(all="ignore"):
            error = np.abs(measured - predicted) / (np.abs(predicted) if self.relative else 1)
        # inf - inf and 0 / 0 are no difference, inf / inf is a large one
        error = np.where(measured == predicted, 0.0, np.where(np.isnan(error), np.inf, error))
        worst = np.unravel_index(np.argmax(error), error.shape)
        largest = float(error[worst])
        kind = "relative " * self.relative
        note = f"largest {kind}difference {largest:.3g}, allowed {self.tolerance:.3g}, over {error.size} values"
        if largest:
            note += f" (there {measured[worst]:.6g} and {predicted[worst]:.6g})"
        return Verdict(
            HOLDS if largest <= self.tolerance else FAILS,
            "==",
            predicted=0.0,
            measured=largest,
            note=note,
            accept_high=self.tolerance,
            statistic="largest difference",
            rule=self.rule,
        )


def all_of(**judges: Judge) -> Judge:
    """Several criteria, each on its own part of the evidence (a mapping with the same names); all must hold.

    lm.all_of(exponent=lm.within(-2.2, -1.8), fit=lm.at_least(0.9))
    """
    return AllOf(judges)


@dataclass(frozen=True)
class AllOf:
    """The judge of `all_of`."""

    judges: Mapping[str, Judge]

    @property
    def words(self) -> str:
        return "; ".join(f"{name}: {words_of(judge)}" for name, judge in self.judges.items())

    @property
    def rule(self) -> str:
        return "; ".join(f"{name}: {rule_of(judge)}" for name, judge in self.judges.items())

    @property
    def wanted(self) -> Verdict:
        return wanted_by(next(iter(self.judges.values())))

    def __call__(self, evidence: Mapping[str, Any]) -> Verdict:
        return combine([(name, judge(evidence[name])) for name, judge in self.judges.items()], "any")


def stating(judge: Judge) -> Judge:
    """The judge of evidence that comes with words, (evidence, words): they stand in its note.

    lm.stating(lm.at_least(0.9))  # of evidence like (values, "without the smallest graph")
    """
    return Stating(judge)


@dataclass(frozen=True)
class Stating:
    """The judge of `stating`."""

    judge: Judge

    @property
    def words(self) -> str:
        return words_of(self.judge)

    @property
    def rule(self) -> str:
        return rule_of(self.judge)

    @property
    def wanted(self) -> Verdict:
        return wanted_by(self.judge)

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


class Monotone:
    """The judge of `increasing` and `decreasing`: the smallest step between neighbours decides."""

    def __init__(self, relation: str, along: str, by: Rule, slack: float | None) -> None:
        check_rule(by)
        if not isinstance(along, str):
            raise UserError(f"The judge {relation} goes along {along!r}; give the name of a dimension.")
        if slack is not None and not slack >= 0:
            raise UserError(f"The judge {relation} has the slack {slack}; allowed is a number at least 0.")
        self.relation, self.along, self.slack = relation, along, slack
        self.by: Rule = by

    def __call__(self, values: xr.DataArray) -> Verdict:
        sign = 1 if self.relation == "increasing" else -1
        least = -self.slack if self.slack else 0.0
        by: Rule = self.by
        if by == "median" and "seed" in values.dims:
            # the steps of the medians, not the medians of the steps
            values = values.median("seed", skipna=False)
            by = "mean"
        before, after = (values.isel({self.along: part}) for part in (slice(None, -1), slice(1, None)))
        with np.errstate(invalid="ignore"):
            # two cells that never arrive (inf) are equal
            change = np.where(after.values == before.values, 0.0, after.values - before.values)
        steps = at_least(least, by, strict=self.slack is None)(sign * after.copy(data=change))
        path = values.mean([dim for dim in values.dims if dim != self.along]).values
        note = f"{self.by} along {self.along}: {', '.join(f'{value:.4g}' for value in np.atleast_1d(path))}"
        low, high = [None if end is None else sign * end for end in (steps.low, steps.high)][::sign]
        return replace(
            steps,
            relation=self.relation,
            predicted=sign * least + 0.0,
            measured=None if steps.measured is None else sign * steps.measured,
            low=low,
            high=high,
            note=note,
            statistic="median" if self.by == "median" and not steps.lost else steps.statistic,
            rule=self.rule,
        )

    @property
    def words(self) -> str:
        slack = f", but for steps back of at most {self.slack:g}" if self.slack else ""
        return f"{self.relation} along {self.along}{slack}"

    @property
    def rule(self) -> str:
        return f"the smallest step: {RULES[self.by]}"

    @property
    def wanted(self) -> Verdict:
        least = (self.slack or 0.0) * (-1 if self.relation == "increasing" else 1)
        return Verdict(INCONCLUSIVE, self.relation, least, rule=self.rule)
