"""The report: one HTML page that opens from disk without a network, rebuilt from what `verify` and `run` left."""

from __future__ import annotations

import base64
import html
import json
import math
from pathlib import Path
from typing import Any

from lemmata.lab.errors import UserError
from lemmata.lab.verify import VERDICTS, as_expected

STYLE = """
:root { --holds: #1d7a3a; --fails: #b02a2d; --inconclusive: #8a6100; --line: #d9dce1; --ink: #1c2430; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); margin: 0 auto; max-width: 72rem; padding: 1.5rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { margin-top: 2.4rem; border-bottom: 2px solid var(--line); }
h3 { margin: 0 0 .3rem; font-size: 1.05rem; } .quiet { color: #5a6472; } code { font-size: .88em; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; } th, td { text-align: left; padding: .3rem .6rem;
  border-bottom: 1px solid var(--line); vertical-align: top; } th { background: #f4f6f8; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.holds { color: var(--holds); } .fails { color: var(--fails); } .inconclusive { color: var(--inconclusive); }
.badge { font-weight: 650; } .odd { background: #fdeeee; }
.claim { border: 1px solid var(--line); border-radius: .5rem; padding: .9rem 1.1rem; margin: 1rem 0; break-inside: avoid; }
.claim svg { display: block; width: 100%; max-width: 46rem; height: auto; margin: .4rem 0; }
figure { margin: 1rem 0; break-inside: avoid; } figure img { max-width: 100%; height: auto; border: 1px solid var(--line); }
figcaption { color: #5a6472; font-size: .9rem; } .command { background: #f4f6f8; padding: .15rem .45rem; border-radius: .3rem; }
@media print { body { max-width: none; padding: 0; font-size: 11px; } a { color: inherit; text-decoration: none; } }
"""


def write_report(directory: Path) -> Path:
    """Write `index.html` of a folder that `verify` left; returns its path."""
    path = directory / VERDICTS
    if not path.exists():
        raise UserError(f"{directory} holds no verdicts; run `lemmata verify --out {directory}` first.")
    try:
        rows = json.loads(path.read_text())
    except json.JSONDecodeError:
        raise UserError(f"{path} cannot be read; run `lemmata verify` again.") from None
    page = directory / "index.html"
    temporary = page.with_suffix(".part")
    temporary.write_text(render(rows, directory))
    temporary.replace(page)
    return page


