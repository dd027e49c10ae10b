_base_ = './cascade_mask_rcnn_efficientvit_b1_coco.py'

model = dict(backbone=dict(arch='b2'), neck=dict(in_channels=[48, 96, 192, 384]))
