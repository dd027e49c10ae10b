"""Configs of the toolboxes, swapped."""

from dataclasses import FrozenInstanceError

import pytest
from mmengine import Config

import mmqtvit
from mmqtvit.cfg.read import read_config
from mmqtvit.errors import UserError
from mmqtvit.swap import SwapRefused, plan_swap

RETINANET = 'mmdet::retinanet/retinanet_r50_fpn_1x_coco.py'
QTVIT1 = [32, 64, 128, 256]


@pytest.fixture
def checkpoint(tmp_path):
    path = tmp_path / 'weights.pth'
    path.touch()
    return str(path)


def planned(cfg):
    plan = plan_swap(cfg)
    return plan, plan.apply(cfg)


def test_detector(checkpoint):
    cfg = read_config(RETINANET)
    before = cfg.to_dict()
    swapped = mmqtvit.swap_backbone(cfg, arch='qtvit1', checkpoint=checkpoint)
    assert cfg.to_dict() == before
    assert swapped.model.neck.in_channels == QTVIT1
    assert swapped.model.backbone == dict(
        type='mmqtvit.QTViT', arch='qtvit1', frozen_stages=1, norm_eval=True,
        norm_cfg=dict(type='BN', requires_grad=True),
        init_cfg=dict(type='Pretrained', checkpoint=checkpoint))
    assert mmqtvit.swap_backbone(swapped, checkpoint=checkpoint).to_dict() == swapped.to_dict()


def test_nothing_is_frozen_without_weights():
    plan, swapped = planned(read_config(RETINANET))
    assert 'frozen_stages' not in swapped.model.backbone
    assert any('nothing is frozen' in warning for warning in plan.changes.warnings)
    assert mmqtvit.swap_backbone(swapped).to_dict() == swapped.to_dict()


def test_counts_of_both_backbones():
    plan = plan_swap(read_config(RETINANET), 'b1')
    assert plan.old.parameters == 23508032  # ResNet-50 without classifier
    assert plan.old.size == plan.new.size == (800, 1344)
    # 4.09 G at 224×224, in proportion to the pixels.
    assert plan.old.macs == pytest.approx(4.087e9 * 800 * 1344 / 224**2, rel=0.01)
    assert 0 < plan.new.macs < plan.old.macs / 5


def assert_no_place_is_set_twice(plan):
    """Else the result would depend on the order of the changes."""
    places = [path for path, _ in plan.changes.values]
    for index, place in enumerate(places):
        for other in places[:index]:
            assert place[:len(other)] != other and other[:len(place)] != place


def test_a_plan_is_a_value():
    cfg = read_config(RETINANET)
    plan, first = planned(cfg)
    with pytest.raises(FrozenInstanceError):
        plan.changes = None
    before = cfg.to_dict()
    first.model.neck.in_channels[0] = first.model.backbone.arch = 'changed afterwards'
    assert cfg.to_dict() == before
    second = plan.apply(cfg)
    assert second.model.neck.in_channels == QTVIT1 and second.model.backbone.arch == 'qtvit1'


