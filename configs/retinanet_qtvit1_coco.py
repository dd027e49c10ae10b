# RetinaNet-R50's 1x recipe (16 images a step) with QT-ViT-1 in place of the ResNet.
_base_ = [
    'mmdet::retinanet/retinanet_r50_fpn_1x_coco.py',
    './_base_/frozen_start.py',
    './_base_/qtvit.py'
]

model = dict(
    backbone=dict(_delete_=True, type='mmqtvit.QTViT', arch='qtvit1', **_base_.frozen_start),
    neck=dict(in_channels=[32, 64, 128, 256]))

optim_wrapper = dict(paramwise_cfg=_base_.no_decay)
