"""Descriptions: what `lemmata show` tells of a theory, kept beside the compiled programs under a digest of the sources.

Loading a theory takes seconds, reading its description does not. A name or a `--set` that is wrong is refused by it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lemmata.lab import registry
from lemmata.lab.declarations import Declaration, parse_assignments
from lemmata.lab.errors import unknown
from lemmata.lab.files import write_whole
from lemmata.lab.programs import cache_folder
from lemmata.lab.sources import digest_of_files

if TYPE_CHECKING:
    from lemmata.lab.setting import Setting
    from lemmata.lab.theory import Theory

SHOWN = ("name", "symbol", "meaning", "kind", "default", "low", "high", "choices")


def describe(theory: Theory) -> dict[str, Any]:
    """A theory: its card, settings, experiments, claims and bounds.

    `declared`: all of the fields of every setting, the theory's own first.
    """
    used = [type(e.preset("quick").setting) for e in theory.experiments.values()]
    kinds: list[type[Setting]] = list(dict.fromkeys([theory.setting, *used]))
    return {
        **{key: theory.card[key] for key in ("name", "title", "authors", "question", "answer")},
        "settings": [
            {key: row[key] for key in SHOWN} | {"choices": row["choices"] or None} for row in _rows(theory.setting)
        ],
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
        "declared": [_rows(kind) for kind in kinds],
    }


def _rows(kind: type[Setting]) -> list[dict[str, Any]]:
    return [{"name": name, **dataclasses.asdict(each)} for name, each in kind.declarations().items()]


def description(name: str) -> dict[str, Any]:
    """The description of the theory of this name or file: as it is kept, or made now, and kept if it is registered."""
    if name.endswith(".py"):
        return json.loads(_text(registry.load(name)))
    registry.check(name)
    path = _path(name)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        text = _text(registry.load(name))
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob(f"{name}-*.json"):
            old.unlink(missing_ok=True)
        write_whole(path, text.encode())
    return json.loads(text)


def _text(theory: Theory) -> str:
    return json.dumps(describe(theory), ensure_ascii=False)


def _path(name: str) -> Path:
    own = registry.folder_of(name)
    digest = hashlib.sha256((digest_of_files() + digest_of_files(own)).encode()).hexdigest()[:16]
    return cache_folder().parent / "described" / f"{name}-{digest}.json"


def check_item(name: str, kind: str, item: str) -> None:
    """Refuse an experiment, claim or bound that the theory of this name does not have."""
    named = [row["name"] for row in description(name)[f"{kind}s"]]
    if item not in named:
        raise unknown(kind, item, named, name)


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
