"""Data sets on neurons and features made by hand, in the shape in which the experiments leave them.

What a claim has no business to read (frozen attention, other variants, records on the way, neutral patterns) has values
on which it would come out wrong.
"""

from typing import Any

import numpy as np
import xarray as xr
from vit_hand_made import as_stored, change

from lemmata.lab.claims import Finding, examine
from lemmata.theories import vit

CLAIMS = vit.theory.claims
inf, nan = float("inf"), float("nan")


VARIANTS = ["shared", "per_token", "shared-b20"]
ENDS = (20, 30, 40)
"""T_0 of the three seeds with trained attention; runs with frozen attention never arrive."""
ROOM = 45


def between(start: Any, end: Any, x: np.ndarray) -> np.ndarray:
    """A straight path of an array from x = 0 to x = 1."""
    start, end = np.asarray(start, float), np.asarray(end, float)
    return start + x.reshape(-1, *[1] * start.ndim) * (end - start)


def feature_paths(x: np.ndarray, variant: str) -> dict[str, np.ndarray]:
    """C_Q, C_K, C_V from the identity; the columns of the neutral patterns, and in other variants all but the own
    entries, move by more than any claim about them would allow."""
    query, key, value = np.zeros((3, 5, 5))
    query[:, 2:] = key[:, 2:] = 0.9
    own = ([0, 1], [0, 1])
    other = 0.0 if variant == "shared" else 0.8
    query[:, :2] = np.asarray([[0, -0.15], [0.15, 0], [-0.2, -0.1], [-0.1, 0.05], [0.05, -0.1]]) + other
    key[:, :2] = 0.9
    query[own] = 0.3
    key[own] = 0.2
    value[:] = 0.7
    np.fill_diagonal(value, [0.5, 0.4, 0.1, -0.1, 0.05] if variant == "shared" else 0.0)
    return {
        f"{name}_features": between(np.eye(5), np.eye(5) + moved, x)
        for name, moved in (("query", query), ("key", key), ("value", value))
    }


def neuron_paths(x: np.ndarray) -> dict[str, np.ndarray]:
    """The neurons of a good run: [record, group (plus, minus, unlucky), ...]. In its first half all samples have loss,
    then 5 % of the class -1; from there on the own coefficients have the other sign and the unlucky ones are large."""
    late = x >= 0.5
    growth = between([[-0.3, 0.1], [0.2, -0.4], [0.05, -0.05]], [[-0.2, -0.01], [-0.02, -0.1], [0.05, -0.05]], x)
    growth[late] *= -1
    size = np.tile([[0.3, 0.5], [0.5, 0.4], [0.1, 0.1]], (len(x), 1, 1))
    size[late, 2] = 5.0
    loss = np.where(late[:, None], [0.3, 0.05], [1.0, 0.6])
    loss[-1] = 0.0
    gates = between([1, 1, 0.5, 0.5], [0.995, 0.992, 0.6, 0.6], x)
    # apart from its ends a run goes through values that must not be read
    apart = ((x > 0) & (x < 1)).reshape(-1, 1)
    return {
        "alignment": between([0.25, 0.24], [0.95, 0.85], x) - apart,
        "component": between(
            np.full((3, 5), 0.01),
            [[0.1, 0.02, 0.03, 0.01, 0.01], [0.04, 0.1, 0.02, 0.01, 0.01], [0.2, 0.2, 0.2, 0.2, 0.2]],
            x,
        )
        * np.where(apart[:, :, None], [1.0, 1.0, 30.0, 1.0, 1.0], 1.0),
        "square_norm": between([1e-3, 1e-3, 1e-3], [0.01, 0.02, 0.004], x) * np.where(apart, [1.0, 1.0, 30.0], 1.0),
        "persistence": gates,
        "value_growth": growth,
        "value_size": size,
        "group_output": between([[0.1, 0.1], [0.07, 0.1], [0, 0]], [[1.0, 0.1], [0.2, 1.0], [9, 9]], x)
        + apart[:, :, None] * np.asarray([[0.0], [9.0], [0.0]]),
        "unsolved": loss,
    }


def bad_neurons(records: int) -> dict[str, np.ndarray]:
    """What a claim would answer wrongly on."""
    good = neuron_paths(np.linspace(0, 1, records))
    wrong = {name: np.ones_like(path) for name, path in good.items()}
    signs = np.asarray([[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]])
    return wrong | {"alignment": 0.1 * wrong["alignment"], "persistence": 0.5 * wrong["persistence"],
                    "value_growth": signs * wrong["value_growth"]}  # fmt: skip


RISES = {"shared": [-0.1, 0.06, -0.1, 0.05], "per_token": [-0.1, 0.2, -0.2, 0.15], "shared-b20": [-0.2] * 4}


