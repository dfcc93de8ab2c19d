"""Tensor starts (FC.1, row 30) and the moments behind them (row 31), on samples that are drawn chunk by chunk."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.group_imbalance.bounds import Constants
from lemmata.theories.group_imbalance.data import Mixture, World, data_seed, draw_sample, draw_world
from lemmata.theories.group_imbalance.initialisation import decompose
from lemmata.theories.group_imbalance.minimum import distance
from lemmata.theories.group_imbalance.moments import CHUNK, Exact, Sampled
from lemmata.theories.group_imbalance.setting import Setting
from lemmata.theories.group_imbalance.studies import study

Array = np.ndarray


def drawn_moments(world: World, setting: Setting, seed: int, model: Mixture | None = None) -> Sampled:
    """The moments of n samples in thirds; `model` is the mixture whose scores are taken, if not the true one.

    A third is drawn again whenever it is read; sample i is the same for every count.
    """

    def third(part: int) -> Iterator[tuple[Array, Array]]:
        count = (setting.count + 2 - part) // 3
        for block, begin in enumerate(range(0, count, CHUNK)):
            what = world.mixture, world.truth, min(CHUNK, count - begin), seed, "part", str(part), str(block)
            sample = draw_sample(*what, phi=setting.phi)
            yield sample.x, sample.y - 0.5

    return Sampled(model or world.mixture, (partial(third, 0), partial(third, 1), partial(third, 2)))


@study(
    lm.Variable("relative_error", ("magnitudes",), "‖W₀ - W*‖/‖W*‖", "relative error of the tensor start"),
    lm.Variable("subspace_error", (), "‖ÛÛᵀ - UUᵀ‖", "spectral error of the subspace"),
    lm.Variable("residual", (), "", "relative residual of the decomposition"),
    lm.Variable("clipped", (), "", "columns whose magnitude lay beyond the peak"),
    lm.Variable("amplification", (), "max A_j", "largest amplification of an error by solving for a magnitude"),
    lm.Variable("signal", (), "‖Q₂‖/‖Q̂₂ - Q₂‖", "signal-to-noise ratio of the matrix of the subspace"),
    lm.Variable("seconds", (), "", "time of the tensor step"),
    labels={"magnitudes": ("corrected", "literal")},
)
def tensor(setting: Setting, seed: int) -> dict[str, Any]:
    """Subroutine 1 on one draw, corrected and literal magnitudes from one pass."""
    world = draw_world(setting, seed)
    rng = lm.generator(seed, "tensor")
    began = time.perf_counter()
    found = decompose(drawn_moments(world, setting, seed), world.mixture, setting.neurons, rng, phi=setting.phi)
    seconds = time.perf_counter() - began
    basis = np.linalg.qr(world.truth)[0]
    exact = Exact(world.mixture, world.truth, setting.phi).second()
    noise = np.inf if world.mixture.is_symmetric() else np.linalg.norm(found.matrix - exact, 2)
    size = np.linalg.norm(world.truth)
    return {
        "relative_error": np.array([distance(W, world.truth) / size for W in (found.weights, found.literal)]),
        "subspace_error": np.linalg.norm(found.subspace @ found.subspace.T - basis @ basis.T, 2),
        "residual": found.residual,
        "clipped": float(sum(each.clipped for each in found.magnitudes)),
        "amplification": min(max(each.amplification for each in found.magnitudes), 1e6),
        "signal": np.linalg.norm(exact, 2) / noise,
        "seconds": seconds,
    }


def wrong_model(world: World) -> Mixture:
    """The weights exchanged; of a single Gaussian the covariance times 1.5."""
    mixture = world.mixture
    if mixture.groups == 1:
        return Mixture(mixture.weights, mixture.means, 1.5 * mixture.covariances)
    return Mixture(mixture.weights[::-1], mixture.means, mixture.covariances)


@study(
    lm.Variable("moment_error", ("scores", "moment"), "‖Q̂ - Q‖", "error of the moment", optional=True),
    lm.Variable("moment_bound", ("moment",), "", "bound of the paper on that error, constant 1"),
    labels={"scores": ("true", "wrong"), "moment": ("first", "second", "contracted", "projected")},
)
def moment_errors(setting: Setting, seed: int) -> dict[str, Any]:
    """Row 31: sampled moments against their quadrature; those that the mixture does not need are absent."""
    world = draw_world(setting, seed)
    exact = Exact(world.mixture, world.truth, setting.phi)
    U = np.linalg.qr(world.truth)[0]
    alpha = lm.generator(data_seed(setting, seed), "alpha").standard_normal((1, setting.dimension))
    alpha /= np.linalg.norm(alpha)
    symmetric = world.mixture.is_symmetric()
    errors = np.full((2, 4), np.nan)
    for row, model in enumerate((world.mixture, wrong_model(world))):
        found = drawn_moments(world, setting, seed, model)
        errors[row, 0] = np.linalg.norm(found.first() - exact.first())
        if symmetric:
            errors[row, 2] = np.linalg.norm(found.contracted(alpha)[0] - exact.contracted(alpha)[0], 2)
        else:
            errors[row, 1] = np.linalg.norm(found.second() - exact.second(), 2)
            errors[row, 3] = np.linalg.norm(found.projected(U) - exact.projected(U))
    known, (d, n) = Constants(world.mixture, world.truth), (setting.dimension, setting.count)
    D = {m: known.relative_moment(m) for m in (2, 4, 6)}
    matrix, cube = known.tau**6 * known.delta[0] ** 2 * np.sqrt([D[2] * D[4], D[6] / d])
    factors = np.array([known.tau**2 * np.sqrt(D[2]), matrix, matrix, cube])
    return {"moment_error": errors, "moment_bound": factors * np.sqrt(d * np.log(n) / n)}
