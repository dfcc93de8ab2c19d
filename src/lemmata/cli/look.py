"""Commands that compute nothing: `list`, `show`, `search`, and `bound`, which evaluates a formula."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lemmata.cli.options import Bound, Item, Json, SetParameter, show_json, split


def list_theories(as_json: Json = False) -> None:
    """List the theories: which paper, and the question it answers."""
    from lemmata.lab.registry import cards

    rows = [{key: card[key] for key in ("name", "title", "question")} for card in cards()]
    if as_json:
        show_json(rows)
        return
    from lemmata.lab.listed import list_text
    from lemmata.lab.terminal import show as write

    write(list_text(rows), sys.stdout)


def show(
    what: Item,
    claims: Annotated[bool, typer.Option("--claims", help="All claims of the theory.")] = False,
    experiments: Annotated[bool, typer.Option("--experiments", help="All experiments.")] = False,
    bounds: Annotated[bool, typer.Option("--bounds", help="All bounds.")] = False,
    settings: Annotated[bool, typer.Option("--settings", help="All fields of its settings.")] = False,
    as_json: Json = False,
) -> None:
    """Show a theory on one screen, or one of its claims, experiments, bounds or fields in full."""
    from lemmata.lab.registry import check

    theory, slash, name = what.rpartition("/")
    one = bool(slash) and not what.endswith(".py")
    check(theory if one else what)
    from lemmata.lab.descriptions import contract, description, item, with_details
    from lemmata.lab.shown import item_text, theory_text
    from lemmata.lab.terminal import show as write

    if one:
        found = item(theory, name)
        show_json(found) if as_json else write(item_text(theory, with_details(theory, found)), sys.stdout)
        return
    found = description(what)
    asked = {"claims": claims, "experiments": experiments, "bounds": bounds, "settings": settings}
    lists = [name for name, wanted in asked.items() if wanted]
    show_json(contract(found)) if as_json else write(theory_text(what, found, lists), sys.stdout)


def search(
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="What to look for; all words must be there.")],
    everything: Annotated[bool, typer.Option("--all", help="Every hit, not only the first of each theory.")] = False,
    as_json: Json = False,
) -> None:
    """Find claims, experiments, bounds and fields of all theories: by name, statement or symbol."""
    from lemmata.lab.search import search, search_text
    from lemmata.lab.terminal import show as write

    hits = search(words)
    show_json([hit.json() for hit in hits]) if as_json else write(search_text(hits, words, everything), sys.stdout)


def bound(name: Bound, changes: SetParameter = None, as_json: Json = False) -> None:
    """Evaluate a closed-form bound of a paper."""
    from lemmata.lab.descriptions import check_item
    from lemmata.lab.registry import load, load_room

    theory, bound_name = split(name, "bound")
    if theory.endswith(".py"):
        calculator = load(theory).bound(bound_name)
    else:
        bounds = {each.name: each for each in load_room(theory, "bounds").BOUNDS}
        if bound_name not in bounds:
            check_item(theory, "bound", bound_name)
        calculator = bounds[bound_name]
    from lemmata.lab.lanes import prints_aside

    with prints_aside():
        answer = calculator.evaluate(**calculator.parse(changes or ()))
    if as_json:
        show_json(answer)
        return
    from lemmata.lab.shown import answer_text
    from lemmata.lab.terminal import show as write

    write(answer_text(calculator, answer), sys.stdout)
