"""Errata: every statement of the papers that falls as printed, beside its correction and what still stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from facts import Known, section
from words import claimed, code, decided_by, folded, formula, measured, of_claims, page, plain, table, typeset

from lemmata.lab.claims import Claim

OPENING = """
The statements below are false as printed, as far as our runs can tell. This page is meant to be fair to the papers:

- **What falls is narrow.** It is the statement with the number that is given, tried in the setting that is given. A
  wrong exponent, sign or constant rarely touches a paper's main message: each theory begins with its whole picture,
  and *what still stands* lists for each entry what was examined beside it and holds.
- **Nothing is decided by eye.** A rule that was fixed before the run decides, and the same rule must say *holds* of a
  case that satisfies the statement (the control). *Replicated* says in how many further blocks of fresh seeds both the
  statement and its control came out the same; what did not in at least 95 % of them is [not settled](#not-settled),
  and no erratum.
- **"The paper says" is in our words,** in the form in which the statement was tested, with its formula and its number.
  Whose numbers these are is said below each title: for five papers they are those of a
  [thesis](citing.md#the-papers) that contains the paper, and what we call the paper's words are the thesis's there. The
  published version may number, word or already correct them otherwise; look before you quote.
- **Everything can be repeated** with the command below each entry. If we misread a paper, or if a run is not what its
  authors mean, please say so, and the entry will be corrected or removed.
""".strip()
UNSETTLED = (
    "These statements failed in our runs, or we expected them to, and did not do so every time. We say nothing against "
    "them until more seeds or a better experiment decide."
)


def render(theories: Iterable[Known]) -> str:
    """The page."""
    theories = list(theories)
    parts = [OPENING, "## Overview", _overview(theories)]
    for known in theories:
        parts += _theory(known)
    return page("Errata", *parts, *_not_settled(theories))


def _falling(known: Known) -> list[Claim]:
    return [claim for claim in known.theory.claims.values() if known.falls(claim)]


def _overview(theories: list[Known]) -> str:
    found = [(known, claim, f"#{anchor(known, claim)}") for known in theories for claim in _falling(known)]
    return _listed(found)


def _not_settled(theories: list[Known]) -> list[str]:
    """Statements that we think false, or that failed once, where the runs do not say so every time."""
    found = [
        (known, claim, f"claims/{known.name}.md#{claim.name}")
        for known in theories
        for claim in known.theory.claims.values()
        if known.doubtful(claim)
    ]
    return ["## Not settled {#not-settled}", UNSETTLED, _listed(found)] if found else []


def _listed(found: Iterable[tuple[Known, Claim, str]]) -> str:
    rows = []
    for known, claim, target in found:
        row = known.rows.get(claim.name)
        told = f"{measured(row)}; accepted: {claimed(row)}" if row else "–"
        link = f"`{known.name}` [{plain(claim.reference)}]({target})"
        rows.append([link, plain(said(claim)), plain(told), known.replicated(claim.name)])
    return of_claims(table(["where", "what the paper says", "measured", "replicated"], rows))


def anchor(known: Known, claim: Claim) -> str:
    return f"{known.name}-{claim.name}".replace("_", "-")


def said(claim: Claim) -> str:
    """The statement without the words that mark it as the paper's: the heading says so already."""
    for opening in ("As stated: ", "As printed: ", "As reported: ", "As stated, ", "As printed, ", "As reported, "):
        if claim.statement.startswith(opening):
            return capital(claim.statement.removeprefix(opening))
    return claim.statement


def capital(sentence: str) -> str:
    """The sentence with a capital at its beginning, unless it begins with a symbol."""
    return sentence[0].upper() + sentence[1:] if re.match(r"[a-z]{2,}(?![\w_])|a ", sentence) else sentence


def _theory(known: Known) -> list[str]:
    card = known.theory.card
    falling = _falling(known)
    link, venue = card.get("link", ""), card.get("venue", "")
    title = f"[{card['title']}]({link})" if link else f"*{card['title']}*"
    parts = [
        f"## `{known.name}` {{#{known.name.replace('_', '-')}}}",
        f"{title}, {card['authors']}{f', {venue}' if venue else ''}. {card.get('numbers', '')} "
        f"[All of its claims](claims/{known.name}.md).",
    ]
    standing = section(known.page, "What stands and what falls")
    parts.append(at_root(standing, known.name) or plain(card["answer"]))
    if not falling:
        parts.append("No statement of this paper falls as printed.")
    for claim in falling:
        parts += _entry(known, claim)
    slips = section(known.page, "Where the paper needs correcting")
    if slips:
        parts.append(folded("All that we would correct in this paper, slips included", at_root(slips, known.name)))
    return parts


def at_root(text: str, name: str) -> str:
    """Text of a theory's page, typeset, with its links as they are here."""
    return typeset(text).replace("](../", "](").replace("](#", f"](theories/{name}.md#")


def _entry(known: Known, claim: Claim) -> list[str]:
    """One statement: what the paper says, where it was tried, what came out, the correction, what stands."""
    row = known.rows.get(claim.name)
    parts = [
        f"### {plain(claim.reference)}: `{claim.name}` {{#{anchor(known, claim)}}}",
        f"**The paper says:** {plain(said(claim))}",
        formula(claim.formula),
        "**Tried in:** " + ("; ".join(_plain_outside_code(each) for each in known.tried(claim))) + ".",
    ]
    found = f"{_found(row)} Decided by: {plain(decided_by(row))}." if row else "not computed yet."
    control = f" (**{row['control']}**)" if row else ""
    parts.append(f"**What is measured:** {plain(known.claims[claim.name]['evidence'])}")
    parts.append(f"**Measured:** {found} Control: {plain(claim.controls[0].case)}{control}.")
    parts.append(_again(known, claim))
    corrections = known.corrections(claim)
    for each in corrections:
        parts.append(f"**Corrected** (`{each.name}`): {plain(capital(each.statement.removeprefix('Corrected: ')))}")
        parts.append(formula(each.formula))
        other = known.rows.get(each.name)
        found = _found(other) if other else "not computed yet."
        parts.append(f"**Measured:** {found} {_again(known, each)}")
    if not corrections:
        parts.append("**Corrected:** we have no corrected statement to offer.")
    remarks = known.remarks(claim)
    if remarks:
        parts.append("**What is right:** " + typeset("; ".join(remarks)))
    parts.append(_standing(known, claim))
    names = " ".join(f"{known.name}/{each.name}" for each in (claim, *corrections))
    parts.append(code(f"lemmata verify {names}"))
    return parts


def _again(known: Known, claim: Claim) -> str:
    """How often it came out the same."""
    if known.rows.get(claim.name, {}).get("seeds") == 0:
        return f"**Replicated:** {known.replicated(claim.name)} (nothing random enters)."
    return f"**Replicated:** {known.replicated(claim.name)}{plain(known.measured_again(claim.name))}."


def _found(row: Mapping[str, Any]) -> str:
    """What came out, and what would have been accepted."""
    return f"{plain(measured(row))}; accepted: {plain(claimed(row))}. Verdict: **{row['outcome']}**."


def _standing(known: Known, claim: Claim) -> str:
    """What was examined of the same entry of the register and holds, our corrections aside."""
    others = [each for each in known.relatives(claim.name) if each.source != "corrected"]
    stand = [each for each in others if known.outcome(each.name) == "holds"]
    if not stand:
        return ""
    listed = "\n".join(f"- {plain(each.statement)} (`{each.name}`)" for each in stand)
    return folded(f"What still stands beside it ({len(stand)})", listed)


def _plain_outside_code(text: str) -> str:
    """Plain text behind the name in backticks."""
    name, colon, rest = text.partition("`: ")
    return f"{name}{colon}{plain(rest)}" if colon else plain(text)
