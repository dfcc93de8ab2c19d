"""The index of claims: every statement with its verdict and its replication, a page for each theory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from facts import NOT_RUN, Known
from words import SAID, cell, claimed, decided_by, formula, measured, of_claims, page, plain, table

OUTCOMES = ("holds", "fails", "inconclusive")


def pages(theories: Iterable[Known]) -> Iterator[tuple[str, str]]:
    """(path, text) of the index and of every theory's list."""
    theories = list(theories)
    yield "claims/index.md", index(theories)
    for known in theories:
        yield f"claims/{known.name}.md", listed(known)


def index(theories: list[Known]) -> str:
    """How many claims there are, and how they came out."""
    rows = []
    for known in theories:
        of_paper = [claim for claim in known.theory.claims.values() if claim.source in ("paper", "figure")]
        counts = Counter(known.rows[claim.name]["outcome"] for claim in of_paper if claim.name in known.rows)
        done = list(known.replications.values())
        repeats = f"{sum(each.repeats for each in done)} of {len(done)}" if done else "not replicated yet"
        blocks = _range([each.blocks for each in done])
        found = [str(counts[outcome]) for outcome in OUTCOMES] if known.rows else ["–"] * 3
        rows.append(
            [
                f"[`{known.name}`]({known.name}.md)",
                str(len(known.theory.claims)),
                str(len(of_paper)),
                *found,
                repeats,
                blocks,
            ]
        )
    return page(
        "Claims",
        "Every statement that Lemmata examines. A claim is a statement of a paper, one that its figures make, our "
        "correction of one, or one that follows from it. Each is judged by a rule that was fixed before the run, and "
        "each has a control that the same judge must answer differently. *Hold*, *fail* and *undecided* count what the "
        "papers themselves say. *Repeat* counts, of all claims that were judged again, those that came out as "
        "expected, with their control, in at least 19 of 20 further blocks of fresh seeds; *blocks* says how many "
        "blocks that were.",
        table(["theory", "claims", "of the paper", "hold", "fail", "undecided", "repeat", "blocks"], rows),
        "Statements that fall are collected, with their corrections, under [errata](../errata.md). The words are "
        "explained in the [glossary](../glossary.md).",
        wide=True,
    )


def _range(counts: list[int]) -> str:
    """From the least to the largest of some numbers."""
    return " to ".join(str(each) for each in dict.fromkeys((min(counts), max(counts)))) if counts else "–"


def listed(known: Known) -> str:
    """Every claim of a theory, what falls first."""
    claims = list(known.theory.claims.values())
    falling = [claim for claim in claims if known.falls(claim)]
    undecided = [claim for claim in claims if known.outcome(claim.name) == "inconclusive"]
    parts = [
        f"{known.theory.card['title']} ({known.theory.card['authors']}). [What was found](../theories/{known.name}.md)."
    ]
    parts.append(_when(known))
    odd = [claim for claim in claims if known.odd(claim.name)]
    shaky = [claim for claim in claims if known.doubtful(claim) and claim not in odd]
    sections = {"Not as expected": odd, "What falls": falling, "Not settled": shaky, "Undecided": undecided}
    sections["All claims"] = claims
    for title, chosen in sections.items():
        if chosen:
            parts += [f"## {title}", _table(known, [claim.name for claim in chosen], anchors=title == "All claims")]
    return page(f"Claims of {known.name}", *parts, wide=True)


def _when(known: Known) -> str:
    command = f"`lemmata verify {known.name}`"
    if not known.rows:
        return f"No verification is kept for this page; outcomes are the expected ones. Compute them with {command}."
    seconds = sum(row["seconds"] for row in known.rows.values())
    return f"From {command} (preset quick, seeds 0, 1, 2, ...), {seconds / 60:.0f} minutes of computing."


def _table(known: Known, names: list[str], anchors: bool) -> str:
    rows = []
    for name in names:
        claim, row = known.theory.claims[name], known.rows.get(name)
        anchor = f'<a id="{name}"></a>' if anchors else ""
        outcome = f"**{row['outcome']}**" if row else f"{NOT_RUN} (expected: {claim.expected})"
        found = f"{measured(row)}; accepted: {claimed(row)}; {decided_by(row)}" if row else "–"
        if row and row["measured"] is None:
            found = row["note"].split("; ")[0]
        if row and known.odd(name):
            outcome += f" (expected {row['expected']}, control {row['control']})"
        rows.append(
            [
                f"{anchor}`{name}`",
                f"{cell(plain(claim.statement))} *{cell(plain(claim.reference))}; {SAID[claim.source]}.*"
                + formula(claim.formula),
                outcome,
                cell(plain(found)),
                known.replicated(name),
            ]
        )
    return of_claims(table(["claim", "statement", "verdict", "measured", "replicated"], rows))
