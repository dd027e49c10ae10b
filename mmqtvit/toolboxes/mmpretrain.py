"""MMPretrain."""

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
import torch
from mmengine import Config
from torch import nn

from ..cfg.tree import as_list, type_name, typed
from .base import Toolbox, register
from .parts import class_name, flip_pipeline, num_classes_of, sample_meta

MASKED = 'is pretrained by masking patches inside the backbone'
NO_LAYERS = 'has no layers of its own: the classifier is part of the backbone'
SELF_SUPERVISED = ('barlowtwins', 'byol', 'densecl', 'moco', 'mocov3', 'simclr', 'simsiam', 'swav')
VIEWS = 2  # of each image, where a self-supervised model names no number
TOP = 5  # classes in the record of a prediction


@register
class MMPretrain(Toolbox):
    """Classifiers, and models that learn from views of images instead of labels."""

    name = package = 'mmpretrain'
    compiled = False
    reads_last = True
    loads_files = False
    visualizer = 'UniversalVisualizer'
    collate = 'default_collate'
    bound_backbones = {
        'iTPNHiViT': MASKED,
        'LoRAModel': 'wraps the very layers that it adapts',
    }
    bound_models = {'SparK': MASKED, 'SimMIM': MASKED, 'MixMIM': MASKED, 'MaskFeat': MASKED}
    bound_heads = {
        'DeiTClsHead': 'reads the class token and the distillation token',
        'ConformerHead': 'reads the class token of one branch and the map of another',
        'ClsHead': NO_LAYERS,
        'MultiLabelClsHead': NO_LAYERS,
    }

    def is_classifier(self, part: dict) -> bool:
        """All but the detectors, of which there are a few."""
        return 'rpn_head' not in part

    def rgb_key(self, preprocessor: dict) -> str:
        """Its preprocessors say it in a word of their own."""
        return 'to_rgb'

    def make_samples(self, part: dict, size: tuple, num_images: int, device: str = 'cpu',
                     cfg: Optional[dict] = None) -> list:
        """One class for each image, in turn."""
        from mmpretrain.structures import DataSample
        num_classes = num_classes_of(part.get('head'))
        many = type_name(part.get('head')).startswith(('MultiLabel', 'CSRA'))
        labels = [index % num_classes for index in range(num_images)]
        return [DataSample(metainfo=dict(sample_meta(size), num_classes=num_classes))
                .set_gt_label([label] if many else label).to(device) for label in labels]

    def make_batch(self, part: dict, size: tuple, num_images: int = 2,
                   cfg: Optional[dict] = None) -> dict:
        """One tensor, or one for each view."""
        batch = super().make_batch(part, size, num_images, cfg)
        images = torch.stack(batch['inputs'])
        views = [images.float() for _ in range(_num_views(cfg))]
        return dict(batch, inputs=views if is_self_supervised(part) else images)

    def forward(self, model: nn.Module, part: dict, batch: dict) -> Any:
        """Self-supervised models predict nothing: their features are computed."""
        if is_self_supervised(part):
            return model(batch['inputs'][0], mode='tensor')
        return super().forward(model, part, batch)

    def augment_at_test_time(self, cfg: Config, pipeline: Sequence) -> tuple:
        """The mean of the scores of an image and its mirror image."""
        return dict(type='AverageClsScoreTTA'), flip_pipeline(pipeline)

    def has_labels(self, dataset: dict) -> bool:
        """Whether images without labels are not what the config asks for."""
        return dataset.get('with_label', True) and dataset.get('split') != 'test'

    def build_inferencer(self, cfg: Config, device: str) -> Any:
        """ImageClassificationInferencer."""
        from mmpretrain.apis import ImageClassificationInferencer
        from mmpretrain.visualization import UniversalVisualizer
        inferencer = ImageClassificationInferencer(cfg, False, device)
        inferencer.visualizer = UniversalVisualizer()  # one for all images
        return inferencer

    def describe(self, inferencer: Any, rgb: np.ndarray, sample: Any,
                 classes: Optional[Sequence], score_thr: float) -> tuple:
        """The classes that score most."""
        picture = inferencer.visualizer.visualize_cls(rgb, sample, classes=classes, draw_gt=False)
        scores, labels = sample.pred_score.topk(min(TOP, len(sample.pred_score)))
        return picture, dict(classes=[
            dict(label=label, name=class_name(classes, label), score=score)
            for label, score in zip(labels.tolist(), scores.tolist())]), None


def is_self_supervised(part: dict) -> bool:
    """Whether a model learns from views instead of labels."""
    return 'neck' in part and type_name(part).lower() in SELF_SUPERVISED


def _num_views(cfg: Optional[dict]) -> int:
    """Views of each image in self-supervised training."""
    counts = [count for step in typed((cfg or {}).get('train_dataloader'))
              if type_name(step) == 'MultiView' for count in as_list(step['num_views'])]
    return sum(counts) or VIEWS
