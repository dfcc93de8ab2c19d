"""Data sets made by hand for the tests of claims: the world as the register expects it, in the experiments' shape.

Every function makes the data of one experiment at `quick`. Places that no claim may read are absent, or hold values
that would turn claims around. Records are one unit of η t apart wherever a time is read, so that record k is η t = k.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.grid import make_grid
from lemmata.theories import graph_transformer

nan, inf = float("nan"), float("inf")
EXPERIMENTS = graph_transformer.theory.experiments
SIZES = {"record": 61, "bin": 7, "pattern": 4, "other": 4, "redraw": 200, "watched": 200, "distance": 3}
EVERY = np.arange(61)
FRACTIONS = np.array([0.25, 0.3, 0.4, 0.5, 0.6, 0.8])
COUNTS = np.array([10, 20, 40, 80, 160, 320, 640])
CYCLES = {"+-+-": 2, "++--++--": 4, "+++---+++---": 6}


def seeds(middle: Any, spread: float, count: int = 3) -> xr.DataArray:
    """One value per seed around the middle: -spread, 0, spread, and again.

    Of three seeds two standard errors are 1.155 spread, and the half width of the t interval is 2.484 spread.
    """
    return xr.DataArray(middle + spread * np.resize([-1.0, 0.0, 1.0], count), dims="seed")


def one_seed(others: float, odd: float, count: int = 3) -> xr.DataArray:
    """One value for all seeds but the first."""
    return xr.DataArray(np.append(odd, np.full(count - 1, others)), dims="seed")


class Frame:
    """The data set of an experiment, filled variable by variable; what is not set is absent."""

    def __init__(self, name: str, count: int = 3, **sizes: int) -> None:
        experiment = EXPERIMENTS[name]
        self.simulation = experiment.simulation
        preset = experiment.preset("quick")
        grid = make_grid(preset.setting, preset.axes)
        axes = grid.coordinates()
        self.axes = (*axes, "seed")
        self.data = xr.Dataset(coords={**axes, **grid.fields(), "seed": np.arange(count)})
        self.sizes = {**SIZES, **self.data.sizes, **sizes}

    def put(self, name: str, value: Any, **where: Any) -> None:
        """Set a part of a variable: labelled dimensions by label, the others by index."""
        if name not in self.data:
            dims = (*self.axes, *self.simulation.variable(name).dims)
            labels = {dim: list(self.simulation.labels[dim]) for dim in dims if dim in self.simulation.labels}
            self.data = self.data.assign_coords(labels)
            self.data[name] = dims, np.full([self.sizes.get(d) or len(labels[d]) for d in dims], nan)
        self.data[name].loc[where] = value

    def clock(self, records: int = 61, eta: float = 0.1, **where: Any) -> None:
        """Records every ten steps."""
        used = EVERY[:records]
        self.put("step", 10.0 * used, record=slice(0, records), **where)
        if "time" in (variable.name for variable in self.simulation.variables):
            self.put("time", 10 * eta * used, record=slice(0, records), **where)


def change(data: xr.Dataset, variable: str, value: Any, **where: Any) -> xr.Dataset:
    """A copy with one place of a variable set; a function is applied to what stands there."""
    target = data[variable].copy(deep=True)
    target.loc[where] = value(target.loc[where]) if callable(value) else value
    return data.assign({variable: target})


def widths() -> xr.Dataset:
    frame = Frame("p1-width", 5)
    for neurons, successes in ((1, 0), (4, 1), (20, 4), (50, 3), (100, 5), (400, 5)):
        frame.put("final_loss", np.where(np.arange(5) < successes, 0.04, 0.3), neurons=neurons)
    return frame.data


def steps(eta: float = -1.0, noise: float = -1.0, error: float = 0.0, spread: float = 0.0) -> xr.Dataset:
    """T on power laws of η, 1 - 2 ε_0 and 1 - δ; `spread`: how much the seeds' exponents differ."""
    frame = Frame("p2-step")
    laws: dict[str, list[tuple[str, float]]] = {
        "eta": [(f"eta={value:g}", value / 0.2) for value in (0.4, 0.2, 0.1, 0.05)],
        "noise": [(f"eps_0={value:g}", 1 - 2 * value) for value in (0.05, 0.1, 0.2)],
        "error": [(f"delta={value:g}", (1 - value) / 0.8) for value in (0.0, 0.1, 0.4)],
    }
    for axis, exponent in (("eta", eta), ("noise", noise), ("error", error)):
        for case, base in laws[axis]:
            frame.put("trained_step", 100 * base ** seeds(exponent, spread), variant=case)
            frame.put("last_step", 300.0, variant=case)
    return frame.data


