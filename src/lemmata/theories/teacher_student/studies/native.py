"""The teachers by their own definitions (Examples 2.1 to 2.4), as layers that know no S*, against σ(V*XS*)."""

import numpy as np
from jaxtyping import Float

import lemmata as lm
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.teachers import adjacency, grid, make_teacher


def layer(
    setting: Setting, seed: int, values: Float[np.ndarray, "output feature"], inputs: Float[np.ndarray, "feature n D"]
) -> Float[np.ndarray, "output n D"]:
    """What the layer computes for every token, before its activation."""
    D, K, rng = setting.tokens, setting.support, lm.generator(seed, "scores")
    each = np.einsum("mf,fnt->mnt", values, inputs)
    match setting.teacher:
        case "cnn":
            return np.repeat(each.reshape(*each.shape[:2], D // K, K).mean(3), K, axis=2)
        case "cnn_2d":
            height, width, window = grid(setting)
            windows = each.reshape(*each.shape[:2], height // window, window, width // window, window)
            return np.broadcast_to(windows.mean((3, 5), keepdims=True), windows.shape).reshape(each.shape)
        case "gcn":
            loops = adjacency(setting, rng) + np.eye(D)
            degree = loops.sum(0)
            return each @ (loops / np.sqrt(np.outer(degree, degree)))
        case "sts" | "gslp":
            return np.repeat(each[:, :, rng.choice(D, K, replace=False)].mean(2, keepdims=True), D, axis=2)
    return each


@lm.simulation(
    lm.Variable("apart", (), "", "largest difference of the layer's outputs and those of σ(V*XS*)"),
    lm.Variable("output_size", (), "", "root mean square of the outputs"),
    host=True,
    precision="float64",
)
def native_teachers(setting: Setting, seed: int) -> dict[str, np.ndarray]:
    """The same Gaussian inputs to a layer and to its bilinear form."""
    teacher = make_teacher(setting, seed)
    X = lm.generator(seed, "test").standard_normal((setting.dimension, setting.test_samples, setting.tokens))
    before = layer(setting, seed, teacher.values, X), np.einsum("mf,fnt->mnt", teacher.values, X @ teacher.scores)
    native, bilinear = (np.where(z > 0, z, setting.negative_slope * z) for z in before)
    return {"apart": np.abs(native - bilinear).max(), "output_size": np.sqrt(np.mean(bilinear**2))}
