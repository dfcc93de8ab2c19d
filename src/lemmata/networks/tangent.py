"""The empirical tangent kernel of any network, without its Jacobian.

Theta(x, x')_{ab} = sum_theta dF_a(x)/dtheta dF_b(x')/dtheta, a sum over the leaves of the parameters. A leaf W that is
used once, in a product Z = H W with activations H, has the gradient dF/dW = H^T D, D = dF/dZ, for each input. Hence

    <dF(x)/dW, dF(x')/dW> = sum_{t,s} <h_t, h'_s> <d_t, d'_s>     (t, s: rows of H and H', such as tokens):

two Gram matrices of activations, and never a gradient. The traced program of one input says which way a leaf goes:

- product: used once, in such a product, where H and D are smaller than the gradient. D is the pullback of the outputs
  to a zero added to Z.
- small: the gradient is no larger than the activations that the leaf meets (biases, scales, output weights). Taken.
- column: all others (large and used twice, inside a scan, ...). One output of one input at a time: its gradient g, then
  the derivative of every output along g. This needs the memory of one gradient and the time of n' passes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import Jaxpr, Literal
from jaxtyping import Array, Float

REARRANGEMENTS = {"transpose", "reshape", "squeeze", "broadcast_in_dim", "rev", "copy"}
"""Where they keep the size, the gradients before and after have the same inner products."""
NESTED = {"jit": "jaxpr", "closed_call": "call_jaxpr"}
"""Calls that are written out. Calls with a derivative of their own are kept, or it would be lost (ReLU' at 0)."""


class Product(NamedTuple):
    """A product of activations and a leaf: its equation, the operand with the activations, their contracted axes."""

    equation: int
    operand: int
    contracted: tuple[int, ...]


class Plan(NamedTuple):
    """The ways of the leaves, by their numbers."""

    products: dict[int, Product]
    small: list[int]
    columns: list[int]


class Factors(NamedTuple):
    """The gradient of a leaf for every input, as the sum over positions t of h_t d_t."""

    h: Float[Array, "*inputs positions incoming"]
    d: Float[Array, "*inputs outputs positions outgoing"]


def empirical_kernel(
    forward: Callable[[Any, Any], Array], parameters: Any, inputs: Any, others: Any = None
) -> Float[Array, "inputs others ..."]:
    """Theta between the inputs and the others (or the inputs again): [n, n'], and [n, n', k, k] for k outputs.

    forward: outputs [n] or [n, k] of parameters and inputs [n, ...], every input treated on its own. Parameters are a
    tree, whose floating-point leaves count; inputs may be a tree of arrays with the axis n first. Call it under
    `jax.jit`, which drops the parts of the passes that nobody reads.
    """
    leaves, structure = jax.tree.flatten(jax.tree.map(jnp.asarray, parameters))
    inputs, others = jax.tree.map(jnp.asarray, (inputs, others))
    outputs = jax.eval_shape(forward, structure.unflatten(leaves), inputs)
    assert outputs.ndim in (1, 2), f"the outputs must be [n] or [n, k], not {outputs.shape}"
    counts = [len(jax.tree.leaves(each)[0]) for each in (inputs, inputs if others is None else others)]
    units = jnp.eye(math.prod(outputs.shape[1:]), dtype=outputs.dtype)

    def run(leaves: Sequence[Array], inputs: Any) -> Float[Array, "inputs outputs"]:
        return forward(structure.unflatten(leaves), inputs).reshape(-1, len(units))

    first = jax.tree.map(lambda part: part[:1], inputs)
    nested = jax.make_jaxpr(run)(leaves, first)
    flatten = lambda *given: evaluate(nested.jaxpr, nested.consts, given, {})[0]  # noqa: E731
    program = jax.make_jaxpr(flatten)(*leaves, *jax.tree.leaves(first))
    plan = plan_leaves(program.jaxpr, leaves)

    def factors(x: Any) -> list[Factors]:
        def tapped(small: list[Array], zeros: dict[int, Array]) -> tuple[Array, dict[int, list[Array]]]:
            given = [*merge(leaves, plan.small, small), *(part[None] for part in jax.tree.leaves(x))]
            (found,), operands = evaluate(program.jaxpr, program.consts, given, zeros)
            return found[0], operands

        results = {p.equation: program.jaxpr.eqns[p.equation].outvars[0].aval for p in plan.products.values()}
        zeros = {equation: jnp.zeros(z.shape, z.dtype) for equation, z in results.items()}
        _, pull, operands = jax.vjp(tapped, [leaves[i] for i in plan.small], zeros, has_aux=True)
        small, back = jax.vmap(pull)(units)
        whole = [Factors(jnp.ones((1, 1), slope.dtype), slope.reshape(len(units), 1, -1)) for slope in small]
        return whole + [factorise(p, operands[p.equation], back[p.equation]) for p in plan.products.values()]

    kernel = jnp.zeros((*counts, *units.shape), units.dtype)
    if plan.products or plan.small:
        mine = jax.vmap(factors)(inputs)
        theirs = mine if others is None else jax.vmap(factors)(others)
        kernel += sum(contract(*pair) for pair in zip(mine, theirs, strict=True))
    if plan.columns:
        some = [leaves[i] for i in plan.columns]
        varied = lambda some, inputs: run(merge(leaves, plan.columns, some), inputs)  # noqa: E731
        kernel += by_columns(varied, some, inputs, inputs if others is None else others, units)
    if others is None:  # symmetric but for rounding
        kernel = (kernel + kernel.transpose(1, 0, 3, 2)) / 2
    return kernel if outputs.ndim == 2 else kernel[:, :, 0, 0]


def factorise(product: Product, operands: list[Array], d: Float[Array, "outputs ..."]) -> Factors:
    """H and D of one input, with their axes in order."""
    h = operands[product.operand]
    free = [axis for axis in range(h.ndim) if axis not in product.contracted]
    positions = math.prod(h.shape[axis] for axis in free)
    if product.operand == 1:  # the leaf stands first, and so do its axes in the result
        d = d.reshape(len(d), -1, positions).swapaxes(1, 2)
    return Factors(
        h.transpose(*free, *product.contracted).reshape(positions, -1),
        d.reshape(len(d), positions, -1),
    )


def contract(one: Factors, other: Factors) -> Float[Array, "inputs others outputs outputs"]:
    """sum_{t,s} <h_t, h'_s> <d_t, d'_s>, for as many inputs at a time as give no larger array than the result."""
    inputs, _, positions, _ = one.d.shape

    def against(one: Factors) -> Float[Array, "inputs others outputs outputs"]:
        alike = gram(one.h, other.h)[:, None, :, :, None]
        return jnp.sum(alike * gram(one.d, other.d), axis=(2, 5)).swapaxes(1, 2)

    if positions == 1:
        return against(one)
    each = lambda row: against(Factors(row.h[None], row.d[None]))[0]  # noqa: E731
    return jax.lax.map(each, one, batch_size=max(1, inputs // positions**2))


def gram(u: Float[Array, "*rows coordinates"], v: Float[Array, "*columns coordinates"]) -> Array:
    """<u, v> of every pair, [*rows, *columns]; one flat product, since XLA copies the operands of any other."""
    flat = u.reshape(-1, u.shape[-1]) @ v.reshape(-1, v.shape[-1]).T
    return flat.reshape(*u.shape[:-1], *v.shape[:-1])


def by_columns(
    run: Callable[[list[Array], Any], Array], leaves: list[Array], inputs: Any, others: Any, units: Array
) -> Float[Array, "inputs others outputs outputs"]:
    """The derivatives of every output along the gradient of each."""
    outputs, pull_all = jax.vjp(lambda leaves: run(leaves, inputs), leaves)
    # the transpose of the pullback, since functions with their own pullback have no derivative in forward mode
    push = jax.linear_transpose(pull_all, outputs)

    def columns(x: Any) -> Float[Array, "outputs inputs outputs"]:
        _, pull = jax.vjp(lambda leaves: run(leaves, jax.tree.map(lambda part: part[None], x))[0], leaves)
        return jax.lax.map(lambda unit: push(pull(unit))[0], units)

    return jax.lax.map(columns, others).transpose(2, 0, 3, 1)


def plan_leaves(program: Jaxpr, leaves: Sequence[Array]) -> Plan:
    """Which way each leaf goes; the program's arguments are the leaves and then the input."""
    uses: dict[Any, list[int]] = defaultdict(list)
    varying = set(program.invars[len(leaves) :])
    for number, equation in enumerate(program.eqns):
        for variable in variables(equation.invars):
            uses[variable].append(number)
        if varying.intersection(variables(equation.invars)):
            varying.update(equation.outvars)
    plan = Plan({}, [], [])
    for number, (leaf, variable) in enumerate(zip(leaves, program.invars, strict=False)):
        if jnp.issubdtype(leaf.dtype, jnp.floating) and (uses[variable] or variable in program.outvars):
            if product := find_product(program, variable, uses, varying):
                plan.products[number] = product
            elif is_small(program, variable, varying):
                plan.small.append(number)
            else:
                plan.columns.append(number)
    return plan


def find_product(program: Jaxpr, leaf: Any, uses: dict[Any, list[int]], varying: set[Any]) -> Product | None:
    """The only product that the leaf is used in, if that has varying activations smaller than the leaf's gradient."""
    while len(uses[leaf]) == 1 and leaf not in program.outvars:
        (number,) = uses[leaf]
        equation = program.eqns[number]
        result = equation.outvars[0]
        if equation.primitive.name == "dot_general":
            operand = 1 if equation.invars[0] is leaf else 0
            h = equation.invars[operand]
            contracted, batch = equation.params["dimension_numbers"]
            suits = h in varying and not batch[0] and size(h) + size(result) < size(leaf)
            return Product(number, operand, tuple(contracted[operand])) if suits else None
        if equation.primitive.name not in REARRANGEMENTS or size(result) != size(leaf):
            return None
        leaf = result
    return None


def is_small(program: Jaxpr, leaf: Any, varying: set[Any]) -> bool:
    """Whether no gradient on the way to the leaf is larger than the activations that the leaf meets."""
    derived, met = {leaf}, 0
    for equation in program.eqns:
        if derived.intersection(variables(equation.invars)):
            if varying.intersection(equation.outvars):
                met += sum(map(size, varying.intersection(variables([*equation.invars, *equation.outvars]))))
            else:
                derived.update(equation.outvars)
    return max(map(size, derived)) <= met


def evaluate(
    program: Jaxpr, constants: Sequence[Any], given: Sequence[Any], added: dict[int, Array]
) -> tuple[list[Any], dict[int, list[Array]]]:
    """The outputs of a program, with `added` to the results of some equations; and the operands of these.

    Nested calls are written out: the trace of this function has none.
    """
    values = dict(zip([*program.constvars, *program.invars], [*constants, *given], strict=True))
    read = lambda atom: atom.val if isinstance(atom, Literal) else values[atom]  # noqa: E731
    operands = {}
    for number, equation in enumerate(program.eqns):
        name, entering = equation.primitive.name, [read(atom) for atom in equation.invars]
        if name in NESTED:
            inner = equation.params[NESTED[name]]
            found, _ = evaluate(inner.jaxpr, inner.consts, entering, {})
        else:
            found = equation.primitive.bind(*entering, **equation.primitive.get_bind_params(equation.params))
            found = found if equation.primitive.multiple_results else [found]
        if number in added:
            operands[number] = entering
            found = [found[0] + added[number]]
        values.update(zip(equation.outvars, found, strict=True))
    return [read(atom) for atom in program.outvars], operands


def merge(leaves: Sequence[Array], numbers: Sequence[int], some: Sequence[Array]) -> list[Array]:
    """The leaves, those of these numbers replaced."""
    replaced = dict(zip(numbers, some, strict=True))
    return [replaced.get(number, leaf) for number, leaf in enumerate(leaves)]


def variables(atoms: Sequence[Any]) -> list[Any]:
    return [atom for atom in atoms if not isinstance(atom, Literal)]


def size(variable: Any) -> int:
    return math.prod(variable.aval.shape)
