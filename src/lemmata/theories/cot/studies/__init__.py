"""Other simulations of the same setting: trained models on testing prompts, and voters without a model."""
