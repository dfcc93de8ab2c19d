"""`lemmata search WORD`: claims, experiments, bounds and fields of all theories that mention it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from lemmata.lab import registry
from lemmata.lab.declarations import same_symbol
from lemmata.lab.descriptions import description, fields
from lemmata.lab.mathematics import plain
from lemmata.lab.terminal import NAME, entry, line

MOST = 6
"""So many hits of a theory are shown unless all are asked for."""


class Hit(NamedTuple):
    """Something that mentions all words."""

    theory: str
    type: str
    name: str
    symbol: str
    reference: str
    text: str

    def json(self) -> dict[str, Any]:
        return self._asdict()


def search(words: Sequence[str], theories: Iterable[str] | None = None) -> list[Hit]:
    """What mentions all of these words in its name, statement, formula, reference or symbol; what is named so first."""
    names = [card["name"] for card in registry.cards()] if theories is None else list(theories)
    return [hit for name in names for hit in sorted(_matching(words, _things(description(name))), key=_order(words))]


def _order(words: Sequence[str]) -> Any:
    """What is named so, or has this symbol, comes first."""

    def rank(hit: Hit) -> bool:
        return not all(word.casefold() in hit.name.casefold() or same_symbol(word, hit.symbol) for word in words)

    return rank


def _matching(words: Sequence[str], things: Iterable[tuple[Hit, str]]) -> Iterator[Hit]:
    for hit, hidden in things:
        text = " ".join([hit.name, hit.name.replace("_", " "), hit.reference, hit.text, hidden]).casefold()
        if all(word.casefold() in text or same_symbol(word, hit.symbol) for word in words):
            yield hit


def _things(found: Mapping[str, Any]) -> Iterator[tuple[Hit, str]]:
    """Everything that a theory has, each with further text to look into."""
    name = found["name"]
    for each in found["items"]["claim"].values():
        yield Hit(name, "claim", each["name"], "", each["reference"], each["statement"]), plain(each["formula"])
    for each in found["experiments"]:
        yield Hit(name, "experiment", each["name"], "", each["reference"], each["question"]), ""
    for bound, each in found["calculators"].items():
        parameters = " ".join(f"{row['symbol']} {row['meaning']}" for row in each["declared"])
        yield Hit(name, "bound", bound, "", each["reference"], each["formula"]), parameters
    for each in fields(found):
        yield Hit(name, "setting", each["name"], each["symbol"], "", each["meaning"]), ""


def search_text(hits: Sequence[Hit], words: Sequence[str], everything: bool = False) -> RenderableType:
    """The hits, by theory."""
    typed = " ".join(words)
    if not hits:
        return Text(f"Nothing mentions {typed!r}. `lemmata list` names the theories.")
    by_theory: dict[str, list[Hit]] = {}
    for hit in hits:
        by_theory.setdefault(hit.theory, []).append(hit)
    parts: list[RenderableType] = []
    for theory, found in by_theory.items():
        parts.append(line((theory, NAME), (f"  {len(found)} found", "dim")))
        shown = found if everything else found[:MOST]
        for hit in shown:
            more = ", ".join(each for each in (hit.type, hit.symbol, hit.reference) if each)
            parts.append(entry(f"{theory}/{hit.name}", more, hit.text))
        if len(shown) < len(found):
            parts.append(line((f"  and {len(found) - len(shown)} more: lemmata search {typed} --all", "dim")))
        parts.append(Text())
    return Group(*parts, line(("lemmata show THEORY/NAME", "cyan"), " tells more of each."))
