"""What the shell completes: theories at first, then what stands behind their slash; read from the descriptions."""

from __future__ import annotations

from collections.abc import Sequence


def complete(typed: str, kinds: Sequence[str]) -> list[str]:
    """The names that begin like this."""
    from lemmata.lab.descriptions import description
    from lemmata.lab.registry import cards

    names = [card["name"] for card in cards()]
    theory, slash, _ = typed.partition("/")
    if slash and theory in names:
        found = description(theory)
        names = [f"{theory}/{row['name']}" for kind in kinds for row in found[kind]]
    elif not slash:
        names += [f"{name}/" for name in names if name.startswith(typed) and typed]
    return [name for name in names if name.startswith(typed)]


def complete_item(incomplete: str) -> list[str]:
    return complete(incomplete, ("claims", "experiments", "bounds", "settings"))


def complete_claim(incomplete: str) -> list[str]:
    return complete(incomplete, ("claims",))


def complete_experiment(incomplete: str) -> list[str]:
    return complete(incomplete, ("experiments",))


def complete_bound(incomplete: str) -> list[str]:
    return complete(incomplete, ("bounds",))
