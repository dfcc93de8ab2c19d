"""The experiments of the claims register and of section 7: pattern, proof, escape, late times, online SGD."""

import math
from functools import partial
from typing import Any

import lemmata as lm
from lemmata.theories.teacher_student.figures import late, online, proof
from lemmata.theories.teacher_student.measures import SLOPES, SWEEPS, sized
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.studies.escape import escape_rates
from lemmata.theories.teacher_student.studies.native import native_teachers
from lemmata.theories.teacher_student.studies.proof import check_run
from lemmata.theories.teacher_student.training import simulate
from lemmata.theories.teacher_student.transfer import figures as transfer
from lemmata.theories.teacher_student.transfer.setting import TransferSetting
from lemmata.theories.teacher_student.transfer.training import simulate as test_student

TINY = {"steps": 40, "records": 14}
"""What every smoke preset has in common."""
TINY_MATRICES = {"tokens": 12, "support": 3, "dimension": 3, "outputs": 3, "batch": 5}
"""And those with matrices: one set of sizes, so that they share their programs."""
ASKED = {
    "ex2-native": ("Examples 2.1 to 2.4", "Is every teacher, computed by its own definition, the bilinear σ(V*XS*)?"),
    "p1-pattern": (
        "Lemmas C.2, C.4, C.8",
        "Do matrices keep the two-scalar pattern, for all teachers and bases of positions?",
    ),
    "p1-temperature": ("extra", "Does another softmax temperature only change how fast attention moves?"),
    "p3-along-run": ("Lemmas C.2 to C.18", "Do the inequalities of the proof hold at every step from 0 to 3T*?"),
    "c2-portrait": ("extra", "Which way do C_1 and p take, when phases are separated and when they are not?"),
    "p17-escape": ("Lemma C.17", "How does the end T* of the second phase scale?"),
    "c2-phases": ("proof of Theorem 3.1; 9.9", "How fast does the score escape from 1/D: cubically, as printed?"),
    "t3-late": ("Theorem 3.1", "At which rates, and with which constants, are teacher and loss approached?"),
    "t3-dimension": ("Theorems 3.1 and 3.2", "Which powers of D do the late laws have?"),
    "t5-ood": ("Theorem 3.2, Section D", "How much does the student lose on other data, and at which rate?"),
    "exp-e1-blocks": ("Figure 1", "Which blocks of the full transformer train?"),
    "exp-e2-curves": ("Figures 2 and 3", "Does online SGD follow the exact dynamics, down to the floor of its noise?"),
    "exp-e2-quiet": ("Figure 2, a tenth of the noise", "Is the slope -1 seen once the floor is a hundred times lower?"),
    "exp-e2-floor": ("extra", "Does the loss at which online SGD settles follow the linearised estimate of its floor?"),
}
"""Where the paper has what an experiment asks, and the question."""


def experiment(name: str, **fields: Any) -> lm.Experiment:
    """What `ASKED` says of it, and these fields."""
    reference, question = ASKED[name]
    shared: dict[str, Any] = {"kind": Setting, "simulation": simulate, "tiny": TINY}
    return lm.experiment(name, reference=reference, question=question, **{**shared, **fields})


exact = partial(experiment, seeds=1, paper_seeds=1)
sampled = partial(experiment, seeds=2, paper_seeds=5)
online_sgd = partial(sampled, precision="float32")

PATTERN = {"tokens": 24, "support": 3, "dimension": 5, "outputs": 3, "value_law": "scaled_rows", "strength": 26.0}
DEFECTS = ("skew_positions", "extra_support", "uneven_weights", "coloured_inputs")
VARIANTS: dict[str, dict[str, Any]] = {
    "cnn": {"teacher": "cnn"},
    "regular": {"teacher": "gcn", "graph": "regular"},
    "sts": {"teacher": "sts"},
    "supports": {"teacher": "supports"},
    "recursion": {"teacher": "cnn", "dynamics": "recursion"},
    "equal_sum": {"teacher": "cnn", "value_law": "equal_rows"},
    "row_softmax": {"teacher": "sts", "defect": "row_softmax"},
    **{name: {"teacher": "supports", "defect": name} for name in DEFECTS},
}

