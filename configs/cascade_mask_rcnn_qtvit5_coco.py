_base_ = './cascade_mask_rcnn_qtvit4_coco.py'

model = dict(backbone=dict(arch='qtvit5'))
