"""The card of the teacher-student theory: plain data, standard library only."""

CARD = {
    "name": "teacher_student",
    "title": "Transformers Trained via Gradient Descent Can Provably Learn a Class of Teacher Models",
    "authors": "C. Zhang, Q. Zhao, Q. Gu, Y. Cao",
    "venue": "ICLR 2026",
    "link": "https://arxiv.org/abs/2603.22801",
    "numbers": "Numbers refer to the paper's version under review.",
    "question": "Which functions does a one-layer transformer provably learn by gradient descent, and how fast?",
    "answer": (
        "Every bilinear teacher σ(V*XS*) that averages K tokens per output: convolution with pooling, graph "
        "convolution, token selection, group-sparse regression. From zero, training is an exact recursion of two "
        "scalars; the excess loss falls as KD(D-K)/(4ηT) and the parameters are recovered at rate T^(-1/2)."
    ),
    "headlines": ["p1-pattern", "t3-dimension", "t3-dimension-corrected"],
}
