"""A segmentor, a detector and a classifier that train in a second, and images for them."""

import json
from pathlib import Path

import cv2
import numpy as np

BACKBONE = """dict(
        type='mmqtvit.QTViT',
        arch=dict(series='b', widths=[8, 8, 8, 16, 16], depths=[1, 1, 1, 1, 1], head_dim=8),
        norm_cfg=dict(type='SyncBN'))"""

SEGMENTOR = """
default_scope = 'mmseg'
classes = ('sky', 'sea', 'land')
model = dict(
    type='EncoderDecoder',
    data_preprocessor=dict(
        type='SegDataPreProcessor', mean=[128.] * 3, std=[64.] * 3, bgr_to_rgb=True, pad_val=0,
        seg_pad_val=255, size=(32, 32)),
    backbone=BACKBONE,
    decode_head=dict(
        type='FCNHead', in_channels=16, in_index=3, channels=8, num_convs=1, num_classes=3,
        norm_cfg=dict(type='SyncBN'),
        loss_decode=dict(type='CrossEntropyLoss')),
    train_cfg=dict(),
    test_cfg=dict(mode='whole'))
dataset = dict(
    type='BaseSegDataset', data_root='ROOT', metainfo=dict(classes=classes),
    data_prefix=dict(img_path='images', seg_map_path='labels'),
    pipeline=[dict(type='LoadImageFromFile'), dict(type='LoadAnnotations'),
              dict(type='PackSegInputs')])
train_dataloader = dict(
    batch_size=2, num_workers=0, persistent_workers=True, dataset=dataset,
    sampler=dict(type='InfiniteSampler', shuffle=True))
val_dataloader = dict(
    batch_size=1, num_workers=0, persistent_workers=True, dataset=dataset,
    sampler=dict(type='DefaultSampler', shuffle=False))
test_dataloader = val_dataloader
val_evaluator = test_evaluator = dict(type='IoUMetric', iou_metrics=['mIoU'])
tta_model = dict(type='SegTTAModel')
tta_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='TestTimeAug', transforms=[
        [dict(type='RandomFlip', prob=0.), dict(type='RandomFlip', prob=1.)],
        [dict(type='LoadAnnotations')], [dict(type='PackSegInputs')]])]
visualizer = dict(type='SegLocalVisualizer', name='visualizer',
                  vis_backends=[dict(type='LocalVisBackend')])
"""

DETECTOR = """
default_scope = 'mmdet'
model = dict(
    type='RetinaNet',
    data_preprocessor=dict(
        type='DetDataPreprocessor', mean=[128.] * 3, std=[64.] * 3, bgr_to_rgb=True,
        pad_size_divisor=32),
    backbone=BACKBONE,
    neck=dict(type='FPN', in_channels=[8, 8, 16, 16], out_channels=8, num_outs=4),
    bbox_head=dict(
        type='RetinaHead', num_classes=2, in_channels=8, feat_channels=8, stacked_convs=1,
        anchor_generator=dict(type='AnchorGenerator', scales=[4], ratios=[1.],
                              strides=[4, 8, 16, 32])),
    train_cfg=dict(
        assigner=dict(type='MaxIoUAssigner', pos_iou_thr=0.5, neg_iou_thr=0.4, min_pos_iou=0.),
        sampler=dict(type='PseudoSampler'), allowed_border=-1, pos_weight=-1),
    test_cfg=dict(nms_pre=50, score_thr=0., nms=dict(type='nms', iou_threshold=0.5),
                  max_per_img=5))
dataset = dict(
    type='CocoDataset', data_root='ROOT', metainfo=dict(classes=('disc', 'box')),
    data_prefix=dict(img='images'), ann_file='boxes.json',
    pipeline=[dict(type='LoadImageFromFile'), dict(type='Resize', scale=(64, 64)),
              dict(type='LoadAnnotations', with_bbox=True),
              dict(type='PackDetInputs', meta_keys=('img_id', 'img_path', 'ori_shape',
                                                    'img_shape', 'scale_factor', 'flip'))])
train_dataloader = dict(
    batch_size=2, num_workers=0, dataset=dataset,
    sampler=dict(type='InfiniteSampler', shuffle=True))
val_dataloader = dict(
    batch_size=1, num_workers=0, dataset=dict(dataset, test_mode=True),
    sampler=dict(type='DefaultSampler', shuffle=False))
test_dataloader = val_dataloader
val_evaluator = test_evaluator = dict(type='CocoMetric', ann_file='ROOT/boxes.json', metric='bbox')
visualizer = dict(type='DetLocalVisualizer', name='visualizer',
                  vis_backends=[dict(type='LocalVisBackend')])
"""

