"""Zero risk (V1), token noise (V6) and the initial model (V7)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence
from lemmata.lab.judges import all_of, at_least, at_most, increasing
from lemmata.lab.measures import ratio_of_means
from lemmata.theories.vit.measures import require_converged, success


def _zero_risk(mode: str, labels: str) -> Evidence:
    """1 for a seed with test hinge < 0.001 and 0-1 error 0."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets["v1-zero-risk"].sel(mode=mode, labels=labels)
        return success(data) * (data.test_error == 0)

    return evidence


def _zero_risk_claim(name: str, mode: str, words: str) -> Claim:
    return Claim(
        name=name,
        reference="Theorem 1",
        kind="bound",
        statement=f"Well above the sample threshold SGD reaches zero population risk ({words}): "
        "test hinge below 0.001 and no test error in at least 19 of 20 seeds.",
        reads=("v1-zero-risk",),
        evidence=_zero_risk(mode, "true"),
        judge=at_least(0.95, by="mean"),
        controls=(Control("training labels shuffled after generation", _zero_risk(mode, "shuffled")),),
    )


def _noise(reverse: bool) -> Evidence:
    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        values = datasets["v6-token-noise"].test_hinge
        if reverse:
            values = values.copy(data=np.flip(values.values, values.get_axis_num("token_noise")))
        return {"least": values.isel(token_noise=0), "most": values.isel(token_noise=-1), "order": values}

    return evidence


def _initial(error: str) -> Evidence:
    """T_0 along sigma; the gate looks at the intact cells (error = confuse)."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        steps = datasets["v7-initial-model"].zero_loss_step.sel(attention_error=0.2)
        require_converged(steps.sel(error="confuse"))
        times = steps.sel(error=error)
        total = ratio_of_means(times.sel(value_error=0.6), times.sel(value_error=0.0))
        return {"order": times, "total": total}

    return evidence


CLAIMS = (
    _zero_risk_claim("v1-zero-risk-shared", "shared", "shared output signs, N = 16"),
    _zero_risk_claim("v1-zero-risk-per-token", "per_token", "per-token output signs, N = 256"),
    Claim(
        name="v6-token-noise",
        reference="Remark 2",
        kind="ordering",
        statement="Lowering the token noise lowers the test loss: at N = 64 the median test hinge is below 0.001 at "
        "c_0 = 0.01, above 0.003 at c_0 = 0.3, and does not fall by more than 0.001 in between.",
        reads=("v6-token-noise",),
        evidence=_noise(reverse=False),
        judge=all_of(
            least=at_most(1e-3, by="median", strict=True),
            most=at_least(3e-3, by="median", strict=True),
            order=increasing("token_noise", by="median", slack=1e-3),
        ),
        controls=(Control("noise axis reversed", _noise(reverse=True)),),
    ),
    Claim(
        name="v7-initial-sigma",
        reference="Remark 3",
        kind="ordering",
        statement="A larger error of the initial value map slows training: the seed mean of T_0 increases along "
        "σ = 0, 0.2, 0.4, 0.6 with confusing error directions, in total by at least 15 %.",
        reads=("v7-initial-model",),
        evidence=_initial("confuse"),
        judge=all_of(order=increasing("value_error", by="mean"), total=at_least(1.15, by="mean")),
        controls=(Control("random error directions", _initial("random")),),
    ),
)
