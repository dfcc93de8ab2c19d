"""The population loss for arbitrary weights in closed form, and its exact gradient (4.2). Gaussian inputs.

Sums over (m, i) are of separable terms: of row m of W_V only its length and its angle to v_m* matter, of column i of S
its length and its angle to S_i*. Angles come from components, not from arccos, which would lose half of the digits.
With inputs of covariance Σ (a defect) the inner products of features are ⟨·, Σ·⟩.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.theories.teacher_student.dynamics.reduced import arctan_less
from lemmata.theories.teacher_student.gaussian import angle_part, even_part, mean_square_slope
from lemmata.theories.teacher_student.network import Scores, Values, Weights, position_gradient, softmax_pullback
from lemmata.theories.teacher_student.teachers import Teacher

Rows = Float[Array, "row entry"]
PerRow = Float[Array, " row"]


class Alignment(NamedTuple):
    """Vectors against targets, one pair a row: lengths, unit vectors, cosine and sine of the angle."""

    length: PerRow
    target_length: PerRow
    unit: Rows
    target_unit: Rows
    cosine: PerRow
    sine: PerRow


def align(vectors: Rows, targets: Rows, metric: Float[Array, " entry"]) -> Alignment:
    """Angles in the inner product ⟨x, diag(metric) y⟩; a zero vector points along its target (`limit`, 9.1)."""

    def inner(x: Array, y: Array) -> Array:
        return jnp.sum(x * metric * y, axis=1)

    target_length = jnp.sqrt(inner(targets, targets))
    target_unit = targets / target_length[:, None]
    length = jnp.sqrt(inner(vectors, vectors))
    present = length > 0
    unit = jnp.where(present[:, None], vectors / jnp.where(present, length, 1.0)[:, None], target_unit)
    cosine = inner(unit, target_unit)
    across = unit - cosine[:, None] * target_unit
    return Alignment(length, target_length, unit, target_unit, cosine, jnp.sqrt(inner(across, across)))


def alignments(teacher: Teacher, values: Values, scores: Scores) -> tuple[Alignment, Alignment, Array, Array]:
    """Of the rows of W_V and the columns of S; cosine ρ and sine between ⟨w_m, X S_i⟩ and its target, by (m, i)."""
    rows = align(values, teacher.values, teacher.covariance)
    columns = align(scores.T, teacher.scores.T, jnp.ones(scores.shape[0]))
    sine = jnp.sqrt((rows.sine**2)[:, None] + jnp.outer(rows.cosine**2, columns.sine**2))
    return rows, columns, jnp.outer(rows.cosine, columns.cosine), sine


def population_excess(teacher: Teacher, values: Values, scores: Scores, slope: Any) -> Float[Array, ""]:
    """½ Σ_{m,i} [a_κ(τ² + τ_*²) - 2J_{mi}], written so that nothing cancels near the optimum."""
    rows, columns, cosine, sine = alignments(teacher, values, scores)
    tau, target = jnp.outer(rows.length, columns.length), jnp.outer(rows.target_length, columns.target_length)
    # 1 - ρ = sin² / (1 + ρ) away from ρ = -1
    apart = jnp.where(cosine > 0, sine**2 / (1 + jnp.maximum(cosine, 0.0)), 1 - cosine)
    squares = (tau - target) ** 2 + 2 * tau * target * apart
    # a_κ r - J = (1-κ)²/(2π) ττ_* (ρφ - sin φ), and ρφ - sin φ = ρ(φ - tan φ) for φ < π/2
    steep = cosine < 0.5
    tangent = jnp.where(steep, 0.0, sine / jnp.where(steep, 1.0, cosine))
    bent = jnp.where(steep, cosine * jnp.arctan2(sine, cosine) - sine, cosine * arctan_less(tangent))
    lost = mean_square_slope(slope) * squares + 2 * angle_part(slope) * tau * target * bent
    return 0.5 * jnp.sum(lost)


def population_gradient(
    teacher: Teacher,
    weights: Weights,
    scores: Scores,
    slope: Any,
    temperature: Any = 1.0,
    turned: Any = None,
    kink: Any = None,
) -> Weights:
    """∇ of the population loss in W_V and W_KQ at S = `scores`.

    Rows of W_V that are zero take the one-sided derivative along v_m*, or that of σ'(0) = `kink` if it is a number.
    """
    rows, columns, cosine, sine = alignments(teacher, weights.values, scores)
    square, part = mean_square_slope(slope), angle_part(slope)
    target = jnp.outer(rows.target_length, columns.target_length)
    by_product = even_part(slope) + part * jnp.arctan2(cosine, sine)  # ∂J/∂r, with arcsin ρ
    by_length = square * jnp.outer(rows.length, columns.length) - part * target * sine  # a_κ τ - ∂J/∂τ
    overlap = columns.cosine * columns.length * columns.target_length  # ⟨S_i*, S_i⟩
    match = rows.cosine * rows.length * rows.target_length  # ⟨v_m*, w_m⟩
    metric = teacher.covariance
    along = (by_length @ columns.length)[:, None] * rows.unit
    toward = (by_product @ overlap)[:, None] * teacher.values
    if kink is not None:
        zero = ((rows.length == 0) & (kink >= 0))[:, None]
        along = jnp.where(zero, 0.0, along)
        toward = jnp.where(zero, kink * (1 + slope) / 2 * jnp.sum(overlap) * teacher.values, toward)
    values = (along - toward) * metric
    in_scores = (rows.length @ by_length) * columns.unit.T - (match @ by_product) * teacher.scores
    logits = softmax_pullback(scores, in_scores, turned)
    return Weights(values, position_gradient(logits, teacher.positions, temperature))
