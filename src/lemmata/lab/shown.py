"""What `lemmata show` prints: a theory in short, its long lists, or one claim, experiment, bound or field in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from lemmata.lab.declarations import spell, spell_changes
from lemmata.lab.descriptions import declaration, describe_bound
from lemmata.lab.mathematics import plain
from lemmata.lab.terminal import COMMAND, NAME, QUIET, commands, entry, heading, indent, line, table

if TYPE_CHECKING:
    from lemmata.lab.bounds import Bound

SAID = {
    "paper": "stated in the paper",
    "figure": "read off the paper's figures or experiments",
    "corrected": "our correction of the paper",
    "derived": "follows from the paper",
}
"""Who says what a claim states."""
EXPECTED = {"holds": "to hold", "fails": "to fail as printed", "inconclusive": "to stay undecided"}
LISTS = ("claims", "experiments", "bounds", "settings")
"""The long lists of a theory."""


def theory_text(typed: str, found: dict[str, Any], lists: Collection[str] = ()) -> RenderableType:
    """A theory: its card, its headlines, what it has and what to type next; or these of its long lists.

    `typed` is what names it on the command line.
    """
    found = {**found, "typed": typed}
    if lists:
        parts = {"claims": _claims, "experiments": _experiments, "bounds": _bounds, "settings": _settings}
        return Group(*(part for each in LISTS if each in lists for part in parts[each](found)))
    name, claims = typed, found["items"]["claim"]
    card = [
        line((f"{found['name']}: {found['title']}", NAME)),
        line((found["authors"], QUIET)),
        *(line((found[key], QUIET)) for key in ("link", "numbers") if found.get(key)),
        Text(),
        table([(line(("question", QUIET)), found["question"]), (line(("answer", QUIET)), found["answer"])]),
    ]
    headlines = [each for each in claims.values() if each["headline"]]
    for each in headlines:
        card += [heading("Headline claims")] if each is headlines[0] else []
        card.append(_claim_entry(each))
    rest = heading("It has"), _counts(name, found), heading("Next"), commands(_next(name, found, headlines))
    return Group(*card, *rest)


def _claim_entry(row: dict[str, Any]) -> RenderableType:
    return entry(row["name"], f"{row['reference']}; expected {EXPECTED[row['expected']]}", row["statement"])


def _counts(name: str, found: dict[str, Any]) -> RenderableType:
    outcomes = Counter(each["expected"] for each in found["items"]["claim"].values())
    told = ", ".join(f"{outcomes[each]} {words}" for each, words in EXPECTED.items() if outcomes[each])
    more = {"claims": f"expected {told}" if told else "", "settings": "fields, each with its symbol and range"}
    there = [each for each in LISTS if found[each]]
    rows = [(_many(len(found[each]), each[:-1]), line((more.get(each, ""), QUIET))) for each in there]
    others = ", ".join(f"--{each}" for each in there[1:])
    so = f" lists them; so do {others}" if others else " lists them"
    listed = line((f"lemmata show {name} --{there[0]}", COMMAND), (so, QUIET)) if there else Text()
    return Group(table(rows, 2), indent(listed, 2))


def _next(name: str, found: dict[str, Any], headlines: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    claim = (headlines or list(found["items"]["claim"].values()) or [None])[0]
    next_: list[tuple[str, str]] = []
    if claim:
        next_.append((f"lemmata show {name}/{claim['name']}", "what it says, how it is judged"))
        next_.append((f"lemmata verify {name}/{claim['name']}", "test it"))
        for experiment in claim["reads"][:1]:
            next_.append((f"lemmata run {name}/{experiment} --preset smoke", "the runs behind it, tiny"))
    if found["bounds"]:
        next_.append((f"lemmata bound {name}/{found['bounds'][0]['name']}", "a formula of the paper"))
    next_.append(("lemmata search attention", "find something in all theories"))
    return next_


def _claims(found: dict[str, Any]) -> list[RenderableType]:
    rows = found["items"]["claim"].values()
    return [heading("Claims", f"lemmata verify {found['typed']}/NAME"), *map(_claim_entry, rows)]


def _experiments(found: dict[str, Any]) -> list[RenderableType]:
    return [
        heading("Experiments", f"lemmata run {found['typed']}/NAME"),
        *(entry(row["name"], row["reference"], row["question"]) for row in found["experiments"]),
    ]


def _bounds(found: dict[str, Any]) -> list[RenderableType]:
    rows = found["calculators"].items()
    return [
        heading("Bounds", f"lemmata bound {found['typed']}/NAME --set name=value"),
        *(entry(name, row["reference"], row["formula"]) for name, row in rows),
    ]


def _settings(found: dict[str, Any]) -> list[RenderableType]:
    return [
        heading("Settings", f"lemmata run {found['typed']}/EXPERIMENT --set name=value; name or symbol"),
        *(_field(row) for row in found["declared"][0]),
    ]


def _field(row: dict[str, Any]) -> RenderableType:
    symbol = f"{row['symbol']}  " if row["symbol"] else ""
    default = "" if row["kind"] == "array" else f"default {spell(row['default'])}; "
    return entry(row["name"], f"{symbol}{default}{declaration(row).allowed()}", row["meaning"])


def item_text(theory: str, item: dict[str, Any]) -> RenderableType:
    """One item: what it is, what it says, and the command that uses it."""
    kinds = {"claim": _claim, "experiment": _experiment, "bound": _bound, "setting": _setting}
    head, rows, command = kinds[item["type"]](theory, item)
    told = [part for text in head if text for part in (Text(text), Text())]
    written = [(line((name, QUIET)), text) for name, text in rows.items() if text]
    return Group(
        line((f"{theory}/{item['name']}", NAME), (f"  {item['type']}", QUIET)), Text(), *told, table(written), Text(),
        commands([command]),
    )  # fmt: skip


Shown = tuple[list[str], dict[str, str], tuple[str, str]]
"""Sentences, a table, a command with what it does."""


def _claim(theory: str, item: dict[str, Any]) -> Shown:
    rows = {
        "reference": f"{item['reference']}; {SAID[item['source']]}",
        "corrects": item["corrects"] or "",
        "evidence": item["evidence"],
        "reads": ", ".join(item["reads"]) or "no experiment: a fact",
        "must be": item["judge"],
        "decided by": item["rule"],
        "undecided if": item["gate"] or "",
        "expected": EXPECTED[item["expected"]],
    }
    for number, control in enumerate(item["controls"], 1):
        changed = spell_changes(control["changed"] or {})
        name = "control" if len(item["controls"]) == 1 else f"control {number}"
        rows[name] = f"{control['case']}{f' ({changed})' if changed else ''}: must come out as {control['expected']}"
    rows["repeats"] = "not replicated yet"
    if item["replication"]:
        done = item["replication"]
        rows["repeats"] = f"as expected in {done['as_expected']} of {done['blocks']} blocks of fresh seeds"
    return [item["statement"], plain(item["formula"])], rows, (f"lemmata verify {theory}/{item['name']}", "test it")


def _experiment(theory: str, item: dict[str, Any]) -> Shown:
    rows = {"reference": item["reference"]}
    rows |= {f"axis {axis}": ", ".join(map(spell, labels)) for axis, labels in item["axes"].items()}
    for preset, size in item["presets"].items():
        rows[f"preset {preset}"] = " = ".join(
            [f"{_many(size['cells'], 'cell')} x {_many(size['seeds'], 'seed')}", _many(size["runs"], "run")]
        )
    rows["claims"] = ", ".join(item["claims"]) or "none"
    return [item["question"]], rows, (f"lemmata run {theory}/{item['name']}", "run it")


def _bound(theory: str, item: dict[str, Any]) -> Shown:
    rows = {"reference": item["reference"], "note": item["note"]}
    rows |= {row["name"]: f"{_parameter(row)}; default {spell(row['default'])}" for row in item["declared"]}
    first = f" --set {item['parameters'][0]}=..." if item["parameters"] else ""
    return [item["formula"]], rows, (f"lemmata bound {theory}/{item['name']}{first}", "evaluate it")


def _parameter(row: dict[str, Any]) -> str:
    """A parameter of a bound: its symbol, where that is not its name, and meaning."""
    symbol = f"{row['symbol']}: " if row["symbol"] and row["symbol"] != row["name"] else ""
    return f"{symbol}{row['meaning']}"


def _setting(theory: str, item: dict[str, Any]) -> Shown:
    rows = {key: spell(item[key]) for key in ("symbol", "kind", "default") if item[key] not in (None, "")}
    if item["choices"]:
        rows["choices"] = ", ".join(map(spell, item["choices"]))
    elif item["low"] is not None or item["high"] is not None:
        rows["range"] = " ".join(
            f"{word} {spell(item[end])}" for word, end in (("from", "low"), ("to", "high")) if item[end] is not None
        )
    example = f"lemmata run {theory}/EXPERIMENT --set {item['name']}={spell(item['default'])}"
    return [item["meaning"]], rows, (example, "set it")


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"


def answer_text(bound: Bound, answer: dict[str, Any]) -> RenderableType:
    """What `lemmata bound` prints: the value, the formula, and what it is a value at."""
    value = "not finite" if answer["value"] is None else f"{answer['value']:.10g}"
    if answer["value"] is None and answer["log10"] is not None:
        value = f"10^{answer['log10']:.6g}"
    described = describe_bound(bound)
    inputs = [(row["name"], spell(answer["inputs"][row["name"]]), _parameter(row)) for row in described["declared"]]
    note = [Text(), Text(f"{answer['note'][:1].upper()}{answer['note'][1:]}.")] if answer["note"] else []
    head = line((f"{bound.name} = {value}", NAME), (f"  {bound.reference}", QUIET))
    return Group(head, Text(described["formula"]), Text(), table(inputs, 2), *note)
