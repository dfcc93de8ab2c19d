"""The rows of `gt_cases` for the claims from P9 on and for the figures; `ROWS` here has all."""

from typing import Any

import gt_hand_made as made
import numpy as np
import xarray as xr
from gt_cases import ROWS, Change, at, clear, edge, every, instead, place, row, single
from gt_hand_made import FRACTIONS, inf, nan, one_seed, seeds

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE

__all__ = ["ROWS"]

# P9: b has .2 below zero at all bins but the one that leads

G1 = {"variant": "GT+PE"}
every("p9-core-g1", 0.301, 0.3, place("distance_bias", **G1, record=30, bin=1))
for z in (2, 3):
    single("p9-core-g1", 0.199, 0.2, place("distance_bias", **G1, record=30, bin=z))
row("p9-core-g1", FAILS, at("count_margin", 0.0, **G1), at("distance_bias", 0.5, **G1, record=30, bin=2))
row("p9-core-g1", INCONCLUSIVE, at("time", one_seed(30, nan), variant="GT+PE", record=30))
for sequence, core in made.CYCLES.items():
    here = place("distance_bias", variant=f"{sequence} GT+PE", record=40, bin=core)
    every("p9-core-g3", 0.301, 0.299, here)
    single("p9-core-g3", 0.199, 0.201, place("distance_bias", variant=f"{sequence} GT+PE", record=40, bin=1))
row("p9-core-g3", INCONCLUSIVE, at("time", nan, variant="+-+- GT+PE", record=40))

GRAPHS: dict[str, tuple[str, dict[str, str], int, int]] = {
    **{
        name: ("p9-core", {"variant": f"{name} GT+PE"}, core, 2 if name == "++--++--" else 3)
        for name, core in made.CYCLES.items()
    },
    "G2": ("p9-core", {"variant": "G2 GT+PE"}, 2, 3),
    "G2, heterophilous": ("p9-core", {"variant": "G2, heterophilous GT+PE"}, 2, 3),
    "G1": ("p10-known-core", {"variant": "GT+PE"}, 1, 2),
}
name = "p9-early-signs"
for graph, (of, where, positive, negative) in GRAPHS.items():
    negative = 1 if graph == "+-+-" else negative
    early = {"of": of, **where, "record": 5}
    row(name, FAILS, at("distance_bias", -1e-6, **early, bin=positive))
    row(name, HOLDS, at("distance_bias", 1e-6, **early, bin=positive))
    row(name, FAILS, at("distance_bias", 1e-6, **early, bin=negative))
    row(name, FAILS, at("distance_bias", one_seed(1.0, -1.0), **early, bin=positive))
    row(
        name,
        FAILS,
        at("train_loss", 0.901, of=of, **where, record=20),
        at("distance_bias", 0.0, of=of, **where, record=20),
    )
    row(
        name,
        HOLDS,
        at("train_loss", 0.899, of=of, **where, record=20),
        at("distance_bias", 0.0, of=of, **where, record=20),
    )
    row(name, INCONCLUSIVE, at("train_loss", 0.9, of=of, **where))
# bins with a margin below 20 % of the largest, or out of the sampler's reach, are not asked
row(
    name,
    HOLDS,
    at("count_margin", 0.19 * 49, variant="+++---+++--- GT+PE", bin=2),
    at("distance_bias", -1.0, variant="+++---+++--- GT+PE", record=5, bin=2),
)
row(
    name,
    FAILS,
    at("count_margin", 0.21 * 49, variant="+++---+++--- GT+PE", bin=2),
    at("distance_bias", -1.0, variant="+++---+++--- GT+PE", record=5, bin=2),
)
row(name, HOLDS, at("count_margin", 100.0, of="p10-known-core", **G1, bin=3))
row(
    name,
    FAILS,
    at("count_margin", 100.0, of="p10-known-core", **G1, bin=3),
    at("reached_bins", 1.0, of="p10-known-core", **G1, bin=3),
)

for graph in ("G2", "G2, heterophilous"):
    late = {"variant": f"{graph} GT+PE", "record": 60}
    # counts are largest at distance 2, normalised margins at distance 1
    both = [at("distance_bias", 0.9, variant=["G2 GT+PE", "G2, heterophilous GT+PE"], record=60, bin=2)]
    single("p9-late-counts", 0.649, 0.65, place("distance_bias", **late, bin=1), *both)
    every("p9-late-counts-corrected", 0.051, 0.05, place("distance_bias", **late, bin=1))
    single("p9-late-counts-corrected", 0.149, 0.151, place("distance_bias", **late, bin=4))
    row("p9-late-counts-corrected", FAILS, at("normalised_margin", 0.71, variant=f"{graph} GT+PE", bin=2))
    row("p9-late-counts-corrected", HOLDS, at("normalised_margin", 0.69, variant=f"{graph} GT+PE", bin=2))
    row("p9-late-counts", INCONCLUSIVE, at("time", nan, **late))