def render(rows: list[dict[str, Any]], directory: Path) -> str:
    """The page of these rows, with the figures of the experiments they read."""
    theories = list(dict.fromkeys(row["theory"] for row in rows))
    expected = sum(map(as_expected, rows))
    body = [
        "<h1>Lemmata: what was claimed and what was measured</h1>",
        f"<p class=quiet>{len(rows)} claims of {len(theories)} "
        f"{'theory' if len(theories) == 1 else 'theories'}; {expected} came out as the specification expects. "
        "A claim marked <em>as stated</em> may be expected to fail; its corrected twin stands beside it. "
        "Every claim has a control that the same judge must get right.</p>",
        _summary(rows),
    ]
    for theory in theories:
        mine = [row for row in rows if row["theory"] == theory]
        body.append(f"<h2>{html.escape(theory)}</h2>")
        for group in dict.fromkeys((row["reads"] or [""])[0] for row in mine):
            if group:
                body.append(_figure(directory / theory / group, group))
            body += [_claim(row) for row in mine if (row["reads"] or [""])[0] == group]
    return (
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'><title>Lemmata report</title>"
        f"<style>{STYLE}</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _badge(outcome: str) -> str:
    return f"<span class='badge {outcome}'>{outcome}</span>"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _interval(row: dict[str, Any]) -> str:
    if row["low"] is None or row["high"] is None or row["low"] == row["high"]:
        return _number(row["measured"])
    return f"{_number(row['measured'])} [{row['low']:.3g}, {row['high']:.3g}]"


def _claimed(row: dict[str, Any]) -> str:
    if row["relation"] == "in":
        return f"in [{_number(row['accept_low'])}, {_number(row['accept_high'])}]"
    if row["relation"] in ("increasing", "decreasing"):
        return row["relation"]
    signs = {">=": "≥", "<=": "≤", "==": "="}
    return f"{signs[row['relation']]} {_number(row['predicted'])}" if row["predicted"] is not None else ""


def _summary(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        name = html.escape(f"{row['theory']}/{row['claim']}")
        lines.append(
            f"<tr{'' if as_expected(row) else ' class=odd'}><td><a href='#{name}'>{name}</a></td><td>{_badge(row['outcome'])}</td>"
            f"<td>{row['expected']}</td><td class=number>{_claimed(row)}</td><td class=number>{_interval(row)}</td>"
            f"<td>{row['control']}{'' if row['control'] == row['control_expected'] else ' (unexpected)'}</td></tr>"
        )
    head = "<tr><th>claim<th>outcome<th>expected<th>claimed<th>measured [95 % interval]<th>control</tr>"
    return f"<table>{head}{''.join(lines)}</table>"


def _figure(folder: Path, name: str) -> str:
    record = json.loads((folder / "run.json").read_text()) if (folder / "run.json").exists() else {}
    picture = folder / "figure.png"
    if not picture.exists():
        return f"<p class=quiet>{html.escape(name)}: no figure stored.</p>"
    data = base64.b64encode(picture.read_bytes()).decode()
    seeds = record.get("seeds", ["?", "?"])
    warnings = "".join(f"<li>{html.escape(w)}</li>" for w in record.get("warnings", []))
    return (
        f"<figure id='{html.escape(name)}'><img alt='{html.escape(record.get('question', name))}' src='data:image/png;base64,{data}'>"
        f"<figcaption><strong>{html.escape(name)}</strong> ({html.escape(record.get('reference', ''))}): "
        f"{html.escape(record.get('question', ''))} Seeds {seeds[0]} to {seeds[1]}. "
        f"<span class=command><code>{html.escape(record.get('command', ''))}</code></span></figcaption>"
        + (f"<details><summary class=quiet>assumptions of the theorem that some cells violate</summary><ul>{warnings}</ul></details>" if warnings else "")
        + "</figure>"
    )  # fmt: skip


def _claim(row: dict[str, Any]) -> str:
    name = html.escape(f"{row['theory']}/{row['claim']}")
    controls = "".join(
        f"<li>control, {html.escape(c['case'])}: {_badge(c['outcome'])}"
        f"{'' if c['outcome'] == c['expected'] else ' (expected ' + c['expected'] + ')'}"
        f" <span class=quiet>{html.escape(c['note'])}</span></li>"
        for c in row["controls"]
    )
    formula = f"<p><code>{html.escape(row['formula'])}</code></p>" if row["formula"] else ""
    also = ", ".join(f"<a href='#{html.escape(e)}'>{html.escape(e)}</a>" for e in row["reads"])
    reads = f"reads {also}; " if also else ""
    note = "" if as_expected(row) else f" <strong class=fails>not as expected ({row['expected']})</strong>"
    return (
        f"<section class=claim id='{name}'><h3>{name} {_badge(row['outcome'])}{note}</h3>"
        f"<p>{html.escape(row['statement'])} <span class=quiet>({html.escape(row['reference'])}, {row['kind']})</span></p>{formula}"
        f"{strip(row)}<p>{html.escape(row['note'])}</p><ul>{controls}</ul>"
        f"<p class=quiet>{reads}{row['seconds']:.1f} s. <span class=command><code>{html.escape(row['command'])}</code></span></p></section>"
    )


def strip(row: dict[str, Any]) -> str:
    """A claim's own figure: the accepted range, the measured value with its interval, and the control's value."""
    measured = row["measured"]
    if measured is None:
        return ""
    low, high = _accepted(row)
    points = [v for v in (measured, row["low"], row["high"], row["predicted"], low, high) if v is not None]
    control = next((c["measured"] for c in row["controls"] if c["measured"] is not None), None)
    if control is not None:
        points.append(control)
    least, most = min(points), max(points)
    pad = 0.12 * (most - least) or 0.1 * abs(most) or 1.0
    least, most = least - pad, most + pad
    width, left, right = 720, 20, 700

    def x(value: float) -> float:
        return left + (right - left) * (value - least) / (most - least)

    start, end = x(low if low is not None else least), x(high if high is not None else most)
    parts = [f"<rect x='{start:.1f}' y='16' width='{max(end - start, 2):.1f}' height='28' fill='#d8ecdd'/>"]
    parts.append(f"<line x1='{left}' y1='44' x2='{right}' y2='44' stroke='#9aa3ad'/>")
    for tick in _ticks(least, most):
        parts.append(
            f"<line x1='{x(tick):.1f}' y1='44' x2='{x(tick):.1f}' y2='49' stroke='#9aa3ad'/>"
            f"<text x='{x(tick):.1f}' y='62' text-anchor='middle' font-size='11'>{tick:.4g}</text>"
        )
    if row["predicted"] is not None:
        parts.append(f"<line x1='{x(row['predicted']):.1f}' y1='12' x2='{x(row['predicted']):.1f}' y2='44' stroke='#1d7a3a' stroke-dasharray='4 3'/>")
    if control is not None:
        parts.append(f"<path d='M{x(control):.1f} 24 l6 6 l-6 6 l-6 -6 z' fill='none' stroke='#b02a2d' stroke-width='1.6'/>")
    if row["low"] is not None and row["high"] is not None:
        parts.append(f"<line x1='{x(row['low']):.1f}' y1='30' x2='{x(row['high']):.1f}' y2='30' stroke='#1f5fa8' stroke-width='3'/>")
    parts.append(f"<circle cx='{x(measured):.1f}' cy='30' r='5' fill='#1f5fa8'/>")
    legend = "green band: accepted; dashed: predicted; blue: measured with 95 % interval; red diamond: control"
    return (
        f"<svg viewBox='0 0 {width} 84' role='img' aria-label='measured {measured:.4g}, claimed {html.escape(_claimed(row))}'>"
        + "".join(parts)
        + f"<text x='{left}' y='80' font-size='11' fill='#5a6472'>{legend}</text></svg>"
    )


def _accepted(row: dict[str, Any]) -> tuple[float | None, float | None]:
    relation, predicted = row["relation"], row["predicted"]
    if relation == "in":
        return row["accept_low"], row["accept_high"]
    if relation in (">=", "increasing"):
        return predicted, None
    if relation in ("<=", "decreasing"):
        return None, predicted
    return predicted, predicted


def _ticks(low: float, high: float) -> list[float]:
    """Four to eight round numbers between the ends."""
    raw = (high - low) / 6
    scale = 10 ** math.floor(math.log10(raw))
    step = next(s * scale for s in (1, 2, 5, 10) if s * scale >= raw)
    first = math.ceil(low / step)
    return [round(k * step, 12) for k in range(first, math.floor(high / step) + 1)]
