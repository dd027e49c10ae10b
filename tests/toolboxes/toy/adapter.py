"""The one file with which a toolbox is added; a test puts it into mmqtvit/toolboxes."""

from types import SimpleNamespace

import torch

from mmqtvit.toolboxes.base import Toolbox, register
from mmqtvit.toolboxes.parts import class_name


@register
class Toy(Toolbox):
    """Tells light scenes from dark ones."""

    name = package = 'mmtoy'
    compiled = False
    reads_last = True
    default_size = (64, 96)
    bound_heads = {'BoundHead': 'reads the weather'}

    def make_samples(self, part, size, num_images, device='cpu', cfg=None):
        return [dict(size=size)] * num_images

    def build_inferencer(self, cfg, device):
        from mmengine.registry import MODELS
        return SimpleNamespace(model=MODELS.build(cfg.model).to(device).eval(), visualizer=None)

    def infer(self, inferencer, image):
        images = torch.from_numpy(image.copy()).permute(2, 0, 1)[None].float()
        with torch.no_grad():
            return inferencer.model(images, mode='predict')[0].softmax(0)

    def describe(self, inferencer, rgb, sample, classes, score_thr):
        score, label = sample.max(0)
        return rgb, dict(name=class_name(classes, int(label)), score=float(score)), None
