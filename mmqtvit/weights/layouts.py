"""What each layout calls this package's parameters.

A layout is one function from our name to its name. Over the names of a given model it can be
inverted, so that reading and writing share the one description.
"""

import re
from typing import Callable, Optional

from torch import Tensor

#: Our names inside blocks, and those that the published files and timm share.
_PARTS = (
    (r'\b(inverted|depth|point|spatial)\.', r'\1_conv.'),
    (r'\.attention\.branch\.', '.context_module.main.'),
    (r'\.local\.branch\.', '.local_module.main.'),
    (r'\.branch\.', '.main.'),
    (r'\bqkv\.', 'qkv.conv.'),
    (r'\baggregations\.', 'aggreg.'),
    (r'\bposition_embedding\.weight$', 'positional_encoding'),
    (r'\bkernel\.constant$', 'ones_scale1'),
    (r'\bvalue_shortcut\.norm\.', 'bn.'),
)
_PUBLISHED_HEAD = {
    'neck.conv.conv.': 'head.op_list.0.conv.',
    'neck.conv.norm.': 'head.op_list.0.norm.',
    'neck.fc.': 'head.op_list.2.linear.',
    'neck.norm.': 'head.op_list.2.norm.',
    'head.fc.': 'head.op_list.3.linear.',
}
_TIMM_HEAD = {
    'neck.conv.': 'head.in_conv.',
    'neck.fc.': 'head.classifier.0.',
    'neck.norm.': 'head.classifier.1.',
    'head.fc.': 'head.classifier.4.',
}


def _rename_head(name: str, prefixes: dict) -> Optional[str]:
    for ours, theirs in prefixes.items():
        if name.startswith(ours):
            return theirs + name[len(ours):]
    return None


def _rename_block(name: str) -> str:
    # The first block of a stage has no residual connection, and a "main" all the same; the first
    # convolution of the stem has neither.
    name = re.sub(r'^(stages\.\d+\.0\.)', r'\1main.', name)
    for ours, theirs in _PARTS:
        name = re.sub(ours, theirs, name)
    return name


def own_name(name: str, series: str) -> str:
    """This package's and so OpenMMLab's layout: ``backbone.``, ``neck.``, ``head.``."""
    return name


def published_name(name: str, series: str) -> str:
    """The authors' QT-ViT and MIT's EfficientViT layout.

    Args:
        name (str): Our name of an entry of a classifier's state dict.
        series (str): 'b' or 'l'; the L files count the stem as stage 0.
    """
    head = _rename_head(name, _PUBLISHED_HEAD)
    if head is not None:
        return head
    name = _rename_block(name[len('backbone.'):])
    if series == 'l':
        name = re.sub(r'^stages\.(\d+)', lambda match: f'stages.{int(match[1]) + 1}', name)
        name = re.sub(r'^stem\.', 'stages.0.', name)
        name = re.sub(r'^(stages\.\d+)\.', r'\1.op_list.', name)
    else:
        name = re.sub(r'^stem\.', 'input_stem.op_list.', name)
        name = re.sub(r'^(stages\.\d+)\.', r'\1.op_list.', name)
    return 'backbone.' + name


def timm_name(name: str, series: str) -> str:
    """The layout of timm's ``efficientvit_b0`` to ``efficientvit_l3``; arguments as above."""
    head = _rename_head(name, _TIMM_HEAD)
    if head is not None:
        return head
    name = _rename_block(name[len('backbone.'):])
    name = re.sub(r'^stem\.0\.', 'stem.in_conv.', name)
    name = re.sub(r'^stem\.(\d+)\.', lambda match: f'stem.res{int(match[1]) - 1}.', name)
    return re.sub(r'^(stages\.\d+)\.', r'\1.blocks.', name)


def value_in(layout: str, name: str, value: Tensor) -> Tensor:
    """An entry with the shape that it has in a layout, by our name of it."""
    # Elsewhere the scalar has no dimension; here it has one, since FSDP cannot cut it otherwise.
    if layout != 'mmqtvit' and name.endswith('kernel.constant'):
        return value.reshape(())
    return value


LAYOUTS: dict[str, Callable[[str, str], str]] = {
    'mmqtvit': own_name,
    'published': published_name,
    'timm': timm_name,
}
