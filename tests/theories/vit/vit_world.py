"""Data sets made by hand, in the shape in which the experiments leave them: the world as the specification has it."""

from typing import Any

import numpy as np
import xarray as xr
from vit_hand_made import as_stored

from lemmata.lab.claims import Finding, examine
from lemmata.theories import vit

CLAIMS = vit.theory.claims
inf, nan = float("inf"), float("nan")


def cells(dims: dict[str, Any], **variables: Any) -> xr.Dataset:
    """A data set over named dimensions (record has no labels) from arrays that broadcast to them from the left."""
    shape = tuple(size if isinstance(size, int) else len(size) for size in dims.values())
    coords = {name: labels for name, labels in dims.items() if not isinstance(labels, int)}
    full = {}
    for name, (own, values) in variables.items():
        sizes = [shape[list(dims).index(dim)] for dim in own]
        full[name] = (own, np.broadcast_to(np.asarray(values, float), sizes).copy())
    return xr.Dataset(full, coords)


VARIANTS = ["shared", "per_token"]
ATTENTION = ["trained", "frozen"]
QUERIES = ["all", "relevant", "confusion", "neutral"]


def zero_risk(good: int = 20, shuffled: int = 0) -> xr.Dataset:
    """V1: the first `good` of 20 seeds succeed with true labels, `shuffled` of them with shuffled labels."""
    hinge = np.full((2, 2, 20), 0.9)
    hinge[:, 0, :good] = 2e-4
    hinge[:, 1, :shuffled] = 2e-4
    dims = ("variant", "label_order", "seed")
    return cells(
        {"variant": VARIANTS, "label_order": ["true", "shuffled"], "seed": range(20)},
        test_hinge=(dims, hinge),
        test_error=(dims, np.where(hinge < 0.5, 0, 0.4)),
    )


COUNTS = [2, 4, 8, 16, 32, 64, 128]
ALPHAS = [0.30, 0.32, 0.34, 0.36, 0.40, 0.48]
SLACKS = [0.007, 0.04, 0.074, 0.108, 0.175, 0.31]


def success_map(first: list[Any], slacks: list[float] = SLACKS, attention: bool = False) -> xr.Dataset:
    """Success of six seeds over (alpha, N). `first[i]` is the index of the first N of success at the i-th alpha.

    Index 0 lies below the grid, 7 above it, k inside gives N_50 = 2^k sqrt(2) (4 samples: 2^1.5); a half "k.5" has half
    of the seeds succeed at COUNTS[k] and gives N_50 = COUNTS[k].
    """
    succeed = np.zeros((len(first), len(COUNTS), 6))
    for i, index in enumerate(first):
        k = int(np.ceil(index))
        succeed[i, k:] = 1
        if k > index:
            succeed[i, k - 1, :3] = 1
    dims = ("relevant_fraction", "samples", "seed")
    axes: dict[str, Any] = {"relevant_fraction": ALPHAS[-len(first) :], "samples": np.asarray(COUNTS, float)}
    slack = np.asarray(slacks)[-len(first) :, None, None]
    data = cells({**axes, "seed": range(6)}, test_hinge=(dims, 0.3 * (1 - succeed)), condition_slack=(dims, slack))
    if attention:
        both = xr.concat([data, data], xr.Variable("attention", ATTENTION))
        return both.transpose("relevant_fraction", "samples", "attention", "seed")
    return data


def shared_map() -> xr.Dataset:
    """With shared signs every N succeeds: all thresholds lie below the grid."""
    return success_map([0, 0, 0], attention=True).sel(samples=[2.0, 8.0, 32.0])


def token_noise(*medians: float) -> xr.Dataset:
    """V6: seven seeds with these medians, and two outliers each that drag the mean away."""
    spread = np.asarray([-3e-4, -2e-4, -1e-4, 0, 1e-4, 0.5, 0.6])
    return cells(
        {"token_noise": [0.01, 0.1, 0.2, 0.3], "seed": range(7)},
        test_hinge=(("token_noise", "seed"), np.asarray(medians)[:, None] + spread),
    )


FIVE = np.asarray([-2.0, -1, 0, 1, 2])
"""Deviations of five seeds. The half width of the t interval of `spread * FIVE` is 1.9632 spread."""


