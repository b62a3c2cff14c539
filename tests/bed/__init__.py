"""Ebb's test bed: AWS on this machine, honest enough to trust a teardown that passed on it. See `bed.Bed`."""

from .bed import Bed

__all__ = ["Bed"]
