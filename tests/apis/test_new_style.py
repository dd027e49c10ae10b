"""Configs that hold classes in place of their names, with every tool."""

import re
from pathlib import Path

import pytest

from mmqtvit import apis
from mmqtvit.analysis.models import build_model
from mmqtvit.apis.check_dataset import examine
from mmqtvit.apis.inference import Predictor
from mmqtvit.apis.runner import train
from mmqtvit.cfg.read import enable_amp, load_config, read_config
from mmqtvit.swap import check_config, swap_backbone

from ..helpers.toy import write_toy
from .test_inference import picture
from .test_runner import loaded, one_thread  # noqa: F401

IMPORTS = """
from mmcv.transforms import LoadImageFromFile, RandomFlip, Resize, TestTimeAug
from mmengine.dataset import DefaultSampler, InfiniteSampler
from mmengine.hooks import CheckpointHook, LoggerHook
from mmengine.optim import OptimWrapper, PolyLR
from mmengine.runner import IterBasedTrainLoop, TestLoop, ValLoop
from mmengine.visualization import LocalVisBackend
from torch.nn import SyncBatchNorm as SyncBN
from torch.optim import SGD
from mmqtvit import QTViT
"""
MMSEG = """
from mmseg.datasets import BaseSegDataset, LoadAnnotations, PackSegInputs
from mmseg.engine.hooks import SegVisualizationHook
from mmseg.evaluation import IoUMetric
from mmseg.models import (CrossEntropyLoss, EncoderDecoder, FCNHead, SegDataPreProcessor,
                          SegTTAModel)
from mmseg.visualization import SegLocalVisualizer
"""
MMDET = """
from mmdet.datasets import CocoDataset
from mmdet.datasets.transforms import LoadAnnotations, PackDetInputs
from mmdet.engine.hooks import DetVisualizationHook
from mmdet.evaluation import CocoMetric
from mmdet.models import FPN, DetDataPreprocessor, RetinaHead, RetinaNet
from mmdet.models.task_modules import AnchorGenerator, MaxIoUAssigner, PseudoSampler
from mmdet.visualization import DetLocalVisualizer
"""


@pytest.fixture(params=['mmseg', 'mmdet'])
def config(request, tmp_path):
    path = Path(write_toy(tmp_path, request.param))
    text = re.sub(r"type='(mmqtvit\.)?([A-Z]\w+)'", r'type=\2', path.read_text())
    text = text.replace("nms=dict(type=nms", "nms=dict(type='nms'")
    text = text.replace(f"default_scope = '{request.param}'", 'default_scope = None')  # as usual
    path.write_text(IMPORTS + dict(mmseg=MMSEG, mmdet=MMDET)[request.param] + text)
    return str(path)


def test_training_testing_and_predicting(config, tmp_path):
    train(loaded(config, tmp_path))
    checkpoint = str(tmp_path / 'run/iter_4.pth')
    assert apis.test(loaded(config, tmp_path), checkpoint, tta=True,
                     show_dir=str(tmp_path / 'pictures'))
    assert list((tmp_path / 'pictures').rglob('*.[jp][pn]g'))
    _, record, _ = Predictor(load_config(config), checkpoint, 'cpu', 0.)(picture())
    assert record.get('classes') or record['instances']


def test_mixed_precision(config):
    cfg = load_config(config)
    enable_amp(cfg)
    assert cfg.optim_wrapper.type == 'AmpOptimWrapper'


def test_looking_at_the_data(config):
    results = examine(load_config(config), ('train', 'val'))
    assert [finding for one in results for finding in one.findings] == []
    assert all(one.num_samples == 4 for one in results)


def test_counting_and_swapping(config):
    assert sum(parameter.numel() for parameter in build_model(config).parameters()) > 0
    assert check_config(swap_backbone(read_config(config))).loss > 0
