"""One loss step and one prediction of every method, at sizes that no stride divides."""

import numpy as np
import pytest
import torch
from mmengine.registry import init_default_scope
from mmengine.structures import InstanceData, PixelData

from tests.configs.test_configs import load


def build(name, **changes):
    cfg = load(name)
    cfg.merge_from_dict(changes)
    init_default_scope(cfg.default_scope)
    if cfg.default_scope == 'mmseg':
        from mmseg.registry import MODELS
    else:
        from mmdet.registry import MODELS
    torch.manual_seed(0)
    return MODELS.build(cfg.model)


def detection_batch(height, width):
    from mmdet.structures import DetDataSample
    from mmdet.structures.mask import BitmapMasks
    masks = np.zeros((2, height, width), np.uint8)
    masks[0, 4:30, 4:28] = 1
    masks[1, 10:40, 20:60] = 1
    sample = DetDataSample(metainfo=dict(
        img_shape=(height, width), ori_shape=(height, width), scale_factor=(1., 1.), img_id=0,
        batch_input_shape=(height, width)))
    sample.gt_instances = InstanceData(
        bboxes=torch.tensor([[4., 4., 28., 30.], [20., 10., 60., 40.]]),
        labels=torch.tensor([0, 79]), masks=BitmapMasks(masks, height, width))
    sample.ignored_instances = InstanceData(bboxes=torch.zeros(0, 4))
    image = torch.randint(256, (3, height, width), dtype=torch.uint8)
    return dict(inputs=[image, image.flip(-1)], data_samples=[sample, sample.clone()])


def segmentation_batch(height, width):
    from mmseg.structures import SegDataSample
    sample = SegDataSample(metainfo=dict(
        img_shape=(height, width), ori_shape=(height, width), pad_shape=(height, width)))
    sample.gt_sem_seg = PixelData(data=torch.randint(150, (1, height, width)))
    image = torch.randint(256, (3, height, width), dtype=torch.uint8)
    return dict(inputs=[image, image.flip(-1)], data_samples=[sample, sample.clone()])


def loss_step(model, batch):
    model.train()
    data = model.data_preprocessor(batch, training=True)
    losses, _ = model.parse_losses(model(**data, mode='loss'))
    losses.backward()
    assert losses.isfinite()
    grads = {name for name, p in model.backbone.named_parameters()
             if p.requires_grad and (p.grad is None or not p.grad.isfinite().all())}
    assert not grads


@pytest.mark.parametrize(
    'name', ['cascade_mask_rcnn_qtvit1_coco', 'mask_rcnn_qtvit1_coco', 'retinanet_qtvit1_coco'])
def test_detectors(name):
    model = build(name)
    loss_step(model, detection_batch(67, 107))
    with torch.no_grad():
        data = model.eval().data_preprocessor(detection_batch(67, 107), training=False)
        results = model(**data, mode='predict')
    assert len(results) == 2 and results[0].pred_instances.bboxes.isfinite().all()


@pytest.mark.parametrize('name', ['upernet_qtvit1_ade20k', 'upernet_efficientvit_b1_ade20k'])
def test_segmentors(name):
    model = build(name, **{'model.data_preprocessor.size': (67, 107)})
    loss_step(model, segmentation_batch(67, 107))


@pytest.mark.parametrize('test_cfg', [
    dict(mode='whole'), dict(mode='slide', crop_size=(64, 64), stride=(48, 48))])
def test_whole_and_slide_inference(test_cfg):
    model = build('upernet_qtvit1_ade20k', **{'model.test_cfg': test_cfg}).eval()
    with torch.no_grad():
        data = model.data_preprocessor(segmentation_batch(75, 133), training=False)
        results = model(**data, mode='predict')
    for result in results:
        assert result.pred_sem_seg.data.shape == (1, 75, 133)
        assert result.seg_logits.data.shape == (150, 75, 133)
        assert result.seg_logits.data.isfinite().all()


def test_frozen_stages_get_no_gradient():
    model = build('retinanet_qtvit1_coco')
    frozen = {name.split('.')[0] + name.split('.')[1] * name.startswith('stages')
              for name, p in model.backbone.named_parameters() if not p.requires_grad}
    assert frozen == {'stem', 'stages0'}
