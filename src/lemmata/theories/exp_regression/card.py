"""The card of over-parameterised exponential regression: plain data, standard library only."""

CARD = {
    "name": "exp_regression",
    "title": "An Over-parameterized Exponential Regression",
    "authors": "Y. Gao, S. Mahadevan, Z. Song",
    "venue": "arXiv preprint, 2023",
    "link": "https://arxiv.org/abs/2303.16504",
    "numbers": "Numbers refer to the paper.",
    "question": "How wide must a two-layer exponential network be for gradient descent to reach zero training error?",
    "answer": (
        "With λ the least eigenvalue of the exponential tangent kernel, width λ^-2 n^(2+o(1)) log(n/δ) "
        "and step λ / (m n^(2+o(1))) give geometric decay of the training error; started in pairs of opposite "
        "sign the network begins at zero and its weights hardly move. The constants inside n^o(1) are astronomic."
    ),
    "headlines": ["x6-catapult", "q8-second-order-sign", "x5-drift-ratio"],
}
