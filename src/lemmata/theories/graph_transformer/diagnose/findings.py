"""Sentences from measured gains: each finding compares two arms on the user's own labelled nodes."""

from collections.abc import Callable
from dataclasses import replace

import lemmata as lm
from lemmata.theories.graph_transformer.diagnose.arms import DRAWN, Arm, spelled
from lemmata.theories.graph_transformer.diagnose.trial import FEWEST, FOLDS, LEVEL, MODELS, Choice, Gain, Score, Trial

QUESTIONS = 4
"""Comparisons beside the first; their intervals hold for all of them at once."""
NO_GRAPH, WHOLE = Arm(), Arm((0,))


def findings(trial: Trial | None) -> list[lm.Finding]:
    """What to do, most important first."""
    if trial is None:
        reason = (
            f"Nothing could be measured: at least {FEWEST} labelled nodes, and two classes of at least {FOLDS}, are "
            "needed to compare models on held-out nodes."
        )
        return [lm.Finding("use the graph", None, "accuracy", ("with the graph", NO_GRAPH.name), 0, reason)]
    advisable = [arm for arm in trial.arms if arm not in (NO_GRAPH, WHOLE) and arm.how != "union"]
    if not advisable:
        reason = "Nothing could be measured: no distance is reached from half of the labelled nodes."
        return [lm.Finding("use the graph", None, trial.unit, ("with the graph", NO_GRAPH.name), 0, reason)]

    def best(score: Score) -> Arm:
        return max(advisable, key=score)

    first = trial.gain(lambda score: (best(score), NO_GRAPH))
    found = [_first(trial, first, len(advisable))]
    if found[0].does == "follow" and first.first.how != "counts":
        found += _how(trial, [arm for arm in advisable if arm.how != "counts"])
        found.append(_compared(trial, lambda score: (WHOLE, best(score)), "draw from the whole graph instead"))
    else:
        found.append(_compared(trial, lambda _: (WHOLE, NO_GRAPH), "draw from the whole graph"))
    return found


def _first(trial: Trial, gain: Gain, tried: int) -> lm.Finding:
    best = gain.first
    advice = f"give the model {best.name}" + ("" if best.how == "counts" else ", beside a node's own features")
    ways = f"of {tried} ways to use the graph the best ({best.name})"
    said = {
        "avoid": f"Leave the graph out: {ways} is worse",
        "no difference": f"The graph makes no measurable difference: {ways} gains nothing that can be told from chance",
        "depends": f"Whether the graph helps depends on the model: on {ways} the two disagree",
    }
    return _finding(trial, gain, advice, said)


def _how(trial: Trial, drawn: list[Arm]) -> list[lm.Finding]:
    """Whether to tell how many nodes there are, how far to go, quotas, and whether to tell distances apart."""
    counted, plain = ([arm for arm in drawn if arm.counted == told] for told in (True, False))
    single, joint = ([arm for arm in plain if (len(arm.distances) > 1) == more] for more in (False, True))

    def informed(score: Score) -> Arm:
        return max(counted, key=score)

    def uninformed(score: Score) -> Arm:
        return replace(informed(score), counted=False)

    def telling(score: Score) -> tuple[Arm, Arm]:
        return informed(score), uninformed(score)

    where = spelled(trial.chosen(telling)[0].distances)
    told = _compared(trial, telling, f"tell the model how many nodes there are at {where}")
    if not joint:
        return [told]

    def far(score: Score) -> Arm:
        return max(joint, key=score)

    def alone(score: Score) -> Arm:
        return max(single, key=score)

    def chosen(how: str) -> Callable[[Score], Arm]:
        return lambda score: Arm(far(score).distances, how)

    joined, nearest = trial.chosen(lambda score: (far(score), alone(score)))
    where, quota = spelled(joined.distances), joined.quota
    farther = _compared(
        trial,
        lambda score: (far(score), alone(score)),
        f"draw from {where} instead of {spelled(nearest.distances)} alone",
    )
    if farther.does == "avoid":  # how to draw from several distances is then no question
        return [told, farther]
    questions = (
        (chosen("quotas"), chosen("union"), f"draw {quota} of each of {where} instead of {DRAWN} of their union"),
        (chosen("blocks"), chosen("quotas"), f"give the model a mean for each of {where} instead of one of all"),
    )
    return [told, farther] + [
        _compared(trial, lambda score, a=first, b=second: (a(score), b(score)), advice)
        for first, second, advice in questions
    ]


def _compared(trial: Trial, choose: Choice, advice: str) -> lm.Finding:
    return _finding(trial, trial.gain(choose, 1 - (1 - LEVEL) / QUESTIONS), advice, {})


SAID = {
    "follow": "{advice}",
    "avoid": "Do not {advice}",
    "no difference": "No measurable difference: {advice}",
    "depends": "Depends on the model: {advice}",
}


def _finding(trial: Trial, gain: Gain, advice: str, said: dict[str, str]) -> lm.Finding:
    """`said`: what is said instead of `SAID`."""
    compared = gain.first.name, gain.second.name
    one = lm.Finding(advice, gain.value, trial.unit, compared, trial.splits, "")
    does = "depends" if one.does == "no difference" and gain.disputed else one.does
    words = (SAID | said)[does].format(advice=advice)
    by_model = ", ".join(
        f"{name} model {trial.score(gain.first, model=m):.3f} against {trial.score(gain.second, model=m):.3f}"
        for m, name in enumerate(MODELS)
    )
    value = f"{gain.value.value:+.3f} [{gain.value.low:+.3f}, {gain.value.high:+.3f}]"
    unit = f"{trial.unit[0].upper()}{trial.unit[1:]}"
    text = f"{words[0].upper()}{words[1:]}. {unit} {value} on {compared[1]} ({by_model})."
    return lm.Finding(advice, gain.value, trial.unit, compared, trial.splits, text)