def success_map(frame: Frame, minimal: float, **where: Any) -> None:
    """Full losses: below 1e-3 from the minimal count on."""
    frame.put("full_loss", np.where(minimal <= COUNTS, 1e-4, 0.4 - COUNTS / 2000), **where)


def samples_fraction(minimal: Any = (20, 20, 40, 80, 320, 640), shell: float = 360) -> xr.Dataset:
    frame = Frame("f33a-samples", 5)
    for fraction, count in zip(FRACTIONS, minimal, strict=True):
        for seed in range(5):
            success_map(frame, count, discriminative=fraction, seed=seed)
    frame.put("largest_shell", 1.0)
    frame.put("node_count", 1000.0)
    frame.put("largest_shell", shell, bin=1, discriminative=0.4)
    return frame.data


def samples_confusion(minimal: Any = (10, 80, 160, inf, inf)) -> xr.Dataset:
    frame = Frame("f33b-samples", 5)
    for confusion, count in zip((0.0, 0.1, 0.2, 0.3, 0.4), minimal, strict=True):
        for seed in range(5):
            success_map(frame, count, variant=f"{confusion:g}", seed=seed)
    for case in ("0, permuted", "0.1, permuted", "0.2, permuted"):
        frame.put("full_loss", 1.0, variant=case)
    return frame.data


def noise() -> xr.Dataset:
    frame = Frame("f34-noise", record=61)
    frame.clock()
    for i, (eps, arrival) in enumerate(((0.0, 15), (0.05, 15), (0.1, 16), (0.2, 18))):
        flipped = eps + 0.01 * (eps > 0)
        path = np.where(arrival > EVERY, 0.6 + 0.06 * i, 2 * flipped + 0.01)
        frame.put("loss", path, label_noise=eps)
        frame.put("clean_loss", 0.0, label_noise=eps, record=60)
        frame.put("flipped", flipped, label_noise=eps)
    return frame.data


def attention() -> xr.Dataset:
    """The mass at the end; before it, and of groups that are not asked for, as it should not be."""
    frame = Frame("f35-attention", record=81)
    for margin, end in ((1.0, 0.63), (10.0, 0.95)):
        for intra in (-1, 0):
            right = intra == -1
            frame.put("relevant_mass", 1.55 - end, margin=margin, intra_degree=intra, record=slice(0, 80))
            frame.put(
                "relevant_mass", end if right else 1.55 - end, margin=margin, intra_degree=intra, record=80, group="all"
            )
    return frame.data


def gcn_samples(minimal: Any = (20, 10, 10, 20, 10, 10), shell: float = 360) -> xr.Dataset:
    frame = Frame("f36-gcn-samples", 5)
    for fraction, count in zip(FRACTIONS, minimal, strict=True):
        for labelled in COUNTS:
            frame.put("full_loss", 1e-4 if labelled >= count else 0.3, variant=f"{fraction:g}, {labelled}")
    frame.put("full_loss", 1.0, variant="0.4, 640, permuted")
    frame.put("largest_shell", shell, variant="0.4, 640", bin=1)
    frame.put("node_count", 1000.0)
    return frame.data


def gcn_iterations(times: Any = 20 + 20 * FRACTIONS**-2) -> xr.Dataset:
    frame = Frame("f37-gcn-iterations")
    frame.put("reached_step", np.asarray(times)[:, None])
    frame.put("last_step", 500.0)
    return frame.data


def iterations(gt: float = 0.1, gcn: float = -1.3, spread: float = 0.0) -> xr.Dataset:
    frame = Frame("b6a-iterations")
    for model, prefactor, exponent in (("GT core", 150, gt), ("GCN core", 60, gcn)):
        for fraction in FRACTIONS:
            frame.put(
                "reached_step", prefactor * fraction ** seeds(exponent, spread), variant=model, discriminative=fraction
            )
    frame.put("last_step", 500.0)
    return frame.data


