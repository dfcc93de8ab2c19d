"""Non-orthogonal symmetric decomposition of a small tensor, R = Σ_i c_i v_i^⊗3, three ways (4.3, step 6)."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

import lemmata as lm

Array = np.ndarray
Cube = Float[Array, "neurons neurons neurons"]


class Decomposition(NamedTuple):
    """Unit vectors as columns, their weights, and the residual ‖R - Σ c_i v_i^⊗3‖ / ‖R‖."""

    vectors: Float[Array, "neurons neurons"]
    weights: Float[Array, " neurons"]
    residual: float


def compose(vectors: Array, weights: Array) -> Cube:
    """Σ_i c_i v_i^⊗3."""
    return np.einsum("i,ai,bi,ci->abc", weights, vectors, vectors, vectors)


def _fitted(R: Cube, vectors: Array) -> Decomposition:
    """The best weights for these directions."""
    vectors = vectors / np.linalg.norm(vectors, axis=0)
    columns = np.einsum("ai,bi,ci->abci", vectors, vectors, vectors).reshape(-1, vectors.shape[1])
    weights = np.linalg.lstsq(columns, R.ravel(), rcond=None)[0]
    return Decomposition(vectors, weights, float(np.linalg.norm(R - compose(vectors, weights)) / np.linalg.norm(R)))


def _refined(R: Cube, found: Decomposition) -> Decomposition:
    """Least squares over u_i = c_i^{1/3} v_i, in which the sign is absorbed."""
    from scipy.optimize import least_squares

    K, size = len(R), np.linalg.norm(R)
    start = np.cbrt(found.weights / size) * found.vectors

    def miss(flat: Array) -> Array:
        u = flat.reshape(K, K)
        return (np.einsum("ai,bi,ci->abc", u, u, u) - R / size).ravel()

    def jacobian(flat: Array) -> Array:
        u = flat.reshape(K, K)
        same, pairs = np.eye(K), np.einsum("bi,ci->bci", u, u)
        one = np.einsum("ad,bci->abcdi", same, pairs)
        return (one + one.transpose(1, 0, 2, 3, 4) + one.transpose(1, 2, 0, 3, 4)).reshape(K**3, K * K)

    exact: Any = {"jac": jacobian, "xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
    u = least_squares(miss, start.ravel(), method="lm", **exact).x.reshape(K, K)
    norms = np.linalg.norm(u, axis=0)
    if not (np.isfinite(u).all() and norms.min() > 0):
        return found
    better = Decomposition(u / norms, norms**3 * size, float(np.linalg.norm(R - size * compose(u, np.ones(K))) / size))
    return better if better.residual <= found.residual else found


def jennrich(R: Cube, rng: np.random.Generator, tries: int = 10) -> Decomposition:
    """Eigenvectors of R(I, I, a) R(I, I, b)⁺ for several random pairs; the smallest residual is kept."""
    best = None
    for _ in range(tries):
        a, b = rng.standard_normal((2, len(R)))
        vectors = np.linalg.eig((R @ a) @ np.linalg.pinv(R @ b))[1]
        if np.isrealobj(vectors) or abs(np.imag(vectors)).max() < 1e-9:
            found = _fitted(R, np.real(vectors))
            best = found if best is None or found.residual < best.residual else best
    if best is None:  # noise has made every pair complex
        best = _fitted(R, np.linalg.eigh(R @ rng.standard_normal(len(R)))[1])
    return best


def diagonalise(matrices: Float[Array, "count neurons neurons"], start: Array, sweeps: int = 100) -> Array:
    """V that makes all V M_k Vᵀ as diagonal as possible, without being orthogonal (fast Frobenius diagonalisation)."""
    V = start
    C = V @ matrices @ V.T
    K = len(V)
    for _ in range(sweeps):
        D = np.diagonal(C, axis1=1, axis2=2)
        z = D.T @ D
        y = np.einsum("kj,kij->ij", D, C - D[:, :, None] * np.eye(K))
        scale = np.diag(z)
        base = np.outer(scale, scale) - z**2
        known = base > 1e-14 * scale.max() ** 2
        move = np.where(known, (z * y.T - scale[:, None] * y) / np.where(known, base, 1), 0)
        np.fill_diagonal(move, 0)
        size = np.linalg.norm(move)
        move *= min(1.0, 0.9 / max(size, 1e-300))
        V = V + move @ V
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        C = V @ matrices @ V.T
        if size < 1e-12:
            break
    return V


def kcl(R: Cube, rng: np.random.Generator) -> Decomposition:
    """Kuleshov, Chaganty and Liang: joint diagonalisation of R(I, I, θ) for random θ, then for the rows of V̂⁻¹, and
    least squares at the end."""
    K = len(R)
    if K == 1:
        return Decomposition(np.ones((1, 1)), R.ravel().copy(), 0.0)
    first = jennrich(R, rng)
    directions = rng.standard_normal((10 * K, K))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    inverse = np.linalg.pinv(first.vectors)
    for _ in range(2):
        inverse = diagonalise(np.einsum("abc,kc->kab", R, directions), inverse / np.linalg.norm(inverse))
        directions = inverse / np.linalg.norm(inverse, axis=1, keepdims=True)
    found = _fitted(R, np.linalg.pinv(inverse))
    return _refined(R, found if found.residual <= first.residual else first)


def power(R: Cube, M: Float[Array, "neurons neurons"], rng: np.random.Generator, tries: int = 20) -> Decomposition:
    """Whitening by M, then the tensor power method with deflation; `kcl` where M has eigenvalues of both signs."""
    values, vectors = np.linalg.eigh(M)
    if values[0] < 0 < values[-1] or np.abs(values).min() < 1e-12 * np.abs(values).max():
        return kcl(R, rng)
    whiten = vectors / np.sqrt(np.abs(values))
    left = np.einsum("abc,ai,bj,ck->ijk", R, whiten, whiten, whiten)
    K, found = len(R), []
    for _ in range(K):
        best, value = np.zeros(K), 0.0
        for _ in range(tries):
            v = rng.standard_normal(K)
            for _ in range(100):
                v = (left @ v) @ v
                v /= np.linalg.norm(v)
            gain = float(((left @ v) @ v) @ v)
            if abs(gain) > abs(value):
                best, value = v, gain
        found.append(best)
        left = left - value * np.einsum("a,b,c->abc", best, best, best)
    return _refined(R, _fitted(R, np.linalg.pinv(whiten.T) @ np.stack(found, 1)))


BACKENDS = ("kcl", "jennrich", "power")


def decomposed(R: Cube, M: Array, rng: np.random.Generator, backend: str) -> Decomposition:
    """R by one of the three; M, the matrix of the subspace, is what `power` whitens by."""
    if backend not in BACKENDS:
        raise lm.UserError(f"backend = {backend} is not allowed: it is one of {', '.join(BACKENDS)}.")
    return power(R, M, rng) if backend == "power" else {"kcl": kcl, "jennrich": jennrich}[backend](R, rng)
