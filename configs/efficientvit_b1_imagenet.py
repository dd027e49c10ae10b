_base_ = './qtvit1_imagenet.py'

model = dict(backbone=dict(type='mmqtvit.EfficientViT', arch='b1'))
