"""The exact two-scalar dynamics (section 6.1): what the whole training is, from W_V = 0, W_KQ = 0.

At every step W_V = C_1 V* and S has two values, p on the support and δ/(D - K) off it, so that three scalars say all.
`step` is the recursion as printed; `rates` is the derived two-variable form, an independent path to the same numbers.
Everything that depends on e^{-c} is computed from the gap c of the logits, never from 1 - Kp, which would cancel.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from lemmata.theories.teacher_student.gaussian import angle_part, even_part, f1, f2, f3, f4, f5, mean_square_slope, xp

if TYPE_CHECKING:
    from lemmata.theories.teacher_student.setting import Setting


class Task(NamedTuple):
    """What the reduced dynamics knows of a teacher and of training: D, K, ‖V*‖_F², κ, η, and what multiplies √D.

    For ‖V*‖_F² the paper writes M or the sum of the norms of the rows (9.3).
    """

    tokens: Any
    support: Any
    strength: Any
    slope: Any
    step_size: Any
    temperature: Any = 1.0

    @property
    def rest(self) -> Any:
        """D - K, or 1 where no token is left: every δ is then 0."""
        return xp.maximum(self.tokens - self.support, 1)

    @property
    def scale(self) -> Any:
        """By what the softmax divides: √D times the temperature."""
        return self.temperature * xp.sqrt(self.tokens)

    @property
    def separation(self) -> Any:
        """χ = ‖V*‖² / (K D²): small when phases 1 and 2 are separated."""
        return self.strength / (self.support * self.tokens**2)

    @property
    def unit(self) -> Any:
        """K D² / (η ‖V*‖²), the order of T*."""
        return 1 / (self.step_size * self.separation)


def task_of(setting: Setting, strength: Any) -> Task:
    """The reduced problem of a setting whose teacher has this ‖V*‖²."""
    pace = setting.negative_slope, setting.step_size, setting.temperature
    return Task(setting.token_count, setting.support_count, strength, *pace)


class Scalars(NamedTuple):
    """C_1, C_2, C_3."""

    value: Any
    support: Any
    rest: Any


class Pattern(NamedTuple):
    """The two values of S at a moment: p, δ = 1 - Kp, Q = DKp² - 2Kp + 1 = (D - K)‖S_i‖², Dp - 1."""

    score: Any
    mass: Any
    column_square: Any
    over_uniform: Any


def gap(task: Task, state: Scalars) -> Any:
    """c = (C_2 + C_3) / √D."""
    return (state.support + state.rest) / task.scale


def from_gap(task: Task, value: Any, c: Any) -> Scalars:
    """The state with this C_1 and gap: K C_2 = (D - K) C_3 holds at all times."""
    share = task.support / task.tokens
    return Scalars(value, (1 - share) * task.scale * c, share * task.scale * c)


def pattern(task: Task, c: Any) -> Pattern:
    """The pattern at a gap."""
    free = task.tokens - task.support
    p = 1 / (task.support + free * xp.exp(-c))
    return _pattern(task, p, free * xp.exp(-c) * p, -free * p * xp.expm1(-c))


def at_score(task: Task, p: Any, mass: Any = None) -> Pattern:
    """The pattern at a score p, where no gap is known; δ is 1 - Kp unless given."""
    return _pattern(task, p, 1 - task.support * p if mass is None else mass, task.tokens * p - 1)


def _pattern(task: Task, p: Any, mass: Any, over_uniform: Any) -> Pattern:
    # Q = δ² + K(D - K)p²
    return Pattern(p, mass, mass**2 + task.support * (task.tokens - task.support) * p**2, over_uniform)


def angle(task: Task, at: Pattern) -> Any:
    """θ = arctan(√(K(D - K)) p / δ)."""
    return xp.arctan2(xp.sqrt(task.support * task.rest) * at.score, at.mass)


def f3_parts(task: Task, at: Pattern) -> tuple[Any, Any]:
    """A and B of section 5: F_3 = A + B."""
    square = task.support * at.score**2
    A = square * (even_part(task.slope) + angle_part(task.slope) * angle(task, at))
    B = angle_part(task.slope) * xp.sqrt(task.support / task.rest) * at.score * at.mass
    return A, B


def overlap(task: Task, at: Pattern) -> Any:
    """J̄ = F_3 / (Kp): the mean product of student and teacher, for C_1 = 1 and unit rows."""
    A, B = f3_parts(task, at)
    return (A + B) / (task.support * at.score)


def mean_square(task: Task, at: Pattern) -> Any:
    """F_1 = a_κ ‖S_i‖²: the mean square of the student, for C_1 = 1 and unit rows."""
    return f1(task.support * at.score**2 + at.mass**2 / task.rest, task.slope)


def quasi_scale(task: Task, at: Pattern) -> Any:
    """C_1* = F_3 / (Kp F_1): the minimiser over C_1 at frozen p."""
    return overlap(task, at) / mean_square(task, at)


def deviation_unit(task: Task, at: Pattern) -> Any:
    """h = A/(A + B) (1 - Kp) / (Kp(Dp - 1)), the unit of the deviation of C_1 from C_1*."""
    A, B = f3_parts(task, at)
    return A / (A + B) * at.mass / (task.support * at.score * at.over_uniform)


def deviation(task: Task, value: Any, at: Pattern) -> Any:
    """α in C_1 = (1 + α h) C_1*."""
    return (value / quasi_scale(task, at) - 1) / deviation_unit(task, at)


def excess(task: Task, value: Any, at: Pattern) -> Any:
    """L_ex(C_1, p), without the cancellation near the optimum:

    ½‖V*‖²D [a_κ (K(1/K - C_1 p)² + C_1² δ²/(D - K)) + 2 C_1 p (1-κ)²/(2π) (φ - tan φ)], tan φ = δ / (√(K(D-K)) p).
    """
    tangent = at.mass / (xp.sqrt(task.support * task.rest) * at.score)
    squares = task.support * product_gap(task, value, at) ** 2 + value**2 * at.mass**2 / task.rest
    bent = 2 * value * at.score * angle_part(task.slope) * arctan_less(tangent)
    return 0.5 * task.strength * task.tokens * (mean_square_slope(task.slope) * squares + bent)


def plain_excess(task: Task, value: Any, at: Pattern) -> Any:
    """L_ex as it stands in 6.1: ½‖V*‖²D [a_κ(C_1²Q/(D - K) + 1/K) - 2C_1J̄]; it cancels near the optimum."""
    squares = value**2 * mean_square(task, at) + mean_square_slope(task.slope) / task.support
    return 0.5 * task.strength * task.tokens * (squares - 2 * value * overlap(task, at))


def product_gap(task: Task, value: Any, at: Pattern) -> Any:
    """1/K - C_1 p, from Kp = 1 - δ."""
    return (1 - value + value * at.mass) / task.support


def arctan_less(x: Any) -> Any:
    """arctan x - x, by its series where the difference would cancel."""
    small = xp.minimum(x, 0.1) ** 2
    series = -x * small * (1 / 3 - small * (1 / 5 - small * (1 / 7 - small * (1 / 9 - small * (1 / 11 - small / 13)))))
    return xp.where(x < 0.1, series, xp.arctan(x) - x)


def score_error(task: Task, at: Pattern) -> Any:
    """‖S - S*‖_F = Dδ / √(K(D - K)) (T1)."""
    return task.tokens * at.mass / xp.sqrt(task.support * task.rest)


def step(task: Task, state: Scalars, trained: tuple[Any, Any] = (1.0, 1.0), kink: Any = None) -> Scalars:
    """One step of the recursion as printed (Lemma C.2, signs of 9.7).

    `trained` multiplies the steps of values and attention. At C_1 = 0 the loss has no derivative for κ < 1: the default
    is the one-sided one along V*; with a number `kink` it is that of σ'(0) = kink: F_3/(Kp) becomes σ'(0)(1 + κ)p/2.
    """
    D, K, kappa, eta = task.tokens, task.support, task.slope, task.step_size
    C1 = state.value
    p, delta, *_ = pattern(task, gap(task, state))
    rest = task.rest
    inside, outside = p**2, (delta / rest) ** 2  # variances of the two kinds of summand
    F1 = f1(K * inside + rest * outside, kappa)
    F21, F22 = f2(inside, outside, kappa), f2(outside, inside, kappa)
    turn = xp.arctan2(xp.sqrt(K * inside), xp.sqrt(rest * outside))
    F3 = f3(K * inside, rest * outside, kappa, turn)
    F4 = f4(inside, (K - 1) * inside, rest * outside, kappa, turn)
    F5 = f5(K * inside, outside, (rest - 1) * outside, kappa)
    mass = xp.where(delta > 0, delta, 1.0)
    drawn = F3 / (K * p)
    if kink is not None:
        drawn = xp.where((C1 == 0) & (kink >= 0), kink * (1 + kappa) * p / 2, drawn)
    moved = trained[1] * eta * C1 * task.strength / task.scale
    value = C1 + trained[0] * eta * D * (drawn - C1 * F1)
    support = state.support + moved * ((F4 / p - F3) / K - C1 * (F21 - p * F1))
    off = (F3 - rest * F5 / mass) / (K * p) - C1 * (F1 - rest * F22 / mass)
    return Scalars(value, support, state.rest + moved * delta / rest * off)


def rates(task: Task, value: Any, c: Any) -> tuple[Any, Any]:
    """dC_1/ds and dc/ds in s = ηt (the derived form of 6.1): gradients of L_ex in (C_1, p)."""
    D, K, rest = task.tokens, task.support, task.rest
    at = pattern(task, c)
    r = xp.sqrt(K * rest)
    square, even, bent = mean_square_slope(task.slope), even_part(task.slope), angle_part(task.slope)
    theta = xp.arctan2(r * at.score, at.mass)
    mean = even * at.score + bent * (at.mass / r + at.score * theta)
    by_value = D * (square * value * at.column_square / rest - mean)
    bend = even + bent * (theta + at.score * r / at.column_square - K / r)
    by_score = D * value * (square * value * (D * K * at.score - K) / rest - bend)
    speed = task.strength * at.score * at.mass / (D * K * rest * task.temperature**2)
    return -by_value, -speed * by_score


def slow_rate(task: Task, p: Any, value: Any = None) -> Any:
    """dp/dt on the slow manifold (6.1): η‖V*‖² C_1* A δ³ / (K²(D - K)Q); `value` stands in for C_1*(p)."""
    at = at_score(task, p)
    A, _ = f3_parts(task, at)
    scale = quasi_scale(task, at) if value is None else value
    pace = task.step_size * task.strength / (task.support * task.temperature) ** 2
    return pace * scale * A * at.mass**3 / (task.rest * at.column_square)


def start_scale(task: Task) -> Any:
    """C_1*(1/D), where the first phase ends (P13)."""
    D, K, kappa = task.tokens, task.support, task.slope
    root = xp.sqrt((D - K) / K)
    turn = even_part(kappa) + angle_part(kappa) * (root + xp.arctan2(1.0, root))
    return turn / mean_square_slope(kappa)


def first_phase(task: Task) -> Any:
    """t_1 ≈ ln 0.05 / ln(1 - η a_κ) (P13, discrete)."""
    return math.log(0.05) / xp.log1p(-task.step_size * mean_square_slope(task.slope))
