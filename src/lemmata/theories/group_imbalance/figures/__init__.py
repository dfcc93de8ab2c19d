"""The figures, by topic: training, limits, mixtures (maps, spectra, concentration), tensors."""
