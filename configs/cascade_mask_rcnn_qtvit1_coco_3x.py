# Cascade Mask R-CNN-R50's multi-scale 3x recipe with QT-ViT-1 in place of the ResNet.
_base_ = 'mmdet::cascade_rcnn/cascade-mask-rcnn_r50_fpn_ms-3x_coco.py'

model = dict(
    backbone=dict(
        _delete_=True,
        type='mmqtvit.QTViT',
        arch='qtvit1',
        frozen_stages=1,
        norm_cfg=dict(type='BN', requires_grad=True),
        norm_eval=True),
    neck=dict(in_channels=[32, 64, 128, 256]))

optim_wrapper = dict(
    paramwise_cfg=dict(
        custom_keys={
            'position_embedding': dict(decay_mult=0.),
            'kernel.constant': dict(decay_mult=0.),
        }))

# The inherited 3x recipe evaluates boxes only.
val_evaluator = dict(metric=['bbox', 'segm'])
test_evaluator = val_evaluator