BETAS = {"beta=1": 150, "beta=3": 120, "beta=10": 100, "beta=1/3": 200, "beta=1/10": 260}


def sampler() -> xr.Dataset:
    frame = Frame("p6-sampler")
    frame.clock()
    around = 0.02 * np.resize([-1.0, 1.0], 200)
    for case, ratio in (
        ("beta=1", 0.2), ("beta=3", 0.2 / (0.2 + 3 * 0.8)), ("beta=10", 0.2 / (0.2 + 10 * 0.8)),
        ("beta=10, apart", 0.036),
    ):  # fmt: skip
        frame.put("node_ratio", ratio + around, variant=case)
    for case, time in BETAS.items():
        frame.put("reached_step", time, variant=case)
    return frame.data


def training() -> xr.Dataset:
    frame = Frame("p7-training")
    short = ("frozen values", "only head", "literal init")
    for variant in EXPERIMENTS["p7-training"].preset("quick").axes["variant"]:
        frame.clock(31 if variant in short else 61, variant=variant)
    _masses(frame)
    intact: dict[str, Any] = {"variant": "intact"}
    loss = np.select([EVERY <= 15, EVERY <= 20, EVERY <= 25], [1.0, 0.5, 0.2], 0.05)
    frame.put("train_loss", loss, **intact)
    frame.put("train_loss", 1.0, variant="frozen")
    frame.put("train_loss", 1.0, variant="only head", record=slice(0, 31))
    frame.put("accuracy", 1.0, record=30, **intact)
    frame.put("accuracy", 0.7, record=30, variant="literal init")
    frame.put("distance_bias", np.array([-0.25, 0.5, -0.25, 0, 0, 0, 0]), **intact)
    frame.put("count_margin", np.array([0, 9.0, 1.0, 0, 0, 0, 0]), **intact)
    frame.put("bins_used", 3.0, **intact)
    _neurons(frame)
    growth = np.where(EVERY <= 26, 1 + 0.02 * EVERY, 1.5 - 0.01 * (EVERY - 27))[:, None]
    for name in ("key_norm", "query_norm"):
        frame.put(name, np.where(np.arange(4) < 2, growth, 1 + 0.003 * EVERY[:, None]), **intact)
        frame.put(name, 1.0, variant="frozen")
    for variant, value in (("intact", 0.1), ("frozen", 0.0)):
        frame.put("cross_logits", -5.0, variant=variant)
        frame.put("cross_logits", 0.0, variant=variant, record=0, pattern=slice(0, 2), other=slice(2, 4))
        frame.put("cross_logits", value, variant=variant, record=30, pattern=slice(0, 2), other=slice(2, 4))
    for variant, moved in (("intact", 1.0), ("frozen values", 0.0)):
        frame.put("value_along_first", 1.0, variant=variant, record=0)
        frame.put("value_along_first", 1.0 + 0.6 * moved, variant=variant, record=30)
        frame.put("value_opposition", -0.5 * moved, variant=variant, record=30)
        frame.put("lucky_value", 0.2 * moved, variant=variant, record=30)
    frame.put("value_moved", np.array([1.0, 0.9, 0.1, 0.15]), record=30, **intact)
    return frame.data


def _masses(frame: Frame) -> None:
    mass = {
        ("intact", 0): (0.3, 0.2), ("intact", 30): (0.5, 0.4), ("intact", 60): (0.7, 0.6),
        ("margin 10", 60): (0.95, 0.93), ("frozen", 0): (0.3, 0.2), ("frozen", 30): (0.3, 0.2),
        ("frozen", 60): (0.3, 0.2),
        ("frozen, margin 10", 60): (0.31, 0.21),
    }  # fmt: skip
    for (variant, record), values in mass.items():
        frame.put("relevant_mass", np.array([*values, nan]), variant=variant, record=record)
    frame.put("core_ratio", 0.94 + 0.01 * (EVERY % 2), variant="intact")
    frame.put("core_ratio", 0.5, variant="permuted")