# P10

clear(
    "p10-known-core",
    0.0799,
    0.0801,
    place("loss", variant="GT+PE", record=40),
    at("loss", 0.03, variant="GT core", record=40),
)
clear("p10-known-core", 0.0799, 0.0801, place("loss", variant="GT core", record=40))
row("p10-known-core", INCONCLUSIVE, at("time", nan, variant="GT core", record=40))
clear("p10-no-pe-g1", 0.9001, 0.8999, place("other_loss", variant="no PE", record=40))
for sequence in made.CYCLES:
    clear("p10-no-pe-g3", 0.9001, 0.8999, place("other_loss", variant=f"{sequence} no PE", record=40))

# P11

INTACT = {"variant": "intact"}
for crowd, own, other in (("W", 0, 1), ("U", 1, 0)):
    along = {**INTACT, "crowd": crowd, "record": 30}
    every("p11-lucky-directions", 0.601, 0.6, place("lucky_along", **along, pattern=own))
    every("p11-lucky-directions", 0.299, 0.301, place("lucky_along", **along, pattern=other))
    single("p11-lucky-directions", 0.299, 0.301, place("lucky_along_size", **along, pattern=3))
    row("p11-lucky-directions", HOLDS, at("lucky_along", -5.0, **along, pattern=other))


def grown(exponent: Any) -> Change:
    values = 0.01 + 0.01 * xr.DataArray(np.arange(5.0, 21), dims="record") ** exponent
    return at("lucky_along", values, **INTACT, crowd="W", pattern=0, record=slice(5, 21))


every("p11-superlinear", 1.201, 1.199, grown)
row("p11-superlinear", HOLDS, at("train_loss", 0.31, **INTACT, record=slice(8, 21)))
row("p11-superlinear", INCONCLUSIVE, at("train_loss", 0.3, **INTACT, record=slice(8, 21)))
row("p11-superlinear", HOLDS, at("train_loss", 0.3, **INTACT, record=slice(9, 21)))
every("p11-unlucky-norms", 0.699, 0.7, place("norm_ratio", **INTACT, record=30))
row("p11-unlucky-norms", INCONCLUSIVE, at("time", nan, **INTACT, record=30))

# P12: 26 steps between records are counted, of which 23.4 must rise

for norm in ("key_norm", "query_norm"):
    for j in (0, 1):
        there = {**INTACT, "pattern": j}
        row("p12-growth", HOLDS, *[at(norm, lambda old: old - 0.03, **there, record=k) for k in (4, 26)])
        row("p12-growth", FAILS, *[at(norm, lambda old: old - 0.03, **there, record=k) for k in (4, 9, 26)])
        row(
            "p12-growth", FAILS, *[at(norm, one_seed(0.0, -0.03) + 1 + 0.02 * k, **there, record=k) for k in (4, 9, 26)]
        )
        factor = 1.09 + 0.1
        every("p12-disc-exceeds", factor + 1e-3, factor - 1e-3, place(norm, **there, record=30))
        row("p12-disc-exceeds", FAILS, at(norm, 1.27, **there, record=0))
    single(
        "p12-disc-exceeds",
        1.66,
        1.75,
        place(norm, **INTACT, record=30, pattern=3),
        at(norm, 1.5, **INTACT, record=30, pattern=[0, 1]),
    )
row("p12-growth", INCONCLUSIVE, at("train_loss", 0.09, **INTACT))
cross = {**INTACT, "pattern": slice(0, 2), "other": slice(2, 4)}
clear("p12-cross-logit", 0.0301, 0.0299, place("cross_logits", **cross, record=30))
clear("p12-cross-logit", 0.0699, 0.0701, place("cross_logits", **cross, record=0))
row("p12-cross-logit", FAILS, at("cross_logits", 0.03, **cross, record=30))

# P13 - P15

