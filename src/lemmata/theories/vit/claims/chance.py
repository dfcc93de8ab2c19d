"""Statements about chance, checked by drawing: the share of neurons in a cap (V10) and Hoeffding's inequality (V18)."""

from __future__ import annotations

import math

import numpy as np
import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence
from lemmata.lab.judges import at_most, within
from lemmata.theories.vit.bounds import cap_probability

COLATITUDE = math.pi / 2 - 0.15
"""The guard angle π/2 - (σ+τ) of Lemma A.5.1."""

BATCHES = (16, 64, 256)


def _cap(factor: float) -> Evidence:
    """Share of 2·10⁵ uniform directions inside the cap, minus `factor` times its probability, in standard errors."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        draw = np.random.default_rng(datasets.seed)
        draws, widths = 2 * 10**5, [5, 10, 20]
        deviations = []
        for width in widths:
            normal = draw.standard_normal((draws, width))
            cosine = normal[:, 0] / np.linalg.norm(normal, axis=1)
            share = np.mean(cosine >= math.cos(COLATITUDE))
            error = math.sqrt(share * (1 - share) / draws)
            deviations.append((share - factor * cap_probability(width, COLATITUDE)) / error)
        return xr.DataArray(deviations, coords={"m_a": widths})

    return evidence


def _deviations(positive: float) -> Evidence:
    """Frequency of |1/B sum y| ≥ √(log B/B) over 10⁵ batches of coins with P(y = 1) = `positive`."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        draw = np.random.default_rng(datasets.seed)
        frequencies = []
        for batch in BATCHES:
            mean = 2 * draw.binomial(batch, positive, 10**5) / batch - 1
            frequencies.append(np.mean(np.abs(mean) >= math.sqrt(math.log(batch) / batch)))
        return xr.DataArray(frequencies, coords={"B": list(BATCHES)})

    return evidence


CLAIMS = (
    Claim(
        name="v10-cap-probability",
        reference="Lemma A.5.1, (A.189)",
        kind="identity",
        statement="The share of 2·10⁵ uniform directions inside a cap of colatitude π/2 - 0.15 equals its closed form "
        "within 4 standard errors, in 5, 10 and 20 dimensions.",
        formula="1/2 I_{sin² φ}((m_a-1)/2, 1/2)",
        evidence=_cap(1.0),
        judge=within(-4.0, 4.0, predicted=0.0),
        controls=(Control("the formula without the factor 1/2", _cap(2.0)),),
    ),
    Claim(
        name="v18-sign-average",
        reference="(A.75)",
        kind="bound",
        statement="The labels of a batch rarely lean to one side: over 10⁵ draws the mean of B fair signs reaches "
        "√(log B/B) with frequency at most 2 B^-1/2, at B = 16, 64, 256.",
        formula="P(|1/B Σ y| ≥ √(log B/B)) ≤ 2 B^-1/2",
        evidence=_deviations(0.5),
        judge=at_most({str(batch): 2 / math.sqrt(batch) for batch in BATCHES}),
        controls=(Control("a coin with P(y = 1) = 0.8", _deviations(0.8)),),
    ),
)
