"""The setting of the shallow vision transformer: data model (2), network and variants (3) and training (4)."""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import lemmata as lm

KAPPA = math.sqrt(2)
"""Smallest distance between two orthonormal patterns."""
STRATEGIES = ("random", "irrelevant", "nondiscriminative", "noisy", "attention", "relevant")
"""What is dropped first: tokens at random, label-irrelevant, non-discriminative, or noisy ones, those that attract the
least attention, or (a control) the label-relevant ones. Images have one more: `spurious`, the background tokens."""
SMALL_LOSS = 1e-3
"""ε of T_ε, and the paper's success threshold for the test hinge."""

share = partial(lm.number, low=0, high=1)
count = partial(lm.number, low=0, integer=True)


def discount(sigma: Any, delta: Any, tau: Any) -> Any:
    """e^{-(δ+τ)} (1-σ-τ) of condition (2.8); the theorem says nothing unless it is positive."""
    return np.exp(-(np.asarray(delta, float) + tau)) * (1 - np.asarray(sigma, float) - tau)


def condition_slack(alpha: Any, confusion: Any, sigma: Any, delta: Any, tau: Any) -> Any:
    """α_* e^{-(δ+τ)} (1-σ-τ) - α_#: condition (2.8) is that this is not negative."""
    return alpha * discount(sigma, delta, tau) - confusion


def token_count(fraction: float, tokens: int) -> int:
    """rint(α L) half to even, after removing floating noise: 0.05 of 50 tokens is 2."""
    return int(np.rint(round(fraction * tokens, 9)))


def coarse_room(count: int) -> int:
    """Room for drawn samples: coarse, because drawing compiles slowly."""
    return next(room for room in (256, 1024, 4096) if room >= count)


