"""The deploy form: a finished model made faster, at the price of being an ordinary one."""

from .form import deploy

__all__ = ['deploy']
