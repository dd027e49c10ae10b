"""A model is built and run on noise; what goes wrong is told with the step at which it does."""

from pathlib import Path

import pytest
import torch
from mmengine.logging import MessageHub
from mmengine.registry import MODELS

from mmqtvit.cfg.read import read_config
from mmqtvit.errors import UserError
from mmqtvit.swap import CheckFailed, check_config, check_swap, swap_backbone

from ..helpers.toy import write_toy

# One of each way in which heads take truth; the others of a family differ in their layers.
LOSS_STEPS = [
    ('mmdet::fcos/fcos_r50-caffe_fpn_gn-head_1x_coco.py', (96, 128)),
    ('mmdet::mask_rcnn/mask-rcnn_r50_fpn_1x_coco.py', (96, 128)),
    ('mmseg::pspnet/pspnet_r50-d8_4xb2-40k_cityscapes-512x1024.py', (64, 96)),
    ('mmpretrain::resnet/resnet18_8xb16_cifar10.py', (32, 32)),
    # The data have no masks, and the assigner fails on ones that it does not expect.
    ('mmdet::rtmdet/rtmdet_tiny_8xb32-300e_coco.py', (96, 128)),
    ('mmdet::rtmdet/rtmdet-ins_tiny_8xb32-300e_coco.py', (96, 128)),  # its data have masks
    ('mmdet::yolox/yolox_tiny_8xb8-300e_coco.py', (96, 128)),  # asks which iteration it is
    # It gets eight views of each image.
    ('mmpretrain::swav/swav_resnet50_8xb32-mcrop-coslr-200e_in1k-224px-96px.py', (64, 64)),
]


@pytest.mark.parametrize('toolbox', ['mmdet', 'mmseg'])
def test_at_the_configs_own_size(toolbox, tmp_path):
    cfg = read_config(write_toy(tmp_path, toolbox))
    before = cfg.to_dict()
    check = check_config(cfg)
    assert check.size == ((64, 64) if toolbox == 'mmdet' else (32, 32))
    assert check.loss > 0 and check.parameters > 0
    assert cfg.to_dict() == before
    assert check_config(cfg, (48, 32), loss=False).loss is None


@pytest.mark.parametrize('config, size', LOSS_STEPS)
def test_swapped_configs_take_a_loss_step(config, size):
    before = dict(MessageHub.get_current_instance().runtime_info)
    check = check_config(swap_backbone(read_config(config), 'b0'), size)
    assert check.loss > 0
    assert MessageHub.get_current_instance().runtime_info == before


@pytest.mark.parametrize('change, words', [
    (dict(in_channels=3), 'the forward pass fails: RuntimeError'),
    (dict(type='Nothing'), 'building the model fails: KeyError'),
])
def test_names_the_step_that_fails(change, words, tmp_path):
    cfg = read_config(write_toy(tmp_path))
    cfg.model.decode_head.update(change)
    with pytest.raises(CheckFailed, match=words):
        check_config(cfg)


def test_reads_the_weights(tmp_path):
    cfg = read_config(write_toy(tmp_path))
    good, bad = (str(tmp_path / f'{name}.pth') for name in ('good', 'bad'))
    torch.save(MODELS.build(cfg.model.backbone).state_dict(), good)
    torch.save({'conv': torch.zeros(1)}, bad)
    arch = cfg.model.backbone.arch.to_dict()
    assert check_config(swap_backbone(cfg, arch, good), loss=False)
    with pytest.raises(CheckFailed, match=f'initialising the model fails: UserError: {bad}'):
        check_config(swap_backbone(cfg, arch, bad))


def test_needs_a_toolbox(tmp_path):
    path = Path(write_toy(tmp_path))
    path.write_text(path.read_text().replace("default_scope = 'mmseg'", "default_scope = 'mmx'"))
    with pytest.raises(UserError, match="'mmx'"):
        check_config(read_config(str(path)))


@pytest.mark.parametrize(('change', 'words'), [
    # A keyword that only a fork's segmentor knows.
    (dict(of_a_fork=True), r"building the model fails: TypeError: .*of_a_fork'; it fails before "
     'the swap, too$'),
    # A list of heads whose type got lost.
    (dict(auxiliary_head=[dict(in_channels=8, in_index=1, num_classes=3)]),
     r'building the model fails: KeyError: .*"type".*; it fails before the swap, too: '),
])
def test_a_config_that_is_broken_in_itself(change, words, tmp_path):
    cfg = read_config(write_toy(tmp_path))
    cfg.model.update(change)
    with pytest.raises(CheckFailed, match=words):
        check_swap(cfg, swap_backbone(cfg))


def test_a_swap_that_breaks_a_config(tmp_path):
    cfg = read_config(write_toy(tmp_path))
    swapped = swap_backbone(cfg)
    assert check_swap(cfg, swapped).loss > 0
    swapped.model.decode_head.in_channels = 3
    with pytest.raises(CheckFailed, match='forward pass fails: .*; it runs before the swap$'):
        check_swap(cfg, swapped)
    cfg.model.decode_head.in_channels = 5
    with pytest.raises(CheckFailed, match='fails: .*; it fails before the swap, too: the forward'):
        check_swap(cfg, swapped)
    cfg.model.backbone.type = 'BackboneOfSomebody'
    with pytest.raises(CheckFailed, match='too, cannot be tried here: .*BackboneOfSomebody'):
        check_swap(cfg, swapped)
