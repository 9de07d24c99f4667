"""Fits the constants of the speed model to the measurements under config/measurements/."""
