"""`lemmata diagnose groups`: what more data of each group would do to every group's risk, on a user's own table."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from threadpoolctl import threadpool_limits

import lemmata as lm
from lemmata.theories.group_imbalance.data import Mixture
from lemmata.theories.group_imbalance.diagnose import figure
from lemmata.theories.group_imbalance.diagnose.check import CANNOT_TELL, NO, SIZES, YES, Check, check
from lemmata.theories.group_imbalance.diagnose.columns import Columns, read_columns
from lemmata.theories.group_imbalance.diagnose.prediction import Fitted, change, fit, fitted, losses, spread_of_changes
from lemmata.theories.group_imbalance.mixture import known_mixture
from lemmata.theories.group_imbalance.network import SIGMOID

AVERAGE = "average"
MILLION = 1e6
UNIT = "log loss"
FLOOR = 1e-9
"""Added to every variance: a word may be absent from a group."""
SAID = {YES: "as predicted", NO: "not as predicted", CANNOT_TELL: "too little to confirm what is predicted"}


def diagnose(
    data: Annotated[Any, "A table: csv, parquet (extra `tables`) or npz."],
    *,
    label: Annotated[str | None, "Column of the label; it has two values."] = None,
    group: Annotated[str | None, "Column of the group; the model never sees it."] = None,
    ignore: Annotated[str, "Columns to leave out, separated by commas."] = "",
    splits: Annotated[int, "Splits of the rows for the check by refitting."] = 10,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> lm.Diagnosis:
    """Say what more data of each group would do to every group's risk."""
    if isinstance(splits, bool) or not isinstance(splits, int) or not 3 <= splits <= 1000:
        raise lm.UserError(f"splits = {splits} is not allowed: splits is an integer from 3 to 1000.")
    left_out = [name.strip() for name in ignore.split(",") if name.strip()]
    columns = read_columns(data, label, group, left_out)
    groups = len(columns.groups)
    with threadpool_limits(1):
        w = fit(columns.x, columns.y)
        at = fitted(w, columns.x, columns.y, columns.members, groups)
        errors = spread_of_changes(w, columns.x, columns.y, columns.members, at, 1.0, seed)
        found = check(columns, seed, progress, splits)
    judged = [*columns.groups, AVERAGE]
    mixture = known_mixture(columns.x[:, 1:], columns.members, FLOOR)
    rows = group_rows(columns, w, at, mixture)
    return lm.Diagnosis(
        kind="groups",
        source=columns.source,
        sizes={"rows": len(columns.y), "inputs": columns.x.shape[1], "groups": groups},
        findings=findings(columns, found),
        quantities={
            "groups": rows,
            "one_more_row_in_millionths_of_log_loss": one_more_row(columns, at, errors),
            "count_doubled_in_thousandths_of_log_loss": check_rows(judged, found),
            "reading": columns.notes + reading(columns, found),
        },
        assumptions=assumptions(columns, w, mixture.means, rows),
        files=columns.files,
        draw=lambda: figure.draw(columns, found, at, errors),
    )


def one_more_row(columns: Columns, at: Fitted, errors: np.ndarray) -> list[dict[str, Any]]:
    """[who gets a row, whose risk]: theory, shift and both, in millionths, with the interval of both."""
    shares, judged, rows = at.counts / at.counts.sum(), [*columns.groups, AVERAGE], []
    words = ("theory", "shift", "predicted", "predicted_low", "predicted_high")
    for g, name in enumerate(columns.groups):
        theory, shift = (np.append(part, shares @ part) for part in change(at, g, 1.0))
        both, wide = theory + shift, 1.96 * errors[:, g]
        values = MILLION * np.stack([theory, shift, both, both - wide, both + wide], 1)
        rows += [
            {"one more of": name, "risk of": whose} | dict(zip(words, row, strict=True))
            for whose, row in zip(judged, values, strict=True)
        ]
    return rows


def check_rows(judged: list[str], found: Check) -> list[dict[str, Any]]:
    """Predicted against measured change when a group's count is doubled, at every size of the base."""
    rows = []
    for place in np.ndindex(*found.measured.shape[1:]):
        size, g, k = place
        of = slice(None), *place
        measured = found.interval(found.measured[of])
        row = {"rows": int(found.rows[size]), "doubled": judged[g], "risk of": judged[k]}
        row |= {name: 1e3 * float(getattr(found, name)[of].mean()) for name in ("theory", "predicted")}
        row |= {"measured": 1e3 * measured.value, "measured_low": 1e3 * measured.low}
        rows.append(row | {"measured_high": 1e3 * measured.high, "confirmed": found.says(*place)})
    return rows


def findings(columns: Columns, found: Check) -> list[lm.Finding]:
    """For each group: what doubling its count at the largest base did to its own risk, and to the average."""
    said, last, splits = [], len(SIZES) - 1, len(found.measured)
    for g, name in enumerate(columns.groups):
        for k, whose in ((g, "its own risk"), (len(columns.groups), "the average risk")):
            gain = found.interval(-found.measured[:, last, g, k])
            predicted = -float(found.predicted[:, last, g, k].mean())
            effect = "lowers" if gain.low > 0 else "raises" if gain.high < 0 else "makes no measurable difference to"
            agree = SAID[found.says(last, g, k)]
            text = (
                f"More {name}: doubling their count at {found.rows[last]:.0f} rows {effect} {whose}: "
                f"{1e3 * gain.value:+.3f} [{1e3 * gain.low:+.3f}, {1e3 * gain.high:+.3f}] thousandths of {UNIT} "
                f"gained, {agree} ({1e3 * predicted:+.3f})."
            )
            pair = (f"{name} not doubled", f"{name} doubled")
            said.append(lm.Finding(f"collect more of {name}, for {whose}", gain, UNIT, pair, splits, text))
    return said


