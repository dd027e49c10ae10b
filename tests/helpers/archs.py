"""Architectures of the published models' small stand-ins, which lie among the reference files."""

ARCHS = {
    'b': dict(series='b', widths=[8, 16, 32, 64, 128], depths=[1, 2, 2, 2, 2], head_dim=16),
    'l': dict(series='l', widths=[8, 16, 32, 64, 128], depths=[1, 1, 1, 2, 2], head_dim=32),
}
