"""Classical predictors, fitted to the contexts of every prompt (3.5), and the oracle that is told the patterns; the
one-layer transformer against them, prompt by prompt (figure 6.4), and the oracle by itself.

A fit of twenty points takes microseconds, the checks of a scikit-learn estimator around it a millisecond. Thousands of
prompts are therefore fitted in batches: neighbours and logistic regression by their definitions (the latter by Newton's
method on scikit-learn's objective), support vectors by scikit-learn's libsvm without the estimator. `fit_estimators`
fits the estimators themselves; the answers agree, which tests and every stored comparison check.
"""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Num

import lemmata as lm
from lemmata.theories.icl import data
from lemmata.theories.icl.data import Prompts
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.training import SEEN_HINGE, evaluate, seen_hinge, train_network

Features = Float[np.ndarray, "prompts contexts dimension"]
Labels = Float[np.ndarray, "prompts contexts"]
Queries = Float[np.ndarray, "prompts dimension"]
Answers = Float[np.ndarray, " prompts"]

LIMIT = 300_000
"""Iterations of libsvm. Usual fits take tens; on rare prompts rounding makes it cycle, and scikit-learn's default, no
limit, would never return."""
BASELINES = ("logistic", "linear SVM", "Gaussian SVM", "1-NN", "3-NN")


def predict(x: Features, y: Labels, query: Queries) -> dict[str, Answers]:
    """The answers ±1 of every baseline; where all labels agree it is that label."""
    x, y, query = (np.ascontiguousarray(array, np.float64) for array in (x, y, query))
    mixed = np.any(y != y[:, :1], axis=1)
    answers = {name: y[:, 0].copy() for name in BASELINES}
    if mixed.any():
        x, y, query = x[mixed], y[mixed], query[mixed]
        answers["logistic"][mixed] = _logistic(x, y, query)
        for name, kernel in (("linear SVM", "linear"), ("Gaussian SVM", "rbf")):
            answers[name][mixed] = _support_vectors(kernel, x, y, query)
        for count in (1, 3):
            answers[f"{count}-NN"][mixed] = _neighbours(count, x, y, query)
    return answers


def _neighbours(count: int, x: Features, y: Labels, query: Queries) -> Answers:
    """The majority of the nearest contexts; with fewer contexts than that, all of them, a tie broken by the nearest."""
    distance = np.sum((x - query[:, None]) ** 2, axis=2)
    nearest = np.take_along_axis(y, np.argsort(distance, axis=1, kind="stable")[:, :count], axis=1)
    votes = nearest.sum(axis=1)
    return np.where(votes == 0, nearest[:, 0], np.sign(votes))


def _logistic(x: Features, y: Labels, query: Queries, tolerance: float = 1e-9) -> Answers:
    """argmin |w|²/2 + sum_i log(1 + exp(-y_i (w x_i + b))), b free: Newton's method with halved steps, all at once."""
    prompts, _, dimension = x.shape
    z = np.concatenate([x, np.ones((*x.shape[:2], 1))], axis=2)
    ridge = np.append(np.ones(dimension), 0.0)
    w = np.zeros((prompts, dimension + 1))

    def objective(w: np.ndarray) -> np.ndarray:
        margin = y * np.einsum("nld,nd->nl", z, w)
        return np.logaddexp(0, -margin).sum(axis=1) + (ridge * w**2).sum(axis=1) / 2

    value = objective(w)
    for _ in range(100):
        margin = y * np.einsum("nld,nd->nl", z, w)
        chance = 1 / (1 + np.exp(np.clip(margin, -500, 500)))
        slope = ridge * w - np.einsum("nl,nld->nd", y * chance, z)
        if np.abs(slope).max() < tolerance:
            break
        curvature = z.transpose(0, 2, 1) @ (z * (chance * (1 - chance))[:, :, None])
        # the last digits of a saturated fit: the free intercept must not make the system singular
        curvature[:, range(dimension + 1), range(dimension + 1)] += np.maximum(ridge, 1e-12)
        step = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
        size = np.ones(prompts)
        for _ in range(30):
            moved = objective(w - size[:, None] * step)
            worse = moved > value + 1e-12 * np.abs(value)
            if not worse.any():
                break
            size[worse] /= 2
        w = w - size[:, None] * step
        value = objective(w)
    return np.where(np.einsum("nd,nd->n", w, np.concatenate([query, np.ones((prompts, 1))], axis=1)) > 0, 1.0, -1.0)


