"""Unseen tasks: P1 (in-domain generalisation) and P3 (how many training tasks it takes)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import at_least, at_most, equal
from lemmata.lab.measures import stack
from lemmata.theories.icl.bounds import min_train_tasks, n_tasks
from lemmata.theories.icl.measures import of_default, task_sets
from lemmata.theories.icl.tasks import Task, check_condition, cyclic_tasks, task_roles


def _gap(data: xr.Dataset) -> xr.DataArray:
    """|mean of unseen - seen error| over what is allowed: 3 standard errors of that mean, or 0.002 if they are less."""
    gap = data.unseen_error - data.seen_error
    error = gap.std("seed", ddof=1) / np.sqrt(gap.sizes["seed"])
    return abs(gap.mean("seed")) / np.maximum(3 * error, 0.002)


def _violations(condition: Callable[[list[Task], int], bool]) -> Evidence:
    """Task sets of fewer than M_1 tasks that satisfy the condition, and cyclic sets that do not."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        small = []
        for m in (3, 4):
            every = cyclic_tasks(m, m - 1)
            few = [list(chosen) for n in range(1, m) for chosen in itertools.combinations(every, n)]
            small.append(sum(condition(chosen, m) for chosen in few))
        cyclic = [not condition(cyclic_tasks(m, u), m) for m in range(3, 9) for u in range(1, m)]
        return {"measured": np.array([*small, sum(cyclic)]), "predicted": np.zeros(3)}

    return evidence


def _covered(chosen: list[Task], patterns: int) -> bool:
    """The weakened condition: every pattern occurs in some task."""
    return bool(np.all(np.any(task_roles(chosen, patterns) != 0, axis=0)))


def _fractions(exponent: float, patterns: range) -> Evidence:
    def evidence(datasets: Datasets) -> dict[str, Any]:
        m = np.array(patterns)
        return {"measured": min_train_tasks(m) / n_tasks(m), "predicted": (m - 1.0) ** exponent}

    return evidence


def _hinge(which: str) -> Evidence:
    return lambda datasets: task_sets(datasets["e2-tasks"], datasets["e2-tasks"].unseen_hinge, which)


def _error(which: str) -> Evidence:
    return lambda datasets: task_sets(datasets["e2-tasks"], datasets["e2-tasks"].unseen_error, which)


def _sets(*names: str) -> Evidence:
    def evidence(datasets: Datasets) -> xr.DataArray:
        hinge = datasets["e2-tasks"].unseen_hinge
        return stack({name: hinge.sel(task_set=name, drop=True) for name in names}, "set")

    return evidence


_DEFAULT, _TASKS = ("p1-default",), ("e2-tasks",)
_MANY = range(3, 21)

CLAIMS = (
    Claim(
        name="p1-unseen-error",
        reference="Theorem 6.3.3",
        kind="limit",
        statement="Trained on 6 of 30 tasks, the network errs on the unseen ones in at most 0.5 % of the prompts.",
        reads=_DEFAULT,
        evidence=of_default(lambda data: data.unseen_error),
        judge=at_most(0.005),
        controls=(Control("frozen attention", of_default(lambda data: data.unseen_error, "frozen")),),
    ),
    Claim(
        name="p1-unseen-hinge",
        reference="Theorem 6.3.3",
        kind="limit",
        statement="Its hinge loss on unseen tasks is at most 0.02.",
        reads=_DEFAULT,
        evidence=of_default(lambda data: data.unseen_hinge),
        judge=at_most(0.02),
        controls=(Control("query labels shuffled", of_default(lambda data: data.unseen_hinge, "shuffled")),),
    ),
    Claim(
        name="p1-seen-unseen",
        reference="Theorem 6.3.3",
        kind="comparison",
        statement="Unseen tasks are no harder than seen ones: the mean difference of the errors is within 3 standard "
        "errors, or 0.002 (evidence: difference over what is allowed).",
        reads=("p1-default", "e2-tasks"),
        evidence=of_default(_gap),
        judge=at_most(1.0),
        controls=(
            Control("trained on 3 of 30 tasks", lambda datasets: _gap(datasets["e2-tasks"].sel(task_set="M_1=6, n=3"))),
        ),
    ),
    Claim(
        name="p3-minimal-count",
        reference="Lemma E.4.11",
        kind="identity",
        statement="No set of fewer than M_1 tasks satisfies Condition 6.3.2 (all sets for M_1 = 3, 4), and every "
        "cyclic set does (M_1 = 3 to 8, every U).",
        evidence=_violations(lambda chosen, m: check_condition(chosen, m).satisfied),
        judge=equal(0.0),
        controls=(Control("condition weakened to: every pattern occurs in some task", _violations(_covered)),),
    ),
    Claim(
        name="p3-task-fraction",
        reference="6.3, E.3.2",
        kind="identity",
        statement="As printed: the fraction of training tasks is (M_1-1)^(-1/2), M_1 = 3 to 20.",
        formula="|T_tr| / |T| = (M_1-1)^(-1/2)",
        evidence=_fractions(-0.5, _MANY),
        judge=equal(1e-12, relative=True),
        expected=FAILS,
        controls=(Control("M_1 = 2", _fractions(-0.5, range(2, 3)), HOLDS),),
    ),
    Claim(
        name="p3-task-fraction-corrected",
        reference="6.3, E.3.2, corrected",
        kind="identity",
        statement="Corrected: the fraction of training tasks is (M_1-1)^-1, M_1 = 3 to 20.",
        formula="|T_tr| / |T| = (M_1-1)^-1",
        evidence=_fractions(-1.0, _MANY),
        judge=equal(1e-12, relative=True),
        controls=(Control("exponent -1/2", _fractions(-0.5, _MANY)),),
    ),
    Claim(
        name="p3-sufficient",
        reference="Condition 6.3.2, Figure E.2",
        kind="bound",
        statement="M_1 training tasks suffice: the unseen hinge is at most 0.02 for M_1 = 4, 6, 8.",
        reads=_TASKS,
        evidence=_hinge("full"),
        judge=at_most(0.02),
        controls=(Control("M_1 - 1 tasks presented as M_1", _hinge("short")),),
    ),
    Claim(
        name="p3-necessary",
        reference="Condition 6.3.2, Figure E.2",
        kind="bound",
        statement="M_1 - 1 training tasks do not: the unseen hinge is at least 0.05 for M_1 = 4, 6, 8.",
        reads=_TASKS,
        evidence=_hinge("short"),
        judge=at_least(0.05),
        controls=(Control("M_1 tasks presented as M_1 - 1", _hinge("full")),),
    ),
    Claim(
        name="p3-half",
        reference="Condition 6.3.2, Figure E.2",
        kind="bound",
        statement="With M_1/2 training tasks at least 20 % of the unseen prompts get the wrong sign, M_1 = 4, 6, 8.",
        reads=_TASKS,
        evidence=_error("half"),
        judge=at_least(0.2),
        controls=(Control("M_1 tasks presented as M_1/2", _error("full")),),
    ),
    Claim(
        name="p3-disconnected",
        reference="Condition 6.3.2",
        kind="comparison",
        statement="The condition is about counts, not about connected tasks: two disconnected sets of 6 tasks reach "
        "an unseen hinge of at most 0.02.",
        reads=_TASKS,
        evidence=_sets("swaps", "triangles"),
        judge=at_most(0.02),
        controls=(Control("3 tasks of the cycle", _sets("M_1=6, n=3")),),
    ),
)
