"""What a results folder knows of its papers: `theories.json`, kept by `verify` so that a page needs no theory."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lemmata.lab.files import is_sealed, sealed, write_json

if TYPE_CHECKING:
    from lemmata.lab.theory import Theory

CARDS = "theories.json"
SINGLE = re.compile(r"[^\W\d][_^]?[\w*]*")
"""A symbol that is one letter, with indices at most."""
TEXTS = ("name", "title", "authors", "venue", "link", "numbers", "question", "answer")


@dataclass(frozen=True)
class Card:
    """A paper: what it is, whose numbers its references have, what it asks and answers, how many claims it has here,
    and what its symbols mean."""

    name: str
    title: str = ""
    authors: str = ""
    venue: str = ""
    link: str = ""
    numbers: str = ""
    question: str = ""
    answer: str = ""
    claims: int = 0
    symbols: Mapping[str, str] | None = None

    @property
    def address(self) -> str:
        """Where the paper can be read; empty if the card's link is no address of the web."""
        return self.link if self.link.startswith(("https://", "http://")) else ""


def card_of(theory: Theory) -> dict[str, Any]:
    """The card of a theory, as it is kept. Symbols: those of its own setting, then what others add, then what is
    measured under a single symbol."""
    used = [type(preset.setting) for e in theory.experiments.values() for preset in e.presets.values()]
    symbols: dict[str, str] = {}
    for kind in dict.fromkeys([theory.setting, *used]):
        for declared in kind.declarations().values():
            if declared.symbol:
                symbols.setdefault(declared.symbol, declared.meaning)
    for variable in (each for e in theory.experiments.values() for each in e.simulation.variables):
        if SINGLE.fullmatch(variable.symbol) and not variable.meaning.startswith("the same"):
            symbols.setdefault(variable.symbol, variable.meaning.removesuffix(" (inf: never)"))
    texts = {name: str(theory.card.get(name, "")) for name in TEXTS}
    return {**texts, "claims": len(theory.claims), "symbols": symbols}


def keep_cards(directory: Path, theories: Iterable[Theory]) -> None:
    """Keep the cards of these theories in a results folder, beside those that are there."""
    kept = _stored(directory)
    new = {theory.name: sealed(card_of(theory)) for theory in theories}
    if any(kept.get(name) != card for name, card in new.items()):
        write_json(directory / CARDS, {**kept, **new})


def read_cards(directory: Path) -> tuple[dict[str, Card], list[str]]:
    """The cards of a results folder, by theory; and what is wrong with them."""
    found, wrong = dict[str, Card](), list[str]()
    for name, stored in _stored(directory).items():
        if is_sealed(stored) and stored.get("name") == name:
            known = {field.name for field in fields(Card)} & stored.keys()
            found[name] = Card(**{field: stored[field] for field in known})
        else:
            wrong.append(f"What {CARDS} says of {name} was damaged or changed after it was written and is not shown.")
    return found, wrong


def _stored(directory: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        content = json.loads((directory / CARDS).read_text(encoding="utf-8"))
        return content if isinstance(content, dict) else {}
    return {}
