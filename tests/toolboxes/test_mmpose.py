"""MMPose: a toolbox that came later, with one file."""

import pytest
from mmengine.hub import get_config

from mmqtvit.swap import SwapRefused, plan_swap, swap_backbone
from mmqtvit.toolboxes import get_toolbox

from ..tools.test_command_lines import tool

pytest.importorskip('mmpose', reason=f'MMPose is an extra: {get_toolbox("mmpose").installation}')

BODY = 'mmpose::body_2d_keypoint/'
HEAT_MAP = f'{BODY}topdown_heatmap/coco/td-hm_res50_8xb64-210e_coco-256x192.py'
SIMCC = f'{BODY}simcc/coco/simcc_res50_8xb64-210e_coco-256x192.py'
RTMPOSE = f'{BODY}rtmpose/coco/rtmpose-t_8xb256-420e_coco-256x192.py'


def test_size_is_that_of_the_crop():
    assert get_toolbox('mmpose').image_size(get_config(HEAT_MAP)) == (256, 192)


def test_truth_is_what_the_training_data_give():
    cfg = get_config(SIMCC)
    sample, = get_toolbox('mmpose').make_samples(cfg.model, (256, 192), 1, cfg=cfg)
    assert sample.gt_instance_labels.keypoint_x_labels.shape == (1, 17, 384)
    assert sample.gt_instance_labels.keypoint_y_labels.argmax(-1).diff().gt(0).all()
    cfg = get_config(HEAT_MAP)
    sample, = get_toolbox('mmpose').make_samples(cfg.model, (256, 192), 1)  # of the head's own
    assert sample.gt_fields.heatmaps.shape == (17, 64, 48)
    assert (sample.gt_fields.heatmaps.amax((1, 2)) > 0.9).all()


@pytest.mark.parametrize('config', [HEAT_MAP, SIMCC, RTMPOSE])
def test_swapped_checked_and_written(config, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tool('swap_backbone').main([config, '--arch', 'qtvit1', '--check', '-o', 'leaf.py'])
    assert 'checked at 256×192: predicts, and takes a loss step' in capsys.readouterr().out
    assert 'in_channels=256' in (tmp_path / 'leaf.py').read_text()


def test_swapping_twice_is_swapping_once():
    once = swap_backbone(get_config(RTMPOSE), 'b0')
    assert once.model.head.in_channels == 128
    assert swap_backbone(once, 'b0').to_dict() == once.to_dict()


def test_keypoints_are_no_image():
    cfg = get_config('mmpose::body_3d_keypoint/image_pose_lift/h36m/'
                     'image-pose-lift_tcn_8xb64-200e_h36m.py')
    with pytest.raises(SwapRefused, match='PoseLifter reads keypoints, not images'):
        plan_swap(cfg)
