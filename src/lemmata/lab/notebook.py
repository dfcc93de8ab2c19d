"""What a notebook shows of settings, theories, claims, verdicts and runs: small tables, everything escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from lemmata.lab.declarations import spell
from lemmata.lab.page.formulas import prose, show

if TYPE_CHECKING:
    from lemmata.lab.bounds import Bound
    from lemmata.lab.claims import Claim, Verdict
    from lemmata.lab.replications import Replication
    from lemmata.lab.rows import Row
    from lemmata.lab.setting import Setting
    from lemmata.lab.theory import Experiment, Theory
    from lemmata.lab.trained import Trained

COLOURS = {"holds": "#0072b2", "fails": "#b34700", "inconclusive": "#6b6b6b"}
CELL = "text-align:left;vertical-align:top"


class Html(str):
    """Text that is HTML already."""


def setting(shown: Setting) -> str:
    """The fields that differ from their defaults first, the others folded away."""
    declared, changed = shown.declarations(), shown.changed()
    head = ["field", "symbol", "value", "default", "meaning"]

    def rows(names: Iterable[str]) -> list[list[Any]]:
        return [
            [Html(f"<code>{escape(name)}</code>"), declared[name].symbol, _value(getattr(shown, name)),
             _value(declared[name].default), declared[name].meaning]
            for name in names
        ]  # fmt: skip

    others = [name for name in declared if name not in changed]
    first = table(head, rows(changed)) if changed else "<p>Every field has its default.</p>"
    module = type(shown).__module__.removesuffix(".setting").rpartition(".")[2]
    title = _title(type(shown).__name__, "" if module == "__main__" else module)
    warned = "".join(f"<p>⚠ {escape(sentence)}</p>" for sentence in shown.warnings())
    return f"{title}{first}{warned}{_folded(f'{len(others)} fields with their defaults', table(head, rows(others)))}"


def theory(shown: Theory) -> str:
    """The card, and what there is to run and to verify."""
    card = shown.card
    text = f"{_title(card['title'], card['authors'])}<p><b>{prose(card['question'])}</b> {prose(card['answer'])}</p>"
    claims = [[_code(c.name), c.reference, c.statement, c.expected] for c in shown.claims.values()]
    experiments = [[_code(e.name), e.reference, e.question] for e in shown.experiments.values()]
    bounds = [[_code(b.name), b.reference, _first_line(b.function.__doc__)] for b in shown.bounds.values()]
    parts = (
        ("claims", table(["claim", "reference", "statement", "expected"], claims), claims),
        ("experiments", table(["experiment", "reference", "question"], experiments), experiments),
        ("bounds", table(["bound", "reference", "formula"], bounds), bounds),
    )
    return text + "".join(_folded(f"{len(rows)} {what}", html) for what, html, rows in parts if rows)


def claim(shown: Claim) -> str:
    """What is stated, how it is judged, and its controls."""
    from lemmata.lab.claims import rule_of, words_of

    rows: list[list[Any]] = [["states", Html(prose(shown.statement or "nothing yet"))]]
    if shown.formula:
        rows.append(["formula", Html(show(shown.formula, whole=True))])
    if hasattr(shown, "evidence"):
        rows += [
            ["evidence", f"{shown.evidence.name}: {shown.evidence.words}"],
            ["must be", f"{words_of(shown.judge)} ({rule_of(shown.judge)})"],
            ["reads", ", ".join(shown.reads) or "no experiment"],
            ["expected", _badge(shown.expected)],
        ]
        rows += [["control", Html(f"{escape(c.case)}: {_badge(shown.expected_of(c))}")] for c in shown.controls]
    return _title(shown.name, f"{shown.reference}, {shown.kind}, {shown.source}") + table([], rows)


def verdict(shown: Verdict) -> str:
    rows = [
        ["outcome", _badge(shown.outcome)],
        [shown.statistic if shown.statistic != "none" else "measured", _measured(shown)],
        ["claimed", _claimed(shown)],
        ["rule", shown.rule],
        ["note", shown.note],
    ]
    return table([], [row for row in rows if row[1]])


def row(shown: Row) -> str:
    """A judged claim with its controls."""
    rows = [
        ["outcome", Html(f"{_badge(shown.outcome)}, expected {_badge(shown.expected)}")],
        [shown.statistic if shown.statistic != "none" else "measured", _measured(shown)],
        ["claimed", _claimed(shown)],
        ["rule", f"{shown.rule}; {shown.seeds} seeds, preset {shown.preset}"],
        *[
            ["control", Html(f"{escape(c.case)}: {_badge(c.outcome)}, expected {_badge(c.expected)}")]
            for c in shown.controls
        ],
        ["note", shown.note],
    ]
    head = f"{_title(shown.name, shown.reference)}<p>{prose(shown.statement)}</p>"
    return head + table([], rows) + f"<p><code>{escape(shown.command)}</code></p>"


def rows(shown: Sequence[Row], page: str) -> str:
    """Judged claims as a table, what came out otherwise than expected first said."""
    odd = [each.name for each in shown if not each.as_expected]
    said = "Everything came out as expected." if not odd else f"Not as expected: {', '.join(odd)}."
    listed = [
        [
            _code(each.name),
            Html(prose(each.statement)),
            _badge(each.outcome),
            _badge(each.control),
            _measured(each),
            _claimed(each),
        ]
        for each in shown
    ]
    head = ["claim", "statement", "outcome", "control", "measured", "claimed"]
    return f"<p>{escape(said)}</p>{table(head, listed)}<p>Page: <code>{escape(page)}</code></p>"


def replications(shown: Sequence[Replication]) -> str:
    listed = [
        [_code(each.name), f"{each.as_expected} of {each.blocks}", f"[{each.share_low:.2f}, {each.share_high:.2f}]",
         "" if each.median is None else f"{each.median:.4g}"]
        for each in shown
    ]  # fmt: skip
    return table(["claim", "blocks as expected", "share, 95 %", "median"], listed)


def experiment(shown: Experiment) -> str:
    """The question, and how large every preset is."""
    listed = [
        [
            name,
            " × ".join(f"{axis} ({len(values)})" for axis, values in preset.axes.items()) or "one cell",
            preset.seeds,
        ]
        for name, preset in shown.presets.items()
    ]
    head = f"{_title(shown.name, shown.reference)}<p>{escape(shown.question)}</p>"
    return head + table(["preset", "axes (values)", "seeds"], listed)


def bound(shown: Bound) -> str:
    listed = [
        [_code(name), p.symbol, _value(p.default), p.meaning, p.allowed()] for name, p in shown.parameters.items()
    ]
    head = f"{_title(shown.name, shown.reference)}<p>{escape(_first_line(shown.function.__doc__))}</p>"
    return head + table(["parameter", "symbol", "default", "meaning", "allowed"], listed)


def trained(shown: Trained, contents: Sequence[tuple[str, str]]) -> str:
    """What a run has made, with shapes, and what it recorded."""
    names = table(["name", "shapes"], [[_code(f"t.{name}"), words] for name, words in contents])
    recorded = [
        [_code(f"t.records.{name}"), each.attrs.get("symbol", ""), each.attrs.get("long_name", ""), str(each.shape)]
        for name, each in shown.records.data_vars.items()
    ]
    records = table(["name", "symbol", "meaning", "shape"], recorded)
    title = _title("One run", f"{type(shown.setting).__module__}, seed {shown.seed}")
    folded = _folded(f"{len(recorded)} recorded quantities", records) + _folded("setting", setting(shown.setting))
    return f"{title}{names}{folded}"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; cells are escaped unless they are `Html`."""
    top = "".join(f"<th style='{CELL}'>{escape(each)}</th>" for each in head)
    body = "".join(
        "<tr>" + "".join(f"<td style='{CELL}'>{_cell(each)}</td>" for each in line) + "</tr>" for line in rows
    )
    return f"<table>{f'<thead><tr>{top}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    return value if isinstance(value, Html) else escape(str(value))


