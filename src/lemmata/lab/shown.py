"""What `lemmata show` prints: a theory in short, or one claim, experiment, bound or field in full."""

from __future__ import annotations

import textwrap
from typing import Any

from lemmata.lab.descriptions import declaration
from lemmata.lab.mathematics import plain

SAID = {
    "paper": "stated in the paper",
    "figure": "read off the paper's figures or experiments",
    "corrected": "our correction of the paper",
    "derived": "follows from the paper",
}
"""Who says what a claim states."""


def theory_text(found: dict[str, Any]) -> str:
    """A theory: its question, settings, experiments, claims and bounds."""
    declared = {row["name"]: declaration(row) for row in found["declared"][0]}
    lines = [f"{found['name']}: {found['title']}", found["authors"], "", found["question"], found["answer"]]
    lines += ["", "Settings"]
    for row in found["settings"]:
        symbol = f"{row['symbol']}: " if row["symbol"] else ""
        allowed = declared[row["name"]].allowed()
        lines.append(
            f"  {row['name']:<22} {symbol}{row['meaning']} ({row['kind']}, default {row['default']}; {allowed})"
        )
    for title in ("experiments", "claims"):
        lines += ["", title.capitalize()]
        for row in found[title]:
            lines.append(f"  {row['name']:<30} {row['reference']}: {row.get('question') or row.get('statement')}")
    if found["bounds"]:
        lines += ["", "Bounds"]
    lines += [f"  {row['name']:<22} {row['reference']}: {', '.join(row['parameters'])}" for row in found["bounds"]]
    return "\n".join(lines)


def item_text(theory: str, item: dict[str, Any]) -> str:
    """One item: what it is, what it says, and the command that uses it."""
    head, table, command = {"claim": _claim, "experiment": _experiment, "bound": _bound, "setting": _setting}[
        item["type"]
    ](theory, item)
    lines = [f"{theory}/{item['name']} ({item['type']})", ""]
    lines += [line for part in head if part for line in (*textwrap.wrap(part, 96), "")]
    width = max(map(len, table), default=0) + 2
    for name, text in table.items():
        if text:
            lines += textwrap.wrap(
                text, 96, initial_indent=f"{name:<{width}}", subsequent_indent=" " * width, break_on_hyphens=False
            )
    return "\n".join([*lines, "", command])


Shown = tuple[list[str], dict[str, str], str]
"""Sentences, a table, a command."""


def _claim(theory: str, item: dict[str, Any]) -> Shown:
    table = {
        "reference": f"{item['reference']}; {SAID[item['source']]}",
        "corrects": item["corrects"] or "",
        "evidence": item["evidence"],
        "reads": ", ".join(item["reads"]) or "no experiment: a fact",
        "must be": item["judge"],
        "decided by": item["rule"],
        "only if": f"not: {item['gate']}" if item["gate"] else "",
        "expected": item["expected"],
    }
    for number, control in enumerate(item["controls"], 1):
        changed = ", ".join(f"{name} = {new}, not {old}" for name, (old, new) in (control["changed"] or {}).items())
        name = "control" if len(item["controls"]) == 1 else f"control {number}"
        table[name] = f"{control['case']}{f' ({changed})' if changed else ''}: must come out as {control['expected']}"
    table["repeats"] = "not replicated yet"
    if item["replication"]:
        done = item["replication"]
        table["repeats"] = f"as expected in {done['as_expected']} of {done['blocks']} blocks of fresh seeds"
    return [item["statement"], plain(item["formula"])], table, f"lemmata verify {theory}/{item['name']}"


def _experiment(theory: str, item: dict[str, Any]) -> Shown:
    table = {"reference": item["reference"]}
    table |= {f"axis {axis}": ", ".join(map(str, labels)) for axis, labels in item["axes"].items()}
    for preset, size in item["presets"].items():
        table[f"preset {preset}"] = f"{size['cells']} cells x {size['seeds']} seeds = {size['runs']} runs"
    table["claims"] = ", ".join(item["claims"]) or "none"
    return [item["question"]], table, f"lemmata run {theory}/{item['name']}"


def _bound(theory: str, item: dict[str, Any]) -> Shown:
    table = {"reference": item["reference"], "parameters": ", ".join(item["parameters"])}
    first = f" --set {item['parameters'][0]}=..." if item["parameters"] else ""
    return [], table, f"lemmata bound {theory}/{item['name']}{first}"


def _setting(theory: str, item: dict[str, Any]) -> Shown:
    table = {key: str(item[key]) for key in ("symbol", "kind", "default") if item[key] not in (None, "")}
    if item["choices"]:
        table["choices"] = ", ".join(map(str, item["choices"]))
    elif item["low"] is not None or item["high"] is not None:
        table["range"] = " ".join(
            f"{word} {item[end]}" for word, end in (("from", "low"), ("to", "high")) if item[end] is not None
        )
    return [item["meaning"]], table, f"lemmata run {theory}/EXPERIMENT --set {item['name']}={item['default']}"
