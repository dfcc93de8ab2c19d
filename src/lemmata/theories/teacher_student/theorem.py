"""Theorem 3.1, the headline of the paper, and what its hypotheses mean here.

Let the teacher be f*(X) = σ(V*XS*) with unit rows of V* and K equal weights 1/K in every column of S*, σ the identity,
ReLU or leaky ReLU, and D ≥ Ω(poly(M, K)). Let the student σ(W_V X softmax(PᵀW_KQ P/√D)) be trained from W_V = 0 and
W_KQ = 0 by gradient descent on the population loss over Gaussian inputs, with a step size η ≤ O(M⁻¹D^(-5/2)). Then there
is T* = Θ(KD²/(ηM)) such that for every T ≥ T*

1. the attention scores are recovered, ‖S - S*‖_F = Θ(D^(5/2) / √(ηMT)),
2. so are the values, ‖W_V - V*‖_F = Θ(D²√K / √(ηMT)) ‖V*‖_F,
3. and the excess loss vanishes at a tight rate, c KD⁴/(ηT) ≤ L(T) - L_opt ≤ c' KD⁴/(ηT).

The powers of T and T* are right; D^(5/2), D² and D⁴ should be D^(3/2), D and D² (erratum 2), and for rows that are not
of norm 1 ‖V*‖_F² stands in the place of M (erratum 3). With constants: `bounds.delta_asymptote`, `excess_asymptote`.
"""

from __future__ import annotations

from typing import Any

from lemmata.theories.teacher_student.setting import SEPARATED, largest_score_step, largest_value_step


def phases_separate(separation: Any) -> Any:
    """D ≥ Ω(poly(M, K)), read as χ = ‖V*‖²/(KD²) ≤ 0.005: phases 1 and 2 are separated."""
    return separation <= SEPARATED


def step_is_small(step_size: Any, tokens: Any, support: Any, slope: Any, strength: Any) -> Any:
    """η ≤ O(M⁻¹D^(-5/2)), read as the two limits of stability of 2.5."""
    stable = step_size <= largest_value_step(tokens, support, slope)
    return stable & (step_size <= largest_score_step(tokens, support, slope, strength))


def has_escaped(step: Any, escape_step: Any) -> Any:
    """T ≥ T*."""
    return step >= escape_step
