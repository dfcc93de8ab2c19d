"""Figures 4.1 and 4.8 on images: CelebA from the user's disk, or a rendered stand-in, with ResNet-9."""