CLASSIFIER = """
default_scope = 'mmpretrain'
model = dict(
    type='ImageClassifier',
    data_preprocessor=dict(num_classes=2, mean=[128.] * 3, std=[64.] * 3, to_rgb=True),
    backbone=BACKBONE,
    neck=dict(type='GlobalAveragePooling'),
    head=dict(type='LinearClsHead', num_classes=2, in_channels=16, topk=(1, ),
              loss=dict(type='CrossEntropyLoss')))
model['backbone']['out_indices'] = (3, )
dataset = dict(
    type='CustomDataset', data_root='ROOT/folders',
    pipeline=[dict(type='LoadImageFromFile'), dict(type='PackInputs')])
train_dataloader = dict(
    batch_size=2, num_workers=0, dataset=dataset,
    sampler=dict(type='InfiniteSampler', shuffle=True))
val_dataloader = dict(
    batch_size=1, num_workers=0, dataset=dataset,
    sampler=dict(type='DefaultSampler', shuffle=False))
test_dataloader = val_dataloader
val_evaluator = test_evaluator = dict(type='Accuracy', topk=(1, ))
visualizer = dict(type='UniversalVisualizer', name='visualizer',
                  vis_backends=[dict(type='LocalVisBackend')])
"""

#: Of each toolbox the config and the class of its visualisation hook.
CONFIGS = dict(mmseg=(SEGMENTOR, 'SegVisualizationHook'), mmdet=(DETECTOR, 'DetVisualizationHook'),
               mmpretrain=(CLASSIFIER, 'VisualizationHook'))

SCHEDULE = """
train_cfg = dict(type='IterBasedTrainLoop', max_iters=4, val_interval=4)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
optim_wrapper = dict(type='OptimWrapper', optimizer=dict(type='SGD', lr=0.01, momentum=0.9))
param_scheduler = [dict(type='PolyLR', eta_min=0., power=0.9, begin=0, end=4, by_epoch=False)]
default_hooks = dict(
    checkpoint=dict(type='CheckpointHook', by_epoch=False, interval=2),
    logger=dict(type='LoggerHook', interval=1),
    visualization=dict(type='HOOK'))
log_processor = dict(by_epoch=False)
randomness = dict(seed=0)
"""


def write_toy(folder: Path, toolbox: str = 'mmseg') -> str:
    """Write four images of 32×32 with labels and a config; return the config's path."""
    data = folder / 'data'
    for name in ('images', 'labels'):
        (data / name).mkdir(parents=True)
    rng = np.random.default_rng(0)
    records = dict(info={}, images=[], annotations=[],
                   categories=[dict(id=3, name='disc'), dict(id=7, name='box')])
    for i in range(4):
        label = np.repeat(np.arange(32, dtype=np.uint8) * 3 // 32, 32).reshape(32, 32)
        image = (label[..., None] * 80 + rng.integers(0, 60, (32, 32, 3))).astype(np.uint8)
        kind = data / 'folders' / ('cat', 'dog')[i % 2]
        kind.mkdir(parents=True, exist_ok=True)
        for path in (data / f'images/{i}.jpg', kind / f'{i}.jpg'):
            cv2.imwrite(str(path), image)
        cv2.imwrite(str(data / f'labels/{i}.png'), label)
        records['images'].append(dict(id=i, file_name=f'{i}.jpg', width=32, height=32))
        records['annotations'].append(dict(
            id=i + 1, image_id=i, category_id=(3, 7)[i % 2], bbox=[4, 4, 16, 16], area=256,
            iscrowd=0, segmentation=[[4, 4, 20, 4, 20, 20, 4, 20]]))
    (data / 'boxes.json').write_text(json.dumps(records))
    text, hook = CONFIGS[toolbox]
    text += SCHEDULE
    for old, new in (('BACKBONE', BACKBONE), ('ROOT', str(data)), ('HOOK', hook)):
        text = text.replace(old, new)
    path = folder / f'toy_{toolbox}.py'
    path.write_text(text)
    return str(path)
