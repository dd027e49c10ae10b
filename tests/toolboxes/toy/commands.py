"""Swaps the toy's backbone and predicts with it through this package's own tools.

    python commands.py TOOLS IMAGE
"""

import runpy
import sys
from pathlib import Path

import torch
from mmengine import Config
from mmengine.registry import MODELS, init_default_scope

from mmqtvit.toolboxes import require_toolbox

tools, image = sys.argv[1:]
config = str(Path(__file__).with_name('scene.py'))
cfg = Config.fromfile(config)
require_toolbox(cfg)
init_default_scope(cfg.default_scope)
torch.save(dict(state_dict=MODELS.build(cfg.model).state_dict()), 'scene.pth')
for name, *arguments in (
        ('swap_backbone', config, '--arch', 'qtvit1', '--check', '-o', 'leaf.py'),
        ('predict', config, 'scene.pth', image, '--out', 'out', '--device', 'cpu')):
    sys.argv = [name, *arguments]
    runpy.run_path(f'{tools}/{name}.py', run_name='__main__')
