"""Measuring and looking at models and runs."""
