# Cascade Mask R-CNN-R50's multi-scale 3x recipe with QT-ViT-1 in place of the ResNet.
_base_ = [
    'mmdet::cascade_rcnn/cascade-mask-rcnn_r50_fpn_ms-3x_coco.py',
    './_base_/frozen_start.py',
    './_base_/qtvit.py'
]

model = dict(
    backbone=dict(_delete_=True, type='mmqtvit.QTViT', arch='qtvit1', **_base_.frozen_start),
    neck=dict(in_channels=[32, 64, 128, 256]))

optim_wrapper = dict(paramwise_cfg=_base_.no_decay)

# The inherited 3x recipe evaluates boxes only.
val_evaluator = dict(metric=['bbox', 'segm'])
test_evaluator = val_evaluator