def _neurons(frame: Frame) -> None:
    intact: dict[str, Any] = {"variant": "intact"}
    # growth is read at the start, and from η t = 5 on while the training loss exceeds .3: elsewhere it is huge or falls
    grown = np.where((EVERY >= 5) & (EVERY <= 20), 0.001 * EVERY**2, np.where(EVERY < 5, 5.0, 1e-6))
    frame.put("lucky_along", 0.01 + np.where(EVERY == 0, 0, grown), crowd="W", pattern=0, **intact)
    linear = np.where(EVERY[:31] < 5, 5.0, 0.01 * EVERY[:31])
    frame.put(
        "lucky_along", 0.01 + np.where(EVERY[:31] == 0, 0, linear), crowd="W", pattern=0, record=slice(0, 31),
        variant="only head",
    )  # fmt: skip
    for crowd, own, other in (("W", 0, 1), ("U", 1, 0)):
        frame.put("lucky_along", 0.9, crowd=crowd, pattern=own, record=30, **intact)
        frame.put("lucky_along", 0.2, crowd=crowd, pattern=other, record=30, **intact)
    frame.put("lucky_along", -0.1, crowd="wrong W", pattern=slice(0, 2), record=30, **intact)
    frame.put("lucky_along_size", 9.0, record=30, **intact)
    frame.put("lucky_along_size", 0.1, pattern=slice(2, 4), record=30, **intact)
    frame.put("norm_ratio", 0.95, record=0, **intact)
    frame.put("norm_ratio", 0.4, record=30, **intact)
    early = EVERY <= 25
    frame.put("coefficient_negative", np.where(early, 0.97, 0.0)[:, None], **intact)
    frame.put("coefficient_positive", np.where(early, 0.02, 1.0)[:, None], **intact)
    frame.put("active_fraction", np.where(EVERY == 0, 0.5, 0.99), **intact)
    frame.put("active_fraction_alike", np.where(EVERY == 0, 0.9, 0.5), **intact)
    first = EVERY <= 30
    for crowd, share in (("W", 0.95), ("U", 0.93), ("wrong W", 0.4)):
        frame.put("persistence", np.where(first, share, 0.0), crowd=crowd, **intact)


def _encoding(frame: Frame, bins: int, margin: Any, where: dict[str, Any], late: dict[int, tuple[int, float]]) -> None:
    """b: early with the signs of the margin, later with a lead of one bin; huge at bins that do not count.

    With distances permuted the early b is negative everywhere.
    """
    margin = np.asarray(margin, float)
    frame.put("bins_used", float(bins), **where)
    frame.put("count_margin", np.append(1e6, np.append(margin, np.full(7 - bins, 1e6))), **where)
    frame.put("train_loss", np.where(EVERY <= 5, 0.95, 0.5), **where)
    frame.put("distance_bias", -9.0 * np.append(0, np.append(margin, np.zeros(7 - bins))), record=slice(0, 5), **where)
    asked = np.abs(margin) > 0.2 * np.abs(margin).max()
    early = np.where(asked & ("permuted" not in where["variant"]), 1e-3 * np.sign(margin), -1.0)
    frame.put("distance_bias", np.append(-9.0, np.append(early, np.full(7 - bins, -9.0))), record=5, **where)
    for record, (top, lead) in late.items():
        b = np.append(9.0, np.append(np.full(bins - 1, -0.2), np.full(7 - bins, 9.0)))
        b[top] += lead
        frame.put("distance_bias", b, record=record, **where)


