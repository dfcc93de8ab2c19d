"""What is known of the theories: what they declare, what a verification measured, how often it came out again.

Verdicts are what `lemmata verify THEORY --json` printed, kept in `docs/verdicts/THEORY.json`; replications are the
tables that the theories ship. Where one is missing the pages say so.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lemmata.lab import registry
from lemmata.lab.claims import Claim
from lemmata.lab.declarations import spell_argument
from lemmata.lab.descriptions import describe_claim, describe_experiment
from lemmata.lab.page import numbers
from lemmata.lab.replications import Replication, known_replications
from lemmata.lab.theory import Theory

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
NOT_RUN = "not computed for this page"
NOT_REPLICATED = "not replicated yet"
MANY = 12
"""Labels of an axis above which not all are named."""
PLUMBING = re.compile(r"records|record_every|track|stop|\w+_room")
"""Fields that say what is looked at and kept, not what is learnt."""


@dataclass(frozen=True)
class Known:
    """A theory and what is known of it."""

    theory: Theory

    @property
    def name(self) -> str:
        return self.theory.name

    @cached_property
    def rows(self) -> dict[str, dict[str, Any]]:
        """By claim: its row of the verification, for those that were verified."""
        path = DOCS / "verdicts" / f"{self.name}.json"
        listed = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        return {row["claim"]: row for row in listed}

    @cached_property
    def replications(self) -> dict[str, Replication]:
        """By claim: how often it came out as expected on further blocks of seeds."""
        return known_replications(self.name)

    @cached_property
    def claims(self) -> dict[str, dict[str, Any]]:
        return {claim.name: describe_claim(self.theory, claim) for claim in self.theory.claims.values()}

    @cached_property
    def experiments(self) -> dict[str, dict[str, Any]]:
        return {each.name: describe_experiment(self.theory, each) for each in self.theory.experiments.values()}

    @cached_property
    def page(self) -> str:
        """The text of its own page, empty if it has none."""
        path = DOCS / "theories" / f"{self.name}.md"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def outcome(self, claim: str) -> str:
        """What came out, or what was expected where nothing was computed."""
        row = self.rows.get(claim)
        return row["outcome"] if row else self.theory.claims[claim].expected

    def odd(self, claim: str) -> bool:
        """Whether it or its control did not come out as expected."""
        row = self.rows.get(claim)
        return row is not None and (row["outcome"], row["control"]) != (row["expected"], row["control_expected"])

    def falls(self, claim: Claim) -> bool:
        """Whether the paper states it and it was found not to hold, with a control that answers for the judge."""
        known = claim.expected == self.outcome(claim.name) == "fails" and not self.odd(claim.name)
        return known and claim.source in ("paper", "figure") and self.repeats(claim)

    def doubtful(self, claim: Claim) -> bool:
        """Whether the paper states it and it fell, or was expected to, but not every time."""
        fell = "fails" in (claim.expected, self.outcome(claim.name))
        return fell and claim.source in ("paper", "figure") and not self.falls(claim)

    def repeats(self, claim: Claim) -> bool:
        """Whether it came out the same on nearly all further blocks of seeds, as far as there are any."""
        done = self.replications.get(claim.name)
        return done is None or done.repeats

    def corrections(self, claim: Claim) -> list[Claim]:
        """The claims that correct it, else those corrections that its page names where it speaks of it."""
        claims = self.theory.claims.values()
        remarks = " ".join(self.remarks(claim))
        direct = [each for each in claims if each.corrects == claim.name]
        return direct or [each for each in claims if each.source == "corrected" and f"`{each.name}`" in remarks]

    def relatives(self, claim: str) -> list[Claim]:
        """Further claims of the same entry of the register, that is with the same first word."""
        key = claim.split("-")[0]
        return [each for each in self.theory.claims.values() if each.name.split("-")[0] == key and each.name != claim]

    def replicated(self, claim: str) -> str:
        """How often it came out as expected, in words."""
        done = self.replications.get(claim)
        return NOT_REPLICATED if done is None else f"{done.as_expected} of {done.blocks} block{'s' * (done.blocks > 1)}"

    def measured_again(self, claim: str) -> str:
        """What those blocks measured, from the least to the largest number."""
        done = self.replications.get(claim)
        if done is None or done.low is None or done.high is None:
            return ""
        least, most = numbers.number(done.low), numbers.number(done.high)
        return f", measured {least}" if least == most else f", measured {least} to {most}"

    def figure(self, experiment: str) -> str:
        """Where its figure lies below docs, empty if there is none."""
        for ending in ("svg", "png"):
            path = f"images/{self.name}/{experiment}.{ending}"
            if (DOCS / path).exists():
                return path
        return ""

    def tried(self, claim: Claim) -> list[str]:
        """In which settings the claim is examined: a line for each experiment that its own evidence reads."""
        return [self.setting_of(name) for name in claim.evidence.reads] or ["no training: it follows from formulas"]

    def setting_of(self, experiment: str) -> str:
        """An experiment at the preset quick: what its setting changes, its axes, its seeds."""
        preset = self.theory.experiments[experiment].preset("quick")
        declared = type(preset.setting).declarations()
        values = {name: getattr(preset.setting, name) for name in declared}
        changed = [
            f"{name} = {spell_argument(value)}"
            for name, value in values.items()
            if declared[name].kind != "array"
            and value != declared[name].default
            and name not in preset.axes
            and not PLUMBING.fullmatch(name)
        ]
        axes = [f"{axis} in {_labels(list(labels))}" for axis, labels in preset.axes.items()]
        seeds = f"{preset.seeds} seed{'s' if preset.seeds > 1 else ''}"
        return f"`{experiment}`: {'; '.join([*changed, *axes, seeds])}"

    def remarks(self, claim: Claim) -> list[str]:
        """What its page says of the claim under "Where the paper needs correcting".

        The points that name the claim, else those about the same place of the paper.
        """
        found = points(section(self.page, "Where the paper needs correcting"))
        named = [text for whole, _, text in found if names(whole, claim.name)]
        places = places_of(claim.reference)
        return named or [text for _, where, text in found if where and places & places_of(where)]


def _labels(labels: list[Any]) -> str:
    """The labels of an axis, the first and the last of many; in quotes where one has a comma of its own."""
    if len(labels) > MANY:
        return f"{_labels(labels[:2])}, ..., {_labels(labels[-1:])} ({len(labels)} in all)"
    if any("," in str(label) for label in labels):
        return ", ".join(f'"{label}"' for label in labels)
    return spell_argument(labels)


def all_known() -> list[Known]:
    """Every registered theory."""
    return [Known(theory) for theory in registry.load_all()]


def section(text: str, title: str) -> str:
    """What stands below a heading, up to the next of the same or a higher level; empty if there is none."""
    found = re.search(rf"^(#+) {re.escape(title)}\n", text, flags=re.MULTILINE)
    if found is None:
        return ""
    rest = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, flags=re.MULTILINE)
    return rest[: end.start() if end else None].strip()


def points(text: str) -> list[tuple[str, str, str]]:
    """The points of a list, or the rows of a table without its head: (all of it, the first cell, the last cell)."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("- "):
            found.append([line[2:]])
        elif line.startswith("  ") and found and len(found[-1]) == 1:
            found[-1][0] += " " + line.strip()
        elif line.startswith("|") and not set(line) <= set("|-: "):
            found.append([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return [(" ".join(cells), cells[0] if len(cells) > 1 else "", cells[-1]) for cells in found]


def names(point: str, claim: str) -> bool:
    """Whether a point names the claim, in full or by its family (`v8-*`)."""
    named = re.findall(r"`([\w*-]+)`", point)
    return any(name == claim or (name.endswith("*") and claim.startswith(name[:-1])) for name in named)


def places_of(reference: str) -> set[str]:
    """The places that a reference names: equations in brackets, and numbered theorems, lemmas, figures, ..."""
    numbered = r"(?:Theorem|Lemma|Proposition|Figure|Remark|Claim|Fact|Section|Table|Assumption) [A-Z]?[\d.]*\d"
    return set(re.findall(rf"{numbered}|\([A-Z\d][\w.]*\)", reference))