def step_sizes(shared: float = -0.98, per_token: float = -1.0, spread: Any = 0.005) -> xr.Dataset:
    """T_eps along the step size: these exponents between the two smallest, hardly any fall after them."""
    names, times = [], []
    wide = {"shared": spread, "per_token": spread} if isinstance(spread, float) else spread
    for variant, sizes, power in (
        ("shared", [0.02, 0.05, 0.1, 0.2, 0.5], shared),
        ("per_token", [0.25, 0.5, 1, 2], per_token),
    ):
        start = 800.0 * (1 + 0.1 * FIVE)
        for i, size in enumerate(sizes):
            names.append(f"{variant} {size:g}")
            second = start * (sizes[1] / sizes[0]) ** (power + wide[variant] * FIVE)
            times.append(start if i == 0 else second * (size / sizes[1]) ** -0.1)
    dims = ("variant", "seed")
    # the other first passage follows another law
    return cells(
        {"variant": names, "seed": range(5)},
        small_loss_step=(dims, times),
        reached_step=(dims, np.asarray(times) ** 2),
    )


FRACTIONS = np.asarray([0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8])


def iterations(trained: Any = -1.0, frozen: Any = -1.25, at_large: float = 1.02, spread: float = 0.005) -> xr.Dataset:
    """T_eps ~ alpha^power (one power, or one per variant), frozen over trained equal to `at_large` at alpha = 0.8."""
    dims = ("relevant_fraction", "variant", "attention", "seed")
    times = np.empty((7, 2, 2, 5))
    deviation = spread * FIVE
    for m in range(2):
        powers = [power[m] if isinstance(power, tuple) else power for power in (trained, frozen)]
        for a, (power, factor) in enumerate(zip(powers, (1.0, at_large), strict=True)):
            start = 60.0 * (1 + m) * factor * (1 + 0.1 * FIVE)
            # trained and frozen seeds deviate in opposite directions
            times[:, m, a] = start * (FRACTIONS[:, None] / 0.8) ** (power + (1 - 2 * a) * deviation)
    axes = {"relevant_fraction": FRACTIONS, "variant": VARIANTS, "attention": ATTENTION, "seed": range(5)}
    return cells(axes, small_loss_step=(dims, times), reached_step=(dims, times**2))


def initial_model(confuse: Any = (100, 106, 112, 120), random: Any = (100, 99, 98, 97)) -> xr.Dataset:
    """V7: T_0 over sigma; at the other deltas it falls, and some runs never arrive."""
    times = np.empty((4, 2, 3, 5))
    for e, row in enumerate((confuse, random)):
        times[:, e, 0] = np.asarray(row, float).reshape(4, -1)
    times[:, :, 1] = np.asarray([90.0, 60, 30, 10])[:, None, None]
    times[:, :, 2] = inf
    axes = {
        "value_error": [0.0, 0.2, 0.4, 0.6], "value_error_law": ["confuse", "random"],
        "attention_error": [0.2, 0.0, 0.4],
        "seed": range(5),
    }  # fmt: skip
    return cells(axes, reached_step=(tuple(axes), times))


def dynamics(
    shared: Any = 0.06, per_token: Any = 0.2, start: float = 0.4, bump: float = 0.3, t0: Any = (110, 120, 130)
) -> xr.Dataset:
    """Three seeds that stop at T_0, their concentration `start` + rise t / T_0 + bump sin(pi t / T_0).

    A rise is one number, or one per query, or an array (seed, query). Frozen cells stay at `start`; in the
    third variant, which no claim about concentration reads, attention falls and training never arrives.
    """
    variants = [*VARIANTS, "shared-b20"]
    step = np.full((3, 2, 3, 141), nan)
    concentration = np.full((3, 2, 3, 141, 4), nan)
    for m, rise in enumerate((shared, per_token, -0.3)):
        for seed, end in enumerate(t0):
            t = np.arange(end + 1)
            step[m, :, seed, : end + 1] = t
            rises = np.broadcast_to(rise, (3, 4))[seed]
            concentration[m, 0, seed, : end + 1] = start + t[:, None] / end * rises
            concentration[m, 0, seed, : end + 1] += bump * (np.sin(np.pi * t / end) * (t < end))[:, None]
            concentration[m, 1, seed, : end + 1] = start
    dims = ("variant", "attention", "seed")
    zero = np.full((3, 2, 3), inf)
    zero[:2, 0] = t0
    return cells(
        {"variant": variants, "attention": ATTENTION, "seed": range(3), "record": 141, "query": QUERIES},
        step=((*dims, "record"), step),
        concentration=((*dims, "record", "query"), concentration),
        reached_step=(dims, zero),
    )


