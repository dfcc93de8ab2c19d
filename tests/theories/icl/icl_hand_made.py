"""Data sets made by hand for the tests of claims: the world as the specification expects it, in the experiments' shape.

Every function makes the data of one experiment at `quick`. Variants and records that no claim may read hold values that
would turn every claim around. Seeds differ by a little, so that intervals have a width.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.grid import make_grid
from lemmata.theories import icl
from lemmata.theories.icl.tasks import cyclic_tasks

nan = float("nan")
SEEDS = 8
SIDES = np.array([-1.0, 1, -1, 1, -1, 1, -1, 1])
"""Deviations of eight seeds: the half width of the t interval of a + s SIDES is 0.894 s."""
RATES = ["0", "0.1", "0.15", "0.2", "0.3", "0.5", "0.7", "0.8"]
ORDERS = ["smallest", "random", "largest", "random large"]
ATTENTION = ["trained", "frozen"]
DELTA, M1, M2, NEURONS, LARGE = 0.1, 6, 24, 20, 14
STEPS = [0, 10, 50, 100, 150, 200, 225, 250, 275, 300, 350, 400, 600]


def seeds(middle: float, spread: float, count: int = SEEDS) -> xr.DataArray:
    """One value per seed, on both sides of the middle."""
    return xr.DataArray(middle + spread * np.resize(SIDES, count), dims="seed")


def one_seed(others: float, odd: float, count: int = SEEDS, number: int = 1) -> xr.DataArray:
    """One value for all seeds but the first."""
    values = np.full(count, others)
    values[:number] = odd
    return xr.DataArray(values, dims="seed")


def change(data: xr.Dataset, variable: str, value: Any, **where: Any) -> xr.Dataset:
    """A copy with one place of a variable set; labelled dimensions by label, the others by index.

    A value is a number, one number per seed, or a function of what stands there.
    """
    target = data[variable].copy(deep=True)
    if callable(value):
        value = value(target.loc[where])
    target.loc[where] = value
    return data.assign({variable: target})


class Frame:
    """A data set that is filled variable by variable: dimensions of the axes, and of the variables."""

    def __init__(self, axes: dict[str, list[Any]], count: int = SEEDS, **more: Any) -> None:
        self.axes = (*axes, "seed")
        labels = axes | {"seed": list(range(count))} | more
        self.sizes = {dim: found if isinstance(found, int) else len(found) for dim, found in labels.items()}
        self.data = xr.Dataset(coords={dim: list(v) for dim, v in labels.items() if not isinstance(v, int)})

    def put(self, name: str, value: Any, dims: Sequence[str] = (), **where: Any) -> None:
        """Set a variable, or a part of it; `value` fits the last of the dimensions that are left."""
        every = (*self.axes, *dims)
        if name not in self.data:
            self.data[name] = (every, np.full([self.sizes[dim] for dim in every], nan))
        self.data[name].loc[where] = value


def wavy(values: Any, size: float = 0.01) -> np.ndarray:
    """One row per seed: the values times 1 - size or 1 + size."""
    values = np.asarray(values, float)
    return values * (1 + size * SIDES.reshape(-1, *[1] * values.ndim))


def partner_matrix(rounds: int = 1) -> np.ndarray:
    found = np.zeros((M1, M1))
    for a, b in cyclic_tasks(M1, rounds):
        found[a - 1, b - 1] = found[b - 1, a - 1] = 1
    return found


def blocks(own: Any, partner: Any, other: Any, rounds: int = 1) -> np.ndarray:
    """Matrices with these own entries, entries of partners and entries of the others (of alternating sign)."""
    partners, one = partner_matrix(rounds), np.eye(M1)
    checks = np.where(np.add.outer(np.arange(M1), np.arange(M1)) % 2, 1.0, -1.0)
    spread = lambda size, mask: np.multiply.outer(np.asarray(size, float), mask)  # noqa: E731
    return spread(own, one) + spread(partner, partners) + spread(other, checks * (1 - one - partners))


OWN = [0.1, 0.1, 0.11, 0.12, 0.15, 0.2, 0.25, 0.35, 0.45, 0.55, 0.6, 0.62, 0.63]
UPDATE = [-1e-3, 1e-3, 2e-3, 4e-3, 6e-3, 0.01, 0.012, 0.016, 0.02, 0.018, 0.01, 4e-3, 5e-4]
ACTIVE = [1, 1, 1, 1, 1, 1, 0.9, 0.7, 0.55, 0.5, 0.3, 0.1, 0]
HINGE = [1, 1, 1, 1, 0.99, 0.9, 0.8, 0.6, 0.3, 0.15, 0.08, 0.04, 0.002]
COEFFICIENT = [5e-3, 5e-3, 6e-3, 8e-3, 0.012, 0.02, 0.04, 0.06, 0.09, 0.11, 0.12, 0.12, 0.12]
GROWTH = [0, 1e-5, 4e-4, 1e-3, 2e-3, 4e-3, 0.01, 0.03, 0.07, 0.1, 0.12, 0.13, 0.13]
MARGIN, SHARE = 1.1, LARGE / NEURONS


def default() -> xr.Dataset:
    """p1-default: T* = 300, so that the growth records are those of the steps 100 to 300."""
    variants = ["intact", "frozen", "shuffled", "include_query", "1/sqrt(m)"]
    frame = Frame(
        {"variant": variants}, record=14, pattern=M1, other=M1, idi=M2, other_idi=M2, map=["query", "key"],
        part=["along", "across"],
        sign=["plus", "minus"], growth=["lucky", "plus", "minus"], neuron=NEURONS, head=1, order=ORDERS, rate=RATES,
    )  # fmt: skip
    put, used = frame.put, slice(0, 13)

    def path(name: str, values: Any, *dims: str, variant: Any = "intact", **where: Any) -> None:
        put(name, wavy(values), ("record", *dims), variant=variant, record=used, **where)

    put("step", STEPS, ("record",), record=used)
    path("unseen_hinge_path", HINGE)
    path("active_hinge", ACTIVE)
    frame.data["active_hinge"].loc[{"variant": "intact", "record": used}] = ACTIVE
    for name in ("query_patterns", "key_patterns"):
        own = np.array(OWN)
        path(name, blocks(own, -0.45 * (own - DELTA) * 0.63 / 0.53, 0.005 * (own > 0.1)), "pattern", "other")
        still = np.broadcast_to(DELTA * np.eye(M2), (SEEDS, 13, M2, M2))
        put(
            name.replace("patterns", "irrelevant"), still, ("record", "idi", "other_idi"), variant="intact", record=used
        )
    put("partner", partner_matrix(), ("pattern", "other"))
    path("key_pattern_norm", np.multiply.outer(OWN, np.full(M1, 6.0)), "pattern")
    path("key_label_norm", 0.08 * np.array(OWN))
    # W_K keeps the sum of the patterns, W_Q does not
    sums = DELTA * np.array([1.0, 0]) + np.multiply.outer(np.array(OWN) - DELTA, [[0.1, 0.1], [0, 0]])
    put("mapped_sum", np.broadcast_to(sums, (SEEDS, *sums.shape)), ("record", "map", "part"), variant="intact",
        record=used)  # fmt: skip
    update = np.array(UPDATE)
    both = np.stack([blocks(update, -0.5 * update, 0), blocks(update, -0.45 * update, 0)], axis=1)
    others = (1 - np.eye(M1) - partner_matrix()) * 0.02 * update[:, None, None]
    path("map_update", both + others[:, None], "map", "pattern", "other")
    path("negated_update", np.multiply.outer(-update, [1, 1]), "map")
    path("irrelevant_update", np.multiply.outer(0.005 * abs(update), [1, 1]), "map")
    path("label_gradient", np.multiply.outer(np.ones(13), [0, 0.01]), "map")
    coefficient = np.array(COEFFICIENT)
    path("value_coefficient", np.multiply.outer(coefficient, [1, -0.5]), "sign")
    path("negated_value_coefficient", np.multiply.outer(-coefficient, [1, -0.5]), "sign")
    path("output_growth", np.multiply.outer(GROWTH, [0.9, 1, 1.1]), "growth")
    path("output_growth", np.multiply.outer(0.01 * np.minimum(GROWTH, 0.006), [0.9, 1, 1.1]), "growth",
         variant="shuffled")  # fmt: skip
    for name, level in (("own_active", 0.8), ("all_active", 0.6), ("planted_own_active", 0.985)):
        path(name, np.full(13, level))
    # before step 10 nothing is claimed of all of W and U
    path("planted_all_active", [0.5, *[0.98] * 12])
    large = np.arange(NEURONS) < LARGE
    for name in ("feature_cosine", "label_cosine"):
        path(name, np.broadcast_to(np.where(large, 0.98, -0.5), (13, NEURONS)), "neuron")
        tiny = np.where(np.arange(NEURONS) % 2, 0.1, -0.1)
        path(name, np.broadcast_to(tiny, (13, NEURONS)), "neuron", variant="shuffled")
    path("large_share", np.full(13, SHARE))
    path("large_share", np.full(13, SHARE), variant="shuffled")
    path("norm_ratio", np.full(13, 5.5))
    path("norm_ratio", np.full(13, 1.13), variant="shuffled")
    for variant in ("intact", "shuffled"):
        put("large", np.broadcast_to(large, (SEEDS, 13, NEURONS)), ("record", "neuron"), variant=variant, record=used)
    # the first record is that of a network that has learnt nothing, and later than its last record there is nothing
    for name, value in (("large_share", 0.1), ("norm_ratio", 1.0), ("feature_cosine", 0.0), ("label_cosine", -1.0)):
        frame.data[name].loc[{"record": 0}] = value

    scalars = {
        "unseen_error": (5e-4, 0.44, 0.5), "unseen_hinge": (0.002, 0.98, 1.0), "seen_error": (4e-4, 0.44, 0.5),
        "seen_hinge": (0.001, 0.98, 1.0), "unseen_margin": (MARGIN, 0.02, 0.0), "large_hinge": (0.003, 0.98, 1.0),
        "pruned_large_share": (SHARE, SHARE, SHARE),
    }  # fmt: skip
    for name, values in scalars.items():
        for variant, value in zip(variants, (*values, nan, nan), strict=True):
            put(name, wavy(value), variant=variant)
    for variant, value in (("intact", 0.986), ("frozen", 0.42)):
        put("concentration", value + 0.002 * SIDES[:, None], ("head",), variant=variant)
    put("initial_concentration", 0.42, ("head",))
    rates = np.array([float(rate) for rate in RATES])
    middle = np.where(rates <= SHARE, np.maximum(0, 1 - MARGIN * (1 - rates / SHARE)) + 0.01, nan)
    middle[0] = 0.002
    small = np.array([0.002, 0.002, 0.002, 0.002, 0.004, 0.25, 0.6, 0.8])
    large_first = np.array([0.002, 0.14, 0.2, 0.3, 0.45, 0.75, 1.0, 1.0])
    put("pruned_hinge", wavy([small, middle, large_first, middle]), ("order", "rate"), variant="intact")
    return frame.data


TASKS = {
    **{f"M_1={m}, n={n}": kind for m in (4, 6, 8) for n, kind in ((m // 2, "half"), (m - 1, "short"), (m, "full"))},
    "swaps": "full", "triangles": "full",
}  # fmt: skip


def tasks() -> xr.Dataset:
    frame = Frame({"task_set": list(TASKS)})
    errors, hinges = {"half": 0.35, "short": 0.01, "full": 5e-4}, {"half": 0.8, "short": 0.17, "full": 0.005}
    for name, kind in TASKS.items():
        frame.put("unseen_error", wavy(errors[kind]), task_set=name)
        frame.put("unseen_hinge", wavy(hinges[kind]), task_set=name)
        frame.put("seen_error", wavy(5e-4), task_set=name)
    return frame.data


AXES = {
    "p2-eta": ("step_size", [0.25, 0.5, 1.0], -1.0),
    "p2-alpha": ("fraction", [0.2, 0.4, 0.6, 0.8, 1.0], -0.76),
    "p2-beta": ("pattern_norm", [1.5, 2.0, 3.0, 4.0], -1.9),
    "p2-patterns": ("relevant_patterns", [4.0, 6.0, 8.0, 12.0, 16.0], 0.45),
    "p2-width": ("neurons", [50.0, 200.0, 800.0], 0.9),
}
"""Axis, values and measured exponent of T*."""


def iterations(name: str, exponent: float | None = None, spread: float = 0.01, censored: bool = False) -> xr.Dataset:
    """T* as a power of the axis, whose exponent differs by `spread` between the three seeds."""
    axis, values, usual = AXES[name]
    exponent = usual if exponent is None else exponent
    times = 300 * np.power.outer(np.array(values) / values[1], exponent + spread * np.array([-1, 0, 1.0]))
    if censored:
        times[0, 0] = np.inf
    return xr.Dataset({"reached_step": ((axis, "seed"), times)}, {axis: values, "seed": range(3)})


FRACTIONS, LENGTHS = [0.2, 0.4, 0.8, 1.0], [1, 2, 3, 5, 10, 20, 40]


def contexts(decay: Callable[[float], Any] | None = None) -> xr.Dataset:
    """p4-contexts; `decay`: the error is 0.75 exp(-l decay(α')) instead of 0.75 π."""
    frame = Frame(
        {"attention": ATTENTION, "test_mode": ["iid", "exact"], "test_fraction": FRACTIONS, "test_contexts": LENGTHS}
    )
    trained, frozen = ({"attention": kind, "test_mode": "iid"} for kind in ATTENTION)
    put, length = frame.put, np.array(LENGTHS)
    for alpha in FRACTIONS:
        pi = (1 - alpha / 2) ** length[:, None]
        given_none = 0.75 if alpha < 1 else 1.0
        put("unseen_no_match", pi, test_mode="iid", test_fraction=alpha)
        put("unseen_error", given_none * pi, **trained, test_fraction=alpha)
        if decay is not None and alpha < 1:
            rate = np.broadcast_to(np.asarray(decay(alpha), float), SEEDS)
            put("unseen_error", 0.75 * np.exp(-np.multiply.outer(length, rate)), **trained, test_fraction=alpha)
        put("unseen_error_no_match", given_none, **trained, test_fraction=alpha)
        put("unseen_error_match", (0.43 - 0.5 * pi) / (1 - pi), **frozen, test_fraction=alpha)
    put("unseen_error_match", 0, **trained)
    put("unseen_error", 0.43, **frozen)
    put("unseen_error_no_match", 0.5, **frozen)
    put("unseen_error", 0, attention="trained", test_mode="exact")
    put("unseen_error", 0.39, attention="frozen", test_mode="exact")
    put("unseen_no_match", 0, test_mode="exact")
    put("prompts", 2400)
    put("seen_hinge", 0.001, attention="trained")
    put("seen_hinge", 0.98, attention="frozen")
    return frame.data


SHIFTS = ["45", "20", "6.35", "0", "-45", "-90", "-135", "70", "83.65", "135", "180", "defect"]
SUMS = [1.28, 1.16, 1.0, 0.91, 0.0, -0.91, -1.28, 1.16, 1.0, 0.0, -0.91, 0.0]


def shift() -> xr.Dataset:
    variants = ["U=1", "U=5", "3 tasks"]
    frame = Frame({"variant": variants, "shift": SHIFTS}, moment=["start", "end"], odr_pattern=3, pattern=M1, other=M1)
    sums = np.array(SUMS)
    own, query = ("moment",), ("moment", "odr_pattern")
    one = np.where(sums >= 1, 0.001, np.where(sums > -1, 0.044, 0.5))
    one[-1] = 0.43
    for name, errors, hinge, sharp in (
        ("U=1", one, np.where(sums >= 1, 0.12, 0.5), 0.86),
        ("U=5", np.where(sums > -1, 1e-3, 0.3), np.where(sums >= 1, 0.004, 0.2), 0.98),
        ("3 tasks", np.full(12, 0.3), np.full(12, 0.7), 0.7),
    ):
        at = {"variant": name, "moment": "end"}
        frame.put("shift_error", wavy(errors).T, own, **at)
        frame.put("shift_hinge", wavy(hinge).T, own, **at)
        frame.put("shift_concentration", wavy(np.full(12, sharp), 0.002).T, own, **at)
        first = np.clip(0.45 - 0.35 * sums, 0, 1)
        by_query = lambda values: np.moveaxis(wavy(np.stack(values, axis=1)), 0, 1)  # noqa: E731
        frame.put("query_hinge", by_query([first, first + 1, first - 1]), query, **at)
        wrong = np.where(sums > -1, 1e-3, 0.98)
        frame.put("query_error", by_query([wrong, 0.98 - wrong, 0.98 - wrong]), query, **at)
        for variable, value in (("shift_error", 0.5), ("shift_hinge", 1.0), ("shift_concentration", 0.4)):
            frame.put(variable, value, own, variant=name, moment="start")
        for variable in ("query_hinge", "query_error"):
            frame.put(variable, 0.5, query, variant=name, moment="start")
        rounds = 5 if name == "U=5" else 1
        for variable in ("query_patterns", "key_patterns"):
            matrix = blocks(0.71, -0.12 if rounds == 5 else -0.32, 0.005, rounds)
            frame.put(variable, wavy(matrix), ("pattern", "other"), variant=name)
        frame.put("partner", partner_matrix(rounds), ("pattern", "other"), variant=name)
        frame.put("seen_hinge", 0.001, variant=name)
    return frame.data


def exchange() -> xr.Dataset:
    """p5-exchange: the errors go with W_Q and W_K."""
    tasks = ["one cycle", "all tasks"]
    frame = Frame({"shift": ["-45", "135"]}, attention_of=tasks, rest_of=tasks)
    for attention, level in zip(tasks, (0.06, 1e-4), strict=True):
        frame.put("exchanged_error", wavy([level, level]), ("attention_of", "rest_of"), attention_of=attention)
    frame.put("seen_hinge", 0.001)
    return frame.data


def lucky() -> xr.Dataset:
    """p11-lucky: 200 draws of a network with 200 neurons, an eighth of them lucky for either prompt."""
    frame = Frame({}, 200, sign=["plus", "minus"])
    frame.put("lucky", 25, ("sign",))
    frame.put("unsigned_lucky", 50, ("sign",))
    frame.put("width", 200)
    return frame.data


def heads() -> xr.Dataset:
    """p17-heads: in one seed of eight both heads concentrate, in the others one of them."""
    frame = Frame({"variant": ["independent", "equal", "frozen"]}, head=2)
    for variant, error, hinge in (("independent", 5e-4, 0.002), ("equal", 5e-4, 0.002), ("frozen", 0.44, 0.98)):
        frame.put("unseen_error", wavy(error), variant=variant)
        frame.put("unseen_hinge", wavy(hinge), variant=variant)
        frame.put("seen_hinge", hinge, variant=variant)
    sharp = np.where(np.arange(8)[:, None] % 2 == np.arange(2), 0.98, 0.55)
    sharp[3] = 0.97
    for variant, values in (("independent", sharp), ("equal", 0.97), ("frozen", 0.42)):
        frame.put("concentration", values, ("head",), variant=variant)
    return frame.data


def classes() -> xr.Dataset:
    frame = Frame({"attention": ATTENTION, "test_length": ["20", "60"]}, head=1)
    for length, error, missing in (("20", 0.006, 0.0115), ("60", 2e-4, 3e-4)):
        frame.put("unseen_no_match", wavy(missing, 0.1), test_length=length)
        frame.put("unseen_error", wavy(error, 0.1), attention="trained", test_length=length)
        frame.put("unseen_error", wavy(0.3), attention="frozen", test_length=length)
        frame.put("concentration", wavy(0.99, 0.002)[:, None], ("head",), attention="trained", test_length=length)
        frame.put("concentration", 0.3, ("head",), attention="frozen", test_length=length)
        frame.put("seen_hinge", 0.001, attention="trained", test_length=length)
        frame.put("seen_hinge", 0.9, attention="frozen", test_length=length)
    return frame.data


def baselines() -> xr.Dataset:
    """f64-baselines: in domain the network equals 1-NN, out of domain it errs far less than any baseline."""
    predictors = list(icl.theory.experiments["f64-baselines"].simulation.labels["predictor"])
    frame = Frame(
        {"test_fraction": [0.6, 0.8], "test_contexts": [5, 10, 20, 40, 60]}, 4,
        domain=["in-domain", "out of domain"], predictor=predictors,
    )  # fmt: skip
    cell, rows = ("domain", "predictor"), 1 + 0.01 * SIDES[:4]
    for fraction, near, far, best in ((0.6, 0.08, 0.04, 0.16), (0.8, 0.04, 0.01, 0.09)):
        for domain, own, rival in (("in-domain", near, near), ("out of domain", far, best)):
            for predictor in predictors:
                level = {"one-layer": own, "oracle": 0.0, "1-NN": rival}.get(predictor, 2 * rival)
                frame.put("prompt_error", level * rows, cell, test_fraction=fraction, domain=domain,
                          predictor=predictor)  # fmt: skip
    frame.put("prompt_error_match", 0.02, cell)
    frame.put("prompt_error_match", 0, cell, domain="in-domain", predictor="1-NN")
    frame.put("seen_hinge", 0.001)
    return frame.data


def oracle() -> xr.Dataset:
    """f64-oracle-law: 4 x 4000 prompts in every cell."""
    frame = Frame({"test_fraction": [0.2, 0.4], "test_contexts": [2, 5, 10]}, 4)
    frame.put("oracle_error", 0.5 * np.power.outer([0.8, 0.6], [2, 5, 10])[:, :, None])
    frame.put("prompts", 4000)
    return frame.data


def pruning() -> xr.Dataset:
    frame = Frame({"test_fraction": [0.2, 0.4, 0.6, 0.8]}, order=ORDERS, rate=RATES)
    cell = ("order", "rate")
    small = [0.13, 0.131, 0.132, 0.133, 0.15, 0.35, 0.7, 0.8]
    large = [0.13, 0.3, 0.35, 0.45, 0.6, 0.8, 0.95, 1.0]
    hinge = np.array([small, large, large, large])
    error = np.array([[0.01] * 5 + [0.012, 0.3, 0.4], *[[0.01, 0.01, 0.01, 0.01, 0.02, 0.05, 0.5, 0.99]] * 3])
    for alpha, more in ((0.2, 0.14), (0.4, 0.04), (0.6, 0.02), (0.8, 0.0)):
        frame.put("pruned_hinge", wavy(hinge + more), cell, test_fraction=alpha)
        frame.put("pruned_error", wavy(error + more), cell, test_fraction=alpha)
    frame.put("seen_hinge", 0.001)
    return frame.data


def context() -> xr.Dataset:
    """e1-context: 6, 3 and 2 contexts are needed with the short budget, 2 with the long one; one never suffices."""
    short, long = (1, 2, 3, 4, 6, 8, 12), (1, 2, 3)
    variants = [f"short, {n}" for n in short] + [f"long, {n}" for n in long]
    frame = Frame({"variant": variants, "fraction": [0.2, 0.4, 0.8]}, 3)
    for fraction, needed in ((0.2, 6), (0.4, 3), (0.8, 2)):
        for variant in variants:
            budget, length = variant.split(", ")
            enough = int(length) >= (needed if budget == "short" else 2)
            frame.put("last_watch_hinge", 0.05 if enough else 0.95, variant=variant, fraction=fraction)
            frame.put("attention_moved", 0.0 if length == "1" else 0.3, variant=variant, fraction=fraction)
    return frame.data


def with_fields(name: str, data: xr.Dataset) -> xr.Dataset:
    """With the fields that the labels of named axes set, which every data set carries."""
    quick = icl.theory.experiments[name].preset("quick")
    return data.assign_coords(make_grid(quick.setting, quick.axes).fields())


def world() -> dict[str, xr.Dataset]:
    """Every experiment as the specification expects it."""
    made = {
        "p1-default": default(), "e2-tasks": tasks(), "p4-contexts": contexts(), "p5-shift": shift(),
        "p5-exchange": exchange(),
        "p11-lucky": lucky(), "p17-heads": heads(), "p18-classes": classes(), "f64-baselines": baselines(),
        "f64-oracle-law": oracle(), "f65-pruning": pruning(), "e1-context": context(),
        **{name: iterations(name) for name in AXES},
    }  # fmt: skip
    return {name: with_fields(name, data) for name, data in made.items()}


SIZES = {"record": 14, "pattern": M1, "other": M1, "idi": 6, "other_idi": 6, "neuron": 16, "odr_pattern": 3}


def assert_shape_of(name: str, data: xr.Dataset) -> None:
    """The data have the dimensions, labels and seeds that this experiment leaves at `quick`."""
    experiment = icl.theory.experiments[name]
    quick = experiment.preset("quick")
    grid = make_grid(quick.setting, quick.axes)
    variables = {variable.name: variable for variable in experiment.simulation.variables}
    for variable, values in data.data_vars.items():
        assert values.dims == (*grid.labels, "seed", *variables[str(variable)].dims), variable
    labels: dict[str, list[Any]] = {dim: values.tolist() for dim, values in grid.coordinates().items()}
    labels |= {field: values.tolist() for field, (_, values) in grid.fields().items()}
    labels |= {dim: list(found) for dim, found in experiment.simulation.labels.items()}
    for dim in data.coords:
        assert dim == "seed" or data[dim].values.tolist() == labels[str(dim)], dim
    assert {*grid.labels, *(set(data.dims) & set(experiment.simulation.labels))} <= set(data.coords)
    assert data.sizes["seed"] == quick.seeds
