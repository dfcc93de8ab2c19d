"""Descriptions: what `lemmata show` tells of a theory, kept beside the compiled programs under a digest of the sources.

Loading a theory takes seconds, reading its description does not. A name or a `--set` that is wrong is refused by it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lemmata.lab import registry
from lemmata.lab.declarations import Declaration, name_of_symbol, parse_assignments, spell_argument
from lemmata.lab.errors import UserError, unknown
from lemmata.lab.files import read_sealed, sealed, write_whole
from lemmata.lab.programs import cache_folder
from lemmata.lab.sources import digest_of_files
from lemmata.lab.suggestions import Related, wrong_item

if TYPE_CHECKING:
    from lemmata.lab.bounds import Bound
    from lemmata.lab.claims import Claim
    from lemmata.lab.setting import Setting
    from lemmata.lab.theory import Experiment, Theory

KEPT = 8
"""Descriptions of a theory that are kept, the newest: several versions of Lemmata may be at work."""
SHOWN = ("name", "symbol", "meaning", "kind", "default", "low", "high", "choices")


def describe(theory: Theory) -> dict[str, Any]:
    """A theory: its card, settings, experiments, claims and bounds.

    `declared`: all of the fields of every setting, the theory's own first. `items`: each claim and experiment in full.
    `calculators`: each bound with its formula and parameters.
    """
    used = [type(e.preset("quick").setting) for e in theory.experiments.values()]
    kinds: list[type[Setting]] = list(dict.fromkeys([theory.setting, *used]))
    return {
        **{key: theory.card[key] for key in ("name", "title")},
        "authors": theory.card["authors"] + (f" ({theory.card['venue']})" if theory.card.get("venue") else ""),
        **{key: theory.card.get(key, "") for key in ("link", "numbers")},
        **{key: theory.card[key] for key in ("question", "answer")},
        "settings": [_shown(row) for row in _rows(theory.setting.declarations())],
        "experiments": [
            {
                "name": e.name,
                "reference": e.reference,
                "question": e.question,
                "presets": list(e.presets),
                "setting": kinds.index(type(e.preset("quick").setting)),
            }
            for e in theory.experiments.values()
        ],
        "claims": [
            {
                "name": c.name,
                "reference": c.reference,
                "kind": c.kind,
                "statement": c.statement,
                "expected": c.expected,
                "reads": list(c.reads),
            }
            for c in theory.claims.values()
        ],
        "bounds": [
            {"name": b.name, "reference": b.reference, "parameters": list(b.parameters)} for b in theory.bounds.values()
        ],
        "declared": [_rows(kind.declarations()) for kind in kinds],
        "calculators": {b.name: describe_bound(b) for b in theory.bounds.values()},
        "items": {
            "claim": {c.name: describe_claim(theory, c) for c in theory.claims.values()},
            "experiment": {e.name: describe_experiment(theory, e) for e in theory.experiments.values()},
        },
    }


def describe_claim(theory: Theory, claim: Claim) -> dict[str, Any]:
    """All that a claim declares."""
    from lemmata.lab.claims import rule_of, words_of

    return {
        "type": "claim",
        **{key: getattr(claim, key) for key in ("name", "reference", "kind", "source", "statement", "formula")},
        "evidence": claim.evidence.words or claim.evidence.name,
        "reads": list(claim.reads),
        "judge": words_of(claim.judge),
        "rule": rule_of(claim.judge),
        "expected": claim.expected,
        "controls": [
            {
                "case": control.case,
                "changed": (changed := claim.changed_by(control))
                and {name: [_plain(old), _plain(new)] for name, (old, new) in changed.items()},
                "expected": claim.expected_of(control),
            }
            for control in claim.controls
        ],
        "gate": claim.gate and claim.gate.reason,
        "corrects": claim.corrects or None,
        "headline": claim.name in theory.card["headlines"],
    }


def describe_experiment(theory: Theory, experiment: Experiment) -> dict[str, Any]:
    """All that an experiment declares: the axes are those of the preset quick."""
    sizes = {}
    for name, preset in experiment.presets.items():
        cells = math.prod(len(labels) for labels in preset.axes.values())
        sizes[name] = {"cells": cells, "seeds": preset.seeds, "runs": cells * preset.seeds}
    return {
        "type": "experiment",
        **{key: getattr(experiment, key) for key in ("name", "question", "reference")},
        "axes": {axis: [_plain(label) for label in labels] for axis, labels in experiment.preset("quick").axes.items()},
        "presets": sizes,
        "claims": [claim.name for claim in theory.claims.values() if experiment.name in claim.reads],
    }


def describe_bound(bound: Bound) -> dict[str, Any]:
    """A calculator: what it computes and of what."""
    words = (bound.function.__doc__ or "").strip().partition("\n\n")[0]
    return {
        "reference": bound.reference,
        "formula": " ".join(words.split()),
        "note": bound.note,
        "declared": _rows(bound.parameters),
    }


def _plain(value: Any) -> Any:
    """A value as JSON has it: what is no number, text or truth value is spelled."""
    return value if value is None or isinstance(value, (str, int, float, bool)) else spell_argument(value)


def item(name: str, what: str) -> dict[str, Any]:
    """A claim, experiment, bound or field of a theory, in full; `what` may say its type: `claim:NAME`."""
    found = description(name)
    kinds: dict[str, dict[str, dict[str, Any]]] = {
        **found["items"],
        "bound": {row["name"]: {"type": "bound", **row} for row in found["bounds"]},
        "setting": {row["name"]: {"type": "setting", **_shown(row)} for row in fields(found)},
    }
    kind, colon, rest = what.partition(":")
    if colon and kind in kinds:
        kinds, what = {kind: kinds[kind]}, rest
    matches = {kind: named[what] for kind, named in kinds.items() if what in named}
    if not matches and "setting" in kinds:
        declared = {row["name"]: declaration(row) for row in found["declared"][0]}
        field = name_of_symbol(declared, what)
        matches = {"setting": kinds["setting"][field]} if field in kinds["setting"] else {}
    if not matches:
        more = f"Try: lemmata search {what}"
        raise unknown("item", what, {each for named in kinds.values() for each in named}, name, more)
    if len(matches) > 1:
        listed = " or ".join(f"{name}/{kind}:{what}" for kind in matches)
        raise UserError(f"'{what}' is several things in {name}: say {listed}.")
    chosen = next(iter(matches.values()))
    return {**chosen, "replication": shipped_replication(name, what)} if chosen["type"] == "claim" else chosen


def contract(found: Mapping[str, Any]) -> dict[str, Any]:
    """What `lemmata show THEORY --json` prints of a description."""
    hidden = ("link", "numbers", "declared", "items", "calculators")
    experiments = [{key: value for key, value in row.items() if key != "setting"} for row in found["experiments"]]
    return {key: value for key, value in found.items() if key not in hidden} | {"experiments": experiments}


def with_details(theory: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """An item with what the command line shows of it beside its JSON."""
    return {**found, **(description(theory)["calculators"][found["name"]] if found["type"] == "bound" else {})}


def fields(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The fields of every setting of a theory, each name once, those of its own setting first."""
    named: dict[str, dict[str, Any]] = {}
    for row in (row for kind in found["declared"] for row in kind):
        named.setdefault(row["name"], row)
    return list(named.values())


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in SHOWN} | {"choices": row["choices"] or None}