single("p13-sum", 0.9e-5, 1.01e-5, lambda value: at("distance_bias", value, **INTACT, record=17, bin=6))
row("p13-sum", INCONCLUSIVE, at("step", nan, **INTACT, seed=1))
row("p13-sum", HOLDS, at("step", nan, **INTACT, record=60), at("distance_bias", 1.0, **INTACT, record=60))
every("p14-value-growth", 1.301, 1.299, place("value_along_first", **INTACT, record=30))
every("p14-opposition", -0.101, -0.1, place("value_opposition", **INTACT, record=30))
for label in ("+1", "-1"):
    every("p14-lucky", 0.0501, 0.05, place("lucky_value", **INTACT, record=30, label=label))
for pattern in (2, 3):
    every("p14-others-small", 0.199, 0.2, place("value_moved", **INTACT, record=30, pattern=pattern))
row("p14-others-small", HOLDS, at("value_moved", 5.0, **INTACT, record=30, pattern=1))
row("p14-others-small", FAILS, at("value_moved", 0.7, **INTACT, record=30, pattern=0))
for name, kind, labels in (
    ("p14-sign", "coefficient_positive", ("-1",)), ("p14-sign-corrected", "coefficient_negative", ("+1", "-1")),
):  # fmt: skip
    for label in labels:
        clear(name, 0.9001, 0.8999, place(kind, **INTACT, label=label))
        # the mean over 26 records, up to the last one with a training loss above .1
        most = [at(kind, 1.0, **INTACT, label=label)]
        row(name, HOLDS, *most, at(kind, 0.0, **INTACT, label=label, record=slice(24, 61)))
        row(name, FAILS, *most, at(kind, 0.0, **INTACT, label=label, record=slice(23, 61)))
row("p14-sign", FAILS, at("coefficient_positive", 1.0, **INTACT, label="+1"))
every("p15-init-fraction", 0.351, 0.349, place("active_fraction", **INTACT, record=0))
every("p15-init-fraction", 0.649, 0.651, place("active_fraction", **INTACT, record=0))
for crowd in ("W", "U"):
    edge("p15-persistence", 0.9, 0.899, place("persistence", **INTACT, crowd=crowd, record=30))
    row("p15-persistence", FAILS, at("persistence", one_seed(0.95, 0.5), **INTACT, crowd=crowd, record=3))
    row("p15-persistence", INCONCLUSIVE, at("persistence", one_seed(0.95, nan), **INTACT, crowd=crowd))
for name in ("p14-value-growth", "p14-opposition", "p14-lucky"):
    row(name, INCONCLUSIVE, at("time", nan, **INTACT, record=30))

# P16 - P20

for exponent, spread, outcome in (
    (-0.599, 0, HOLDS), (-0.601, 0, FAILS), (-0.401, 0, HOLDS), (-0.399, 0, FAILS), (-0.5, 0.086, HOLDS),
    (-0.5, 0.087, INCONCLUSIVE), (-0.7, 0.086, FAILS), (-0.7, 0.087, INCONCLUSIVE),
):  # fmt: skip
    row("p16-slope", outcome, instead(made.batches(exponent, spread)))
for moment in ("start", "later"):
    for part in ("W_O", "W_V", "W_K", "W_Q", "b"):
        row("p16-slope", FAILS, at("deviation", 1.0, moment=moment, part=part))
# one of 600 batches is enough to exclude e^-25
edge("p16-probability", 0.0, 1 / 600, place("exceeds", moment="start", part="W_O", size="100"))
row(
    "p16-probability",
    FAILS,
    at("exceeds", 0.0),
    at("exceeds", one_seed(0.0, 0.01), moment="start", part="W_O", size="100"),
)

CYCLE = at("bound", 0.018, generator="chapter")
for deviation, outcome in ((0.122, HOLDS), (0.125, FAILS)):
    # of 200 redraws the upper 95 % limit of a variance is 1.19 times what it is
    row("p17-variance-cycle", outcome, instead(made.variance(deviation=deviation)))
    filled = at("mass_mean", 0.3 + deviation * np.resize([-1.0, 1.0], 200), generator="chapter")
    row("p17-variance", outcome, CYCLE, filled)
    row("p17-variance", INCONCLUSIVE, at("bound", 0.251, generator="chapter"), filled)
    row("p17-variance", INCONCLUSIVE, at("bound", one_seed(0.018, 0.251), generator="chapter"), filled)
one = 0.3 + np.array([[0.2], [0.01], [0.01]]) * np.resize([-1.0, 1.0], 200)
row("p17-variance-cycle", FAILS, at("mass_mean", one, generator="ring"))
row("p17-variance-cycle", FAILS, at("bound", nan, generator="ring"))
row("p17-variance-cycle", INCONCLUSIVE, at("bound", 0.251, generator="ring"))