REDUCED: dict[str, Any] = {"outputs": 2, "dimension": 2, "value_law": "two_rows", "teacher": "supports"}
"""Two orthogonal rows of V* with 0.9 and 0.1 of ‖V*‖²; the recursion needs no S*."""
BIG = ("wide", "fast")
RUNS = {
    "R1": sized(20, 1, 2.0, 0.05),
    "R2": sized(64, 2, 4.0, 0.02),
    "R3": sized(36, 4, 10.0, 0.05),
    "wide": sized(64, 2, 819.2, 0.02),
    "fast": sized(64, 2, 160.0, 0.02),
    # started at δ = 0.01 with a step of twice the limit of stability: c = ln((D - K)(1 - δ)/(Kδ))
    "unstable": sized(20, 1, 2.0, 0.2, start_gap=math.log(19 * 0.99 / 0.01), escapes=0.0, steps=200),
    "frozen": sized(20, 1, 2.0, 0.05, train_attention=0.0),
    "twin": sized(20, 1, 2.0, 0.05, dynamics="population"),
}
"""The reference runs of 6.2, the broken ones, and the full-matrix twin of R1."""
SMALL_RUNS = {k: run | {"tokens": 12, "strength": 20.0 * run["strength"]} for k, run in RUNS.items() if k not in BIG}
CHI = {f"χ={chi:g}": {"strength": chi * 4 * 36**2} for chi in (0.0025, 0.025, 0.25, 1.0)}

PHASES = {"D=400": {"tokens": 400, "strength": 160.0}, "D=10000": {"tokens": 10_000, "strength": 1e5}}
FROZEN = {"none": {}, "attention": {"train_attention": 0.0}, "values": {"train_values": 0.0, "start_scale": 1.0}}
LATE = {
    f"D={D}, K={K}, ‖V*‖²={strength}": {"tokens": D, "support": K, "strength": float(strength)}
    for D, K, strength in ((20, 1, 10), (20, 4, 10), (36, 4, 40), (64, 2, 40), (160, 2, 40), (30, 12, 10))
}

RELU, LEAKY, IDENTITY = {"negative_slope": 0.0}, {"negative_slope": 0.1}, {"negative_slope": 1.0}
CNN = {"teacher": "cnn", "tokens": 36, "support": 4, "strength": 100.0}
GCN = {"teacher": "gcn", "tokens": 20, "support": 3, "strength": 100.0}
STS = {"teacher": "sts", "tokens": 20, "support": 4, "step_size": 0.02, **IDENTITY}
GSLP = {"teacher": "gslp", "tokens": 20, "support": 1, "outputs": 1, "strength": 10.0, "step_size": 0.02, **IDENTITY}
FIXED: dict[str, Any] = {"train_attention": 0.0, "escapes": 1.2}
"""Attention frozen, up to 1.2 T* of the intact run."""
TEACHERS: dict[str, dict[str, Any]] = {
    "CNN ReLU": {**CNN, **RELU},
    "CNN leaky": {**CNN, **LEAKY},
    "GCN ReLU": {**GCN, **RELU, "steps": 20_000},
    "GCN leaky": {**GCN, **LEAKY},
    "STS": {**STS, "steps": 26_000},
    "GSLP": GSLP,
    "CNN ReLU, frozen": {**CNN, **RELU, **FIXED},
    "STS, frozen": {**STS, **FIXED},
    "GSLP, frozen": {**GSLP, **FIXED},
}
"""The six runs of figure 2, and their controls. V* of STS is the identity; a small draw of the others is rescaled."""
LONG = {name: {**fields, "steps": 100_000} for name, fields in TEACHERS.items()}
FLAT = "ReLU, K = D"
FAST_RELU = {**RELU, "step_size": 0.02}
BLOCKS: dict[str, dict[str, Any]] = {
    "identity": {**IDENTITY, "step_size": 0.004},
    "ReLU": FAST_RELU,
    "leaky": {**LEAKY, "step_size": 0.02},
    FLAT: {**FAST_RELU, "teacher": "cnn", "support": 20},  # uniform scores: attention has nothing to learn
    "ReLU, standard": {**FAST_RELU, "student": "standard", "steps": 2000},
    "ReLU, factored": {**FAST_RELU, "student": "factored", "steps": 2000},
}
CURVES = {"dynamics": "online", "start": "slope", "track": "outputs", "spacing": "decades", "records": 30}
SHORT = {**TINY_MATRICES, "token_room": 12, "steps": 400}