def _rows(declared: Mapping[str, Declaration]) -> list[dict[str, Any]]:
    return [{"name": name, **dataclasses.asdict(each)} for name, each in declared.items()]


def description(name: str) -> dict[str, Any]:
    """The description of the theory of this name or file: as it is kept, or made now, and kept if it is registered."""
    if name.endswith(".py"):
        return json.loads(_text(registry.load(name)))
    registry.check(name)
    path = _path(name)
    kept = read_sealed(path)
    if kept is not None:
        return kept
    text = _text(registry.load(name))
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(sealed(json.loads(text)), ensure_ascii=False).encode())
        kept = sorted(path.parent.glob(f"{name}-*.json"), key=lambda each: each.stat().st_mtime)
        for old in kept[:-KEPT]:
            old.unlink(missing_ok=True)
    return json.loads(text)


def _text(theory: Theory) -> str:
    return json.dumps(describe(theory), ensure_ascii=False)


def _path(name: str) -> Path:
    own = registry.folder_of(name)
    digest = hashlib.sha256((digest_of_files() + digest_of_files(own)).encode()).hexdigest()[:16]
    return cache_folder() / "described" / f"{name}-{digest}.json"


def shipped_replication(theory: str, claim: str) -> dict[str, Any] | None:
    """How often the claim came out as expected, by the table that its theory ships; no computing, no parsing."""
    path = registry.folder_of(theory) / "replication.json" if registry.has(theory) else None
    rows = json.loads(path.read_text(encoding="utf-8")) if path and path.exists() else []
    return next((row for row in rows if row["claim"] == claim), None)


def check_item(name: str, kind: str, item: str) -> None:
    """Refuse an experiment, claim or bound that the theory of this name does not have."""
    found = description(name)
    if item not in {row["name"] for row in found[f"{kind}s"]}:
        raise wrong_item(kind, item, name, _related(found))


def _related(found: Mapping[str, Any]) -> Related:
    """What a theory has, for suggestions."""
    return {
        "experiment": {name: row["claims"] for name, row in found["items"]["experiment"].items()},
        "claim": {name: row["reads"] for name, row in found["items"]["claim"].items()},
        "bound": dict.fromkeys(found["calculators"], ()),
        "setting": {row["name"]: () for row in found["settings"]},
    }


def check_changes(name: str, experiment: str, assignments: Iterable[str]) -> None:
    """Refuse an experiment that there is not, a field that its setting does not have, a value outside its range."""
    check_item(name, "experiment", experiment)
    found = description(name)
    number = next(row["setting"] for row in found["experiments"] if row["name"] == experiment)
    declared = {row["name"]: declaration(row) for row in found["declared"][number]}
    parse_assignments("field", declared, assignments)


def declaration(row: dict[str, Any]) -> Declaration:
    """The declaration that a row of `declared` describes."""
    known = {field.name: row[field.name] for field in dataclasses.fields(Declaration)}
    return Declaration(**{**known, "choices": tuple(known["choices"])})