def run_of(variant: str, attention: str, end: int) -> dict[str, np.ndarray]:
    """One run: all its recorded variables up to its last record."""
    x = np.arange(end + 1) / end
    moved = x if attention == "trained" else np.zeros_like(x)
    found = {
        "step": np.arange(end + 1.0),
        "concentration": between([0.4] * 4, 0.4 + np.asarray(RISES[variant]), moved),
        **feature_paths(moved, variant),
    }
    if variant == "per_token":
        return found | {name: np.full_like(path, nan) for name, path in bad_neurons(end + 1).items()}
    good = variant == "shared" and attention == "trained"
    return found | (neuron_paths(x) if good else bad_neurons(end + 1))


PATHS = {
    "step": (), "concentration": ("query",), "query_features": ("feature", "pattern"),
    "key_features": ("feature", "pattern"), "value_features": ("feature", "pattern"), "alignment": ("side",),
    "component": ("group", "feature"), "square_norm": ("group",), "persistence": ("gate_group",),
    "value_growth": ("group", "side"), "value_size": ("group", "side"), "group_output": ("group", "side"),
    "unsolved": ("side",),
}  # fmt: skip
LABELS = {
    "query": ["all", "relevant", "confusion", "neutral"], "group": ["plus", "minus", "unlucky"],
    "gate_group": ["plus", "minus", "random plus", "random minus"], "side": ["plus", "minus"],
}  # fmt: skip
CELLS = {"variant": VARIANTS, "attention": ["trained", "frozen"], "seed": [0, 1, 2]}


def dynamics() -> xr.Dataset:
    """The experiment `dynamics`: three variants, attention trained and frozen, three seeds that stop at their T_0."""
    sizes = {"feature": 5, "pattern": 5} | {dim: len(labels) for dim, labels in LABELS.items()}
    data: dict[str, Any] = {
        name: np.full((3, 2, 3, ROOM, *(sizes[dim] for dim in dims)), nan) for name, dims in PATHS.items()
    }
    for m, variant in enumerate(VARIANTS):
        for a, attention in enumerate(CELLS["attention"]):
            for seed, end in enumerate(ENDS):
                run = run_of(variant, attention, end if attention == "trained" else ROOM - 1)
                for name, path in run.items():
                    data[name][m, a, seed, : len(path)] = path
    zero = np.full((3, 2, 3), inf)
    zero[:, 0] = ENDS
    scalars = {"reached_step": zero, "relevant_share": 0.4, "confusion_share": 0.1, "similarity": 0.03}
    cells = tuple(CELLS)
    return xr.Dataset(
        {name: ((*cells, "record", *PATHS[name]), values) for name, values in data.items()}
        | {name: (cells, np.broadcast_to(value, (3, 2, 3)).copy()) for name, value in scalars.items()},
        {**CELLS, **LABELS},
    )


def lucky_sets() -> xr.Dataset:
    """The experiment `v10-lucky-sets`: m = 1000 neurons, intact and with shifted output weights."""
    dims = ("defect", "seed", "side")
    usual = np.asarray([[0.01, -0.02], [-0.03, 0.0], [0.0, 0.02]])
    shifted = np.asarray([-0.48, -0.1])
    return xr.Dataset(
        {
            "active_on_one": (dims, 0.5 + np.stack([usual, usual + shifted])),
            "lucky_on_one": (dims, 0.25 + np.stack([usual, usual + shifted / 2])),
            "lucky_on_all": (dims, np.stack([np.tile([0.21, 0.22], (3, 1)), np.tile([0.005, 0.18], (3, 1))])),
            "neurons": (dims[:2], np.full((2, 3), 1000.0)),
            "noise_ratio": (dims[:2], [[0.6, 0.7, 0.65], [9.0, 9.0, 9.0]]),
            "noise_ratio_without_error": (dims[:2], [[1.7, 1.8, 1.6], [0.5, 0.5, 0.5]]),
        },
        {"defect": ["none", "shifted"], "seed": [0, 1, 2], "side": ["plus", "minus"]},
    )


def cross() -> xr.Dataset:
    """The experiment `v25-cross`: twenty runs with shared signs."""
    few = dynamics().sel(variant=["shared"])
    return few.isel(seed=np.arange(20) % 3).assign_coords(seed=range(20))


WORLD = {"dynamics": dynamics(), "v10-lucky-sets": lucky_sets(), "v25-cross": cross()}


def broken(variable: str, value: Any, base: xr.Dataset | None = None, **where: Any) -> xr.Dataset:
    """The dynamics with one place of one seed (T_0 = 30) changed, at T_0 with shared signs unless said."""
    base = WORLD["dynamics"] if base is None else base
    where = {"variant": "shared", "attention": "trained", "seed": 1} | where
    if variable in PATHS:
        where = {"record": ENDS[where["seed"] % len(ENDS)]} | where
    return change(base, variable, value, **where)


def found(name: str, data: xr.Dataset | None = None) -> Finding:
    (read,) = CLAIMS[name].reads
    return examine(CLAIMS[name], {read: as_stored(read, WORLD[read] if data is None else data)})


def outcome(name: str, data: xr.Dataset) -> str:
    return found(name, data).verdict.outcome
