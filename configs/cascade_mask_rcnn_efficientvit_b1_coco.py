# Cascade Mask R-CNN-R50's 1x recipe (16 images a step) with EfficientViT-B1 in place of the ResNet.
_base_ = [
    'mmdet::cascade_rcnn/cascade-mask-rcnn_r50_fpn_1x_coco.py',
    './_base_/frozen_start.py'
]

model = dict(
    backbone=dict(_delete_=True, type='mmqtvit.EfficientViT', arch='b1', **_base_.frozen_start),
    neck=dict(in_channels=[32, 64, 128, 256]))
