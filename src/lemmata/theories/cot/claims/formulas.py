"""Every claim as a formula in the paper's symbols (LaTeX).

ℓ: loss on fresh tasks; R: error of CoT or ICL, V of the ideal voter; S_k*: the matching columns of step k, s_i the
attention on column i, off-step attention that on other steps; D: a projected gradient p̃'ᵀ∇_Wℓ p̃ with its relation of
(pattern, step); l*: the length at which the error is 0.05; t at a condition: the first time at which it is met.
"""

_R, _ICL, _COT = r"\bar{R}", r"\bar{R}_{\mathrm{ICL}}", r"\bar{R}_{\mathrm{CoT}}"
_OFF, _P = r"\sum_{i \notin \mathrm{step}\,k} s_i", r"\mathbb{E}[p_n(1-p_n)^2]"
_S, _SAME = r"\sum_{i \in \mathcal{S}_1^*} s_i", r"D_{==}"

FORMULAS = {
    "c1-loss": r"\ell(\eta t = 2000) \le 0.01",
    "c1-fresh-tasks": r"\ell_{\mathrm{fresh}} \le 1.15\, \ell_{\mathrm{pool}}, \quad n = 20",
    "c2-step-size": r"\ell_{\eta=1}(\eta t) = \ell_{\eta=10}(\eta t)",
    "c2-loss-slope": r"\ell \propto t^{-1}",
    "c2-patterns": r"\eta t_{\ell = 0.01} \propto M",
    "c2-alpha": r"\alpha_1 < \alpha_2 \Rightarrow t_{\ell = 0.02}(\alpha_1) > t_{\ell = 0.02}(\alpha_2)",
    "c2-stage1-steps": r"K_1 < K_2 \Rightarrow T_1(K_1) < T_1(K_2)",
    "c2-stage1-alpha": r"\alpha_1 < \alpha_2 \Rightarrow T_1(\alpha_1) > T_1(\alpha_2)",
    "c3-signs": r"D_{==} < D_{\ne=} < 0 < D_{=\ne},\, D_{\ne\ne}",
    "c3-values": r"(D_{==}, D_{=\ne}, D_{\ne=}, D_{\ne\ne}) = (-0.0325, 0.0086, -0.0272, 0.0140)",
    "c3-bounds": r"D_{==} \le \frac{(1-p)^2}{KM}\left(-4p\left(1+\frac{\alpha^2}{K^2}\right)+\ldots\right)"
    r"-\frac{\alpha^2}{K^3}(1-p)^2",
    "c4-off-step": rf"{_OFF} \le \epsilon = 0.05, \quad \eta t \ge 500",
    "c5-same-same": rf"{_SAME} \le -\frac{{4}}{{2M}} {_P}",
    "c5-same-same-corrected": rf"{_SAME} \le -\frac{{1}}{{M}} {_P}",
    "c5-other-pattern": rf"|D_{{\ne=}}| \le \frac{{1}}{{2M}} {_P}",
    "c5-other-step": rf"|D_{{=\ne}}|,\, |D_{{\ne\ne}}| \le {_OFF}",
    "c5-factor-two": r"|D_{==}| \ge 2 |D_{\ne=}|",
    "c5-shared-block": r"D_{=\ne} < 0",
    "c6-attention": r"p_n = \frac{e^{u_\mu}}{e^{u_\mu} + \frac{1-\alpha}{\alpha}}",
    "c6-gain-slope": r"u_\mu \simeq \frac{1}{2} \log \frac{\eta (1-\alpha)^2 t}{\alpha^2 K M}",
    "c7-error": rf"{_COT}(l_{{ts}} = 40) \le 0.02",
    "c7-length-order": r"\alpha', \tau^f, \rho^f \nearrow \; \Rightarrow \; l^* \searrow",
    "c7-bound": r"l^* \le C (\alpha' \tau^f \rho^f)^{-2} \log M",
    "c8-clear": rf"0.4 \le {_ICL} \le 0.55, \quad {_COT} \le 0.05",
    "c8-reference": rf"{_ICL} \ge 0.3 \quad \forall\, l_{{ts}}",
    "c8-voter": rf"|{_ICL} - \bar{{V}}_{{\mathrm{{ICL}}}}| \le 0.06",
    "c9-single": rf"{_ICL}(l_{{ts}} = 40) \le 0.02",
    "c9-decrease": rf"l_1 < l_2 \Rightarrow {_ICL}(l_1) > {_ICL}(l_2), \quad {_ICL}(1280) \le 0.15",
    "c10-agreement": rf"{_R}_1 = \bar{{V}}_1 = \Pr\left[\mathrm{{arg}}\max_j N_j \ne f_1(i)\right], \quad N \sim"
    r" \mathrm{Mult}(n, A_{1(i,\cdot)})",
    "c10-exponent-alpha": r"l^* \propto (\alpha')^{k}, \quad k \in [-1.3, -0.7]",
    "c10-exponent-rho": r"l^* \propto \rho^{k}, \quad k \in [-2.6, -1.7]",
    "c10-exponent-tau": r"l^* \propto \tau^{k}, \quad k \in [-1.9, -0.9]",
    "c11-concentration": r"\sum_{i \in \mathcal{S}_k^*} s_i \ge 0.95, \quad k = 1, 2, 3",
    "c11-formula": rf"{_S} = \frac{{\alpha' e^u}}{{\alpha' e^u + 1 - \alpha'}}",
    "c11-voter": r"\Pr[v_k = v_k^{\mathrm{voter}}] \ge 0.95",
    "c12-noise": rf"{_COT}(\nu) = {_COT}(0), \quad \nu = 0.2, 0.7",
    "c13-outside-span": rf"\mu'_j \perp \mathcal{{M}} \Rightarrow {_S} = \alpha'",
    "c14-positions": r"\frac{u_c(\alpha=1)}{u_c(\alpha=0.4)} \ge 0.8, \quad \frac{u_\mu(\alpha=1)}{u_\mu(\alpha=0.4)}"
    r" \le 0.25",
    "c14-concentration": rf"0.4 \le {_S} \le 0.6, \quad \alpha = 1, \alpha' = 0.4",
    "c15-last-step": r"\Pr[v_K \ne z_K] \le 0.05",
    "c16-blind-law": r"\left\| \mu_1'^{\top} G^\mu \right\|_\infty \le 10^{-6}",
    "c16-blind-query": r"\left\| G^\mu \mu'_1 \right\|_\infty \le 10^{-2}\, u_\mu",
    "c16-concentration": rf"{_S} \in [0.15, 0.25] \; (x = \mu'_1), \quad {_S} \ge 0.8 \; (x \ne \mu'_1)",
    "c16-error": rf"{_COT}(\mu'_1) \ge \max(0.4,\, 1.5\, {_COT}(\mu'_{{j \ne 1}}))",
    "c16-theorem4": rf"{_COT}(\mu'_1) \le 0.02",
    "c16-theorem4-corrected": rf"\alpha' < \frac{{1}}{{M'}} \Rightarrow {_COT}(\mu'_1) \ge 0.9",
    "c16-gain": r"\mu_j'^{\top} G^\mu \mu'_j = u_\mu \left(1 - \frac{(\sum_i \lambda_{j,i})^2}{M}\right)",
    "c17-law": r"\frac{du_\mu}{d(\eta t)} = \frac{1+\sigma}{M-1}\, p (1-p)^2",
    "c17-law-single-step": r"\frac{du_\mu}{d(\eta t)} = \frac{1+\sigma}{M-1}\, p (1-p)^2, \quad K = 1",
    "c17-free-of-steps": r"\max_K t_{\ell = 0.01} \le 1.2 \min_K t_{\ell = 0.01}",
    "c17-free-of-examples": r"\max_{l_{tr}} t_{\ell = 0.01} \le 1.2 \min_{l_{tr}} t_{\ell = 0.01}",
    "c18-label-block": r"(0; \mu_a)^\top W (\mu_a; 0) \in [-0.35, -0.12], \quad (0; \mu_b)^\top W (\mu_a; 0) \approx 0",
    "f71-example": rf"{_ICL} \to \frac{{1}}{{2}}, \quad {_COT} \to 0",
    "f73a-alpha": rf"\alpha' \nearrow \; \Rightarrow \; {_COT} \searrow",
    "f73b-tau": rf"\tau^f \nearrow \; \Rightarrow \; {_COT} \searrow",
    "f73c-rho": rf"\rho^f \nearrow \; \Rightarrow \; {_COT} \searrow",
    "f74-order": rf"\alpha', \tau_o^f, \rho_o^f \nearrow \; \Rightarrow \; {_ICL} \searrow",
    "f75-cot": rf"{_COT}(1280) \le \min(0.05,\, \frac{{1}}{{4}} {_COT}(20))",
    "f76-groups": rf"p_n \to 1, \quad {_OFF} \le 0.05",
    "f77-heads": r"\max_h p_n^{(l,h)} > \max_{g \ne ==} s_g^{(l,h)}, \quad p_n^{(l,h)} \ge 2\, p_n^{(l,h)}(0)",
    "f1-layers": r"p_n^{(l)} > \max_{g \ne ==} s_g^{(l)}, \quad l = 1, 2, 3",
}