@pytest.mark.parametrize('config, expected', [
    ('mmdet::yolo/yolov3_d53_8xb8-320-273e_coco.py',
     {'neck.in_channels': [256, 128, 64], 'backbone.out_indices': (1, 2, 3),
      'data_preprocessor.mean': [123.675, 116.28, 103.53]}),
    ('mmdet::ssd/ssd300_coco.py',
     {'neck.out_channels': (64, 128, 512, 256, 256, 256),
      'bbox_head.in_channels': (64, 128, 512, 256, 256, 256)}),
    ('mmdet::rtmdet/rtmdet_tiny_8xb32-300e_coco.py',
     {'neck.in_channels': [64, 128, 256], 'data_preprocessor.bgr_to_rgb': True,
      'data_preprocessor.mean': [123.675, 116.28, 103.53]}),
    ('mmdet::mask2former/mask2former_r50_8xb2-lsj-50e_coco.py',
     {'panoptic_head.in_channels': QTVIT1}),
    ('mmdet::pascal_voc/faster-rcnn_r50-caffe-c4_ms-18k_voc0712.py', None),
    ('mmdet::soft_teacher/soft-teacher_faster-rcnn_r50-caffe_fpn_180k_semi-0.01-coco.py',
     {'detector.neck.in_channels': QTVIT1,
      'data_preprocessor.data_preprocessor.bgr_to_rgb': True}),
    ('mmseg::deeplabv3plus/deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024.py',
     {'decode_head.in_channels': 256, 'decode_head.c1_in_channels': 32,
      'auxiliary_head.in_channels': 128, 'pretrained': None}),
    ('mmseg::fastfcn/fastfcn_r50-d32_jpu_psp_4xb2-80k_cityscapes-512x1024.py',
     {'neck.in_channels': (64, 128, 256), 'decode_head.in_channels': 2048,
      'auxiliary_head.in_channels': 128}),
    ('mmseg::mobilenet_v3/mobilenet-v3-d8-s_lraspp_4xb4-320k_cityscapes-512x1024.py',
     {'backbone.out_indices': (0, 0, 1), 'decode_head.in_channels': (32, 32, 64)}),
    ('mmseg::knet/knet-s3_r50-d8_upernet_8xb2-adamw-80k_ade20k-512x512.py',
     {'decode_head.kernel_generate_head.in_channels': QTVIT1}),
    ('mmseg::vit/vit_deit-s16_mln_upernet_8xb2-160k_ade20k-512x512.py',
     {'neck': None, 'decode_head.in_channels': QTVIT1, 'auxiliary_head.in_channels': 256}),
    ('mmpretrain::convnext/convnext-tiny_32xb128_in1k.py',
     {'neck.type': 'GlobalAveragePooling', 'head.in_channels': 256}),
    ('mmpretrain::hrnet/hrnet-w18_4xb32_in1k.py', {'neck.0.in_channels': (32, 64, 128, 256)}),
])
def test_readers_follow(config, expected):
    cfg = read_config(config)
    if expected is None:
        with pytest.raises(SwapRefused, match='last stage of a ResNet'):
            plan_swap(cfg)
        return
    plan, swapped = planned(cfg)
    assert_no_place_is_set_twice(plan)
    model = swapped.model
    for key, value in expected.items():
        node = model
        for name in key.split('.'):
            node = node[int(name)] if name.isdigit() else node[name]
        assert node == value, key
    assert mmqtvit.swap_backbone(Config(dict(cfg.to_dict(), model=model))).model == model


@pytest.mark.parametrize('config, words', [
    ('mmdet::cornernet/cornernet_hourglass104_10xb5-crop511-210e-mstest_coco.py', 'one stride'),
    ('mmdet::detectors/cascade-rcnn_r50-rfp_1x_coco.py', 'second copy of the backbone'),
    ('mmdet::glip/glip_atss_swin-t_a_fpn_dyhead_pretrain_obj365.py', 'text tower'),
    ('mmdet::misc/d2_retinanet_r50-caffe_fpn_ms-90k_coco.py', 'no image backbone'),
    ('mmseg::bisenetv1/bisenetv1_r18-d32_4xb4-160k_cityscapes-1024x1024.py', 'branches'),
    ('mmseg::san/san-vit-b16_coco-stuff164k-640x640.py', 'text tower'),
    ('mmseg::dpt/dpt_vit-b16_8xb2-160k_ade20k-512x512.py', 'class token'),
    ('mmseg::unet/unet-s5-d16_fcn_4xb4-40k_drive-64x64.py', 'decoder of its own'),
    ('mmpretrain::mae/mae_vit-base-p16_8xb512-amp-coslr-300e_in1k.py', 'tokens of MAEViT'),
    ('mmpretrain::vgg/vgg11_8xb32_in1k.py', 'part of the backbone'),
    ('mmpretrain::itpn/itpn-clip-b_hivit-base-p16_8xb256-amp-coslr-800e_in1k.py', 'masking'),
    ('mmpretrain::blip/blip-base_8xb32_caption.py', 'tokens'),
])
def test_refuses_with_the_cause(config, words):
    with pytest.raises(SwapRefused, match=words):
        plan_swap(read_config(config))


