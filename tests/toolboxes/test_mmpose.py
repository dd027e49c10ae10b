"""MMPose, the extra: swapped, trained, tested and predicted with."""

import json

import pytest
from mmengine import Config
from mmengine.hub import get_config
from mmengine.logging import MMLogger

from mmqtvit import apis
from mmqtvit.apis import load_config, train
from mmqtvit.apis.inference import Predictor, predict
from mmqtvit.swap import SwapRefused, plan_swap, swap_backbone
from mmqtvit.toolboxes import get_toolbox

from ..apis.test_images import written
from ..apis.test_inference import checkpoint, one_thread, picture  # noqa: F401
from ..apis.test_runner import loaded
from ..helpers.pose import NAMES, write_pose_toy
from ..tools.test_command_lines import tool

pytest.importorskip('mmpose', reason=f'MMPose is an extra: {get_toolbox("mmpose").installation}')

BODY = 'mmpose::body_2d_keypoint/'
HEAT_MAP = f'{BODY}topdown_heatmap/coco/td-hm_res50_8xb64-210e_coco-256x192.py'
SIMCC = f'{BODY}simcc/coco/simcc_res50_8xb64-210e_coco-256x192.py'
RTMPOSE = f'{BODY}rtmpose/coco/rtmpose-t_8xb256-420e_coco-256x192.py'


def test_size_is_that_of_the_crop():
    size = get_toolbox('mmpose').image_size
    assert size(get_config(HEAT_MAP)) == (256, 192)
    assert size(get_config(f'{BODY}rtmpose/body8/rtmpose-m_8xb256-420e_body8-384x288.py')) == (
        384, 288)  # of data sets joined before the pipeline
    assert size(Config(dict())) == (256, 192)


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


@pytest.mark.parametrize('neck, passed', [
    (dict(type='FeatureMapProcessor', concat=True), [15]),
    (dict(type='FeatureMapProcessor', concat=True, select_index=(0, 3)), [9]),
    (dict(type='FeatureMapProcessor', select_index=3), [8]),
    (dict(type='FeatureMapProcessor', scale_factor=4.), [1, 2, 4, 8]),
    (dict(type='CSPNeXtPAFPN', out_channels=None, out_indices=(1, 2)), [2, 4]),
    (dict(type='CSPNeXtPAFPN', out_channels=96), None),
    (dict(type='ChannelMapper'), None),
])
def test_necks_that_keep_the_backbones_widths(neck, passed):
    assert get_toolbox('mmpose').passed_on(neck, [1, 2, 4, 8]) == passed


def test_groups_of_a_head_divide_the_new_width():
    swapped = swap_backbone(get_config(
        f'{BODY}topdown_heatmap/coco/td-hm_vipnas-mbv3_8xb64-210e_coco-256x192.py'), 'qtvit1')
    assert swapped.model.head.deconv_num_groups == (32, 160, 160)
    assert swapped.model.head.in_channels == 256


def test_keypoints_are_no_image():
    cfg = get_config('mmpose::body_3d_keypoint/image_pose_lift/h36m/'
                     'image-pose-lift_tcn_8xb64-200e_h36m.py')
    with pytest.raises(SwapRefused, match='PoseLifter reads keypoints, not images'):
        plan_swap(cfg)


@pytest.fixture()
def toy(tmp_path):
    return write_pose_toy(tmp_path)


@pytest.fixture()
def predictor(toy, tmp_path):
    cfg = load_config(toy)
    return Predictor(cfg, checkpoint(tmp_path, cfg), 'cpu', -100.)


def test_predicts_on_the_whole_image(predictor):
    """As MMPose's own function does for an image without boxes."""
    from mmpose.apis import inference_topdown
    drawn, record, labels = predictor(picture())
    assert drawn.shape == (40, 56, 3) and labels is None
    instance, = record['instances']
    assert instance['bbox'] == [0, 0, 56, 40]
    assert [point['name'] for point in instance['keypoints']] == list(NAMES)
    predictor.inferencer.model.cfg = predictor.inferencer.cfg
    expected, = inference_topdown(predictor.inferencer.model, picture())
    assert [[point['x'], point['y']] for point in instance['keypoints']] == (
        expected.pred_instances.keypoints[0].tolist())
    assert [point['score'] for point in instance['keypoints']] == pytest.approx(
        expected.pred_instances.keypoint_scores[0].tolist())


def test_keypoints_that_score_less_are_left_out(predictor):
    points = predictor(picture())[1]['instances'][0]['keypoints']
    predictor.score_thr = min(point['score'] for point in points)
    assert len(predictor(picture())[1]['instances'][0]['keypoints']) < len(points)


def test_no_word_of_the_weights_before_the_checkpoint(toy, tmp_path, capsys):
    MMLogger._instance_dict.clear()  # one that has logged keeps what it may log
    cfg = load_config(toy)
    Predictor(cfg, checkpoint(tmp_path, cfg), 'cpu')
    assert 'random' not in ''.join(capsys.readouterr())


def test_what_is_written(predictor, tmp_path):
    image = tmp_path / 'image.png'
    written(image)
    assert predict(predictor, [image], tmp_path / 'out') == ({}, {})
    record = json.loads((tmp_path / 'out/image.json').read_text())
    assert record['instances'][0]['keypoints'][0].keys() == {'label', 'name', 'score', 'x', 'y'}


def test_trained_tested_and_predicted_with(toy, tmp_path, capsys):
    train(loaded(toy, tmp_path))
    weights = str(tmp_path / 'run/iter_4.pth')
    metrics = apis.test(loaded(toy, tmp_path), weights, out=str(tmp_path / 'out.pkl'),
                        show_dir=str(tmp_path / 'pictures'))
    assert 0 <= metrics['PCK'] <= 1
    assert (tmp_path / 'out.pkl').is_file()
    assert list((tmp_path / 'pictures').rglob('*.[jp][pn]g'))
    train(loaded(toy, tmp_path, **{'train_cfg.max_iters': 6}), resume=weights)
    assert (tmp_path / 'run/iter_6.pth').is_file()
    assert 'loading annotations' not in capsys.readouterr().out
    _, record, _ = Predictor(load_config(toy), weights, 'cpu', -100.)(picture())
    assert [point['name'] for point in record['instances'][0]['keypoints']] == list(NAMES)
