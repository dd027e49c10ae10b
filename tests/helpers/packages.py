"""Packages of other people, built on the toolboxes."""

from pathlib import Path


def write_package(folder: Path, name: str, parent: str = 'mmengine') -> None:
    """Write a package with a registry of its own below that of ``parent``.

    It holds a segmentor ``Own`` and a neck ``OwnNeck``.
    """
    package = folder / name
    package.mkdir()
    (package / '__init__.py').touch()
    (package / 'registry.py').write_text(f"""
from mmengine.registry import Registry
from {parent}.registry import MODELS as PARENT
MODELS = Registry('model', parent=PARENT, scope={name!r}, locations=['{name}.models'])
""")
    (package / 'models.py').write_text("""
from mmseg.models import EncoderDecoder
from torch import nn
from .registry import MODELS


@MODELS.register_module()
class Own(EncoderDecoder):
    pass


@MODELS.register_module()
class OwnNeck(nn.Module):
    def __init__(self, in_channels):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(width, 8, 1) for width in in_channels)

    def forward(self, maps):
        return [layer(one) for layer, one in zip(self.layers, maps)]
""")
