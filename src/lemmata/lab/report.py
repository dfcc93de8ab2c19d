"""The report: one HTML page that opens from disk without a network, rebuilt from what `verify` and `run` left."""

from __future__ import annotations

import base64
import json
import math
from collections import Counter
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from lemmata.lab.claims import OUTCOMES
from lemmata.lab.errors import UserError
from lemmata.lab.files import write_whole, writing
from lemmata.lab.replications import Replication, known_replications
from lemmata.lab.report_style import STYLE
from lemmata.lab.rows import VERDICTS, ControlRow, Row, read_rows
from lemmata.lab.shown import SAID
from lemmata.lab.tables import Table

GUIDE = {
    "holds, fails, inconclusive": "What the runs say about a claim. A judge that was fixed beforehand compares the "
    "measured number with what is claimed; inconclusive: the runs cannot decide.",
    "measured": "The number that decided: the worst seed with the range over seeds in brackets, a mean, median or "
    "share with its interval, a single value, or the largest difference of two ways to compute the same thing.",
    "expected": "What should come out. Some statements are wrong as printed: those are expected to fail, and the "
    "corrected statement stands beside them as its own claim.",
    "control": "The same judge on a case whose answer is known: broken on purpose (it must fail), or, for a claim that "
    "is expected to fail, put right (it must hold). It shows that the judge can tell the difference.",
}


def write_report(directory: Path) -> Path:
    """Write `index.html` of a folder that `verify` left; returns its path."""
    if not (directory / VERDICTS).exists():
        raise UserError(f"{directory} holds no verdicts; run `lemmata verify --out {directory}` first.")
    text = render(read_rows(directory), directory)
    page = directory / "index.html"
    with writing(page):
        write_whole(page, text.encode())
    return page


