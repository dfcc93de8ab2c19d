"""The gallery: every experiment with its question, its figure and its command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from facts import Known
from words import code, page, plain, table


def pages(theories: Iterable[Known]) -> Iterator[tuple[str, str]]:
    """(path, text) of the overview and of every theory's gallery."""
    theories = list(theories)
    rows = []
    for known in theories:
        drawn = sum(bool(known.figure(name)) for name in known.experiments)
        rows.append(
            [
                f"[`{known.name}`]({known.name}.md)",
                plain(known.theory.card["question"]),
                str(len(known.experiments)),
                str(drawn),
            ]
        )
    yield (
        "gallery/index.md",
        page(
            "Gallery",
            "Every experiment asks one question, and one command answers it with a figure. The figures here are those "
            "of the preset `quick`, seeds 0, 1, 2, ...; where none is shown, the command draws it.",
            table(["theory", "question", "experiments", "figures here"], rows),
        ),
    )
    for known in theories:
        yield f"gallery/{known.name}.md", _gallery(known)


def _gallery(known: Known) -> str:
    parts = [f"{plain(known.theory.card['question'])} [What was found](../theories/{known.name}.md)."]
    for name, experiment in known.experiments.items():
        size = experiment["presets"]["quick"]
        figure = known.figure(name)
        parts.append(f"## {name}")
        sizes = f"{size['cells']} cells, {size['seeds']} seeds"
        parts.append(f"**{plain(experiment['question'])}** *{plain(experiment['reference'])}; {sizes}.*")
        if figure:
            parts.append(f"[![{plain(experiment['question'])}](../{figure}){{ loading=lazy }}](../{figure})")
        parts.append(code(f"lemmata run {known.name}/{name}"))
        if experiment["claims"]:
            listed = ", ".join(f"[`{claim}`](../claims/{known.name}.md#{claim})" for claim in experiment["claims"])
            parts.append(f"Read by {listed}.")
    return page(f"Figures of {known.name}", *parts)