def _support_vectors(kernel: str, x: Features, y: Labels, query: Queries) -> Answers:
    """SVC(kernel) with C = 1 and gamma = 1/(dimension var(x)), through scikit-learn's binding of libsvm."""
    from sklearn.svm import _libsvm  # pyright: ignore[reportAttributeAccessIssue]

    _libsvm.set_verbosity_wrap(0)
    classes = (y > 0) * 1.0
    width = 1 / (x.shape[2] * x.var(axis=(1, 2)))
    answers = np.empty(len(x))
    for i, (points, labels, at) in enumerate(zip(x, classes, query, strict=True)):
        how = {"kernel": kernel, "gamma": width[i]}
        fitted = _libsvm.fit(points, labels, max_iter=LIMIT, **how)
        support, vectors, number, dual, intercept, pa, pb, *_ = fitted
        answers[i] = _libsvm.predict(at[None], support, vectors, number, dual, intercept, pa, pb, **how)[0]
    return 2 * answers - 1


def fit_estimators(x: Features, y: Labels, query: Queries) -> dict[str, Answers]:
    """The answers of scikit-learn's estimators with their defaults, prompt by prompt (thirty times slower)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC
    from threadpoolctl import threadpool_limits

    # trees: the brute force of this library starts OpenMP threads for every query, which crawls on a busy machine
    # with fewer contexts than neighbours ties are broken by the nearest, which weights by distance do
    weights = "distance" if x.shape[1] < 3 else "uniform"

    def nearest(count: int) -> Any:
        return KNeighborsClassifier(min(count, x.shape[1]), algorithm="kd_tree", weights=weights)

    vectors = SVC(kernel="linear", max_iter=LIMIT), SVC(max_iter=LIMIT)
    estimators = dict(zip(BASELINES, (LogisticRegression(), *vectors, nearest(1), nearest(3)), strict=True))
    answers = {name: np.empty(len(x)) for name in estimators}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)  # the limit was reached: the answer is what it is
        for i, (points, labels, at) in enumerate(zip(x, y, query, strict=True)):
            for name, estimator in estimators.items():
                mixed = len(np.unique(labels)) > 1
                answers[name][i] = estimator.fit(points, labels).predict(at[None])[0] if mixed else labels[0]
    return answers


def consult_oracle(prompts: Prompts, coin: Num[Array, " prompts"]) -> Float[Array, " prompts"]:
    """The oracle knows all patterns and the decisive ones of the task, but not which class is which.

    The label of a context with the query's pattern; else the opposite of that of one of the other class; else a coin.
    """
    y = prompts.context_label
    same = prompts.matches()
    opposite = (prompts.role == -prompts.label[:, None]) & (prompts.weight > 0)

    def first(where: Bool[Array, "prompts contexts"]) -> Float[Array, " prompts"]:
        return jnp.take_along_axis(y, jnp.argmax(where, axis=1)[:, None], axis=1)[:, 0]

    return jnp.where(same.any(1), first(same), jnp.where(opposite.any(1), -first(opposite), coin))


DOMAINS = ("in-domain", "out of domain")
PREDICTORS = ("one-layer", "oracle", *BASELINES)
AUDITED = 10
"""Prompts of every domain on which scikit-learn's estimators are fitted too."""


Asked = tuple[Prompts, Float[Array, " prompts"], Float[Array, " prompts"]]
"""What predictors are asked, with the answers that need no fit: of the network and the oracle."""


