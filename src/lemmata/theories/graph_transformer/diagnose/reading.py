"""The theory's quantities beside what was tried: tables, what margins do and do not say, and what the paper assumes."""

from typing import Any

import lemmata as lm
from lemmata.theories.graph_transformer.diagnose.arms import DRAWN, Arm
from lemmata.theories.graph_transformer.diagnose.quantities import Core, Quantities
from lemmata.theories.graph_transformer.diagnose.trial import LEVEL, MODELS, Trial


def tried(trial: Trial) -> list[dict[str, Any]]:
    """Every arm with its scores and its gain on features alone, intervals of all of them at once."""
    level = 1 - (1 - LEVEL) / max(len(trial.arms) - 1, 1)
    rows = []
    for arm in trial.arms:
        gain = trial.gain(lambda _, arm=arm: (arm, trial.arms[0]), level).value
        scores = {f"{name}_model": trial.score(arm, model=m) for m, name in enumerate(MODELS)}
        rows.append(
            {
                "arm": arm.name,
                "score": trial.score(arm),
                **scores,
                "gain": gain.value,
                "gain_low": gain.low,
                "gain_high": gain.high,
            }
        )
    return rows


def by_distance(measured: Quantities, trial: Trial | None) -> list[dict[str, Any]]:
    """The margins of every distance; how many of the nodes drawn from the whole graph lie there, and the gain on it."""
    rows = measured.rows()
    whole = Arm((0,))
    for row in rows:
        row["of_whole_graph"] = DRAWN * row["shell_size"] / max(measured.facts["nodes"] - 1, 1)
        arm = Arm((row["distance"],))
        known = trial is not None and arm in trial.arms
        gain = trial.gain(lambda _, arm=arm: (arm, whole)).value if trial is not None and known else None
        row |= {
            "over_whole_graph": gain.value if gain else None,
            "over_whole_graph_low": gain.low if gain else None,
            "over_whole_graph_high": gain.high if gain else None,
        }
    return rows


def reading(measured: Quantities) -> list[str]:
    """What margins say, and what they do not."""
    facts, several = measured.facts, measured.facts["classes"] > 2
    said = [
        "A margin says whether the labelled discriminative nodes at a distance are of a node's own class more often "
        "than of the others, as a share of the labelled nodes there. It does not say what a network gains from the "
        "features of its neighbours: the findings above do.",
        "With more than two classes a margin below chance says only that other classes prevail there, not which; the "
        "paper's statements about the core distance are for two."
        if several
        else "With two classes a margin below chance is as informative as one above, with the opposite sign.",
    ]
    for name, core in (("counts", measured.core), ("normalised margin", measured.normalised_core)):
        if not core.beyond_chance:
            said.append(f"The core distance by {name} is no evidence: permuted labels have such a margin as well.")
    if facts["roots"] < facts["labelled"]:
        said.append(
            f"Margins are measured from {facts['roots']} labelled nodes, a uniform sample of {facts['labelled']}."
        )
    return said


def assumptions(measured: Quantities) -> list[lm.Assumption]:
    """What the paper's theorem assumes of a graph, where it can be looked at."""
    facts, core = measured.facts, measured.core
    classes, gap, limit = facts["classes"], facts["largest_gap"], facts["balance_limit"]
    separated = _separated(core)
    return [
        lm.Assumption("two classes", classes == 2, classes, f"the paper has two classes; these data have {classes}"),
        lm.Assumption(
            "balance",
            bool(gap <= limit),
            gap,
            f"classes of nearly equal size: one is {gap:.0f} nodes off the average, 10 √N = {limit:.0f} are allowed",
        ),
        lm.Assumption(
            "core distance",
            separated,
            core.distance,
            f"one distance has the largest winning margin: {core.distance}"
            + ("" if core.runner_up is None else f", {core.lead:.3g} nodes above distance {core.runner_up}"),
        ),
        lm.Assumption(
            "discriminative nodes",
            None if facts["discriminative_by"] == "labels" else bool(facts["discriminative"] > 0),
            facts["discriminative"],
            f"some nodes' features tell their class: {facts['discriminative']:.1%} of the labelled ones (cosine above "
            f"{facts['threshold']:.2g})"
            if facts["discriminative_by"] == "features"
            else "some nodes' features tell their class: there are no such features, every labelled node was counted",
        ),
    ]


def _separated(core: Core) -> bool | None:
    return None if core.separated is None else bool(core.separated and core.beyond_chance)
