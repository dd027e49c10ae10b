_base_ = './cascade_mask_rcnn_qtvit1_coco.py'

model = dict(backbone=dict(arch='qtvit2'), neck=dict(in_channels=[48, 96, 192, 384]))