for slope, bend, outcome in (
    (0.931, 0, HOLDS), (0.929, 0, FAILS), (0.969, 0, HOLDS), (0.971, 0, FAILS), (0.95, 0.1, HOLDS), (0.95, 0.2, FAILS),
):  # fmt: skip
    row("p18-mass", outcome, instead(made.masses(slope, bend)))

every("p19-sampling", 0.005, 0.0051, place("violating_share", variant="whole, 20"))
every("p19-sampling", 0.00055, 0.00056, place("violating_share", variant="whole, 60"))
for name, kind, rest in (
    ("p20-per-node", "least_exchange", [at("least_exchange", 1.0, graph="+++---+++---", bin=slice(1, 6))]),
    ("p20-per-node-corrected", "mean_exchange", []),
):  # fmt: skip
    for z in (1, 3, 5):
        every(name, 0.0, -1e-3, place(kind, graph="+++---+++---", bin=z), *rest)
edge("e5-literal-graph", 1.0, 0.999, place("positive_first", intra_degree=0))
row("e5-literal-graph", FAILS, at("positive_first", one_seed(1.0, 0.999), intra_degree=0))
row("e5-literal-graph", INCONCLUSIVE, at("positive_first", one_seed(1.0, nan), intra_degree=0))
edge("f32-margins", -2.0, -2.5, place("margin", label=1, distance=1))
edge("f32-margins", 3.0, 2.5, place("margin", label=1, distance=2))
row("f32-margins", INCONCLUSIVE, at("margin", nan, label=1, distance=2))
row("f32-margins", HOLDS, at("margin", 7.0, label=1, distance=0))

# P21; five seeds -s, 0, s, -s, 0 have a mean of -.2 s and two standard errors of .748 s

edge("p21-laplacian", 0.801, 0.799, place("other_accuracy", variant="with PE", record=40))
row("p21-laplacian", INCONCLUSIVE, at("other_accuracy", seeds(0.8, 0.05, 5), variant="with PE", record=40))
row("p21-laplacian", FAILS, at("other_accuracy", 0.7, variant="with PE", record=41))
edge("p21-laplacian-zeroed", 0.599, 0.601, place("other_accuracy", variant="PE zeroed", record=40))
row("p21-laplacian-zeroed", INCONCLUSIVE, at("other_accuracy", seeds(0.6, 0.05, 5), variant="PE zeroed", record=40))
clear("p21-graph-pe", 0.951, 0.949, place("accuracy", train_encoding=1, record=20))
clear("p21-graph-without", 0.799, 0.801, place("accuracy", train_encoding=0, record=20))
clear("p21-graph-without", 0.721, 0.719, place("counting_accuracy", train_encoding=0))
row(
    "p21-graph-without",
    HOLDS,
    at("accuracy", seeds(0.79, 0.1), train_encoding=0, record=20),
    at("counting_accuracy", seeds(0.75, 0.1), train_encoding=0),
)
FOUR = {"variant": "per coordinate", "record": 20}
for coordinate, core in (("first", 4), ("second", 2)):
    single("p21-four-core", 1e-3, 0.0, place("distance_bias", **FOUR, coordinate=coordinate, bin=core))
    single("p21-four-core", 0.399, 0.4, place("distance_bias", **FOUR, coordinate=coordinate, bin=3))
    row(
        "p21-four-core", INCONCLUSIVE, at("distance_bias", nan, variant="per coordinate", coordinate=coordinate, seed=1)
    )
clear("p21-four-accuracy", 0.931, 0.929, place("accuracy", **FOUR))
JOINT = {"variant": "joint", "record": 20}
clear("p21-four-joint", 0.931, 0.929, place("accuracy", **JOINT))
clear("p21-four-joint", 0.0199, 0.0201, place("joint_loss", **JOINT), at("accuracy", 0.95, **JOINT))
clear("p21-gat-near", 0.0499, 0.0501, place("loss", variant="G1, dot", record=30))
clear("p21-gat-zero-margin", 0.9001, 0.8999, place("other_loss", variant="++--++--, dot", record=40))
clear("p21-gat-opposite", 0.9501, 0.9499, place("accuracy", variant="+-+-, dot", record=40))
for name, case, record in (("p21-gat-near", "G1, dot", 30), ("p21-gat-opposite", "+-+-, dot", 40)):
    row(name, INCONCLUSIVE, at("time", nan, variant=case, record=record))