FEW = {"whole_path": False}
TEST_DATA: dict[str, dict[str, Any]] = {
    "exponential": {"test_law": "exponential"},
    "gaussian": {"test_law": "gaussian"},
    "worst": {"test_law": "gaussian", "response": "worst"},
    "worst_printed": {"test_law": "gaussian", "response": "worst_printed"},
    "exact": {"test_law": "exponential", "response": "exact"},
    "uniform": {"test_law": "uniform", **FEW},
    "student_t": {"test_law": "student_t", **FEW},
    "rademacher": {"test_law": "rademacher", **FEW},
    "correlated": {"test_law": "correlated", **FEW},
    "independent": {"test_law": "gaussian", "response": "independent", **FEW},
}
"""Laws of the inputs with the teacher's noisy responses, the responses of T5 with both signs and of T6, and (c)."""


def shortened(variants: dict[str, dict[str, Any]], *names: str, **sizes: int) -> dict[str, dict[str, Any]]:
    """These variants, or all, with smaller sizes where they set their own."""
    small = SHORT | sizes
    kept = {name: variants[name] for name in names or variants}
    return {name: {field: small.get(field, value) for field, value in kept[name].items()} for name in kept}


NATIVE = {name: fields for name, fields in TEACHERS.items() if "frozen" not in name}
NATIVE |= {"CNN on a grid": {**CNN, "teacher": "cnn_2d"}, "one layer": {**RELU, "teacher": "layer", "support": 1}}

