# RetinaNet-R50's 1x recipe (16 images a step) with QT-ViT-1 in place of the ResNet.
_base_ = 'mmdet::retinanet/retinanet_r50_fpn_1x_coco.py'

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
