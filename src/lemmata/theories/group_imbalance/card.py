"""The card of group imbalance: plain data, standard library only."""

CARD = {
    "name": "group_imbalance",
    "title": (
        "How does promoting the minority fraction affect generalization? A theoretical study of the "
        "one-hidden-layer neural network on group imbalance"
    ),
    "authors": "H. Li, S. Zhang, Y. Zhang, M. Wang, S. Liu, P.-Y. Chen",
    "venue": "IEEE Journal of Selected Topics in Signal Processing, 2024",
    "link": "https://arxiv.org/abs/2403.07310",
    "numbers": "Numbers refer to Chapter 4 and Appendix C of H. Li's thesis (2024), which contains the paper.",
    "question": "What do mean, covariance and fraction of each hidden group do to the risk of every group?",
    "answer": (
        "A tensor start and gradient descent converge linearly to a minimum near the ground truth once the samples "
        "outnumber a factor of the mixture times d log² d. The paper reads its bounds as behaviour: more data of the "
        "group with the largest covariance should hurt. Trained to the end it helps: the excess risk of group l is "
        "tr(F_l F⁻¹)/2n, and the average dK/2n whatever the mixture."
    ),
    "diagnose": {"groups": "diagnose:diagnose"},
    "headlines": ["g1-rate", "g10-group-risk", "g10-group-risk-corrected"],
}
