_base_ = './cascade_mask_rcnn_efficientvit_b1_coco.py'

model = dict(backbone=dict(arch='b3'), neck=dict(in_channels=[64, 128, 256, 512]))
