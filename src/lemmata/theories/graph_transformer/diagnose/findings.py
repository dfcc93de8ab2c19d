"""Sentences from measured gains: each finding compares two arms on the user's own labelled nodes."""

import lemmata as lm
from lemmata.theories.graph_transformer.diagnose.arms import DRAWN, Arm, spelled
from lemmata.theories.graph_transformer.diagnose.trial import FEWEST, FOLDS, LEVEL, Trial

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
    gains = trial.gains(advisable)
    best = max(range(len(advisable)), key=lambda i: gains[i].value)
    found = [_first(trial, advisable[best], gains[best], len(advisable))]
    counts = next(arm for arm in advisable if arm.how == "counts")
    if counts != advisable[best]:
        gain = gains[advisable.index(counts)]
        found.append(_finding(trial, counts, NO_GRAPH, gain, f"give the model {counts.name}"))
    if found[0].does == "follow" and advisable[best] != counts:
        found += _how(trial, advisable, advisable[best])
        advice = "draw from the whole graph instead"
        found.append(_compared(trial, WHOLE, advisable[best], advice))
    else:
        found.append(_compared(trial, WHOLE, NO_GRAPH, "draw from the whole graph"))
    return found


def _first(trial: Trial, best: Arm, gain: lm.Estimate, tried: int) -> lm.Finding:
    advice = f"give the model {best.name}" if best.how == "counts" else f"draw {best.name}, beside its own features"
    one = _finding(trial, best, NO_GRAPH, gain, advice)
    if one.does == "follow":
        return one
    if one.does == "avoid":
        ways = f"the best of {tried} ways to use it ({best.name})"
        text = f"Leave the graph out: even {ways} is worse; {_measured(one, trial)}."
    else:
        text = (
            f"The graph makes no measurable difference: of {tried} ways to use it the best ({best.name}) "
            f"{'gains' if gain.value >= 0 else 'loses'} nothing that can be told from chance; {_measured(one, trial)}."
        )
    return lm.Finding(advice, gain, one.unit, one.compared, one.splits, text)


def _how(trial: Trial, advisable: list[Arm], best: Arm) -> list[lm.Finding]:
    """How far to go, quotas, and whether to tell distances apart."""
    score = trial.score
    drawn = [arm for arm in advisable if arm.how != "counts"]
    alone = max((arm for arm in drawn if len(arm.distances) == 1), key=score)
    several = max((arm for arm in drawn if len(arm.distances) > 1), key=score, default=None)
    if several is None:
        return []
    chosen = best.distances if len(best.distances) > 1 else several.distances
    where = spelled(chosen)
    far = best if len(best.distances) > 1 else several
    quotas, blocks, union = (Arm(chosen, how) for how in ("quotas", "blocks", "union"))
    return [
        _compared(trial, far, alone, f"draw from {where} instead of {spelled(alone.distances)} alone"),
        _compared(trial, quotas, union, f"draw {quotas.quota} of each of {where} instead of {DRAWN} of their union"),
        _compared(trial, blocks, quotas, f"tell {where} apart (a distance encoding) instead of pooling them"),
    ]


def _compared(trial: Trial, first: Arm, second: Arm, advice: str) -> lm.Finding:
    return _finding(trial, first, second, trial.gain(first, second, 1 - (1 - LEVEL) / QUESTIONS), advice)


SAID = {"follow": "{advice}", "avoid": "Do not {advice}", "no difference": "No measurable difference: {advice}"}


def _finding(trial: Trial, first: Arm, second: Arm, gain: lm.Estimate, advice: str) -> lm.Finding:
    one = lm.Finding(advice, gain, trial.unit, (first.name, second.name), trial.splits, "")
    said = SAID[one.does].format(advice=advice)
    text = f"{said[0].upper()}{said[1:]}. {_measured(one, trial, first, second)}."
    return lm.Finding(advice, gain, one.unit, one.compared, one.splits, text)


def _measured(one: lm.Finding, trial: Trial, first: Arm | None = None, second: Arm = NO_GRAPH) -> str:
    gain = one.gain
    assert gain is not None
    difference = f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
    if first is None:
        return f"{difference} of {one.unit} on {second.name}, which has {trial.score(second):.3f}"
    unit = f"{one.unit[0].upper()}{one.unit[1:]}"
    return f"{unit} {trial.score(first):.3f} against {trial.score(second):.3f} ({second.name}): {difference}"
