"""What the theory assumes of groups, in plain sentences: separation, covariance norms, effective rank, label noise."""

from __future__ import annotations

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
        mine = data.members == group
        spread = np.linalg.eigvalsh(mixture.covariances[group]) if data.x.shape[1] > 1 else np.zeros(1)
        rows.append(
            {
                "group": name,
                "rows": int(mine.sum()),
                "share": float(mine.mean()),
                "minority": bool(mine.mean() < 1 / len(data.groups)),
                f"label {data.positive}": float(data.y[mine].mean()),
                "log loss": float(losses(w, data.x[mine], data.y[mine]).mean()),
                "excess by the theory": float(np.trace(at.information[group] @ inverse) / 2),
                "excess times 2n": float(np.trace(at.information[group] @ inverse) * at.counts.sum()),
                "covariance norm": float(spread[-1]),
                "effective rank": float(spread.sum() / spread[-1]),
            }
        )
    return rows


def assumptions(data: Columns, w: Array, at: Fitted) -> list[lm.Assumption]:
    """Whether these data have what the paper's theorem takes for granted."""
    rows = group_rows(data, w, at)
    mixture = known_mixture(data.x[:, 1:], data.members, FLOOR)
    norms = np.array([row["covariance norm"] for row in rows])
    ranks = np.array([row["effective rank"] for row in rows])
    apart = max(float(np.linalg.norm(a - b)) for a in mixture.means for b in mixture.means) / float(
        np.sqrt(norms.max())
    )
    p = SIGMOID.value(data.x @ w)
    noise = float(np.minimum(p, 1 - p).mean())
    worst, z = _calibration(data, p)
    return [
        lm.Assumption(
            "one network for all groups",
            bool(abs(z) < 2.58),
            z,
            f"labels follow one network whatever the group: {data.groups[worst]} is furthest off, observed less "
            f"predicted rate {z:+.1f} standard errors",
        ),
        lm.Assumption(
            "separation",
            None,
            apart,
            f"groups are Gaussians with different means: two means are at most {apart:.2f} of the largest standard "
            "deviation apart; words are no Gaussians, so the prediction uses the information of the rows themselves",
        ),
        lm.Assumption(
            "covariance norms",
            bool(norms.max() <= 10 * norms.min()),
            float(norms.max() / norms.min()),
            f"covariances of the same order: their norms go from {norms.min():.2f} to {norms.max():.2f}",
        ),
        lm.Assumption(
            "effective rank",
            bool(ranks.min() >= 2),
            float(ranks.min()),
            f"inputs spread over many directions: the effective rank tr Σ/‖Σ‖ is {ranks.min():.1f} to "
            f"{ranks.max():.1f} of {data.x.shape[1] - 1}",
        ),
        lm.Assumption(
            "label noise",
            bool(noise > 0.01),
            noise,
            f"labels are random, so that the fit stays finite: by the fitted model the best guess is wrong for "
            f"{noise:.1%} of the rows",
        ),
    ]


def _calibration(data: Columns, p: Array) -> tuple[int, float]:
    """The group whose number of positive labels is furthest from the fit's, in standard errors."""
    scores = []
    for group in range(len(data.groups)):
        mine = data.members == group
        scores.append(float((data.y - p)[mine].sum() / np.sqrt((p * (1 - p))[mine].sum())))
    worst = int(np.argmax(np.abs(scores)))
    return worst, scores[worst]
