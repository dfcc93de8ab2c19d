"""The hypotheses of Theorem 6.3.3."""

import math

import pytest

from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.theorem import hypotheses

# with constants 1: m = 36 log 6 = 64.5, B = 100 log 6 = 179.2 (ε = 0.1), l_tr = log 6/0.8 = 2.24, l_ts = 1.25, T = 4.48
ENOUGH = {"neurons": 65, "batch": 180, "contexts": 3, "test_contexts": 2, "steps": 5}
NAMES = {
    "m": "neurons",
    "B (6.8)": "batch",
    "l_tr (6.9)": "contexts",
    "l_ts (6.9)": "test_contexts",
    "T (6.10)": "steps",
}


def test_a_setting_with_enough_of_everything_meets_all_hypotheses() -> None:
    met = hypotheses(Setting(**ENOUGH), eps=0.1)
    assert set(met) == {"Condition 6.3.2", *NAMES}
    assert all(met.values())


@pytest.mark.parametrize("name", NAMES)
def test_one_less_breaks_one_hypothesis_only(name: str) -> None:
    field = NAMES[name]
    met = hypotheses(Setting(**{**ENOUGH, field: ENOUGH[field] - 1}), eps=0.1)
    assert [broken for broken, holds in met.items() if not holds] == [name]


def test_tasks_that_do_not_cover_every_pattern_break_the_condition() -> None:
    met = hypotheses(Setting(**ENOUGH, tasks="subsampled", task_count=5), eps=0.1)
    assert [broken for broken, holds in met.items() if not holds] == ["Condition 6.3.2"]


def test_larger_constants_ask_for_more() -> None:
    assert not any(holds for name, holds in hypotheses(Setting(**ENOUGH), 0.1, 2.0).items() if name in NAMES)
    assert math.isclose(36 * math.log(6), 64.503, rel_tol=1e-4)