def render(rows: list[Row], directory: Path) -> str:
    """The page of these rows, with the figures of the experiments they read."""
    theories = list(dict.fromkeys(row.theory for row in rows))
    guide = "".join(f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in GUIDE.items())
    body = [
        "<h1>Lemmata: what was claimed and what was measured</h1>",
        _overview(rows, theories),
        f"<dl class=guide>{guide}</dl>",
        _summary(rows),
    ]
    for theory in theories:
        mine = [row for row in rows if row.theory == theory]
        body.append(f"<h2>{escape(theory)}</h2>")
        replications = known_replications(theory, directory)
        drawn: set[str] = set()
        for group in dict.fromkeys((row.reads or ("",))[0] for row in mine):
            for row in mine:
                if (row.reads or ("",))[0] != group:
                    continue
                new = [name for name in row.reads if name not in drawn]
                body += [_figure(directory / theory / name, theory, name) for name in new]
                drawn.update(new)
                body.append(_claim(row, replications))
    return (
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'><title>Lemmata report</title>"
        f"<style>{STYLE}</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _overview(rows: list[Row], theories: list[str]) -> str:
    """How many claims came out how, and which of them not as expected."""
    counts = Counter(row.outcome for row in rows)
    verbs = {
        "holds": ("holds", "hold"),
        "fails": ("fails", "fail"),
        "inconclusive": ("is inconclusive", "are inconclusive"),
    }
    said = [f"{counts[o]} {verbs[o][counts[o] > 1]}" for o in OUTCOMES if counts[o]]
    presets = ", ".join(dict.fromkeys(row.preset for row in rows))
    of = (
        f"{len(rows)} claim{'s' * (len(rows) != 1)} of {len(theories)} {'theory' if len(theories) == 1 else 'theories'}"
    )
    odd = [row for row in rows if not row.as_expected]
    verdict = "Everything came out as expected." if not odd else ""
    preset = f"<span class=quiet>Preset {escape(presets)}.</span>"
    text = f"<p>{of}: {', '.join(said) or 'none examined'}. {verdict} {preset}</p>"
    if not odd:
        return text
    links = ", ".join(f"<a href='#{_name(row)}'>{_name(row)}</a>" for row in odd)
    return f"{text}<p class=alarm>Not as expected: {links}.</p>"


def _name(row: Row) -> str:
    return escape(row.name)


def _badge(outcome: str) -> str:
    return f"<span class='badge {outcome}'>{outcome}</span>"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _measured(row: Row) -> str:
    if row.low is None or row.high is None or row.low == row.high:
        return _number(row.measured)
    return f"{_number(row.measured)} [{row.low:.3g}, {row.high:.3g}]"


def _claimed(row: Row) -> str:
    if row.relation == "in":
        return f"in [{_number(row.accept_low) or '-∞'}, {_number(row.accept_high) or '∞'}]"
    if row.relation in ("increasing", "decreasing"):
        return row.relation
    if row.relation == "==":
        return f"difference ≤ {_number(row.accept_high)}" if row.accept_high is not None else ""
    signs = {">=": "≥", "<=": "≤"}
    return f"{signs[row.relation]} {_number(row.predicted)}" if row.predicted is not None else ""


def _against(outcome: str, expected: str) -> str:
    """Whether an outcome is the expected one, in words."""
    if outcome == expected:
        return "<span class=quiet>as expected</span>"
    return f"<strong class=fails>instead of {expected}</strong>"


def _summary(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        cells = {
            "outcome": f"{_badge(row.outcome)} {_against(row.outcome, row.expected)}",
            "claimed": f"<span class=number>{_claimed(row)}</span>" if _claimed(row) else "",
            "measured": f"<span class=number>{_measured(row)}</span> <span class=quiet>{escape(row.statistic)}</span>"
            if row.measured is not None
            else "",
            "control": f"{_badge(row.control)} {_against(row.control, row.control_expected)}",
        }
        filled = "".join(
            f"<td class=number data-label='{label}'>{text}</td>" if text else "<td></td>"
            for label, text in cells.items()
        )
        mark = "" if row.as_expected else " class=odd"
        lines.append(f"<tr{mark}><td><a href='#{_name(row)}'>{_name(row)}</a></td>{filled}</tr>")
    head = "<thead><tr><th>claim<th>outcome<th>claimed<th>measured<th>control</tr></thead>"
    return f"<table>{head}<tbody>{''.join(lines)}</tbody></table>"


def _record(folder: Path, name: str = "run.json") -> dict[str, Any]:
    """The experiment's `run.json`, or its table; empty where it is missing or unreadable."""
    try:
        return json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _figure(folder: Path, theory: str, name: str) -> str:
    """An experiment: its figure, question, seeds, command and warnings, as far as they are stored."""
    record, picture = _record(folder), folder / "figure.png"
    caption = f"<strong>{escape(name)}</strong>. {escape(record.get('question', ''))}"
    about = [escape(record["reference"])] if record.get("reference") else []
    if "seeds" in record:
        about.append("seeds {} to {}".format(*record["seeds"]))
    if "command" in record:
        about.append(_command(record["command"]))
    image = "<p class=quiet>No figure is stored.</p>"
    if picture.exists():
        data = base64.b64encode(picture.read_bytes()).decode()
        image = f"<img alt='{escape(record.get('question', name))}' src='data:image/png;base64,{data}'>"
    table = _record(folder, "table.json")
    if table:
        image = Table(table["caption"], table["columns"], table["rows"]).html()
    warnings = record.get("warnings", [])
    listed = f"<div class=quiet>Beyond the theorem's assumptions:{_parts(warnings)}</div>" if warnings else ""
    return (
        f"<figure id='run:{escape(f'{theory}/{name}')}'>{image}<figcaption>{caption}"
        f"<div class=quiet>{' · '.join(about)}</div>{listed}</figcaption></figure>"
    )


def _command(text: str) -> str:
    return f"<code class=command>{escape(text)}</code>"


def _parts(parts: list[str]) -> str:
    """One sentence, or a list of them; a long list is folded."""
    if len(parts) < 2:
        return "".join(f"<p>{escape(part)}</p>" for part in parts)
    items = f"<ul class=parts>{''.join(f'<li>{escape(part)}</li>' for part in parts)}</ul>"
    if len(parts) <= 6:
        return items
    return f"<details><summary class=quiet>show all {len(parts)}</summary>{items}</details>"


def _note(note: str) -> str:
    return _parts([part for part in note.split("; ") if part])


def _changed(control: ControlRow) -> str:
    return f" <span class=quiet>(the same evidence with {escape(control.changed)})</span>" if control.changed else ""


def _claim(row: Row, replications: Mapping[str, Replication]) -> str:
    controls = "".join(
        f"<div class=controls><strong>Control</strong>: {escape(c.case)}{_changed(c)}. {_badge(c.outcome)} "
        f"{_against(c.outcome, c.expected)}<div class=quiet>{_note(c.note)}</div></div>"
        for c in row.controls
    )
    formula = f"<p><code>{escape(row.formula)}</code></p>" if row.formula else ""
    links = [f"<a href='#run:{escape(row.theory)}/{escape(e)}'>{escape(e)}</a>" for e in row.reads]
    reads = f"reads {', '.join(links)} · " if links else ""
    corrects = f" (corrects <a href='#{row.theory}/{row.corrects}'>{row.corrects}</a>)" if row.corrects else ""
    repeats = f" · {replications[row.claim].words()}" if row.claim in replications else ""
    decided = f"{row.statistic}, decided by: {row.rule}" if row.measured is not None else f"decided by: {row.rule}"
    seeds = f"{row.seeds} seed{'s' * (row.seeds != 1)}" if row.seeds else "no random input"
    rule = f"<p class=quiet>{escape(decided)} · {seeds}{repeats}</p>"
    origin = f"{escape(row.reference)} · {row.kind} · {SAID[row.source]}{corrects} · {reads}{row.seconds:.1f} s"
    return (
        f"<section class=claim id='{_name(row)}'><header><h3>{_name(row)}</h3><span>{_badge(row.outcome)} "
        f"{_against(row.outcome, row.expected)}</span></header>"
        f"<p>{escape(row.statement)}</p>{formula}{strip(row)}{_note(row.note)}{rule}{controls}"
        f"<p class=quiet>{origin} · {_command(row.command)}</p></section>"
    )


def strip(row: Row) -> str:
    """A claim's own figure: the accepted range, the measured value with its interval, and the controls' values.

    Positions are percentages, so that text keeps its size on every screen. A control far away becomes an arrow at the
    edge. An identity has no figure: its two values agree to more digits than one could draw.
    """
    measured = row.measured
    if measured is None or row.relation == "==":
        return ""
    low, high = _accepted(row)
    core = [v for v in (measured, row.low, row.high, row.predicted, low, high) if v is not None]
    span = max(core) - min(core) or abs(measured) or 1.0
    controls = [c.measured for c in row.controls if c.measured is not None]
    near = [c for c in controls if min(core) - 1.5 * span <= c <= max(core) + 1.5 * span]
    least, most = min(core + near), max(core + near)
    pad = 0.1 * (most - least) or 0.1 * span
    least, most = least - pad, most + pad

    def x(value: float) -> str:
        return f"{4 + 92 * (value - least) / (most - least):.2f}%"

    start, end = (least if low is None else low), (most if high is None else high)
    width = f"{92 * (end - start) / (most - least):.2f}%"
    parts = [
        f"<rect x='{x(start)}' y='2' width='{width}' height='28' fill='#cfe8d6'/>",
        "<line x1='4%' y1='30' x2='96%' y2='30' stroke='#9aa3ad'/>",
    ]
    for tick, label in _ticks(least, most):
        parts.append(f"<line x1='{x(tick)}' y1='30' x2='{x(tick)}' y2='35' stroke='#9aa3ad'/>")
        parts.append(f"<text x='{x(tick)}' y='48' text-anchor='middle'>{label}</text>")
    predicted = row.predicted if row.relation == "in" else None
    if predicted is not None:
        parts.append(_line(x(predicted), x(predicted), 2, 30, "#1d7a3a' stroke-dasharray='4 3"))
    diamond = (
        "<svg x='{}' y='16' overflow='visible'><path d='{}' fill='#fff' stroke='#b02a2d' stroke-width='1.6'/></svg>"
    )
    parts += [diamond.format(x(c), "M0 -6 l6 6 l-6 6 l-6 -6 z") for c in near]
    for c in set(controls) - set(near):
        parts.append(
            diamond.format("98%" if c > most else "2%", "M6 0 l-9 5 v-10 z" if c > most else "M-6 0 l9 5 v-10 z")
        )
    if row.low is not None and row.high is not None:
        parts.append(_line(x(row.low), x(row.high), 16, 16, "#1f5fa8' stroke-width='3"))
    parts.append(f"<circle cx='{x(measured)}' cy='16' r='5' fill='#1f5fa8'/>")
    legend = [("dot", f"measured {_measured(row)}"), ("band", f"accepted {_words(low, high)}")]
    if predicted is not None:
        legend.append(("line", f"predicted {_number(predicted)}"))
    for c in dict.fromkeys(controls):
        beyond = "" if c in near else f" (off the scale, {'right' if c > most else 'left'})"
        legend.append(("diamond", f"control {_number(c)}{beyond}"))
    items = "".join(f"<li><i class={mark}></i>{text}</li>" for mark, text in legend)
    label = f"measured {_measured(row)}, accepted {_words(low, high)}"
    return f"<svg class=strip role=img aria-label='{label}'>{''.join(parts)}</svg><ul class=legend>{items}</ul>"


def _line(x1: str, x2: str, y1: int, y2: int, stroke: str) -> str:
    return f"<line x1='{x1}' y1='{y1}' x2='{x2}' y2='{y2}' stroke='{stroke}'/>"


def _accepted(row: Row) -> tuple[float | None, float | None]:
    relation, predicted = row.relation, row.predicted
    if relation == "in":
        return row.accept_low, row.accept_high
    return (predicted, None) if relation in (">=", "increasing") else (None, predicted)


def _words(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f"≥ {_number(low)}" if low is not None else f"≤ {_number(high)}" if high is not None else "everywhere"
    return f"{_number(low)} to {_number(high)}"


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Two to five round numbers between the ends, with their labels."""
    raw = (high - low) / 5
    scale = 10 ** math.floor(math.log10(raw))
    step = next(s * scale for s in (1, 2, 5, 10) if s * scale >= raw * (1 - 1e-9))
    digits = max(0, -math.floor(math.log10(step)))
    plain = digits <= 5 and max(abs(low), abs(high)) < 1e6
    values = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return [(v, f"{v + 0.0:.{digits}f}" if plain else f"{v:.4g}") for v in values]