@lm.piece(once=True)
def ask(problem: Setting, key: jax.Array, prompts: Prompts) -> dict[str, Array]:
    """The oracle's answers, their error, and how many there are."""
    coin = jax.random.rademacher(lm.stream(key, "test", data.COIN), prompts.label.shape)
    answers = consult_oracle(prompts, coin)
    wrong = (answers != prompts.label) * 1.0
    return {"answers": answers, "oracle_error": jnp.mean(wrong), "prompts": jnp.asarray(len(wrong) * 1.0)}


def _scored(length: Any, dimension: Any, *asked: Asked) -> dict[str, jax.ShapeDtypeStruct]:
    each, one = (len(DOMAINS), len(PREDICTORS)), asked[0][1].dtype
    shapes = {"prompt_error": each, "prompt_error_match": each, "prompt_no_match": each[:1]}
    shapes["agreement"] = (len(BASELINES),)
    return {name: jax.ShapeDtypeStruct(shape, one) for name, shape in shapes.items()}


@lm.host_piece(_scored)
def score_predictors(length: Any, dimension: Any, *asked: Asked) -> dict[str, np.ndarray]:
    """Fit every baseline to the contexts of every prompt, in every domain, and count the errors of all predictors."""
    length, dimension = int(length), int(dimension)
    wrong, agreed, matched = [], [], []
    for prompts, network, oracle in asked:
        features, labels = prompts.contexts[:, :length, :dimension], prompts.context_label[:, :length]
        points: Any = features, labels, prompts.query[:, :dimension]
        answers = {"one-layer": np.sign(network), "oracle": oracle, **predict(*points)}
        audited = fit_estimators(*(array[:AUDITED] for array in points))
        agreed.append([np.mean(audited[name] == answers[name][:AUDITED]) for name in BASELINES])
        wrong.append([answers[name] != prompts.label for name in PREDICTORS])
        matched.append([np.any(prompts.matches(), axis=1)])
    return {
        "prompt_error": np.mean(wrong, axis=2),
        "prompt_error_match": np.mean(np.asarray(wrong) & matched, axis=2),
        "prompt_no_match": np.mean(~np.asarray(matched), axis=2)[:, 0],
        "agreement": np.mean(agreed, axis=0),
    }


_CELL = ("domain", "predictor")


@lm.simulation(
    lm.Variable("prompt_error", _CELL, "", "sign error of every predictor on the same prompts"),
    lm.Variable("prompt_error_match", _CELL, "", "share of prompts that have a match and the wrong answer"),
    lm.Variable("prompt_no_match", ("domain",), "", "share of prompts without a context of the query's pattern"),
    lm.Variable("agreement", ("baseline",), "", "share of audited prompts with the answer of scikit-learn's estimator"),
    SEEN_HINGE,
    labels={"domain": DOMAINS, "predictor": PREDICTORS, "baseline": BASELINES},
)
def compare(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Any]:
    """Train; ask every predictor on the same prompts, in and out of domain."""
    data.require_shiftable(problem)
    world, _, network, signs, _ = train_network(problem, key)
    inside = data.testing_prompts(problem, key, world, data.UNSEEN)
    outside, _ = data.draw_shifted(problem, key, world)
    asked = [
        (prompts, evaluate(problem, network, signs, prompts)["output"], ask(problem, key, prompts)["answers"])
        for prompts in (inside, outside)
    ]
    scored = score_predictors(problem.test_contexts, problem.dimension, *asked)
    return {**scored, "seen_hinge": seen_hinge(problem, key, network, signs, world)}


@lm.simulation(
    lm.Variable("oracle_error", (), "", "error of the oracle predictor on unseen tasks"),
    lm.Variable("prompts", (), "", "testing prompts"),
)
def ask_oracle(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Ask the predictor that is told all patterns; nothing is trained."""
    prompts = data.testing_prompts(problem, key, data.draw_world(problem, key), data.UNSEEN)
    asked = ask(problem, key, prompts)
    return {name: asked[name] for name in ("oracle_error", "prompts")}