# Figures 3.3, 3.6: minimal counts on the grid

for minimal, outcome in (
    ([640, 320, 160, 160, 80, 40], HOLDS),  # R² = .982
    ([640, 320, 320, 160, 80, 40], HOLDS),  # R² = .95
    ([640, 640, 640, 160, 80, 40], FAILS),  # R² = .84
    ([160, 80, 40, 40, 20, 10], HOLDS),  # ratio 16
    ([320, 160, 80, 40, 20, 10], FAILS),  # ratio 32
    ([40, 40, 20, 20, 10, 10], FAILS),  # ratio 4
    ([10, 20, 40, 80, 160, 320], FAILS),
    ([inf, inf, inf, 160, 80, 40], INCONCLUSIVE),
    ([inf, inf, 320, 160, 80, 40], FAILS),
):
    row("f33a-linear", outcome, instead(made.samples_fraction(minimal)))
for minimal, outcome in (
    ((80, 80, 160, 160, 320), HOLDS),  # R² = .93
    ((20, 20, 160, 160, 160), FAILS),  # R² = .64
    ((320, 160, 160, 80, 80), FAILS),
    ((10, 80, 80, 160, 320), HOLDS),
    ((10, 10, 80, 160, 320), INCONCLUSIVE),
    ((80, 80, 160, 320, inf), HOLDS),
    ((80, 80, 160, inf, inf), INCONCLUSIVE),
):
    row("f33b-linear", outcome, instead(made.samples_confusion(minimal)))
for minimal, outcome in (
    ([320, 80, 40, 20, 20, 10], HOLDS),
    ([160, 80, 40, 20, 20, 10], FAILS),
    ([inf, 10, 10, 10, 10, inf], INCONCLUSIVE),
):
    row("f36-linear", outcome, instead(made.gcn_samples(minimal)))

# Figures 3.4, 3.5, 3.7

for noise, step in ((0.0, -1), (0.05, 1), (0.1, 1), (0.2, 1)):
    before = {0.0: 0.66, 0.05: 0.6, 0.1: 0.66, 0.2: 0.72}[noise]
    every(
        "f34-slower-loss", before + step * 0.0501, before + step * 0.0499, place("loss", label_noise=noise, record=10)
    )
row("f34-slower-loss", INCONCLUSIVE, at("time", nan, label_noise=0.1, record=10))


def arrival(noise: float, records: Any) -> Change:
    """Loss at .051 above the floor before a record, .049 above it from then on."""
    floor = 2 * (noise + 0.01 * (noise > 0))
    when = xr.DataArray(np.broadcast_to(records, 3), dims="seed")
    k = xr.DataArray(np.arange(61), dims="record")
    return at("loss", xr.where(k < when, floor + 0.051, floor + 0.049), label_noise=noise)


for times, outcome in (
    ((15, 15, 15, 17), HOLDS), ((15, 15, 15, 16), FAILS), ((15, 14, 16, 18), FAILS), ((15, 18, 18, 18), HOLDS),
    (([15, 15, 15], [15, 15, 17], [15, 15, 16], [18, 18, 18]), FAILS), ((15, 16, 99, 99), HOLDS),
    ((99, 99, 99, 99), INCONCLUSIVE),
):  # fmt: skip
    row("f34-slower-time", outcome, *[arrival(noise, t) for noise, t in zip((0.0, 0.05, 0.1, 0.2), times, strict=True)])
clear("f35-close-to-one", 0.9001, 0.8999, place("relevant_mass", margin=1.0, intra_degree=-1, record=80, group="all"))

for times, outcome in (
    (159 + 20 * FRACTIONS**-2, HOLDS), (163 + 20 * FRACTIONS**-2, FAILS),
    ([320, 300, 280, 260, 240, 60], FAILS), ([inf, 240, 145, 100, 75, 51], HOLDS),
    ([inf, inf, 145, 100, 75, 51], INCONCLUSIVE),
):  # fmt: skip
    row("f37-linear", outcome, instead(made.gcn_iterations(np.asarray(times, float))))
row("f37-linear", FAILS, at("reached_step", inf, discriminative=0.25), at("last_step", 100.0))

# the printed initial weights

clear("e4-literal-init", 0.9501, 0.9499, place("accuracy", variant="literal init", record=30))
row("e4-literal-init", INCONCLUSIVE, at("time", nan, variant="literal init", record=30))