class Setting(lm.Setting):
    """One learning problem of the paper; the defaults are those of the dynamics rows."""

    relevant_fraction: float = share(0.4, "α_*", "fraction of label-relevant tokens", open_ends="low")
    confusion_fraction: float = share(0.1, "α_#", "fraction of confusion tokens", open_ends="high")
    token_noise: float = lm.number(0.01, "c_0", "standard deviation of Gaussian token noise", low=0)
    noise_radius: float = lm.number(0.0, "τ", "radius of ball or sphere token noise", low=0)
    noisy_fraction: float = share(0.0, "ρ", "fraction of tokens with the large noise")
    noisy_level: float = lm.number(0.3, "c_big", "standard deviation of the large token noise", low=0)
    member_spread: float = lm.number(0.3, "ε_Δ", "distance of the members of a pattern set from its centre", low=0)
    keep: float = share(1.0, "", "fraction of tokens kept by sparsification", open_ends="low")
    fraction_concentration: float = lm.number(
        0.0, "conc", "Dirichlet concentration of random fractions (0: multinomial)", low=0
    )
    value_error: float = lm.number(0.1, "σ", "error of the initial value map", low=0)
    attention_error: float = lm.number(0.2, "δ", "error of the initial key and query maps", low=0)
    output_scale: float = lm.number(0.01, "ξ", "standard deviation of the initial output weights", low=0)
    samples: int = lm.number(100, "N", "training samples", low=1, high=4096, integer=True)
    step_size: float = lm.number(0.1, "η", "step size", low=0, open_ends="low")
    steps: int = count(600, "T", "cap on the training steps", high=10**6)
    record_every: int = lm.number(1, "", "steps between two records", low=1, high=10**6, integer=True)
    train_attention: int = share(1, "", "1: keys and queries are trained; 0: frozen (the CNN baseline)", integer=True)
    margin: float = lm.number(1.0, "γ", "margin of the hinge loss", low=0, open_ends="low")

    dimension: int = lm.size(10, "d", "token dimension")
    patterns: int = lm.size(5, "M", "number of patterns (of pattern sets, if they have members)", low=3)
    classes: int = lm.size(2, "", "classes, a power of two: as many discriminative patterns", low=2, high=64)
    members: int = lm.size(1, "l_m", "members of every pattern set (1: plain patterns)")
    tokens: int = lm.size(50, "L", "tokens per sample")
    value_width: int = lm.size(10, "m_a", "rows of the value map")
    key_width: int = lm.size(10, "m_b", "rows of the key and query maps")
    neurons: int = lm.size(200, "m", "hidden neurons")
    heads: int = lm.size(1, "H", "attention heads")
    batch: int = lm.size(0, "B", "mini-batch size (0: full batch)", low=0)
    records: int = lm.size(601, "", "room for records", low=2)
    test_samples: int = lm.size(200, "", "test samples")

    pattern_basis: str = lm.choice("random", "patterns: random orthonormal, or unit vectors", "random", "canonical")
    label_balance: str = lm.choice("exact", "labels: exactly balanced, or fair coins", "exact", "bernoulli")
    shuffle: bool = lm.flag(True, "token positions shuffled in every sample")
    fractions: str = lm.choice("fixed", "token counts: the same in every sample, or random", "fixed", "random")
    noise_law: str = lm.choice("gaussian", "token noise", "gaussian", "ball", "sphere")
    normalise: str = lm.choice(
        "auto",
        "tokens rescaled to unit norm (auto: if any noise level exceeds 0.05), or layer norm (centred first)",
        *("auto", "yes", "no", "layer"),
    )
    strategy: str = lm.choice("random", "which tokens sparsification drops first", *STRATEGIES)
    label_order: str = lm.choice("true", "training labels as generated, or shuffled afterwards", "true", "shuffled")
    reduction: str = lm.choice(
        "none", "simulate tokens, or (exact without noise) two samples of weighted patterns", "none", "patterns"
    )
    output: str = lm.choice("shared", "output signs: one per neuron, or per token and neuron", "shared", "per_token")
    balanced_signs: bool = lm.flag(False, "exactly half of the shared signs positive")
    init: str = lm.choice("assumption", "initial attention and value maps", "assumption", "literal", "given")
    output_rule: str = lm.choice(
        "given", "initial output scale: output_scale, 1/sqrt(m) or 1/sqrt(M)", "given", "inv_sqrt_m", "inv_sqrt_M"
    )
    value_error_law: str = lm.choice("random", "directions of the value error", "random", "confuse", "given")
    attention_error_law: str = lm.choice("random", "directions of the key and query errors", "random", "confuse")
    free_queries: bool = lm.flag(False, "query features of the neutral patterns independent of the key features")
    clip_spectral: bool = lm.flag(False, "divide the initial maps by max(1, spectral norm)")
    skip: bool = lm.flag(False, "skip connection: the token is added to its value vector (needs m_a = d)")
    defect: str = lm.choice(
        "none", "a deliberate break, for controls: initial output weights shifted by -2ξ p_1", "none", "shifted"
    )
    uniform_attention: bool = lm.flag(False, "initial keys zero: plain average pooling")
    loss: str = lm.choice("hinge", "training loss", "hinge", "logistic", "linear")
    batches: str = lm.choice("epochs", "mini-batch scheme", "epochs", "iid", "one_pass")
    stop: str = lm.choice(
        "zero_loss", "leave when the training loss is 0, at most 0.001, or never", "zero_loss", "small_loss", "never"
    )
    track: str = lm.choice(
        "loss",
        "recorded along training: the loss, the attention too, or features and neurons as well",
        *("loss", "attention", "neurons"),
    )

    member_shares: Any = lm.array("", "mixing proportions of the members, one row per set (M x l_m; default even)")
    value_map: Any = lm.array("W_V", "initial value map for init=given (m_a x d)")
    key_map: Any = lm.array("W_K", "initial key map for init=given (m_b x d)")
    query_map: Any = lm.array("W_Q", "initial query map for init=given (m_b x d)")
    value_error_directions: Any = lm.array("E_V", "unit columns for value_error_law=given (m_a x M)")

    relevant_tokens = lm.derived(lambda self: token_count(self.relevant_fraction, self.tokens))
    confusion_tokens = lm.derived(lambda self: token_count(self.confusion_fraction, self.tokens))
    kept_tokens = lm.derived(lambda self: token_count(self.keep, self.tokens))
    sparsified = lm.fixed(lambda self: int(self.keep < 1))
    scored_by_training = lm.fixed(lambda self: int(self.sparsified and self.strategy == "attention"))
    """1 if tokens are dropped by the attention of a trained network (2.5)."""
    dropped_first = lm.derived(lambda self: STRATEGIES.index(self.strategy))
    """The number of the strategy of sparsification."""
    outputs = lm.fixed(lambda self: self.classes.bit_length() - 1)
    """Coordinates of the label: the classes are coded in {±1}^k."""
    shuffled_labels = lm.derived(lambda self: int(self.label_order == "shuffled"))
    layer_tokens = lm.derived(lambda self: int(self.normalise == "layer"))
    """1 if tokens are centred before they are rescaled."""
    bent_patterns = lm.fixed(lambda self: int(self.normalise == "layer"))
    """1 if layer norm bends the patterns, which are orthonormal otherwise."""
    given_errors = lm.fixed(lambda self: int(self.value_error_law == "given"))
    output_shift = lm.derived(lambda self: 2 * self.output_std if self.defect == "shifted" else 0.0)
    """What the defect takes off the initial output weights, along p_1."""
    training_samples = lm.derived(lambda self: 2 if self.reduction == "patterns" else self.samples)
    sample_room = lm.fixed(lambda self: lm.capacity(self.training_samples))
    drawn_room = lm.fixed(lambda self: coarse_room(self.samples))
    drawn_test_room = lm.fixed(lambda self: coarse_room(min(self.test_samples, 4096)))
    each_step = lm.fixed(lambda self: int(self.record_every == 1 and self.steps <= self.records - 1))
    """1 if every step is recorded."""

    @lm.derived
    def unit_tokens(self) -> int:
        """1 if tokens are rescaled to unit norm."""
        noisy = self.noisy_level if self.noisy_fraction > 0 else 0.0
        largest = max(self.token_noise, noisy) if self.noise_law == "gaussian" else self.noise_radius
        return int(self.normalise in ("yes", "layer") or (self.normalise == "auto" and largest > 0.05))

    @property
    def member_distance(self) -> float:
        """Distance of two members of a set (noise-free Δ of 2.3)."""
        return KAPPA * self.member_spread / math.hypot(1, self.member_spread) if self.members > 1 else 0.0

    @property
    def radius(self) -> float:
        """τ; for Gaussian noise its effective value c_0 sqrt(d)."""
        return self.token_noise * math.sqrt(self.dimension) if self.noise_law == "gaussian" else self.noise_radius

    @lm.derived
    def condition_slack(self) -> float:
        """Slack of condition (2.8) with the realised fractions."""
        counts = self.relevant_tokens, self.confusion_tokens
        return float(condition_slack(*counts, self.value_error, self.attention_error, self.radius)) / self.tokens

    @lm.derived
    def shares(self) -> np.ndarray:
        """Mixing proportions of the members of every pattern set."""
        even = np.full((self.patterns, self.members), 1 / self.members)
        return even if self.member_shares is None else self.member_shares

    @lm.derived
    def output_std(self) -> float:
        scale = {"given": self.output_scale, "inv_sqrt_m": self.neurons**-0.5, "inv_sqrt_M": self.patterns**-0.5}
        return scale[self.output_rule]

    @lm.derived
    def confused(self) -> np.ndarray:
        """1 where the errors of the value map, and of the key and query maps, confuse the patterns."""
        return np.asarray([self.value_error_law == "confuse", self.attention_error_law == "confuse"], float)

    @lm.derived
    def stop_loss(self) -> float:
        """The training loss that ends the training; a linear loss is unbounded below, and zero no solution."""
        never = self.stop == "never" or self.loss == "linear"
        return -math.inf if never else {"zero_loss": 0.0, "small_loss": SMALL_LOSS}[self.stop]

    def refusals(self, given: list[str]) -> Iterator[str]:
        if self.relevant_fraction + self.confusion_fraction > 1 + 1e-12:
            total = f"relevant_fraction + confusion_fraction = {self.relevant_fraction + self.confusion_fraction:g}"
            yield f"{total} is not allowed: the two fractions add up to at most 1."
        if self.relevant_fraction <= self.confusion_fraction:
            yield self._wrong("relevant_fraction", f"it must exceed confusion_fraction = {self.confusion_fraction:g}")
        if self.relevant_tokens <= self.confusion_tokens:
            counts = (
                f"relevant_fraction = {self.relevant_fraction:g} gives {self.relevant_tokens} of {self.tokens} tokens"
            )
            yield f"{counts}, no more than the {self.confusion_tokens} confusion tokens; the former must be more."
        if self.relevant_tokens + self.confusion_tokens > self.tokens:
            yield f"relevant and confusion tokens after rounding exceed tokens = {self.tokens}."
        if self.classes != 2**self.outputs:
            yield self._wrong("classes", "classes is a power of two (labels are coded in ±1)")
        if self.patterns <= self.classes:
            yield self._wrong(
                "patterns", f"besides the {self.classes} discriminative patterns there is at least one other"
            )
        if self.dimension < self.patterns:
            yield self._wrong("dimension", f"orthonormal patterns need dimension at least patterns = {self.patterns}")
        if self.kept_tokens < 1:
            yield self._wrong("keep", f"of {self.tokens} tokens it keeps none")
        yield from self._variants()
        if self.noise_law != "gaussian" and self.noise_radius >= KAPPA / 4:
            yield self._wrong("noise_radius", f"it must be less than κ/4 = {KAPPA / 4:.4g}")
        if self.init == "assumption" and self.patterns > min(self.value_width, self.key_width):
            widths = f"value_width = {self.value_width} or key_width = {self.key_width}"
            yield self._wrong("patterns", f"it must not exceed {widths}")
        if self.init == "literal" and not (self.value_width == self.key_width == self.dimension):
            yield "init = literal is not allowed: it needs value_width = key_width = dimension."
        if self.init == "literal" and self.token_noise == 0:
            yield "token_noise = 0 is not allowed with init = literal, which divides by it."
        if self.init == "given":
            for name, width in (("key", self.key_width), ("query", self.key_width), ("value", self.value_width)):
                yield from self.misshapen(f"{name}_map", (width, self.dimension))
        if self.value_error_law == "given":
            yield from self.misshapen("value_error_directions", (self.value_width, self.patterns))
            if not np.allclose(np.linalg.norm(self.value_error_directions, axis=0), 1, atol=1e-5):
                yield "value_error_directions is not allowed: its columns must be unit vectors."
        yield from self.exceeding("batch", "samples", given)
        if self.test_samples > 4096:
            yield self._wrong("test_samples", "test_samples is at most 4096")
        if self.reduction == "patterns":
            noiseless = self.radius == 0 and self.noisy_fraction == 0
            plain = self.output == "shared" and self.fractions == "fixed" and self.label_balance == "exact"
            whole = self.samples % 2 == 0 and self.batch == 0 and self.keep == 1
            two = self.classes == 2 and self.members == 1 and self.label_order == "true"
            if not (noiseless and plain and whole and two):
                yield (
                    "reduction = patterns is not allowed here: it is exact only without noise and sparsification, for "
                    "two classes and plain patterns, with output = shared, fixed fractions, label_balance = exact, "
                    "true labels, full batch and an even number of samples."
                )

    def _wrong(self, name: str, why: str) -> str:
        return f"{name} = {getattr(self, name):g} is not allowed: {why}."

    def _variants(self) -> Iterator[str]:
        """Rules of the general data model (2.3) and of the network variants (3.2)."""
        if self.members > 1:
            needed = self.patterns * (1 + self.members)
            if self.dimension < needed:
                sets = f"{self.patterns} sets of {self.members} members"
                yield self._wrong("dimension", f"{sets} need dimension at least {needed}")
            # two tokens of a set lie at most Δ + 2τ apart, which with another 2τ must stay below κ (2.3)
            if 4 * self.radius + self.member_distance >= KAPPA:
                yield (
                    f"member_spread = {self.member_spread:g} is not allowed: with token noise {self.radius:.3g} two "
                    "tokens of a set can be as far apart as two sets (2τ + Δ must be less than κ)."
                )
            if self.normalise == "layer":
                yield "normalise = layer is not allowed with members: layer norm would bend the sets."
        if self.member_shares is not None:
            yield from self.misshapen("member_shares", (self.patterns, self.members))
            shares = self.member_shares
            if np.any(shares < 0) or not np.allclose(shares.sum(-1), 1):
                yield "member_shares is not allowed: every row must be non-negative and add up to 1."
        if self.normalise == "layer" and self.dimension <= self.patterns:
            what = f"dimension = {self.dimension} is not allowed with normalise = layer, which loses one direction"
            yield f"{what}: it must exceed patterns = {self.patterns}."
        if self.heads > 1 and (self.init != "assumption" or self.skip):
            yield f"heads = {self.heads} is not allowed here: several heads need init = assumption and skip = false."
        if self.skip and self.value_width != self.dimension:
            yield f"skip = true is not allowed: it needs value_width = dimension = {self.dimension}."
        if self.skip and self.init == "literal":
            yield "skip = true is not allowed with init = literal."
        if self.balanced_signs and self.classes > 2:
            yield "balanced_signs = true is not allowed: it is for two classes."
        if self.defect == "shifted" and self.heads > 1:
            yield "defect = shifted is not allowed with several heads."

    def hypotheses(self) -> dict[str, bool]:
        """What Theorem 1 supposes and whether it is so here, by the sentence that says that it is not."""
        sigma, delta, tau = self.value_error, self.attention_error, self.radius
        width = self.patterns**2 * math.log(self.samples)
        return {
            "condition (2.8) is violated: too few label-relevant tokens for the theorem.": self.condition_slack >= 0,
            "the initial value error σ exceeds 1/M.": sigma <= 1 / self.patterns,
            "the initial key and query error δ is not below 1/2.": delta < 0.5,
            "the token noise τ exceeds min(σ, δ).": tau <= min(sigma, delta),
            f"the number of neurons m is below M² log N: {self.neurons} < {width:.4g}.": self.neurons >= width,
            "the number of patterns M is not below the widths m_a, m_b.": self.patterns
            < min(self.value_width, self.key_width),
        }

    def warnings(self) -> list[str]:
        sentences = [violated for violated, met in self.hypotheses().items() if not met]
        if self.steps > self.record_every * (self.records - 1):
            sentences.append("there is room for too few records: they are taken further apart than record_every.")
        if self.noise_law == "gaussian" and self._largest_noise() >= KAPPA / 4:
            sentences.append("the largest token noise is about κ/4 or more: patterns are not separated by (2.5).")
        return sentences

    def _largest_noise(self) -> float:
        """The typical maximum of the noise norms: the 1 - 1/(N L) quantile of c_0 chi_d."""
        level = max(self.token_noise, self.noisy_level if self.noisy_fraction > 0 else 0.0)
        if level == 0:
            return 0.0
        from scipy.stats import chi

        return level * float(chi.ppf(1 - 1 / (self.samples * self.tokens + 1), self.dimension))