def losses(margin_1: Any = 0.55, margin_10: Any = 0.75, start: float = 0.4, bump: float = 0.2) -> xr.Dataset:
    """V8: all-query concentration from `start` to these ends (one, or one per seed); other queries move more."""
    t = np.arange(101) / 100
    concentration = np.full((3, 2, 3, 101, 4), start)
    for i, end in enumerate((margin_1, margin_10, 0.9)):
        for seed, value in enumerate(np.broadcast_to(end, 3)):
            curve = start * (1 - t) + value * t + bump * np.sin(np.pi * t) * (t < 1)
            concentration[i, 0, seed] = curve[:, None]
            concentration[i, 0, seed, :, 1:] += 0.3 * i * t[:, None]
    axes = {
        "loss": ["hinge margin 1", "hinge margin 10", "logistic"], "attention": ATTENTION, "seed": range(3),
        "record": 101, "query": QUERIES,
    }  # fmt: skip
    return cells(axes, concentration=(tuple(axes), concentration))


def curves(shared: Any = 0.08, per_token: Any = 0.3, start: float = 0.5, t0: Any = (120, 160, 200)) -> xr.Dataset:
    """Figure 2.4: 101 records every 4 steps; attention rises up to T_0 and stays, other queries rise less."""
    step = np.arange(101) * 4.0
    dims = ("variant", "attention", "seed")
    concentration = np.full((2, 2, 3, 101, 4), start)
    movement = np.full((2, 2, 3, 101), 1e-3)
    for m, rise in enumerate((shared, per_token)):
        for seed, end in enumerate(t0):
            path = np.minimum(step / end, 1) * np.broadcast_to(rise, 3)[seed]
            concentration[m, 0, seed] += path[:, None] * [1, 0.1, 0.1, 0.1]
            movement[m, :, seed, step > end] = 0
    movement[..., 0] = 0
    zero = np.full((2, 2, 3), inf)
    zero[:, 0] = t0
    return cells(
        {"variant": VARIANTS, "attention": ATTENTION, "seed": range(3), "record": 101, "query": QUERIES},
        step=((*dims, "record"), step),
        concentration=((*dims, "record", "query"), concentration),
        complement=((*dims, "record", "query"), 1 - concentration),
        confused=((*dims, "record", "query"), 0.02),
        movement=((*dims, "record"), movement),
        reached_step=(dims, zero),
    )


def world() -> dict[str, xr.Dataset]:
    """Every data set as the specification expects it."""
    return {
        "v1-zero-risk": zero_risk(),
        "f1a-samples": success_map([6, 5, 4, 3, 2, 1]),
        "f3-samples-frozen": success_map([7, 7, 6, 4, 2, 1]),
        "f1a-samples-shared": shared_map(),
        "v6-token-noise": token_noise(4e-4, 5e-4, 2e-3, 8e-3),
        "f2-step-size": step_sizes(),
        "f2-iterations": iterations(),
        "v7-initial-model": initial_model(),
        "dynamics": dynamics(),
        "v8-losses": losses(),
        "f4-attention": curves(),
    }


def found(name: str, **changed: xr.Dataset) -> Finding:
    """The finding of a claim in the expected world, with data sets changed (underscores for hyphens)."""
    datasets = world() | {key.replace("_", "-"): data for key, data in changed.items()}
    return examine(CLAIMS[name], {key: as_stored(key, datasets[key]) for key in CLAIMS[name].reads})


def outcome(name: str, **changed: xr.Dataset) -> str:
    return found(name, **changed).verdict.outcome


def changed(data: xr.Dataset, variable: str, value: Any, **where: Any) -> xr.Dataset:
    """The data set with one place of one variable set; `record` is an index, the rest are labels."""
    data = data.copy(deep=True)
    index = tuple(
        where[dim] if dim == "record" else data.get_index(dim).get_loc(where[dim]) if dim in where else slice(None)
        for dim in data[variable].dims
        if dim != "record" or "record" in where
    )
    if "record" in data[variable].dims and "record" not in where:
        raise ValueError("name the record")
    data[variable].values[index] = value
    return data
