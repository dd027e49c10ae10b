_base_ = './cascade_mask_rcnn_qtvit1_coco.py'

model = dict(backbone=dict(arch='qtvit6'), neck=dict(in_channels=[128, 256, 512, 1024]))
