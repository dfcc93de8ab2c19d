"""Numbers as a reader wants them: integers as integers, few digits, powers of ten written as such."""

from __future__ import annotations

import math
import re

from lemmata.lab.rows import Row

THIN = "\N{NARROW NO-BREAK SPACE}"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SCIENTIFIC = re.compile(r"(?<![\w.])(-?\d(?:\.\d+)?)e([+-]\d+)(?!\w|\.\d)")
NEGATIVE = re.compile(r"(?<![\w)\]}*'′’-])-(?=\.?\d)")
STATISTICS = {
    "worst seed": "worst of {}",
    "mean": "mean over {}",
    "median": "median over {}",
    "share": "share of {}",
    "value": "a single value",
    "largest difference": "largest difference",
    "none": "",
}


def number(value: float | None, digits: int = 4) -> str:
    """Up to `digits` significant digits; integers in full, very large and very small numbers with a power of ten."""
    if value is None or not math.isfinite(value):
        return ""
    if value == int(value) and abs(value) < 1e9:
        return _grouped(int(value))
    if 1e-3 <= abs(value) < 1e6:
        decimals = digits - 1 - math.floor(math.log10(abs(value)))
        if decimals <= 0:
            return _grouped(round(value))
        text = f"{value:.{decimals}f}"
        return _minus(text.rstrip("0").rstrip("."))
    return _power(f"{value:.{digits - 1}e}")


def _grouped(value: int) -> str:
    plain = f"{value:,}" if abs(value) >= 10_000 else str(value)
    return _minus(plain.replace(",", THIN))


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _power(text: str) -> str:
    mantissa, _, exponent = text.partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    raised = str(int(exponent)).translate(RAISED)
    return f"{_minus(mantissa)}·10{raised}" if mantissa not in ("1", "-1") else f"{_minus(mantissa[:-1])}10{raised}"


def in_words(text: str) -> str:
    """A sentence whose numbers are written by `number` where a program wrote 1.03e+04, and with − where it wrote -."""
    return NEGATIVE.sub("−", SCIENTIFIC.sub(lambda found: number(float(found[0])), text))


def interval(low: float | None, high: float | None) -> str:
    """[low, high]; what has no end says so."""
    return f"[{number(low) or '−∞'}, {number(high) or '∞'}]"


def measured(row: Row) -> str:
    """The number that decided, with its interval or range where it has one."""
    if row.measured is None:
        return ""
    if row.low is None or row.high is None or row.low == row.high:
        return number(row.measured)
    return f"{number(row.measured)} {interval(row.low, row.high)}"


def claimed(row: Row) -> str:
    """What the number must be."""
    if row.relation == "in" and row.accept_low is not None and row.accept_low == row.accept_high:
        return f"= {number(row.accept_low)}"
    if row.relation == "in" and row.accept_low is None and row.accept_high is None:
        return ""
    if row.relation == "in":
        return f"in {interval(row.accept_low, row.accept_high)}"
    if row.relation in ("increasing", "decreasing"):
        return row.relation
    if row.relation == "==":
        if row.accept_high is None:
            return ""
        return f"equal within {number(row.accept_high)}" if row.accept_high else "exactly equal"
    signs = {">=": "≥", "<=": "≤"}
    return f"{signs[row.relation]} {number(row.predicted)}" if row.predicted is not None else ""


def statistic(row: Row) -> str:
    """What the number is: the worst of 5 seeds, a mean over them, ..."""
    if row.measured is None:
        return ""
    seeds = f"{row.seeds} seed{'s' * (row.seeds != 1)}" if row.seeds else "all cases"
    return STATISTICS.get(row.statistic, row.statistic).format(seeds)


def decided_by(row: Row) -> str:
    """What the number is and which rule decided by it, without saying the same twice."""
    number_is, rule = statistic(row), row.rule
    if row.statistic in ("none", "largest difference") or not number_is:
        return rule
    return number_is if rule in (row.statistic, f"{row.statistic} over seeds") else f"{number_is}; rule: {rule}"


def duration(seconds: float) -> str:
    """4.2 s, 3 min, 1 h 20 min."""
    if seconds < 0.05:
        return f"under 0.1{THIN}s"
    if seconds < 60:
        return f"{seconds:.1f}{THIN}s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes}{THIN}min"
    return f"{minutes // 60}{THIN}h {minutes % 60}{THIN}min"