EXPERIMENTS = (
    sampled("ex2-native", axes={"variant": NATIVE}, simulation=native_teachers),
    sampled(
        "p1-pattern",
        plot=proof.pattern,
        setting={**PATTERN, "steps": 3000, "records": 30},
        axes={"variant": VARIANTS, "negative_slope": SLOPES, "positions": ["haar", "dct"]},
        smoke={**TINY_MATRICES, "negative_slope": [1.0, 0.0]},
        paper={"steps": 20_000},
    ),
    exact(
        "p1-temperature",
        plot=proof.temperature,
        setting={**PATTERN, "teacher": "cnn", "negative_slope": 0.0, "steps": 20_000, "records": 60},
        axes={"temperature": [0.5, 1.0, 2.0], "dynamics": ["population", "recursion"]},
        smoke=TINY_MATRICES,
        paper={"steps": 100_000},
    ),
    exact(
        "p3-along-run",
        plot=proof.along_run,
        setting={**REDUCED, "dynamics": "recursion", "escapes": 3.0, "records": 60},
        axes={"variant": RUNS, "negative_slope": SLOPES},
        smoke={"variant": SMALL_RUNS},
        paper={"records": 200},
        simulation=check_run,
    ),
    exact(
        "c2-portrait",
        plot=proof.portrait,
        setting={**REDUCED, "dynamics": "recursion", "escapes": 30.0, "records": 200, "tokens": 36, "support": 4},
        axes={"chi": CHI, "negative_slope": SLOPES},
        smoke={"negative_slope": [1.0]},
        paper={"records": 500},
    ),
    exact(
        "p17-escape",
        plot=late.escape,
        setting={**REDUCED, "dynamics": "recursion", "steps": 0, "records": 2},
        axes={"variant": {k: cell for cells in SWEEPS.values() for k, cell in cells.items()}, "negative_slope": SLOPES},
        smoke={"steps": 0, "negative_slope": [1.0]},
    ),
    exact(
        "c2-phases",
        plot=late.phases,
        setting={**REDUCED, "support": 1, "dynamics": "limit"},
        axes={"size": PHASES, "negative_slope": SLOPES},
        simulation=escape_rates,
    ),
    exact(
        "t3-late",
        plot=late.late,
        setting={**REDUCED, "dynamics": "limit", "escapes": 1e4, "first_escape": 1e2, "records": 42},
        axes={"size": LATE, "negative_slope": SLOPES, "frozen": FROZEN},
        smoke={"size": dict(list(LATE.items())[:2])},
        paper={"escapes": 1e8, "records": 122},
    ),
    exact(
        "t3-dimension",
        plot=late.dimension,
        setting={**REDUCED, "support": 2, "strength": 4.0, "dynamics": "limit", "step_size": 1e-3, "steps": 10**15}
        | {"spacing": "decades", "records": 135},
        axes={"tokens": [40, 80, 160, 320], "negative_slope": SLOPES},
        smoke={"steps": 10**16, "spacing": "log", "tokens": [40, 80], "negative_slope": [1.0]},
        paper={"tokens": [40, 80, 160, 320, 640, 1280]},
    ),
    experiment(
        "t5-ood",
        plot=transfer.shifted,
        setting={"dynamics": "limit", "teacher": "cnn", "tokens": 12, "support": 2, "dimension": 4, "outputs": 3}
        | {"value_law": "positive", "strength": 10.0},
        axes={"test_data": TEST_DATA, "negative_slope": SLOPES},
        seeds=3,
        smoke={**TINY_MATRICES, "batch": 100, "test_inputs": 1000, "noise_draws": 150, "negative_slope": [1.0, 0.0]},
        paper={"test_inputs": 200_000},
        paper_seeds=10,
        kind=TransferSetting,
        simulation=test_student,
    ),
    online_sgd(
        "exp-e1-blocks",
        plot=online.blocks,
        setting=GCN
        | {"dynamics": "online", "student": "full", "track": "outputs", "spacing": "tenths", "records": 14}
        | {"initial_scale": 1e-3, "steps": 10_000},
        axes={"variant": BLOCKS},
        smoke={**TINY_MATRICES, "variant": shortened(BLOCKS, steps=40) | {FLAT: BLOCKS[FLAT] | {"support": 12}}},
        paper={"steps": 50_000},
    ),
    online_sgd(
        "exp-e2-curves",
        plot=online.curves,
        setting={**CURVES, "token_room": 36, "steps": 10_000},
        axes={"variant": TEACHERS, "dynamics": ["online", "recursion"]},
        smoke={**SHORT, "variant": shortened(TEACHERS, *list(TEACHERS)[:5], "CNN ReLU, frozen")},
        paper={"variant": LONG, "records": 40},
    ),
    online_sgd(
        "exp-e2-quiet",
        plot=online.curves,
        setting={**CURVES, "token_room": 36, "steps": 20_000, "label_noise": 0.1},
        axes={"variant": {name: TEACHERS[name] for name in ("GCN ReLU", "GSLP")}, "dynamics": ["online", "recursion"]},
        smoke={**SHORT, "variant": shortened(TEACHERS, "GCN ReLU")},
        paper={"variant": LONG, "records": 40},
    ),
    online_sgd(
        "exp-e2-floor",
        plot=online.floor,
        setting={**GCN, **RELU, **CURVES, "track": "scalars", "spacing": "even", "records": 41, "steps": 4000}
        | {"start_scale": 1.0, "start_gap": 9.0},
        axes={"batch": [25, 100], "step_size": [0.025, 0.05, 0.1]},
        smoke={**TINY_MATRICES, "track": "outputs", "batch": [5], "step_size": [0.05]},
        paper={"batch": [25, 100, 400], "steps": 40_000},
    ),
)