def reading(columns: Columns, found: Check) -> list[str]:
    """Where the prediction is to be trusted, and what the theory's part of it says."""
    said, alone = found.tally(), found.tally("theory")
    sentences = []
    for s, rows in enumerate(found.rows):
        yes, no = (int((said[s] == word).sum()) for word in (YES, NO))
        sentences.append(
            f"At {rows:.0f} rows the refits confirm {yes} of {said[s].size} predictions, contradict {no}, and cannot "
            f"tell the others from no change; of the theory's part alone they confirm {int((alone[s] == YES).sum())} "
            f"and contradict {int((alone[s] == NO).sum())}."
        )
    for g, name in enumerate(columns.groups):
        yes, no = ((said[:, g] == word).any(1) for word in (YES, NO))
        wrong, right = ([f"{rows:.0f}" for rows in found.rows[chosen]] for chosen in (no, yes & ~no))
        trust = f"to be trusted at {', '.join(right)} rows" if right else "confirmed at no size that was tried"
        doubt = f", contradicted at {', '.join(wrong)} rows" if wrong else ""
        sentences.append(f"The prediction for more {name} is {trust}{doubt}.")
    theory, whole = (abs(part[:, -1, :, :-1].mean(0)) for part in (found.theory, found.predicted))
    if np.median(theory / np.maximum(whole, 1e-300)) < 0.5:
        sentences.append(
            "Most of the change is a shift: the groups do not share one best model, so more of one pulls the fit "
            "towards it. The theory, in which more data of any group lowers every risk, is silent about that part."
        )
    else:
        sentences.append("Most of the change is the theory's: less noise in a fit that serves all groups.")
    return sentences


def group_rows(data: Columns, w: np.ndarray, at: Fitted, mixture: Mixture) -> list[dict[str, Any]]:
    """A row a group: share, label rate, risk, excess by the theory, norm and effective rank of its covariance."""
    rows, inverse = [], np.linalg.inv(at.total)
    for group, name in enumerate(data.groups):
        mine, factor = data.members == group, float(np.trace(at.information[group] @ inverse))
        spread = np.linalg.eigvalsh(mixture.covariances[group])
        row = {"group": name, "rows": int(mine.sum()), "share": float(mine.mean())}
        row |= {"minority": bool(mine.mean() < 1 / len(data.groups))}
        row |= {f"label {data.positive}": float(data.y[mine].mean())}
        row |= {"log loss": float(losses(w, data.x[mine], data.y[mine]).mean())}
        row |= {"excess by the theory": factor / 2, "excess times 2n": factor * at.counts.sum()}
        row |= {"covariance norm": float(spread[-1]), "effective rank": float(spread.sum() / spread[-1])}
        rows.append(row)
    return rows


def assumptions(data: Columns, w: np.ndarray, means: np.ndarray, rows: list[dict[str, Any]]) -> list[lm.Assumption]:
    """Whether these data have what the paper's theorem takes for granted."""
    norms, ranks = (np.array([row[name] for row in rows]) for name in ("covariance norm", "effective rank"))
    apart = max(float(np.linalg.norm(a - b)) for a in means for b in means) / float(np.sqrt(norms.max()))
    p = SIGMOID.value(data.x @ w)
    noise = float(np.minimum(p, 1 - p).mean())
    # by how many standard errors the number of positive labels of a group is off
    off, variance = (np.bincount(data.members, values) for values in (data.y - p, p * (1 - p)))
    worst = int(np.argmax(np.abs(off / np.sqrt(variance))))
    z = float(off[worst] / np.sqrt(variance[worst]))
    one_network = f"""labels follow one network whatever the group: {data.groups[worst]} is furthest off, observed less
        predicted rate {z:+.1f} standard errors"""
    separation = f"""groups are Gaussians with different means: two means are at most {apart:.2f} of the largest
        standard deviation apart; words are no Gaussians, so the prediction uses the information of the rows
        themselves"""
    norm = f"covariances of the same order: their norms go from {norms.min():.2f} to {norms.max():.2f}"
    rank = f"""inputs spread over many directions: the effective rank tr Σ/‖Σ‖ is {ranks.min():.1f} to
        {ranks.max():.1f} of {data.x.shape[1] - 1}"""
    random = f"""labels are random, so that the fit stays finite: by the fitted model the best guess is wrong for
        {noise:.1%} of the rows"""
    found = (
        ("one network for all groups", abs(z) < 2.58, z, one_network),
        ("separation", None, apart, separation),
        ("covariance norms", norms.max() <= 10 * norms.min(), norms.max() / norms.min(), norm),
        ("effective rank", ranks.min() >= 2, ranks.min(), rank),
        ("label noise", noise > 0.01, noise, random),
    )
    return [
        lm.Assumption(name, None if holds is None else bool(holds), float(value), " ".join(text.split()))
        for name, holds, value, text in found
    ]
