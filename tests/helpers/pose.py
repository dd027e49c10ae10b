"""An estimator of three keypoints that trains in a second, and a handful of images for it."""

import json
from pathlib import Path

from .toy import BACKBONE, SCHEDULE, write_toy

NAMES = ('head', 'left', 'right')

ESTIMATOR = """
default_scope = 'mmpose'
dataset_type, data_mode = 'CocoDataset', 'topdown'  # MMPose's inferencer reads both
codec = dict(type='MSRAHeatmap', input_size=(64, 96), heatmap_size=(16, 24), sigma=1.)
model = dict(
    type='TopdownPoseEstimator',
    data_preprocessor=dict(
        type='PoseDataPreprocessor', mean=[128.] * 3, std=[64.] * 3, bgr_to_rgb=True),
    backbone=BACKBONE,
    head=dict(
        type='HeatmapHead', in_channels=16, out_channels=3, deconv_out_channels=(8, 8, 8),
        deconv_kernel_sizes=(4, 4, 4), decoder=codec,
        loss=dict(type='KeypointMSELoss', use_target_weight=True)),
    test_cfg=dict(flip_test=True, flip_mode='heatmap'))
model['backbone'].update(out_indices=(3, ))
metainfo = dict(
    dataset_name='toy', joint_weights=[1.] * 3, sigmas=[0.1] * 3,
    keypoint_info={
        0: dict(name='head', id=0, color=[255, 0, 0], type='upper', swap=''),
        1: dict(name='left', id=1, color=[0, 255, 0], type='upper', swap='right'),
        2: dict(name='right', id=2, color=[0, 0, 255], type='upper', swap='left')},
    skeleton_info={0: dict(link=('head', 'left'), id=0, color=[9, 9, 9])})
start = [dict(type='LoadImage'), dict(type='GetBBoxCenterScale')]
crop = dict(type='TopdownAffine', input_size=codec['input_size'])
dataset = dict(
    type=dataset_type, data_mode=data_mode, data_root='ROOT', data_prefix=dict(img='images/'),
    ann_file='keypoints.json', metainfo=metainfo)
train_dataloader = dict(
    batch_size=2, num_workers=0, sampler=dict(type='InfiniteSampler', shuffle=True),
    dataset=dict(dataset, pipeline=[
        *start, dict(type='RandomFlip', prob=0.5), crop,
        dict(type='GenerateTarget', encoder=codec), dict(type='PackPoseInputs')]))
val_dataloader = dict(
    batch_size=2, num_workers=0, sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(dataset, test_mode=True, pipeline=[*start, crop, dict(type='PackPoseInputs')]))
test_dataloader = val_dataloader
val_evaluator = test_evaluator = dict(type='PCKAccuracy', thr=0.5)
visualizer = dict(type='PoseLocalVisualizer', name='visualizer',
                  vis_backends=[dict(type='LocalVisBackend')])
"""


def write_pose_toy(folder: Path) -> str:
    """Write four images of 32×32 with a person of three keypoints each; return the config's path.
    """
    write_toy(folder)
    data = folder / 'data'
    records = json.loads((data / 'boxes.json').read_text())
    records['categories'] = [dict(id=1, name='person', keypoints=NAMES, skeleton=[])]
    for annotation in records['annotations']:
        annotation.update(
            category_id=1, num_keypoints=3, keypoints=[12, 6, 2, 6, 16, 2, 18, 16, 2])
    (data / 'keypoints.json').write_text(json.dumps(records))
    text = ESTIMATOR + SCHEDULE
    for old, new in (('BACKBONE', BACKBONE), ('ROOT', str(data)),
                     ('HOOK', 'PoseVisualizationHook')):
        text = text.replace(old, new)
    path = folder / 'toy_mmpose.py'
    path.write_text(text)
    return str(path)