def test_learning_rate_of_the_backbone_reaches_our_parameters():
    cfg = read_config('mmdet::detr/detr_r50_8xb2-150e_coco.py')
    plan, swapped = planned(cfg)
    keys = swapped.optim_wrapper.paramwise_cfg.custom_keys
    assert keys['backbone'] == dict(lr_mult=0.1, decay_mult=1.)
    assert keys['position_embedding'] == dict(lr_mult=0.1, decay_mult=0.)
    assert any("'backbone' keeps lr_mult=0.1" in note for note in plan.changes.notes)


def test_keys_of_the_old_parameters_are_dropped():
    plan, swapped = planned(read_config(
        'mmseg::mask2former/mask2former_swin-t_8xb2-160k_ade20k-512x512.py'))
    keys = swapped.optim_wrapper.paramwise_cfg.custom_keys
    assert 'query_embed' in keys and 'level_embed' in keys and 'backbone' in keys
    assert not any('patch_embed' in key or 'stages' in key for key in keys)
    assert len([note for note in plan.changes.notes if 'patch_embed' in note]) == 1


def test_layer_decay_that_knows_other_backbones_is_dropped():
    plan, swapped = planned(read_config(
        'mmseg::convnext/convnext-tiny_upernet_8xb2-amp-160k_ade20k-512x512.py'))
    assert swapped.optim_wrapper.constructor == 'DefaultOptimWrapperConstructor'
    assert set(swapped.optim_wrapper.paramwise_cfg) == {'custom_keys'}
    assert any('decay_rate=0.9' in note for note in plan.changes.notes)


def test_weights_of_the_whole_old_model_are_dropped():
    cfg = read_config(RETINANET)
    cfg.load_from = 'retinanet.pth'
    plan, swapped = planned(cfg)
    assert swapped.load_from is None
    assert any('load_from' in note for note in plan.changes.notes)


def test_padding_stays_a_multiple_of_the_deepest_stride():
    cfg = read_config('mmdet::faster_rcnn/faster-rcnn_r50-caffe-dc5_1x_coco.py')
    cfg.model.data_preprocessor.pad_size_divisor = 16
    model = mmqtvit.swap_backbone(cfg).model
    assert model.data_preprocessor.pad_size_divisor == 16  # stride 16 before and after
    assert model.rpn_head.in_channels == model.roi_head.bbox_head.in_channels == 128
    assert model.roi_head.bbox_roi_extractor.out_channels == 128
    cfg = read_config('mmseg::fcn/fcn_r50-d8_4xb2-40k_cityscapes-512x1024.py')
    del cfg.model.data_preprocessor['size']
    cfg.model.data_preprocessor.size_divisor = 8
    assert mmqtvit.swap_backbone(cfg).model.data_preprocessor.size_divisor == 32


@pytest.mark.parametrize('arch, checkpoint, words', [
    ('qtvit9', None, "one of qtvit1, .*'qtvit9'"),
    (dict(series='b'), None, 'needs exactly'),
    ('qtvit1', 'nowhere.pth', 'nowhere.pth'),
])
def test_wrong_arguments(arch, checkpoint, words):
    with pytest.raises(UserError, match=words):
        plan_swap(read_config(RETINANET), arch, checkpoint)


def test_a_config_that_does_not_fit_together():
    cfg = read_config(RETINANET)
    cfg.model.neck.in_channels = [1, 2, 3, 4]
    with pytest.raises(SwapRefused, match=r'FPN expects \[1, 2, 3, 4\]'):
        plan_swap(cfg)