def _code(text: str) -> Html:
    return Html(f"<code>{escape(text)}</code>")


def _title(name: str, about: str) -> str:
    return f"<p><b>{escape(name)}</b> <span style='color:#6b6b6b'>{escape(about)}</span></p>"


def _folded(summary: str, html: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{html}</details>"


def _badge(outcome: str) -> Html:
    return Html(f"<b style='color:{COLOURS.get(outcome, '#6b6b6b')}'>{escape(outcome)}</b>")


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n\n")[0]


def _measured(shown: Verdict | Row) -> str:
    if shown.measured is None:
        return ""
    between = "" if shown.low is None or shown.high is None else f" [{shown.low:.4g}, {shown.high:.4g}]"
    return f"{shown.measured:.4g}{between}"


def _claimed(shown: Verdict | Row) -> str:
    if shown.relation == "in":
        low, high = ("∞" if end is None else f"{end:.4g}" for end in (shown.accept_low, shown.accept_high))
        return f"in [{'-' * (low == '∞')}{low}, {high}]"
    if shown.relation == "==":
        return "equal" if not shown.accept_high else f"equal to {shown.accept_high:.3g}"
    if shown.relation in ("increasing", "decreasing"):
        return shown.relation
    sign = {"<=": "≤", ">=": "≥"}.get(shown.relation, shown.relation)
    return "" if shown.predicted is None else f"{sign} {shown.predicted:.4g}"


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array {value.shape}"
    return "none" if value is None else spell(value)
