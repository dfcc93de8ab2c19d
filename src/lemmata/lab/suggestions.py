"""What is said of a name that is not there: the thing of another kind that bears it, with the command for it, or the
names that may be meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lemmata.lab.errors import UserError, either, unknown

Related = Mapping[str, Mapping[str, Sequence[str]]]
"""What a theory has: kind -> name -> related names (the experiments that a claim reads, the claims that read an
experiment, nothing for others)."""


def wrong_item(kind: str, name: str, theory: str, related: Related) -> UserError:
    """The error for an experiment, claim, bound or setting that a theory (its name or file) does not have."""
    for other, named in related.items():
        if other != kind and name in named:
            return UserError(f"'{name}' is {_told(kind, other, name, theory, named[name])}")
    more = f"See: lemmata show {theory} --{kind}s"
    return unknown(kind, name, related[kind], theory, more if len(related[kind]) > 6 else "")


def _told(kind: str, other: str, name: str, theory: str, related: Sequence[str]) -> str:
    """What a thing of another kind is, and the command that the user may have wanted."""
    show = f"lemmata show {theory}/{name}"
    if other == "claim" and kind == "experiment":
        verify = f"lemmata verify {theory}/{name}"
        if not related:
            return f"a claim of {theory} that reads no experiment; try: {verify}"
        reads = f"the experiment{'s' if len(related) > 1 else ''} {' and '.join(related)}"
        return f"a claim of {theory} that reads {reads}; try: lemmata run {theory}/{related[0]}, or {verify}"
    if other == "experiment" and kind == "claim":
        if not related:
            return f"an experiment of {theory} that no claim reads; try: lemmata run {theory}/{name}"
        readers = f"read by the claim{'s' if len(related) > 1 else ''} {either(related, 'and')}"
        return f"an experiment of {theory}, {readers}; try: lemmata verify {theory}/{related[0]}"
    if other == "bound":
        return f"a bound of {theory}, not {_a(kind)}; try: lemmata bound {theory}/{name}"
    word = "a field of the settings" if other == "setting" else _a(other)
    return f"{word} of {theory}, not {_a(kind)}; try: {show}"


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
