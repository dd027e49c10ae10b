"""Hooks, and what else OpenMMLab means by the word."""
