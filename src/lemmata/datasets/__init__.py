"""Loaders of real data in their public formats; a user's folder is named by the environment variable LEMMATA_DATA."""
