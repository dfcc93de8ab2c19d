"""Theorem 6.3.3: a transformer trained on a few tasks solves all of them in context.

Let the training tasks satisfy Condition 6.3.2: every relevant pattern is mapped to each label by equally many of them.
Let, up to constants that the paper does not give, the width be m ≳ M_1² log M_1, the batch
B ≳ max{ε^-2, M_1} log M_1 (6.8), the contexts of a training prompt l_tr ≳ max{log M_1/α, 1/(β²α)} and of a testing
prompt l_ts ≥ 1/α' (6.9). Then after

    T = Θ(η^-1 M_1 α^(-2/3) β^(-2/3) √log M_1)     (6.10)

steps of SGD the expected hinge loss over all tasks, those that were never trained on included, is at most O(ε).

Its exponents and the condition are tested in `claims.training`, the lengths in `claims.testing`; what the proof says of
attention and of neurons, pruning included, in the topics of these names.
"""

import xarray as xr

import lemmata as lm
from lemmata.theories.icl import bounds
from lemmata.theories.icl.measures import SHUFFLED, learnt
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.tasks import check_condition


def hypotheses(setting: Setting, eps: float = 0.05, C: float = 1.0) -> dict[str, bool]:
    """Which conditions of the theorem a setting meets (tasks of one pattern a class), with C for every constant."""
    M1, alpha, beta = setting.patterns, setting.fraction, setting.pattern_norm
    needed = {
        "m": (setting.neurons, bounds.required_m(M1, C)),
        "B (6.8)": (setting.batch, bounds.required_B(eps, M1, C)),
        "l_tr (6.9)": (setting.contexts, bounds.required_ltr(alpha, beta, M1, C)),
        "l_ts (6.9)": (setting.test_contexts, bounds.required_lts(setting.test_fraction, eps, C)),
        "T (6.10)": (setting.steps, bounds.required_T(setting.step_size, M1, alpha, beta, C)),
    }
    met = {name: bool(there >= least) for name, (there, least) in needed.items()}
    return {"Condition 6.3.2": check_condition(setting.training_tasks(), M1).satisfied, **met}


@lm.evidence("p1-default")
def unseen(data: xr.Dataset, what: str, variant: str = "intact") -> xr.DataArray:
    """Sign error or hinge loss on tasks that were not trained on."""
    return lm.cells(data, variant=variant)[f"unseen_{what}"]


@lm.evidence("p1-default")
def unseen_gap(data: xr.Dataset, axis: str = "variant", label: str = "intact") -> xr.DataArray:
    """The difference of the sign errors on unseen and on seen tasks."""
    chosen = lm.cells(data, **{axis: label})
    return chosen.unseen_error - chosen.seen_error


CLAIMS = (
    learnt("p1-unseen-error", "Theorem 6.3.3", "limit")
    .states("Trained on 6 of 30 tasks, the network errs on the unseen ones in at most 0.5 % of the prompts.")
    .in_symbols(r"\Pr_{f\in\mathcal{T}\setminus\mathcal{T}_{tr}}(zF \le 0) \le 0.005")
    .judged(unseen("error"), lm.at_most(0.005), lm.Control("frozen attention", variant="frozen")),
    learnt("p1-unseen-hinge", "Theorem 6.3.3", "limit")
    .states("Trained on 6 of 30 tasks, the network has a hinge loss of at most 0.02 on the unseen ones.")
    .in_symbols(r"\mathbb{E}_{f\in\mathcal{T}\setminus\mathcal{T}_{tr}}\max\{0,1-zF\} \le 0.02")
    .judged(unseen("hinge"), lm.at_most(0.02), SHUFFLED),
    learnt("p1-seen-unseen", "Theorem 6.3.3", "comparison")
    .states("""Unseen tasks are no harder than seen ones: the mean difference of the sign errors, with its whole
        interval over seeds, lies within 0.002 of 0.""")
    .in_symbols(r"|\mathrm{err}_{\text{unseen}}-\mathrm{err}_{\text{seen}}| \le 0.002")
    .judged(
        unseen_gap(),
        lm.within(-0.002, 0.002, predicted=0.0),
        lm.Control("trained on 3 of 30 tasks", unseen_gap.of("e2-tasks")("task_set", "M_1=6, n=3")),
    ),
)