def cores() -> xr.Dataset:
    frame = Frame("p9-core")
    margins = {"+-+-": [-96, 95], "++--++--": [1, -24, 2, 24], "+++---+++---": [16, 8, -48, -16, 16, 49]}
    for name, core in CYCLES.items():
        frame.clock(41, variant=[f"{name} {model}" for model in ("GT+PE", "no PE", "z=1", "core", "permuted")])
        at: dict[str, Any] = {"variant": f"{name} GT+PE"}
        _encoding(frame, len(name) // 2 + 1, margins[name], at, {40: (core, 0.9)})
        for model in ("GT+PE", "permuted"):
            frame.put("reached_bins", (np.arange(7) <= len(name) // 2) * 1.0, variant=f"{name} {model}")
        _encoding(frame, len(name) // 2 + 1, margins[name], {"variant": f"{name} permuted"}, {40: (core, 0.05)})
        frame.put("other_loss", 0.98, variant=f"{name} no PE", record=40)
        frame.put("other_loss", 0.01, variant=f"{name} GT+PE", record=40)
    frame.put("loss", 0.02, variant="++--++-- GT+PE", record=40)
    frame.put("loss", 0.6, variant="++--++-- z=1", record=40)
    for name in ("G2", "G2, heterophilous"):
        for model, lead in (("GT+PE", 0.6), ("permuted", 0.05)):
            frame.clock(variant=f"{name} {model}")
            _encoding(frame, 5, [30, 60, -80, -2], {"variant": f"{name} {model}"}, {60: (1, lead)})
            frame.put("normalised_margin", np.array([9, 0.7, 0.2, -0.3, 0, 9, 9]), variant=f"{name} {model}")
            frame.put("reached_bins", (np.arange(7) < 5) * 1.0, variant=f"{name} {model}")
    return frame.data


def known_core() -> xr.Dataset:
    frame = Frame("p10-known-core")
    frame.clock(41)
    _encoding(frame, 4, [120, -120, 3], {"variant": "GT+PE"}, {30: (1, 0.9), 40: (1, 0.9)})
    for model in ("GT+PE", "permuted"):
        frame.put("reached_bins", np.array([0.0, 1, 1, 0, 0, 0, 0]), variant=model)
    _encoding(frame, 4, [120, -120, 3], {"variant": "permuted"}, {30: (1, 0.05)})
    for model, loss in (("GT+PE", 0.03), ("GT core", 0.01), ("GCN", 0.98), ("GCN core", 0.05)):
        frame.put("loss", loss, variant=model, record=40)
    frame.put("other_loss", 0.02, variant="GT+PE", record=40)
    frame.put("other_loss", 0.99, variant="no PE", record=40)
    return frame.data


def batches(exponent: float = -0.5, spread: float = 0.0, frequency: float = 0.2) -> xr.Dataset:
    frame = Frame("p16-batch")
    for size in (25, 50, 100, 200, 400):
        frame.put("deviation", size ** seeds(exponent, spread), size=str(size))
    frame.put("copies", 3.0)
    frame.put("exceeds", 1.0)
    frame.put("exceeds", frequency, moment="start", part="W_O", size="100")
    return frame.data


def variance(bound: float = 500.0, cycle: float = 0.018, deviation: float = 0.01) -> xr.Dataset:
    frame = Frame("p17-variance")
    frame.put("bound", bound, generator="chapter")
    frame.put("bound", cycle, generator="ring")
    frame.put("mass_mean", 0.3 + deviation * np.resize([-1.0, 1.0], 200), generator="ring")
    frame.put("coin_mean", np.resize([0.0, 1.0], 200), generator="ring")
    return frame.data


def masses(slope: float = 0.95, off: float = 0.0) -> xr.Dataset:
    """Shares on a line through the origin; `off` lifts the first two off it without changing the fitted slope."""
    frame = Frame("p18-mass")
    for g, lift in ((0.2, 0.3), (0.3, -0.2), (0.4, 0.0), (0.6, 0.0), (0.8, 0.0)):
        frame.put("relevant_share", slope * g + off * lift, variant=f"G2 {g:g}")
    for g, share in ((0.25, 0.78), (0.4, 0.74), (0.6, 0.77), (0.8, 0.85)):
        frame.put("relevant_share", share, variant=f"G1 {g:g}")
    return frame.data


def sampling() -> xr.Dataset:
    frame = Frame("p19-sampling")
    for case, share in (("whole, 20", 0.004), ("whole, 60", 0.0005), ("core, 20", 0.3), ("core, 60", 0.3)):
        frame.put("violating_share", share, variant=case)
    return frame.data


def shells() -> xr.Dataset:
    """(B.200) at z_m is 0, and bins that do not count are negative."""
    frame = Frame("p20-shells")
    for case, core, bins, least, mean in (
        ("+++---+++---", 6, 7, -5.0, 10.0),
        ("++--++--", 4, 5, 5.0, nan),
        ("G2", 2, 5, nan, 0),
    ):
        z = np.arange(7)
        counted = (z >= 1) & (z < bins) & (z != core)
        frame.put("core_distance", core, graph=case)
        frame.put("least_exchange", np.where(counted, least, -1e6), graph=case)
        frame.put("mean_exchange", np.where(counted, mean, -1e6), graph=case)
    frame.put("mean_exchange", -250.0, graph="G2", bin=1)
    frame.put("mean_exchange", 250.0, graph="G2", bin=[3, 4])
    return frame.data


def hand() -> xr.Dataset:
    frame = Frame("f32-margins", 1)
    frame.put("margin", np.array([0.0, -2, 3]), label=1)
    frame.put("margin", np.array([0.0, 2, -3]), label=-1)
    return frame.data


def literal_graph() -> xr.Dataset:
    frame = Frame("e5-literal-graph")
    frame.put("positive_first", 0.6, intra_degree=0)
    frame.put("positive_first", 1.0, intra_degree=-1)
    return frame.data


def _ends(frame: Frame, name: str, value: float, end: int, **where: Any) -> None:
    """A value at the last record, the opposite before it, nothing after it."""
    frame.put(name, 1 - value, record=slice(0, end), **where)
    frame.put(name, value, record=end, **where)


def absolute() -> xr.Dataset:
    frame = Frame("p21-absolute", 5)
    for case, accuracy in (("with PE", 0.9), ("PE zeroed", 0.5), ("patterns permuted", 0.52)):
        _ends(frame, "other_accuracy", accuracy, 40, variant=case)
        frame.put("accuracy", 1 - accuracy, variant=case)
    return frame.data


def graph_labels() -> xr.Dataset:
    frame = Frame("p21-graph", record=21)
    for trained, accuracy in ((1, 1.0), (0, 0.77)):
        _ends(frame, "accuracy", accuracy, 20, train_encoding=trained)
        frame.put("counting_accuracy", 0.75, train_encoding=trained)
    return frame.data


def four_classes() -> xr.Dataset:
    frame = Frame("p21-four", record=21)
    frame.put("bins_used", 5.0)
    for case, gap, loss, accuracy in (
        ("per coordinate", 0.4, 0.01, 0.97),
        ("joint", nan, 0.005, 0.8),
        ("permuted", -0.1, nan, nan),
    ):
        for coordinate, core in (("first", 4), ("second", 2)):
            b = np.array([9.0, 0, 0, 0, 0, 9, 9])
            b[core] = gap
            frame.put("distance_bias", -b, variant=case, coordinate=coordinate, record=slice(0, 20))
            frame.put("distance_bias", b, variant=case, coordinate=coordinate, record=20)
        _ends(frame, "joint_loss", loss, 20, variant=case)
        _ends(frame, "accuracy", accuracy, 20, variant=case)
    return frame.data


def gat() -> xr.Dataset:
    frame = Frame("p21-gat")
    for case in EXPERIMENTS["p21-gat"].preset("quick").axes["variant"]:
        frame.clock(31 if case.startswith("G1") else 41, variant=case)
    frame.put("loss", 0.02, variant="G1, dot", record=30)
    frame.put("loss", 0.6, variant="++--++--, dot", record=30)
    frame.put("other_loss", 0.99, variant="++--++--, dot", record=40)
    frame.put("other_loss", 0.01, variant="++--++--, z=4", record=40)
    frame.put("accuracy", 0.99, variant="+-+-, dot", record=40)
    frame.put("accuracy", 0.7, variant="++--++--, dot", record=40)
    return frame.data


MAKERS: dict[str, Callable[[], xr.Dataset]] = {
    "p1-width": widths, "p2-step": steps, "f33a-samples": samples_fraction, "f33b-samples": samples_confusion,
    "f34-noise": noise, "f35-attention": attention, "f36-gcn-samples": gcn_samples,
    "f37-gcn-iterations": gcn_iterations, "b6a-iterations": iterations, "p6-sampler": sampler, "p7-training": training,
    "p9-core": cores, "p10-known-core": known_core, "p16-batch": batches, "p17-variance": variance, "p18-mass": masses,
    "p19-sampling": sampling, "p20-shells": shells, "f32-margins": hand, "e5-literal-graph": literal_graph,
    "p21-absolute": absolute, "p21-graph": graph_labels, "p21-four": four_classes, "p21-gat": gat,
}  # fmt: skip


def world() -> dict[str, xr.Dataset]:
    return {name: make() for name, make in MAKERS.items()}
