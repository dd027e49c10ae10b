_base_ = './cascade_mask_rcnn_qtvit1_coco.py'

model = dict(backbone=dict(arch='qtvit3'), neck=dict(in_channels=[64, 128, 256, 512]))
