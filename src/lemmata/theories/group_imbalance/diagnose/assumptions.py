"""What the theory assumes of groups, in plain sentences: separation, covariance norms, effective rank, label noise."""

from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.group_imbalance.diagnose.columns import Columns
from lemmata.theories.group_imbalance.diagnose.prediction import Fitted, losses
from lemmata.theories.group_imbalance.mixture import known_mixture
from lemmata.theories.group_imbalance.network import SIGMOID

Array = np.ndarray
FLOOR = 1e-9
"""Added to every variance: a word may be absent from a group."""


def group_rows(data: Columns, w: Array, at: Fitted) -> list[dict[str, Any]]:
    """A row a group: share, label rate, risk, excess by the theory, norm and effective rank of its covariance."""
    mixture = known_mixture(data.x[:, 1:], data.members, FLOOR)
    inverse = np.linalg.inv(at.total)
    rows = []
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


def assumptions(data: Columns, w: Array, at: Fitted) -> list[lm.Assumption]:
    """Whether these data have what the paper's theorem takes for granted."""
    rows = group_rows(data, w, at)
    means = known_mixture(data.x[:, 1:], data.members, FLOOR).means
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
