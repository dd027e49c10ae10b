"""A toolbox of one model, in place of a package that pip would install."""

import mmcv.transforms  # noqa: F401  registers LoadImageFromFile
from mmengine import registry
from mmengine.dataset import BaseDataset
from mmengine.model import BaseModel, ImgDataPreprocessor
from torch import nn

MODELS = registry.Registry('model', parent=registry.MODELS, scope='mmtoy')
MODELS.register_module(module=ImgDataPreprocessor)
DATASETS = registry.Registry('dataset', parent=registry.DATASETS, scope='mmtoy')
DATASETS.register_module(module=BaseDataset)


@MODELS.register_module()
class Scene(BaseModel):

    def __init__(self, backbone, head, data_preprocessor=None):
        super().__init__(data_preprocessor)
        self.backbone = MODELS.build(backbone)
        self.head = nn.Linear(head['in_channels'], head['num_classes'])

    def forward(self, inputs, data_samples=None, mode='tensor'):
        scores = self.head(self.backbone(inputs)[-1].mean((2, 3)))
        return dict(loss=scores.square().mean()) if mode == 'loss' else scores
